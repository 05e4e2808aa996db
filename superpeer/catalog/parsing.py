"""What a task does that reads RDF: splits of files become tables in Parquet, and pieces for the survey.

Tables are written under the name of their split: a task that runs again writes the same file again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from superpeer.catalog.columns import BLANK, REJECTED, TRIPLES, file_mark
from superpeer.catalog.inputs import Split, open_uri
from superpeer.catalog.offsets import UNPLACED, Part
from superpeer.catalog.reading import Reading, read_split, rejected_batch
from superpeer.catalog.scanning import BATCH_BYTES, BATCH_ROWS, ENCODED, Scanned, Scanner, Wanted

PLAIN, NESTED, REJECTED_ROWS = "plain", "nested", "rejected"


@dataclass(frozen=True)
class Parsed:
    """How many rows were written to each table, how many lines were undecided, what was scanned of the plain ones, and
    the parts of files that are packed."""

    plain: int = 0
    nested: int = 0
    rejected: int = 0
    undecided: int = 0
    scanned: Scanned = Scanned()  # noqa: RUF009 - it is frozen
    parts: tuple[Part, ...] = ()

    def __add__(self, other: Parsed) -> Parsed:
        return Parsed(
            self.plain + other.plain,
            self.nested + other.nested,
            self.rejected + other.rejected,
            self.undecided + other.undecided,
            self.scanned + other.scanned,
            self.parts + other.parts,
        )


def parse_splits(splits: Iterable[Split], target: str, pieces: str, name: str, wanted: Wanted) -> Parsed:
    """Runs in a task. Tables go to the directory `target`, and the piece, under its name, to `pieces`."""
    pa.set_cpu_count(1)
    scanner = Scanner(pieces, name, wanted)
    parsed = Parsed()
    for split in splits:
        parsed += _parse_split(split, target, scanner)
    return parsed + Parsed(scanned=scanner.close())


def _parse_split(split: Split, target: str, scanner: Scanner) -> Parsed:
    reading = Reading()
    name = f"{file_mark(split.file.uri)}-{split.start_bytes:015d}.parquet"
    plain, nested = _Writer(f"{target}/{PLAIN}", name, TRIPLES), _Writer(f"{target}/{NESTED}", name, TRIPLES)
    with plain, nested:
        for batch in read_split(split, reading):
            is_nested = _is_nested(batch)
            if is_nested is not None:
                nested.write(batch.filter(is_nested))
                batch = batch.filter(pc.invert(is_nested))  # noqa: PLW2901 - the rest of it
            start = plain.rows
            plain.write(batch)
            scanner.see(batch, f"{target}/{PLAIN}/{name}", np.arange(start, plain.rows))
    is_part = split.file.compression is not None and not split.is_whole
    with _Writer(f"{target}/{REJECTED_ROWS}", f"{UNPLACED if is_part else ''}{name}", REJECTED) as rejected:
        if reading.rejected:
            rejected.write(rejected_batch(reading.rejected))
    part = Part(split.file.uri, split.start_bytes, name, reading.size_bytes, rejected.rows > 0)
    return Parsed(plain.rows, nested.rows, rejected.rows, reading.undecided, parts=(part,) if is_part else ())


def _is_nested(batch: pa.RecordBatch) -> pa.Array | None:
    """Which rows have a blank node; None where none has."""
    kinds = batch.column("kind")
    subjects = batch.column("subject_blank")
    some = BLANK in kinds.dictionary.to_pylist()
    blank = pc.or_(subjects, pc.equal(kinds, BLANK)) if some else subjects
    return blank if pc.any(blank).as_py() else None


class _Writer:
    """A Parquet file that comes into being with its first row, and under its name when it is complete."""

    def __init__(self, directory: str, name: str, schema: pa.Schema) -> None:
        self._system, path = open_uri(directory)
        self._path, self._draft = f"{path}/{name}", f"{path}/_{name}.draft"
        self._schema = schema
        self._file: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self.rows = 0

    def __enter__(self) -> _Writer:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            self.rows += len(batch)
            self._held.append(batch)
            self._held_rows += len(batch)
            self._held_bytes += batch.nbytes
            if self._held_rows >= BATCH_ROWS or self._held_bytes >= BATCH_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._file is None:
            # Neither dictionaries of texts nor the least and greatest of them help anybody who reads this.
            encoded = [name for name in ENCODED if name in self._schema.names]
            self._file = pq.ParquetWriter(
                self._draft,
                self._schema,
                filesystem=self._system,
                compression="snappy",
                use_dictionary=encoded,
                write_statistics=False,
            )
        self._file.write_table(pa.Table.from_batches(self._held, self._schema).unify_dictionaries())
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self._held:
            self._flush()
        if self._file is not None:
            self._file.close()
            if kind is None:
                self._system.move(self._draft, self._path)
