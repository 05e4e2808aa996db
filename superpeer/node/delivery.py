"""Delivery: from the log of an access point to the queues of subscribers, acknowledged hop by hop.

Every super-peer has a *log*: what its peers published, one sequence. Notifications leave in the order of the log, and
only once the super-peer is settled and the advertisements of the publisher are. A hop acknowledges a notification
when its own subscribers' queues have it *and* every hop it passed it to has acknowledged; in between it is in memory
only. What the log has that is not acknowledged is sent again, in order, in the next view, so that a super-peer that
dies with notifications in hand loses none.

Every queue has a *mark* for each origin: how far into its log it got. Order holds across views, since what is sent
again is sent in order, so a mark is one number and what is not above it is a duplicate.

*Catching up.* The thread between an origin and a queue breaks when one super-peer was out of the other's view: the
origin did without its acknowledgement. Then the queue asks the origin for what matches above its mark, and holds back
newer publications of that origin until the answer is in. The answer tells how far the log reached, which is the new
mark. A queue that has no mark for the origin yet asks for what was published since its first subscription.

Whoever drives this makes what was stored durable before anything that was sent in the same step, or later, leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hypercup import Link
from qel.values import describe
from superpeer.node.tables import LocalPeer, LocalSubscription, Tables


@dataclass(frozen=True, slots=True)
class Publication:
    """What a peer published, at its place in the log of its access point."""

    origin: bytes
    number: int
    publisher: LocalPeer
    published_at: float
    triples: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Notified:
    """Over an in-link: a publication that somebody there asked for."""

    dimension: int
    publication: Publication


@dataclass(frozen=True, slots=True)
class NotifiedAcknowledged:
    """Over an out-link: the publication is in all queues that it has to be in, here and beyond."""

    dimension: int
    origin: bytes
    number: int


DeliveryMessage = Notified | NotifiedAcknowledged


@dataclass(frozen=True, slots=True)
class Delivered:
    """A publication in a peer's queue, with the subscriptions that it matched."""

    publication: Publication
    subscriptions: frozenset[str]


@dataclass(slots=True)
class _InHand:
    """A publication that was passed on: which links have not acknowledged it yet, which queues hold it back, and whom
    to tell when all is done."""

    came_from: Link | None
    missing: set[Link | str]


@dataclass
class Queue:
    """What waits for one peer, and the mark for each origin."""

    entries: list[Delivered] = field(default_factory=list)
    marks: dict[bytes, int] = field(default_factory=dict)
    held: dict[bytes, list[Delivered]] = field(default_factory=dict)
    """For each origin that the queue is catching up with, what has to wait."""

    def append(self, delivered: Delivered) -> None:
        publication = delivered.publication
        if publication.number > self.marks.get(publication.origin, 0):
            self.marks[publication.origin] = publication.number
            self.entries.append(delivered)


