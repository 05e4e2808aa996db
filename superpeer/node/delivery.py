"""Delivery: from the log of an access point to the queues of subscribers, acknowledged hop by hop.

Every super-peer has a *log*: what its peers published, one sequence. Notifications leave in the order of the log, and
only once the super-peer is settled and the advertisements of the publisher are. A hop acknowledges a notification
when its own subscribers' queues have it *and* every hop it passed it to has acknowledged; in between it is in memory
only. What the log has that is not acknowledged is sent again, in order, in the next view, so that a super-peer that
dies with notifications in hand loses none.

Every queue has a *mark* for each origin: how far into its log it got. Order holds across views, since what is sent
again is sent in order, so a mark is one place and what is not above it is a duplicate.

*Catching up.* The thread between an origin and a queue breaks when one super-peer was out of the other's view: the
origin did without its acknowledgement. Then the queue asks the origin for what matches above its mark (see
`catching_up`), and what comes from that origin meanwhile is held back here until the answer is in.

Records are durable before anything that was sent in the same step, or later, leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from hypercup import Link
from superpeer.node.forms import Form
from superpeer.node.publications import Draft, Place, Publication
from superpeer.node.records import Acknowledged, Enqueued, Published
from superpeer.node.requests import PublicationsAcknowledged
from superpeer.node.tables import LocalPeer, LocalSubscription, Tables
from superpeer.node.traces import Step, Traces
from superpeer.node.workspace import Workspace


class Notified(Form, frozen=True, tag="notified"):
    """Over an in-link: publications that somebody there asked for, in the order of their logs."""

    dimension: int
    publications: tuple[Publication, ...]


class NotifiedAcknowledged(Form, frozen=True, tag="notified acknowledged"):
    """Over an out-link: these publications are in all queues that they have to be in, here and beyond."""

    dimension: int
    origin: bytes
    places: tuple[Place, ...]


DeliveryMessage = Notified | NotifiedAcknowledged
Messages = list[tuple[bytes, DeliveryMessage]]

AT_ONCE = 256
"""So many publications are matched together."""
MESSAGE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Matched:
    """A publication, and which subscriptions of one peer it matches."""

    publication: Publication
    subscriptions: tuple[str, ...]


@dataclass(slots=True)
class _InHand:
    """A publication that was passed on: which links have not acknowledged it yet, which queues hold it back, and whom
    to tell when all is done."""

    came_from: Link | None
    missing: set[Link | str]


class _Outgoing:
    """What a step of delivery has to say, gathered so that each neighbour and each publisher is told once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._notified: dict[Link, list[Publication]] = {}
        self._acknowledged: dict[tuple[Link, bytes], list[Place]] = {}
        self._told: dict[str, list[int]] = {}

    def notify(self, links: Iterable[Link], publication: Publication) -> None:
        for link in links:
            self._notified.setdefault(link, []).append(publication)

    def acknowledge(self, link: Link, origin: bytes, place: Place) -> None:
        self._acknowledged.setdefault((link, origin), []).append(place)

    def tell(self, publisher: str, serial: int) -> None:
        self._told.setdefault(publisher, []).append(serial)

    def say(self) -> Messages:
        messages: Messages = []
        for link, publications in sorted(self._notified.items()):
            for some in _divided(publications):
                messages.append((link.neighbour, Notified(link.dimension, some)))
        for (link, origin), places in self._acknowledged.items():
            messages.append((link.neighbour, NotifiedAcknowledged(link.dimension, origin, tuple(places))))
        for publisher, serials in self._told.items():
            self._workspace.tell(publisher, PublicationsAcknowledged(tuple(serials)))
        return messages


def _divided(publications: list[Publication]) -> Iterator[tuple[Publication, ...]]:
    """In messages of a moderate size."""
    some: list[Publication] = []
    size = 0
    for publication in publications:
        if some and size + publication.size_bytes > MESSAGE_BYTES:
            yield tuple(some)
            some, size = [], 0
        some.append(publication)
        size += publication.size_bytes
    yield tuple(some)


