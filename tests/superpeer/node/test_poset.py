"""The poset against the definition: all pairs compared, links where nothing lies between."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from qel.values import describe
from superpeer.node.poset import Change, Place, Poset
from tests.qel.strategies import chapter_queries, queries, triple_sets

Held = dict[int, tuple[qel.Query, set[int]]]

steps = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2), st.booleans()), max_size=30)


def play(asked: list[qel.Query], history: list[tuple[int, int, bool]]) -> tuple[Poset[int], set[tuple[int, int]]]:
    """Inserts and removes, and checks at each step that the change reported is the change of the roots."""
    poset: Poset[int] = Poset()
    held: set[tuple[int, int]] = set()
    for which, source, adding in history:
        number = which % len(asked)
        before = {root.query for root in poset.roots}
        change = poset.insert(asked[number], source) if adding else poset.remove(asked[number], source)
        after = {root.query for root in poset.roots}
        assert set(change.added) == after - before
        assert set(change.removed) == before - after
        if adding:
            held.add((number, source))
        else:
            # Queries of one meaning are one to the poset: taking one away takes its twins of that source away, too.
            held = {
                (other, by) for other, by in held if by != source or not qel.equivalent(asked[other], asked[number])
            }
    return poset, held


def check(poset: Poset[int], asked: list[qel.Query], held: set[tuple[int, int]]) -> None:
    places = list(poset)
    assert len(places) == len(poset) == len(set(places))
    expected: dict[str, set[int]] = {}
    for number, source in held:
        place = poset.find(asked[number])
        assert place is not None
        assert qel.equivalent(place.query, asked[number])
        expected.setdefault(str(place.query), set()).add(source)
    assert {str(place.query): place.sources for place in places} == expected
    for one, other in itertools.permutations(places, 2):
        above = qel.subsumes(one.query, other.query)
        assert not (above and qel.subsumes(other.query, one.query))
        between = any(
            qel.subsumes(one.query, third.query) and qel.subsumes(third.query, other.query)
            for third in places
            if third is not one and third is not other
        )
        assert (other in one.children) == (one in other.parents) == (above and not between)
    assert set(poset.roots) == {place for place in places if not place.parents}


@settings(max_examples=150)
@given(st.lists(chapter_queries(leaves=3), min_size=1, max_size=6), steps)
def test_links_are_the_hasse_diagram(asked: list[qel.Query], history: list[tuple[int, int, bool]]) -> None:
    poset, held = play(asked, history)
    check(poset, asked, held)


@settings(max_examples=100)
@given(st.lists(queries(leaves=2), min_size=1, max_size=6), steps)
def test_links_are_the_hasse_diagram_with_all_operators(
    asked: list[qel.Query], history: list[tuple[int, int, bool]]
) -> None:
    poset, held = play(asked, history)
    check(poset, asked, held)


@given(st.lists(queries(leaves=2), min_size=1, max_size=6), steps, triple_sets())
def test_matching_from_the_roots_finds_what_matches(
    asked: list[qel.Query], history: list[tuple[int, int, bool]], triples: list[Any]
) -> None:
    poset, held = play(asked, history)
    for description in describe(triples):
        found: list[Place[int]] = list(poset.match(description))
        assert len(found) == len(set(found))
        told = {source for place in found for source in place.sources}
        assert told == {source for number, source in held if qel.matches(asked[number], triples)}


def query(constraint: str) -> qel.Query:
    return qel.parse(f"X : t(X, dc:date, D) & {constraint}")


def test_equal_subscriptions_are_held_once() -> None:
    poset: Poset[str] = Poset()
    assert poset.insert(query("D > 2003"), "a") == Change((query("D > 2003"),))
    assert poset.insert(qel.parse("Y : t(Y, dc:date, Z) & Z >= 2004"), "b") == Change()
    assert len(poset) == 1
    assert poset.remove(query("D >= 2004"), "a") == Change()
    assert poset.remove(query("D >= 2004"), "b") == Change((), (query("D > 2003"),))
    assert len(poset) == 0


def test_what_a_general_one_hid_comes_out_when_it_goes() -> None:
    poset: Poset[str] = Poset()
    general, middle, special = query("D >= 1"), query("D >= 2"), query("D >= 3")
    poset.insert(special, "a")
    assert poset.insert(general, "b") == Change((general,), (special,))
    assert poset.insert(middle, "c") == Change()
    assert poset.remove(general, "b") == Change((middle,), (general,))
    assert [place.query for place in poset] == [middle, special]


def test_removing_what_was_never_there_changes_nothing() -> None:
    poset: Poset[str] = Poset()
    poset.insert(query("D = 1"), "a")
    assert poset.remove(query("D = 1"), "b") == Change()
    assert poset.remove(query("D = 2"), "a") == Change()
    assert len(poset) == 1
