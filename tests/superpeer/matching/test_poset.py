"""The poset at scale against the one that compares with everything: the same places, links, roots and changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from qel.values import describe
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
