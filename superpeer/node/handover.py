"""Migration: a peer's new access point fetches from the old one what waits there.

A peer tells its new access point alone. It brings what it asked for and advertised, its own marks, and a signed order
for each access point that may still have something for it. As soon as its subscriptions are active here, the new access
point presents the order; the old one lets go of the peer's subscriptions, hands over its queue and its files, in parts,
and forgets the peer when the new one has stored them. Nothing is lost between: what came to the old one before is
handed over, what comes after reaches the new one, and marks drop what comes both ways.

If the old access point is not in the view, nobody waits for it: the queue catches up from the origins' logs with the
marks that the peer brought. Should it come back, it still hands over what it has.

A mark says what a queue has of everything that its peer asked for. If the peer asks for more here than it did there,
the marks of the old queue say too much. Then the logs of the origins decide, from the marks that the peer brought; only
what waits from an origin that is not in the view is taken from the old queue, and does not move its mark.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import msgspec

import auth
from auth import AuthError, Departure, MigrationOrder, OrderExpired, PublicKey, Registration, Registry
from hypercup import View
from superpeer.node.broker import Broker
from superpeer.node.forms import Count, Form, SuperPeerKey, read_query
from superpeer.node.publications import Place, Publication
from superpeer.node.records import (
    Enqueued,
    Forgotten,
    HandingOver,
    Marked,
    Missed,
    OrderDropped,
    OrderKept,
    Registered,
    Rendezvous,
    Unregistered,
)
from superpeer.node.requests import HandedOver
from superpeer.node.state import PeerState
from superpeer.node.workspace import Workspace

PART_BYTES = 1024 * 1024
DIGEST_BYTES = 16


class HandOverAsked(Form, frozen=True, tag="hand over asked"):
    """To the old access point: this peer is here now."""

    order: MigrationOrder


class Waiting(Form, frozen=True, tag="waiting"):
    """An entry of the peer's queue."""

    publication: Publication
    subscriptions: tuple[str, ...]
    is_history: bool


class WaitingFile(Form, frozen=True, tag="waiting file"):
    rendezvous: Rendezvous
    content: bytes


class Left(Form, frozen=True, tag="left"):
    """What waits for a peer at an access point where it was, or a part of it."""

    asked_for: bytes
    """A digest of what the peer asked for there."""
    entries: tuple[Waiting, ...]
    marks: tuple[tuple[SuperPeerKey, Place], ...] = ()
    lost: Count = 0


class HandOverGiven(Form, frozen=True, tag="hand over given"):
    """From the old access point: a part of what waited for the peer; marks come with the last."""

    peer: str
    serial: int
    registration: Registration
    left: Left
    file: WaitingFile | None = None
    is_last: bool = False
    rendezvous: tuple[Rendezvous, ...] = ()


class HandOverTaken(Form, frozen=True, tag="hand over taken"):
    """To the old access point: all of it is on disk here."""

    peer: str
    serial: int


class HandOverRefused(Form, frozen=True, tag="hand over refused"):
    """From the old access point: there is nothing to hand over."""

    peer: str
    serial: int
    reason: str


class Arrived(NamedTuple):
    """A rendezvous of a peer that was handed over, perhaps with the file that waited."""

    peer: str
    rendezvous: Rendezvous
    content: bytes | None = None


HandoverMessage = HandOverAsked | HandOverGiven | HandOverTaken | HandOverRefused


