"""Super-peers that join, crash, come back, are cut off or wrongly suspected, while peers subscribe, publish and leave.

Every super-peer enters every view in its own time, or skips it. What was active when something was published has it in
the end: once, and in the order of the log it came from. With a rule left out, notifications get lost.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from auth import Proof, PublicId, PublicKey
from hypercup import CubeKind, Entry, Kind, Label, Link, Position, UnstructuredKind, View
from superpeer.node.advertisements import Element, elements_of
from superpeer.node.body import write_body
from superpeer.node.broker import Broker
from superpeer.node.forms import write_query
from superpeer.node.limits import Limits
from superpeer.node.publications import Draft, Publication
from superpeer.node.publications import Kind as PublicationKind
from superpeer.node.records import LogBegun, Subscription
from superpeer.node.state import Queue, State
from superpeer.node.tables import LocalPeer, LocalSubscription
from superpeer.node.workspace import Effects, Workspace
from tests.superpeer.node.test_router import ADVERTISEMENTS, QUERIES, random_publication


class Node:
    """A broker with its disk, as a super-peer without any regard for identity has it."""

    broker_class: type[Broker] = Broker

    def __init__(self, key: bytes, disk: list[Any] | None = None) -> None:
        self.disk = disk or [LogBegun(1)]
        state = State()
        for record in self.disk:
            state.apply(record)
        self.workspace = Workspace(key, state, Limits())
        self.broker = self.broker_class(self.workspace)

    @property
    def queues(self) -> dict[str, Queue]:
        return {name: kept.queue for name, kept in self.workspace.state.peers.items()}

    @property
    def unacknowledged(self) -> list[Publication]:
        return list(self.workspace.state.log.unacknowledged.values())

    def enter_view(self, view: View) -> Effects:
        self.broker.enter_view(view)
        return self.finish()

    def receive(self, sender: bytes, message: Any) -> Effects:
        self.broker.receive(sender, message)
        return self.finish()

    def subscribe(self, what: LocalSubscription, query: qel.Query, now: float) -> Effects:
        self.workspace.now = now
        self.broker.subscribe(what.peer, Subscription(what.subscription, write_query(query), now))
        return self.finish()

    def unsubscribe(self, what: LocalSubscription) -> Effects:
        self.broker.unsubscribe(what.peer, what.subscription)
        return self.finish()

    def advertise(self, peer: LocalPeer, elements: frozenset[Element]) -> Effects:
        self.broker.advertise(public_id(peer), elements)
        return self.finish()

    def withdraw(self, peer: LocalPeer) -> Effects:
        self.broker.withdraw(public_id(peer))
        return self.finish()

    def publish(self, peer: LocalPeer, triples: Any, now: float) -> tuple[Publication, Effects]:
        self.workspace.now = now
        draft = Draft(key_of(peer), SALT, 1, PublicationKind.NEW, write_body(triples), UNSIGNED)
        return self.broker.publish(draft), self.finish()

    def is_active(self, what: LocalSubscription) -> bool:
        return self.broker.is_active(what.peer, what.subscription)

    def finish(self) -> Effects:
        self.broker.proceed()
        effects = self.workspace.take_effects()
        self.disk += effects.records
        return effects


SALT = bytes(32)
UNSIGNED = Proof(0, 1, b"", bytes(64))


def key_of(peer: LocalPeer) -> PublicKey:
    return PublicKey(peer.peer.encode().rjust(32))


def public_id(peer: LocalPeer) -> str:
    return str(PublicId.derive(key_of(peer), SALT))


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
    """Super-peers, links with delays that lose nothing while both ends live, and views that each super-peer learns of
    in its own time, as membership would tell it: who was out of somebody's view is back with a new incarnation."""

    def __init__(self, kind: Callable[[], Kind], size: int, seed: int, node_class: type[Node] = Node) -> None:
        self.random = Random(seed)
        self.kind = kind
        self.node_class = node_class
        self.now = 0.0
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.last: dict[tuple[bytes, bytes], float] = {}
        self.nodes: dict[bytes, Node] = {}
        self.disks: dict[bytes, list[Any]] = {}
        self.incarnations: dict[bytes, int] = {}
        self.lives: dict[bytes, int] = {}
        self.side: dict[bytes, int] = {}
        self.suspects: set[bytes] = set()
        self.delayed: list[tuple[bytes, bytes, tuple[int, int], Any]] = []
        self.entered: dict[bytes, int] = {}
        self.views: list[View] = []
        self.count = 0
        for _ in range(size):
            self.begin_life(self.random.randbytes(4))
        self.change_views()

    def begin_life(self, key: bytes) -> None:
        node = self.nodes[key] = self.node_class(key, self.disks.pop(key, None))
        self.incarnations[key] = self.incarnations.get(key, 0) + 1
        self.lives[key] = self.lives.get(key, 0) + 1
        self.side.setdefault(key, 0)
        self.entered[key] = -1
        incarnation = self.incarnations[key]
        alone = self.kind().build([Entry(key, claim=Label())])
        self.carry_out(key, node.enter_view(View(b"alone %d " % incarnation + key, {key: incarnation}, alone)))

    def change_views(self) -> None:
        """A view for each side of a cut, of all who live there, which each of them learns of at some time."""
        for side in sorted({self.side[key] for key in self.nodes}):
            members = [key for key in sorted(self.nodes) if self.side[key] == side and key not in self.suspects]
            if not members:
                continue
            number = len(self.views)
            backbone = self.kind().build([Entry(key, claim=Label()) for key in members])
            incarnations = {key: self.incarnations[key] for key in members}
            self.views.append(View(b"view %d" % number, incarnations, backbone))
            for key in members:
                delay = self.random.choice([0.0, 0.5, 2.0])
                self.at(delay, partial(self.enter, key, number, self.incarnations[key]))

    def enter(self, key: bytes, number: int, incarnation: int) -> None:
        if key in self.nodes and self.entered[key] < number and self.incarnations[key] == incarnation:
            self.entered[key] = number
            self.carry_out(key, self.nodes[key].enter_view(self.views[number]))

    def join(self) -> None:
        self.begin_life(self.random.randbytes(4))
        self.change_views()

    def crash(self, key: bytes) -> None:
        self.disks[key] = self.nodes.pop(key).disk
        self.change_views()

    def restart(self, key: bytes) -> None:
        self.begin_life(key)
        self.change_views()

    def suspect(self, key: bytes) -> None:
        """The others go on without one that lives, and knows nothing of it."""
        self.suspects.add(key)
        self.change_views()

    def cut(self) -> None:
        if len({self.side[key] for key in self.nodes}) > 1:
            return
        for key in self.nodes:
            self.side[key] = self.random.randrange(2)
        self.change_views()

    def heal(self) -> None:
        """Everybody who was called dead by somebody answers with a new incarnation."""
        was_cut = len({self.side[key] for key in self.nodes}) > 1
        for key in self.nodes:
            if was_cut or key in self.suspects:
                self.incarnations[key] += 1
        self.suspects.clear()
        self.side = dict.fromkeys(self.side, 0)
        delayed, self.delayed = self.delayed, []
        for sender, receiver, lives, message in delayed:
            self.arrive(sender, receiver, lives, message)
        self.change_views()

    def at(self, delay: float, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (self.now + delay, self.count, action))

    def carry_out(self, key: bytes, effects: Effects) -> None:
        for to, message in effects.messages:
            arrival = max(self.last.get((key, to), 0.0), self.now + self.random.choice([0.01, 0.1, 0.5]))
            self.last[key, to] = arrival
            lives = (self.lives[key], self.lives.get(to, 0))
            self.at(arrival - self.now, partial(self.arrive, key, to, lives, message))

    def arrive(self, sender: bytes, receiver: bytes, lives: tuple[int, int], message: Any) -> None:
        # What was under way to or from a life that has ended is lost with its connections; a cut only delays it.
        alive = sender in self.nodes and receiver in self.nodes
        if not alive or lives != (self.lives[sender], self.lives[receiver]):
            return
        if self.side[sender] != self.side[receiver]:
            self.delayed.append((sender, receiver, lives, message))
        else:
            self.carry_out(receiver, self.nodes[receiver].receive(sender, message))

    def step(self) -> None:
        self.now, _, action = heapq.heappop(self.agenda)
        action()


