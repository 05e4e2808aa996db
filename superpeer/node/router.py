"""Settling: when a subscription is in place, and when an advertisement is known everywhere.

The `Router` runs the tables of one super-peer, view after view. It tells neighbours what changed, in numbered messages
on links that are first in, first out, and finds out when a change has done its work:

*Greeted.* A neighbour in the same view says what it holds of what it was told in former views, by digests (`Held`).
From then on it holds just that until it is told more, so a table that starts from it has to say only what is different.
A neighbour that holds something else than it was told, or nothing, is told the whole table.

*Complete.* In each view a link is told its table afresh, once that is known to be whole, and differences from then on.
`adverts_out[w]` is whole when `adverts_in[k]` is for every k that w relays to; `subs_out[k]` is whole when
`adverts_in[k]` is, and `subs_in[w]` for every w that relays to k. In the cube dimensions rise along these conditions,
and in a tree they lead away from a link, so they end. What came in in a former view stays in the tables, but counts as
whole only when the neighbour has told its table in this view. A super-peer is *settled* when all its in-links are
whole; until then it keeps notifications back, since somebody may ask for them.

*Acknowledged.* A change of subscriptions is acknowledged when every out-link that it concerns has acknowledged the
state that contains it. A change of advertisements is acknowledged when every in-link that it concerns has, and what
it uncovers has been asked for, on the same link and before. So when an access point's in-links have all acknowledged
an advertisement, the subscriptions for it came back ahead of the last acknowledgement, hop by hop: they are there.
States follow each other, so what acknowledges one acknowledges all before it.

A subscription is *active*, an advertisement *settled*, when it is acknowledged at its access point.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from hypercup import Link
from qel import Query, canonical_id
from superpeer.node.advertisements import Element
from superpeer.node.digests import NOTHING
from superpeer.node.routing_messages import (
    ElementsAcknowledged,
    ElementsChanged,
    Held,
    QueriesAcknowledged,
    QueriesChanged,
    RoutingMessage,
)
from superpeer.node.sending import Receiving, Sending, Waiting
from superpeer.node.tables import LocalPeer, LocalSubscription, Tables


class Started(Enum):
    """What is reported as acknowledged of the state that a view began with."""

    SUBSCRIPTIONS = "subscriptions"
    ADVERTISEMENTS = "advertisements"


@dataclass
class Outcome:
    """What a step of the router leads to: messages to neighbours in order, and local changes that are in place."""

    messages: list[tuple[bytes, RoutingMessage]] = field(default_factory=list)
    acknowledged: list[Hashable] = field(default_factory=list)


class Router:
    """The routing of one super-peer."""

    def __init__(self) -> None:
        self.tables: Tables[Link, Link] = Tables()
        self._incarnations: dict[bytes, int] = {}
        self._greeted: set[bytes] = set()
        self._elements_to: dict[Link, Sending[ElementsChanged]] = {}
        self._queries_to: dict[Link, Sending[QueriesChanged]] = {}
        self._elements_from: dict[Link, Receiving[ElementsChanged]] = {}
        self._queries_from: dict[Link, Receiving[QueriesChanged]] = {}
        self._unasked: dict[Link, list[Waiting]] = {}
        self._outcome = Outcome()

    @property
    def is_settled(self) -> bool:
        return all(receiving.is_whole for receiving in self._queries_from.values())

    @property
    def knows_what_lies_beyond(self) -> bool:
        """Whether what is advertised beyond every out-link has come in."""
        return all(receiving.is_whole for receiving in self._elements_from.values())

    def restore(
        self, subscriptions: Mapping[LocalSubscription, Query], advertisements: Mapping[LocalPeer, Iterable[Element]]
    ) -> None:
        """Before the first view: what local peers asked for and advertised in a former life."""
        for peer, elements in advertisements.items():
            self.tables.update_advertisements(peer, elements)
        for source, query in subscriptions.items():
            self.tables.update_subscriptions(source, [query])

    def enter_view(
        self,
        in_links: Iterable[Link],
        out_links: Iterable[Link],
        relays: Callable[[Link, Link], bool],
        incarnations: Mapping[bytes, int],
    ) -> Outcome:
        """Goes over to another view. What a neighbour of both was told and said is remembered, unless it began a new
        life and has forgotten; where it stands may have changed. Every other link starts from nothing. That the state
        with which the view begins is in place is reported as `Started`."""
        same = {key for key, incarnation in self._incarnations.items() if incarnations.get(key) == incarnation}
        ways_in = _continued(in_links, [w for w in self._elements_to if w.neighbour in same])
        ways_out = _continued(out_links, [k for k in self._queries_to if k.neighbour in same])
        self.tables.enter(ways_in, ways_out, relays)
        self._elements_to = _carried_over(self._elements_to, ways_in, Sending)
        self._queries_from = _carried_over(self._queries_from, ways_in, Receiving)
        self._queries_to = _carried_over(self._queries_to, ways_out, Sending)
        self._elements_from = _carried_over(self._elements_from, ways_out, Receiving)
        self._unasked = {k: [] for k in ways_out}
        self._incarnations = {link.neighbour: incarnations[link.neighbour] for link in (*ways_in, *ways_out)}
        self._greeted.clear()
        self._await_outward(self.tables.out_links, self._report(Started.SUBSCRIPTIONS))
        self._await_inward(self.tables.in_links, self._report(Started.ADVERTISEMENTS))
        return self._finish()

    def held_from(self, neighbour: bytes) -> Held:
        """What to tell a neighbour in this view: what is still held of what it said in former ones."""
        elements = [receiving.digest for k, receiving in self._elements_from.items() if k.neighbour == neighbour]
        queries = [receiving.digest for w, receiving in self._queries_from.items() if w.neighbour == neighbour]
        return Held(*elements or [NOTHING], *queries or [NOTHING])

    def greet(self, neighbour: bytes, held: Held) -> Outcome:
        """A neighbour has entered this view, and holds this of what it was told in former ones."""
        if neighbour not in self._greeted:
            self._greeted.add(neighbour)
            for w in self.tables.in_links:
                if w.neighbour == neighbour:
                    self._resume_elements(w, held.elements)
            for k in self.tables.out_links:
                if k.neighbour == neighbour:
                    self._resume_queries(k, held.queries)
        return self._finish()

    def subscribe(
        self, source: LocalSubscription, token: Hashable, added: Iterable[Query] = (), removed: Iterable[Query] = ()
    ) -> Outcome:
        """Changes what a local subscription asks for. The token is reported when the change is in place."""
        self.tables.update_subscriptions(source, added, map(canonical_id, removed))
        self._tell()
        self._await_outward(self.tables.out_links, self._report(token))
        return self._finish()

    def advertise(
        self, peer: LocalPeer, token: Hashable, added: Iterable[Element] = (), removed: Iterable[Element] = ()
    ) -> Outcome:
        """Changes what a local peer advertises. The token is reported when the change is in place."""
        self.tables.update_advertisements(peer, added, removed)
        self._tell()
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

    def _resume_elements(self, w: Link, held: bytes) -> None:
        """From now on, what is unsaid on a link is how its table differs from what the neighbour holds."""
        unheard = self._elements_to[w].resume(held)
        if unheard is None:
            self.tables.unsaid.replace_elements(w, self.tables.adverts_out(w))
            return
        for message in unheard:
            for element in message.added:
                self.tables.unsaid.add_element(w, element)
            for element in message.removed:
                self.tables.unsaid.remove_element(w, element)

    def _resume_queries(self, k: Link, held: bytes) -> None:
        unheard = self._queries_to[k].resume(held)
        if unheard is None:
            self.tables.unsaid.replace_queries(k, self.tables.subs_out(k))
            return
        for message in unheard:
            for query in message.added:
                self.tables.unsaid.add_query(k, query)
            for identity in message.removed:
                self.tables.unsaid.remove_query(k, identity)

    def _on_elements(self, k: Link, message: ElementsChanged) -> None:
        removed = message.removed
        if self._elements_from[k].hear(message):
            removed = frozenset(self.tables.adverts_in(k)) - message.added
        self.tables.update_advertisements(k, message.added, removed)
        self._tell()
        answer = ElementsAcknowledged(k.dimension, message.number)
        waiting = Waiting(lambda: self._outcome.messages.append((k.neighbour, answer)))
        if not self._queries_to[k].is_whole:
            waiting.open += 1
            self._unasked[k].append(waiting)
        self._await_inward(self.tables.relaying[k], waiting)

    def _on_queries(self, w: Link, message: QueriesChanged) -> None:
        removed = message.removed
        if self._queries_from[w].hear(message):
            removed = tuple(sorted(self.tables.subs_in(w).keys() - set(map(canonical_id, message.added))))
        self.tables.update_subscriptions(w, message.added, removed)
        self._tell()
        answer = QueriesAcknowledged(w.dimension, message.number)
        waiting = Waiting(lambda: self._outcome.messages.append((w.neighbour, answer)))
        self._await_outward(self.tables.relayed[w], waiting)

    def _report(self, token: Hashable) -> Waiting:
        return Waiting(lambda: self._outcome.acknowledged.append(token))

    def _await_outward(self, links: Iterable[Link], waiting: Waiting) -> None:
        self._complete()
        for k in links:
            self._queries_to[k].wait(waiting)
        waiting.resolve()

    def _await_inward(self, links: Iterable[Link], waiting: Waiting) -> None:
        self._complete()
        for w in links:
            self._elements_to[w].wait(waiting)
        waiting.resolve()

    def _tell(self) -> None:
        """Tells links that are whole what changed; the others will be told with their tables."""
        for w in sorted(self.tables.unsaid.in_links):
            if self._elements_to[w].is_whole:
                self._send_elements(w)
        for k in sorted(self.tables.unsaid.out_links):
            if self._queries_to[k].is_whole:
                self._send_queries(k)

    def _complete(self) -> None:
        """Tells links their tables, as far as these are known to be whole."""
        for w, sending in self._elements_to.items():
            if (
                not sending.is_whole
                and w.neighbour in self._greeted
                and self._is_whole(self._elements_from, self.tables.relayed[w])
            ):
                self._send_elements(w, base=sending.digest)
        for k, asking in self._queries_to.items():
            if (
                not asking.is_whole
                and k.neighbour in self._greeted
                and self._is_whole(self._elements_from, [k])
                and self._is_whole(self._queries_from, self.tables.relaying[k])
            ):
                self._send_queries(k, base=asking.digest)
                for waiting in self._unasked.pop(k):
                    waiting.resolve()

    def _is_whole(self, received: Mapping[Link, Receiving[Any]], links: Iterable[Link]) -> bool:
        """Whether the whole table of each of some links has come in."""
        return all(received[link].is_whole for link in links)

    def _send_elements(self, w: Link, base: bytes = b"") -> None:
        sending = self._elements_to[w]
        added, removed = self.tables.unsaid.take_elements(w)
        message = ElementsChanged(w.dimension, sending.sent + 1, added, removed, base)
        sending.say(message)
        self._outcome.messages.append((w.neighbour, message))

    def _send_queries(self, k: Link, base: bytes = b"") -> None:
        sending = self._queries_to[k]
        added, removed = self.tables.unsaid.take_queries(k)
        message = QueriesChanged(k.dimension, sending.sent + 1, added, removed, base)
        sending.say(message)
        self._outcome.messages.append((k.neighbour, message))

    def _finish(self) -> Outcome:
        self._complete()
        outcome, self._outcome = self._outcome, Outcome()
        return outcome


def _continued(links: Iterable[Link], former: Iterable[Link]) -> dict[Link, Link | None]:
    """Links, each with the former one that leads to the same neighbour, in whatever dimension."""
    by_neighbour = {link.neighbour: link for link in former}
    return {link: by_neighbour.get(link.neighbour) for link in links}


Table = TypeVar("Table", Sending[Any], Receiving[Any])


def _carried_over(
    former: Mapping[Link, Table], links: Mapping[Link, Link | None], begin: Callable[[], Table]
) -> dict[Link, Table]:
    """The state of each link: that of the one that it continues, or a new one."""
    carried: dict[Link, Table] = {}
    for link, continued in links.items():
        carried[link] = begin() if continued is None else former[continued]
        carried[link].begin_view()
    return carried
