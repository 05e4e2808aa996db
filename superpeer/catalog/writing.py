"""A Parquet file of a table, as a task writes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from superpeer.catalog.inputs import open_uri
from superpeer.catalog.scanning import BATCH_BYTES, BATCH_ROWS, ENCODED, Scanner, joined


class TableWriter:
    """A Parquet file that comes into being with its first row, and under its name when it is complete. Rows are written
    many at once; a scanner, if there is one, goes through them then."""

    def __init__(self, directory: str, name: str, schema: pa.Schema, scanner: Scanner | None = None) -> None:
        self._system, path = open_uri(directory)
        self._path, self._draft = f"{path}/{name}", f"{path}/_{name}.draft"
        self._uri = f"{directory}/{name}"
        self._schema, self._scanner = schema, scanner
        self._file: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self.rows = 0

    def __enter__(self) -> TableWriter:
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
        if self._scanner is not None:
            self._scanner.see(rows, self._uri, np.arange(self.rows - len(rows), self.rows))
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self._held:
            self._flush()
        if self._file is not None:
            self._file.close()
            if kind is None:
                self._system.move(self._draft, self._path)
