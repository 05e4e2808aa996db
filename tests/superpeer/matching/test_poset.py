"""The poset at scale against the one that compares with everything: the same places, links, roots and changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from benchmarks.catalogue import Bibliographic, Mixed
from qel.values import describe
from superpeer.matching import poset as poset_module
from superpeer.matching.poset import IndexedPoset
from superpeer.node.poset import Change, Place, Poset
from tests.qel.strategies import chapter_queries, queries, triple_sets

steps = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2), st.sampled_from([True, True, False])), max_size=40)


def shape(poset: Poset[int] | IndexedPoset[int]) -> dict[str, tuple[set[int], set[str], set[str], bool]]:
    def name(place: Place[int]) -> str:
        return qel.canonical_id(place.query)

    places = list(poset)
    assert len(places) == len(poset)
    return {
        name(place): (
            place.sources,
            {name(parent) for parent in place.parents},
            {name(child) for child in place.children},
            place in poset.roots,
        )
        for place in places
    }


def play(asked: list[qel.Query], history: list[tuple[int, int, bool]], said: list[Any]) -> None:
    indexed: IndexedPoset[int] = IndexedPoset()
    plain: Poset[int] = Poset()
    for which, source, adding in history:
        query = asked[which % len(asked)]
        mine = indexed.insert(query, source) if adding else indexed.remove(query, source)
        theirs = plain.insert(query, source) if adding else plain.remove(query, source)
        assert set(mine.added) == set(theirs.added)
        assert set(mine.removed) == set(theirs.removed)
        assert shape(indexed) == shape(plain)
    for description in describe(said):
        found = [qel.canonical_id(place.query) for place in indexed.match(description)]
        assert len(found) == len(set(found))
        assert set(found) == {qel.canonical_id(place.query) for place in plain.match(description)}


@settings(max_examples=40, deadline=None)
@given(st.lists(queries(leaves=3), min_size=1, max_size=12), steps, triple_sets())
def test_it_is_the_same_poset_with_all_operators(
    asked: list[qel.Query], history: list[tuple[int, int, bool]], said: list[Any]
) -> None:
    play(asked, history, said)


@settings(max_examples=30, deadline=None)
@given(st.lists(chapter_queries(leaves=3), min_size=1, max_size=12), steps, triple_sets())
def test_it_is_the_same_poset_in_the_chapters_language(
    asked: list[qel.Query], history: list[tuple[int, int, bool]], said: list[Any]
) -> None:
    play(asked, history, said)


def play_at_once(
    asked: list[qel.Query], before: list[tuple[int, int]], at_once: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    """Some one by one, many at once, then all of them taken away again in another order."""
    indexed: IndexedPoset[int] = IndexedPoset()
    plain: Poset[int] = Poset()
    for which, source in before:
        indexed.insert(asked[which % len(asked)], source)
        plain.insert(asked[which % len(asked)], source)
    roots = {place.query for place in plain.roots}
    change = indexed.insert_many([(asked[which % len(asked)], source) for which, source in at_once])
    for which, source in at_once:
        plain.insert(asked[which % len(asked)], source)
    now = {place.query for place in plain.roots}
    assert identities(change.added) == identities(now) - identities(roots)
    assert identities(change.removed) == identities(roots) - identities(now)
    assert shape(indexed) == shape(plain)
    for which, source in [*after, *before, *at_once]:
        query = asked[which % len(asked)]
        mine, theirs = indexed.remove(query, source), plain.remove(query, source)
        assert identities(mine.added) == identities(theirs.added)
        assert shape(indexed) == shape(plain)
    assert not len(indexed)


def identities(queries: Iterable[qel.Query]) -> set[str]:
    return {qel.canonical_id(query) for query in queries}


at_once = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2)), max_size=20)


@settings(max_examples=40, deadline=None)
@given(st.lists(queries(leaves=3), min_size=1, max_size=12), at_once, at_once, at_once)
def test_many_at_once_come_to_the_same_with_all_operators(
    asked: list[qel.Query],
    before: list[tuple[int, int]],
    together: list[tuple[int, int]],
    after: list[tuple[int, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poset_module, "_MANY", 1)
        play_at_once(asked, before, together, after)


@settings(max_examples=30, deadline=None)
@given(st.lists(chapter_queries(leaves=3), min_size=1, max_size=12), at_once, at_once, at_once)
def test_many_at_once_come_to_the_same_in_the_chapters_language(
    asked: list[qel.Query],
    before: list[tuple[int, int]],
    together: list[tuple[int, int]],
    after: list[tuple[int, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poset_module, "_MANY", 1)
        play_at_once(asked, before, together, after)


@pytest.mark.parametrize("workload", [Bibliographic, Mixed])
def test_a_thousand_at_once_are_those_one_by_one(workload: type[Bibliographic]) -> None:
    """Interests that overlap as those of readers do, so that chains are long and places have many neighbours."""
    asked = list(workload(7, authors=30, subjects=20, words=150).queries(1_500))
    plain: Poset[int] = Poset()
    for number, query in enumerate(asked):
        plain.insert(query, number)
    indexed: IndexedPoset[int] = IndexedPoset()
    indexed.insert_many((query, number) for number, query in enumerate(asked[:1_300]))
    for number, query in enumerate(asked[1_300:], start=1_300):
        indexed.insert(query, number)
    assert shape(indexed) == shape(plain)
    taken = IndexedPoset(plain)
    for number in range(0, 1_500, 3):
        assert set(indexed.remove(asked[number], number).added) == set(taken.remove(asked[number], number).added)
    assert shape(indexed) == shape(taken)


def contains(*constants: str) -> qel.Query:
    tests = " & ".join(f'T contains "{constant}"' for constant in constants)
    return qel.parse(f"X : t(X, dc:title, T) & {tests}")


@pytest.mark.parametrize("special", ['T = "semantic web"', 'T like "semantic*"', 'T contains "the semantic"'])
def test_a_constant_is_found_within_longer_ones(special: str) -> None:
    poset: IndexedPoset[str] = IndexedPoset()
    below = qel.parse(f"X : t(X, dc:title, T) & {special}")
    for i in range(20):
        poset.insert(contains(f"other{i}"), "x")
    poset.insert(below, "a")
    general = contains("semantic")
    assert poset.insert(general, "b") == Change((general,), (below,))
    assert poset.remove(general, "b") == Change((below,), (general,))


def test_digits_of_numbers_are_implied_by_them() -> None:
    poset: IndexedPoset[str] = IndexedPoset()
    numbers = qel.parse("X : t(X, dc:title, T) & T >= 20040 & T <= 20049")
    poset.insert(numbers, "a")
    digits = contains("2004")
    assert poset.insert(digits, "b") == Change((digits,), (numbers,))


def test_what_nothing_matches_lies_below_everything() -> None:
    poset: IndexedPoset[str] = IndexedPoset()
    nothing = qel.parse("X : t(X, dc:date, D) & D < 1 & D > 1")
    poset.insert(nothing, "a")
    general = contains("a")
    assert poset.insert(general, "b") == Change((general,), (nothing,))
    assert [place.query for place in poset] == [general, nothing]
