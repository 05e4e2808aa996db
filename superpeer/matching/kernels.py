"""The loops in which the time goes, compiled: the clusters of the tests that are met, the segments, and grouping."""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Batch, Index, Int32s, Int64s, Integer, Output, Segments
from superpeer.matching.compiling import compiled
from superpeer.matching.records import COUNT_MASK, DEAD, NUMBER_MASK, RANGES_SHIFT, SLOTS_SHIFT, WORDS_OF_RANGE
from superpeer.matching.sweeping import sweep
from superpeer.matching.trie_kernels import meet_texts
from superpeer.matching.verifying import verify
from superpeer.matching.word_kernels import meet_words

ONE_SLOT = 1
ONE_RANGE = 1 << (RANGES_SHIFT - SLOTS_SHIFT)
"""What is above the number in the header of a living record that is in no union and has one test."""
BEFORE_ALL = np.int64(-(2**63))


@compiled
def scan(index: Index, batch: Batch, output: Output, stamp: Integer, met: int, count: int) -> int:
    """The records of the clusters of all tests that are met. Those that ask for nothing else are taken. Those that
    ask for one thing more are written to the output as if they were met, and counted if they are, which leaves the
    processor nothing to guess. All others are listed and verified by the thousand."""
    pool, listed = index.pool, index.listed
    slots, hits, starts, sizes = index.met, index.slot_hits, index.cluster_starts, index.cluster_sizes
    owners, union_stamps, numbers = index.owners, index.union_stamps, output.numbers
    slot_stamps, view_stamps = index.slot_stamps, index.view_stamps
    view_first, view_last = index.view_first, index.view_last
    span_lows, span_highs = batch.span_lows, batch.span_highs
    room = len(listed)
    found = 0
    view, low, high, is_single = np.int64(-1), np.int64(0), np.int64(0), False
    for i in range(met):
        slot = slots[i]
        hits[slot] += 1
        at = starts[2 * slot + 1]
        for header in pool[at : at + sizes[2 * slot + 1]]:
            number = header & NUMBER_MASK
            if header > NUMBER_MASK:
                if header & DEAD:
                    continue
                number = owners[number]
                if union_stamps[number] == stamp:
                    continue
                union_stamps[number] = stamp
            numbers[count] = number
            count += 1
        at = starts[2 * slot]
        end = at + sizes[2 * slot]
        while at < end:
            header = pool[at]
            shape = header >> SLOTS_SHIFT
            if shape == ONE_SLOT:
                numbers[count] = header & NUMBER_MASK
                count += slot_stamps[pool[at + 1]] == stamp
                at += 2
                continue
            if shape == ONE_RANGE:
                if pool[at + 1] != view:
                    view = pool[at + 1]
                    first = view_first[view]
                    is_said = view_stamps[view] == stamp
                    is_single = not is_said or view_last[view] - first == 1
                    low = span_lows[first] if is_said else BEFORE_ALL
                    high = span_highs[first] if is_said else BEFORE_ALL
                if is_single:
                    numbers[count] = header & NUMBER_MASK
                    count += (pool[at + 2] <= low) & (high <= pool[at + 3])
                    at += 1 + WORDS_OF_RANGE
                    continue
            listed[found] = at
            found += 1
            if found == room:
                count = verify(index, batch, output, stamp, found, count)
                found = 0
            at += 1 + (shape & COUNT_MASK) + WORDS_OF_RANGE * (header >> RANGES_SHIFT & COUNT_MASK)
    return verify(index, batch, output, stamp, found, count)


@compiled
def group(index: Index, output: Output, stamp: Integer, first: int, count: int, groups: int) -> int:
    """Sorts the numbers of one row by destination: counts, then places. Gives the number of groups."""
    goes_to, stamps, places = index.destinations, index.destination_stamps, index.destination_places
    numbers, grouped = output.numbers, output.grouped
    found, starts = output.group_destinations, output.group_starts
    first_group = groups
    for i in range(first, count):
        destination = goes_to[numbers[i]]
        if stamps[destination] != stamp:
            stamps[destination] = stamp
            places[destination] = groups - first_group
            found[groups] = destination
            starts[groups] = 0
            groups += 1
        starts[first_group + places[destination]] += 1
    at = np.int64(first)
    for g in range(first_group, groups):
        size = starts[g]
        starts[g] = at
        at += size
    for i in range(first, count):
        number = numbers[i]
        g = first_group + places[goes_to[number]]
        grouped[starts[g]] = number
        starts[g] += 1
    at = np.int64(first)
    for g in range(first_group, groups):
        end = starts[g]
        starts[g] = at
        at = end
    return groups


@compiled
def match_rows(
    index: Index, segments: Segments, batch: Batch, output: Output, first_row: int, most: int
) -> tuple[int, int]:
    """Matches rows until all are done or there may be no room for another `most`. Gives the next row, and how many
    numbers were found."""
    rows = len(batch.slots_at) - 1
    count = 0
    groups = 0
    row = first_row
    output.groups_at[row] = 0
    while row < rows and count + most < len(output.numbers):
        before = count
        index.clock[0] += 1
        stamp = np.int32(index.clock[0])
        met = 1
        index.met[0] = 0
        index.slot_stamps[0] = stamp
        for i in range(batch.slots_at[row], batch.slots_at[row + 1]):
            slot = batch.slots[i]
            if index.slot_stamps[slot] != stamp:
                index.slot_stamps[slot] = stamp
                index.met[met] = slot
                met += 1
        met = meet_texts(index, batch, row, stamp, met)
        met = meet_words(index, batch, row, stamp, met)
        for i in range(batch.spans_at[row], batch.spans_at[row + 1]):
            view = batch.span_views[i]
            if index.view_stamps[view] != stamp:
                index.view_stamps[view] = stamp
                index.view_first[view] = i
            index.view_last[view] = i + 1
        count = scan(index, batch, output, stamp, met, count)
        for segment in range(len(segments.widths)):
            count = sweep(index, segments, batch, output, stamp, segment, count)
        groups = group(index, output, stamp, before, count, groups)
        row += 1
        output.groups_at[row] = groups
    return row, count


@compiled
def compact(pool: Int64s, start: int, size: int, places: Int32s, target: Int64s) -> int:
    """Copies the living records of a cluster to the start of another array, and notes where they stand."""
    at = start
    end = start + size
    to = 0
    while at < end:
        header = pool[at]
        length = 1 + (header >> SLOTS_SHIFT & COUNT_MASK) + WORDS_OF_RANGE * (header >> RANGES_SHIFT & COUNT_MASK)
        if not header & DEAD:
            places[header & NUMBER_MASK] = to
            target[to : to + length] = pool[at : at + length]
            to += length
        at += length
    return to


@compiled
def positions(pool: Int64s, start: int, size: int) -> Int64s:
    """Where the records of a cluster begin."""
    found = np.empty(size, dtype=np.int64)
    count = 0
    at = start
    while at < start + size:
        header = pool[at]
        found[count] = at
        count += 1
        at += 1 + (header >> SLOTS_SHIFT & COUNT_MASK) + WORDS_OF_RANGE * (header >> RANGES_SHIFT & COUNT_MASK)
    return found[:count].copy()
