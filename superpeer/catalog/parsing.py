"""What a task does that reads RDF: splits of files become tables in Parquet, and pieces for the survey.

Tables are written under the name of their split: a task that runs again writes the same file again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from superpeer.catalog.columns import BLANK, REJECTED, TRIPLES, file_mark
from superpeer.catalog.inputs import Split, open_uri
from superpeer.catalog.reading import Reading, read_split, rejected_batch
from superpeer.catalog.scanning import BATCH_BYTES, BATCH_ROWS, ENCODED, Scanned, Scanner, Wanted, codes_of, joined
from superpeer.catalog.worker import prepare

PLAIN, NESTED, REJECTED_ROWS = "plain", "nested", "rejected"


@dataclass(frozen=True)
class Parsed:
    """How many rows were written to each table, how many lines were undecided, and what was scanned of the plain
    ones."""

    plain: int = 0
    nested: int = 0
    rejected: int = 0
    undecided: int = 0
    scanned: Scanned = Scanned()  # noqa: RUF009 - it is frozen

    def __add__(self, other: Parsed) -> Parsed:
        return Parsed(
            self.plain + other.plain,
            self.nested + other.nested,
            self.rejected + other.rejected,
            self.undecided + other.undecided,
            self.scanned + other.scanned,
        )


def parse_splits(splits: Iterable[Split], target: str, pieces: str, name: str, wanted: Wanted) -> Parsed:
    """Runs in a task. Tables go to the directory `target`, and the piece, under its name, to `pieces`."""
    prepare()
    scanner = Scanner(pieces, name, wanted)
    parsed = Parsed()
    for split in splits:
        parsed += _parse_split(split, target, scanner)
    return parsed + Parsed(scanned=scanner.close())


def _parse_split(split: Split, target: str, scanner: Scanner) -> Parsed:
    reading = Reading()
    name = f"{file_mark(split.file.uri)}-{split.start_bytes:015d}.parquet"
    uri = f"{target}/{PLAIN}/{name}"

    def see(rows: pa.RecordBatch, start: int) -> None:
        scanner.see(rows, uri, np.arange(start, start + len(rows)))

    plain = _Writer(f"{target}/{PLAIN}", name, TRIPLES, see)
    nested = _Writer(f"{target}/{NESTED}", name, TRIPLES)
    with plain, nested:
        for batch in read_split(split, reading):
            is_nested = _is_nested(batch)
            if is_nested.any():
                nested.add(batch.filter(pa.array(is_nested)))
                batch = batch.filter(pa.array(~is_nested))  # noqa: PLW2901 - the rest of it
            plain.add(batch)
    with _Writer(f"{target}/{REJECTED_ROWS}", name, REJECTED) as rejected:
        if reading.rejected:
            rejected.add(rejected_batch(reading.rejected))
    return Parsed(plain.rows, nested.rows, rejected.rows, reading.undecided)


def _is_nested(batch: pa.RecordBatch) -> Any:
    """Which rows have a blank node."""
    kinds = batch.column("kind")
    subjects = batch.column("subject_blank").to_numpy(zero_copy_only=False)
    names = kinds.dictionary.to_pylist()
    return subjects | (codes_of(kinds) == names.index(BLANK)) if BLANK in names else subjects


class _Writer:
    """A Parquet file that comes into being with its first row, and under its name when it is complete. Rows are written
    many at once, and then shown to whoever wants to see them, with the place of the first."""

    def __init__(
        self,
        directory: str,
        name: str,
        schema: pa.Schema,
        see: Callable[[pa.RecordBatch, int], None] = lambda _rows, _start: None,
    ) -> None:
        self._system, path = open_uri(directory)
        self._path, self._draft = f"{path}/{name}", f"{path}/_{name}.draft"
        self._schema, self._see = schema, see
        self._file: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self.rows = 0

    def __enter__(self) -> _Writer:
        return self

    def add(self, batch: pa.RecordBatch) -> None:
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
        rows = joined(self._held)
        self._file.write_batch(rows)
        self._see(rows, self.rows - len(rows))
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self._held:
            self._flush()
        if self._file is not None:
            self._file.close()
            if kind is None:
                self._system.move(self._draft, self._path)
