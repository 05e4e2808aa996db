"""Whole networks: what is promised holds whatever happens to super-peers, as long as disks survive.

Unlike in the tests of the node, views come from real membership here: suspicions, verdicts and refutations take their
time, and members see different views at different moments.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rdflib import DC, FOAF, Literal, URIRef

import qel
from hypercup import Faults
from superpeer.matching.poset import IndexedPoset
from superpeer.node.errors import BadPublication, BadRequest, Nonconforming
from superpeer.sim import Network, Peer
from superpeer.sim.errors import SimulationError
from tests.superpeer.node.test_router import ADVERTISEMENTS, QUERIES, random_publication

DISTURBANCES = ("crash", "restart", "restart", "stall", "resume", "cut", "heal", "join", "leave", "wait")
ROUGH = Faults(max_delay_s=0.2, loss=0.05, duplication=0.05, clock_drift=0.02)
SEEDS = int(os.environ.get("SOAK_SEEDS", "60")) // 10  # `make soak` has more of them
SIZES = [1, 2, 5, 8] if SEEDS < 100 else [1, 2, 5, 8, 16, 33, 64]


def paper(number: int, creator: str) -> list[tuple[Any, Any, Any]]:
    resource = URIRef(f"http://example.org/papers/{number}")
    return [(resource, DC.creator, Literal(creator)), (resource, DC.date, Literal("2004-05-10"))]


@dataclass
class Reader:
    """A peer with what it asked for, and what it has to get."""

    peer: Peer
    subscriptions: dict[str, qel.Query] = field(default_factory=dict)
    ever: list[qel.Query] = field(default_factory=list)
    active: set[str] = field(default_factory=set)
    due: list[tuple[str, str]] = field(default_factory=list)


class Life:
    """A random life of a network, and the oracle that judges it."""

    def __init__(self, super_peers: int, seed: int, backbone: str, network: type[Network] = Network) -> None:
        self.random = Random(seed)
        self.net = network(super_peers, seed, backbone=backbone, faults=ROUGH)
        self.readers = [Reader(self.net.add_peer(at=self.random.randrange(super_peers))) for _ in range(5)]
        self.libraries: list[tuple[Peer, qel.Advertisement]] = []
        self.published: dict[str, list[Any]] = {}
        self.stalled: set[int] = set()
        for _ in range(3):
            self.add_library()

    def up(self, peer: Peer) -> bool:
        return peer.access_point.node is not None and peer.access_point.number not in self.stalled

    def running(self) -> list[int]:
        """The super-peers that run, and will."""
        there = [one for one in self.net.super_peers if one.node is not None and not one.is_leaving]
        return [one.number for one in there if one.number not in self.stalled]

    def add_library(self) -> None:
        advertisement = self.random.choice(ADVERTISEMENTS)
        peer = self.net.add_peer(at=self.random.choice(self.running()))
        peer.advertise(advertisement.schemas, advertisement.properties, advertisement.values)
        self.libraries.append((peer, advertisement))

    def step(self) -> None:
        for reader in self.readers:
            reader.active |= {
                name for name in reader.subscriptions if self.up(reader.peer) and reader.peer.is_active(name)
            }
        action = self.random.random()
        if action < 0.3:
            self.net.run(self.random.choice([0.05, 0.3, 2.0]))
        elif action < 0.5:
            self.subscribe_or_not()
        elif action < 0.85:
            self.publish()
        elif action < 0.87:
            self.add_library()
        elif action < 0.88:
            self.retire()
        elif action < 0.90:
            reader = self.random.choice(self.readers)
            reader.peer.disconnect() if reader.peer.is_connected else reader.peer.connect()
        elif action < 0.93:
            self.migrate()
        else:
            self.disturb()

    def subscribe_or_not(self) -> None:
        reader = self.random.choice(self.readers)
        if not self.up(reader.peer) or not reader.peer.is_connected:
            return
        if reader.subscriptions and self.random.random() < 0.2:
            name = self.random.choice(sorted(reader.subscriptions))
            reader.peer.unsubscribe(name)
            del reader.subscriptions[name]
            reader.active.discard(name)
            reader.due = [one for one in reader.due if one[0] != name]
        else:
            query = self.random.choice(QUERIES)
            reader.subscriptions[reader.peer.subscribe(str(query))] = query
            reader.ever.append(query)

    def publish(self, library: tuple[Peer, qel.Advertisement] | None = None) -> None:
        peer, advertisement = library or self.random.choice(self.libraries)
        triples = random_publication(self.random)
        if not self.up(peer) or not qel.conforms(advertisement, triples):
            return
        number = peer.publish(triples)
        self.published[number] = triples
        for reader in self.readers:
            for name in sorted(reader.active):
                if qel.matches(reader.subscriptions[name], triples):
                    reader.due.append((name, number))

    def retire(self) -> None:
        """A library publishes a last time, and leaves for good."""
        peer, _ = library = self.random.choice(self.libraries)
        if len(self.libraries) > 1 and self.up(peer):
            self.publish(library)
            peer.leave()
            self.libraries.remove(library)

    def migrate(self) -> None:
        """A reader or a library moves, perhaps from a super-peer that is down; a stalled one it cannot tell from a slow
        one, and waits."""
        peer = self.random.choice([*(reader.peer for reader in self.readers), *(peer for peer, _ in self.libraries)])
        others = [number for number in self.running() if number != peer.access_point.number]
        if others and peer.access_point.number not in self.stalled:
            peer.migrate(self.random.choice(others))

    def disturb(self) -> None:
        running = self.running()
        down = [one.number for one in self.net.super_peers if one.node is None]
        action = self.random.choice([*DISTURBANCES])
        if action == "crash" and len(running) > 1:
            self.net.crash(self.random.choice(running))
        elif action == "restart" and down:
            self.net.restart(self.random.choice(down))
        elif action == "leave" and len(running) > 1:
            self.net.leave(self.random.choice(running))
        elif action == "stall" and len(running) > 2:
            number = self.random.choice(running)
            self.net.stall(number)
            self.stalled.add(number)
        elif action == "resume" and self.stalled:
            number = self.stalled.pop()
            self.net.resume(number)
        elif action == "cut":
            numbers = [one.number for one in self.net.super_peers]
            self.random.shuffle(numbers)
            self.net.partition([numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]])
        elif action == "heal":
            self.net.heal()
        elif action == "join" and len(self.net.super_peers) < 12:
            self.net.add_super_peer()
        elif action == "wait":
            self.net.run(12.0)

    def end(self) -> None:
        """Everything is mended, everybody comes back, and all becomes quiet."""
        self.net.heal()
        for number in sorted(self.stalled):
            self.net.resume(number)
        self.stalled.clear()
        self.net.run(30.0)  # Who is about to leave leaves.
        for one in self.net.super_peers:
            if one.node is None:
                self.net.restart(one.number)
        self.net.run()
        for reader in self.readers:
            reader.peer.connect()

    def faults(self) -> list[str]:
        found = []
        for reader in self.readers:
            got = [note.id for note in reader.peer.inbox]
            matched = {note.id: note.subscriptions for note in reader.peer.inbox}
            found += [f"{reader.peer} missed {n}" for name, n in reader.due if name not in matched.get(n, ())]
            if len(got) != len(set(got)):
                found.append(f"{reader.peer} got something twice")
            for origin in {note.access_point for note in reader.peer.inbox}:
                notes = [note for note in reader.peer.inbox if note.access_point == origin]
                places = [note.place for note in notes if not note.is_history]
                if places != sorted(places):
                    found.append(f"{reader.peer} got {origin} out of order")
            for note in reader.peer.inbox:
                if not any(qel.matches(query, note.triples) for query in reader.ever):
                    found.append(f"{reader.peer} never asked for {note.id}")
            if not all(reader.peer.is_active(name) for name in reader.subscriptions):
                found.append(f"{reader.peer} has a subscription that never became active")
        return found


@pytest.mark.parametrize("backbone", ["cube", "unstructured"])
@pytest.mark.parametrize("super_peers", SIZES)
def test_nothing_is_lost_doubled_or_disordered(super_peers: int, backbone: str) -> None:
    due = 0
    for seed in range(SEEDS):
        life = Life(super_peers, seed, backbone)
        for _ in range(120):
            life.step()
        life.end()
        assert not life.faults(), f"seed {seed}: {life.faults()}"
        due += sum(len(reader.due) for reader in life.readers)
    assert due > 20 * SEEDS, "a test in which nothing is published shows nothing"


def test_nothing_is_lost_with_the_matcher_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Posets that have grown large are indexed; here they are large at once."""
    monkeypatch.setattr("superpeer.node.growing.LARGE", 3)
    indexed = 0
    for seed in range(SEEDS):
        life = Life(5, seed, "cube")
        for _ in range(120):
            life.step()
        life.end()
        assert not life.faults(), f"seed {seed}: {life.faults()}"
        tables = [one.running_node.broker.router.tables for one in life.net.super_peers]
        indexed += sum(isinstance(one.poset, IndexedPoset) for one in tables)
    assert indexed > SEEDS


