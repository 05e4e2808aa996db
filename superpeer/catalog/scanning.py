"""How tasks go through triples in columns: hashes in arrays, and what is counted where it stands.

A task looks at its triples in batches, whether it has just parsed them or reads them from Parquet, and never makes an
object for one. It counts what needs no exchange, and leaves the rest in *pieces* (`superpeer.catalog.pieces`): the
triples of each subject, as hashes, and each value once, with how often it occurs. Both are cut by hash into buckets.
A task later brings together what all pieces have for one bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from superpeer.catalog.columns import BLANK, codes_of
from superpeer.catalog.counting import Counts, count_values, merged
from superpeer.catalog.grouping import distinct
from superpeer.catalog.hashing import estimate, hash_runs, hash_texts, mixed, seed_of, sketch
from superpeer.catalog.pieces import Piece, PieceWriter, Runs, Values

BATCH_ROWS = 250_000
BATCH_BYTES = 64 << 20
"""A batch is looked at when it has so many rows or bytes."""
MANY_VALUES = 100_000
"""Where values may be estimated, those of properties with more than this are not told apart."""
ENCODED = ["predicate", "kind", "language", "datatype"]
COLUMNS = ["subject", "object", *ENCODED]


class Tag(NamedTuple):
    """All of a value but its text."""

    kind: str
    language: str
    datatype: str


@dataclass(frozen=True)
class Batch:
    """Some triples. Properties are numbers; so are tags, which `tags` lists."""

    columns: pa.RecordBatch
    properties: Any
    tag_of: Any
    tags: list[Tag]


@dataclass(frozen=True)
class Wanted:
    """What a scan is to find: into how many buckets it cuts, whether resources are looked at, and whether the values of
    properties with many may be estimated. What is taken off is counted as less than nothing in pieces."""

    buckets: int
    resources: bool = True
    estimates: bool = False
    takes_off: bool = False


@dataclass(frozen=True)
class Scanned:
    """What tasks say of their triples. `registers` are those of HyperLogLog, where values may be estimated."""

    rows: int = 0
    counts: dict[str, Counts] = field(default_factory=dict)
    registers: dict[str, Any] = field(default_factory=dict)
    pieces: tuple[Piece, ...] = ()

    def __add__(self, other: Scanned) -> Scanned:
        registers = dict(self.registers)
        for name, more in other.registers.items():
            registers[name] = np.maximum(registers[name], more) if name in registers else more
        return Scanned(self.rows + other.rows, merged(self.counts, other.counts), registers, self.pieces + other.pieces)

    @property
    def many(self) -> dict[str, int]:
        """The properties whose values are estimated, and how many these are."""
        estimates = {name: estimate(some) for name, some in self.registers.items()}
        return {name: number for name, number in estimates.items() if number > MANY_VALUES}


class Scanner:
    """Goes through the triples of one task."""

    def __init__(self, directory: str, name: str, wanted: Wanted) -> None:
        self._wanted = wanted
        self._writer = PieceWriter(directory, name, wanted.buckets, wanted.resources)
        self._numbers: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._seeds: dict[tuple[int, Tag], int] = {}
        self._held: list[tuple[pa.RecordBatch, int, Any]] = []
        self._held_rows = self._held_bytes = 0
        self._rows = 0
        self._counts: dict[int, Counts] = {}
        self._registers: dict[int, Any] = {}

    def see(self, columns: pa.RecordBatch, uri: str, rows: Any) -> None:
        """Takes triples that stand in some rows of a Parquet file."""
        if len(columns):
            file = self._files.setdefault(uri, len(self._files))
            self._held.append((columns, file, rows))
            self._held_rows += len(columns)
            self._held_bytes += columns.nbytes
            if self._held_rows >= BATCH_ROWS or self._held_bytes >= BATCH_BYTES:
                self._flush()

    def close(self) -> Scanned:
        self._flush()
        names = list(self._numbers)
        piece = self._writer.close(names, list(self._files))
        return Scanned(
            self._rows,
            {names[number]: counts for number, counts in self._counts.items()},
            {names[number]: registers for number, registers in self._registers.items()},
            (piece,) if self._rows else (),
        )

    def _flush(self) -> None:
        if not self._held:
            return
        sizes = [len(columns) for columns, _, _ in self._held]
        rows = np.concatenate([rows for _, _, rows in self._held]).astype(np.uint32)
        files = np.repeat(np.array([file for _, file, _ in self._held], np.uint32), sizes)
        columns = joined([one.select(COLUMNS) for one, _, _ in self._held])
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        self._rows += len(rows)
        batch = batch_of(columns, self._numbers)
        a, b = hash_values(batch, list(self._numbers), self._seeds)
        self._add_values(batch, a, b, files, rows)
        if self._wanted.resources:
            self._add_runs(batch, mixed(a) + b, files, rows)

    def _add_values(self, batch: Batch, a: Any, b: Any, files: Any, rows: Any) -> None:
        firsts, often = distinct(a, b)
        self._counts = merged(self._counts, count_values(batch, firsts, often))
        named = batch.properties[firsts]
        blank = np.array([tag.kind == BLANK for tag in batch.tags], bool)[batch.tag_of[firsts]]
        found = Values(
            a[firsts],
            b[firsts],
            named,
            blank.astype(np.uint8),
            -often if self._wanted.takes_off else often,
            files[firsts],
            rows[firsts],
        )
        if self._wanted.estimates:
            self._sketch(named, a[firsts])
            many = [number for number, registers in self._registers.items() if estimate(registers) > MANY_VALUES]
            found = found.where(~np.isin(named, np.array(many, np.uint32)))
        self._writer.add_values(found)

    def _sketch(self, named: Any, hashes: Any) -> None:
        numbers, which = np.unique(named, return_inverse=True)
        for number, registers in zip(numbers.tolist(), sketch(which, hashes, len(numbers)), strict=True):
            known = self._registers.get(number)
            self._registers[number] = registers if known is None else np.maximum(known, registers)

    def _add_runs(self, batch: Batch, triples: Any, files: Any, rows: Any) -> None:
        starts, a, b = hash_runs(batch.columns.column("subject"))
        # What does not stand in the next row begins a run, too: of a run only the first row is kept.
        apart = np.flatnonzero((files[1:] != files[:-1]) | (rows[1:] != rows[:-1] + np.uint32(1))) + 1
        if len(apart):
            splits = np.setdiff1d(apart, starts, assume_unique=True)
            of = np.searchsorted(starts, splits, "right") - 1
            order = np.argsort(np.concatenate([starts, splits]))
            starts = np.concatenate([starts, splits])[order]
            a, b = np.concatenate([a, a[of]])[order], np.concatenate([b, b[of]])[order]
        bounds = np.append(starts, len(rows))
        self._writer.add_runs(Runs(a, b, files[starts], rows[starts], bounds, batch.properties, triples))


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several, with one dictionary for each column that has any."""
    filled = [batch for batch in batches if len(batch)] or batches[:1]
    if len(filled) == 1:
        return filled[0]
    table = pa.Table.from_batches(filled).unify_dictionaries().combine_chunks()
    (found,) = table.to_batches()
    return found


