"""Routers that live through many views hold what routers built from nothing would, and say only what changed.

Views come at different times to different super-peers, or not at all; links come, go and change their dimension;
messages of a view that has passed are dropped; super-peers begin new lives without their memory.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from hypercup import Backbone, CubeKind, Entry, Kind, Label, Link, UnstructuredKind, View
from superpeer.node.advertisements import Element, elements_of
from superpeer.node.broker import Broker
from superpeer.node.digests import NOTHING
from superpeer.node.exchange import Announced, Exchange, InView
from superpeer.node.router import Outcome, Router, Started
from superpeer.node.routing_messages import ElementsChanged, Held, QueriesChanged, RoutingMessage
from superpeer.node.tables import LocalPeer, LocalSubscription
from superpeer.node.workspace import Effects, Workspace
from tests.superpeer.node.test_broker import Line, with_broker
from tests.superpeer.node.test_router import ADVERTISEMENTS, QUERIES


class Member:
    """A super-peer of which only the routing is there, and what its peers ask for and advertise."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self.exchange: Exchange[RoutingMessage] = Exchange()
        self.subscriptions: dict[LocalSubscription, qel.Query] = {}
        self.advertisements: dict[LocalPeer, frozenset[Element]] = {}
        self.reported: list[Hashable] = []
        self.entered = -1

    def reborn(self, router: Router) -> Member:
        member = Member(router)
        member.subscriptions, member.advertisements = dict(self.subscriptions), dict(self.advertisements)
        router.restore(member.subscriptions, member.advertisements)
        return member


class Network:
    """Super-peers that learn of views in their own time, on links that are first in, first out."""

    def __init__(self, kind: Callable[[], Kind], seed: int, router_class: type[Router] = Router) -> None:
        self.kind = kind
        self.random = Random(seed)
        self.delays = [0.01, 0.1, 0.5]
        self.router_class = router_class
        self.now = 0.0
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.last: dict[tuple[bytes, bytes], float] = {}
        self.members: dict[bytes, Member] = {}
        self.incarnations: dict[bytes, int] = {}
        self.views: list[tuple[Backbone, dict[bytes, int]]] = []
        self.told: list[ElementsChanged | QueriesChanged] = []
        self.count = 0

    def add(self, member: Member | None = None, key: bytes | None = None) -> bytes:
        key = key or self.random.randbytes(4)
        self.members[key] = member or Member(self.router_class())
        self.incarnations[key] = self.incarnations.get(key, 0) + 1
        return key

    def change_view(self, delays: Iterable[float] = (0.0, 0.5, 2.0)) -> None:
        number, delays = len(self.views), list(delays)
        backbone = self.kind().build([Entry(key, claim=Label()) for key in sorted(self.members)])
        self.views.append((backbone, {key: self.incarnations[key] for key in self.members}))
        for key, member in self.members.items():
            self.at(self.random.choice(delays), partial(self.enter, key, member, number))

    def enter(self, key: bytes, member: Member, number: int) -> None:
        if self.members.get(key) is not member or member.entered >= number:
            return
        member.entered = number
        backbone, incarnations = self.views[number]
        position = backbone.position(key)
        begun = member.router.enter_view(position.in_links, position.out_links, backbone.relays, incarnations)
        held = {neighbour: member.router.held_from(neighbour) for neighbour in position.neighbours}
        self.send(key, member.exchange.enter(b"view %d" % number, held))
        self.follow(key, begun)
        for neighbour, held_there in member.exchange.present.items():
            self.follow(key, member.router.greet(neighbour, held_there))

    def follow(self, key: bytes, outcome: Outcome) -> None:
        member = self.members[key]
        member.reported += outcome.acknowledged
        for neighbour, message in outcome.messages:
            self.send(key, member.exchange.say(neighbour, message))

    def send(self, key: bytes, messages: Iterable[tuple[bytes, Any]]) -> None:
        sender = self.members[key]
        for neighbour, message in messages:
            if isinstance(message, InView) and isinstance(message.content, ElementsChanged | QueriesChanged):
                self.told.append(message.content)
            arrival = max(self.last.get((key, neighbour), 0.0), self.now + self.random.choice(self.delays))
            self.last[key, neighbour] = arrival
            receiver = self.members.get(neighbour)
            self.at(arrival - self.now, partial(self.arrive, key, sender, neighbour, receiver, message))

    def arrive(self, key: bytes, sender: Member, to: bytes, receiver: Member | None, message: Any) -> None:
        if receiver is None or self.members.get(key) is not sender or self.members.get(to) is not receiver:
            return
        if isinstance(message, Announced):
            self.send(to, receiver.exchange.hear_announcement(key, message))
            if message.view == receiver.exchange.view:
                self.follow(to, receiver.router.greet(key, message.held))
        else:
            content = receiver.exchange.hear(message)
            if content is not None:
                self.follow(to, receiver.router.receive(key, content))

    def subscribe(self, at: bytes, name: str, query: qel.Query | None) -> None:
        """Asks under a name for this and nothing else any more."""
        member, subscription = self.members[at], LocalSubscription("p", name)
        before = member.subscriptions.pop(subscription, None)
        if query is not None:
            member.subscriptions[subscription] = query
        added, removed = [query] if query else [], [before] if before else []
        self.follow(at, member.router.subscribe(subscription, subscription, added, removed))

    def advertise(self, at: bytes, name: str, advertisement: qel.Advertisement) -> None:
        member, peer = self.members[at], LocalPeer(name)
        before, new = member.advertisements.get(peer, frozenset()), elements_of(advertisement)
        member.advertisements[peer] = new
        self.follow(at, member.router.advertise(peer, peer, new - before, before - new))

    def at(self, delay: float, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (self.now + delay, self.count, action))

    def run(self, steps: int | None = None) -> None:
        while self.agenda and steps != 0:
            self.now, _, action = heapq.heappop(self.agenda)
            action()
            steps = None if steps is None else steps - 1

    def built_from_nothing(self) -> Network:
        """The same super-peers in the same view, without any past."""
        other = Network(self.kind, 0)
        for key, member in self.members.items():
            other.add(member.reborn(Router()), key)
        other.change_view()
        other.run()
        return other