class Handovers:
    """Peers that come from other access points, and peers that went to others."""

    def __init__(self, workspace: Workspace, registry: Registry, broker: Broker) -> None:
        self._workspace = workspace
        self._state = workspace.state
        self._registry = registry
        self._broker = broker
        self._arrived: list[Arrived] = []
        self._presented: set[tuple[str, bytes]] = set()
        """Peers and old access points that were asked in this view."""

    def begin(self, peer: str, orders: tuple[MigrationOrder, ...]) -> None:
        """A peer has come, with orders for access points that may have something for it."""
        for order in orders:
            if order.old.raw != self._workspace.key:
                known = self._state.peer(peer).orders.get(order.old.raw)
                if known is None or known.serial != order.serial:
                    self._presented.discard((peer, order.old.raw))
                self._workspace.keep(OrderKept(peer, order))
        self.ask(peer)

    def ask(self, peer: str) -> None:
        """Presents the orders of a peer, once all its subscriptions are active here."""
        kept = self._state.peers.get(peer)
        if kept is not None and kept.orders and self._broker.is_in_place(peer):
            self._present(peer, kept)

    def enter_view(self, view: View) -> None:
        """Messages may have been lost with a life: everything is said again."""
        self._presented.clear()
        for name, kept in list(self._state.peers.items()):
            if kept.orders:
                self._present(name, kept)
            if kept.handing_over is not None and kept.handing_over.new.raw in view:
                self._give(name, kept)

    def receive(self, sender: bytes, message: HandoverMessage) -> None:
        match message:
            case HandOverAsked(order):
                self._on_asked(sender, order)
            case HandOverGiven():
                self._on_given(sender, message)
            case HandOverTaken(peer, serial):
                self._on_taken(sender, peer, serial)
            case HandOverRefused(peer, serial, _):
                kept = self._state.peers.get(peer)
                if kept is not None and sender in kept.orders and kept.orders[sender].serial == serial:
                    self._finish(peer, sender)

    def take_arrived(self) -> list[Arrived]:
        """The rendezvous that were handed over, for which something has to be done here now."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def _present(self, peer: str, kept: PeerState) -> None:
        view = self._broker.view
        for old, order in kept.orders.items():
            if view is not None and old in view and (peer, old) not in self._presented:
                self._presented.add((peer, old))
                self._workspace.send(old, HandOverAsked(order))

    def _on_asked(self, sender: bytes, order: MigrationOrder) -> None:
        peer = str(order.public_id)
        try:
            self._registry.check_order(order, PublicKey(sender), self._workspace.now)
        except AuthError as error:
            self._workspace.send(sender, HandOverRefused(peer, order.serial, str(error)))
            return
        kept = self._state.peer(peer)
        if kept.handing_over is None or kept.handing_over.serial < order.serial:
            self._broker.suspend(peer)
            self._workspace.keep(HandingOver(peer, order))
            if kept.elements is not None:
                self._broker.withdraw(peer)
        self._workspace.connected.discard(peer)
        self._give(peer, kept)

    def _give(self, peer: str, kept: PeerState) -> None:
        order = kept.handing_over
        assert order is not None
        registration = self._registry.find(order.peer)
        new, serial = order.new.raw, order.serial
        left = left_by(kept)
        for file in kept.files.values():
            given = WaitingFile(file.rendezvous, file.content)
            self._workspace.send(new, HandOverGiven(peer, serial, registration, Left(left.asked_for, ()), given))
        part: list[Waiting] = []
        size = 0
        for entry in left.entries:
            part.append(entry)
            size += entry.publication.size_bytes
            if size > PART_BYTES:
                self._workspace.send(new, HandOverGiven(peer, serial, registration, Left(left.asked_for, tuple(part))))
                part, size = [], 0
        rest = Left(left.asked_for, tuple(part), left.marks, left.lost)
        rendezvous = tuple(kept.rendezvous.values())
        last = HandOverGiven(peer, serial, registration, rest, is_last=True, rendezvous=rendezvous)
        self._workspace.send(new, last)

    def _on_given(self, sender: bytes, given: HandOverGiven) -> None:
        try:
            self._registry.find(given.registration.key)
        except auth.UnknownPeer:
            return  # It has moved on, and others will ask for what this was.
        kept = self._state.peer(given.peer)
        order = kept.orders.get(sender)
        if order is None:
            self._workspace.send(sender, HandOverTaken(given.peer, given.serial))
            return
        if order.serial != given.serial:
            return
        if sender == kept.came_from:
            try:
                registration = self._registry.confirm(given.registration)
            except AuthError as error:
                self._workspace.refuse(error)
                return
            self._workspace.keep(Registered(registration))
        self.take(given.peer, given.left)
        self._arrived += [Arrived(given.peer, one) for one in given.rendezvous]
        if given.file is not None:
            self._arrived.append(Arrived(given.peer, given.file.rendezvous, given.file.content))
        if given.is_last:
            self._workspace.send(sender, HandOverTaken(given.peer, given.serial))
            self._finish(given.peer, sender)

    def take(self, peer: str, left: Left) -> None:
        """Puts into a peer's queue what waited for it where it was."""
        keep, view = self._workspace.keep, self._broker.view
        assert view is not None
        is_the_same = left.asked_for == _digest(self._state.peer(peer))
        for one in left.entries:
            if one.is_history or (not is_the_same and one.publication.origin not in view):
                recipients = ((peer, self._all_that_match(peer, one)),)
                keep(Enqueued(one.publication, recipients, self._workspace.now, is_history=True))
            elif is_the_same:
                self._broker.delivery.enqueue(one.publication, [(peer, one.subscriptions)])
        for origin, place in left.marks if is_the_same else ():
            keep(Marked(peer, origin, place))
        if left.lost:
            keep(Missed(peer, left.lost))

    def _all_that_match(self, peer: str, one: Waiting) -> tuple[str, ...]:
        """The subscriptions that matched there, and those that would have: the application sees it but once."""
        asked_for = self._state.peer(peer).subscriptions.values()
        here = {
            asked.name for asked in asked_for if not asked.is_paused and one.publication.meets(read_query(asked.text))
        }
        return tuple(sorted(here.union(one.subscriptions)))

    def _finish(self, peer: str, old: bytes) -> None:
        """The old access point has nothing more for the peer."""
        self._workspace.keep(OrderDropped(peer, old))
        self._presented.discard((peer, old))  # It may come from there again.
        self._workspace.tell(peer, HandedOver(old))
        self._broker.ask(peer)

    def _on_taken(self, sender: bytes, peer: str, serial: int) -> None:
        kept = self._state.peers.get(peer)
        order = kept.handing_over if kept else None
        if order is None or order.serial != serial or order.new.raw != sender:
            return
        now = self._workspace.now
        try:
            self._registry.release(order, order.new, now)
        except OrderExpired:
            self._registry.forget(order.peer, now)  # An order that has expired cannot be presented again.
        self._workspace.keep(Unregistered(order.peer.raw))
        self._workspace.keep(Registered(Departure(order.peer, serial, now)))
        self._broker.forget(peer)
        self._workspace.keep(Forgotten(peer, order.new.raw))


def left_by(kept: PeerState) -> Left:
    """What waits for a peer here."""
    entries = tuple(Waiting(one.publication, one.subscriptions, one.is_history) for one in kept.queue.entries)
    return Left(_digest(kept), entries, tuple(sorted(kept.queue.marks.items())), kept.queue.lost)


def _digest(kept: PeerState) -> bytes:
    """Of all that a peer asks for."""
    asked_for = sorted((one.name, one.text) for one in kept.subscriptions.values() if not one.is_paused)
    return blake2b(msgspec.msgpack.encode(asked_for), digest_size=DIGEST_BYTES).digest()
