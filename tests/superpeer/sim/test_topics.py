"""Topics in a hierarchy: publications carry what is broader than their own, so all on the way agree on `within`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from rdflib import DC, SKOS, Literal, URIRef

import qel
from superpeer.sim import Network

COUNT = 12


def topic(number: int) -> URIRef:
    return URIRef(f"http://example.org/topics/{number}")


def within(number: int) -> str:
    return f"X : t(X, dc:subject, T) & T within <{topic(number)}>"


def on(number: int, *topics: int) -> list[Any]:
    subject = URIRef(f"http://example.org/{number}")
    return [(subject, DC.title, Literal(f"paper {number}")), *((subject, DC.subject, topic(one)) for one in topics)]


HIERARCHY = [(topic(2), SKOS.broader, topic(1)), (topic(3), SKOS.broader, topic(2))]


def test_whoever_asks_for_a_topic_hears_of_all_below_it() -> None:
    net = Network(super_peers=5, seed=1)
    library, reader, other = net.add_peer(at=0), net.add_peer(at=4), net.add_peer(at=2)
    library.advertise(properties=["dc:title"], values={"dc:subject": [qel.Uri(str(topic(n))) for n in (2, 3)]})
    wide, narrow = reader.subscribe(within(1)), other.subscribe(within(3))
    net.run()
    below = library.publish(on(1, 3), topics=qel.Topics(HIERARCHY))
    beside = library.publish(on(2, 2), topics=qel.Topics(HIERARCHY))
    untold = library.publish(on(3, 3))
    net.run()
    assert [one.id for one in reader.inbox] == [below, beside], "what is not told to be below it is not"
    assert [one.id for one in other.inbox] == [below, untold]
    assert reader.inbox[0].bindings[wide]["T"] == (topic(3),)
    assert other.inbox[0].subscriptions == {narrow}


def test_it_is_caught_up_with_and_asked_for_once() -> None:
    net = Network(super_peers=4, seed=2)
    library, reader = net.add_peer(at=0), net.add_peer(at=3)
    library.advertise(schemas=["dc:"])
    reader.subscribe(within(1))
    net.run()
    net.crash(3)
    published = library.publish(on(1, 3), topics=qel.Topics(HIERARCHY))
    net.run()
    net.restart(3)
    net.run()
    assert [one.id for one in reader.inbox] == [published]
    result = reader.query(within(1))
    net.run()
    assert [triples[0][0] for _, triples in result.answers] == [URIRef("http://example.org/1")]


@pytest.mark.parametrize("seed", range(6))
def test_random_hierarchies_deliver_what_qel_says(seed: int) -> None:
    random = Random(seed)
    net = Network(super_peers=random.randint(1, 6), seed=seed)
    size = len(net.super_peers)
    libraries = [net.add_peer(at=random.randrange(size)) for _ in range(2)]
    readers = [net.add_peer(at=random.randrange(size)) for _ in range(4)]
    libraries[0].advertise(schemas=["dc:"])
    libraries[1].advertise(
        properties=["dc:title"], values={"dc:subject": [qel.Uri(str(topic(number))) for number in range(COUNT)]}
    )
    asked = {}
    for reader in readers:
        asked[reader.id] = [within(random.randrange(COUNT)) for _ in range(3)]
        asked[reader.id].append(f"X : t(X, dc:subject, <{topic(random.randrange(COUNT))}>)")
        for text in asked[reader.id]:
            reader.subscribe(text)
    net.run()
    published = []
    for number in range(12):
        edges = [(topic(random.randrange(COUNT)), SKOS.broader, topic(random.randrange(COUNT))) for _ in range(14)]
        triples = on(number, *random.sample(range(COUNT), random.randint(1, 2)))
        name = random.choice(libraries).publish(triples, topics=qel.Topics(edges))
        published.append((name, triples, edges))
    net.run()
    due = {
        reader.id: {
            name
            for name, triples, edges in published
            if any(qel.matches(qel.parse(text), triples, edges) for text in asked[reader.id])
        }
        for reader in readers
    }
    assert any(due.values())
    for reader in readers:
        assert {one.id for one in reader.inbox} == due[reader.id]
        assert len(reader.inbox) == len(due[reader.id])
