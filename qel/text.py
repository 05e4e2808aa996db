"""Words, word patterns with proximity, and similarity: the text operators of the AWPS model.

A *word* is a run of letters and digits, compared without case (Unicode case folding, after canonical
composition, so that an accent is part of its letter however it was encoded).

A *chain* is a sequence of words with an interval [m, n] between neighbours: it occurs in a text when its words
stand there in this order with at least m and at most n words between each two. A single word is a chain.

*Similarity* is the cosine of the angle between the vectors of term frequencies of two texts: the counts of
their words, without weights and without stop words. It is compared exactly, in integers: with counts a and b
and a threshold s, a·b >= s |a||b| iff (a·b)² >= s² (a·a)(b·b). A text without words is similar to nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> tuple[str, ...]:
    if text.isascii():
        return tuple(_WORD.findall(text.lower()))
    return tuple(word.casefold() for word in _WORD.findall(unicodedata.normalize("NFC", text)))


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """How many words may lie between two words of a chain; no `most` means any number."""

    least: int
    most: int | None

    def __str__(self) -> str:
        return f"before[{self.least},{'*' if self.most is None else self.most}]"


@dataclass(frozen=True, slots=True)
class Chain:
    """Words in order, `gaps[i]` between `words[i]` and `words[i + 1]`."""

    words: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    vocabulary: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        assert len(self.words) == len(self.gaps) + 1
        object.__setattr__(self, "vocabulary", frozenset(self.words))

    def __str__(self) -> str:
        steps = "".join(f' {gap} "{word}"' for word, gap in zip(self.words[1:], self.gaps, strict=True))
        return f'"{self.words[0]}"{steps}'

    def folded(self) -> Chain:
        return Chain(tuple(words_of(word)[0] for word in self.words), self.gaps)

    def occurs_in(self, words: Sequence[str]) -> bool:
        """Whether the (folded) chain occurs: the positions of each word reachable from those before it."""
        reached = [i for i, word in enumerate(words) if word == self.words[0]]
        for wanted, gap in zip(self.words[1:], self.gaps, strict=True):
            if not reached:
                return False
            reached = _reachable(words, wanted, gap, reached)
        return bool(reached)

    def implies(self, other: Chain) -> bool:
        """Whether every text with this chain has the other one: the other, read off along this one."""
        if not other.vocabulary <= self.vocabulary:
            return False
        if not other.gaps:
            return True
        reached = [i for i, word in enumerate(self.words) if word == other.words[0]]
        places = _places(self.gaps)
        for wanted, gap in zip(other.words[1:], other.gaps, strict=True):
            reached = self._reached(wanted, gap, reached, places)
            if not reached:
                return False
        return True

    def _reached(self, wanted: str, gap: Gap, before: list[int], places: list[_Place]) -> list[int]:
        """Where the word stands with one of those before it at a distance that is sure to fit the gap. The first that
        is not too far only moves on, as the next places lie further on."""
        found: list[int] = []
        start = 0
        for j, word in enumerate(self.words):
            if word != wanted:
                continue
            here = places[j]
            while start < len(before) and before[start] < j and here.may_be_too_far_from(places[before[start]], gap):
                start += 1
            if start < len(before) and before[start] < j and here.least - places[before[start]].least - 1 >= gap.least:
                found.append(j)
        return found


class _Place(NamedTuple):
    """How far behind the first word of a chain one of its words stands: at least, at most, and after how many gaps that
    have no end."""

    least: int
    most: int
    endless: int

    def may_be_too_far_from(self, other: _Place, gap: Gap) -> bool:
        return gap.most is not None and (self.endless > other.endless or self.most - other.most - 1 > gap.most)


def _places(gaps: Sequence[Gap]) -> list[_Place]:
    places = [_Place(0, 0, 0)]
    for gap in gaps:
        last = places[-1]
        most = last.most + 1 + (gap.most or 0)
        places.append(_Place(last.least + 1 + gap.least, most, last.endless + (gap.most is None)))
    return places


@dataclass(frozen=True, slots=True)
class Likeness:
    """A text to be similar to, and the least similarity. Only the direction of its vector matters, so the
    counts of its words are divided by what they have in common, and sorted."""

    counts: tuple[tuple[str, int], ...]
    threshold: Fraction

    @classmethod
    def of(cls, text: str, threshold: Fraction) -> Likeness:
        counts = Counter(words_of(text))
        divisor = gcd(*counts.values())
        return cls(tuple(sorted((word, count // divisor) for word, count in counts.items())), threshold)

    def admits(self, words: Sequence[str]) -> bool:
        counts = Counter(words)
        product = sum(count * counts[word] for word, count in self.counts)
        if product == 0:
            return False
        squares = sum(count * count for _, count in self.counts) * sum(n * n for n in counts.values())
        return product * product >= self.threshold**2 * squares

    def implies(self, other: Likeness) -> bool:
        """The same direction and no lower a threshold; other directions are not compared."""
        return self.counts == other.counts and self.threshold >= other.threshold


def _reachable(words: Sequence[str], wanted: str, gap: Gap, reached: list[int]) -> list[int]:
    """Positions of `wanted` with a position of `reached` before them at a distance that the gap allows."""
    found = []
    start = 0
    for position, word in enumerate(words):
        if word != wanted:
            continue
        lowest = 0 if gap.most is None else position - gap.most - 1
        while start < len(reached) and reached[start] < lowest:
            start += 1
        if start < len(reached) and reached[start] <= position - gap.least - 1:
            found.append(position)
    return found
