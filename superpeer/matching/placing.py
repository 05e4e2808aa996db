"""Where records stand: each under the test that is met least often, as far as is known.

How often tests are met is counted as notifications come. A record none of whose tests is met seldom goes to a segment.
When it turns out that records stand badly, they are moved: now and then a few, or all at once.
"""

from __future__ import annotations

import numpy as np

from superpeer.matching.arranging import choose
from superpeer.matching.arrays import Int64s
from superpeer.matching.clusters import NOWHERE, Clusters, Pool, grown
from superpeer.matching.descending import Places
from superpeer.matching.records import NUMBER_MASK, Record, columns_of
from superpeer.matching.segments import SegmentStore
from superpeer.matching.slots import ALWAYS, SlotIndex

_OFTEN = 0.1
"""A test that is met by more of the notifications than this is no access predicate: sweeping a bit is cheaper."""
_TRUST = 20
"""How many notifications the first guess of how often a test is met is worth."""
_TIDY_EVERY = 1024
_TIDY_MOVES = 1024
_TIDY_LEAST_WORDS = 256
_HALVE_AFTER = 1 << 20


class Placing:
    """The clusters and segments of all records, and how often tests were met. Records without a selective test wait
    until there are `segment_members` for a segment."""

    def __init__(self, slots: SlotIndex, segment_members: int) -> None:
        assert segment_members > 0
        self._slots = slots
        self._segment_members = segment_members
        self.pool = Pool()
        self.clusters = Clusters(self.pool)
        self.segments = SegmentStore(self.clusters)
        self.hits: Int64s = np.zeros(16, dtype=np.int64)
        self._born: Int64s = np.zeros(16, dtype=np.int64)
        self._examined: Int64s = np.zeros(16, dtype=np.int64)
        self._waiting = 0
        self._seen = 0
        self._tidied = 0

    def note(self, rows: int) -> None:
        """Notes that so many notifications are matched, which count what they meet."""
        self._seen += rows

    def reserve(self, slots: int) -> None:
        """Makes room for so many tests."""
        self.hits, self._born, self._examined = (
            grown(array, slots) for array in (self.hits, self._born, self._examined)
        )
        self.clusters.reserve(len(self.hits), 0)

    def begin(self, slot: int) -> None:
        """Begins to count how often a new test is met."""
        self.hits[slot] = 0
        self._born[slot] = self._seen
        self._examined[slot] = 0

    def _rate(self, slot: int) -> float:
        """How often a test is met, as far as is known."""
        if slot == ALWAYS:
            return 1.0
        seen = self._seen - int(self._born[slot])
        return (int(self.hits[slot]) + _TRUST * self._slots.prior(slot)) / (seen + _TRUST)

    def place(self, record: Record) -> None:
        """Puts a record under the test that is met least often; the others are asked in the order of their chance to
        fail."""
        rates = {slot: self._rate(slot) for slot in record.slots}
        slots = sorted(record.slots, key=rates.__getitem__)
        record = record._replace(slots=tuple(slots))
        if slots and rates[slots[0]] < _OFTEN:
            self.clusters.add(slots[0], record)
            return
        self.clusters.add(ALWAYS, record)
        self._waiting += 1
        if self._waiting >= self._segment_members:
            self.segments.build(self.clusters.living_in(ALWAYS))
            self.clusters.drop(ALWAYS)
            self._waiting = 0

    def place_many(self, records: list[Record]) -> None:
        """The same for many at once."""
        slots = len(self._slots)
        seen = self._seen - self._born[:slots]
        used = sorted({slot for record in records for slot in record.slots})
        priors = np.zeros(slots)
        priors[used] = [self._slots.prior(slot) for slot in used]
        rates = (self.hits[:slots] + _TRUST * priors) / (seen + _TRUST)
        columns = columns_of(records)
        homes = np.empty(len(records), dtype=np.int64)
        choose(columns, rates, _OFTEN, homes)
        self.clusters.add_many(columns, homes)
        for i in np.flatnonzero(homes < 0).tolist():
            self.place(records[i])

    def take_out(self, number: int) -> Record | None:
        """Takes a record away, if it stands anywhere."""
        home = int(self.clusters.homes[number])
        if self.segments.is_home(home):
            return self.segments.remove(number)
        if home < 0:
            return None
        if home == 2 * ALWAYS:
            self._waiting -= 1
        return self.clusters.remove(number)

    def read(self, number: int) -> Record | None:
        """What a record asks for, if it stands anywhere."""
        home = int(self.clusters.homes[number])
        if home == NOWHERE:
            return None
        return (self.segments if self.segments.is_home(home) else self.clusters).read(number)

    def places(self) -> Places:
        """Where records stand, for kernels that read them."""
        clusters, segments = self.clusters, self.segments
        members, first = segments.arrays().members, segments.first_members()
        return Places(self.pool.words, clusters.starts, clusters.homes, clusters.places, members, first)

    def tidy(self) -> None:
        """Moves some records, if that has not been done for a while."""
        if self._seen - self._tidied >= _TIDY_EVERY:
            self._tidied = self._seen
            self.improve(_TIDY_MOVES)

    def memory_bytes(self) -> int:
        arrays = (self.hits, self._born, self._examined)
        return sum(array.nbytes for array in arrays) + self.clusters.memory_bytes() + self.segments.memory_bytes()

    def improve(self, moves: int) -> int:
        """Moves records out of clusters that cost much: those whose tests are met often, and have many records."""
        slots = len(self._slots)
        rates = self.hits[:slots] / (self._seen - self._born[:slots] + _TRUST)
        sizes = self.clusters.sizes[: 2 * slots : 2]
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
            self.hits //= 2
            self._born //= 2
        return moved

    def _improve_cluster(self, slot: int, moves: int) -> int:
        rate = self._rate(slot)
        moved = 0
        headers = self.pool.words[self.clusters.living_in(2 * slot)]
        for number in (headers & NUMBER_MASK).tolist():
            record = self.clusters.read(number)
            best = min((self._rate(other) for other in record.slots if other != slot), default=1.0)
            if best < rate / 4 or (rate >= _OFTEN and best >= _OFTEN):
                if moved >= moves:
                    return moved
                self.clusters.remove(number)
                self.place(record)
                moved += 1
        self._examined[slot] = self.clusters.sizes[2 * slot]
        return moved
