"""Who covers whom among many subscriptions, found for all at once.

What a test implies is found once, however many ask for it. The notification that a disjunct stands for
(`superpeer.matching.implication`) is put together from the fragments of its tests (`superpeer.matching.fragments`), and
matched with tens of thousands of others in one call. What is found is who covers whom; `superpeer.matching.linking`
leaves the nearest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from qel.normal import Disjunct
from superpeer.matching.arrays import Batch, Int32s, Int64s
from superpeer.matching.fragments import put_together
from superpeer.matching.implication import imply, slots_in
from superpeer.matching.linking import common, find_nearest, find_twins, renumber
from superpeer.matching.matcher import Matcher
from superpeer.matching.meeting import Row
from superpeer.matching.reading import batch_of
from superpeer.matching.records import FlatRange, Tests
from superpeer.matching.slots import SlotIndex

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


class Parts(NamedTuple):
    """Subscriptions in parts. Disjunct i is put together from rows of `source`, those that `fragments` has from
    `fragments_at[i]` to `fragments_at[i + 1]`; subscription i has the disjuncts from `disjuncts_at[i]` on."""

    source: Batch
    fragments: Int64s
    fragments_at: Int64s
    disjuncts_at: Int64s


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
        fragments = Fragments(self._matcher.slots)
        rows = [
            fragments.of(disjunct, tests)
            for _, disjuncts, asked in places
            for disjunct, tests in zip(disjuncts, asked, strict=True)
        ]
        flat = np.array([number for row in rows for number in row], dtype=np.int64)
        disjuncts_at = _starts(len(disjuncts) for _, disjuncts, _ in places)
        own = np.array([self._matcher.number(key) for key, _, _ in places], dtype=np.int32)
        above, above_at = find_covering(
            self._matcher, own, Parts(fragments.batch(), flat, _starts(map(len, rows)), disjuncts_at)
        )
        return find_links(above, above_at)


def find_covering(matcher: Matcher[Key], own: Int32s, parts: Parts) -> tuple[Int32s, Int64s]:
    """For each subscription, of which `own` has the number, those that cover it, as slices of one array. The matcher
    has all of them, and no others."""
    disjuncts_at = parts.disjuncts_at
    counts = np.zeros(matcher.numbers, dtype=np.int32)
    found, sizes = [], [np.zeros(1, dtype=np.int64)]
    first = 0
    while first < len(own):
        last = max(first + 1, int(np.searchsorted(disjuncts_at, disjuncts_at[first] + _ROWS, "right")) - 1)
        start, end = disjuncts_at[first], disjuncts_at[last]
        batch = put_together(parts.source, parts.fragments, parts.fragments_at[start : end + 1])
        numbers, rows_at = matcher.numbers_met(batch)
        mine, mine_at = np.empty(len(numbers), dtype=np.int32), np.empty(last - first + 1, dtype=np.int64)
        common(numbers, rows_at, disjuncts_at[first : last + 1] - start, own[first:last], counts, mine, mine_at)
        found.append(mine[: mine_at[-1]].copy())
        sizes.append(np.diff(mine_at))
        first = last
    above = np.concatenate([np.zeros(0, dtype=np.int32), *found])
    by_number = np.full(matcher.numbers, -1, dtype=np.int32)
    by_number[own] = np.arange(len(own), dtype=np.int32)
    renumber(above, by_number)
    return above, np.concatenate(sizes).cumsum()


def find_links(above: Int32s, above_at: Int64s) -> Links:
    """The links, where it is known who covers each. It moves the nearest to the front of those above."""
    places = len(above_at) - 1
    twins = np.empty(places, dtype=np.int32)
    find_twins(above, above_at, twins)
    order = np.argsort(np.diff(above_at), kind="stable")
    nearest, stamps = (np.zeros(places, dtype=np.int32) for _ in range(2))
    find_nearest(above, above_at, order, twins, stamps, nearest)
    return Links(twins, above, above_at[:-1], nearest)


def _starts(sizes: Iterable[int]) -> Int64s:
    return np.cumsum([0, *sizes], dtype=np.int64)