def tables_of(router: Router) -> dict[Any, Any]:
    tables = router.tables
    return {
        "adverts_in": {k: set(tables.adverts_in(k)) for k in tables.out_links},
        "adverts_out": {w: set(tables.adverts_out(w)) for w in tables.in_links},
        "subs_in": {w: set(tables.subs_in(w)) for w in tables.in_links},
        "subs_out": {k: set(tables.subs_out(k)) for k in tables.out_links},
        "known": {frozenset(place.ids): place.sources for place in tables.poset},
        "roots": {frozenset(place.ids) for place in tables.poset.roots},
    }


def live(network: Network, size: int) -> None:
    """A random history, which ends in one view of all."""
    random = network.random
    for _ in range(size):
        network.add()
    network.change_view()
    for serial in range(80):
        keys = sorted(key for key, member in network.members.items() if member.entered >= 0)
        action = random.random()
        if action < 0.5 or not keys:
            network.run(random.choice([1, 5, 30, 200]))
        elif action < 0.65:
            at = random.choice(keys)
            named = sorted(one.subscription for one in network.members[at].subscriptions)
            name = random.choice([*named, str(serial)])
            network.subscribe(at, name, random.choice([*QUERIES, None]))
        elif action < 0.75:
            network.advertise(random.choice(keys), f"p{random.randrange(3)}", random.choice(ADVERTISEMENTS))
        elif action < 0.82:
            network.add()
            network.change_view()
        elif action < 0.88 and len(keys) > 2:
            del network.members[random.choice(keys)]
            network.change_view()
        elif action < 0.92:
            key = random.choice(keys)
            network.add(network.members[key].reborn(network.router_class()), key)
            network.change_view()
        elif action < 0.95:
            network.incarnations[random.choice(keys)] += 1  # refutes a verdict, and remembers everything
            network.change_view()
        else:
            network.change_view()
    network.change_view()
    network.run()


@pytest.mark.parametrize("kind", [CubeKind, UnstructuredKind])
@pytest.mark.parametrize("size", [1, 3, 6, 12])
def test_what_views_left_is_what_one_view_would_give(kind: Callable[[], Kind], size: int) -> None:
    for seed in range(20):
        network = Network(kind, seed)
        live(network, size)
        other = network.built_from_nothing()
        for key, member in network.members.items():
            assert member.router.is_settled, f"seed {seed}"
            assert set(Started) <= set(member.reported[-40:]), f"seed {seed}"
            assert not member.router.tables.unsaid, f"seed {seed}"
            assert tables_of(member.router) == tables_of(other.members[key].router), f"seed {seed}"
            for neighbour in network.views[-1][0].position(key).neighbours:
                held = network.members[neighbour].router.held_from(key)
                assert held == said_to(member.router, neighbour), f"seed {seed}"


