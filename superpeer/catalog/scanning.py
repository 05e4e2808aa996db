"""How tasks go through a catalogue: Parquet read by Arrow, hashes in arrays, and an exchange of whole arrays.

A *unit* is a part of one Parquet file. A task reads its units in batches, turns each into an array of a few numbers
for each triple, cuts the array by hash into *buckets*, and Spark brings the pieces of one bucket together. So neither
side makes an object for a triple, and a bucket is small enough to be sorted in memory by one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from superpeer.catalog.columns import BLANK
from superpeer.catalog.hashing import seeds_of
from superpeer.catalog.inputs import open_uri

if TYPE_CHECKING:
    from pyspark.core.rdd import RDD
    from pyspark.sql import SparkSession

UNIT_BYTES = 16 << 20
BATCH_ROWS = 250_000
BUCKET_ROWS = 1_000_000
ENCODED = ["predicate", "kind", "language", "datatype"]
COLUMNS = ["subject", "object", *ENCODED]


@dataclass(frozen=True, slots=True)
class Unit:
    """Every `parts`-th group of rows of a file, from that with the number `part` on."""

    number: int
    uri: str
    part: int
    parts: int

    @property
    def name(self) -> str:
        """The name of the file, which no other file of the catalogue has."""
        return self.uri.rpartition("/")[2]


class Tag(NamedTuple):
    """All of a value but its text."""

    kind: str
    language: str
    datatype: str


@dataclass(frozen=True)
class Batch:
    """Some triples of a unit. Properties are numbers; so are tags, which `tags` lists."""

    unit: Unit
    rows: Any
    """Where each triple stands in its file."""
    columns: pa.RecordBatch
    properties: Any
    tag_of: Any
    tags: list[Tag]

    @property
    def seeds(self) -> Any:
        """A seed for each value, so that the hash of its text is one of property and tag, too."""
        pairs = self.properties.astype(np.int64) * len(self.tags) + self.tag_of
        found, inverse = np.unique(pairs, return_inverse=True)
        width = len(self.tags)
        return seeds_of((int(pair) // width, *self.tags[int(pair) % width]) for pair in found)[inverse]

    @property
    def blank(self) -> Any:
        """Which values are blank nodes."""
        return np.array([tag.kind == BLANK for tag in self.tags], bool)[self.tag_of]


def find_units(uri: str, tables: Sequence[str]) -> list[Unit]:
    """The units of the tables of a catalogue, in one order."""
    system, path = open_uri(uri)
    found = [
        (f"{uri}/{table}/{info.base_name}", -(-(info.size or 1) // UNIT_BYTES))
        for table in tables
        for info in system.get_file_info(fs.FileSelector(f"{path}/{table}", allow_not_found=True))
        if info.type == fs.FileType.File and info.base_name.endswith(".parquet")
    ]
    units: list[Unit] = []
    for name, parts in sorted(found):
        units += [Unit(len(units) + part, name, part, parts) for part in range(parts)]
    return units


def read_batches(unit: Unit, numbers: dict[str, int], repeats: str | None) -> Iterator[Batch]:
    """The triples of a unit, without those that came before, which the table `repeats` lists."""
    skipped = _skipped(repeats, unit.name) if repeats else np.zeros(0, np.int64)
    with _opened(unit) as file:
        metadata = file.metadata
        start = 0
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            if group % unit.parts == unit.part:
                at = start
                for columns in file.iter_batches(BATCH_ROWS, [group], COLUMNS):
                    yield _batch(unit, at, columns, numbers, skipped)
                    at += len(columns)
            start += size


def read_rows(unit: Unit, rows: Any) -> pa.Table:
    """The values in some rows of a file, in this order."""
    with _opened(unit) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        inside = np.searchsorted(starts, rows, "right") - 1
        groups = np.unique(inside)
        held = file.read_row_groups(groups.tolist(), ["predicate", "object", "kind", "language", "datatype"])
        before = np.cumsum([0, *(sizes[group] for group in groups[:-1])])
        return held.take(pa.array(rows - starts[inside] + before[np.searchsorted(groups, inside)]))


Scan = Callable[[Iterable[Unit]], Iterator[tuple[int, Any]]]
"""What a task says of its units: for a bucket something."""


def exchange(spark: SparkSession, units: Sequence[Unit], scan: Scan, buckets: int) -> RDD[tuple[int, Any]]:
    """What `scan` says of units, with what it says for one bucket in one partition."""
    tasks = spark.sparkContext.parallelize(units, max(1, len(units)))
    return tasks.mapPartitions(scan).partitionBy(buckets, lambda bucket: bucket)


def buckets_for(rows: int, cores: int) -> int:
    return max(2 * cores, -(-rows // BUCKET_ROWS))


def into_buckets(rows: Any, hashes: Any, buckets: int) -> Iterator[tuple[int, Any]]:
    """Rows cut by their hashes."""
    bucket = (hashes >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)
    order = np.argsort(bucket.astype(np.uint16) if buckets <= 1 << 16 else bucket, kind="stable")
    rows = rows[order]
    bounds = np.searchsorted(bucket[order], np.arange(buckets + 1, dtype=np.uint64))
    for i in range(buckets):
        if bounds[i] < bounds[i + 1]:
            yield i, rows[bounds[i] : bounds[i + 1]]


def _opened(unit: Unit) -> Any:
    system, path = open_uri(unit.uri)
    return pq.ParquetFile(path, filesystem=system, read_dictionary=ENCODED, pre_buffer=False)


def _batch(unit: Unit, start: int, columns: pa.RecordBatch, numbers: dict[str, int], skipped: Any) -> Batch:
    rows = np.arange(start, start + len(columns), dtype=np.int64)
    if len(skipped) and np.isin(rows, skipped).any():
        kept = ~np.isin(rows, skipped)
        rows, columns = rows[kept], columns.filter(pa.array(kept))
    predicates = columns.column("predicate")
    known = np.array([numbers[name] for name in predicates.dictionary.to_pylist()] or [0], np.uint32)
    parts = [columns.column(name) for name in ("kind", "language", "datatype")]
    code = np.zeros(len(columns), np.int64)
    for part in parts:
        code = code * max(1, len(part.dictionary)) + _codes(part)
    found, tag_of = np.unique(code, return_inverse=True)
    return Batch(unit, rows, columns, known[_codes(predicates)], tag_of, [_tag(int(one), parts) for one in found])


def _tag(code: int, parts: list[pa.DictionaryArray]) -> Tag:
    texts = []
    for part in reversed(parts):
        code, at = divmod(code, max(1, len(part.dictionary)))
        texts.append(part.dictionary[at].as_py())
    return Tag(*reversed(texts))


def _codes(column: pa.DictionaryArray) -> Any:
    return column.indices.to_numpy(zero_copy_only=False)


@lru_cache(maxsize=1)
def _repeats(uri: str) -> tuple[Any, Any]:
    system, path = open_uri(uri)
    table = pq.read_table(path, filesystem=system)
    return table.column("file").to_numpy(zero_copy_only=False), table.column("row").to_numpy()


def _skipped(uri: str, name: str) -> Any:
    files, rows = _repeats(uri)
    return rows[files == name]
