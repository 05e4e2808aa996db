"""Every strategy delivers exactly what `qel.matches` says, on both hash tables, while nodes join, leave and crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import pytest
from rdflib import Literal, URIRef

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.delegation import Policy, Relief
from superpeer.dht.errors import DhtError, UnsupportedQuery
from superpeer.dht.group_tree import Shape
from superpeer.dht.hashing import Domain
from superpeer.dht.interval_keys import Attribute
from superpeer.dht.intervals import Examining, Intervals, Selection
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import HEADER_BYTES, Fabric
from superpeer.dht.strategy import Strategy
from superpeer.dht.string_matching import Matching
from superpeer.dht.strings import Strings
from superpeer.dht.table import HashTable
from superpeer.dht.triples import Triples
from superpeer.dht.words import Sending, Words
from tests.superpeer.dht import workload

ATTRIBUTES = {workload.EX + "number": Attribute(Domain(-2, 7), 5)}
DOMAINS = {workload.EX + "number": Domain(-2, 7)}


@dataclass(frozen=True)
class Case:
    make: Callable[[Fabric], Strategy[Any]]
    atom: Callable[[Random, str], str]
    rest: Callable[[Random, str], str]
    subject: bool = True


def intervals(kind: type[Intervals] = Intervals, **options: Any) -> Case:
    make = partial(kind, attributes=ATTRIBUTES, **options)
    return Case(make, workload.number_atom, workload.other_atom)


CASES = {
    **{
        f"strings {matching.value}": Case(
            partial(Strings, matching=matching), workload.text_atom, workload.text_atom, subject=False
        )
        for matching in Matching
    },
    "words": Case(partial(Words, cached_words=0), workload.word_atom, workload.other_atom),
    "words with cache": Case(partial(Words, cached_words=4), workload.word_atom, workload.other_atom),
    "words by lookups": Case(partial(Words, sending=Sending.LOOKUPS), workload.word_atom, workload.other_atom),
    "intervals": intervals(),
    "intervals at random": intervals(selection=Selection.RANDOM),
    "intervals replicated": intervals(relief=Relief(Policy.REPLICATION, 2, 3)),
    "intervals partitioned": intervals(relief=Relief(Policy.PARTITION, 2, 3)),
    "clusters": intervals(Clusters, shape=Shape(3, 0.1)),
    "clusters by topic": intervals(Clusters, topic_in_keys=True, examining=Examining.GROUP),
    "clusters deep": intervals(Clusters, shape=Shape(6, 0.0)),
    "clusters replicated": intervals(Clusters, relief=Relief(Policy.REPLICATION, 2, 3)),
    "clusters partitioned": intervals(Clusters, relief=Relief(Policy.PARTITION, 2, 3)),
    "triples": Case(partial(Triples, domains=DOMAINS), workload.other_atom, workload.number_atom),
    "triples carried": Case(
        partial(Triples, domains=DOMAINS, carries_all=True), workload.text_atom, workload.number_atom
    ),
}
KINDS: dict[str, Callable[..., HashTable]] = {"chord": Chord, "cube": CubeTable}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_exact(name: str, kind: str, seed: int) -> None:
    case = CASES[name]
    random = Random(f"{name} {kind} {seed}")
    table = KINDS[kind](range(random.choice([1, 5, 12])))
    strategy = case.make(Fabric(table, seed))
    inbox: list[tuple[str, str]] = []
    strategy.deliver = lambda subscription, publication: inbox.append((subscription, publication.id))
    queries: dict[str, qel.Query] = {}
    homes: dict[str, int] = {}
    absent = list(range(20, 26))
    expected: list[tuple[str, str]] = []
    serial = 0
    for _ in range(100):
        happening = random.random()
        serial += 1
        if happening < 0.35:
            query = qel.parse(workload.query(random, case.atom, case.rest, subject=case.subject))
            at = random.choice(list(table.nodes))
            try:
                strategy.subscribe(at, f"sub {serial}", query)
            except (UnsupportedQuery, qel.Unsatisfiable):
                continue
            queries[f"sub {serial}"], homes[f"sub {serial}"] = query, at
        elif happening < 0.45:
            here = [name for name, home in homes.items() if home in table.nodes]
            if here:
                gone = random.choice(here)
                strategy.unsubscribe(gone)
                del queries[gone], homes[gone]
                expected = [pair for pair in expected if pair[0] != gone]
                inbox = [pair for pair in inbox if pair[0] != gone]
        elif happening < 0.85:
            triples = workload.publication(random, serial)
            matching = {name for name, query in queries.items() if qel.matches(query, triples)}
            published = strategy.publish(random.choice(list(table.nodes)), Publication.of(f"pub {serial}", triples))
            assert published.notified == matching
            expected += [(name, f"pub {serial}") for name in matching]
        elif happening < 0.92 and absent:
            strategy.join(absent.pop(random.randrange(len(absent))))
        elif happening < 0.97 and len(table.nodes) > 1:
            gone_node = random.choice(list(table.nodes))
            strategy.leave(gone_node)
            absent.append(gone_node)
        elif len(table.nodes) > 1:
            # What a crash destroys of those who are away comes back with them, and their mail is lost with its holder;
            # so everybody is called back first.
            while absent:
                strategy.join(absent.pop())
            gone_node = random.choice(list(table.nodes))
            strategy.crash(gone_node)
            strategy.refresh()
            strategy.join(gone_node)
        if isinstance(table, Chord) and random.random() < 0.1:
            table.stabilise()
    while absent:
        strategy.join(absent.pop())
    assert expected, "a workload that nothing matches tests nothing"
    assert sorted(inbox) == sorted(expected)
    for subscription in list(queries):
        strategy.unsubscribe(subscription)
    assert not any(strategy.stored().values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["strings hybrid", "words", "intervals", "intervals partitioned", "clusters", "triples"]
)
def test_a_crash_destroys_what_the_node_held_until_it_is_placed_again(name: str, kind: str) -> None:
    """Were it not so, the tests above would not show that placing again helps."""
    text = f'X : t(X, <{workload.EX}title>, T) & t(X, <{workload.EX}number>, N) & T = "ab" & N = "5"'
    triples = _article()
    lost = 0
    for seed in range(12):
        table = KINDS[kind](range(12))
        strategy = CASES[name].make(Fabric(table, seed))
        for home in range(3):
            strategy.subscribe(home, str(home), qel.parse(text))
        assert strategy.publish(5, Publication.of("first", triples)).notified == {"0", "1", "2"}
        strategy.crash(3 + seed % 9)
        left = strategy.publish(0, Publication.of("second", triples)).notified
        lost += left != {"0", "1", "2"}
        strategy.refresh()
        assert strategy.publish(0, Publication.of("third", triples)).notified == {"0", "1", "2"}
    # Within a cluster only subscribers store anything, so the crash of others destroys nothing.
    assert (lost == 0) == (name == "clusters")


def test_mail_is_handed_over_in_a_message() -> None:
    strategy = CASES["words"].make(Fabric(Chord(range(12))))
    strategy.subscribe(0, "sub", qel.parse(f'X : t(X, <{workload.EX}title>, T) & T words ("ab")'))
    strategy.leave(0)
    publication = Publication.of("1", _article())
    strategy.publish(5, publication)
    holder = strategy.table.owner(strategy.table.mail_key(0))
    assert not strategy.stored()[holder], "it holds the mail alone"
    messages, size = strategy.fabric.messages["transfer"], strategy.fabric.bytes["transfer"]
    strategy.leave(holder)
    assert strategy.fabric.messages["transfer"] == messages + 1
    assert strategy.fabric.bytes["transfer"] == size + HEADER_BYTES + publication.size_bytes


def test_mail_is_fetched_from_whoever_holds_it() -> None:
    table = CubeTable(range(12))
    strategy = CASES["words"].make(Fabric(table))
    strategy.subscribe(0, "sub", qel.parse(f'X : t(X, <{workload.EX}title>, T) & T words ("ab")'))
    strategy.leave(0)
    publication = Publication.of("1", _article())
    strategy.publish(5, publication)
    counted = strategy.fabric.messages["mail"], strategy.fabric.bytes["mail"]
    strategy.join(0)
    way = table.route(0, table.mail_key(0))
    assert way[-1] != 0
    assert strategy.fabric.messages["mail"] == counted[0] + len(way) - 1 + 1
    assert strategy.fabric.bytes["mail"] == counted[1] + HEADER_BYTES * len(way) + publication.size_bytes


@pytest.mark.parametrize("kind", KINDS)
def test_hops_are_counted_until_the_last_home_knows(kind: str) -> None:
    table = KINDS[kind](range(40))
    strategy = CASES["words"].make(Fabric(table))
    assert strategy.publish(3, Publication.of("1", _article())).hops == 0
    owner = table.owner(table.key("ab"))
    way = len(table.route(3, table.key("ab"))) - 1
    for number, home in enumerate((owner, (owner + 1) % 40)):
        strategy.subscribe(home, str(number), qel.parse(f'X : t(X, <{workload.EX}title>, T) & T words ("ab")'))
        assert strategy.publish(3, Publication.of("2", _article())).hops == way + number


def _article() -> list[tuple[Any, Any, Any]]:
    resource = URIRef("http://example.org/s1")
    return [
        (resource, URIRef(workload.EX + "title"), Literal("ab")),
        (resource, URIRef(workload.EX + "number"), Literal("5")),
    ]


@pytest.mark.parametrize(
    ("make", "text", "problem"),
    [
        (Strings, 't(X, dc:title, T) & T contains "a"', "contains"),
        (Strings, "t(X, dc:date, D) & D > 3", "comparison"),
        (Strings, 't(X, dc:title, T) & T = "a" & X = <http://example.org/s>', "subject"),
        (Strings, "t(X, dc:title, T)", "without any text"),
        (Words, 't(X, dc:title, T) & T contains "a"', "without a word"),
        (Words, 't(X, dc:title, T) & (T words ("a") | T like "b*")', "without a word"),
        (Intervals, 't(X, dc:title, T) & T = "a"', "without numbers"),
        (Clusters, 't(X, dc:date, D) & (D > 3 | D like "a*")', "without numbers"),
        (partial(Intervals, serves_any_topic=False), "t(X, dc:date, D) & D > 3", "serves topics"),
    ],
)
def test_what_cannot_be_placed_is_refused_when_subscribing(
    make: Callable[[Fabric], Strategy[Any]], text: str, problem: str
) -> None:
    strategy = make(Fabric(Chord(range(4))))
    with pytest.raises(UnsupportedQuery, match=problem):
        strategy.subscribe(0, "sub", qel.parse("X : " + text))
    assert not strategy.subscriptions
    assert not any(strategy.stored().values())


def test_unsatisfiable_queries_are_refused_by_all() -> None:
    with pytest.raises(qel.Unsatisfiable):
        Triples(Fabric(Chord([0]))).subscribe(0, "sub", qel.parse("X : t(X, dc:date, D) & D > 3 & D < 2"))


@pytest.mark.parametrize("name", ["strings hybrid", "words", "intervals", "clusters", "triples"])
def test_updates(name: str) -> None:
    def text(title: str, number: int) -> str:
        return f'X : t(X, <{workload.EX}title>, T) & t(X, <{workload.EX}number>, N) & T = "{title}" & N = "{number}"'

    strategy = CASES[name].make(Fabric(Chord(range(9))))
    strategy.subscribe(2, "sub", qel.parse(text("ba", 4)))
    assert not strategy.publish(0, Publication.of("1", _article())).notified
    strategy.update("sub", qel.parse(text("ab", 5)))
    assert strategy.publish(0, Publication.of("2", _article())).notified == {"sub"}
    with pytest.raises(qel.Unsatisfiable):
        strategy.update("sub", qel.parse(text("ab", 5) + ' & T = "b"'))
    assert strategy.publish(0, Publication.of("3", _article())).notified == {"sub"}
    with pytest.raises(DhtError, match="no subscription"):
        strategy.update("other", qel.parse(text("ab", 5)))