def said_to(router: Router, neighbour: bytes) -> Held:
    said = [sending.digest for w, sending in router._elements_to.items() if w.neighbour == neighbour]
    asked = [sending.digest for k, sending in router._queries_to.items() if k.neighbour == neighbour]
    return Held(*said or [NOTHING], *asked or [NOTHING])


class TrustsItsMemory(Router):
    """Takes for granted that a neighbour holds all that it was told."""

    def greet(self, neighbour: bytes, held: Held) -> Outcome:  # noqa: ARG002
        return super().greet(neighbour, said_to(self, neighbour))


def goes_wrong(router_class: type[Router]) -> bool:
    for seed in range(40):
        network = Network(CubeKind, seed, router_class)
        try:
            live(network, 6)
        except (AssertionError, KeyError):
            return True
        other = network.built_from_nothing()
        if any(tables_of(one.router) != tables_of(other.members[key].router) for key, one in network.members.items()):
            return True
    return False


def test_without_comparing_digests_tables_go_wrong() -> None:
    assert goes_wrong(TrustsItsMemory)
    assert not goes_wrong(Router)


class CountsTheOldView(Router):
    """Takes what came in in a former view for whole in this one."""

    @property
    def is_settled(self) -> bool:
        return self._is_whole(self._queries_from, self._queries_from)

    def _is_whole(self, received: Mapping[Link, Any], links: Iterable[Link]) -> bool:
        return all(received[link].is_whole or received[link].digest != NOTHING for link in links)


class _CountsTheOldView(Broker):
    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.router = CountsTheOldView()


def publish_in_a_new_view(broker: type[Broker]) -> int:
    """In a row of super-peers, one that asks for titles goes from one end to the other. The library publishes a title
    when all are in the new view and before they have said anything in it. Returns how many titles arrive."""
    reader, library, between, other = members = [b"r", b"l", b"b", b"o"]
    node_class = with_broker(broker)
    nodes = {key: node_class(key) for key in members}
    messages: deque[tuple[bytes, bytes, Any]] = deque()

    def follow(sender: bytes, effects: Effects) -> None:
        messages.extend((sender, receiver, message) for receiver, message in effects.messages)

    def run() -> None:
        while messages:
            sender, receiver, message = messages.popleft()
            follow(receiver, nodes[receiver].receive(sender, message))

    def enter(name: bytes, row: list[bytes]) -> None:
        for key in row:
            follow(key, nodes[key].enter_view(View(name, dict.fromkeys(row, 1), Line(row))))

    enter(b"first", members)
    run()
    titles = LocalSubscription("p", "titles")
    follow(library, nodes[library].advertise(LocalPeer("library"), elements_of(ADVERTISEMENTS[0])))
    follow(other, nodes[other].subscribe(LocalSubscription("p", "dates"), QUERIES[0], 0.0))
    follow(reader, nodes[reader].subscribe(titles, QUERIES[4], 0.0))
    run()
    assert nodes[reader].is_active(titles)
    enter(b"second", [library, between, other, reader])
    title = (URIRef("http://example.org/r"), DC.title, Literal("a"))
    follow(library, nodes[library].publish(LocalPeer("library"), [title], 1.0)[1])
    run()
    return len(nodes[reader].queues["p"].entries)


def test_with_tables_of_the_old_view_taken_for_whole_notifications_get_lost() -> None:
    assert publish_in_a_new_view(Broker) == 1
    assert publish_in_a_new_view(_CountsTheOldView) == 0


def busy_network(kind: Callable[[], Kind], size: int) -> Network:
    network = Network(kind, 1)
    keys = [network.add() for _ in range(size)]
    network.change_view()
    network.run()
    for i, query in enumerate(QUERIES):
        network.subscribe(keys[i % size], str(i), query)
    for i, advertisement in enumerate(ADVERTISEMENTS):
        network.advertise(keys[-1 - i % size], str(i), advertisement)
    network.run()
    network.told.clear()
    return network


