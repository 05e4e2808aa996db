"""RDFPeers: where subscriptions sit, and what is passed on."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import DC, RDF, Literal, URIRef

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.hashing import Domain
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.table import HashTable
from superpeer.dht.triples import Triples

DATES = {str(DC.date): Domain(1900, 2030)}


def make(table: HashTable | None = None, **options: Any) -> Triples:
    return Triples(Fabric(table or Chord(range(40))), domains=DATES, **options)


def article(date: str, title: str = "Information alert") -> Publication:
    resource = URIRef("http://example.org/1")
    return Publication.of(
        "1",
        [
            (resource, DC.title, Literal(title)),
            (resource, DC.date, Literal(date)),
            (resource, RDF.type, URIRef(str(DC) + "article")),
        ],
    )


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("t(X, dc:date, D) & X = <http://example.org/1>", "subject"),
        ('t(X, dc:title, T) & T = "Information alert"', "object"),
        ("t(X, dc:date, D) & t(X, rdf:type, dc:article) & D >= 2003 & D <= 2005", "object"),
        ("t(X, dc:date, D) & D >= 2000 & D <= 2005", "object"),
        ("t(X, dc:date, D) & D >= 1950", "predicate"),
        ('t(X, dc:title, T) & T contains "alert"', "predicate"),
        ("t(X, dc:date, D)", "predicate"),
    ],
)
def test_a_subscription_sits_where_its_rarest_constant_is(text: str, position: str) -> None:
    strategy = make()
    strategy.subscribe(0, "sub", qel.parse("X : " + text))
    assert {item.content.position for item in strategy.subscriptions["sub"].items} == {position}
    assert strategy.publish(9, article("2004-05-01")).notified == {"sub"}


def test_of_several_places_the_narrowest_is_taken() -> None:
    strategy = make()
    text = 'X : t(X, dc:date, D) & t(X, dc:title, T) & D > 2000 & D < 2010 & T = "a"'
    strategy.subscribe(0, "sub", qel.parse(text))
    (item,) = strategy.subscriptions["sub"].items
    assert (item.content.position, item.content.property) == ("object", str(DC.title))


def test_the_least_common_predicate_is_taken() -> None:
    strategy = make()
    for number, name in enumerate(("date", "date", "title", "title", "title")):
        strategy.subscribe(0, str(number), qel.parse(f"X : t(X, dc:{name}, V)"))
    for number, expected in enumerate((DC.date, DC.date, DC.title)):
        strategy.subscribe(0, f"both {number}", qel.parse("X : t(X, dc:date, D) & t(X, dc:title, T)"))
        (item,) = strategy.subscriptions[f"both {number}"].items
        # Of two that are as common, the first by name.
        assert item.content.property == str(expected)


@pytest.mark.parametrize("table", [Chord(range(60)), CubeTable(range(60))])
def test_a_range_is_held_by_all_nodes_of_its_objects(table: HashTable) -> None:
    strategy = make(table)
    strategy.subscribe(0, "sub", qel.parse("X : t(X, dc:date, D) & D >= 1990 & D <= 2010"))
    holders = {node for node, held in strategy.stored().items() if held}
    assert 4 < len(holders) < 20
    for year in range(1985, 2016):
        assert strategy.publish(9, article(str(year))).notified == ({"sub"} if 1990 <= year <= 2010 else set())


def test_the_rest_of_a_pattern_is_checked_with_the_subject() -> None:
    text = 'X : t(X, dc:date, D) & t(X, dc:title, T) & D = 2004 & T contains "alert"'
    passed, carried = make(), make(carries_all=True)
    for strategy in (passed, carried):
        strategy.subscribe(0, "sub", qel.parse(text))
        assert strategy.publish(9, article("2004")).notified == {"sub"}
        assert not strategy.publish(9, article("2004", "Nothing")).notified
    assert passed.fabric.messages["candidates"] == 2
    assert not carried.fabric.messages["candidates"]
    assert carried.fabric.bytes["publish"] > passed.fabric.bytes["publish"]
    assert carried.fabric.messages["publish"] == passed.fabric.messages["publish"]


def test_a_triple_goes_to_the_nodes_of_its_three_parts() -> None:
    strategy = make()
    strategy.publish(9, article("2004"))
    assert strategy.fabric.lookups["publish"] == 1 + 2 * 3
