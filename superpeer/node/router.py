"""Settling: when a subscription is in place, and when an advertisement is known everywhere.

The `Router` runs the tables of one super-peer in one view. It tells neighbours what changed, in numbered messages on
links that are first in, first out, and finds out when a change has done its work:

*Complete.* A view starts with empty links. A link is told its whole table, once that is known to be whole, and
differences from then on. `adverts_out[w]` is whole when `adverts_in[k]` is for every k that w relays to; `subs_out[k]`
is whole when `adverts_in[k]` is, and `subs_in[w]` for every w that relays to k. In the cube dimensions rise along
these conditions, and in a tree they lead away from a link, so they end. A super-peer is *settled* when all its
in-links are whole; until then it keeps notifications back, since somebody may ask for them.

*Acknowledged.* A change of subscriptions is acknowledged when every out-link that it concerns has acknowledged the
state that contains it. A change of advertisements is acknowledged when every in-link that it concerns has, and what
it uncovers has been asked for, on the same link and before. So when an access point's in-links have all acknowledged
an advertisement, the subscriptions for it came back ahead of the last acknowledgement, hop by hop: they are there.

A subscription is *active*, an advertisement *settled*, when it is acknowledged at its access point.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from hypercup import Link
from qel import Query, canonical_id
from superpeer.node.advertisements import Element
from superpeer.node.tables import Difference, LocalPeer, LocalSubscription, Tables


@dataclass(frozen=True, slots=True)
class ElementsChanged:
    """Over an in-link: what is advertised on this side. Number 1 is the whole table."""

    dimension: int
    number: int
    added: frozenset[Element]
    removed: frozenset[Element] = frozenset()


@dataclass(frozen=True, slots=True)
class QueriesChanged:
    """Over an out-link: what is asked for on this side; what is no longer asked for goes by identity."""

    dimension: int
    number: int
    added: tuple[Query, ...]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ElementsAcknowledged:
    """Over an out-link: an ElementsChanged has done its work."""

    dimension: int
    number: int


@dataclass(frozen=True, slots=True)
class QueriesAcknowledged:
    """Over an in-link: a QueriesChanged has done its work."""

    dimension: int
    number: int


RoutingMessage = ElementsChanged | QueriesChanged | ElementsAcknowledged | QueriesAcknowledged


class Started(Enum):
    """What is reported as acknowledged of the state that a view began with."""

    SUBSCRIPTIONS = "subscriptions"
    ADVERTISEMENTS = "advertisements"


@dataclass
class Outcome:
    """What a step of the router leads to: messages to neighbours in order, and local changes that are in place."""

    messages: list[tuple[bytes, RoutingMessage]] = field(default_factory=list)
    acknowledged: list[Hashable] = field(default_factory=list)


class _Waiting:
    """Something to be done when some states have been acknowledged."""

    __slots__ = ("open", "then")

    def __init__(self, then: Callable[[], None]) -> None:
        self.open = 1  # held open by whoever collects the states, until all are known
        self.then = then

    def resolve(self) -> None:
        self.open -= 1
        if self.open == 0:
            self.then()


class _Sending:
    """One table that a neighbour is told: numbers given out, and who waits for which to be acknowledged."""

    __slots__ = ("acknowledged", "early", "sent", "waiting")

    def __init__(self) -> None:
        self.sent = 0
        self.acknowledged = 0
        self.early: set[int] = set()
        self.waiting: dict[int, list[_Waiting]] = {}

    @property
    def is_whole(self) -> bool:
        return self.sent > 0

    def wait(self, waiting: _Waiting) -> None:
        """Until the present state has been acknowledged; before the whole table was sent, until that has been."""
        number = max(self.sent, 1)
        if self.acknowledged < number:
            waiting.open += 1
            self.waiting.setdefault(number, []).append(waiting)

    def acknowledge(self, number: int) -> None:
        assert self.acknowledged < number <= self.sent, "an acknowledgement is for what was sent, and comes once"
        self.early.add(number)
        while self.acknowledged + 1 in self.early:
            self.acknowledged += 1
            self.early.remove(self.acknowledged)
            for waiting in self.waiting.pop(self.acknowledged, ()):
                waiting.resolve()


class Router:
    """The routing of one super-peer in one view."""

    def __init__(
        self, in_links: Iterable[Link], out_links: Iterable[Link], relays: Callable[[Link, Link], bool]
    ) -> None:
        self.tables: Tables[Link, Link] = Tables(in_links, out_links, relays)
        self._elements_to = {w: _Sending() for w in self.tables.in_links}
        self._queries_to = {k: _Sending() for k in self.tables.out_links}
        self._elements_from = dict.fromkeys(self.tables.out_links, 0)
        self._queries_from = dict.fromkeys(self.tables.in_links, 0)
        self._asked: dict[Link, dict[str, Query]] = {w: {} for w in self.tables.in_links}
        self._unasked: dict[Link, list[_Waiting]] = {k: [] for k in self.tables.out_links}
        self._outcome = Outcome()

    @property
    def is_settled(self) -> bool:
        return all(self._queries_from.values())

    def start(
        self,
        subscriptions: Mapping[LocalSubscription, Query] | None = None,
        advertisements: Mapping[LocalPeer, Iterable[Element]] | None = None,
    ) -> Outcome:
        """Begins, with what local peers asked for and advertised when the view began. Where nobody has to be waited
        for, links are told their tables at once. That this state is in place is reported as `Started`."""
        for peer, elements in (advertisements or {}).items():
            self.tables.update_advertisements(peer, elements)
        for source, query in (subscriptions or {}).items():
            self.tables.update_subscriptions(source, [query])
        self._await_outward(self.tables.out_links, self._report(Started.SUBSCRIPTIONS))
        self._await_inward(self.tables.in_links, self._report(Started.ADVERTISEMENTS))
        return self._finish()

    def subscribe(
        self, source: LocalSubscription, token: Hashable, added: Iterable[Query] = (), removed: Iterable[Query] = ()
    ) -> Outcome:
        """Changes what a local subscription asks for. The token is reported when the change is in place."""
        self._tell(self.tables.update_subscriptions(source, added, removed))
        self._await_outward(self.tables.out_links, self._report(token))
        return self._finish()

    def advertise(
        self, peer: LocalPeer, token: Hashable, added: Iterable[Element] = (), removed: Iterable[Element] = ()
    ) -> Outcome:
        """Changes what a local peer advertises. The token is reported when the change is in place."""
        self._tell(self.tables.update_advertisements(peer, added, removed))
        self._await_inward(self.tables.in_links, self._report(token))
        return self._finish()

    def receive(self, neighbour: bytes, message: RoutingMessage) -> Outcome:
        """Takes in what a neighbour says."""
        link = Link(neighbour, message.dimension)
        match message:
            case ElementsChanged():
                self._on_elements(link, message)
            case QueriesChanged():
                self._on_queries(link, message)
            case ElementsAcknowledged(_, number):
                self._elements_to[link].acknowledge(number)
            case QueriesAcknowledged(_, number):
                self._queries_to[link].acknowledge(number)
        return self._finish()

    def _on_elements(self, k: Link, message: ElementsChanged) -> None:
        assert message.number == self._elements_from[k] + 1, "links are first in, first out, and lossless"
        self._elements_from[k] = message.number
        self._tell(self.tables.update_advertisements(k, message.added, message.removed))
        answer = ElementsAcknowledged(k.dimension, message.number)
        waiting = _Waiting(lambda: self._outcome.messages.append((k.neighbour, answer)))
        if not self._queries_to[k].is_whole:
            waiting.open += 1
            self._unasked[k].append(waiting)
        self._await_inward(self.tables.relaying[k], waiting)

    def _on_queries(self, w: Link, message: QueriesChanged) -> None:
        assert message.number == self._queries_from[w] + 1, "links are first in, first out, and lossless"
        self._queries_from[w] = message.number
        asked = self._asked[w]
        removed = [asked.pop(identity) for identity in message.removed]
        asked.update((canonical_id(query), query) for query in message.added)
        self._tell(self.tables.update_subscriptions(w, message.added, removed))
        answer = QueriesAcknowledged(w.dimension, message.number)
        waiting = _Waiting(lambda: self._outcome.messages.append((w.neighbour, answer)))
        self._await_outward(self.tables.relayed[w], waiting)

    def _report(self, token: Hashable) -> _Waiting:
        return _Waiting(lambda: self._outcome.acknowledged.append(token))

    def _await_outward(self, links: Iterable[Link], waiting: _Waiting) -> None:
        self._complete()
        for k in links:
            self._queries_to[k].wait(waiting)
        waiting.resolve()

    def _await_inward(self, links: Iterable[Link], waiting: _Waiting) -> None:
        self._complete()
        for w in links:
            self._elements_to[w].wait(waiting)
        waiting.resolve()

    def _tell(self, difference: Difference[Link, Link]) -> None:
        """Tells links that are whole what changed; the others will be told all of it."""
        for w in sorted({*difference.elements_added, *difference.elements_removed}):
            if self._elements_to[w].is_whole:
                added = frozenset(difference.elements_added.get(w, ()))
                self._send_elements(w, added, frozenset(difference.elements_removed.get(w, ())))
        for k in sorted({*difference.queries_added, *difference.queries_removed}):
            if self._queries_to[k].is_whole:
                asked = [query for _, query in sorted(difference.queries_added.get(k, {}).items())]
                self._send_queries(k, tuple(asked), tuple(sorted(difference.queries_removed.get(k, ()))))

    def _complete(self) -> None:
        """Tells links their whole tables, as far as these are known to be whole."""
        for w, sending in self._elements_to.items():
            if not sending.is_whole and self._is_whole(self._elements_from, self.tables.relayed[w]):
                self._send_elements(w, frozenset(self.tables.adverts_out(w)))
        for k, asking in self._queries_to.items():
            if (
                not asking.is_whole
                and self._is_whole(self._elements_from, [k])
                and self._is_whole(self._queries_from, self.tables.relaying[k])
            ):
                self._send_queries(k, tuple(self.tables.subs_out(k).values()))
                for waiting in self._unasked.pop(k):
                    waiting.resolve()

    def _is_whole(self, received: dict[Link, int], links: Iterable[Link]) -> bool:
        """Whether the whole table of each of some links has come in."""
        return all(received[link] for link in links)

    def _send_elements(self, w: Link, added: frozenset[Element], removed: frozenset[Element] = frozenset()) -> None:
        sending = self._elements_to[w]
        sending.sent += 1
        message = ElementsChanged(w.dimension, sending.sent, added, removed)
        self._outcome.messages.append((w.neighbour, message))

    def _send_queries(self, k: Link, added: tuple[Query, ...], removed: tuple[str, ...] = ()) -> None:
        sending = self._queries_to[k]
        sending.sent += 1
        message = QueriesChanged(k.dimension, sending.sent, added, removed)
        self._outcome.messages.append((k.neighbour, message))

    def _finish(self) -> Outcome:
        self._complete()
        outcome, self._outcome = self._outcome, Outcome()
        return outcome
