"""Many records at once: under which test each stands, and writing them where they belong, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superpeer.matching.arrays import Int32s, Int64s
from superpeer.matching.compiling import compiled
from superpeer.matching.records import RANGES_SHIFT, SLOTS_SHIFT, UNION, WORDS_OF_RANGE, Records


@compiled
def choose(records: Records, rates: NDArray[np.float64], often: float, homes: Int64s) -> None:
    """Sorts the tests of each record by how often they are met, and says in which cluster it belongs, or that all its
    tests are met often with -1."""
    slots = records.slots
    for record in range(len(records.numbers)):
        first, last = records.slots_at[record], records.slots_at[record + 1]
        for i in range(first + 1, last):
            slot = slots[i]
            j = i
            while j > first and rates[slots[j - 1]] > rates[slot]:
                slots[j] = slots[j - 1]
                j -= 1
            slots[j] = slot
        homes[record] = -1
        if last > first and rates[slots[first]] < often:
            alone = last - first == 1 and records.ranges_at[record] == records.ranges_at[record + 1]
            homes[record] = 2 * slots[first] + alone


@compiled
def count_words(records: Records, homes: Int64s, added: Int64s) -> None:
    """How many words come to each cluster."""
    for record in range(len(homes)):
        if homes[record] >= 0:
            slots = records.slots_at[record + 1] - records.slots_at[record]
            ranges = records.ranges_at[record + 1] - records.ranges_at[record]
            added[homes[record]] += slots + WORDS_OF_RANGE * ranges


@compiled
def write(
    records: Records, homes: Int64s, pool: Int64s, starts: Int64s, sizes: Int64s, home_of: Int32s, place_of: Int32s
) -> None:
    """Writes records into clusters that have room for them. The test that a cluster stands for comes first in a record
    and is left out."""
    for record in range(len(homes)):
        home = homes[record]
        if home < 0:
            continue
        first, last = records.slots_at[record] + 1, records.slots_at[record + 1]
        first_range, last_range = records.ranges_at[record], records.ranges_at[record + 1]
        number = records.numbers[record]
        header = number | (last - first) << SLOTS_SHIFT | (last_range - first_range) << RANGES_SHIFT
        if records.in_union[record]:
            header |= UNION
        home_of[number] = home
        place_of[number] = sizes[home]
        at = starts[home] + sizes[home]
        pool[at] = header
        at += 1
        for i in range(first, last):
            pool[at] = records.slots[i]
            at += 1
        for i in range(WORDS_OF_RANGE * first_range, WORDS_OF_RANGE * last_range):
            pool[at] = records.ranges[i]
            at += 1
        sizes[home] = at - starts[home]


@compiled
def move(pool: Int64s, clusters: Int64s, starts: Int64s, sizes: Int64s, new_starts: Int64s) -> None:
    """Copies clusters to where there is more room."""
    for i in range(len(clusters)):
        cluster = clusters[i]
        for j in range(sizes[cluster]):
            pool[new_starts[i] + j] = pool[starts[cluster] + j]
        starts[cluster] = new_starts[i]
