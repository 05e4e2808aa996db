"""Matching the members of segments: crossing out with rows of bits, and verifying those in doubt."""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Batch, Index, Integer, Output, Segments
from superpeer.matching.compiling import compiled, lowest_bit
from superpeer.matching.segment_kernels import bucket_of
from superpeer.matching.verifying import verify

ROWS_AT_ONCE = 4
WORDS_A_RECORD = 128
"""How many words of rows can be read in the time that it takes to verify a record."""


@compiled
def sweep_spans(index: Index, segments: Segments, batch: Batch, attribute: int, width: Integer) -> None:
    """What several spans, or a long one, leave of a segment: a member fails if it fails for each of them, and is
    certain if it is for one."""
    rows = segments.rows
    scratch = segments.scratch
    view = segments.attribute_tests[attribute] >> 1
    base = segments.attribute_rows[attribute] + width
    first = segments.attribute_bounds[attribute]
    last = first + segments.attribute_buckets[attribute] - 1
    failed = 2 * width
    certain = 3 * width
    scratch[failed : failed + width] = ~np.uint64(0)
    scratch[certain : certain + width] = np.uint64(0)
    for i in range(index.view_first[view], index.view_last[view]):
        bucket = bucket_of(segments.bounds, first, last, batch.span_lows[i])
        is_short = bucket == bucket_of(segments.bounds, first, last, batch.span_highs[i])
        at = base + 2 * width * bucket
        for w in range(width):
            scratch[failed + w] &= rows[at + w]
            if is_short:
                scratch[certain + w] |= ~(rows[at + w] | rows[at + width + w])
    for w in range(width):
        scratch[w] |= scratch[failed + w]
        scratch[width + w] |= ~scratch[certain + w]


@compiled
def row_of(index: Index, segments: Segments, batch: Batch, stamp: Integer, attribute: int, width: Integer) -> Integer:
    """The row of those who fail by an attribute: none, -1, where its test is met, and -2 where there are several spans,
    or a long one. Where the row is that of a bucket, the row of those in doubt follows it."""
    test = segments.attribute_tests[attribute]
    base: Integer = segments.attribute_rows[attribute]
    if test & 1:
        return -1 if index.slot_stamps[test >> 1] == stamp else base
    view = test >> 1
    if index.view_stamps[view] != stamp:
        return base
    only = index.view_first[view]
    if index.view_last[view] - only > 1 or batch.span_lows[only] != batch.span_highs[only]:
        return -2
    first = segments.attribute_bounds[attribute]
    last = first + segments.attribute_buckets[attribute] - 1
    return base + width + 2 * width * bucket_of(segments.bounds, first, last, batch.span_lows[only])


@compiled
def cross_out(index: Index, segments: Segments, batch: Batch, stamp: Integer, segment: int, doubts: Integer) -> None:
    """Notes which members of a segment fail, or, where `doubts` is 1, which are in doubt. Rows are read four at a time,
    so that the processor waits for several at once."""
    width = np.int64(segments.widths[segment])
    rows = segments.rows
    scratch = segments.scratch
    to = doubts * width
    chosen = index.listed
    count = 0
    last_attribute = segments.first_attribute[segment + 1]
    for attribute in range(segments.first_attribute[segment], last_attribute):
        at = row_of(index, segments, batch, stamp, attribute, width)
        if at == -2 and doubts == 0:
            sweep_spans(index, segments, batch, attribute, width)
        is_bucket = at > segments.attribute_rows[attribute]
        if at >= 0 and (doubts == 0 or is_bucket):
            chosen[count] = at + to
            count += 1
        if count == ROWS_AT_ONCE:
            one, two, three, four = chosen[0], chosen[1], chosen[2], chosen[3]
            for w in range(width):
                scratch[to + w] |= rows[one + w] | rows[two + w] | rows[three + w] | rows[four + w]
            count = 0
    for i in range(count):
        at = chosen[i]
        for w in range(width):
            scratch[to + w] |= rows[at + w]


@compiled
def are_few(segments: Segments, segment: int, most: Integer) -> bool:
    """Whether at most so many members of a segment are left."""
    count = 0
    for w in range(segments.widths[segment]):
        left = ~segments.scratch[w]
        while left != np.uint64(0):
            left &= left - np.uint64(1)
            count += 1
        if count > most:
            return False
    return True


@compiled
def take_left(
    index: Index, segments: Segments, batch: Batch, output: Output, stamp: Integer, segment: int, count: int
) -> int:
    """Takes the members that are left of a segment; those in doubt are verified."""
    listed, members, known_as, scratch = index.listed, segments.members, segments.member_numbers, segments.scratch
    owners, union_stamps, numbers = index.owners, index.union_stamps, output.numbers
    width = np.int64(segments.widths[segment])
    first = segments.members_at[segment]
    found = 0
    for w in range(width):
        left = ~scratch[w]
        doubted = scratch[width + w]
        while left != np.uint64(0):
            bit = lowest_bit(left)
            left &= left - np.uint64(1)
            member = first + 64 * w + np.int64(bit)
            if (doubted >> np.uint64(bit)) & np.uint64(1):
                listed[found] = members[member]
                found += 1
                if found == len(listed):
                    count = verify(index, batch, output, stamp, found, count)
                    found = 0
                continue
            number = known_as[member]
            if number < 0:
                number = owners[~number]
                if union_stamps[number] == stamp:
                    continue
                union_stamps[number] = stamp
            numbers[count] = number
            count += 1
    return verify(index, batch, output, stamp, found, count)


@compiled
def sweep(
    index: Index, segments: Segments, batch: Batch, output: Output, stamp: Integer, segment: int, count: int
) -> int:
    """The members of one segment: all bits that no attribute lets fail; those in doubt are looked at one by one. Where
    few are left, all are, since that takes less time than reading who is in doubt."""
    width = np.int64(segments.widths[segment])
    alive = segments.rows_at[segment]
    for w in range(width):
        segments.scratch[w] = ~segments.rows[alive + w]
        segments.scratch[width + w] = segments.rows[alive + width + w]
    cross_out(index, segments, batch, stamp, segment, 0)
    attributes = segments.first_attribute[segment + 1] - segments.first_attribute[segment]
    if are_few(segments, segment, attributes * width // WORDS_A_RECORD):
        segments.scratch[width : 2 * width] = ~np.uint64(0)
    else:
        cross_out(index, segments, batch, stamp, segment, 1)
    return take_left(index, segments, batch, output, stamp, segment, count)
