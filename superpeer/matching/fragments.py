"""Rows put together from fragments.

Thousands of subscriptions ask for the same author or years, and thousands of notifications have the same. What such a
test implies, or such a value meets, is found once and written down as a row of its own, a *fragment*. The row of a
disjunct, or of all that is said of a subject, is put together from those of its parts, in arrays.
"""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Batch, Int32s, Int64s


def put_together(source: Batch, fragments: Int64s, at: Int64s) -> Batch:
    """A batch whose row i is put together from the rows `fragments[at[i] : at[i + 1]]` of another. Spans of one view
    stand together in a row."""
    slots, slots_at = _slices(source.slots_at, fragments, at)
    texts, texts_at = _slices(source.texts_at, fragments, at)
    spans, spans_at = _slices(source.spans_at, fragments, at)
    row = np.repeat(np.arange(len(at) - 1), np.diff(spans_at))
    spans = spans[np.lexsort((source.span_views[spans], row))]
    word_texts, word_texts_at = _slices(source.word_texts_at, fragments, at)
    words, words_at = _slices(source.words_at, word_texts, np.arange(len(word_texts) + 1))
    return Batch(
        source.slots[slots],
        slots_at.astype(np.int32),
        source.text,
        source.text_starts[texts],
        source.text_ends[texts],
        source.text_roots[texts],
        texts_at.astype(np.int32),
        source.span_views[spans],
        source.span_lows[spans],
        source.span_highs[spans],
        spans_at.astype(np.int32),
        source.words[words],
        words_at,
        source.word_squares[word_texts],
        word_texts_at.astype(np.int32),
    )


def _slices(starts: Int32s | Int64s, fragments: Int64s, at: Int64s) -> tuple[Int64s, Int64s]:
    """Which entries the fragments of each row have, and where those of a row begin."""
    chosen = fragments[at[0] : at[-1]]
    sizes = (starts[chosen + 1] - starts[chosen]).astype(np.int64)
    ends = np.concatenate([np.zeros(1, dtype=np.int64), sizes.cumsum()])
    entries = np.repeat(starts[chosen] - ends[:-1], sizes) + np.arange(ends[-1])
    return entries, ends[at - at[0]]
