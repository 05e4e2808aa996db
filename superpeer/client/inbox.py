"""The inbox: what came, in order, until the application has dealt with it.

The access point sends again what it was not told to be received, on every new connection; so does another one to which
the peer goes. Here each publication is handed to the application once:

    arrived       held in memory. Comes it again, the two are one.
    acknowledged  by the application: its name is in the journal, which is what counts.
    passed        everything before it is acknowledged, too: the mark of its origin moves, and the access point is told.

A *cursor* is what an application may keep itself: the marks, and the names of what does not move them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Iterable

from auth import AuthError, BatchVerifier
from superpeer.client.journal import Journal
from superpeer.net import Reason, Violation
from superpeer.node.body import read_body
from superpeer.node.coding import Code
from superpeer.node.errors import Refused
from superpeer.node.forms import Form
from superpeer.node.publications import NOWHERE, Place, Publication
from superpeer.node.requests import Notice

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""A super-peer has a thousand under way; what comes in more ways than one counts for each."""

Name = tuple[bytes, int]
"""The key of the publisher, and its serial: what a publication is called wherever it was handed in."""


class Cursor(Form, frozen=True, tag="cursor"):
    marks: tuple[tuple[bytes, Place], ...]
    names: tuple[Name, ...]

    def has(self, notice: Notice) -> bool:
        publication = notice.publication
        if notice.is_history:
            return name_of(publication) in self.names
        return publication.place <= dict(self.marks).get(publication.origin, NOWHERE)


CURSORS: Code[Cursor] = Code(Cursor)


class Arrival:
    """A publication that came, from its first notice until it is passed."""

    __slots__ = ("is_acknowledged", "is_handed_out", "notice", "waiting")

    def __init__(self, notice: Notice, *, is_acknowledged: bool) -> None:
        self.notice = notice
        self.is_acknowledged = is_acknowledged
        self.is_handed_out = is_acknowledged
        self.waiting: set[tuple[bytes, Place, bool]] = set()
        """The ways in which it came that are not passed: more than one if two logs have it, or a log and a history."""

    @property
    def publication(self) -> Publication:
        return self.notice.publication


class Inbox:
    """What came and is not passed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._arrivals: dict[Name, Arrival] = {}
        self._order: deque[tuple[Notice, Arrival]] = deque()
        """How it came; marks move in this order."""
        self._queue: deque[tuple[int, Arrival]] = deque()
        """By position, what came on the present connection and was not all received."""
        self._verifier = BatchVerifier()
        self._changed = asyncio.Event()
        self.received = 0
        """The position, on the present connection, up to which the application has everything."""
        self.refused: Counter[str] = Counter()
        """What was not signed by who it said, or could not be read, by the kind of error."""

    def __len__(self) -> int:
        return sum(not one.is_acknowledged for one in self._arrivals.values())

    def begin_connection(self) -> None:
        """Positions are those of another connection from now on, perhaps of another queue."""
        self._queue.clear()
        self.received = 0

    def arrive(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            if len(self._order) >= MAX_WAITING:
                raise Violation(Reason.SLOW_CONSUMER, "the super-peer sends more than it was told to be received")
            self._queue.append((notice.position, self._arrive(notice)))
        self._journal.mark(self._pass())

    def _arrive(self, notice: Notice) -> Arrival:
        publication = notice.publication
        name = name_of(publication)
        arrival = self._arrivals.get(name)
        if arrival is None:
            is_seen = self._journal.memory.has(notice) or not self._is_genuine(publication)
            arrival = self._arrivals[name] = Arrival(notice, is_acknowledged=is_seen)
            if not is_seen:
                self._changed.set()
        way = (publication.origin, publication.place, notice.is_history)
        if way not in arrival.waiting:
            arrival.waiting.add(way)
            self._order.append((notice, arrival))
        return arrival

    def _is_genuine(self, publication: Publication) -> bool:
        try:
            self._verifier.verify(publication.source, publication.draft.item, publication.draft.proof)
            read_body(publication.draft.body)
        except (AuthError, Refused) as error:
            self.refused[type(error).__name__] += 1
            log.warning("a notification is dropped: %s", error)
            return False
        return True

    # What the application takes.

    def hand_out_again(self) -> None:
        """The application begins to read: also what it was handed before and did not acknowledge."""
        for one in self._arrivals.values():
            one.is_handed_out = one.is_acknowledged
        self._changed.set()

    def next(self) -> Arrival | None:
        """The first that was not handed out."""
        for one in self._arrivals.values():
            if not one.is_handed_out:
                one.is_handed_out = True
                return one
        self._changed.clear()
        return None

    def wake(self) -> None:
        """Whoever waits has a look."""
        self._changed.set()

    async def wait(self) -> None:
        """Until there may be one."""
        await self._changed.wait()

    def acknowledge(self, arrival: Arrival) -> None:
        """The application has it; that is on disk when this returns."""
        if not arrival.is_acknowledged:
            arrival.is_acknowledged = arrival.is_handed_out = True
            self._journal.take(arrival.publication, self._pass())

    def cursor_after(self, arrival: Arrival) -> bytes:
        """Where an application is that has everything up to this."""
        marks = dict(self._journal.memory.marks)
        names = []
        # What is passed is in the marks and the journal already, with everything before it.
        for notice, one in self._order if arrival.waiting else ():
            publication = notice.publication
            if notice.is_history:
                names.append(name_of(publication))
            elif publication.place > marks.get(publication.origin, NOWHERE):
                marks[publication.origin] = publication.place
            if one is arrival:
                break
        return CURSORS.encode(Cursor(tuple(sorted(marks.items())), tuple(names)))

    def _pass(self) -> list[Publication]:
        """What marks may move to, in order."""
        passed = []
        while self._order and self._order[0][1].is_acknowledged:
            notice, arrival = self._order.popleft()
            publication = notice.publication
            if not notice.is_history:
                passed.append(publication)
            arrival.waiting.discard((publication.origin, publication.place, notice.is_history))
            if not arrival.waiting:
                del self._arrivals[name_of(publication)]
        while self._queue and self._queue[0][1].is_acknowledged:
            self.received, _ = self._queue.popleft()
        return passed


def name_of(publication: Publication) -> Name:
    return publication.draft.publisher.raw, publication.draft.serial
