"""What becomes of publications: they wait in the outbox, are in the log of the access point, are with the network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import IntEnum

from superpeer.node.publications import publication_id
from superpeer.rdf import Problem


class Stage(IntEnum):
    WAITING = 0
    LOGGED = 1
    """The access point has it on disk."""
    ACKNOWLEDGED = 2
    """Every queue has it that it has to be in."""


class Outcome:
    """Of one publication."""

    __slots__ = ("_waiters", "error", "serial", "stage")

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.stage = Stage.WAITING
        self.error: Exception | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def reach(self, stage: Stage) -> None:
        if stage > self.stage:
            self.stage = stage
            self._wake()

    def fail(self, error: Exception) -> None:
        self.error = error
        self._wake()

    async def wait(self, stage: Stage) -> None:
        """Until it has come so far or was refused."""
        while self.stage < stage and self.error is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class Receipt:
    """For what was published at once: one publication for each subject, in the order of the subjects."""

    def __init__(self, publisher: Callable[[], str]) -> None:
        """`publisher` gives the public id, which a new peer has when it is registered."""
        self._publisher = publisher
        self._outcomes: list[Outcome] = []
        self._decided = 0
        self.skipped = 0
        """Anonymous subjects, which are not published: nobody could refer to them."""
        self.problems: list[Problem] = []
        """What a file had that could not be read."""

    def __repr__(self) -> str:
        return f"<Receipt for {len(self)} publications>"

    def __len__(self) -> int:
        return len(self._outcomes)

    def add(self, outcomes: list[Outcome]) -> None:
        self._outcomes += outcomes

    @property
    def ids(self) -> tuple[str, ...]:
        """By which the publications are known in the network."""
        publisher = self._publisher()
        return tuple(publication_id(publisher, one.serial) for one in self._outcomes if one.error is None)

    @property
    def refusals(self) -> list[Exception]:
        """Why some were refused; these are in no log."""
        return [one.error for one in self._outcomes if one.error is not None]

    async def logged(self) -> None:
        """Wait until the access point has all on disk. Raises the first refusal, when all are decided."""
        await self._wait(Stage.LOGGED)

    async def acknowledged(self) -> None:
        """Wait until the network has all. Raises the first refusal, when all are decided."""
        await self._wait(Stage.ACKNOWLEDGED)

    async def logged_but(self, few: int) -> None:
        """Wait until all but a few are decided."""
        for one in self._outcomes[self._decided : max(self._decided, len(self) - few)]:
            await one.wait(Stage.LOGGED)
            self._decided += 1

    async def _wait(self, stage: Stage) -> None:
        for one in self._outcomes:
            if one.stage < stage:
                await one.wait(stage)
        for error in self.refusals:
            raise error