@pytest.mark.parametrize("super_peers", [1, 2, 5])
def test_nothing_is_lost_when_catching_up_takes_many_pages(super_peers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs are short here, so pages are, too: of two publications, one in each step, with everything in between."""
    monkeypatch.setattr("superpeer.node.pages.PAGE", 2)
    monkeypatch.setattr("superpeer.node.pages.PAGES_KEPT", 3)
    monkeypatch.setattr("superpeer.node.catching_up.STEP_TESTS", 1)
    for seed in range(SEEDS):
        life = Life(super_peers, seed, "cube")
        for _ in range(120):
            life.step()
        life.end()
        assert not life.faults(), f"seed {seed}: {life.faults()}"


def test_the_chapters_story() -> None:
    net = Network(super_peers=8, seed=1)
    hannover, crete, bob = net.add_peer(at=0), net.add_peer(at=3), net.add_peer(at=6)
    hannover.advertise(schemas=["dc:"])
    crete.advertise(properties=["dc:creator", "dc:date"])
    follows = bob.subscribe(
        'X : t(X, dc:creator, Y) & t(X, dc:date, D) & (Y contains "Nejdl" | Y contains "Koubarakis") & D >= 2004', "two"
    )
    net.run()
    assert bob.is_active(follows)
    first = hannover.publish(paper(1, "Wolfgang Nejdl"))
    hannover.publish(paper(2, "Somebody else"))
    second = crete.publish(paper(3, "Manolis Koubarakis"))
    net.run()
    assert {note.id for note in bob.inbox} == {first, second}
    assert all(note.subscriptions == {"two"} for note in bob.inbox)
    bob.disconnect()
    third = crete.publish(paper(4, "Koubarakis"))
    net.run()
    assert third not in {note.id for note in bob.inbox}
    bob.connect()
    assert bob.inbox[-1].id == third
    bob.unsubscribe(follows)
    crete.publish(paper(5, "Koubarakis"))
    net.run()
    assert len(bob.inbox) == 3


def test_what_was_published_while_the_access_point_was_down_comes_when_it_is_back() -> None:
    net = Network(super_peers=5, seed=2)
    library, reader = net.add_peer(at=0), net.add_peer(at=4)
    library.advertise(schemas=["dc:"])
    reader.subscribe("X : t(X, dc:creator, Y)")
    net.run()
    net.crash(4)
    published = [library.publish(paper(i, "a")) for i in range(5)]
    net.run()
    assert not reader.inbox
    net.restart(4)
    net.run()
    assert [note.id for note in reader.inbox] == published


def test_a_super_peer_leaves_and_comes_back() -> None:
    net = Network(super_peers=5, seed=2)
    library, reader, other = net.add_peer(at=0), net.add_peer(at=4), net.add_peer(at=2)
    library.advertise(schemas=["dc:"])
    reader.subscribe("X : t(X, dc:creator, Y)")
    other.subscribe("X : t(X, dc:creator, Y)")
    net.run()
    net.leave(4)
    net.run()
    assert net.super_peers[4].node is None
    published = [library.publish(paper(i, "a")) for i in range(3)]
    net.run()
    assert [note.id for note in other.inbox] == published
    net.restart(4)
    net.run()
    assert [note.id for note in reader.inbox] == published


def test_a_publication_has_to_conform() -> None:
    net = Network(super_peers=1)
    library = net.add_peer(at=0)
    library.advertise(properties=["dc:creator"])
    with pytest.raises(
        Nonconforming, match=r"not advertised: http://purl.org/dc/elements/1.1/date; advertise"
    ) as refusal:
        library.publish(paper(1, "a"))
    assert refusal.value.missing == (str(DC.date),)
    for triples in ([], [*paper(1, "a"), *paper(2, "b")]):
        with pytest.raises(BadPublication, match="speaks of one subject"):
            library.publish(triples)
    with pytest.raises(Nonconforming, match="name"):
        library.publish([(URIRef("http://example.org/r"), FOAF.name, Literal("x"))])


def test_nonsense_is_refused() -> None:
    for arguments in ({"super_peers": 0}, {"super_peers": 2, "backbone": "ring"}):
        with pytest.raises(SimulationError):
            Network(**arguments)
    net = Network(super_peers=2)
    peer = net.add_peer(at=0)
    with pytest.raises(qel.QelError):
        peer.subscribe("nonsense")
    with pytest.raises(qel.Unsatisfiable):
        peer.subscribe("X : t(X, dc:date, D) & D < 1 & D > 1")
    with pytest.raises(BadRequest, match="no subscription"):
        peer.unsubscribe("nothing")
    peer.disconnect()
    with pytest.raises(SimulationError, match="offline"):
        peer.publish(paper(1, "a"))
    net.crash(0)
    peer.connect()
    with pytest.raises(SimulationError, match="sp0 is down"):
        peer.advertise(schemas=["dc:"])
    with pytest.raises(SimulationError, match="running already"):
        net.restart(1)


REPEATED = """
from tests.superpeer.sim.test_network import Life
life = Life(5, 3, "cube")
for _ in range(80):
    life.step()
life.end()
print(life.net.time, sorted(life.net.counters.items()), [[note.id for note in r.peer.inbox] for r in life.readers])
"""


def test_the_same_seed_gives_the_same_run() -> None:
    """In other processes too, where sets have another order."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", REPEATED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
