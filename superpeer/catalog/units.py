"""How tasks go through tables that stand in Parquet already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from superpeer.catalog.columns import TRIPLES
from superpeer.catalog.inputs import open_uri
from superpeer.catalog.repeats import Repeats
from superpeer.catalog.scanning import BATCH_ROWS, COLUMNS, ENCODED, Scanned, Scanner, Wanted, joined
from superpeer.catalog.tasks import prepare
from superpeer.catalog.writing import TableWriter

UNIT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """Every `parts`-th group of rows of a Parquet file, from that with the number `part` on."""

    uri: str
    part: int
    parts: int


def find_units(uri: str, tables: Sequence[str]) -> list[Unit]:
    """The units of the tables of a catalogue, in one order."""
    return [
        Unit(name, part, -(-size // UNIT_BYTES))
        for table in tables
        for name, size in find_parquet(f"{uri}/{table}")
        for part in range(-(-size // UNIT_BYTES))
    ]


def find_parquet(uri: str) -> list[tuple[str, int]]:
    """The Parquet files of a directory, in order, and their sizes in bytes."""
    system, path = open_uri(uri)
    return sorted(
        (f"{uri}/{info.base_name}", info.size or 1)
        for info in system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        if info.type == fs.FileType.File and info.base_name.endswith(".parquet")
    )


def scan_units(units: Iterable[Unit], pieces: str, name: str, wanted: Wanted) -> Scanned:
    """Runs in a task."""
    prepare()
    scanner = Scanner(pieces, name, wanted)
    for unit in units:
        for start, rows in _read(unit, COLUMNS):
            scanner.see(rows, unit.uri, np.arange(start, start + len(rows)))
    return scanner.close()


def write_once(units: Iterable[Unit], table: str, pieces: str, name: str, wanted: Wanted) -> Scanned:
    """Runs in a task: writes to a directory what did not come before, and scans that."""
    prepare()
    scanner = Scanner(pieces, name, wanted)
    repeats = Repeats(pieces, wanted.buckets)
    with TableWriter(table, f"{name}.parquet", TRIPLES, scanner) as writer:
        for unit in units:
            gone = repeats.of(unit.uri)
            for start, rows in _read(unit, TRIPLES.names):
                low, high = np.searchsorted(gone, [start, start + len(rows)])
                kept = np.ones(len(rows), bool)
                kept[gone[low:high] - start] = False
                writer.add(rows.filter(pa.array(kept)))
    return scanner.close()


def take_off(repeats: Iterable[tuple[str, Any]], pieces: str, name: str, wanted: Wanted) -> Scanned:
    """Runs in a task: goes through triples that came before, so that they can be taken off."""
    prepare()
    scanner = Scanner(pieces, name, wanted)
    for uri, rows in repeats:
        scanner.see(read_rows(uri, rows, COLUMNS), uri, rows)
    return scanner.close()


def read_rows(uri: str, rows: Any, columns: list[str]) -> pa.RecordBatch:
    """Some rows of a Parquet file, in this order."""
    with open_parquet(uri) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        inside = np.searchsorted(starts, rows, "right") - 1
        groups = np.unique(inside)
        held = file.read_row_groups(groups.tolist(), columns)
        before = np.cumsum([0, *(sizes[group] for group in groups[:-1])])
        return joined(held.take(pa.array(rows - starts[inside] + before[np.searchsorted(groups, inside)])).to_batches())


def open_parquet(uri: str) -> Any:
    system, path = open_uri(uri)
    return pq.ParquetFile(path, filesystem=system, read_dictionary=ENCODED, pre_buffer=False)


def _read(unit: Unit, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    with open_parquet(unit.uri) as file:
        metadata = file.metadata
        start = 0
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            if group % unit.parts == unit.part:
                at = start
                for rows in file.iter_batches(BATCH_ROWS, [group], columns):
                    yield at, rows
                    at += len(rows)
            start += size
