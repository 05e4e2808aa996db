"""Whether the tests of records are met: the innermost loop."""

from __future__ import annotations

from superpeer.matching.arrays import Batch, Index, Integer, Output
from superpeer.matching.compiling import compiled
from superpeer.matching.records import (
    COUNT_MASK,
    DEAD,
    NUMBER_MASK,
    RANGES_SHIFT,
    SLOTS_SHIFT,
    UNION,
    WORDS_OF_RANGE,
)


@compiled
def verify(index: Index, batch: Batch, output: Output, stamp: Integer, listed: int, count: int) -> int:
    """Takes the subscriptions of the listed records all of whose tests are met, each once.

    All is written out in one loop over plain variables: passing arrays to a function for each record would count
    references to them, which takes longer than the comparisons."""
    pool, positions = index.pool, index.listed
    slot_stamps, view_stamps = index.slot_stamps, index.view_stamps
    view_first, view_last = index.view_first, index.view_last
    span_lows, span_highs = batch.span_lows, batch.span_highs
    owners, union_stamps, numbers = index.owners, index.union_stamps, output.numbers
    for record in range(listed):
        at = positions[record]
        header = pool[at]
        is_met = header & DEAD == 0
        at += 1
        if is_met:
            for _ in range(header >> SLOTS_SHIFT & COUNT_MASK):
                if slot_stamps[pool[at]] != stamp:
                    is_met = False
                    break
                at += 1
        if is_met:
            for _ in range(header >> RANGES_SHIFT & COUNT_MASK):
                view = pool[at]
                is_met = False
                if view_stamps[view] == stamp:
                    for i in range(view_first[view], view_last[view]):
                        if pool[at + 1] <= span_lows[i] and span_highs[i] <= pool[at + 2]:
                            is_met = True
                            break
                if not is_met:
                    break
                at += WORDS_OF_RANGE
        if not is_met:
            continue
        number = header & NUMBER_MASK
        if header & UNION:
            number = owners[number]
            if union_stamps[number] == stamp:
                continue
            union_stamps[number] = stamp
        numbers[count] = number
        count += 1
    return count
