"""What a super-peer remembers beyond its life: its log, and what each peer asked for, advertised and waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import auth
from auth import MigrationOrder
from qel import Advertisement
from superpeer.node.advertisements import Element, advertisement_of
from superpeer.node.forms import read_elements
from superpeer.node.publications import NOWHERE, Place, Publication
from superpeer.node.records import (
    Acknowledged,
    Advertised,
    Arriving,
    Brought,
    CaughtUpHere,
    Dequeued,
    Enqueued,
    FileDropped,
    FileKept,
    Forgotten,
    HandingOver,
    Leaving,
    LogBegun,
    LogTrimmed,
    LossTold,
    Marked,
    Missed,
    OrderDropped,
    OrderKept,
    Published,
    QueueTrimmed,
    Record,
    Registered,
    Rendezvous,
    RendezvousDropped,
    RendezvousKept,
    Subscribed,
    Subscription,
    Unregistered,
    Unsubscribed,
    Withdrawn,
)

MAX_MOVED = 100_000


class Log:
    """What peers published here, one sequence. Old entries go; numbers stay."""

    def __init__(self, generation: int = 0) -> None:
        self.generation = generation
        self.trimmed = 0
        self.size_bytes = 0
        self.unacknowledged: dict[int, Publication] = {}
        self._entries: list[Publication] = []
        self._gone = 0
        """So many at the front were trimmed, and are cut off when they are as many as the rest: a deque, which would
        not need this, is slow to read in its middle."""

    def __len__(self) -> int:
        return len(self._entries) - self._gone

    def __iter__(self) -> Iterator[Publication]:
        return self._from(self._gone)

    @property
    def end(self) -> Place:
        """The place of the last publication."""
        return self.generation, self.trimmed + len(self)

    @property
    def oldest(self) -> Publication | None:
        return self._entries[self._gone] if self else None

    def after(self, place: Place) -> Iterator[Publication]:
        """What the log has above a place, in order."""
        generation, number = place
        skipped = max(0, number - self.trimmed) if generation == self.generation else 0
        return self._from(self._gone + skipped)

    def missing_above(self, place: Place) -> int:
        """How many publications above a place are no longer there."""
        generation, number = place
        return max(0, self.trimmed - (number if generation == self.generation else 0))

    def append(self, publication: Publication) -> None:
        assert publication.place == (self.generation, self.end[1] + 1), "a log has no gaps"
        self._entries.append(publication)
        self.size_bytes += publication.size_bytes
        self.unacknowledged[publication.place[1]] = publication

    def trim(self, through: int) -> None:
        while self.trimmed < through:
            self.trimmed += 1
            assert self.trimmed not in self.unacknowledged, "what the network has not yet stays in the log"
            self.size_bytes -= self._entries[self._gone].size_bytes
            self._gone += 1
        if self._gone > len(self):
            del self._entries[: self._gone]
            self._gone = 0

    def _from(self, index: int) -> Iterator[Publication]:
        return (self._entries[i] for i in range(index, len(self._entries)))


@dataclass(frozen=True, slots=True)
class Entry:
    """A publication in a peer's queue, with the subscriptions that it matched."""

    position: int
    publication: Publication
    subscriptions: tuple[str, ...]
    at: float
    is_history: bool = False


@dataclass
class Queue:
    """What waits for one peer, and the mark for each origin."""

    entries: deque[Entry] = field(default_factory=deque)
    marks: dict[bytes, Place] = field(default_factory=dict)
    position: int = 0
    """Of the last entry that there ever was."""
    size_bytes: int = 0
    lost: int = 0
    """What was given up and the peer was not told of yet."""

    def is_new(self, publication: Publication) -> bool:
        return publication.place > self.marks.get(publication.origin, NOWHERE)

    def mark(self, origin: bytes, place: Place) -> None:
        self.marks[origin] = max(place, self.marks.get(origin, NOWHERE))

    def after(self, position: int, window: int) -> list[Entry]:
        """The entries above a position, as far as they are among the first of a window."""
        if not self.entries:
            return []
        skipped = max(0, position + 1 - self.entries[0].position)
        return list(islice(self.entries, skipped, window))

    def drop(self, through: int) -> int:
        """Takes away the entries up to a position; how many these were."""
        dropped = 0
        while self.entries and self.entries[0].position <= through:
            self.size_bytes -= self.entries.popleft().publication.size_bytes
            dropped += 1
        return dropped


@dataclass
class File:
    """A resource that was uploaded for a peer."""

    rendezvous: Rendezvous
    digest: bytes
    content: bytes
    at: float


@dataclass
class PeerState:
    """What is kept of one peer."""

    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    elements: frozenset[Element] | None = None
    is_leaving: bool = False
    queue: Queue = field(default_factory=Queue)
    orders: dict[bytes, MigrationOrder] = field(default_factory=dict)
    """By old access point: what it has not handed over yet."""
    handing_over: MigrationOrder | None = None
    is_arriving: bool = False
    has_caught_up_here: bool = True
    """False for a peer that came from elsewhere and has not yet got what it asked for of the log here."""
    came_from: bytes | None = None
    """The access point before this one."""
    rendezvous: dict[str, Rendezvous] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    last_serial: int = 0
    """Of what the peer published here."""

    @property
    def advertisement(self) -> Advertisement:
        return _advertisement(self.elements or frozenset())

    @property
    def is_empty(self) -> bool:
        return self == PeerState()


