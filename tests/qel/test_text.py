"""Words, chains of words and similarity, against slow readings of their definitions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qel.text import Chain, Gap, Likeness, words_of
from tests.qel.oracle import cosine, occurs, words

gaps = st.builds(
    lambda least, more: Gap(least, None if more == 3 else least + more), st.integers(0, 2), st.integers(0, 3)
)
small_words = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8)


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    chosen = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
    between = draw(st.lists(gaps, min_size=len(chosen) - 1, max_size=len(chosen) - 1))
    return Chain(tuple(chosen), tuple(between))


@given(st.text())
def test_words_are_runs_of_letters_and_digits(text: str) -> None:
    assert list(words_of(text)) == words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P2P-based alert!", ["p2p", "based", "alert"]),
        ("snake_case", ["snake", "case"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("e\u0301t\u00e9", ["\u00e9t\u00e9"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("日本語 2004年", ["日本語", "2004年"]),
        ("...", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert list(words_of(text)) == expected


@given(chains(), small_words)
def test_a_chain_occurs_where_its_words_stand_in_order_and_near_enough(chain: Chain, text: list[str]) -> None:
    assert chain.occurs_in(text) == occurs(list(chain.words), chain.gaps, text)


@given(chains(), chains(), small_words)
def test_a_chain_that_implies_another_is_found_with_it(one: Chain, other: Chain, text: list[str]) -> None:
    if one.implies(other) and one.occurs_in(text):
        assert other.occurs_in(text)


@st.composite
def long_chains(draw: st.DrawFn) -> Chain:
    chosen = draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=7))
    between = draw(st.lists(gaps, min_size=len(chosen) - 1, max_size=len(chosen) - 1))
    return Chain(tuple(chosen), tuple(between))


def is_read_off(other: Chain, one: Chain) -> bool:
    """By trying all places: each word of the other at a word of the one, with gaps that are sure to fit."""

    def goes_on(at: int, step: int) -> bool:
        if step == len(other.gaps):
            return True
        wanted, gap = other.words[step + 1], other.gaps[step]
        for j in range(at + 1, len(one.words)):
            between = one.gaps[at:j]
            least = j - at - 1 + sum(step.least for step in between)
            mosts = [step.most for step in between]
            fits = gap.most is None or (None not in mosts and j - at - 1 + sum(m or 0 for m in mosts) <= gap.most)
            if one.words[j] == wanted and least >= gap.least and fits and goes_on(j, step + 1):
                return True
        return False

    return any(word == other.words[0] and goes_on(i, 0) for i, word in enumerate(one.words))


@given(long_chains(), long_chains())
def test_a_chain_implies_what_can_be_read_off_along_it(one: Chain, other: Chain) -> None:
    assert one.implies(other) == is_read_off(other, one)
    assert one.implies(one)


@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6), small_words, st.integers(1, 20))
def test_similarity_is_the_cosine_of_word_counts(wanted: list[str], text: list[str], twentieths: int) -> None:
    likeness = Likeness.of(" ".join(wanted), Fraction(twentieths, 20))
    similarity = cosine(wanted, text)
    if abs(similarity - twentieths / 20) > 1e-9:
        assert likeness.admits(text) == (similarity > twentieths / 20)


def test_similarity_is_exact_at_its_threshold() -> None:
    # cos = 3/5 exactly: (3, 4) against (1, 0)
    likeness = Likeness.of("a a a b b b b", Fraction(3, 5))
    assert likeness.admits(["a"])
    assert not Likeness.of("a a a b b b b", Fraction(3, 5) + Fraction(1, 10**30)).admits(["a"])
    assert Counter(dict(likeness.counts)) == Counter(a=3, b=4)
