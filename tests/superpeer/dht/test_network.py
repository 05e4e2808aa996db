"""Networks with hash-placed subscriptions, as an application has them; all five routings deliver the same."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.delegation import Relief
from superpeer.dht.errors import DhtError, UnsupportedOperation
from superpeer.dht.group_tree import Shape
from superpeer.dht.hashing import Domain
from superpeer.dht.interval_keys import Attribute
from superpeer.dht.network import STRATEGIES, HashPlacedNetwork
from superpeer.sim import Network, Peer
from superpeer.sim.errors import SimulationError

ROUTINGS = [*STRATEGIES]
TABLES = ["chord", "cube"]


def article(number: int, title: str, year: int) -> list[tuple[Any, Any, Any]]:
    resource = URIRef(f"http://example.org/articles/{number}")
    return [(resource, DC.title, Literal(title)), (resource, DC.date, Literal(str(year)))]


def common_query(title: str, year: int) -> str:
    """In the part of QEL that all five support."""
    return f'X : t(X, dc:title, T) & t(X, dc:date, D) & T = "{title}" & D = "{year}"'


@pytest.mark.parametrize("table", TABLES)
def test_all_routings_deliver_the_same(table: str) -> None:
    random = Random(5)
    titles = [f"title {i}" for i in range(4)]
    subscriptions = [
        (random.randrange(8), common_query(random.choice(titles), random.randint(2000, 2003))) for _ in range(30)
    ]
    publications = [article(i, random.choice(titles), random.randint(2000, 2003)) for i in range(30)]
    inboxes = []
    for routing in ["selective", *ROUTINGS]:
        options: dict[str, Any] = {} if routing == "selective" else {"table": table}
        net = Network(8, seed=1, routing=routing, **options)
        library = net.add_peer(at=2)
        library.advertise(schemas=["dc:"])
        readers = []
        for at, text in subscriptions:
            reader = net.add_peer(at=at)
            reader.subscribe(text)
            readers.append(reader)
        net.run()
        for triples in publications:
            library.publish(triples)
        net.run()
        inboxes.append([sorted(map(str, (n.triples[0][0] for n in reader.inbox))) for reader in readers])
    assert any(map(any, inboxes))
    assert all(inbox == inboxes[0] for inbox in inboxes)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("routing", ROUTINGS)
def test_what_comes_for_those_who_are_away_waits(routing: str, table: str) -> None:
    net = HashPlacedNetwork(8, routing=routing, table=table)
    reader, library = net.add_peer(at=3), net.add_peer(at=6)
    reader.subscribe(common_query("alert", 2004), "alerts")
    net.leave(3)
    library.publish(article(1, "alert", 2004))
    for _ in range(3):
        net.add_super_peer()
    net.leave(1)
    assert not reader.inbox
    net.restart(3)
    (notification,) = reader.inbox
    assert notification.publisher == library.id
    assert notification.subscriptions == {"alerts"}
    assert notification.bindings["alerts"]["T"] == (Literal("alert"),)
    reader.disconnect()
    library.publish(article(2, "alert", 2004))
    assert len(reader.inbox) == 1
    reader.connect()
    assert len(reader.inbox) == 2
    reader.unsubscribe("alerts")
    library.publish(article(3, "alert", 2004))
    assert len(reader.inbox) == 2
    assert sum(net.counters.values()) > 0


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_crash_is_made_good_with_time(routing: str) -> None:
    net = HashPlacedNetwork(8, routing=routing)
    reader, library = net.add_peer(at=3), net.add_peer(at=6)
    subjects = [(f"alert {i}", 1_000 * i) for i in range(10)]
    for title, year in subjects:
        reader.subscribe(common_query(title, year))
    held = {node for node, items in net.strategy.stored().items() if items}
    assert held == {3} if routing == "clusters" else len(held) > 2
    for number in (0, 1, 2, 4, 5, 7):
        net.crash(number)
        net.run()
        for title, year in subjects:
            library.publish(article(number, title, year))
    assert len(reader.inbox) == 60


def test_tables_are_stabilised_with_time() -> None:
    net = HashPlacedNetwork(4, routing="words")
    for _ in range(12):
        net.add_super_peer()
    table, fresh = net.fabric.table, Chord(range(16))
    assert isinstance(table, Chord)
    assert any(set(table.fingers(node)) != set(fresh.fingers(node)) for node in range(16))
    messages = net.counters["membership"]
    net.run()
    assert all(table.fingers(node) == fresh.fingers(node) for node in range(16))
    assert net.counters["membership"] > messages


def test_one_notification_for_several_subscriptions() -> None:
    net = HashPlacedNetwork(8, routing="words")
    reader, library = net.add_peer(at=3), net.add_peer(at=6)
    reader.subscribe('X : t(X, dc:title, T) & T words ("information")', "a")
    reader.subscribe('X : t(X, dc:title, T) & T words ("alert")', "b")
    library.publish(article(1, "information alert", 2004))
    assert [notification.subscriptions for notification in reader.inbox] == [{"a", "b"}]


def test_one_constructor_makes_both() -> None:
    assert type(Network(2)) is type(Network(2, routing="selective")) is Network
    made: Any = Network(super_peers=2, seed=3, routing="clusters", table="cube")
    assert type(made) is HashPlacedNetwork
    assert made.strategy.routing == "clusters"
    assert made.fabric.table.__class__.__name__ == "CubeTable"


def test_the_simulator_does_not_import_the_hash_tables() -> None:
    """Who routes selectively need not pay for the rest."""
    code = (
        "import sys, superpeer.sim; superpeer.sim.Network(1); print([m for m in sys.modules if 'superpeer.dht' in m])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("routing", ROUTINGS)
def test_what_only_selective_broadcast_has_is_refused(routing: str) -> None:
    net: Any = Network(2, routing=routing)
    peer = net.add_peer(at=0)
    for one, usual in ((net, Network), (peer, Peer)):
        missing = public(usual) - public(type(one)) - vars(one).keys()
        assert {"cut", "stall", "explain_subscription"} <= missing or {"pause", "migrate", "query"} <= missing
        for name in missing:
            assert not hasattr(one, name)
            with pytest.raises(UnsupportedOperation, match=name):
                getattr(one, name)
    for option in ("since", "lasts"):
        with pytest.raises(DhtError, match=option):
            peer.subscribe(common_query("a", 1), **{option: 1.0})
    assert not peer.subscriptions


def test_a_peer_is_copied_like_any_object() -> None:
    """What is asked of an object that is not finished must not ask it again."""
    peer: Any = copy.copy(Network(2, routing="words").add_peer(at=1))
    assert peer.access_point.name == "sp1"


def test_notifications_say_what_those_of_the_simulator_say() -> None:
    said = []
    for routing in ["selective", *ROUTINGS]:
        net: Any = Network(4, seed=1, routing=routing)
        library, reader = net.add_peer(at=0), net.add_peer(at=3)
        library.advertise(schemas=["dc:"])
        reader.subscribe(common_query("alert", 2004), "alerts")
        net.run()
        library.publish(article(1, "alert", 2004), "updated")
        net.run()
        (told,) = reader.inbox
        (status,) = reader.subscriptions
        assert told.publisher == library.id
        assert told.id.startswith(library.id)
        assert reader.is_active("alerts")
        said.append(
            (
                sorted(map(str, told.triples)),
                told.kind,
                told.access_point,
                told.subscriptions,
                told.bindings,
                reader.access_point.name,
                (status.subscription.name, status.is_active, status.is_servable),
                qel.canonical_id(qel.parse(status.subscription.text)),
            )
        )
    assert all(one == said[0] for one in said)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_networks(routing: str, table: str, size: int) -> None:
    """Down to the last super-peer, which has to stay, and to others in its place."""
    net = HashPlacedNetwork(size, routing=routing, table=table)
    reader, library = net.add_peer(at=0), net.add_peer(at=size - 1)
    reader.subscribe(common_query("alert", 2004), "alerts")
    library.publish(article(1, "alert", 2004))
    for number in range(1, size):
        net.leave(number)
    for gone in (net.leave, net.crash):
        with pytest.raises(DhtError, match="last node"):
            gone(0)
    reader.publish(article(2, "alert", 2004))
    other = net.add_super_peer()
    net.leave(0)
    for gone in (net.leave, net.crash):
        with pytest.raises(DhtError, match="node 0 is not in the network"):
            gone(0)
    net.add_peer(at=other).publish(article(3, "alert", 2004))
    net.restart(0)
    assert len(reader.inbox) == 3
    reader.unsubscribe("alerts")
    assert not any(net.strategy.stored().values())


def test_mistakes_are_explained() -> None:
    with pytest.raises(DhtError, match="no routing 'magic'"):
        Network(2, routing="magic")
    with pytest.raises(DhtError, match="no hash table"):
        HashPlacedNetwork(2, routing="words", table="pastry")
    with pytest.raises(DhtError, match="at least one"):
        HashPlacedNetwork(0, routing="words")
    with pytest.raises(DhtError, match=r"no option 'backbone'; it has attributes, .*, shape, table"):
        Network(2, routing="clusters", backbone="cube")
    wrong: list[tuple[str, str, Any, str]] = [
        ("strings", "matching", "hybrid", "is Matching.COORDINATED or .*, not 'hybrid'"),
        ("strings", "selectivity", 3, "is of type Callable or None, not 3"),
        ("words", "cached_words", "many", "is of type int, not 'many'"),
        ("words", "cached_words", -1, "at least 0 words, not -1"),
        ("intervals", "relief", "partition", "is of type Relief or None, not 'partition'"),
        ("intervals", "attributes", ["number"], "is of type Mapping or None"),
        ("clusters", "known_topics", "sports", "is of type Iterable, not 'sports'"),
        ("triples", "topics", ["sports"], "is of type Topics"),
    ]
    for routing, option, value, problem in wrong:
        with pytest.raises(DhtError, match=problem):
            HashPlacedNetwork(2, routing=routing, **{option: value})
    made_wrongly: list[tuple[Callable[[], object], str]] = [
        (lambda: Relief(brokers=0), "at least 1 broker"),
        (lambda: Relief(threshold=-1), "at least 0 subscriptions"),
        (lambda: Shape(-1), "a depth of at least 0"),
        (lambda: Shape(2, 1.0), "less than 1, not 2 and 1.0"),
        (lambda: Domain(3, 3), "not from 3 to 3"),
        (lambda: Attribute(intervals=0), "at least one interval, not 0"),
    ]
    for make, problem in made_wrongly:
        with pytest.raises(DhtError, match=problem):
            make()
    with pytest.raises(SimulationError, match="no option 'table'"):
        Network(2, table="chord")
    net = HashPlacedNetwork(2, routing="words")
    peer = net.add_peer(at=0)
    peer.subscribe(common_query("a", 1), "mine")
    with pytest.raises(DhtError, match="another name"):
        peer.subscribe(common_query("a", 1), "mine")
    with pytest.raises(DhtError, match="no subscription"):
        peer.unsubscribe("yours")
    nameless: Any = 5
    with pytest.raises(DhtError, match="is a text, not 5"):
        peer.subscribe(common_query("a", 1), nameless)
    with pytest.raises(DhtError, match="one subject"):
        peer.publish([])
    with pytest.raises(DhtError, match="not 'old'"):
        peer.publish(article(1, "a", 1), "old")
    with pytest.raises(DhtError, match="not in the network"):
        net.add_peer(at=7)
    with pytest.raises(DhtError, match="no super-peer 7"):
        net.restart(7)
    with pytest.raises(qel.QelError):
        peer.subscribe("nonsense")
    peer.disconnect()
    with pytest.raises(DhtError, match="offline"):
        peer.publish(article(1, "a", 1))
    peer.connect()
    net.leave(0)
    with pytest.raises(DhtError, match="sp0 is down"):
        peer.unsubscribe("mine")
