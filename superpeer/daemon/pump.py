"""The pump: what a step leads to leaves when its records, and those of all steps before it, are on disk.

Steps do not wait for the disk. While a commit is under way, the records of further steps gather and go into the next
commit together: the busier a super-peer is, the less a commit costs for each of them. What a step wants to say waits
for the commit that its records are in, also if it has none of its own: it may tell of what an earlier step did.

When the disk refuses a commit, nothing leaves any more and the daemon is told, once. What was said is then still true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from superpeer.store.changes import Change

MAX_UNDER_WAY = 2
"""Commits: one that the disk works on, and one for it to go on with."""

Release = Callable[[], None]


class Disk(Protocol):
    """A `superpeer.store.writer.Writer`."""

    def submit(self, changes: Sequence[Change]) -> asyncio.Future[None]: ...


class Pump:
    """Between a node and its disk."""

    def __init__(self, disk: Disk, failed: Callable[[BaseException], None], *, max_waiting: int = 10_000) -> None:
        self._disk = disk
        self._failed = failed
        self._most = max_waiting
        self._changes: list[Change] = []
        self._releases: list[Release] = []
        self._under_way = 0
        self._is_scheduled = False
        self._is_broken = False
        self._is_releasing = False
        """What is put meanwhile comes after what is being released."""
        self._waiters: list[asyncio.Future[None]] = []
        self.waiting = 0
        """Records that are not on disk yet."""
        self.commits = 0
        self.records = 0
        """On disk, in this life."""

    def put(self, changes: Sequence[Change], release: Release | None = None) -> None:
        """A step: its records, and what says the rest once they are on disk."""
        if self._is_broken:
            return
        if not changes and self.is_settled:
            if release is not None:
                self._run([release])
            return
        self._changes += changes
        self.waiting += len(changes)
        if release is not None:
            self._releases.append(release)
        self._schedule()

    @property
    def is_settled(self) -> bool:
        """Whether all is on disk and said."""
        return not (self._under_way or self._changes or self._releases or self._is_releasing)

    @property
    def has_room(self) -> bool:
        return self.waiting <= self._most or self._is_broken

    async def room(self) -> None:
        """Waits while too much waits for the disk: backpressure for whoever brings more."""
        while not self.has_room:
            await self._next_commit()

    async def settled(self) -> None:
        """Waits until all is on disk and said, or the disk has refused."""
        while not self.is_settled and not self._is_broken:
            await self._next_commit()

    async def _next_commit(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _schedule(self) -> None:
        """At the end of this turn of the loop, so that all steps of a turn share a commit."""
        if not self._is_scheduled and self._under_way < MAX_UNDER_WAY:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._submit)

    def _submit(self) -> None:
        self._is_scheduled = False
        if self._is_broken or not (self._changes or self._releases):
            return
        changes, self._changes = self._changes, []
        releases, self._releases = self._releases, []
        try:
            done = self._disk.submit(changes)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing of it is durable
            self._break(error)
            return
        self._under_way += 1
        done.add_done_callback(lambda done: self._committed(done, len(changes), releases))

    def _committed(self, done: asyncio.Future[None], count: int, releases: list[Release]) -> None:
        self._under_way -= 1
        if done.cancelled() or self._is_broken:
            return
        error = done.exception()
        if error is not None:
            self._break(error)
            return
        self.waiting -= count
        self.records += count
        self.commits += bool(count)
        self._run(releases)
        self._wake()

    def _run(self, releases: list[Release]) -> None:
        self._is_releasing = True
        try:
            for release in releases:
                release()
        except Exception as broken:  # noqa: BLE001 - what follows may rely on what was not said
            self._break(broken)
        finally:
            self._is_releasing = False
        if self._changes or self._releases:
            self._schedule()

    def _break(self, error: BaseException) -> None:
        if not self._is_broken:
            self._is_broken = True
            self._changes, self._releases = [], []
            self._wake()
            self._failed(error)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