class Delivery:
    """The publications in hand of one super-peer, between its log and its queues."""

    def __init__(self, workspace: Workspace) -> None:
        self.traces = Traces()
        self._workspace = workspace
        self._state = workspace.state
        self._to_send: deque[Publication] = deque()
        self._arrived: deque[tuple[Publication, Link]] = deque()
        self._in_hand: dict[tuple[bytes, Place], _InHand] = {}
        self._held: dict[tuple[str, bytes], list[Matched]] = {}
        """For each peer and origin that its queue is catching up with, what has to wait."""

    def publish(self, draft: Draft) -> Publication:
        """Appends to the log. It is sent when its turn has come."""
        generation, last = self._state.log.end
        publication = Publication(self._workspace.key, (generation, last + 1), self._workspace.now, draft)
        self._workspace.keep(Published(publication))
        self._to_send.append(publication)
        return publication

    def begin_view(self) -> None:
        """What was in hand is forgotten; what of the log is not acknowledged will be sent again."""
        self._in_hand.clear()
        self._arrived.clear()
        for held in self._held.values():
            held.clear()
        self._to_send = deque(self._state.log.unacknowledged.values())

    def proceed(self, tables: Tables[Link, Link], may_leave: Callable[[LocalPeer], bool]) -> Messages:
        """In a settled super-peer: passes on what has arrived, and sends from the log what may leave."""
        ready: list[tuple[Publication, Link | None]] = [*self._arrived]
        self._arrived.clear()
        while self._to_send and may_leave(publisher_of(self._to_send[0])):
            ready.append((self._to_send.popleft(), None))
        outgoing = _Outgoing(self._workspace)
        for some in (ready[start : start + AT_ONCE] for start in range(0, len(ready), AT_ONCE)):
            found = tables.recipients_of_all([(one.said, came_from) for one, came_from in some])
            for (publication, came_from), (local, links) in zip(some, found, strict=True):
                self._pass_on(publication, came_from, local, links, outgoing)
        return outgoing.say()

    def arrive(self, neighbour: bytes, message: Notified) -> None:
        """Takes in notifications; `proceed` passes them on."""
        link = Link(neighbour, message.dimension)
        self._arrived.extend((publication, link) for publication in message.publications)

    def acknowledged(self, neighbour: bytes, message: NotifiedAcknowledged) -> Messages:
        """A neighbour has done its part."""
        outgoing, link = _Outgoing(self._workspace), Link(neighbour, message.dimension)
        for place in message.places:
            self._settle(message.origin, place, link, outgoing)
        return outgoing.say()

    def hold(self, peer: str, origin: bytes) -> None:
        """From now on, what comes from an origin waits until the queue has caught up with it."""
        self._held.setdefault((peer, origin), [])

    def let_go(self, peer: str, origin: bytes) -> Messages:
        """The queue has caught up: what waited comes after."""
        outgoing = _Outgoing(self._workspace)
        for matched in self._held.pop((peer, origin), ()):
            self.enqueue(matched.publication, [(peer, matched.subscriptions)])
            self._settle(origin, matched.publication.place, peer, outgoing)
        return outgoing.say()

    def release(self, peer: str) -> Messages:
        """A peer is no longer here. What was held back for it goes elsewhere, from the mark on that its queue has."""
        outgoing = _Outgoing(self._workspace)
        for origin in [origin for who, origin in self._held if who == peer]:
            for matched in self._held.pop((peer, origin)):
                self._settle(origin, matched.publication.place, peer, outgoing)
        return outgoing.say()

    def enqueue(self, publication: Publication, recipients: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        """Puts a publication into the queues that do not have it yet, of peers that are still here."""
        peers = self._state.peers
        new = tuple(one for one in recipients if one[0] in peers and peers[one[0]].queue.is_new(publication))
        if new:
            self._workspace.keep(Enqueued(publication, new, self._workspace.now))

    def _pass_on(
        self,
        publication: Publication,
        came_from: Link | None,
        local: set[LocalSubscription],
        links: set[Link],
        outgoing: _Outgoing,
    ) -> None:
        by_peer: dict[str, list[str]] = {}
        for subscription in sorted(local, key=attrgetter("peer", "subscription")):
            by_peer.setdefault(subscription.peer, []).append(subscription.subscription)
        missing: set[Link | str] = set(links)
        ready = []
        for peer, names in by_peer.items():
            held = self._held.get((peer, publication.origin))
            if held is None:
                ready.append((peer, tuple(names)))
            else:
                held.append(Matched(publication, tuple(names)))
                missing.add(peer)
        self.enqueue(publication, ready)
        held_back = tuple(peer for peer in by_peer if peer in missing)
        step = Step(self._workspace.now, came_from, tuple(sorted(links)), tuple(by_peer), held_back)
        self.traces.note(publication, step)
        self._in_hand[publication.origin, publication.place] = _InHand(came_from, missing)
        outgoing.notify(links, publication)
        if not missing:
            self._finish(publication.origin, publication.place, outgoing)

    def _settle(self, origin: bytes, place: Place, done: Link | str, outgoing: _Outgoing) -> None:
        """One of those that a publication was passed on to has done its part."""
        in_hand = self._in_hand[origin, place]
        in_hand.missing.remove(done)
        if not in_hand.missing:
            self._finish(origin, place, outgoing)

    def _finish(self, origin: bytes, place: Place, outgoing: _Outgoing) -> None:
        came_from = self._in_hand.pop((origin, place)).came_from
        if came_from is None:
            publication = self._state.log.unacknowledged[place[1]]
            self._workspace.keep(Acknowledged(place[1]))
            outgoing.tell(publication.publisher, publication.draft.serial)
        else:
            outgoing.acknowledge(came_from, origin, place)


def publisher_of(publication: Publication) -> LocalPeer:
    """Whose advertisements a publication rests on, at its origin."""
    return LocalPeer(publication.publisher)
