"""Settling, on links with random delays: what is active is told of everything that is published by the settled.

The rules can be switched off one by one; then notifications get lost, which shows that the test can tell.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from hypercup import Backbone, CubeKind, Entry, Kind, Label, Link, UnstructuredKind
from qel.values import describe
from superpeer.node.advertisements import Element, elements_of
from superpeer.node.router import Outcome, Router
from superpeer.node.routing_messages import RoutingMessage
from superpeer.node.tables import LocalPeer, LocalSubscription

QUERIES = [
    qel.parse(text)
    for text in (
        "X : t(X, dc:date, D)",
        "X : t(X, dc:date, D) & D >= 3",
        "X : t(X, dc:date, D) & D >= 3 & D <= 7",
        "X : t(X, dc:date, D) & D = 5",
        'X : t(X, dc:title, T) & T contains "a"',
        'X : t(X, dc:title, T) & t(X, dc:date, D) & T contains "ab" & D <= 5',
        "X : t(X, dc:date, D) & (D <= 2 | D >= 6)",
    )
]
ADVERTISEMENTS = [
    qel.Advertisement(schemas=["dc:"]),
    qel.Advertisement(properties=["dc:date", "dc:title"]),
    qel.Advertisement(properties=["dc:title"], values={"dc:date": (4, None)}),
    qel.Advertisement(values={"dc:date": [5]}),
]


@dataclass(frozen=True)
class Notification:
    """A publication on its way back over a link."""

    number: int
    dimension: int


@dataclass
class SuperPeer:
    router: Router
    waiting: list[tuple[int, Link | None]] = field(default_factory=list)


@dataclass
class Publisher:
    """A local peer with one advertisement, which may publish once that is settled."""

    at: bytes
    peer: LocalPeer
    advertisement: qel.Advertisement
    is_settled: bool = False


class Network:
    """One view of super-peers whose links are first in, first out, with delays from one seed."""

    def __init__(
        self,
        backbone: Backbone,
        seed: int,
        router_class: type[Router] = Router,
        asking: dict[LocalSubscription, tuple[bytes, qel.Query]] | None = None,
        publishers: Iterable[Publisher] = (),
    ) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.backbone = backbone
        self.nodes = {}
        for key in sorted(backbone.members):
            self.nodes[key] = SuperPeer(router_class())
        self.agenda: list[tuple[float, int, bytes, bytes, Any]] = []
        self.last: dict[tuple[bytes, bytes], float] = {}
        self.count = 0
        self.active = set(asking or ())
        self.publishers = list(publishers)
        self.published: list[list[Any]] = []
        self.received: Counter[tuple[LocalSubscription, int]] = Counter()
        for key, node in self.nodes.items():
            subscriptions = {who: query for who, (at, query) in (asking or {}).items() if at == key}
            advertisements = {p.peer: elements_of(p.advertisement) for p in self.publishers if p.at == key}
            node.router.restore(subscriptions, advertisements)
            position = backbone.position(key)
            incarnations = dict.fromkeys(backbone.members, 1)
            entered = node.router.enter_view(position.in_links, position.out_links, backbone.relays, incarnations)
            self.carry_out(key, entered)
        for key, node in self.nodes.items():
            for neighbour in backbone.position(key).neighbours:
                self.carry_out(key, node.router.greet(neighbour, self.nodes[neighbour].router.held_from(key)))

    def send(self, sender: bytes, receiver: bytes, message: RoutingMessage | Notification) -> None:
        way = (sender, receiver)
        at = max(self.last.get(way, 0.0), self.now + self.random.choice([0.01, 0.1, 1.0]))
        self.last[way] = at
        self.count += 1
        heapq.heappush(self.agenda, (at, self.count, sender, receiver, message))

    def carry_out(self, key: bytes, outcome: Outcome) -> None:
        for neighbour, message in outcome.messages:
            self.send(key, neighbour, message)
        for token in outcome.acknowledged:
            if isinstance(token, LocalSubscription):
                self.active.add(token)
            elif isinstance(token, LocalPeer):
                self.publishers[int(token.peer)].is_settled = True
        node = self.nodes[key]
        if node.router.is_settled and node.waiting:
            waiting, node.waiting = node.waiting, []
            for number, arrived in waiting:
                self.notify(key, number, arrived)

    def step(self) -> None:
        self.now, _, sender, receiver, message = heapq.heappop(self.agenda)
        if isinstance(message, Notification):
            self.notify(receiver, message.number, Link(sender, message.dimension))
        else:
            self.carry_out(receiver, self.nodes[receiver].router.receive(sender, message))

    def notify(self, key: bytes, number: int, arrived: Link | None) -> None:
        node = self.nodes[key]
        if not node.router.is_settled:
            node.waiting.append((number, arrived))
            return
        (description,) = describe(self.published[number])
        local, links = node.router.tables.recipients(description, arrived)
        self.received.update((subscription, number) for subscription in local)
        for link in links:
            self.send(key, link.neighbour, Notification(number, link.dimension))

    def subscribe(self, at: bytes, subscription: LocalSubscription, query: qel.Query) -> None:
        self.carry_out(at, self.nodes[at].router.subscribe(subscription, subscription, [query]))

    def unsubscribe(self, at: bytes, subscription: LocalSubscription, query: qel.Query) -> None:
        self.active.discard(subscription)
        self.carry_out(at, self.nodes[at].router.subscribe(subscription, None, removed=[query]))

    def advertise(self, at: bytes, advertisement: qel.Advertisement) -> Publisher:
        publisher = Publisher(at, LocalPeer(str(len(self.publishers))), advertisement)
        self.publishers.append(publisher)
        elements: Iterable[Element] = elements_of(advertisement)
        self.carry_out(at, self.nodes[at].router.advertise(publisher.peer, publisher.peer, elements))
        return publisher

    def publish(self, publisher: Publisher, triples: list[Any]) -> int:
        self.published.append(triples)
        self.notify(publisher.at, len(self.published) - 1, None)
        return len(self.published) - 1


def make_backbone(kind: Kind, size: int, seed: int) -> Backbone:
    random = Random(seed)
    return kind.build(Entry(random.randbytes(4), claim=Label()) for _ in range(size))


def random_publication(random: Random) -> list[Any]:
    resource = URIRef("http://example.org/r")
    triples = [(resource, DC.date, Literal(random.randrange(10))) for _ in range(random.randrange(1, 3))]
    if random.random() < 0.5:
        triples.append((resource, DC.title, Literal(random.choice(["a", "ab", "b", "xaby"]))))
    return triples


@dataclass
class Life:
    """What came of a random life of one view."""

    faults: list[str]
    expected: int


def live(backbone: Backbone, seed: int, router_class: type[Router] = Router, *, hold: bool = True) -> Life:
    """A random life of one view. `hold`: publications wait for their advertisements."""
    random = Random(seed)
    keys = sorted(backbone.members)
    asking = {LocalSubscription("p", str(i)): (random.choice(keys), random.choice(QUERIES)) for i in range(4)}
    known = [Publisher(random.choice(keys), LocalPeer(str(i)), random.choice(ADVERTISEMENTS), True) for i in range(3)]
    network = Network(backbone, seed, router_class, asking, known)
    expected: list[tuple[LocalSubscription, int]] = []
    for _ in range(120):
        action = random.random()
        if action < 0.5 and network.agenda:
            for _ in range(random.choice([1, 3, 20])):
                if network.agenda:
                    network.step()
        elif action < 0.65:
            subscription = LocalSubscription("p", f"later {random.randrange(10**9)}")
            asking[subscription] = (random.choice(keys), random.choice(QUERIES))
            network.subscribe(asking[subscription][0], subscription, asking[subscription][1])
        elif action < 0.7 and asking:
            subscription = random.choice(sorted(asking, key=str))
            at, query = asking.pop(subscription)
            expected = [(who, what) for who, what in expected if who != subscription]
            network.unsubscribe(at, subscription, query)
        elif action < 0.8:
            network.advertise(random.choice(keys), random.choice(ADVERTISEMENTS))
        else:
            ready = [one for one in network.publishers if one.is_settled or not hold]
            if ready:
                publisher = random.choice(ready)
                triples = random_publication(random)
                if qel.conforms(publisher.advertisement, triples):
                    waiting_for = [s for s in network.active if s in asking and qel.matches(asking[s][1], triples)]
                    number = network.publish(publisher, triples)
                    expected.extend((subscription, number) for subscription in waiting_for)
    while network.agenda:
        network.step()
    faults = [f"{who} missed {what}" for who, what in expected if not network.received[who, what]]
    faults += [f"{who} got {what} {times} times" for (who, what), times in network.received.items() if times > 1]
    faults += [
        f"{who} does not match {what}"
        for who, what in network.received
        if who in asking and not qel.matches(asking[who][1], network.published[what])
    ]
    if not all(subscription in network.active for subscription in asking):
        faults.append("a subscription never became active")
    if not all(publisher.is_settled for publisher in network.publishers):
        faults.append("an advertisement never settled")
    if not all(node.router.is_settled for node in network.nodes.values()):
        faults.append("a super-peer never settled")
    return Life(faults, len(expected))


@pytest.mark.parametrize("kind", [CubeKind, UnstructuredKind])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_what_is_active_hears_of_what_the_settled_publish(
    kind: type[CubeKind] | type[UnstructuredKind], size: int
) -> None:
    expected = 0
    for seed in range(12):
        life = live(make_backbone(kind(), size, seed), seed)
        assert not life.faults, f"seed {seed}: {life.faults}"
        expected += life.expected
    assert expected > 50, "a test in which nothing is published shows nothing"


class NeverWaitsForQueries(Router):
    """Acknowledges subscriptions before those further out have."""

    def _await_outward(self, _links: Iterable[Link], waiting: Any) -> None:
        super()._await_outward([], waiting)


class NeverWaitsForElements(Router):
    """Acknowledges advertisements before those further in have."""

    def _await_inward(self, _links: Iterable[Link], waiting: Any) -> None:
        super()._await_inward([], waiting)


class NeverWaitsForTables(Router):
    """Tells links their tables at once, whole or not, and lets notifications pass from the start."""

    is_settled = True

    def _is_whole(self, _received: Any, _links: Iterable[Link]) -> bool:
        return True


def lost(router_class: type[Router] = Router, *, hold: bool = True) -> bool:
    lives = (live(make_backbone(CubeKind(), 8, seed), seed, router_class, hold=hold) for seed in range(60))
    return any("missed" in fault for life in lives for fault in life.faults)


@pytest.mark.parametrize("broken", [NeverWaitsForQueries, NeverWaitsForElements, NeverWaitsForTables])
def test_with_a_rule_left_out_notifications_get_lost(broken: type[Router]) -> None:
    assert lost(broken)


def test_without_holding_publications_back_they_get_lost() -> None:
    assert lost(hold=False)


def test_with_all_rules_none_get_lost() -> None:
    assert not lost()
