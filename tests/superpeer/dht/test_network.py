"""Networks with hash-placed subscriptions, as an application has them; all five routings deliver the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from superpeer.dht.errors import DhtError
from superpeer.dht.network import STRATEGIES, HashPlacedNetwork, network
from superpeer.dht.publication import Publication
from superpeer.sim import Network

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
        net = network(8, seed=1, routing=routing, **({} if routing == "selective" else {"table": table}))
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
    reader.subscribe(common_query("alert", 2004))
    for number in (0, 1, 2, 4, 5, 7):
        net.crash(number)
        net.run()
        library.publish(article(number, "alert", 2004))
    assert len(reader.inbox) == 6


def test_one_notification_for_several_subscriptions() -> None:
    net = HashPlacedNetwork(8, routing="words")
    reader, library = net.add_peer(at=3), net.add_peer(at=6)
    reader.subscribe('X : t(X, dc:title, T) & T words ("information")', "a")
    reader.subscribe('X : t(X, dc:title, T) & T words ("alert")', "b")
    library.publish(article(1, "information alert", 2004))
    assert [notification.subscriptions for notification in reader.inbox] == [{"a", "b"}]


def test_selective_is_the_simulator_itself() -> None:
    assert isinstance(network(2, routing="selective"), Network)


def test_mistakes_are_explained() -> None:
    with pytest.raises(DhtError, match="no routing 'magic'"):
        HashPlacedNetwork(2, routing="magic")
    with pytest.raises(DhtError, match="no hash table"):
        HashPlacedNetwork(2, routing="words", table="pastry")
    with pytest.raises(DhtError, match="at least one"):
        HashPlacedNetwork(0, routing="words")
    net = HashPlacedNetwork(2, routing="words")
    peer = net.add_peer(at=0)
    peer.subscribe(common_query("a", 1), "mine")
    with pytest.raises(DhtError, match="another name"):
        peer.subscribe(common_query("a", 1), "mine")
    with pytest.raises(DhtError, match="no subscription"):
        peer.unsubscribe("yours")
    with pytest.raises(DhtError, match="one subject"):
        Publication.of("x", [])
    with pytest.raises(DhtError, match="not in the network"):
        net.add_peer(at=7)
    with pytest.raises(qel.QelError):
        peer.subscribe("nonsense")