@dataclass
class Life:
    faults: list[str] = field(default_factory=list)
    expected: int = 0


def live(
    kind: Callable[[], Kind], size: int, seed: int, node_class: type[Node] = Node, *, returns: bool = True
) -> Life:
    """A random history. `returns`: super-peers also come back, are cut off and suspected."""
    network = Network(kind, size, seed, node_class)
    random = Random(seed)
    asking: dict[LocalSubscription, Asking] = {}
    active: set[LocalSubscription] = set()
    publishers: dict[LocalPeer, tuple[bytes, qel.Advertisement]] = {}
    expected: list[Expectation] = []
    for serial in range(150):
        joined = sorted(key for key in network.nodes if network.entered[key] >= 0)
        active |= {s for s, asked in asking.items() if asked.at in joined and network.nodes[asked.at].is_active(s)}
        action = random.random()
        if action < 0.45 or not joined:
            for _ in range(random.choice([1, 5, 30])):
                if network.agenda:
                    network.step()
        elif action < 0.6:
            subscription, at = LocalSubscription(f"peer {random.randrange(5)}", str(serial)), random.choice(joined)
            asking[subscription] = Asking(at, random.choice(QUERIES))
            network.carry_out(at, network.nodes[at].subscribe(subscription, asking[subscription].query, network.now))
        elif action < 0.63:
            here = [s for s in sorted(asking, key=str) if asking[s].at in network.nodes]
            if here:
                subscription = random.choice(here)
                at = asking.pop(subscription).at
                active.discard(subscription)
                expected = [one for one in expected if one.subscription != subscription]
                network.carry_out(at, network.nodes[at].unsubscribe(subscription))
        elif action < 0.7:
            peer, at = LocalPeer(str(serial)), random.choice(joined)
            publishers[peer] = (at, random.choice(ADVERTISEMENTS))
            network.carry_out(at, network.nodes[at].advertise(peer, elements_of(publishers[peer][1])))
        elif action < 0.72:
            here_too = [one for one in sorted(publishers, key=str) if publishers[one][0] in network.nodes]
            if here_too:
                peer = random.choice(here_too)
                at, _ = publishers.pop(peer)
                network.carry_out(at, network.nodes[at].withdraw(peer))
        elif action < 0.74 and len(joined) > 2:
            network.crash(random.choice(joined))
        elif action < 0.76:
            network.join()
        elif action < 0.82 and returns:
            disturb(network, random, joined)
        else:
            here_too = [one for one in sorted(publishers, key=str) if publishers[one][0] in network.nodes]
            if here_too:
                peer = random.choice(here_too)
                at, advertisement = publishers[peer]
                triples = random_publication(random)
                if qel.conforms(advertisement, triples):
                    due = sorted((s for s in active if qel.matches(asking[s].query, triples)), key=str)
                    publication, effects = network.nodes[at].publish(peer, triples, network.now)
                    network.carry_out(at, effects)
                    expected += [Expectation(asking[s].at, s, at, publication.place[1]) for s in due]
    if returns:
        for key in sorted(network.disks):
            network.restart(key)
        network.heal()
    while network.agenda:
        network.step()
    return judge(network, asking, expected)


