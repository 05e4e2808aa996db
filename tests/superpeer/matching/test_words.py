"""Word patterns and similarities in compiled code against the regions that define them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qel.normal import Disjunct, Slot
from qel.regions import ANY, Region
from qel.text import Chain, Gap, Likeness
from qel.topics import NO_TOPICS
from qel.values import Description, Kind, Value
from superpeer.matching.matcher import Matcher
from superpeer.matching.word_kernels import MAX_WORDS

TITLE = "http://purl.org/dc/elements/1.1/title"

words = st.sampled_from(["a", "b", "c", "d", "e"])
gaps = st.builds(
    lambda least, more: Gap(least, more if more is None else least + more),
    st.integers(0, 2),
    st.none() | st.integers(0, 3),
)
texts = st.lists(words | st.sampled_from(["x", "y"]), max_size=12).map(" ".join)
thresholds = st.sampled_from(["0.1", "0.5", "0.6", "0.75", "0.9", "1", "0.123456789"]).map(
    lambda text: Fraction(Decimal(text))
)


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    found = draw(st.lists(words, min_size=1, max_size=4))
    return Chain(tuple(found), tuple(draw(gaps) for _ in found[1:]))


@st.composite
def regions(draw: st.DrawFn) -> Region:
    likenesses = st.builds(Likeness.of, st.lists(words, min_size=1, max_size=6).map(" ".join), thresholds)
    asked = draw(st.sampled_from(["chain", "chains", "likeness", "likenesses", "both", "language"]))
    return Region(
        Kind.LITERAL,
        language="en" if asked == "language" else None,
        chains=tuple(draw(st.lists(chains(), min_size=1, max_size=3 if asked == "chains" else 1)))
        if asked not in ("likeness", "likenesses")
        else (),
        likenesses=tuple(draw(st.lists(likenesses, min_size=1, max_size=2 if asked == "likenesses" else 1)))
        if asked in ("likeness", "likenesses", "both")
        else (),
    )


def asking(region: Region) -> tuple[Disjunct, ...]:
    return (Disjunct(ANY, {TITLE: (Slot(region),)}),)


def saying(*texts: str) -> Description:
    description = Description(Value(Kind.URI, "http://example.org/"))
    description.values[TITLE] = [Value(Kind.LITERAL, text, "en") for text in texts]
    return description


def expected(asked: dict[int, Region], description: Description) -> set[int]:
    values = description.values[TITLE]
    return {key for key, region in asked.items() if any(region.admits(value, NO_TOPICS) for value in values)}


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=150, deadline=None)
@given(
    st.lists(regions(), min_size=1, max_size=12),
    st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=4),
    st.sets(st.integers(0, 11)),
)
def test_words_are_those_of_regions(compiled: bool, asked: list[Region], said: list[list[str]], gone: set[int]) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled)
    there = dict(enumerate(asked))
    for key, region in there.items():
        matcher.add_disjuncts(key, asking(region))
    descriptions = [saying(*values) for values in said]
    assert [set(found) for found in matcher.match_many(descriptions)] == [
        expected(there, description) for description in descriptions
    ]
    for key in gone & there.keys():
        matcher.remove(key)
        del there[key]
    assert [set(found) for found in matcher.match_many(descriptions)] == [
        expected(there, description) for description in descriptions
    ]
    for key in there:
        matcher.remove(key)
    assert not matcher.slots.properties


@pytest.mark.parametrize("length", [MAX_WORDS - 1, MAX_WORDS, MAX_WORDS + 1])
def test_texts_of_any_length_are_read(length: int) -> None:
    """Beyond a bound texts are left to regions."""
    matcher: Matcher[str] = Matcher()
    matcher.add_disjuncts("near", asking(Region(Kind.LITERAL, chains=(Chain(("a", "b"), (Gap(0, 3),)),))))
    matcher.add_disjuncts("far", asking(Region(Kind.LITERAL, chains=(Chain(("a", "b"), (Gap(length - 2, None),)),))))
    matcher.add_disjuncts("alike", asking(Region(Kind.LITERAL, likenesses=(Likeness.of("x", Fraction(9, 10)),))))
    matcher.add_disjuncts("word", asking(Region(Kind.LITERAL, chains=(Chain(("b",)),))))
    assert set(matcher.match(saying("a " + "x " * (length - 2) + "b"))) == {"far", "alike", "word"}


def test_numbers_that_do_not_fit_are_left_to_regions() -> None:
    matcher: Matcher[str] = Matcher()
    enormous = 10**30
    matcher.add_disjuncts("gap", asking(Region(Kind.LITERAL, chains=(Chain(("a", "b"), (Gap(0, enormous),)),))))
    matcher.add_disjuncts(
        "threshold", asking(Region(Kind.LITERAL, likenesses=(Likeness.of("a b", 1 - Fraction(1, enormous)),)))
    )
    matcher.add_disjuncts(
        "counts", asking(Region(Kind.LITERAL, likenesses=(Likeness.of("a " * 100_000 + "b", Fraction(9, 10)),)))
    )
    assert set(matcher.match(saying("a b"))) == {"gap", "threshold"}
    assert set(matcher.match(saying("a a a b"))) == {"gap", "counts"}
