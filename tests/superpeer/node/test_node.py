"""Super-peers that join and crash while their peers subscribe, advertise, publish and leave.

Every survivor enters every view in its own time, or skips it. What was active when something was published has it in
the end: once, and in the order of the log it came from. With a rule left out, notifications get lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

import qel
from hypercup import CubeKind, Entry, Kind, Label, UnstructuredKind, View
from superpeer.node.advertisements import elements_of
from superpeer.node.delivery import Delivery
from superpeer.node.exchange import Exchange, InView
from superpeer.node.node import Effects, Node
from superpeer.node.tables import LocalPeer, LocalSubscription
from tests.superpeer.node.test_router import ADVERTISEMENTS, QUERIES, random_publication


@dataclass
class Expectation:
    """A publication that a subscription, active at the time, has to get."""

    at: bytes
    subscription: LocalSubscription
    origin: bytes
    number: int


@dataclass
class Asking:
    at: bytes
    query: qel.Query


class Network:
    """Super-peers, lossless links with delays, and views that each super-peer learns of in its own time."""

    def __init__(self, kind: Callable[[], Kind], size: int, seed: int, node_class: type[Node] = Node) -> None:
        self.random = Random(seed)
        self.kind = kind
        self.node_class = node_class
        self.now = 0.0
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.last: dict[tuple[bytes, bytes], float] = {}
        self.nodes: dict[bytes, Node] = {}
        self.entered: dict[bytes, int] = {}
        self.views: list[View] = []
        self.count = 0
        for _ in range(size):
            self.add()
        self.change_view()
        for key in self.nodes:
            self.enter(key, 0)

    def add(self) -> bytes:
        key = self.random.randbytes(4)
        node = self.nodes[key] = self.node_class(key)
        alone = self.kind().build([Entry(key, claim=Label())])
        self.carry_out(key, node.enter_view(View(b"alone " + key, {key: 1}, alone)))
        self.entered[key] = -1
        return key

    def change_view(self) -> None:
        """A view of all who live now, which each of them learns of at some time."""
        number = len(self.views)
        backbone = self.kind().build([Entry(key, claim=Label()) for key in sorted(self.nodes)])
        self.views.append(View(b"view %d" % number, dict.fromkeys(self.nodes, 1), backbone))
        for key in self.nodes:
            self.at(self.random.choice([0.0, 0.5, 2.0]), lambda key=key: self.enter(key, number))  # type: ignore[misc]

    def enter(self, key: bytes, number: int) -> None:
        if key in self.nodes and self.entered[key] < number:
            self.entered[key] = number
            self.carry_out(key, self.nodes[key].enter_view(self.views[number]))

    def crash(self, key: bytes) -> None:
        del self.nodes[key]
        self.change_view()

    def join(self) -> None:
        self.add()
        self.change_view()

    def at(self, delay: float, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (self.now + delay, self.count, action))

    def carry_out(self, key: bytes, effects: Effects) -> None:
        for neighbour, message in effects.messages:
            way = (key, neighbour)
            arrival = max(self.last.get(way, 0.0), self.now + self.random.choice([0.01, 0.1, 0.5]))
            self.last[way] = arrival
            self.at(arrival - self.now, lambda to=neighbour, message=message: self.arrive(key, to, message))  # type: ignore[misc]

    def arrive(self, sender: bytes, receiver: bytes, message: Any) -> None:
        # What a crashed super-peer had sent is lost with its connections.
        if sender in self.nodes and receiver in self.nodes:
            self.carry_out(receiver, self.nodes[receiver].receive(sender, message))

    def step(self) -> None:
        self.now, _, action = heapq.heappop(self.agenda)
        action()


@dataclass
class Life:
    faults: list[str] = field(default_factory=list)
    expected: int = 0


def live(
    kind: Callable[[], Kind], size: int, seed: int, node_class: type[Node] = Node, *, withdraw: bool = True
) -> Life:
    network = Network(kind, size, seed, node_class)
    random = Random(seed)
    asking: dict[LocalSubscription, Asking] = {}
    publishers: dict[LocalPeer, tuple[bytes, qel.Advertisement]] = {}
    expected: list[Expectation] = []
    for serial in range(150):
        joined = sorted(key for key in network.nodes if network.entered[key] >= 0)
        action = random.random()
        if action < 0.45:
            for _ in range(random.choice([1, 5, 30])):
                if network.agenda:
                    network.step()
        elif action < 0.6:
            subscription, at = LocalSubscription(f"peer {random.randrange(5)}", str(serial)), random.choice(joined)
            asking[subscription] = Asking(at, random.choice(QUERIES))
            network.carry_out(at, network.nodes[at].subscribe(subscription, asking[subscription].query))
        elif action < 0.63 and asking:
            subscription = random.choice(sorted(asking, key=str))
            at = asking.pop(subscription).at
            expected = [one for one in expected if one.subscription != subscription]
            if at in network.nodes:
                network.carry_out(at, network.nodes[at].unsubscribe(subscription))
        elif action < 0.7:
            peer, at = LocalPeer(str(serial)), random.choice(joined)
            publishers[peer] = (at, random.choice(ADVERTISEMENTS))
            network.carry_out(at, network.nodes[at].advertise(peer, elements_of(publishers[peer][1])))
        elif action < 0.72 and publishers and withdraw:
            peer = random.choice(sorted(publishers, key=str))
            at, _ = publishers.pop(peer)
            if at in network.nodes:
                network.carry_out(at, network.nodes[at].withdraw(peer))
        elif action < 0.74 and len(joined) > 2:
            network.crash(random.choice(joined))
        elif action < 0.76:
            network.join()
        else:
            here = [one for one in sorted(publishers, key=str) if publishers[one][0] in network.nodes]
            if here:
                peer = random.choice(here)
                at, advertisement = publishers[peer]
                triples = random_publication(random)
                if qel.conforms(advertisement, triples):
                    due = [
                        (subscription, asked.at)
                        for subscription, asked in asking.items()
                        if asked.at in network.nodes
                        and network.nodes[asked.at].is_active(subscription)
                        and qel.matches(asked.query, triples)
                    ]
                    publication, effects = network.nodes[at].publish(peer, triples)
                    network.carry_out(at, effects)
                    expected += [Expectation(by, who, at, publication.number) for who, by in due]
    while network.agenda:
        network.step()
    return judge(network, asking, expected)


def judge(network: Network, asking: dict[LocalSubscription, Asking], expected: list[Expectation]) -> Life:
    life = Life()
    for one in expected:
        if one.at in network.nodes and one.origin in network.nodes:
            life.expected += 1
            queue = network.nodes[one.at].delivery.queues.get(one.subscription.peer)
            found = [
                entry
                for entry in (queue.entries if queue else [])
                if (entry.publication.origin, entry.publication.number) == (one.origin, one.number)
            ]
            if len(found) != 1 or one.subscription.subscription not in found[0].subscriptions:
                life.faults.append(f"{one.subscription} missed {one.number} of {one.origin.hex()}")
    for key, node in network.nodes.items():
        if node.delivery.unacknowledged:
            life.faults.append(f"{key.hex()} has publications that nobody acknowledged")
        for peer, queue in node.delivery.queues.items():
            numbers: dict[bytes, list[int]] = {}
            for entry in queue.entries:
                numbers.setdefault(entry.publication.origin, []).append(entry.publication.number)
            if any(found != sorted(set(found)) for found in numbers.values()):
                life.faults.append(f"{peer} got publications twice or out of order")
        if not all(node.is_active(s) for s, asked in asking.items() if asked.at == key):
            life.faults.append(f"{key.hex()} has a subscription that never became active")
    return life


@pytest.mark.parametrize("kind", [CubeKind, UnstructuredKind])
@pytest.mark.parametrize("size", [1, 2, 4, 7, 12])
def test_nothing_is_lost_when_super_peers_join_and_crash(kind: Callable[[], Kind], size: int) -> None:
    expected = 0
    for seed in range(15):
        life = live(kind, size, seed)
        assert not life.faults, f"seed {seed}: {life.faults}"
        expected += life.expected
    assert expected > 50, "a test in which nothing is published shows nothing"


class NeverSendsAgain(Node):
    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.delivery = _ForgetfulDelivery(key)


class _ForgetfulDelivery(Delivery):
    def begin_view(self) -> None:
        self._in_hand.clear()
        self._held.clear()
        self._to_send = type(self._to_send)(p for p in self._to_send if p.number in self._unacknowledged)

    def acknowledged(self, neighbour: bytes, message: Any) -> Any:
        return super().acknowledged(neighbour, message) if (message.origin, message.number) in self._in_hand else []


class NeverLingers(Node):
    def withdraw(self, peer: LocalPeer) -> Effects:
        elements = self._advertisements.pop(peer)
        self._pending.pop(peer, None)
        self._follow(self._running.advertise(peer, None, removed=elements))
        return self._flush()


class NeverChecksTheView(Node):
    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self._exchange = _OpenExchange()


class _OpenExchange(Exchange[Any]):
    def say(self, neighbour: bytes, content: Any) -> Any:
        return [(neighbour, InView(self.view, content))]

    def hear(self, message: InView[Any]) -> Any:
        return message.content


def goes_wrong(node_class: type[Node]) -> bool:
    """Whether some history loses something, or breaks down as messages of one view meet the tables of another."""
    for seed in range(80):
        try:
            if live(CubeKind, 6, seed, node_class).faults:
                return True
        except (AssertionError, KeyError):
            return True
    return False


@pytest.mark.parametrize("broken", [NeverSendsAgain, NeverLingers, NeverChecksTheView])
def test_with_a_rule_left_out_things_go_wrong(broken: type[Node]) -> None:
    assert goes_wrong(broken)


def test_with_all_rules_they_do_not() -> None:
    assert not goes_wrong(Node)