def disturb(network: Network, random: Random, joined: list[bytes]) -> None:
    action = random.choice(["restart", "suspect", "cut", "heal", "heal"])
    if action == "restart" and network.disks:
        network.restart(random.choice(sorted(network.disks)))
    elif action == "suspect" and len(joined) > 2:
        network.suspect(random.choice(joined))
    elif action == "cut":
        network.cut()
    elif action == "heal":
        network.heal()


def judge(network: Network, asking: dict[LocalSubscription, Asking], expected: list[Expectation]) -> Life:
    life = Life()
    for one in expected:
        if one.at in network.nodes and one.origin in network.nodes:
            life.expected += 1
            queue = network.nodes[one.at].queues.get(one.subscription.peer)
            found = [
                entry
                for entry in (queue.entries if queue else [])
                if (entry.publication.origin, entry.publication.place[1]) == (one.origin, one.number)
            ]
            if len(found) != 1 or one.subscription.subscription not in found[0].subscriptions:
                life.faults.append(f"{one.subscription} missed {one.number} of {one.origin.hex()}")
    for key, node in network.nodes.items():
        if node.unacknowledged:
            life.faults.append(f"{key.hex()} has publications that nobody acknowledged")
        for peer, queue in node.queues.items():
            numbers: dict[bytes, list[int]] = {}
            for entry in queue.entries:
                numbers.setdefault(entry.publication.origin, []).append(entry.publication.place[1])
            if any(found != sorted(set(found)) for found in numbers.values()):
                life.faults.append(f"{peer} got publications twice or out of order")
        if not all(node.is_active(s) for s, asked in asking.items() if asked.at == key):
            life.faults.append(f"{key.hex()} has a subscription that never became active")
    return life


