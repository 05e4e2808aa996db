"""DHTStrings: the papers' examples, exact containment, and the three ways of matching against the plain meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from rdflib import Literal, URIRef

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.string_matching import Matching, SubId, run, without_hopeless
from superpeer.dht.strings import Entry, ListKind, Strings

TERMS = "PREFIX ex: <http://example.org/terms/>\n"
EXCHANGE, SYMBOL = "http://example.org/terms/exchange", "http://example.org/terms/symbol"


def strings(nodes: int = 32, **options: Any) -> Strings:
    return Strings(Fabric(Chord(range(nodes))), **options)


def subscribe(strategy: Strings, name: str, exchange: str, symbol: str, at: int = 0) -> None:
    text = f'{TERMS}X : t(X, ex:exchange, E) & t(X, ex:symbol, S) & E like "{exchange}" & S like "{symbol}"'
    strategy.subscribe(at, name, qel.parse(text))


def quote(exchange: str, symbol: str) -> Publication:
    resource = URIRef("http://example.org/quote")
    triples = [(resource, URIRef(EXCHANGE), Literal(exchange)), (resource, URIRef(SYMBOL), Literal(symbol))]
    return Publication.of("quote", triples)


@pytest.mark.parametrize("matching", Matching)
def test_the_earlier_papers_examples_1_and_2(matching: Matching) -> None:
    strategy = strings(matching=matching)
    subscribe(strategy, "Sub1", "*SE", "OT*")
    subscribe(strategy, "Sub2", "N*E", "OTA*")
    entries = [item.content for sub in strategy.subscriptions.values() for item in sub.items]
    assert [(entry.kind, entry.attribute, entry.text) for entry in entries] == [
        (ListKind.SUFFIX, EXCHANGE, "SE"),
        (ListKind.PREFIX, SYMBOL, "OT"),
        (ListKind.PREFIX, EXCHANGE, "N"),
        (ListKind.SUFFIX, EXCHANGE, "E"),
        (ListKind.PREFIX, SYMBOL, "OTA"),
    ]
    for entry in entries:
        assert list(_held(strategy, entry))
    assert strategy.publish(5, quote("NYSE", "OTE")).notified == {"Sub1"}
    assert strategy.publish(5, quote("NYSE", "OTAB")).notified == {"Sub1", "Sub2"}
    assert strategy.publish(5, quote("NASE", "X")).notified == set()


def _held(strategy: Strings, entry: Entry) -> list[Entry]:
    store = strategy._store(strategy.table.owner(strategy.table.key(entry.text)))
    return list(store.found(entry.kind, entry.attribute, entry.text))  # type: ignore[attr-defined]


@pytest.mark.parametrize("matching", Matching)
@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("N*E", "NE", True),
        ("N*N", "N", False),
        ("N*N", "NN", True),
        ("ab*ba", "aba", False),
        ("ab*ba", "abba", True),
        ("N*E", "NYS", False),
        ("N*E", "YSE", False),
    ],
)
def test_containment_is_exact(matching: Matching, pattern: str, value: str, expected: bool) -> None:
    strategy = strings(matching=matching)
    subscribe(strategy, "sub", pattern, "OT*")
    assert (strategy.publish(3, quote(value, "OTE")).notified == {"sub"}) is expected


def test_both_halves_are_met_by_one_value() -> None:
    strategy = strings()
    strategy.subscribe(0, "sub", qel.parse(TERMS + 'X : t(X, ex:exchange, E) & E like "N*E"'))
    resource = URIRef("http://example.org/quote")
    triples = [(resource, URIRef(EXCHANGE), Literal(value)) for value in ("NYS", "XXE")]
    assert not strategy.publish(1, Publication.of("p", triples)).notified


def test_a_prefix_and_a_suffix_may_overlap_where_the_query_lets_them() -> None:
    strategy = strings()
    strategy.subscribe(0, "sub", qel.parse(TERMS + 'X : t(X, ex:symbol, E) & E like "ab*" & E like "*ba"'))
    assert strategy.publish(1, quote("x", "aba")).notified == {"sub"}


def test_a_literal_that_looks_like_a_uri_is_none() -> None:
    strategy = strings()
    texts = {"uri": "<http://e.org/a>", "text": '"<http://e.org/a>"', "quoted": '"\\"<http://e.org/a>"'}
    for name, constant in texts.items():
        strategy.subscribe(0, name, qel.parse(f"{TERMS}X : t(X, ex:symbol, S) & S = {constant}"))
    resource = URIRef("http://example.org/quote")
    values = {
        "uri": URIRef("http://e.org/a"),
        "text": Literal("<http://e.org/a>"),
        "quoted": Literal('"<http://e.org/a>'),
    }
    for name, value in values.items():
        published = strategy.publish(1, Publication.of(name, [(resource, URIRef(SYMBOL), value)]))
        assert published.notified == {name}


def test_an_event_asks_once_for_each_prefix_and_suffix() -> None:
    strategy = strings(matching=Matching.COORDINATED)
    strategy.publish(1, quote("NYSE", "OTE"))
    assert strategy.fabric.lookups["collect"] == (1 + 2 * 4) + (1 + 2 * 3)


def test_many_homes_are_told_by_a_circle() -> None:
    strategy = strings(16)
    for home in range(16):
        subscribe(strategy, f"sub {home}", "N*", "O*", at=home)
        published = strategy.publish(0, quote("NYSE", "OTE"))
        assert len(published.notified) == home + 1
        # k * log2(N) / 2 < N as in the paper: eight homes are as many messages as a circle.
        assert strategy.circles == max(0, home - 6)


def test_short_lists_are_visited_first() -> None:
    """Twenty subscriptions fail by their symbol. Who looks at the symbol first sends none of them on."""
    orders: dict[str, Callable[[str], float] | None] = {
        "asked": None,
        "known": lambda name: name == EXCHANGE,
        "wrong": lambda name: name == SYMBOL,
    }
    sent = {}
    for name, selectivity in orders.items():
        strategy = strings(1, matching=Matching.DISTRIBUTED, selectivity=selectivity)
        for number in range(20):
            text = f'{TERMS}X : t(X, ex:exchange, E) & t(X, ex:symbol, S) & E = "NYSE" & S = "X"'
            strategy.subscribe(0, str(number), qel.parse(text))
        assert not strategy.publish(0, quote("NYSE", "OTE")).notified
        sent[name] = strategy.subids_sent
    assert sent == {"asked": 0, "known": 0, "wrong": 20}


def test_subids_are_counted_when_they_leave_a_node() -> None:
    strategy = strings(32, matching=Matching.COORDINATED)
    for number in range(20):
        strategy.subscribe(0, str(number), qel.parse(f'{TERMS}X : t(X, ex:symbol, S) & S = "OTE"'))
    holder = strategy.table.owner(strategy.table.key("OTE"))
    strategy.publish(holder, quote("NYSE", "OTE"))
    assert strategy.subids_sent == 0, "the origin has the list itself"
    strategy.publish((holder + 1) % 32, quote("NYSE", "OTE"))
    assert strategy.subids_sent == 20


def test_homes_are_reached_over_the_hash_table() -> None:
    strategy = strings(64)
    ways = {home: len(strategy.table.route(5, strategy.table.identifier(home))) - 1 for home in range(64)}
    home = max(ways, key=lambda one: ways[one])
    subscribe(strategy, "sub", "N*", "O*", at=home)
    assert strategy.publish(5, quote("NYSE", "OTE")).notified == {"sub"}
    assert strategy.fabric.messages["notify"] == ways[home] > 1


@pytest.mark.parametrize("seed", range(30))
def test_all_matchings_find_the_same(seed: int) -> None:
    random = Random(seed)
    attributes = list("abcdef")
    subs = [SubId(0, str(i), 0, frozenset(random.sample(attributes, random.randint(1, 4)))) for i in range(60)]
    event = random.sample(attributes, random.randint(1, 6))
    met = {sub: {name for name in sub.declared if random.random() < 0.7} for sub in subs}
    local = {name: {sub for sub in subs if name in met[sub]} for name in event}
    expected = {sub for sub in subs if sub.declared <= set(event) and met[sub] == sub.declared}
    outcomes = {matching: run(matching, event, local, event) for matching in Matching}
    for outcome in outcomes.values():
        assert outcome.matched == expected
    assert outcomes[Matching.COORDINATED].sent == sum(map(len, local.values()))
    assert outcomes[Matching.HYBRID].sent <= outcomes[Matching.DISTRIBUTED].sent
    filtered = without_hopeless(local, event)
    for matching, outcome in outcomes.items():
        again = run(matching, event, filtered, event)
        assert again.matched == expected
        assert again.sent <= outcome.sent


def test_lookups_as_the_papers_count_them() -> None:
    """One list for each of k attributes: 2k messages coordinated, and k + 1 distributed."""
    event, subs = list("abcd"), [SubId(0, str(i), 0, frozenset("ad")) for i in range(3)]
    local = {name: set(subs) if name in "ad" else set() for name in event}
    distributed = run(Matching.DISTRIBUTED, event, local, event)
    assert list(distributed.passed) == [3, 3, 3, 0]
    assert list(distributed.home) == [0, 0, 0, 3]
    assert run(Matching.COORDINATED, event, local, event).sent == 6
    assert run(Matching.HYBRID, event, local, event).sent == 12
