"""The kernels' work in numpy, for where nothing can be compiled: the same arrays, the same answers, slower."""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Batch, Bits, Index, Int32s, Int64s, Segments
from superpeer.matching.clusters import Clusters
from superpeer.matching.records import COUNT_MASK, DEAD, NUMBER_MASK, RANGES_SHIFT, SLOTS_SHIFT, UNION
from superpeer.matching.trie import ConstantTrie


def match_row(
    clusters: Clusters, trie: ConstantTrie, index: Index, segments: Segments, batch: Batch, row: int
) -> Int32s:
    """The numbers of the subscriptions that one row matches, in no order."""
    index.clock[0] += 1
    stamp = int(index.clock[0])
    met = np.unique(np.concatenate([[0], batch.slots[batch.slots_at[row] : batch.slots_at[row + 1]]])).astype(np.int64)
    met = np.union1d(met, _met_by_texts(trie, batch, row)).astype(np.int64)
    index.slot_stamps[met] = stamp
    index.slot_hits[met] += 1
    for i in range(int(batch.spans_at[row]), int(batch.spans_at[row + 1])):
        view = int(batch.span_views[i])
        if index.view_stamps[view] != stamp:
            index.view_stamps[view] = stamp
            index.view_first[view] = i
        index.view_last[view] = i + 1
    both = np.concatenate([2 * met, 2 * met + 1])
    scanned = [clusters.positions_in(cluster) for cluster in both[index.cluster_sizes[both] > 0].tolist()]
    found = _holding(index, batch, stamp, np.concatenate(scanned)) if scanned else np.zeros(0, dtype=np.int64)
    swept = [_sweep(index, segments, batch, stamp, segment) for segment in range(len(segments.widths))]
    headers = index.pool[np.concatenate([found, *swept])]
    numbers = headers & NUMBER_MASK
    in_union = headers & UNION != 0
    if in_union.any():
        numbers[in_union] = index.owners[numbers[in_union]]
        numbers = np.unique(numbers)
    found_numbers: Int32s = numbers.astype(np.int32)
    return found_numbers


def _met_by_texts(trie: ConstantTrie, batch: Batch, row: int) -> list[int]:
    found: set[int] = set()
    for i in range(int(batch.texts_at[row]), int(batch.texts_at[row + 1])):
        text = batch.text[batch.text_starts[i] : batch.text_ends[i]].tobytes()
        found |= trie.find(int(batch.text_roots[i]), text)
    return [slot for slot in (int(trie.arrays.slots[pattern]) for pattern in found) if slot >= 0]


def _holding(index: Index, batch: Batch, stamp: int, positions: Int64s) -> Int64s:
    """Of the records at some positions those all of whose tests are met."""
    pool = index.pool
    headers = pool[positions]
    alive = headers & DEAD == 0
    positions, headers = positions[alive], headers[alive]
    i = 0
    while True:
        counts = headers >> SLOTS_SHIFT & COUNT_MASK
        asking = counts > i
        if not asking.any():
            break
        holding = ~asking
        holding[asking] = index.slot_stamps[pool[positions[asking] + 1 + i]] == stamp
        positions, headers = positions[holding], headers[holding]
        i += 1
    i = 0
    while True:
        asking = (headers >> RANGES_SHIFT & COUNT_MASK) > i
        if not asking.any():
            return positions
        at = positions[asking] + 1 + (headers[asking] >> SLOTS_SHIFT & COUNT_MASK) + 3 * i
        holding = ~asking
        holding[asking] = _in_ranges(index, batch, stamp, pool[at], pool[at + 1], pool[at + 2])
        positions, headers = positions[holding], headers[holding]
        i += 1


def _in_ranges(
    index: Index, batch: Batch, stamp: int, views: Int64s, lows: Int64s, highs: Int64s
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    present = index.view_stamps[views] == stamp
    first, last = index.view_first[views], index.view_last[views]
    within = np.zeros(len(views), dtype=np.bool_)
    i = 0
    while True:
        spans = first + i
        asked = present & (spans < last)
        if not asked.any():
            return within
        spans = np.where(asked, spans, 0)
        within |= asked & (lows <= batch.span_lows[spans]) & (batch.span_highs[spans] <= highs)
        i += 1


def _sweep(index: Index, segments: Segments, batch: Batch, stamp: int, segment: int) -> Int64s:
    width = int(segments.widths[segment])
    rows = segments.rows
    alive = int(segments.rows_at[segment])
    failed = ~rows[alive : alive + width]
    doubted = rows[alive + width : alive + 2 * width].copy()
    for attribute in range(int(segments.first_attribute[segment]), int(segments.first_attribute[segment + 1])):
        test = int(segments.attribute_tests[attribute])
        base = int(segments.attribute_rows[attribute])
        stamps = index.slot_stamps if test & 1 else index.view_stamps
        if stamps[test >> 1] != stamp:
            failed |= rows[base : base + width]
        elif not test & 1:
            _sweep_spans(index, segments, batch, attribute, failed, doubted)
    at = int(segments.members_at[segment])
    left = np.flatnonzero(np.unpackbits((~failed).view(np.uint8), bitorder="little"))
    in_doubt = np.unpackbits(doubted.view(np.uint8), bitorder="little")[left].astype(bool)
    positions = segments.members[at + left]
    return np.concatenate([positions[~in_doubt], _holding(index, batch, stamp, positions[in_doubt])])


def _sweep_spans(index: Index, segments: Segments, batch: Batch, attribute: int, failed: Bits, doubted: Bits) -> None:
    width = len(failed)
    view = int(segments.attribute_tests[attribute]) >> 1
    first = int(segments.attribute_bounds[attribute])
    bounds = segments.bounds[first : first + int(segments.attribute_buckets[attribute]) - 1]
    base = int(segments.attribute_rows[attribute]) + width
    fails = np.full(width, ~np.uint64(0), dtype=np.uint64)
    certain = np.zeros(width, dtype=np.uint64)
    for i in range(int(index.view_first[view]), int(index.view_last[view])):
        low, high = np.searchsorted(bounds, [batch.span_lows[i], batch.span_highs[i]], side="right").tolist()
        at = base + 2 * width * low
        fails &= segments.rows[at : at + width]
        if low == high:
            certain |= ~(segments.rows[at : at + width] | segments.rows[at + width : at + 2 * width])
    failed |= fails
    doubted |= ~certain