@pytest.mark.parametrize("kind", [CubeKind, UnstructuredKind])
@pytest.mark.parametrize("size", [1, 2, 4, 7, 12])
@pytest.mark.parametrize("returns", [False, True])
def test_nothing_is_lost(kind: Callable[[], Kind], size: int, returns: bool) -> None:
    expected = 0
    for seed in range(15):
        life = live(kind, size, seed, returns=returns)
        assert not life.faults, f"seed {seed}: {life.faults}"
        expected += life.expected
    assert expected > 50, "a test in which nothing is published shows nothing"


def with_broker(broker: type[Broker]) -> type[Node]:
    return type(broker.__name__, (Node,), {"broker_class": broker})


class _NeverAsksAgain(Broker):
    """Takes an answer that was asked for before the subscriptions changed."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.catching_up.note_change = lambda peer: None  # type: ignore[method-assign]  # noqa: ARG005


class Line:
    """Super-peers in a row, where each knows its neighbours only: a tree without branches."""

    def __init__(self, members: list[bytes]) -> None:
        self.members = members

    def position(self, member: bytes) -> Position:
        i = self.members.index(member)
        links = tuple(Link(key, 0) for key in self.members[max(0, i - 1) : i] + self.members[i + 1 : i + 2])
        return Position(links, links)

    def relays(self, in_link: Link, out_link: Link) -> bool:
        return in_link != out_link

    def path(self, source: bytes, target: bytes) -> list[bytes]:
        i, j = self.members.index(source), self.members.index(target)
        return self.members[i : j + 1] if i <= j else self.members[j : i + 1][::-1]

    def place(self, member: bytes) -> bytes | None:
        return self.path(member, self.members[0])[1] if member != self.members[0] else None


def ask_while_subscriptions_change(broker: type[Broker]) -> list[tuple[str, ...]]:
    """A queue catches up with an origin two hops away; its question is late, and meanwhile another subscription becomes
    active and something is published for it. Returns what the queue has in the end."""
    asker, between, origin = members = [b"a", b"b", b"o"]
    node_class = with_broker(broker)
    nodes = {key: node_class(key) for key in members}
    messages: deque[tuple[bytes, bytes, Any]] = deque()
    late: list[tuple[bytes, bytes, Any]] = []

    def follow(sender: bytes, effects: Effects) -> None:
        for receiver, message in effects.messages:
            is_question = {sender, receiver} == {asker, origin}
            (late if is_question else messages).append((sender, receiver, message))

    def run() -> None:
        while messages:
            sender, receiver, message = messages.popleft()
            follow(receiver, nodes[receiver].receive(sender, message))

    def enter(name: bytes, incarnation: int) -> None:
        for key in members:
            incarnations = {asker: 1, between: 1, origin: incarnation}
            follow(key, nodes[key].enter_view(View(name, incarnations, Line(members))))
        run()

    dates, titles = LocalSubscription("p", "dates"), LocalSubscription("p", "titles")
    enter(b"first", 1)
    messages.extend(late)
    late.clear()
    run()
    follow(asker, nodes[asker].subscribe(dates, QUERIES[0], 0.0))
    follow(origin, nodes[origin].advertise(LocalPeer("library"), elements_of(ADVERTISEMENTS[0])))
    run()
    enter(b"second", 2)
    assert late
    follow(asker, nodes[asker].subscribe(titles, QUERIES[4], 1.0))
    run()
    assert nodes[asker].is_active(titles)
    title = (URIRef("http://example.org/r"), DC.title, Literal("a"))
    follow(origin, nodes[origin].publish(LocalPeer("library"), [title], 2.0)[1])
    run()
    while late:
        messages.append(late.pop(0))
        run()
    return [entry.subscriptions for entry in nodes[asker].queues["p"].entries]


def test_a_queue_asks_again_when_its_subscriptions_changed_meanwhile() -> None:
    assert ask_while_subscriptions_change(Broker) == [("titles",)]
    assert ask_while_subscriptions_change(_NeverAsksAgain) == []
