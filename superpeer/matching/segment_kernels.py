"""How segments are filled: the loops over all tests of all members, compiled."""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Bits, Int32s, Int64s, Integer
from superpeer.matching.compiling import compiled
from superpeer.matching.numbers import NO_HIGH, NO_LOW
from superpeer.matching.records import COUNT_MASK, RANGES_SHIFT, SLOTS_SHIFT, WORDS_OF_RANGE


@compiled
def bucket_of(bounds: Int64s, first: int, last: int, value: int) -> int:
    """How many of some sorted bounds are not above a value."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - first


@compiled
def count_tests(pool: Int64s, positions: Int64s) -> tuple[int, int]:
    """How many words records have, and how many tests."""
    words, tests = 0, 0
    for position in positions:
        header = pool[position]
        slots = header >> SLOTS_SHIFT & COUNT_MASK
        ranges = header >> RANGES_SHIFT & COUNT_MASK
        words += 1 + slots + WORDS_OF_RANGE * ranges
        tests += slots + ranges
    return words, tests


@compiled
def copy_records(pool: Int64s, positions: Int64s, target: int, placed: Int64s) -> None:
    """Copies records one behind the other, and notes where they stand."""
    at = target
    for i in range(len(positions)):
        position = positions[i]
        header = pool[position]
        slots = header >> SLOTS_SHIFT & COUNT_MASK
        ranges = header >> RANGES_SHIFT & COUNT_MASK
        length = 1 + slots + WORDS_OF_RANGE * ranges
        placed[i] = at
        for j in range(length):
            pool[at + j] = pool[position + j]
        at += length


@compiled
def list_tests(pool: Int64s, positions: Int64s, members: Int32s, codes: Int64s, lows: Int64s, highs: Int64s) -> None:
    """All tests of records: who asks, what (a view's number doubled, or an interned test's, plus one), and the ends."""
    count = 0
    for i in range(len(positions)):
        position = positions[i]
        header = pool[position]
        slots = header >> SLOTS_SHIFT & COUNT_MASK
        ranges = header >> RANGES_SHIFT & COUNT_MASK
        at = position + 1
        for _ in range(slots):
            members[count] = i
            codes[count] = 2 * pool[at] + 1
            lows[count] = 0
            highs[count] = 0
            at += 1
            count += 1
        for _ in range(ranges):
            members[count] = i
            codes[count] = 2 * pool[at]
            lows[count] = pool[at + 1]
            highs[count] = pool[at + 2]
            at += WORDS_OF_RANGE
            count += 1


@compiled
def fill(
    rows: Bits,
    base: int,
    width: Integer,
    count: int,
    members: Int32s,
    codes: Int64s,
    lows: Int64s,
    highs: Int64s,
    attributes: Int32s,
    attribute_rows: Int64s,
    bounds: Int64s,
    bounds_at: Int64s,
) -> None:
    """Sets the bits of members: alive, failing where a test is not met or a bucket lies outside a range, in doubt."""
    one = np.uint64(1)
    for i in range(count):
        rows[base + i // 64] |= one << np.uint64(i % 64)
    for i in range(len(members)):
        word = members[i] // 64
        bit = one << np.uint64(members[i] % 64)
        attribute = attributes[i]
        at = attribute_rows[attribute] + word
        if codes[i] & 1:
            rows[at] |= bit
            continue
        if rows[at] & bit:
            # A second range on the same view: rows hold one, so that the member is compared whenever it is left.
            rows[base + width + word] |= bit
            continue
        rows[at] |= bit
        at += width
        first, last = bounds_at[attribute], bounds_at[attribute + 1]
        low = bucket_of(bounds, first, last, lows[i])
        high = bucket_of(bounds, first, last, highs[i])
        for bucket in range(low):
            rows[at + 2 * width * bucket] |= bit
        for bucket in range(high + 1, last - first + 1):
            rows[at + 2 * width * bucket] |= bit
        if lows[i] != NO_LOW and not (low > 0 and bounds[first + low - 1] == lows[i]):
            rows[at + 2 * width * low + width] |= bit
        if highs[i] != NO_HIGH and not (first + high < last and bounds[first + high] == highs[i] + 1):
            rows[at + 2 * width * high + width] |= bit