@lru_cache(maxsize=4_096)
def _advertisement(elements: frozenset[Element]) -> Advertisement:
    return advertisement_of(elements)


class State:
    """Everything that survives a super-peer's life."""

    def __init__(self) -> None:
        self.log = Log()
        self.peers: dict[str, PeerState] = {}
        self.registry: dict[tuple[str, bytes], auth.Record] = {}
        self.moved: dict[str, bytes] = {}
        """Where peers went that were here, so that what comes for them can follow."""

    def peer(self, name: str) -> PeerState:
        """What is kept of a peer, from now on if there was nothing."""
        if name not in self.peers:
            self.peers[name] = PeerState()
        return self.peers[name]

    def queue(self, name: str) -> Queue:
        return self.peer(name).queue

    def apply(self, record: Record) -> None:
        match record:
            case LogBegun(generation):
                assert not len(self.log), "a log is begun once"
                self.log = Log(generation)
            case Published(publication):
                self.log.append(publication)
                kept = self.peer(publication.publisher)
                kept.last_serial = max(kept.last_serial, publication.draft.serial)
            case Acknowledged(number):
                del self.log.unacknowledged[number]
            case LogTrimmed(through):
                self.log.trim(through)
            case Enqueued():
                self._enqueue(record)
            case Marked(peer, origin, place):
                self.queue(peer).mark(origin, place)
            case Dequeued(peer, through):
                self.queue(peer).drop(through)
            case QueueTrimmed(peer, through):
                queue = self.queue(peer)
                queue.lost += queue.drop(through)
            case Missed(peer, count):
                self.queue(peer).lost += count
            case LossTold(peer):
                self.queue(peer).lost = 0
            case Registered(kept):
                self.registry[type(kept).__name__, kept.key.raw] = kept
            case Unregistered(key):
                self.registry.pop(("Registration", key), None)
            case Forgotten(peer, moved_to):
                self._forget(peer, moved_to)
            case _:
                self._apply_to_peer(record)

    def _apply_to_peer(self, record: Record) -> None:
        match record:
            case Subscribed(peer, subscription):
                self.peer(peer).subscriptions[subscription.name] = subscription
            case Unsubscribed(peer, name):
                del self.peer(peer).subscriptions[name]
            case Advertised(peer, elements):
                kept = self.peer(peer)
                kept.elements, kept.is_leaving = read_elements(elements), False
            case Leaving(peer):
                self.peer(peer).is_leaving = True
            case Withdrawn(peer):
                kept = self.peer(peer)
                kept.elements, kept.is_leaving = None, False
                self._tidy(peer)
            case OrderKept(peer, order):
                self.peer(peer).orders[order.old.raw] = order
            case OrderDropped(peer, old):
                del self.peer(peer).orders[old]
            case HandingOver(peer, order):
                self.peer(peer).handing_over = order
            case Arriving(peer, came_from):
                kept = self.peer(peer)
                kept.is_arriving, kept.came_from, kept.handing_over = True, came_from, None
            case CaughtUpHere(peer):
                self.peer(peer).has_caught_up_here = True
            case Brought(peer, marks):
                kept = self.peer(peer)
                kept.is_arriving, kept.has_caught_up_here = False, False
                kept.queue.drop(kept.queue.position)
                kept.queue.marks = dict(marks)
            case RendezvousKept(peer, rendezvous):
                self.peer(peer).rendezvous[rendezvous.id] = rendezvous
            case RendezvousDropped(peer, identity):
                del self.peer(peer).rendezvous[identity]
            case FileKept(peer, rendezvous, digest, content, at):
                self.peer(peer).files[rendezvous.id] = File(rendezvous, digest, content, at)
            case FileDropped(peer, identity):
                del self.peer(peer).files[identity]
            case _:
                raise AssertionError(f"{type(record).__name__} is no record of a peer")

    def _enqueue(self, record: Enqueued) -> None:
        publication = record.publication
        for peer, subscriptions in record.recipients:
            queue = self.queue(peer)
            queue.position += 1
            queue.entries.append(Entry(queue.position, publication, subscriptions, record.at, record.is_history))
            queue.size_bytes += publication.size_bytes
            if not record.is_history:
                queue.mark(publication.origin, publication.place)

    def _forget(self, peer: str, moved_to: bytes | None) -> None:
        """What a peer published here is still acknowledged under its name, so its elements go by `Withdrawn` only."""
        gone = self.peers.pop(peer, None)
        if moved_to is not None:
            self.moved[peer] = moved_to
            if len(self.moved) > MAX_MOVED:
                del self.moved[next(iter(self.moved))]
        if gone is not None and gone.elements is not None:
            self.peers[peer] = PeerState(elements=gone.elements, is_leaving=True)

    def _tidy(self, peer: str) -> None:
        if self.peers[peer].is_empty:
            del self.peers[peer]
