"""The super-peer: a plain object that is told what happens and says what to do about it.

It keeps what its peers asked for and advertised, and the log and queues of `delivery`. For each view it starts a new
`Router`, whose messages go through the `Exchange`. So joins, departures and crashes of super-peers, and changes of
subscriptions and advertisements, are one mechanism. Nothing here does I/O: `Effects` are carried out by whoever drives
the node, who makes the log and the queues durable before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypercup import View
from qel import Query
from qel.matching import is_met
from qel.topics import NO_TOPICS
from qel.values import describe
from superpeer.node.advertisements import Element
from superpeer.node.delivery import (
    Delivered,
    Delivery,
    DeliveryMessage,
    Notified,
    NotifiedAcknowledged,
    Publication,
)
from superpeer.node.exchange import Announced, Exchange, InView
from superpeer.node.router import Outcome, Router, RoutingMessage, Started
from superpeer.node.tables import LocalPeer, LocalSubscription

LinkMessage = RoutingMessage | DeliveryMessage


@dataclass(frozen=True, slots=True)
class CatchUpAsked:
    """To an origin: what of your log, above a mark or since a time, matches these subscriptions of one of my peers?"""

    peer: str
    request: int
    subscriptions: tuple[tuple[str, Query], ...]
    mark: int | None
    since: float


@dataclass(frozen=True, slots=True)
class CatchUpAnswered:
    """From an origin: this, and my log has reached so far."""

    peer: str
    request: int
    missed: tuple[Delivered, ...]
    through: int


NodeMessage = Announced | InView[LinkMessage] | InView[CatchUpAsked] | InView[CatchUpAnswered]


@dataclass
class Effects:
    """What a step of the node leads to."""

    messages: list[tuple[bytes, NodeMessage]] = field(default_factory=list)
    active: list[LocalSubscription] = field(default_factory=list)
    settled: list[LocalPeer] = field(default_factory=list)


@dataclass(frozen=True)
class _Change:
    """What a subscription asks for, or a peer advertises, has changed; later changes have higher serials."""

    what: LocalSubscription | LocalPeer
    serial: int


class Node:
    """One super-peer."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.delivery = Delivery(key)
        self.view: View | None = None
        self._exchange: Exchange[LinkMessage] = Exchange()
        self._router: Router | None = None
        self._subscriptions: dict[LocalSubscription, Query] = {}
        self._advertisements: dict[LocalPeer, frozenset[Element]] = {}
        self._leaving: set[LocalPeer] = set()
        self._pending: dict[LocalSubscription | LocalPeer, int] = {}
        self._since: dict[str, float] = {}
        self._changed_at: dict[str, int] = {}
        self._catching_up: dict[tuple[str, bytes], int] = {}
        self._asked_early: dict[tuple[bytes, str], InView[CatchUpAsked]] = {}
        self._serial = 0
        self._began = 0
        self._effects = Effects()

    def restore(self, former: Node) -> None:
        """Begins a new life with what a former one had on disk; what it had in hand is gone."""
        self._subscriptions.update(former._subscriptions)
        self._advertisements.update(former._advertisements)
        self._leaving.update(former._leaving)
        self._since.update(former._since)
        self.delivery.restore(former.delivery)

    def enter_view(self, view: View) -> Effects:
        """Goes over to another view: all links start afresh, and queues catch up where the thread may have broken."""
        previous, self.view = self.view, view
        known = previous.incarnations if previous else {}
        renewed = [key for key, incarnation in view.incarnations.items() if known.get(key) != incarnation]
        position = view.position(self.key)
        self._effects.messages += self._exchange.enter(view.id, position.neighbours)
        self.delivery.begin_view()
        self._router = Router(position.in_links, position.out_links, view.backbone.relays)
        # What was under way in the old view is part of the state that the new one begins with.
        self._began = self._serial
        self._follow(self._router.start(self._subscriptions, self._advertisements))
        for peer in self._since:
            self._catch_up_with(peer, view.incarnations if self.key in renewed else renewed)
        self._ask_again()
        self._answer_early_questions()
        return self._flush()

    def receive(self, sender: bytes, message: NodeMessage) -> Effects:
        """Takes in a message of another super-peer."""
        if isinstance(message, Announced):
            self._effects.messages += self._exchange.hear_announcement(sender, message)
        elif isinstance(message.content, CatchUpAsked):
            self._on_asked(sender, message)
        elif isinstance(message.content, CatchUpAnswered):
            if message.view == self._exchange.view:
                self._on_answered(sender, message.content)
        else:
            content = self._exchange.hear(message)
            if content is not None:
                self._on_content(sender, content)
        return self._flush()

    def subscribe(self, subscription: LocalSubscription, query: Query, now: float) -> Effects:
        """A local peer asks for a query, in place of what it asked for under this name before."""
        self._since.setdefault(subscription.peer, now)
        before = self._subscriptions.get(subscription)
        self._subscriptions[subscription] = query
        self._changed_at[subscription.peer] = self._serial + 1
        removed = [] if before is None else [before]
        self._follow(self._running.subscribe(subscription, self._note(subscription), [query], removed))
        return self._flush()

    def unsubscribe(self, subscription: LocalSubscription) -> Effects:
        """A local peer asks no longer."""
        query = self._subscriptions.pop(subscription)
        self._pending.pop(subscription, None)
        self._follow(self._running.subscribe(subscription, None, removed=[query]))
        return self._flush()

    def advertise(self, peer: LocalPeer, elements: Iterable[Element]) -> Effects:
        """A local peer advertises these elements, and nothing else any more."""
        new = frozenset(elements)
        before = self._advertisements.get(peer, frozenset())
        self._advertisements[peer] = new
        self._leaving.discard(peer)
        self._follow(self._running.advertise(peer, self._note(peer), new - before, before - new))
        return self._flush()

    def withdraw(self, peer: LocalPeer) -> Effects:
        """A local peer leaves. Its advertisements stay until what it published here is acknowledged."""
        self._leaving.add(peer)
        return self._flush()

    def publish(self, peer: LocalPeer, triples: Iterable[Any], now: float) -> tuple[Publication, Effects]:
        """A local peer publishes. With the effects carried out, it is in the log for good."""
        publication = self.delivery.publish(peer, tuple(triples), now)
        return publication, self._flush()

    def is_active(self, subscription: LocalSubscription) -> bool:
        return subscription in self._subscriptions and subscription not in self._pending

    def is_settled(self, peer: LocalPeer) -> bool:
        """Whether what a peer advertises is in place, so that what it publishes reaches all who asked."""
        return peer in self._advertisements and peer not in self._pending

    @property
    def _running(self) -> Router:
        assert self._router is not None, "a super-peer is always in a view, if only its own"
        return self._router

    def _note(self, what: LocalSubscription | LocalPeer) -> _Change:
        self._serial += 1
        self._pending[what] = self._serial
        return _Change(what, self._serial)

    def _on_content(self, sender: bytes, content: LinkMessage) -> None:
        match content:
            case Notified():
                self.delivery.hold(sender, content)
            case NotifiedAcknowledged():
                self._say(self.delivery.acknowledged(sender, content))
            case _:
                self._follow(self._running.receive(sender, content))

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
        del self._pending[what]
        if isinstance(what, LocalSubscription):
            self._effects.active.append(what)
        else:
            self._effects.settled.append(what)

    def _all_in_place(self, kind: type[LocalSubscription | LocalPeer]) -> None:
        """What was pending when the view began is part of the state that is now in place."""
        for what, serial in list(self._pending.items()):
            if isinstance(what, kind) and serial <= self._began:
                self._in_place(what)

    def _catch_up_with(self, peer: str, origins: Iterable[bytes]) -> None:
        for origin in origins:
            if origin != self.key:
                self._catching_up.setdefault((peer, origin), 0)
                self.delivery.start_catching_up(peer, origin)

    def _ask_again(self) -> None:
        """Asks all origins in the view that some queue has to catch up with; answers of former views do not count."""
        for peer, origin in self._catching_up:
            if self.view is not None and origin in self.view:
                self._ask(peer, origin)

    def _ask(self, peer: str, origin: bytes) -> None:
        self._serial += 1
        self._catching_up[peer, origin] = self._serial
        mark = self.delivery.queue(peer).marks.get(origin)
        question = CatchUpAsked(peer, self._serial, self._asked_for_by(peer), mark, self._since[peer])
        self._effects.messages.append((origin, InView(self._exchange.view, question)))

    def _asked_for_by(self, peer: str) -> tuple[tuple[str, Query], ...]:
        return tuple((one.subscription, query) for one, query in self._subscriptions.items() if one.peer == peer)

    def _on_asked(self, sender: bytes, message: InView[CatchUpAsked]) -> None:
        """Answers in the view of the question only: what is published later in it goes to the asker by itself."""
        if message.view != self._exchange.view:
            self._asked_early[sender, message.content.peer] = message
            return
        question = message.content
        missed = []
        for publication in self.delivery.after(question.mark, question.since):
            (description,) = describe(publication.triples)
            matched = frozenset(n for n, query in question.subscriptions if is_met(query, description, NO_TOPICS))
            if matched:
                missed.append(Delivered(publication, matched))
        answer = CatchUpAnswered(question.peer, question.request, tuple(missed), len(self.delivery.log))
        self._effects.messages.append((sender, InView(message.view, answer)))

    def _answer_early_questions(self) -> None:
        """Answers the questions of the view just entered, which others entered before. Those of views to come wait on;
        those of views that were skipped are asked again by who has not given up, and then replaced."""
        for (sender, peer), message in list(self._asked_early.items()):
            if message.view == self._exchange.view:
                del self._asked_early[sender, peer]
                self._on_asked(sender, message)

    def _on_answered(self, origin: bytes, answer: CatchUpAnswered) -> None:
        if self._catching_up.get((answer.peer, origin)) != answer.request:
            return
        if self._changed_at.get(answer.peer, 0) > answer.request:
            self._ask(answer.peer, origin)
            return
        del self._catching_up[answer.peer, origin]
        self._say(self.delivery.catch_up(answer.peer, origin, answer.missed, answer.through))

    def _say(self, messages: Iterable[tuple[bytes, LinkMessage]]) -> None:
        for neighbour, content in messages:
            self._effects.messages += self._exchange.say(neighbour, content)

    def _flush(self) -> Effects:
        router = self._router
        if router is not None and router.is_settled:
            self._say(self.delivery.proceed(router.tables, self._may_leave))
        self._let_go()
        effects, self._effects = self._effects, Effects()
        return effects

    def _may_leave(self, publisher: LocalPeer) -> bool:
        return publisher not in self._pending

    def _let_go(self) -> None:
        """Takes away the advertisements of those who left, as soon as nothing of theirs is on its way."""
        if not self._leaving:
            return
        busy = {publication.publisher for publication in self.delivery.unacknowledged}
        for peer in sorted(self._leaving - busy, key=lambda peer: peer.peer):
            self._leaving.remove(peer)
            self._pending.pop(peer, None)
            elements = self._advertisements.pop(peer, frozenset())
            self._follow(self._running.advertise(peer, None, removed=elements))
