"""The flat arrays that the kernels work on.

`Index` is what the matcher holds, `Batch` what notifications say, `Output` what was found. A batch has rows, one for
each subject of a notification; rows know the interned tests that Python found to be met, the texts in which constants
are still to be looked for, and the spans of numbers and dates. Stamps avoid clearing: a test is met if its stamp is
the row's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bits = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Integer = int | np.integer[Any]
"""A number within a kernel, of whichever width."""


class Trie(NamedTuple):
    """Nodes of a trie over bytes. The edge from a node over a byte is found by hashing both."""

    edges: Int64s
    targets: Int32s
    patterns: Int32s
    slots: Int32s


class Words(NamedTuple):
    """The lists of `superpeer.matching.words`, and what the kernel notes of one text."""

    clock: Int64s
    starts: Int64s
    sizes: Int64s
    pool: Int64s
    test_slots: Int32s
    test_at: Int64s
    least: Int64s
    scale: Int64s
    word_stamps: Int64s
    word_counts: Int32s
    word_first: Int32s
    test_stamps: Int64s
    products: Int64s
    touched: Int32s
    following: Int32s
    reached: Int32s


class Index(NamedTuple):
    """What the matcher holds, as the kernels see it."""

    clock: Int64s
    slot_stamps: Int32s
    slot_hits: Int64s
    met: Int32s
    listed: Int64s
    cluster_starts: Int64s
    cluster_sizes: Int64s
    pool: Int64s
    owners: Int32s
    union_stamps: Int32s
    view_stamps: Int32s
    view_first: Int32s
    view_last: Int32s
    trie: Trie
    words: Words
    destinations: Int32s
    destination_stamps: Int32s
    destination_places: Int32s


class Segments(NamedTuple):
    """The bit sets of `superpeer.matching.segments`. Members know their record and their number, or, if they are one
    of a union, the complement of it."""

    widths: Int32s
    rows_at: Int64s
    members_at: Int64s
    first_attribute: Int32s
    members: Int64s
    member_numbers: Int32s
    rows: Bits
    bounds: Int64s
    attribute_tests: Int64s
    attribute_buckets: Int32s
    attribute_rows: Int64s
    attribute_bounds: Int64s
    scratch: Bits


class Batch(NamedTuple):
    """What notifications say: for each row its met tests, texts to walk, spans and texts as words, as slices of flat
    arrays."""

    slots: Int32s
    slots_at: Int32s
    text: Bytes
    text_starts: Int64s
    text_ends: Int64s
    text_roots: Int32s
    texts_at: Int32s
    span_views: Int32s
    span_lows: Int64s
    span_highs: Int64s
    spans_at: Int32s
    words: Int32s
    words_at: Int64s
    word_squares: Int64s
    word_texts_at: Int32s


class Output(NamedTuple):
    """What was found: the numbers of subscriptions, row by row, within a row by destination."""

    numbers: Int32s
    grouped: Int32s
    group_destinations: Int32s
    group_starts: Int64s
    groups_at: Int64s
