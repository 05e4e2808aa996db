"""The records of a task, matched with all subscriptions by the matcher that super-peers run.

Triples come as columns, sorted by subject. What a value meets is found once for all subjects of a piece that have it,
and the rows of these are put together in arrays (`superpeer.matching.fragments`): a catalogue says the same of many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qel.topics import NO_TOPICS
from qel.values import Kind, Value
from superpeer.catalog.asking import Asked, Entered, read_table
from superpeer.catalog.columns import BLANK, LITERAL, URI
from superpeer.catalog.scanning import joined
from superpeer.catalog.tasks import prepare
from superpeer.matching.arrays import Batch, Int32s, Int64s
from superpeer.matching.compiling import compiled
from superpeer.matching.fragments import put_together
from superpeer.matching.linking import renumber
from superpeer.matching.meeting import Reader, Row
from superpeer.matching.reading import batch_of
from superpeer.matching.slots import SUBJECT

SAMPLES = 5
PIECE_ROWS = 1 << 16
"""So many triples are looked at together."""
SUBJECTS = 512
"""So many subjects are matched in one call, which may find all subscriptions for each."""
MOST_ROWS = 50_000

_KINDS = {URI: Kind.URI, BLANK: Kind.BLANK, LITERAL: Kind.LITERAL}

MATCHED = pa.schema(
    [
        ("resource", pa.string()),
        ("matches", pa.int64()),
        ("number", pa.int64()),
        ("samples", pa.list_(pa.struct([("mark", pa.int64()), ("resource", pa.string())]))),
    ]
)


def match_batches(batches: Iterator[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    """For every resource that matches something (resource, matches); then for every subscription (number, matches,
    samples). Triples are (mark, subject, predicate, object, kind, language), in the order of marks and subjects."""
    prepare()
    index = _index(path, Path(path).stat().st_mtime_ns)
    found = _Found(len(index))
    for triples, at in _whole_records(batches):
        source, fragments, fragments_at = _fragments(index.reader, triples, at)
        for first in range(0, len(at) - 1, SUBJECTS):
            starts = at[first : first + SUBJECTS + 1]
            rows = put_together(source, fragments, fragments_at[first : first + len(starts)])
            numbers, numbers_at = index.match(rows)
            matches = np.diff(numbers_at)
            subjects = triples.select(["mark", "subject"]).take(pa.array(starts[:-1]))
            found.note(numbers, numbers_at, subjects)
            matching = pa.array(matches > 0)
            columns = [subjects.column("subject"), pa.array(matches), None, None]
            yield _rows(columns, len(matches)).filter(matching)
    yield from found.rows()


class _Index:
    """All subscriptions in the matcher."""

    def __init__(self, path: str) -> None:
        entered = Entered(Asked.of(read_table(path, ["tests"]).column("tests")))
        self._matcher = entered.matcher
        self._by_number = np.full(entered.matcher.numbers, -1, np.int32)
        self._by_number[entered.numbers] = np.arange(len(entered.numbers))
        self.reader = Reader(entered.matcher.slots)

    def __len__(self) -> int:
        return len(self._matcher)

    def match(self, rows: Batch) -> tuple[Int32s, Int64s]:
        """The subscriptions that each row matches, one behind the other, and where those of each begin."""
        numbers, at = self._matcher.numbers_met(rows)
        renumber(numbers, self._by_number)
        return numbers, at


@lru_cache(maxsize=1)
def _index(path: str, written_at: int) -> _Index:
    """One for each Python worker, however many tasks it runs. A worker outlives a job, and the next one may write under
    the same name."""
    del written_at
    return _Index(path)


class _Found:
    """How many resources each subscription matches, and the first of them: these come in the order of their marks."""

    def __init__(self, size: int) -> None:
        self._counts = np.zeros(size, np.int64)
        self._samples = np.zeros((size, SAMPLES), np.int64)
        self._seen = 0
        self._sampled: list[int] = []
        self._subjects: list[pa.RecordBatch] = []

    def note(self, numbers: Int32s, at: Int64s, subjects: pa.RecordBatch) -> None:
        taken = np.zeros(len(subjects), np.bool_)
        count(numbers, at, self._seen, self._counts, self._samples, taken)
        if taken.any():
            self._sampled += (np.flatnonzero(taken) + self._seen).tolist()
            self._subjects.append(subjects.filter(pa.array(taken)))
        self._seen += len(subjects)

    def rows(self) -> Iterator[pa.RecordBatch]:
        matched = np.flatnonzero(self._counts)
        if not len(matched):
            return
        known = pa.Table.from_batches(self._subjects).combine_chunks()
        sampled = np.array(self._sampled)
        for start in range(0, len(matched), MOST_ROWS):
            numbers = matched[start : start + MOST_ROWS]
            sizes = np.minimum(self._counts[numbers], SAMPLES)
            rows = self._samples[numbers][np.arange(SAMPLES) < sizes[:, None]]
            some = known.take(pa.array(np.searchsorted(sampled, rows))).combine_chunks()
            structs = pa.StructArray.from_arrays(
                [some.column(name).combine_chunks() for name in ("mark", "subject")], ["mark", "resource"]
            )
            samples = pa.ListArray.from_arrays(pa.array(np.append(0, sizes.cumsum()), pa.int32()), structs)
            yield _rows([None, pa.array(self._counts[numbers]), pa.array(numbers), samples], len(numbers))


@compiled
def count(numbers: Int32s, at: Int64s, seen: int, counts: Int64s, samples: Any, taken: Any) -> None:
    """Counts the resources of each subscription, and notes the first ones by their place among all."""
    for row in range(len(at) - 1):
        for i in range(at[row], at[row + 1]):
            number = numbers[i]
            if counts[number] < SAMPLES:
                samples[number, counts[number]] = seen + row
                taken[row] = True
            counts[number] += 1


def _rows(columns: list[Any], size: int) -> pa.RecordBatch:
    arrays = [
        pa.nulls(size, field.type) if column is None else column for column, field in zip(columns, MATCHED, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=MATCHED)


def _fragments(reader: Reader, triples: pa.RecordBatch, at: Int64s) -> tuple[Batch, Int64s, Int64s]:
    """A row for each distinct value, which of them each subject has, and where those of each begin."""
    columns = [triples.column(name).dictionary_encode() for name in ("predicate", "kind", "language", "object")]
    code = np.zeros(len(triples), np.int64)
    for column in columns:
        code = code * len(column.dictionary) + column.indices.to_numpy(zero_copy_only=False)
    _, firsts, which = np.unique(code, return_index=True, return_inverse=True)
    distinct = triples.take(pa.array(firsts))
    rows = []
    for name, kind, language, text in zip(
        *(distinct.column(name).to_pylist() for name in ("predicate", "kind", "language", "object")), strict=True
    ):
        value = Value(_KINDS[kind], text, language)
        rows.append(Row())
        reader.read(rows[-1], name, (value,), NO_TOPICS)
    if reader.asks_for(SUBJECT):
        which = np.insert(which, at[:-1], np.arange(len(at) - 1) + len(rows))
        at = at + np.arange(len(at))
        for subject in triples.column("subject").take(pa.array(at[:-1] - np.arange(len(at) - 1))).to_pylist():
            rows.append(Row())
            reader.read(rows[-1], SUBJECT, (Value(Kind.URI, subject),), NO_TOPICS)
    return batch_of(rows), which, at


def _whole_records(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Int64s]]:
    """Triples in larger pieces that do not cut a record, and where each record begins and the last ends."""
    held: list[pa.RecordBatch] = []
    rows, least = 0, PIECE_ROWS
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        if rows < least:
            continue
        piece = joined(held)
        starts = _starts(piece)
        last = int(starts[-1])
        if last:
            yield piece.slice(0, last), starts
        held, rows = [piece.slice(last)], rows - last
        # A record of very many triples is not joined anew with each batch.
        least = max(PIECE_ROWS, 2 * rows)
    if rows:
        piece = joined(held)
        yield piece, np.append(_starts(piece), rows)


def _starts(triples: pa.RecordBatch) -> Int64s:
    subject = triples.column("subject")
    changes = pc.not_equal(subject.slice(1), subject.slice(0, len(subject) - 1)).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.int64)
