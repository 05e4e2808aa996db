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
from qel.normal import Disjunct, Slot
from qel.regions import ANY, Region, integers
from qel.topics import NO_TOPICS
from qel.values import Description, Kind, Value
from superpeer.matching.arranging import choose
from superpeer.matching.arrays import Batch, Index, Int32s, Int64s, Output
from superpeer.matching.clusters import NOWHERE, Clusters, Pool, grown
from superpeer.matching.compiling import HAS_COMPILER
from superpeer.matching.descending import Places
from superpeer.matching.implication import implied_row, slots_in
from superpeer.matching.kernels import match_rows
from superpeer.matching.matches import Matches
from superpeer.matching.plain import match_row
from superpeer.matching.reading import Said, batch_of, rows_of
from superpeer.matching.records import MAX_TESTS, NUMBER_MASK, FlatRange, Record, Tests, columns_of
from superpeer.matching.segments import LEAST_MEMBERS, SegmentStore
from superpeer.matching.slots import ALWAYS, Row, SlotIndex

Key = TypeVar("Key", bound=Hashable)

CHUNK = 512
"""How many notifications go to the kernels at once."""

_OFTEN = 0.1
"""A test that is met by more of the notifications than this is no access predicate: sweeping a bit is cheaper."""
_TRUST = 20
"""How many notifications the first guess of how often a test is met is worth."""
_TIDY_EVERY = 1024
_TIDY_MOVES = 1024
_TIDY_LEAST_WORDS = 256
_HALVE_AFTER = 1 << 20
_CLOCK_LIMIT = (1 << 31) - 2
_LEAST_ROOM = 1 << 16
_LISTED = 1 << 10


