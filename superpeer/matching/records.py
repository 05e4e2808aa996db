"""Records: what a disjunct asks for, as words of 64 bits in one large array.

    header     number of the disjunct (31 bits), how many slots (14), how many ranges (14), is it one of a union, is
    it dead slots      one word each: the number of an interned test that has to be met ranges     three words each:
    the number of a view of a property, and both ends

A record is met by a notification iff all its tests are. Where the record stands under one of its own tests, in the
cluster of that test, the record leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SLOTS_SHIFT = 31
RANGES_SHIFT = 45
COUNT_MASK = (1 << 14) - 1
NUMBER_MASK = (1 << 31) - 1
UNION = 1 << 59
DEAD = 1 << 60

MAX_TESTS = COUNT_MASK
WORDS_OF_RANGE = 3


class FlatRange(NamedTuple):
    """A range of the view of a property, both by number."""

    view: int
    low: int
    high: int


class Tests(NamedTuple):
    """What a disjunct asks for: interned tests by number, and ranges."""

    slots: tuple[int, ...]
    ranges: tuple[FlatRange, ...]


class Record(NamedTuple):
    number: int
    slots: tuple[int, ...]
    ranges: tuple[FlatRange, ...]
    in_union: bool

    def words(self, left_out: int = -1) -> list[int]:
        """The words of the record in the cluster of one of its tests."""
        slots = [slot for slot in self.slots if slot != left_out]
        header = self.number | len(slots) << SLOTS_SHIFT | len(self.ranges) << RANGES_SHIFT
        found = [header | (UNION if self.in_union else 0), *slots]
        for test in self.ranges:
            found.extend(test)
        return found


class Records(NamedTuple):
    """Records by column: the tests of each are slices of flat arrays."""

    numbers: NDArray[np.int64]
    in_union: NDArray[np.bool_]
    slots: NDArray[np.int64]
    slots_at: NDArray[np.int64]
    ranges: NDArray[np.int64]
    ranges_at: NDArray[np.int64]


def columns_of(records: Sequence[Record]) -> Records:
    ranges = [word for record in records for test in record.ranges for word in test]
    return Records(
        np.array([record.number for record in records], dtype=np.int64),
        np.array([record.in_union for record in records], dtype=np.bool_),
        np.array([slot for record in records for slot in record.slots], dtype=np.int64),
        np.cumsum([0, *(len(record.slots) for record in records)], dtype=np.int64),
        np.array(ranges, dtype=np.int64),
        np.cumsum([0, *(len(record.ranges) for record in records)], dtype=np.int64),
    )


def size_of(header: int) -> int:
    """How many words the record of a header has."""
    return 1 + (header >> SLOTS_SHIFT & COUNT_MASK) + WORDS_OF_RANGE * (header >> RANGES_SHIFT & COUNT_MASK)


def read_record(words: Sequence[int], left_out: int = -1) -> Record:
    """The record that words hold, with the test that its cluster stands for."""
    header = words[0]
    slots = header >> SLOTS_SHIFT & COUNT_MASK
    ranges = header >> RANGES_SHIFT & COUNT_MASK
    found = tuple(words[1 : 1 + slots])
    first = 1 + slots
    return Record(
        header & NUMBER_MASK,
        found if left_out < 0 else (left_out, *found),
        tuple(FlatRange(*words[i : i + 3]) for i in range(first, first + 3 * ranges, 3)),
        bool(header & UNION),
    )
