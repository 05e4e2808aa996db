"""Notifications as batches: what triples say of each subject, row by row, in the flat arrays that the kernels take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from qel.topics import Topics
from qel.values import Description, Kind, Value, value_of
from superpeer.matching.arrays import Batch
from superpeer.matching.numbers import Flat
from superpeer.matching.slots import SUBJECT, Row, SlotIndex

Said = Description | Iterable[Any]
"""What is said of one subject as `qel.values.describe` gives it, or triples of either library."""


def rows_of(said: Said, index: SlotIndex, topics: Topics) -> list[Row]:
    """A row for each subject. Properties that nobody asks for are not looked at."""
    if isinstance(said, Description):
        return [_row(said.subject, said.values, index, topics)]
    values: dict[tuple[Kind, str], tuple[Value, dict[str, list[Value]]]] = {}
    known = index.properties
    last, found = None, None
    for triple in said:
        if isinstance(triple, tuple):
            subject, predicate, node = triple[:3]
        else:
            subject, predicate, node = triple.subject, triple.predicate, triple.object
        if found is None or (subject is not last and subject != last):
            value = value_of(subject)
            found = values.setdefault((value.kind, value.text), (value, {}))[1]
            last = subject
        name = str(predicate) if isinstance(predicate, str) else predicate.value
        if name in known:
            node = value_of(node)
            same = found.get(name)
            if same is None:
                found[name] = [node]
            else:
                same.append(node)
    return [_row(subject_value, asked, index, topics) for subject_value, asked in values.values()]


def _row(subject: Value, values: dict[str, list[Value]], index: SlotIndex, topics: Topics) -> Row:
    row = Row()
    index.read(row, SUBJECT, (subject,), topics)
    for name, found in values.items():
        if found:
            index.read(row, name, found, topics)
    return row


def batch_of(rows: Sequence[Row]) -> Batch:
    slots: list[int] = []
    texts: list[bytes] = []
    roots: list[int] = []
    views: list[int] = []
    spans: list[Flat] = []
    words: list[int] = []
    words_at, squares = [0], []
    slots_at, texts_at, spans_at, word_texts_at = [0], [0], [0], [0]
    for row in rows:
        slots += row.slots
        for root, text in row.texts:
            roots.append(root)
            texts.append(text)
        for view, found in row.spans.items():
            views += [view] * len(found)
            spans += found
        for numbers, square in row.words:
            words += numbers
            words_at.append(len(words))
            squares.append(square)
        slots_at.append(len(slots))
        texts_at.append(len(texts))
        spans_at.append(len(spans))
        word_texts_at.append(len(squares))
    ends = np.array(list(accumulate(map(len, texts), initial=0)), dtype=np.int64)
    flat = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Batch(
        np.array(slots, dtype=np.int32),
        np.array(slots_at, dtype=np.int32),
        np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8),
        ends[:-1],
        ends[1:],
        np.array(roots, dtype=np.int32),
        np.array(texts_at, dtype=np.int32),
        np.array(views, dtype=np.int32),
        flat[:, 0].copy(),
        flat[:, 1].copy(),
        np.array(spans_at, dtype=np.int32),
        np.array(words, dtype=np.int32),
        np.array(words_at, dtype=np.int64),
        np.array(squares, dtype=np.int64),
        np.array(word_texts_at, dtype=np.int32),
    )