def batch_of(columns: pa.RecordBatch, numbers: dict[str, int]) -> Batch:
    """Triples with their properties as numbers; those that are new get the next ones."""
    predicates = columns.column("predicate")
    # A dictionary may have names of triples that are elsewhere.
    used, which = occurring(codes_of(predicates), len(predicates.dictionary))
    known = [numbers.setdefault(predicates.dictionary[place].as_py(), len(numbers)) for place in used.tolist()]
    parts = [columns.column(name) for name in ("kind", "language", "datatype")]
    code = np.zeros(len(columns), np.int64)
    bound = 1
    for part in parts:
        code = code * max(1, len(part.dictionary)) + codes_of(part)
        bound *= max(1, len(part.dictionary))
    found, tag_of = occurring(code, bound)
    properties = np.array(known, np.uint32)[which]
    return Batch(columns, properties, tag_of, [_tag(one, parts) for one in found.tolist()])


def hash_values(batch: Batch, names: Sequence[str], seeds: dict[tuple[int, Tag], int]) -> tuple[Any, Any]:
    """Hashes of property, tag and text together. `seeds` keeps what stands for the first two."""
    width = len(batch.tags)
    pairs = batch.properties.astype(np.int64) * width + batch.tag_of
    found, which = occurring(pairs, len(names) * width)
    mine = []
    for pair in found.tolist():
        number, tag = pair // width, batch.tags[pair % width]
        if (number, tag) not in seeds:
            seeds[number, tag] = seed_of((names[number], *tag))
        mine.append(seeds[number, tag])
    return hash_texts(batch.columns.column("object"), np.array(mine, np.uint64)[which])


def occurring(numbers: Any, bound: int) -> tuple[Any, Any]:
    """Which numbers below a bound occur, and for each its place among these."""
    if bound > len(numbers):
        found, places = np.unique(numbers, return_inverse=True)
        return found, places
    found = np.flatnonzero(np.bincount(numbers, minlength=1))
    places = np.zeros(bound, np.int64)
    places[found] = np.arange(len(found))
    return found, places[numbers]


def _tag(code: int, parts: list[pa.DictionaryArray]) -> Tag:
    texts = []
    for part in reversed(parts):
        code, at = divmod(code, max(1, len(part.dictionary)))
        texts.append(part.dictionary[at].as_py())
    return Tag(*reversed(texts))
