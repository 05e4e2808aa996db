"""Who covers whom among many subscriptions, found for all at once.

Thousands of subscriptions ask for the same author or years. What such a test implies is found once and written down as
a fragment; the notification that a disjunct stands for (`superpeer.matching.implication`) is put together from the
fragments of its tests, in arrays, and matched with tens of thousands of others in one call. What is found is who
covers whom; `superpeer.matching.linking` leaves the nearest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from qel.normal import Disjunct
from superpeer.matching.arrays import Batch, Int32s, Int64s
from superpeer.matching.implication import imply, slots_in
from superpeer.matching.linking import common, find_nearest, find_twins, renumber
from superpeer.matching.matcher import Matcher
from superpeer.matching.reading import batch_of
from superpeer.matching.records import FlatRange, Tests
from superpeer.matching.slots import Row, SlotIndex

Key = TypeVar("Key", bound=Hashable)

_ROWS = 1 << 15
"""How many disjuncts are matched in one call."""


class Links(NamedTuple):
    """For each place the first that means the same, and those nearest above it, as slices of one array."""

    twins: Int32s
    nearest: Int32s
    starts: Int64s
    counts: Int32s


class Asking(NamedTuple, Generic[Key]):
    """A subscription of a matcher, by its disjuncts, and with what they ask for in the same order."""

    key: Key
    disjuncts: Sequence[Disjunct]
    tests: Sequence[Tests]


class Fragments:
    """What each distinct test of an index implies, gathered once all tests are interned."""

    def __init__(self, index: SlotIndex) -> None:
        self._index = index
        self._rows: list[Row] = []
        self._numbers: dict[int | FlatRange, int] = {}

    def of(self, disjunct: Disjunct, tests: Tests) -> list[int]:
        """The fragments that a disjunct is put together from."""
        numbers = self._numbers
        asked: tuple[int | FlatRange, ...] = (*tests.slots, *tests.ranges)
        try:
            return [numbers[test] for test in asked]
        except KeyError:
            for name, region in slots_in(disjunct):
                test = self._index.known(name, region)
                assert test is not None, "what a place asks for is interned"
                if test not in numbers:
                    numbers[test] = len(self._rows)
                    row = Row()
                    imply(self._index, row, name, region)
                    self._rows.append(row)
            return [numbers[test] for test in asked]

    def batch(self) -> Batch:
        """One row for each fragment."""
        return batch_of(self._rows)


class Linker(Generic[Key]):
    """Finds the links between the subscriptions of a matcher."""

    def __init__(self, matcher: Matcher[Key]) -> None:
        self._matcher = matcher

    def link(self, places: Sequence[Asking[Key]]) -> Links:
        """The links between all subscriptions. Each has at least one disjunct."""
        above, above_at = self._covering(places)
        twins = np.empty(len(places), dtype=np.int32)
        find_twins(above, above_at, twins)
        order = np.argsort(np.diff(above_at), kind="stable")
        nearest, stamps = (np.zeros(len(places), dtype=np.int32) for _ in range(2))
        find_nearest(above, above_at, order, twins, stamps, nearest)
        return Links(twins, above, above_at[:-1], nearest)

    def _covering(self, places: Sequence[Asking[Key]]) -> tuple[Int32s, Int64s]:
        """For each place those that cover it."""
        fragments = Fragments(self._matcher.slots)
        rows = [
            fragments.of(disjunct, tests)
            for _, disjuncts, asked in places
            for disjunct, tests in zip(disjuncts, asked, strict=True)
        ]
        rows_of_place = _starts(len(disjuncts) for _, disjuncts, _ in places)
        fragments_at = _starts(map(len, rows))
        flat = np.array([number for row in rows for number in row], dtype=np.int64)
        source = fragments.batch()
        own = np.array([self._matcher.number(key) for key, _, _ in places], dtype=np.int32)
        counts = np.zeros(self._matcher.numbers, dtype=np.int32)
        found, sizes = [], [np.zeros(1, dtype=np.int64)]
        first = 0
        while first < len(places):
            last = max(first + 1, int(np.searchsorted(rows_of_place, rows_of_place[first] + _ROWS, "right")) - 1)
            start, end = rows_of_place[first], rows_of_place[last]
            numbers, rows_at = self._matcher.numbers_met(_put_together(source, flat, fragments_at[start : end + 1]))
            mine, mine_at = np.empty(len(numbers), dtype=np.int32), np.empty(last - first + 1, dtype=np.int64)
            common(numbers, rows_at, rows_of_place[first : last + 1] - start, own[first:last], counts, mine, mine_at)
            found.append(mine[: mine_at[-1]].copy())
            sizes.append(np.diff(mine_at))
            first = last
        above = np.concatenate([np.zeros(0, dtype=np.int32), *found])
        by_number = np.full(self._matcher.numbers, -1, dtype=np.int32)
        by_number[own] = np.arange(len(own), dtype=np.int32)
        renumber(above, by_number)
        return above, np.concatenate(sizes).cumsum()


def _put_together(source: Batch, fragments: Int64s, at: Int64s) -> Batch:
    """A batch whose rows are put together from those of another. Spans of one view stand together in a row. Disjuncts
    have no texts that would be taken apart into words."""
    assert not len(source.words)
    slots, slots_at = _slices(source.slots_at, fragments, at)
    texts, texts_at = _slices(source.texts_at, fragments, at)
    spans, spans_at = _slices(source.spans_at, fragments, at)
    row = np.repeat(np.arange(len(at) - 1), np.diff(spans_at))
    spans = spans[np.lexsort((source.span_views[spans], row))]
    return Batch(
        source.slots[slots],
        slots_at.astype(np.int32),
        source.text,
        source.text_starts[texts],
        source.text_ends[texts],
        source.text_roots[texts],
        texts_at.astype(np.int32),
        source.span_views[spans],
        source.span_lows[spans],
        source.span_highs[spans],
        spans_at.astype(np.int32),
        source.words,
        source.words_at,
        source.word_squares,
        np.zeros(len(at), dtype=np.int32),
    )


def _slices(starts: Int32s, fragments: Int64s, at: Int64s) -> tuple[Int64s, Int64s]:
    """Which entries the fragments of each row have, and where those of a row begin."""
    chosen = fragments[at[0] : at[-1]]
    sizes = (starts[chosen + 1] - starts[chosen]).astype(np.int64)
    ends = np.concatenate([np.zeros(1, dtype=np.int64), sizes.cumsum()])
    entries = np.repeat(starts[chosen] - ends[:-1], sizes) + np.arange(ends[-1])
    return entries, ends[at - at[0]]


def _starts(sizes: Iterable[int]) -> Int64s:
    return np.cumsum([0, *sizes], dtype=np.int64)
