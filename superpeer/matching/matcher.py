"""The matcher: which of a million subscriptions a notification matches.

Every disjunct of a subscription is a record of tests. It stands in the cluster of the test that is met least often
(its *access predicate*, after Fabret et al.), so that it is looked at only when that test is met; a disjunct whose
tests are all met often goes to a segment, where bit sets cross it out together with thousands of others. How often
tests are met is counted as notifications come, and records move when it turns out that they stand badly: now and then
a few, or all at once with `reorganise`.

Answers are those of `qel.matches`, always. Numbers of interned tests stand for tests, not hashes of them.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from qel import Query, Topics
from qel.normal import Disjunct
from qel.regions import Region
from qel.topics import NO_TOPICS
from superpeer.matching.arrays import Batch, Index, Int32s, Int64s, Output
from superpeer.matching.clusters import grown
from superpeer.matching.compiling import HAS_COMPILER
from superpeer.matching.descending import Places
from superpeer.matching.implication import implied_row, slots_in
from superpeer.matching.kernels import match_rows
from superpeer.matching.matches import Matches
from superpeer.matching.meeting import Reader, Row
from superpeer.matching.placing import Placing
from superpeer.matching.plain import match_row
from superpeer.matching.reading import Said, batch_of, rows_of
from superpeer.matching.records import MAX_TESTS, NUMBER_MASK, FlatRange, Record, Tests
from superpeer.matching.segments import LEAST_MEMBERS
from superpeer.matching.slots import SlotIndex

Key = TypeVar("Key", bound=Hashable)

CHUNK = 512
"""How many notifications go to the kernels at once."""

_CLOCK_LIMIT = (1 << 31) - 2
_LEAST_ROOM = 1 << 16
_LISTED = 1 << 10


class Matcher(Generic[Key]):
    """Subscriptions by key, and for each what it asks for and where its matches go.

    With `compiled` false, or where numba is missing, numpy does the work. Disjuncts without a selective test wait until
    there are `segment_members` for a segment."""

    def __init__(self, *, compiled: bool = True, segment_members: int = LEAST_MEMBERS) -> None:
        self._compiled = compiled and HAS_COMPILER
        self._slots = SlotIndex(compiled=self._compiled)
        self._reader = Reader(self._slots)
        self._placing = Placing(self._slots, segment_members)
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key | None] = []
        self._further: dict[int, list[int]] = {}
        self._free: list[int] = []
        self._destinations: list[Hashable] = []
        self._destination_numbers: dict[Hashable, int] = {}
        self._owners: Int32s = np.zeros(16, dtype=np.int32)
        self._goes_to: Int32s = np.zeros(16, dtype=np.int32)
        self._union_stamps: Int32s = np.zeros(16, dtype=np.int32)
        self._slot_stamps: Int32s = np.zeros(16, dtype=np.int32)
        self._met: Int32s = np.zeros(17, dtype=np.int32)
        self._listed: Int64s = np.zeros(_LISTED, dtype=np.int64)
        self._view_arrays: tuple[Int32s, Int32s, Int32s] = (_zeros(4), _zeros(4), _zeros(4))
        self._destination_arrays: tuple[Int32s, Int32s] = (_zeros(4), _zeros(4))
        self._clock: Int64s = np.zeros(1, dtype=np.int64)
        self._output: Output | None = None

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return len(self._numbers)

    def __contains__(self, key: Key) -> bool:
        return key in self._numbers

    def add(self, key: Key, query: Query, destination: Hashable = None) -> int:
        """Adds a subscription, and gives its number."""
        return self.add_disjuncts(key, query.normal_form.disjuncts, destination)

    def add_disjuncts(self, key: Key, disjuncts: Sequence[Disjunct], destination: Hashable = None) -> int:
        """Adds a subscription by its alternatives: for those who have no query at hand."""
        self._check(key)
        self.add_tests(key, self.intern(disjuncts), destination)
        return self._numbers[key]

    def add_tests(self, key: Key, tests: Sequence[Tests], destination: Hashable = None) -> list[Record]:
        """Adds a subscription by what its alternatives ask for, interned beforehand. Gives their records."""
        records = self._enter(key, tests, destination)
        for record in records:
            self._placing.place(record)
        return records

    def add_many(self, subscriptions: Iterable[tuple[Key, Sequence[Disjunct], Hashable]]) -> None:
        """Adds many at once, each by its key, alternatives and destination, which takes less time for each."""
        records: list[Record] = []
        try:
            for key, disjuncts, destination in subscriptions:
                self._check(key)
                records += self._enter(key, self.intern(disjuncts), destination)
        finally:
            self._placing.place_many(records)

    def add_many_tests(self, subscriptions: Iterable[tuple[Key, Sequence[Tests]]]) -> list[Record]:
        """The same, with what they ask for interned beforehand. Gives the records of all."""
        records = [record for key, tests in subscriptions for record in self._enter(key, tests, None)]
        self._placing.place_many(records)
        return records

    def intern(self, disjuncts: Sequence[Disjunct]) -> list[Tests]:
        """What disjuncts ask for, interned: used once more until it is released, or what was added with it is
        removed."""
        for disjunct in disjuncts:
            if sum(map(len, disjunct.slots.values())) >= MAX_TESTS:
                raise ValueError(f"a subscription with {MAX_TESTS:,} or more slots cannot be indexed")
        return [self._intern(disjunct) for disjunct in disjuncts]

    def _check(self, key: Key) -> None:
        if key in self._numbers:
            raise ValueError(f"there is a subscription {key!r} already; remove it before it is added anew")

    def _intern(self, disjunct: Disjunct) -> Tests:
        slots: list[int] = []
        ranges: list[FlatRange] = []
        for name, region in slots_in(disjunct):
            test = self.intern_test(name, region)
            if isinstance(test, FlatRange):
                ranges.append(test)
            elif test in slots:
                self._slots.release(test)
            else:
                slots.append(test)
        return Tests(tuple(slots), tuple(ranges))

    def intern_test(self, name: str, region: Region) -> int | FlatRange:
        """One test, interned: for those who put together what they ask for themselves."""
        known = len(self._slots)
        test = self._slots.intern(name, region)
        if isinstance(test, FlatRange):
            if self._slots.views > len(self._view_arrays[0]):
                self._reserve_views()
            return test
        if test >= known:
            self._reserve_slots()
        if test >= known or self._slots.uses(test) == 1:
            self._placing.begin(test)
        return test

    def release(self, tests: Tests) -> None:
        """Gives back what was interned."""
        for slot in tests.slots:
            if self._slots.release(slot):
                assert not self._placing.clusters.sizes[2 * slot : 2 * slot + 2].any(), (
                    "what stands under a test uses it"
                )
        for test in tests.ranges:
            self._slots.release_range(test.view)

    def _enter(self, key: Key, tests: Sequence[Tests], destination: Hashable) -> list[Record]:
        """Numbers a subscription and its further alternatives."""
        number = self._new_number()
        self._numbers[key] = number
        self._keys[number] = key
        self._goes_to[number] = self._destination_number(destination)
        self._owners[number] = number
        if len(tests) == 1:
            return [Record(number, *tests[0], in_union=False)]
        records = []
        for i, asked in enumerate(tests):
            which = number
            if i:
                which = self._new_number()
                self._further.setdefault(number, []).append(which)
                self._owners[which] = number
            records.append(Record(which, *asked, in_union=True))
        return records

    def remove(self, key: Key) -> None:
        """Takes a subscription away."""
        number = self._numbers.pop(key)
        self._keys[number] = None
        for which in (number, *self._further.pop(number, ())):
            record = self._placing.take_out(which)
            self._free.append(which)
            if record is not None:
                self.release(Tests(record.slots, record.ranges))

    def match(self, said: Said, topics: Topics = NO_TOPICS) -> list[Key]:
        """The keys of the subscriptions that triples (or what is said of one subject) match."""
        return list(self.match_many((said,), topics)[0])

    def match_many(self, batch: Iterable[Said], topics: Topics = NO_TOPICS) -> list[Matches[Key]]:
        """What each of several notifications matches."""
        found: list[Matches[Key]] = []
        rows: list[Row] = []
        counts: list[int] = []
        for said in batch:
            mine = rows_of(said, self._reader, topics)
            rows += mine
            counts.append(len(mine))
            if len(rows) >= CHUNK:
                found += self._matches(rows, counts)
                rows, counts = [], []
        found += self._matches(rows, counts)
        self._placing.tidy()
        return found

    def implied_by(self, disjunct: Disjunct) -> list[Key]:
        """The subscriptions that whatever matches a disjunct is sure to match."""
        row = implied_row(self._slots, disjunct)
        if not self._compiled:
            return list(self._matches([row], [1])[0])
        self._tick(1)
        output = self._room(1)
        _, count = match_rows(
            self._index(), self._placing.segments.arrays(), batch_of([row]), output, 0, len(self._numbers)
        )
        return list(map(self._keys.__getitem__, output.grouped[:count].tolist()))  # type: ignore[arg-type]

    def numbers_met(self, batch: Batch) -> tuple[Int32s, Int64s]:
        """The numbers of the subscriptions that each row of a batch matches, one row behind the other, and where each
        begins."""
        rows = len(batch.slots_at) - 1
        self._tick(rows)
        found: list[Int32s] = []
        sizes: list[Int64s] = []
        row = 0
        while self._compiled and row < rows:
            output = self._room(rows)
            after, count = match_rows(
                self._index(), self._placing.segments.arrays(), batch, output, row, max(1, len(self._numbers))
            )
            groups = output.groups_at[row : after + 1]
            output.group_starts[groups[-1]] = count
            found.append(output.grouped[:count].copy())
            sizes.append(np.diff(output.group_starts[groups]))
            row = after
        for row in () if self._compiled else range(rows):
            index, segments = self._index(), self._placing.segments.arrays()
            found.append(match_row(self._placing.clusters, self._slots.trie, index, segments, batch, row))
            sizes.append(np.array([len(found[-1])], dtype=np.int64))
        starts = np.concatenate([np.zeros(1, dtype=np.int64), *sizes]).cumsum()
        return np.concatenate([_zeros(0), *found]), starts

    def places(self) -> Places:
        """Where records stand, for kernels that read them."""
        return self._placing.places()

    def records(self, key: Key) -> list[Record]:
        """What a subscription asks for."""
        number = self._numbers[key]
        found = map(self._placing.read, (number, *self._further.get(number, ())))
        return [record for record in found if record is not None]

    @property
    def slots(self) -> SlotIndex:
        """The interned tests."""
        return self._slots

    @property
    def numbers(self) -> int:
        """One more than the largest number of a record."""
        return len(self._keys)

    def number(self, key: Key) -> int:
        """The number of a subscription that is there."""
        return self._numbers[key]

    def owners(self, numbers: Int32s) -> list[int]:
        """The subscriptions of some records, by number."""
        found: list[int] = self._owners[numbers].tolist()
        return found

    def alternatives(self, number: int) -> int:
        """How many records a subscription has."""
        further = self._further.get(number)
        return 1 if further is None else 1 + len(further)

    def key(self, number: int) -> Key:
        """The key of a subscription that is there."""
        key = self._keys[number]
        assert key is not None, "the number is that of a subscription"
        return key

    def destination(self, number: int) -> Hashable:
        return self._destinations[number]

    def reorganise(self) -> int:
        """Moves every record that stands under a test met too often, by what was counted so far. Gives how many."""
        return self._placing.improve(sys.maxsize)

    def memory_bytes(self) -> int:
        """What the index holds: its arrays with the room they have in reserve, the interned tests with their keys and
        dictionaries, and the table from keys to numbers. Keys and destinations themselves belong to the caller, and
        queries are not kept."""
        arrays = (
            *(self._owners, self._goes_to, self._union_stamps, self._slot_stamps, self._met),
            *(*self._view_arrays, *self._destination_arrays),
        )
        tables = sys.getsizeof(self._numbers) + sys.getsizeof(self._keys) + 32 * len(self._numbers)
        unions = sum(sys.getsizeof(further) + 132 for further in self._further.values())
        return (
            sum(array.nbytes for array in arrays)
            + self._placing.memory_bytes()
            + self._slots.memory_bytes()
            + tables
            + unions
        )

    def _new_number(self) -> int:
        if self._free:
            return self._free.pop()
        number = len(self._keys)
        assert number < NUMBER_MASK
        self._keys.append(None)
        if number >= len(self._owners):
            self._owners, self._goes_to, self._union_stamps = (
                grown(array, number + 1) for array in (self._owners, self._goes_to, self._union_stamps)
            )
        self._placing.clusters.reserve(0, number + 1)
        return number

    def _destination_number(self, destination: Hashable) -> int:
        number = self._destination_numbers.get(destination)
        if number is None:
            number = self._destination_numbers[destination] = len(self._destinations)
            self._destinations.append(destination)
            if number >= len(self._destination_arrays[0]):
                stamps, places = self._destination_arrays
                self._destination_arrays = grown(stamps, number + 1), grown(places, number + 1)
        return number

    def _reserve_views(self) -> None:
        stamps, first, last = self._view_arrays
        views = self._slots.views
        self._view_arrays = grown(stamps, views), grown(first, views), grown(last, views)

    def _reserve_slots(self) -> None:
        slots = len(self._slots)
        if slots <= len(self._slot_stamps):
            return
        self._slot_stamps = grown(self._slot_stamps, slots)
        self._met = _zeros(len(self._slot_stamps) + 1)
        self._placing.reserve(len(self._slot_stamps))

    def _matches(self, rows: list[Row], counts: list[int]) -> list[Matches[Key]]:
        if not counts:
            return []
        self._tick(len(rows))
        by_row = self._match_compiled(rows) if self._compiled else self._match_plain(rows)
        found = []
        at = 0
        for count in counts:
            found.append(by_row[at] if count == 1 else self._merged(by_row[at : at + count]))
            at += count
        return found

    def _tick(self, rows: int) -> None:
        assert rows < _CLOCK_LIMIT
        if self._clock[0] + rows > _CLOCK_LIMIT:
            self._restart_clock()
        self._placing.note(rows)

    def _index(self) -> Index:
        return Index(
            self._clock,
            self._slot_stamps,
            self._placing.hits,
            self._met,
            self._listed,
            self._placing.clusters.starts,
            self._placing.clusters.sizes,
            self._placing.pool.words,
            self._owners,
            self._union_stamps,
            *self._view_arrays,
            self._slots.trie.arrays,
            self._slots.words.arrays(),
            self._goes_to,
            *self._destination_arrays,
        )

    def _match_compiled(self, rows: list[Row]) -> list[Matches[Key]]:
        index, segments, batch = self._index(), self._placing.segments.arrays(), batch_of(rows)
        found: list[Matches[Key]] = []
        row = 0
        while row < len(rows):
            output = self._room(len(rows))
            after, count = match_rows(index, segments, batch, output, row, max(1, len(self._numbers)))
            groups = output.groups_at[row : after + 1].tolist()
            numbers = output.grouped[:count].copy()
            destinations = output.group_destinations[: groups[-1]].copy()
            starts = output.group_starts[: groups[-1] + 1].copy()
            starts[groups[-1]] = count
            for first, last in pairwise(groups):
                start, end = starts[first], starts[last]
                found.append(Matches(self, numbers[start:end], destinations[first:last], starts[first:last] - start))
            row = after
        return found

    def _room(self, rows: int) -> Output:
        output = self._output
        least = 2 * max(_LEAST_ROOM, len(self._numbers))
        if output is None or len(output.numbers) < least or len(output.groups_at) <= rows:
            # More than is needed now, so that a matcher that grows by one does not come here each time.
            size = least + least // 4
            output = self._output = Output(
                _zeros(size),
                _zeros(size),
                _zeros(size),
                np.zeros(size + 1, dtype=np.int64),
                np.zeros(max(CHUNK, rows) + 1, dtype=np.int64),
            )
        return output

    def _match_plain(self, rows: list[Row]) -> list[Matches[Key]]:
        index, segments, batch = self._index(), self._placing.segments.arrays(), batch_of(rows)
        return [
            self._grouped(match_row(self._placing.clusters, self._slots.trie, index, segments, batch, row))
            for row in range(len(rows))
        ]

    def _grouped(self, numbers: Int32s) -> Matches[Key]:
        goes_to = self._goes_to[numbers]
        order = np.argsort(goes_to, kind="stable")
        destinations, starts = np.unique(goes_to[order], return_index=True)
        return Matches(self, numbers[order], destinations, starts)

    def _merged(self, parts: list[Matches[Key]]) -> Matches[Key]:
        """What any of several subjects matches."""
        numbers = [part.numbers for part in parts]
        return self._grouped(np.unique(np.concatenate(numbers)) if numbers else _zeros(0))

    def _restart_clock(self) -> None:
        for stamps in (self._slot_stamps, self._union_stamps, self._view_arrays[0], self._destination_arrays[0]):
            stamps[:] = 0
        self._clock[0] = 0


def _zeros(size: int) -> Int32s:
    return np.zeros(size, dtype=np.int32)
