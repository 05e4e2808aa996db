"""Segments: disjuncts without a selective test to stand under, swept with bit sets.

Ranges of numbers, and tests that nearly everything meets, cannot be looked up: what fails them has to be crossed out.
A segment numbers its members; each *attribute* (a view of a property, or an interned test) has rows of bits, one bit
for a member. The values that ranges of a view distinguish are cut into buckets, and for each bucket two rows say
which members

    fail     for every value in it: their range ends before it or begins behind it
    doubt    because an end of their range lies within it

A notification is matched by OR-ing, for each attribute, the rows of the bucket of its value: who does not fail and is
not in doubt matches, and only those in doubt are compared. (This is the idea of REIN, with the two ends of ranges in
one row.) The rows of 64 members are one word, so that a million members cost a few megabytes of sequential reading.

New disjuncts wait in the cluster of the test that is always met until there are enough for a segment. Segments of one
size are merged by fours, so a disjunct moves a few times in its life. A member that goes is a bit that is cleared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from superpeer.matching.arrays import Bits, Int32s, Int64s, Segments
from superpeer.matching.clusters import Clusters
from superpeer.matching.numbers import NO_HIGH, NO_LOW
from superpeer.matching.records import NUMBER_MASK, UNION, Record
from superpeer.matching.segment_kernels import copy_records, count_tests, fill, list_tests

LEAST_MEMBERS = 512
MERGED = 4
MAX_LEVEL = 3
BUCKETS = 64


@dataclass
class Segment:
    """Members by bit, their records in one block of the pool, and the attributes with their rows."""

    level: int
    block: int
    block_size: int
    positions: Int64s
    width: int
    tests: Int64s
    buckets: Int32s
    bounds: list[Int64s]
    rows_at: int = 0
    rows_size: int = 0
    attribute_rows: list[int] = field(default_factory=list)
    living: int = 0


class SegmentStore:
    """All segments. Their number in the list, below zero and less one, is the home of their members."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._segments: list[Segment | None] = []
        self._rows: Bits = np.zeros(1 << 10, dtype=np.uint64)
        self._rows_end = 0
        self._arrays: Segments | None = None
        self._first_members: Int64s = np.zeros(0, dtype=np.int64)

    def build(self, positions: Int64s) -> None:
        """Makes a segment of records that stand elsewhere, and merges it with others of its size."""
        self._make(positions, 0)
        level = 0
        while level < MAX_LEVEL:
            same = [i for i, segment in enumerate(self._segments) if segment is not None and segment.level == level]
            if len(same) < MERGED:
                return
            self._merge(same, level + 1)
            level += 1

    def remove(self, number: int) -> Record:
        home = -2 - int(self._clusters.homes[number])
        segment = self._segments[home]
        assert segment is not None
        bit = int(self._clusters.places[number])
        record = self._clusters.read_at(int(segment.positions[bit]))
        self._rows[segment.rows_at + bit // 64] &= ~(np.uint64(1) << np.uint64(bit % 64))
        self._clusters.homes[number] = -1
        segment.living -= 1
        if not segment.living:
            self._drop(home)
        elif 2 * segment.living < len(segment.positions) and segment.level:
            self._merge([home], segment.level - 1)
        return record

    def read(self, number: int) -> Record:
        segment = self._segments[-2 - int(self._clusters.homes[number])]
        assert segment is not None
        return self._clusters.read_at(int(segment.positions[int(self._clusters.places[number])]))

    def first_members(self) -> Int64s:
        """Where the members of each segment begin among all, by its number in the list."""
        self.arrays()
        return self._first_members

    @staticmethod
    def is_home(home: int) -> bool:
        return home < -1

    def arrays(self) -> Segments:
        """What the kernels sweep."""
        if self._arrays is None:
            self._arrays = self._flatten()
        return self._arrays

    def memory_bytes(self) -> int:
        held = sum(segment.positions.nbytes for segment in self._segments if segment is not None)
        return self._rows.nbytes + held + sum(array.nbytes for array in self.arrays() if array is not self._rows)

    def _living(self, home: int) -> Int64s:
        segment = self._segments[home]
        assert segment is not None
        bits = np.unpackbits(
            self._rows[segment.rows_at : segment.rows_at + segment.width].view(np.uint8), bitorder="little"
        )
        living: Int64s = segment.positions[bits[: len(segment.positions)].astype(bool)]
        return living

    def _merge(self, homes: list[int], level: int) -> None:
        positions = np.concatenate([self._living(home) for home in homes])
        self._make(positions, level)
        for home in homes:
            self._drop(home)

    def _drop(self, home: int) -> None:
        segment = self._segments[home]
        assert segment is not None
        self._clusters.pool.free(segment.block, segment.block_size)
        self._segments[home] = None
        self._arrays = None

    def _make(self, positions: Int64s, level: int) -> None:
        pool = self._clusters.pool
        size, tests = map(int, count_tests(pool.words, positions))
        block = pool.allocate(size)
        placed = np.empty(len(positions), dtype=np.int64)
        copy_records(pool.words, positions, block, placed)
        members = np.empty(tests, dtype=np.int32)
        codes, lows, highs = (np.empty(tests, dtype=np.int64) for _ in range(3))
        list_tests(pool.words, placed, members, codes, lows, highs)
        kinds, inverse = np.unique(codes, return_inverse=True)
        bounds = [_bounds(kind, lows[inverse == i], highs[inverse == i]) for i, kind in enumerate(kinds)]
        width = (len(positions) + 63) // 64
        segment = Segment(
            level,
            block,
            size,
            placed,
            width,
            kinds,
            np.array([len(found) + 1 for found in bounds], dtype=np.int32),
            bounds,
            living=len(positions),
        )
        self._lay_out(segment)
        fill(
            self._rows,
            segment.rows_at,
            np.int64(width),
            len(positions),
            members,
            codes,
            lows,
            highs,
            inverse.astype(np.int32),
            np.array(segment.attribute_rows, dtype=np.int64) + segment.rows_at,
            *_flat(bounds),
        )
        home = self._settle(segment)
        numbers = pool.words[placed] & NUMBER_MASK
        self._clusters.homes[numbers] = -2 - home
        self._clusters.places[numbers] = np.arange(len(numbers), dtype=np.int32)
        self._arrays = None

    def _settle(self, segment: Segment) -> int:
        for home, other in enumerate(self._segments):
            if other is None:
                self._segments[home] = segment
                return home
        self._segments.append(segment)
        return len(self._segments) - 1

    def _lay_out(self, segment: Segment) -> None:
        """Finds a place for the rows: who is alive, who is always in doubt, then each attribute's."""
        at = 2 * segment.width
        for test, buckets in zip(segment.tests.tolist(), segment.buckets.tolist(), strict=True):
            segment.attribute_rows.append(at)
            at += segment.width * (1 if test & 1 else 1 + 2 * buckets)
        segment.rows_size = at
        if self._rows_end + at > len(self._rows):
            self._repack(at)
        segment.rows_at = self._rows_end
        self._rows_end += at
        self._rows[segment.rows_at : self._rows_end] = 0

    def _repack(self, more: int) -> None:
        """Moves all rows together, into a larger array if need be."""
        live = [segment for segment in self._segments if segment is not None]
        needed = sum(segment.rows_size for segment in live) + more
        rows: Bits = np.zeros(max(1 << 10, needed + needed // 8), dtype=np.uint64)
        end = 0
        for segment in live:
            rows[end : end + segment.rows_size] = self._rows[segment.rows_at : segment.rows_at + segment.rows_size]
            segment.rows_at = end
            end += segment.rows_size
        self._rows, self._rows_end, self._arrays = rows, end, None

    def _flatten(self) -> Segments:
        live = [segment for segment in self._segments if segment is not None]
        counts = [len(segment.tests) for segment in live]
        members_at = np.cumsum([0, *(64 * segment.width for segment in live)], dtype=np.int64)
        members = np.zeros(int(members_at[-1]), dtype=np.int64)
        self._first_members = np.full(len(self._segments), -1, dtype=np.int64)
        self._first_members[[i for i, segment in enumerate(self._segments) if segment is not None]] = members_at[:-1]
        known_as = np.zeros(len(members), dtype=np.int32)
        pool = self._clusters.pool.words
        for segment, at in zip(live, members_at.tolist(), strict=False):
            members[at : at + len(segment.positions)] = segment.positions
            headers = pool[segment.positions]
            numbers = headers & NUMBER_MASK
            known_as[at : at + len(numbers)] = np.where(headers & UNION, ~numbers, numbers)
        flat_bounds, bounds_at = _flat([found for segment in live for found in segment.bounds])
        rows = [at + segment.rows_at for segment in live for at in segment.attribute_rows]
        widest = max((segment.width for segment in live), default=1)
        return Segments(
            np.array([segment.width for segment in live], dtype=np.int32),
            np.array([segment.rows_at for segment in live], dtype=np.int64),
            members_at,
            np.cumsum([0, *counts], dtype=np.int32),
            members,
            known_as,
            self._rows,
            flat_bounds,
            _joined([segment.tests for segment in live], np.int64),
            _joined([segment.buckets for segment in live], np.int32),
            np.array(rows, dtype=np.int64),
            bounds_at,
            np.zeros(4 * widest, dtype=np.uint64),
        )


def _joined(arrays: list[Int64s] | list[Int32s], kind: type[np.generic]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=kind)


def _flat(bounds: list[Int64s]) -> tuple[Int64s, Int64s]:
    at = np.cumsum([0, *map(len, bounds)], dtype=np.int64)
    return _joined(bounds, np.int64), at


def _bounds(kind: int, lows: Int64s, highs: Int64s) -> Int64s:
    """Where buckets begin: at the starts of ranges, and behind their ends. If these are too many, evenly among them."""
    if kind & 1:
        return np.zeros(0, dtype=np.int64)
    found = np.sort(np.concatenate([lows[lows != NO_LOW], highs[highs != NO_HIGH] + 1]))
    distinct = np.unique(found)
    if len(distinct) >= BUCKETS:
        distinct = np.unique(found[np.linspace(0, len(found) - 1, BUCKETS - 1).astype(np.int64)])
    return distinct
