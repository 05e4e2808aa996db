"""The broker: what local peers ask for and advertise, kept in place in every view, and what is published delivered.

Its `Router` lives as long as it does, from view to view, and speaks to neighbours through the `Exchange`. So joins,
departures and crashes of super-peers, and changes of subscriptions and advertisements, are one mechanism.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hypercup import View
from qel import Query, canonical_id
from superpeer.node.advertisements import Element
from superpeer.node.catching_up import CatchingUp, CatchUpAnswered, CatchUpAsked
from superpeer.node.delivery import Delivery, DeliveryMessage, Notified, NotifiedAcknowledged
from superpeer.node.exchange import Announced, Exchange, InView
from superpeer.node.forms import read_query, write_elements
from superpeer.node.publications import Draft, Publication
from superpeer.node.querying import Queries, QueryAnswered, QueryAsked
from superpeer.node.records import Advertised, Leaving, Subscribed, Subscription, Unsubscribed, Withdrawn
from superpeer.node.requests import AdvertisementSettled, SubscriptionActive
from superpeer.node.router import Outcome, Router, Started
from superpeer.node.routing_messages import RoutingMessage
from superpeer.node.state import PeerState
from superpeer.node.tables import LocalPeer, LocalSubscription
from superpeer.node.workspace import Workspace

LinkMessage = RoutingMessage | DeliveryMessage | QueryAsked | QueryAnswered
BrokerMessage = Announced | InView[LinkMessage] | InView[CatchUpAsked] | InView[CatchUpAnswered]


@dataclass(frozen=True)
class _Change:
    """What a subscription asks for, or a peer advertises, has changed; later changes have higher serials."""

    what: LocalSubscription | LocalPeer
    serial: int


class Broker:
    """The routing of one super-peer, from view to view."""

    def __init__(self, workspace: Workspace) -> None:
        self.view: View | None = None
        self.delivery = Delivery(workspace)
        self.catching_up = CatchingUp(workspace, self.delivery, self.is_all_here, self.is_in_place)
        self.queries = Queries(workspace, self._say_one, lambda: self.router.knows_what_lies_beyond)
        self.when_in_place: Callable[[str], None] = lambda _: None
        """Called with a peer all of whose subscriptions have become active."""
        self._workspace = workspace
        self._state = workspace.state
        self._exchange: Exchange[LinkMessage] = Exchange()
        self.router = Router()
        self._pending: dict[LocalSubscription | LocalPeer, int] = {}
        self._unplaced: Counter[str] = Counter()
        """How many subscriptions of each peer are pending."""
        self._leaving = {name for name, kept in self._state.peers.items() if kept.is_leaving}
        self._serial = 0
        self._began = 0
        self._restore()

    def enter_view(self, view: View) -> None:
        """Goes over to another view: links say what differs, and queues catch up where the thread may have broken."""
        previous, self.view = self.view, view
        known = previous.incarnations if previous else {}
        renewed = [key for key, incarnation in view.incarnations.items() if known.get(key) != incarnation]
        key = self._workspace.key
        position = view.position(key)
        self.delivery.begin_view()
        # What was under way in the old view is part of the state that the new one begins with.
        self._began = self._serial
        begun = self.router.enter_view(position.in_links, position.out_links, view.backbone.relays, view.incarnations)
        held = {neighbour: self.router.held_from(neighbour) for neighbour in position.neighbours}
        for neighbour, message in self._exchange.enter(view.id, held):
            self._workspace.send(neighbour, message)
        self._follow(begun)
        for neighbour, held_there in self._exchange.present.items():
            self._follow(self.router.greet(neighbour, held_there))
        # A peer whose own super-peer was away may have missed something of all others. What was published here it has,
        # unless it had not caught up when a life ended.
        broken = [origin for origin in (view.incarnations if key in renewed else renewed) if origin != key]
        for name, kept in self._state.peers.items():
            if kept.subscriptions and kept.handing_over is None:
                self.catching_up.begin(name, broken if self._has_caught_up_here(kept) else [*broken, key])
        self.catching_up.enter_view(view.id, view.incarnations)
        self.queries.enter_view(view, self.router.tables)

    def receive(self, sender: bytes, message: BrokerMessage) -> None:
        """Takes in a message of another super-peer."""
        if isinstance(message, Announced):
            for neighbour, released in self._exchange.hear_announcement(sender, message):
                self._workspace.send(neighbour, released)
            if message.view == self._exchange.view:
                self._follow(self.router.greet(sender, message.held))
        elif isinstance(message.content, CatchUpAsked):
            self.catching_up.hear_question(sender, message)
        elif isinstance(message.content, CatchUpAnswered):
            self._say(self.catching_up.hear_answer(sender, message))
        else:
            content = self._exchange.hear(message)
            if content is not None:
                self._on_content(sender, content)

    def subscribe(self, peer: str, subscription: Subscription) -> None:
        """A local peer asks for a query, in place of what it asked for under this name before."""
        before = self._query_in_place(peer, subscription.name)
        self._workspace.keep(Subscribed(peer, subscription))
        self.catching_up.note_change(peer)
        after = self._query_in_place(peer, subscription.name)
        if after is not None and subscription.since is not None:
            assert self.view is not None
            self.catching_up.begin(peer, self.view.incarnations)
        self._ask_for(LocalSubscription(peer, subscription.name), before, after)

    def unsubscribe(self, peer: str, name: str) -> None:
        """A local peer asks no longer."""
        before = self._query_in_place(peer, name)
        self._workspace.keep(Unsubscribed(peer, name))
        self._ask_for(LocalSubscription(peer, name), before, None)

    def advertise(self, peer: str, elements: frozenset[Element]) -> None:
        """A local peer advertises these elements, and nothing else any more."""
        kept = self._state.peers.get(peer)
        before = (kept.elements if kept else None) or frozenset()
        self._workspace.keep(Advertised(peer, write_elements(elements)))
        self._leaving.discard(peer)
        local = LocalPeer(peer)
        self._follow(self.router.advertise(local, self._note(local), elements - before, before - elements))

    def withdraw(self, peer: str) -> None:
        """A local peer advertises no more. What it advertised stays until what it published here is acknowledged."""
        self._workspace.keep(Leaving(peer))
        self._leaving.add(peer)

    def publish(self, draft: Draft) -> Publication:
        """A local peer publishes. With the effects carried out, it is in the log for good."""
        return self.delivery.publish(draft)

    def catch_up(self, peer: str) -> None:
        """A peer came from elsewhere, and all that it asks for is known: its queue catches up with everybody."""
        assert self.view is not None
        self.catching_up.begin(peer, self.view.incarnations)
        self.ask(peer)

    def ask(self, peer: str) -> None:
        """Something that a peer's questions waited for has happened."""
        self.catching_up.ask(peer)

    def forget(self, peer: str) -> None:
        """A peer is gone, with its subscriptions; what it advertised lingers."""
        self.catching_up.forget(peer)
        self._say(self.delivery.release(peer))

    def suspend(self, peer: str) -> None:
        """A peer is about to be handed over: nothing comes for it any more, and what is here stays as it is."""
        self.forget(peer)
        for name in list(self._state.peer(peer).subscriptions):
            self._ask_for(LocalSubscription(peer, name), self._query_in_place(peer, name), None)

    def is_active(self, peer: str, name: str) -> bool:
        kept = self._state.peers.get(peer)
        one = kept.subscriptions.get(name) if kept else None
        return one is not None and not one.is_paused and LocalSubscription(peer, name) not in self._pending

    def is_settled(self, peer: str) -> bool:
        """Whether what a peer advertises is in place, so that what it publishes reaches all who asked."""
        kept = self._state.peers.get(peer)
        return kept is not None and kept.elements is not None and LocalPeer(peer) not in self._pending

    def is_in_place(self, peer: str) -> bool:
        """Whether all subscriptions of a peer are active."""
        return peer not in self._unplaced

    def is_all_here(self, peer: str) -> bool:
        """Whether no other super-peer in the view is about to hand over more of a peer's queue."""
        kept = self._state.peers.get(peer)
        assert self.view is not None
        return kept is None or not any(old in self.view for old in kept.orders)

    def is_servable(self, query: Query) -> bool:
        """Whether somebody, here or elsewhere, advertises what a query asks for, as far as is known here."""
        tables = self.router.tables
        return tables.local.covers(query) or any(True for _ in tables.covering(query))

    def proceed(self) -> None:
        """At the end of a step: what may leave leaves, and who may go goes."""
        if self.router.is_settled:
            self._say(self.delivery.proceed(self.router.tables, self._may_leave))
        self._say(self.catching_up.proceed())
        self._let_go()
        self.queries.proceed()

    def _has_caught_up_here(self, kept: PeerState) -> bool:
        key = self._workspace.key
        asked = (one for one in kept.subscriptions.values() if one.since is not None and not one.is_paused)
        return kept.has_caught_up_here and all(key in one.answered for one in asked)

    def _restore(self) -> None:
        """Begins with what was on disk."""
        asked_for = {
            LocalSubscription(peer, name): read_query(one.text)
            for peer, kept in self._state.peers.items()
            for name, one in kept.subscriptions.items()
            if not one.is_paused and kept.handing_over is None
        }
        advertised = {
            LocalPeer(name): kept.elements for name, kept in self._state.peers.items() if kept.elements is not None
        }
        self.router.restore(asked_for, advertised)

    def _query_in_place(self, peer: str, name: str) -> Query | None:
        kept = self._state.peers.get(peer)
        one = kept.subscriptions.get(name) if kept and kept.handing_over is None else None
        return None if one is None or one.is_paused else read_query(one.text)

    def _ask_for(self, what: LocalSubscription, before: Query | None, after: Query | None) -> None:
        is_gone = before is not None and (after is None or canonical_id(before) != canonical_id(after))
        removed = [before] if before is not None and is_gone else []
        if after is not None:
            self._follow(self.router.subscribe(what, self._note(what), [after], removed))
            return
        self._settle(what)
        if removed:
            self._follow(self.router.subscribe(what, None, removed=removed))
        self._check_in_place(what.peer)

    def _check_in_place(self, peer: str) -> None:
        if self.is_in_place(peer):
            self.when_in_place(peer)
            self.ask(peer)

    def _note(self, what: LocalSubscription | LocalPeer) -> _Change:
        self._serial += 1
        if isinstance(what, LocalSubscription) and what not in self._pending:
            self._unplaced[what.peer] += 1
        self._pending[what] = self._serial
        return _Change(what, self._serial)

    def _settle(self, what: LocalSubscription | LocalPeer) -> None:
        """Something is in place, or gone."""
        if self._pending.pop(what, None) is not None and isinstance(what, LocalSubscription):
            self._unplaced[what.peer] -= 1
            if not self._unplaced[what.peer]:
                del self._unplaced[what.peer]

    def _on_content(self, sender: bytes, content: LinkMessage) -> None:
        match content:
            case Notified():
                self.delivery.arrive(sender, content)
            case NotifiedAcknowledged():
                self._say(self.delivery.acknowledged(sender, content))
            case QueryAsked():
                self.queries.hear_question(sender, content)
            case QueryAnswered():
                self.queries.hear_answer(sender, content)
            case _:
                self._follow(self.router.receive(sender, content))

    def _follow(self, outcome: Outcome) -> None:
        """Carries out what the router says, and notes what is in place."""
        self._say(outcome.messages)
        for token in outcome.acknowledged:
            match token:
                case _Change(what, serial):
                    if self._pending.get(what) == serial:
                        self._in_place(what)
                case Started.SUBSCRIPTIONS:
                    self._all_in_place(LocalSubscription)
                case Started.ADVERTISEMENTS:
                    self._all_in_place(LocalPeer)

    def _in_place(self, what: LocalSubscription | LocalPeer) -> None:
        self._settle(what)
        if isinstance(what, LocalSubscription):
            self._workspace.tell(what.peer, SubscriptionActive(what.subscription))
            self._check_in_place(what.peer)
        else:
            self._workspace.tell(what.peer, AdvertisementSettled())

    def _all_in_place(self, kind: type[LocalSubscription | LocalPeer]) -> None:
        """What was pending when the view began is part of the state that is now in place."""
        for what, serial in list(self._pending.items()):
            if isinstance(what, kind) and serial <= self._began:
                self._in_place(what)

    def _say(self, messages: Iterable[tuple[bytes, LinkMessage]]) -> None:
        for neighbour, content in messages:
            self._say_one(neighbour, content)

    def _say_one(self, neighbour: bytes, content: LinkMessage) -> None:
        for receiver, message in self._exchange.say(neighbour, content):
            self._workspace.send(receiver, message)

    def _may_leave(self, publisher: LocalPeer) -> bool:
        return publisher not in self._pending

    def _let_go(self) -> None:
        """Takes away the advertisements of those who left, as soon as nothing of theirs is on its way."""
        if not self._leaving:
            return
        busy = {publication.publisher for publication in self._state.log.unacknowledged.values()}
        for name in sorted(self._leaving - busy):
            local = LocalPeer(name)
            self._leaving.remove(name)
            self._settle(local)
            elements = self._state.peers[name].elements or frozenset()
            self._workspace.keep(Withdrawn(name))
            self._follow(self.router.advertise(local, None, removed=elements))
