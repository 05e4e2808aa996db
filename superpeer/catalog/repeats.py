"""Triples that came before: in which row of which Parquet file each stands.

A task that looks at resources leaves a file of Arrow's beside the pieces, sorted by file. Whoever goes through a
table looks there which of its rows count no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from superpeer.catalog.columns import DICTIONARY
from superpeer.catalog.pieces import ArrowFile, batches

_ROWS = pa.schema([("file", DICTIONARY), ("row", pa.uint32())])


def write_repeats(directory: str, bucket: int, files: Sequence[str], file: Any, row: Any) -> None:
    """Notes rows of files, which are numbers of `files`."""
    order = np.lexsort((row, file))
    names = pa.DictionaryArray.from_arrays(pa.array(file[order].astype(np.int32)), pa.array(files, pa.string()))
    target = ArrowFile(_uri(directory, bucket), _ROWS)
    target.write(pa.RecordBatch.from_arrays([names, pa.array(row[order].astype(np.uint32))], schema=_ROWS))
    target.close()


class Repeats:
    """What all tasks noted."""

    def __init__(self, directory: str, buckets: int) -> None:
        self._found: list[tuple[dict[str, int], Any, Any]] = []
        for bucket in range(buckets):
            for batch in batches(_uri(directory, bucket)):
                names = {name: number for number, name in enumerate(batch.column("file").dictionary.to_pylist())}
                self._found.append((names, np.asarray(batch.column("file").indices), np.asarray(batch.column("row"))))

    def of(self, uri: str) -> Any:
        """The rows of a file, in their order."""
        rows = [np.zeros(0, np.uint32)]
        for names, file, row in self._found:
            if uri in names:
                low, high = np.searchsorted(file, [names[uri], names[uri] + 1])
                rows.append(row[low:high])
        return np.sort(np.concatenate(rows)).astype(np.int64)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """All files that have any, with their rows."""
        for uri in sorted({name for names, _, _ in self._found for name in names}):
            if len(rows := self.of(uri)):
                yield uri, rows


def _uri(directory: str, bucket: int) -> str:
    return f"{directory}/repeats-{bucket:05d}.arrow"
