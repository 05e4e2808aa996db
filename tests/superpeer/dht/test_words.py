"""DHTrie: the node's index against plain matching, significant words, the cache, and the abstract's example."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from rdflib import Literal, URIRef

import qel
from qel.text import Likeness
from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.frequency_cache import FrequencyCache
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.table import HashTable
from superpeer.dht.word_index import TrieNode, WordIndex, significant_words
from superpeer.dht.words import Sending, Words

DC = "http://purl.org/dc/elements/1.1/"


def document(number: int = 1, **values: str) -> Publication:
    resource = URIRef(f"http://example.org/{number}")
    return Publication.of(str(number), [(resource, URIRef(DC + name), Literal(text)) for name, text in values.items()])


@pytest.mark.parametrize("seed", range(8))
def test_the_abstracts_example(seed: int) -> None:
    """Whichever of its words a query is placed by."""
    strategy = Words(Fabric(Chord(range(40)), seed))
    strategy.subscribe(
        3,
        "sub",
        qel.parse(
            "X : t(X, dc:creator, A) & t(X, dc:title, T) & t(X, dc:description, S)"
            ' & A = "John Smith" & T words ("P2P" & "information" before[0,0] "alert")'
            ' & S similar[0.7] "P2P architectures have been"'
        ),
    )
    matching = {
        "creator": "John Smith",
        "title": "Information alert in P2P",
        "description": "P2P architectures have been",
    }
    assert strategy.publish(9, document(1, **matching)).notified == {"sub"}
    for name, text in [
        ("creator", "Jane Smith"),
        ("title", "Information and alert in P2P"),
        ("description", "In this paper we show that"),
    ]:
        assert not strategy.publish(9, document(2, **{**matching, name: text})).notified


@pytest.mark.parametrize("threshold", ["0", "0.3", "0.5", "0.7", "0.9", "1"])
def test_every_similar_text_has_a_significant_word(threshold: str) -> None:
    likeness = Likeness.of("a a a b b c d", Fraction(threshold))
    words = significant_words(likeness)
    for counts in product(range(4), repeat=4):
        text = [word for word, count in zip("abcd", counts, strict=True) for _ in range(count)]
        if likeness.admits([*text, "z"]):
            assert set(words) & set(text)
    expected = {"0": 4, "0.3": 3, "0.5": 2, "0.7": 1, "0.9": 1, "1": 1}
    assert len(words) == expected[threshold]


def test_a_similar_text_need_not_have_a_chosen_word() -> None:
    """What the abstract's protocol would miss for most of the words that it could choose."""
    for seed in range(8):
        strategy = Words(Fabric(Chord(range(40)), seed))
        strategy.subscribe(0, "sub", qel.parse('X : t(X, dc:title, T) & T similar[0.5] "one two three four"'))
        for missing in ("one two", "two three", "three four", "four one"):
            assert strategy.publish(5, document(1, title=missing)).notified == {"sub"}


def test_the_trie_shares_common_words() -> None:
    trie = TrieNode()
    patterns = [("a",), ("a", "b"), ("a", "b", "c"), ("b", "c"), ("a", "c")]
    for number, pattern in enumerate(patterns):
        trie.enter(pattern, (("q", number), 0))
    assert trie.size() == 1 + 6
    assert {mark[0][1] for mark in trie.found(frozenset("ac"))} == {0, 4}
    assert {mark[0][1] for mark in trie.found(frozenset("abcdefgh"))} == {0, 1, 2, 3, 4}
    for number, pattern in enumerate(patterns):
        trie.withdraw(pattern, (("q", number), 0))
    assert trie.size() == 1


@pytest.mark.parametrize("table", [Chord(range(200)), CubeTable(range(200))])
def test_the_multi_send_takes_fewer_messages_than_lookups_and_the_cache_fewer_still(table: HashTable) -> None:
    counted: dict[Any, int] = {}
    publication = document(1, title=" ".join(f"word{i}" for i in range(40)))
    for sending, cached in product(Sending, (0, 1_000)):
        strategy = Words(Fabric(table), sending=sending, cached_words=cached)
        for _ in range(2):
            before = strategy.fabric.messages["publish"]
            strategy.publish(0, publication)
        counted[sending, cached] = strategy.fabric.messages["publish"] - before
    owners = {table.owner(table.key(f"word{i}")) for i in range(40)}
    assert counted[Sending.MULTISEND, 0] < counted[Sending.LOOKUPS, 0]
    assert counted[Sending.LOOKUPS, 1_000] == counted[Sending.MULTISEND, 1_000] == len(owners - {0})
    assert 3 * counted[Sending.LOOKUPS, 1_000] < counted[Sending.LOOKUPS, 0]


def test_the_cache_keeps_what_is_frequent() -> None:
    cache = FrequencyCache(2)
    for key in (1, 1, 1, 2, 3, 3):
        cache.address(key)
    for key in (1, 2, 3):
        cache.learn(key, key * 10)
    assert [cache.address(key) for key in (1, 2, 3)] == [10, None, 30]
    cache.address(4)
    cache.learn(4, 40)
    assert [cache.address(key) for key in (1, 3, 4)] == [10, 30, None], "what is rarer takes no place"


def test_a_node_that_crashes_forgets_its_cache() -> None:
    strategy = Words(Fabric(CubeTable(range(64))), sending=Sending.LOOKUPS)
    publication = document(1, title=" ".join(f"word{i}" for i in range(20)))

    def messages() -> int:
        before = strategy.fabric.messages["publish"]
        strategy.publish(0, publication)
        return strategy.fabric.messages["publish"] - before

    assert messages() > 2 * messages()
    strategy.crash(0)
    strategy.join(0)
    assert messages() > 2 * messages()


def test_candidates_meet_all_that_is_indexed() -> None:
    strategy = Words(Fabric(Chord([0])))
    both = 'X : t(X, dc:title, T) & t(X, dc:creator, C) & T words ("alert") & C = "Ann"'
    strategy.subscribe(0, "both", qel.parse(both))
    strategy.subscribe(0, "title", qel.parse('X : t(X, dc:title, T) & T words ("alert")'))
    index = strategy._store(0)
    assert isinstance(index, WordIndex)
    for creator, expected in (("Ann", {"both", "title"}), ("Bob", {"title"})):
        found = index.candidates(document(1, title="An alert", creator=creator).description)
        assert {item.subscription.name for item in found} == expected


def test_an_outdated_cache_loses_nothing() -> None:
    strategy = Words(Fabric(Chord(range(6))))
    for number in range(10):
        strategy.subscribe(0, f"sub {number}", qel.parse(f'X : t(X, dc:title, T) & T words ("w{number}")'))
    publication = document(1, title=" ".join(f"w{number}" for number in range(10)))
    changes: list[tuple[Callable[[int], None], int]] = [(strategy.join, 50), (strategy.join, 51), (strategy.leave, 3)]
    assert len(strategy.publish(1, publication).notified) == 10
    for change, node in changes:
        change(node)
        assert len(strategy.publish(1, publication).notified) == 10