class Delivery:
    """The log, the queues and the publications in hand of one super-peer."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.log: list[Publication] = []
        self.queues: dict[str, Queue] = {}
        self._unacknowledged: dict[int, Publication] = {}
        self._to_send: deque[Publication] = deque()
        self._held: deque[tuple[Publication, Link]] = deque()
        self._in_hand: dict[tuple[bytes, int], _InHand] = {}

    @property
    def unacknowledged(self) -> list[Publication]:
        """What of the log the network has not acknowledged, in order."""
        return list(self._unacknowledged.values())

    def restore(self, former: Delivery) -> None:
        """Takes over what a former life had on disk."""
        self.log = list(former.log)
        self._unacknowledged = dict(former._unacknowledged)
        self.queues = {peer: Queue(list(queue.entries), dict(queue.marks)) for peer, queue in former.queues.items()}

    def publish(self, publisher: LocalPeer, triples: tuple[Any, ...], now: float) -> Publication:
        """Appends to the log. It is sent when its turn has come."""
        publication = Publication(self.key, len(self.log) + 1, publisher, now, triples)
        self.log.append(publication)
        self._unacknowledged[publication.number] = publication
        self._to_send.append(publication)
        return publication

    def begin_view(self) -> None:
        """What was in hand is forgotten; what of the log is not acknowledged will be sent again."""
        self._in_hand.clear()
        self._held.clear()
        for queue in self.queues.values():
            for held in queue.held.values():
                held.clear()
        self._to_send = deque(self._unacknowledged.values())

    def proceed(
        self, tables: Tables[Link, Link], may_leave: Callable[[LocalPeer], bool]
    ) -> list[tuple[bytes, DeliveryMessage]]:
        """In a settled super-peer: passes on what was held back, and sends from the log what may leave."""
        messages: list[tuple[bytes, DeliveryMessage]] = []
        while self._held:
            publication, came_from = self._held.popleft()
            messages += self._pass_on(publication, came_from, tables)
        while self._to_send and may_leave(self._to_send[0].publisher):
            messages += self._pass_on(self._to_send.popleft(), None, tables)
        return messages

    def hold(self, neighbour: bytes, message: Notified) -> None:
        """Takes in a notification; `proceed` passes it on."""
        self._held.append((message.publication, Link(neighbour, message.dimension)))

    def acknowledged(self, neighbour: bytes, message: NotifiedAcknowledged) -> list[tuple[bytes, DeliveryMessage]]:
        """A neighbour has done its part."""
        return self._settle(message.origin, message.number, Link(neighbour, message.dimension))

    def start_catching_up(self, peer: str, origin: bytes) -> None:
        """From now on, what comes from an origin waits until the queue has caught up with it."""
        self.queue(peer).held.setdefault(origin, [])

    def catch_up(
        self, peer: str, origin: bytes, missed: Iterable[Delivered], through: int
    ) -> list[tuple[bytes, DeliveryMessage]]:
        """The answer of an origin, whose log reached so far: it goes in front of what waited."""
        queue = self.queue(peer)
        for delivered in missed:
            queue.append(delivered)
        queue.marks[origin] = max(through, queue.marks.get(origin, 0))
        messages: list[tuple[bytes, DeliveryMessage]] = []
        for delivered in queue.held.pop(origin):
            queue.append(delivered)
            messages += self._settle(origin, delivered.publication.number, peer)
        return messages

    def after(self, mark: int | None, since: float) -> list[Publication]:
        """What the log has above a mark; where there is none, what was published since a time."""
        if mark is not None:
            return self.log[mark:]
        return [publication for publication in self.log if publication.published_at >= since]

    def queue(self, peer: str) -> Queue:
        return self.queues.setdefault(peer, Queue())

    def _pass_on(
        self, publication: Publication, came_from: Link | None, tables: Tables[Link, Link]
    ) -> list[tuple[bytes, DeliveryMessage]]:
        (description,) = describe(publication.triples)
        local, links = tables.recipients(description, came_from)
        by_peer: dict[str, set[LocalSubscription]] = {}
        for subscription in local:
            by_peer.setdefault(subscription.peer, set()).add(subscription)
        missing: set[Link | str] = set(links)
        for peer, matched in by_peer.items():
            queue = self.queue(peer)
            delivered = Delivered(publication, frozenset(subscription.subscription for subscription in matched))
            if publication.origin in queue.held:
                queue.held[publication.origin].append(delivered)
                missing.add(peer)
            else:
                queue.append(delivered)
        self._in_hand[publication.origin, publication.number] = _InHand(came_from, missing)
        messages: list[tuple[bytes, DeliveryMessage]] = [
            (link.neighbour, Notified(link.dimension, publication)) for link in sorted(links)
        ]
        return messages if missing else self._finish(publication.origin, publication.number)

    def _settle(self, origin: bytes, number: int, done: Link | str) -> list[tuple[bytes, DeliveryMessage]]:
        """One of those that a publication was passed on to has done its part."""
        in_hand = self._in_hand[origin, number]
        in_hand.missing.remove(done)
        return [] if in_hand.missing else self._finish(origin, number)

    def _finish(self, origin: bytes, number: int) -> list[tuple[bytes, DeliveryMessage]]:
        came_from = self._in_hand.pop((origin, number)).came_from
        if came_from is None:
            del self._unacknowledged[number]
            return []
        return [(came_from.neighbour, NotifiedAcknowledged(came_from.dimension, origin, number))]
