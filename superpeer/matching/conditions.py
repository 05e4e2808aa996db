"""What a slot asks for, as the index holds it: a flat range, or a key to be looked up.

A slot is a property and a region. Where the region is one range of one view it becomes a `RangeTest`, which is
compared in flat arrays. All others become a `KeyedTest`: an *interned* test with one or a few keys by which a value
finds it. Where the key says all that the region asks for, the test is *exact*; else the region is asked in the end.
So every test gives the answer of `Region.admits`, and only its cost depends on how it is held.

A key is a kind and a constant. What a value has to have for it to be found:

    EXISTS   nothing                      LITERAL  to be a literal
    URI      this URI                     TOPIC    this URI among itself and what is broader
    TEXT     this lexical form            INTEGER  this integer view
    PART, PREFIX, SUFFIX  these bytes within, at the start, at the end of its lexical form
    WORD     this word                    LANGUAGE this language tag

A similarity is found by some of its words: a text that shares only the others with it cannot be similar enough, because
what they contribute to the cosine is at most their share of the length of the vector (Cauchy and Schwarz).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from qel.regions import ANY, Region, years_of
from qel.text import Chain, Likeness
from qel.values import Kind, View
from superpeer.matching.numbers import Flat, flat_dates, flat_decimals, flat_integers

MAX_KEY_BYTES = 64
"""Of longer constants only the start (or the end, of a suffix) is the key. It bounds what a walk through a text
costs."""


class KeyKind(IntEnum):
    EXISTS = 0
    LITERAL = 1
    URI = 2
    TOPIC = 3
    TEXT = 4
    INTEGER = 5
    PART = 6
    PREFIX = 7
    SUFFIX = 8
    WORD = 9
    LANGUAGE = 10


class Key(NamedTuple):
    kind: KeyKind
    constant: str | int | bytes = 0


class RangeTest(NamedTuple):
    """A range of one view of one property."""

    property: str
    view: View
    limits: Flat


class KeyedTest(NamedTuple):
    """A test that values find by one of its keys; where it is not exact, its region decides."""

    keys: tuple[Key, ...]
    exact: bool


Popularity = Callable[[str], int]
"""How many tests are found by a word already. Who has a choice takes the rarest, so that few texts find it in vain."""


def test_of(property_name: str, region: Region, popularity: Popularity) -> RangeTest | KeyedTest:
    """How the slot of a property is held."""
    if region.kind is None:
        return KeyedTest((Key(KeyKind.EXISTS),), exact=True)
    if region.kind is Kind.URI:
        return _uri_test(region)
    if region.exact is not None:
        return KeyedTest((Key(KeyKind.TEXT, region.exact),), exact=region.language is None)
    asked = _asked(region)
    if len(asked) == 1:
        found = _range_of(region)
        if found is not None:
            return RangeTest(property_name, *found)
    return _literal_test(region, asked, popularity)


test_of.__test__ = False  # type: ignore[attr-defined]  # not a test case, whatever its name suggests to a test runner


def exact_region(key: Key) -> Region:
    """What an exact test asks for, which its key says alone."""
    constant = key.constant
    if isinstance(constant, bytes):
        constant = constant.decode("utf-8", "surrogatepass")
    match key.kind, constant:
        case KeyKind.EXISTS, _:
            return ANY
        case KeyKind.LITERAL, _:
            return Region(Kind.LITERAL)
        case KeyKind.URI, str():
            return Region(Kind.URI, uri=constant)
        case KeyKind.TOPIC, str():
            return Region(Kind.URI, topics=(constant,))
        case KeyKind.TEXT, str():
            return Region(Kind.LITERAL, exact=constant)
        case KeyKind.INTEGER, int():
            return Region(Kind.LITERAL, integer=(constant, constant))
        case KeyKind.PART, str():
            return Region(Kind.LITERAL, parts=(constant,))
        case KeyKind.PREFIX, str():
            return Region(Kind.LITERAL, prefix=constant)
        case KeyKind.SUFFIX, str():
            return Region(Kind.LITERAL, suffix=constant)
        case KeyKind.WORD, str():
            return Region(Kind.LITERAL, chains=(Chain((constant,)),))
        case KeyKind.LANGUAGE, str():
            return Region(Kind.LITERAL, language=constant)
        case _:
            raise AssertionError(f"not a key: {key!r}")


def _uri_test(region: Region) -> KeyedTest:
    if region.uri is not None:
        return KeyedTest((Key(KeyKind.URI, region.uri),), exact=not region.topics)
    return KeyedTest((Key(KeyKind.TOPIC, region.topics[0]),), exact=len(region.topics) == 1)


def _asked(region: Region) -> set[str]:
    """Which components of a literal a region asks something of, without years that its dates imply."""
    names = ("language", "integer", "decimal", "date")
    asked = {name for name in names if getattr(region, name) is not None}
    asked |= {name for name in ("prefix", "suffix", "least", "parts", "chains", "likenesses") if getattr(region, name)}
    if region.date is not None and region.integer == years_of(region.date):
        asked.discard("integer")
    return asked


def _range_of(region: Region) -> tuple[View, Flat] | None:
    """The one range that a region asks for; an equality of integers is looked up, which is faster."""
    view, limits = View.DATE, None
    if region.date is not None:
        limits = flat_dates(region.date)
    elif region.decimal is not None:
        view, limits = View.DECIMAL, flat_decimals(region.decimal)
    elif region.integer is not None and (region.integer[0] is None or region.integer[0] != region.integer[1]):
        view, limits = View.INTEGER, flat_integers(region.integer)
    return None if limits is None else (view, limits)


def _literal_test(region: Region, asked: set[str], popularity: Popularity) -> KeyedTest:
    constants = [
        *((KeyKind.PART, part) for part in region.parts),
        *((kind, text) for kind, text in ((KeyKind.PREFIX, region.prefix), (KeyKind.SUFFIX, region.suffix)) if text),
    ]
    if constants:
        kind, text = max(constants, key=lambda constant: len(constant[1]))
        written = encoded(text)
        short = written[-MAX_KEY_BYTES:] if kind is KeyKind.SUFFIX else written[:MAX_KEY_BYTES]
        alone = len(asked) == 1 and len(constants) == 1
        return KeyedTest((Key(kind, short),), exact=alone and short == written)
    if region.integer is not None and region.integer[0] is not None and region.integer[0] == region.integer[1]:
        return KeyedTest((Key(KeyKind.INTEGER, region.integer[0]),), exact=asked == {"integer"})
    if region.chains:
        words = [word for chain in region.chains for word in chain.words]
        rarest = min(words, key=lambda word: (popularity(word), -len(word)))
        return KeyedTest((Key(KeyKind.WORD, rarest),), exact=asked == {"chains"} and len(words) == 1)
    if region.likenesses:
        return KeyedTest(
            tuple(Key(KeyKind.WORD, word) for word in telling_words(region.likenesses[0], popularity)), exact=False
        )
    if region.language is not None:
        return KeyedTest((Key(KeyKind.LANGUAGE, region.language),), exact=asked == {"language"})
    return KeyedTest((Key(KeyKind.LITERAL),), exact=not asked)


def encoded(text: str) -> bytes:
    """UTF-8, in which one text lies within another iff its bytes do; lone surrogates are kept apart likewise."""
    return text.encode("utf-8", "surrogatepass")


def telling_words(likeness: Likeness, popularity: Popularity) -> Iterator[str]:
    """Words of which every similar text has one: all but the most popular, as long as these do not reach the
    threshold."""
    total = sum(count * count for _, count in likeness.counts)
    left = total
    for word, count in sorted(likeness.counts, key=lambda counted: (popularity(counted[0]), counted)):
        if left < likeness.threshold**2 * total:
            return
        yield word
        left -= count * count