@pytest.mark.parametrize("kind", [CubeKind, UnstructuredKind])
def test_where_nothing_changed_only_digests_are_compared(kind: Callable[[], Kind]) -> None:
    network = busy_network(kind, 8)
    network.change_view()
    network.run()
    links = sum(len(network.views[-1][0].position(key).out_links) for key in network.members)
    assert len(network.told) == 2 * links
    assert all(message.number == 1 and not message.added and not message.removed for message in network.told)
    assert sum(message.base != NOTHING for message in network.told) > links


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("loses_memory", [False, True])
def test_all_are_settled_after_two_sweeps(dimensions: int, loses_memory: bool) -> None:
    """An announcement, a sweep inward and a sweep outward; also when messages were dropped and tables are told anew."""
    network = busy_network(CubeKind, 2**dimensions)
    network.delays = [1.0]
    for number, key in enumerate(sorted(network.members)):
        network.subscribe(key, "late", QUERIES[number % len(QUERIES)])
        network.advertise(key, "late", ADVERTISEMENTS[number % len(ADVERTISEMENTS)])
    if loses_memory:
        key = min(network.members)
        network.add(network.members[key].reborn(Router()), key)
    network.change_view([0.0])
    network.run(len(network.members))
    start = network.now
    while not all(member.router.is_settled for member in network.members.values()):
        network.run(1)
    assert all(member.entered == len(network.views) - 1 for member in network.members.values())
    assert round(network.now - start, 6) <= 2 * dimensions + 1


def test_only_what_changed_meanwhile_is_told() -> None:
    """A subscription that came between the views goes to the publishers, and nothing else does."""
    network = busy_network(CubeKind, 8)
    asker = next(iter(network.members))
    network.change_view([0.0])
    network.subscribe(asker, "late", qel.parse("X : t(X, dc:publisher, P)"))
    network.run()
    added = [query for message in network.told for query in message.added]
    assert {qel.canonical_id(query) for query in added if isinstance(query, qel.Query)} == {
        qel.canonical_id(qel.parse("X : t(X, dc:publisher, P)"))
    }
    assert len(added) <= 7


def test_a_message_that_was_dropped_is_said_again_and_nothing_else() -> None:
    network = busy_network(CubeKind, 2)
    asker, publisher = sorted(network.members)
    network.advertise(publisher, "everything", ADVERTISEMENTS[0])
    network.run()
    network.subscribe(asker, "late", qel.parse("X : t(X, dc:publisher, P)"))
    (late,) = [message for message in network.told if isinstance(message, QueriesChanged)][-1:]
    network.told.clear()
    network.views.append(network.views[-1])
    for key in (publisher, asker):  # the publisher has gone on before the message arrives
        network.enter(key, network.members[key], len(network.views) - 1)
    network.run()
    assert network.members[publisher].exchange.dropped == 1
    said = [message for message in network.told if isinstance(message, QueriesChanged) and message.added]
    assert [(message.number, message.added) for message in said] == [(1, late.added)]


@pytest.mark.parametrize("reborn", ["sender", "receiver"])
def test_who_lost_its_memory_is_told_everything(reborn: str) -> None:
    network = busy_network(CubeKind, 2)
    asker, publisher = sorted(network.members)
    network.subscribe(asker, "dates", QUERIES[0])
    network.advertise(publisher, "everything", ADVERTISEMENTS[0])
    network.run()
    network.told.clear()
    key = asker if reborn == "sender" else publisher
    network.add(network.members[key].reborn(Router()), key)
    network.change_view()
    network.run()
    assert all(message.base == NOTHING for message in network.told if message.number == 1)
    whole = [m for m in network.told if isinstance(m, QueriesChanged) and m.added]
    assert whole
    assert tables_of(network.members[publisher].router)["subs_in"]


def test_what_a_former_life_said_is_forgotten() -> None:
    network = busy_network(CubeKind, 2)
    one, other = sorted(network.members)
    network.subscribe(one, "dates", QUERIES[0])
    network.advertise(other, "everything", ADVERTISEMENTS[0])
    network.run()
    router = network.members[other].router
    before = router.held_from(one)
    assert before.queries != NOTHING
    backbone, incarnations = network.views[-1]
    position = backbone.position(other)
    router.enter_view(position.in_links, position.out_links, backbone.relays, incarnations)
    assert router.held_from(one) == before
    new_life = incarnations | {one: incarnations[one] + 1}
    router.enter_view(position.in_links, position.out_links, backbone.relays, new_life)
    assert router.held_from(one) == Held()
    assert not any(router.tables.subs_in(w) for w in router.tables.in_links)
