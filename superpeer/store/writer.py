"""The writer: a store in a thread of its own, for a daemon that must not wait for its disk.

Whatever is submitted while a commit is under way goes into the next one, together and in order, so that the busier a
super-peer is the less a commit costs for each record. A submission is done when it is durable, and so is everything
that was submitted before it. Therefore an empty one is not without meaning: messages of a step that has no records
still follow the records of the steps before.

When the disk refuses a commit, everybody who waits is told, and so is everybody who comes later. Nothing that is
not durable is ever reported as done.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from superpeer.store.changes import Change
from superpeer.store.errors import StoreBusy, StoreClosed, StoreFailed
from superpeer.store.store import Store, finish_backup

MAX_WAITING = 50_000

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class _Submission:
    """Changes to commit; or, with a call, something else to do with the store."""

    changes: Sequence[Change]
    done: asyncio.Future[Any]
    call: Callable[[Store], Any] | None = None


class Writer:
    """Owns a store from now on, until it is closed. Made and used in one event loop."""

    def __init__(self, store: Store, *, max_waiting: int = MAX_WAITING) -> None:
        self._store = store
        self._most = max_waiting
        self._loop = asyncio.get_running_loop()
        self._failure = ""
        self._is_closed = False
        self._waiting = 0
        """Records that were handed to the thread and are not durable yet."""
        self._outside: deque[_Submission] = deque()
        """What there is no room for yet."""
        self._handed: deque[_Submission] = deque()
        self._condition = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name=f"writer of {store.directory.name}")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many records are not durable yet, as far as they were let in."""
        return self._waiting

    @property
    def failure(self) -> str:
        """Why the disk refused a commit; empty while all is well."""
        return self._failure

    def submit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """Done when everything up to here is durable. `StoreBusy` if too much waits already.

        The future may be forgotten, or cancelled: the changes are committed all the same.
        """
        self._require_usable()
        if self._outside or not self._has_room(changes):
            raise StoreBusy(self._most)
        return self._enter(_Submission(changes, self._loop.create_future()))

    async def write(self, changes: Sequence[Change]) -> None:
        """Returns when everything up to here is durable; waits while too much waits already, in order."""
        self._require_usable()
        submission = _Submission(changes, self._loop.create_future())
        if self._outside or not self._has_room(changes):
            self._outside.append(submission)
        else:
            self._enter(submission)
        await submission.done

    async def call(self, function: Callable[[Store], Result]) -> Result:
        """Does something else with the store, in its thread, after everything up to here is durable."""
        self._require_usable()
        submission = _Submission((), self._loop.create_future(), function)
        if self._outside:
            self._outside.append(submission)
        else:
            self._enter(submission)
        result: Result = await submission.done
        return result

    async def backup(self, target: Path | str) -> None:
        """A copy of the store. What is submitted meanwhile is committed as ever, between the steps of copying."""
        begun = await self.call(lambda store: store.begin_backup(target, self._commit_what_waits))
        await asyncio.to_thread(finish_backup, begun, target)

    async def close(self) -> None:
        """Waits until all is durable, and closes the store. Raises nothing that a caller was told before."""
        if not self._is_closed:
            self._is_closed = True
            while pending := [one.done for one in self._outside if not one.done.done()]:
                await asyncio.wait(pending)
            with self._condition:
                self._is_ending = True
                self._condition.notify()
        await asyncio.to_thread(self._thread.join)

    def _require_usable(self) -> None:
        if self._failure:
            raise StoreFailed(self._store.path, self._failure)
        if self._is_closed:
            raise StoreClosed(self._store.directory)

    def _has_room(self, changes: Sequence[Change]) -> bool:
        """What is larger than the bound may enter alone."""
        return not self._waiting or self._waiting + len(changes) <= self._most

    def _enter(self, submission: _Submission) -> asyncio.Future[Any]:
        self._waiting += len(submission.changes)
        with self._condition:
            self._handed.append(submission)
            self._condition.notify()
        return submission.done

    def _run(self) -> None:
        """The thread: takes all that was handed to it, commits it, and tells the loop."""
        try:
            while True:
                with self._condition:
                    while not self._handed and not self._is_ending:
                        self._condition.wait()
                    if not self._handed:
                        return
                    taken = [self._handed.popleft()] if self._handed[0].call is not None else self._take_changes()
                self._work(taken)
        finally:
            self._store.close()

    def _commit_what_waits(self) -> None:
        """In the middle of a call: everything before the next one."""
        with self._condition:
            taken = self._take_changes()
        if taken:
            self._work(taken)

    def _take_changes(self) -> list[_Submission]:
        """What was handed to the thread before the next call; whoever calls this holds the condition."""
        taken = list(takewhile(lambda one: one.call is None, self._handed))
        for _ in taken:
            self._handed.popleft()
        return taken

    def _work(self, taken: list[_Submission]) -> None:
        """One commit of everything, or one call."""
        call = taken[0].call
        if call is not None:
            result, error = None, None
            try:
                result = call(self._store)
            except Exception as caught:  # noqa: BLE001 - it is for whoever called
                error = caught
            self._tell(self._called, taken[0], result, error)
            return
        failure = ""
        try:
            self._store.commit([change for one in taken for change in one.changes])
        except StoreFailed as error:
            failure = error.reason
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing may be acknowledged
            failure = f"{type(error).__name__}: {error}"
        self._tell(self._committed, taken, failure)

    def _tell(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The loop is closed, and nobody is there to be told.
            self._is_ending = True

    def _committed(self, group: list[_Submission], failure: str) -> None:
        if failure:
            self._failure = self._failure or failure
        for one in group:
            self._waiting -= len(one.changes)
            if not one.done.done():
                if failure:
                    one.done.set_exception(StoreFailed(self._store.path, failure))
                else:
                    one.done.set_result(None)
        self._let_in()

    def _called(self, submission: _Submission, result: Any, error: Exception | None) -> None:
        if not submission.done.done():
            if error is None:
                submission.done.set_result(result)
            else:
                submission.done.set_exception(error)
        self._let_in()

    def _let_in(self) -> None:
        while self._outside and self._has_room(self._outside[0].changes):
            submission = self._outside.popleft()
            if not submission.done.done():
                self._enter(submission)
