"""Clusters: the records of the disjuncts that stand under one interned test, one after the other in one array.

A test has two clusters: an odd one for disjuncts that ask for nothing else, which match as soon as the test is met,
and an even one for those that ask for more. Only records whose test is met are ever looked at, and they lie where the
processor expects them. A cluster that is full moves to a place of twice the size; one of which half is dead is
written anew. Both cost a constant time a record.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from superpeer.matching.arranging import count_words, move, write
from superpeer.matching.arrays import Int32s, Int64s
from superpeer.matching.kernels import compact, positions
from superpeer.matching.records import DEAD, Record, Records, read_record, size_of

_LEAST_ROOM = 4
_GROWTH = 1.5
NOWHERE = -1


class Pool:
    """Words for records, handed out in blocks. Freed blocks are handed out again to those who ask for the same size."""

    def __init__(self) -> None:
        self.words: Int64s = np.zeros(1 << 12, dtype=np.int64)
        self._end = 0
        self._free: dict[int, list[int]] = {}

    def allocate(self, size: int) -> int:
        """A block of at least some words, rounded up so that blocks fit again; `free` has to be told the same size."""
        size = _rounded(size)
        free = self._free.get(size)
        return free.pop() if free else self.extend(size)

    def extend(self, size: int) -> int:
        """Words at the end that nobody has had."""
        start = self._end
        self._end += size
        if self._end > len(self.words):
            self.words = grown(self.words, self._end)
        return start

    def free(self, start: int, size: int) -> None:
        self._free.setdefault(_rounded(size), []).append(start)


class Clusters:
    """The clusters of all tests, and where the record of each disjunct stands: in which cluster, and how far in."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.starts: Int64s = np.zeros(32, dtype=np.int64)
        self.sizes: Int64s = np.zeros(32, dtype=np.int64)
        self._rooms: Int64s = np.zeros(32, dtype=np.int64)
        self._dead: Int64s = np.zeros(32, dtype=np.int64)
        self.homes: Int32s = np.full(16, NOWHERE, dtype=np.int32)
        self.places: Int32s = np.zeros(16, dtype=np.int32)
        self._positions: dict[int, Int64s] = {}

    def reserve(self, slots: int, numbers: int) -> None:
        """Makes room for so many tests and disjuncts."""
        if 2 * slots > len(self.starts):
            self.starts, self.sizes, self._rooms, self._dead = (
                grown(array, 2 * slots) for array in (self.starts, self.sizes, self._rooms, self._dead)
            )
        if numbers > len(self.homes):
            self.homes, self.places = grown(self.homes, numbers, NOWHERE), grown(self.places, numbers)

    def add(self, slot: int, record: Record) -> None:
        """Puts a record under one of its tests, or under the one that is always met."""
        words = record.words(slot)
        length = len(words)
        cluster = 2 * slot + (length == 1)
        self._positions.pop(cluster, None)
        size = int(self.sizes[cluster])
        if size + length > self._rooms[cluster]:
            self._move(cluster, size + length)
        start = int(self.starts[cluster]) + size
        self.pool.words[start : start + length] = words
        self.sizes[cluster] = size + length
        self.homes[record.number] = cluster
        self.places[record.number] = size

    def add_many(self, records: Records, homes: Int64s) -> None:
        """Puts records into clusters, all but those that have none. The test of its cluster is the first of each."""
        added = np.zeros(len(self.sizes), dtype=np.int64)
        count_words(records, homes, added)
        touched = np.flatnonzero(added)
        for cluster in touched.tolist() if self._positions else ():
            self._positions.pop(cluster, None)
        needed = self.sizes[touched] + added[touched]
        full = needed > self._rooms[touched]
        self._move_many(touched[full], needed[full])
        write(records, homes, self.pool.words, self.starts, self.sizes, self.homes, self.places)

    def remove(self, number: int) -> Record:
        """Takes a record out of its cluster."""
        cluster = int(self.homes[number])
        record = self.read(number)
        position = self.starts[cluster] + self.places[number]
        self.pool.words[position] |= DEAD
        self.homes[number] = NOWHERE
        self._dead[cluster] += size_of(int(self.pool.words[position]))
        if 2 * self._dead[cluster] > self.sizes[cluster]:
            self._tidy(cluster)
        return record

    def read(self, number: int) -> Record:
        cluster = int(self.homes[number])
        position = int(self.starts[cluster] + self.places[number])
        return self.read_at(position, cluster // 2 or NOWHERE)

    def read_at(self, position: int, left_out: int = NOWHERE) -> Record:
        length = size_of(int(self.pool.words[position]))
        return read_record(self.pool.words[position : position + length].tolist(), left_out)

    def positions_in(self, cluster: int) -> Int64s:
        """Where the records of a cluster stand, dead ones among them; kept until the cluster changes."""
        found = self._positions.get(cluster)
        if found is None:
            found = self._positions[cluster] = positions(self.pool.words, self.starts[cluster], self.sizes[cluster])
        return found

    def living_in(self, cluster: int) -> Int64s:
        """Where the living records of a cluster stand."""
        found = self.positions_in(cluster)
        living: Int64s = found[self.pool.words[found] & DEAD == 0]
        return living

    def drop(self, cluster: int) -> None:
        """Empties a cluster whose records stand elsewhere by now."""
        self._positions.pop(cluster, None)
        if self._rooms[cluster]:
            self.pool.free(int(self.starts[cluster]), int(self._rooms[cluster]))
        for array in (self.starts, self.sizes, self._rooms, self._dead):
            array[cluster] = 0

    def memory_bytes(self) -> int:
        arrays = (self.starts, self.sizes, self._rooms, self._dead, self.homes, self.places, self.pool.words)
        return sum(array.nbytes for array in arrays)

    def _move(self, cluster: int, size: int) -> None:
        self._positions.pop(cluster, None)
        room = _LEAST_ROOM
        while room < size:
            room *= 2
        start = self.pool.allocate(room)
        old, used = int(self.starts[cluster]), int(self.sizes[cluster])
        self.pool.words[start : start + used] = self.pool.words[old : old + used]
        if self._rooms[cluster]:
            self.pool.free(old, int(self._rooms[cluster]))
        self.starts[cluster] = start
        self._rooms[cluster] = room

    def _move_many(self, clusters: Int64s, sizes: Int64s) -> None:
        """The same for many clusters, behind all others."""
        rooms = np.maximum(_LEAST_ROOM, 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64))
        start = self.pool.extend(int(rooms.sum()))
        new_starts = start + np.cumsum(rooms) - rooms
        held = np.flatnonzero(self._rooms[clusters])
        freed = list(zip(self.starts[clusters[held]].tolist(), self._rooms[clusters[held]].tolist(), strict=True))
        move(self.pool.words, clusters, self.starts, self.sizes, new_starts)
        self._rooms[clusters] = rooms
        for old, room in freed:
            self.pool.free(old, room)

    def _tidy(self, cluster: int) -> None:
        self._positions.pop(cluster, None)
        start, size = int(self.starts[cluster]), int(self.sizes[cluster])
        target = np.empty(size, dtype=np.int64)
        left = compact(self.pool.words, start, size, self.places, target)
        if left == 0:
            self.drop(cluster)
            return
        self.pool.words[start : start + left] = target[:left]
        self.sizes[cluster] = left
        self._dead[cluster] = 0


def _rounded(size: int) -> int:
    """Up to the next of eight steps between two powers of two."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


Number = TypeVar("Number", bound=np.generic)


def grown(array: NDArray[Number], size: int, filling: int = 0) -> NDArray[Number]:
    """A longer copy of an array, with room for more than was asked."""
    longer = np.full(max(size, int(len(array) * _GROWTH) + 16), filling, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