class Matcher(Generic[Key]):
    """Subscriptions by key, and for each what it asks for and where its matches go.

    With `compiled` false, or where numba is missing, numpy does the work. Disjuncts without a selective test wait until
    there are `segment_members` for a segment."""

    def __init__(self, *, compiled: bool = True, segment_members: int = LEAST_MEMBERS) -> None:
        assert segment_members > 0
        self._segment_members = segment_members
        self._compiled = compiled and HAS_COMPILER
        self._slots = SlotIndex(compiled=self._compiled)
        self._pool = Pool()
        self._clusters = Clusters(self._pool)
        self._segments = SegmentStore(self._clusters)
        self._waiting = 0
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
        self._hits: Int64s = np.zeros(16, dtype=np.int64)
        self._born: Int64s = np.zeros(16, dtype=np.int64)
        self._examined: Int64s = np.zeros(16, dtype=np.int64)
        self._met: Int32s = np.zeros(17, dtype=np.int32)
        self._listed: Int64s = np.zeros(_LISTED, dtype=np.int64)
        self._view_arrays: tuple[Int32s, Int32s, Int32s] = (_zeros(4), _zeros(4), _zeros(4))
        self._destination_arrays: tuple[Int32s, Int32s] = (_zeros(4), _zeros(4))
        self._clock: Int64s = np.zeros(1, dtype=np.int64)
        self._seen = 0
        self._tidied = 0
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
        self._check(key, disjuncts)
        self.add_tests(key, [self.intern(disjunct) for disjunct in disjuncts], destination)
        return self._numbers[key]

    def add_tests(self, key: Key, tests: Sequence[Tests], destination: Hashable = None) -> list[Record]:
        """Adds a subscription by what its alternatives ask for, interned beforehand. Gives their records."""
        records = self._enter(key, tests, destination)
        for record in records:
            self._place(record)
        return records

    def add_many(self, subscriptions: Iterable[tuple[Key, Sequence[Disjunct], Hashable]]) -> None:
        """Adds many at once, each by its key, alternatives and destination, which takes less time for each."""
        records: list[Record] = []
        try:
            for key, disjuncts, destination in subscriptions:
                self._check(key, disjuncts)
                records += self._enter(key, [self.intern(disjunct) for disjunct in disjuncts], destination)
        finally:
            self._place_many(records)

    def add_many_tests(self, subscriptions: Iterable[tuple[Key, Sequence[Tests]]]) -> list[Record]:
        """The same, with what they ask for interned beforehand. Gives the records of all."""
        records = [record for key, tests in subscriptions for record in self._enter(key, tests, None)]
        self._place_many(records)
        return records

    def intern(self, disjunct: Disjunct) -> Tests:
        """What a disjunct asks for, interned: used once more until it is released, or what was added with it is
        removed."""
        slots: list[int] = []
        ranges: list[FlatRange] = []
        for name, region in slots_in(disjunct):
            known = len(self._slots)
            slot = self._slots.intern(name, region)
            if isinstance(slot, FlatRange):
                ranges.append(slot)
                if self._slots.views > len(self._view_arrays[0]):
                    self._reserve_views()
                continue
            if slot in slots:
                self._slots.release(slot)
                continue
            slots.append(slot)
            if slot >= known:
                self._reserve_slots()
            if slot >= known or self._slots.uses(slot) == 1:
                self._hits[slot] = 0
                self._born[slot] = self._seen
                self._examined[slot] = 0
        return Tests(tuple(slots), tuple(ranges))

    def release(self, tests: Tests) -> None:
        """Gives back what was interned."""
        for slot in tests.slots:
            if self._slots.release(slot):
                assert not self._clusters.sizes[2 * slot : 2 * slot + 2].any(), "what stands under a test uses it"
        for test in tests.ranges:
            self._slots.release_range(test.view)

    def _check(self, key: Key, disjuncts: Sequence[Disjunct]) -> None:
        if key in self._numbers:
            raise ValueError(f"there is a subscription {key!r} already; remove it before it is added anew")
        for disjunct in disjuncts:
            if sum(map(len, disjunct.slots.values())) >= MAX_TESTS:
                raise ValueError(f"a subscription with {MAX_TESTS:,} or more slots cannot be indexed")

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
            record = self._take_out(which)
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
            mine = rows_of(said, self._slots, topics)
            rows += mine
            counts.append(len(mine))
            if len(rows) >= CHUNK:
                found += self._matches(rows, counts)
                rows, counts = [], []
        found += self._matches(rows, counts)
        if self._seen - self._tidied >= _TIDY_EVERY:
            self._tidied = self._seen
            self._improve(_TIDY_MOVES)
        return found

    def implied_by(self, disjunct: Disjunct) -> list[Key]:
        """The subscriptions that whatever matches a disjunct is sure to match."""
        row = implied_row(self._slots, disjunct)
        if not self._compiled:
            return list(self._matches([row], [1])[0])
        self._tick(1)
        output = self._room(1)
        _, count = match_rows(self._index(), self._segments.arrays(), batch_of([row]), output, 0, len(self._numbers))
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
                self._index(), self._segments.arrays(), batch, output, row, max(1, len(self._numbers))
            )
            groups = output.groups_at[row : after + 1]
            output.group_starts[groups[-1]] = count
            found.append(output.grouped[:count].copy())
            sizes.append(np.diff(output.group_starts[groups]))
            row = after
        for row in () if self._compiled else range(rows):
            index, segments = self._index(), self._segments.arrays()
            found.append(match_row(self._clusters, self._slots.trie, index, segments, batch, row))
            sizes.append(np.array([len(found[-1])], dtype=np.int64))
        starts = np.concatenate([np.zeros(1, dtype=np.int64), *sizes]).cumsum()
        return np.concatenate([_zeros(0), *found]), starts

    def places(self) -> Places:
        """Where records stand, for kernels that read them."""
        clusters, segments = self._clusters, self._segments
        members, first = segments.arrays().members, segments.first_members()
        return Places(self._pool.words, clusters.starts, clusters.homes, clusters.places, members, first)

    def records(self, key: Key) -> list[Record]:
        """What a subscription asks for."""
        number = self._numbers[key]
        found = []
        for which in (number, *self._further.get(number, ())):
            home = int(self._clusters.homes[which])
            if home != NOWHERE:
                found.append((self._segments if self._segments.is_home(home) else self._clusters).read(which))
        return found

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

    def owners(self, numbers: Sequence[int]) -> list[Key]:
        """The keys of the subscriptions of some records."""
        return list(map(self.key, self._owners[np.array(numbers, dtype=np.int64)].tolist()))

    def alternatives(self, key: Key) -> int:
        """How many records a subscription has."""
        return 1 + len(self._further.get(self._numbers[key], ()))

    def key(self, number: int) -> Key:
        """The key of a subscription that is there."""
        key = self._keys[number]
        assert key is not None, "the number is that of a subscription"
        return key

    def destination(self, number: int) -> Hashable:
        return self._destinations[number]

    def reorganise(self) -> int:
        """Moves every record that stands under a test met too often, by what was counted so far. Gives how many."""
        return self._improve(sys.maxsize)

    def memory_bytes(self) -> int:
        """What the index holds: its arrays with the room they have in reserve, the interned tests with their keys and
        dictionaries, and the table from keys to numbers. Keys and destinations themselves belong to the caller, and
        queries are not kept."""
        arrays = (
            *(self._owners, self._goes_to, self._union_stamps, self._slot_stamps, self._hits, self._born),
            *(self._examined, self._met, *self._view_arrays, *self._destination_arrays),
        )
        tables = sys.getsizeof(self._numbers) + sys.getsizeof(self._keys) + 32 * len(self._numbers)
        unions = sum(sys.getsizeof(further) + 132 for further in self._further.values())
        return (
            sum(array.nbytes for array in arrays)
            + self._clusters.memory_bytes()
            + self._segments.memory_bytes()
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
        self._clusters.reserve(0, number + 1)
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
        self._hits, self._born, self._examined = (
            grown(array, slots) for array in (self._hits, self._born, self._examined)
        )
        self._met = _zeros(len(self._slot_stamps) + 1)
        self._clusters.reserve(len(self._slot_stamps), 0)

    def _rate(self, slot: int) -> float:
        """How often a test is met, as far as is known."""
        if slot == ALWAYS:
            return 1.0
        seen = self._seen - int(self._born[slot])
        return (int(self._hits[slot]) + _TRUST * self._slots.prior(slot)) / (seen + _TRUST)

    def _place(self, record: Record) -> None:
        """Puts a record under the test that is met least often; the others are asked in the order of their chance to
        fail."""
        rates = {slot: self._rate(slot) for slot in record.slots}
        slots = sorted(record.slots, key=rates.__getitem__)
        record = record._replace(slots=tuple(slots))
        if slots and rates[slots[0]] < _OFTEN:
            self._clusters.add(slots[0], record)
            return
        self._clusters.add(ALWAYS, record)
        self._waiting += 1
        if self._waiting >= self._segment_members:
            self._segments.build(self._clusters.living_in(ALWAYS))
            self._clusters.drop(ALWAYS)
            self._waiting = 0

    def _place_many(self, records: list[Record]) -> None:
        slots = len(self._slots)
        seen = self._seen - self._born[:slots]
        used = sorted({slot for record in records for slot in record.slots})
        priors = np.zeros(slots)
        priors[used] = [self._slots.prior(slot) for slot in used]
        rates = (self._hits[:slots] + _TRUST * priors) / (seen + _TRUST)
        columns = columns_of(records)
        homes = np.empty(len(records), dtype=np.int64)
        choose(columns, rates, _OFTEN, homes)
        self._clusters.add_many(columns, homes)
        for i in np.flatnonzero(homes < 0).tolist():
            self._place(records[i])

    def _take_out(self, number: int) -> Record | None:
        home = int(self._clusters.homes[number])
        if self._segments.is_home(home):
            return self._segments.remove(number)
        if home < 0:
            return None
        if home == 2 * ALWAYS:
            self._waiting -= 1
        return self._clusters.remove(number)

    def _improve(self, moves: int) -> int:
        """Moves records out of clusters that cost much: those whose tests are met often, and have many records."""
        slots = len(self._slots)
        rates = self._hits[:slots] / (self._seen - self._born[:slots] + _TRUST)
        sizes = self._clusters.sizes[: 2 * slots : 2]
        costly = (sizes > _TIDY_LEAST_WORDS) & (rates > _OFTEN / 100) & (sizes > 2 * self._examined[:slots])
        costly[ALWAYS] = False
        moved = 0
        order = np.flatnonzero(costly)
        for slot in order[np.argsort(-(rates * sizes)[order])].tolist():
            moved += self._improve_cluster(slot, moves - moved)
            if moved >= moves:
                break
        if self._seen > _HALVE_AFTER:
            self._seen //= 2
            self._tidied //= 2
            self._hits //= 2
            self._born //= 2
        return moved

    def _improve_cluster(self, slot: int, moves: int) -> int:
        rate = self._rate(slot)
        moved = 0
        headers = self._pool.words[self._clusters.living_in(2 * slot)]
        for number in (headers & NUMBER_MASK).tolist():
            record = self._clusters.read(number)
            best = min((self._rate(other) for other in record.slots if other != slot), default=1.0)
            if best < rate / 4 or (rate >= _OFTEN and best >= _OFTEN):
                if moved >= moves:
                    return moved
                self._clusters.remove(number)
                self._place(record)
                moved += 1
        self._examined[slot] = self._clusters.sizes[2 * slot]
        return moved

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
        self._seen += rows

    def _index(self) -> Index:
        return Index(
            self._clock,
            self._slot_stamps,
            self._hits,
            self._met,
            self._listed,
            self._clusters.starts,
            self._clusters.sizes,
            self._pool.words,
            self._owners,
            self._union_stamps,
            *self._view_arrays,
            self._slots.trie.arrays,
            self._slots.words.arrays(),
            self._goes_to,
            *self._destination_arrays,
        )

    def _match_compiled(self, rows: list[Row]) -> list[Matches[Key]]:
        index, segments, batch = self._index(), self._segments.arrays(), batch_of(rows)
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
        index, segments, batch = self._index(), self._segments.arrays(), batch_of(rows)
        return [
            self._grouped(match_row(self._clusters, self._slots.trie, index, segments, batch, row))
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


def warm_up() -> None:
    """Compiles, or loads what was compiled before, so that no notification and no subscription has to wait for it."""
    matcher: Matcher[int] = Matcher(segment_members=1)
    name = "http://example.org/"
    asked: list[dict[str, tuple[Slot, ...]]] = [
        {name: (Slot(Region(Kind.LITERAL, parts=("a",))), Slot(integers(1, 2)))},
        {name: (Slot(Region(Kind.LITERAL, prefix="a", suffix="b")),)},
        {name: (Slot(integers(1, 2)),)},
        {name: (Slot(Region(Kind.LITERAL, parts=("b",))),)},
    ]
    for key, slots in enumerate(asked):
        matcher.add_disjuncts(key, (Disjunct(ANY, slots),))
    description = Description(Value(Kind.URI, name))
    description.values[name] = [Value(Kind.LITERAL, "ab"), Value(Kind.LITERAL, "1"), Value(Kind.LITERAL, "2")]
    assert sorted(matcher.match(description)) == [0, 1, 2, 3]
    matcher.remove(0)


def _zeros(size: int) -> Int32s:
    return np.zeros(size, dtype=np.int32)
