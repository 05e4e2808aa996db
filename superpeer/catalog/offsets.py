"""Where in a file that is packed, but divided, something was rejected.

Nobody knows how much text stands before a split of it until all of them are read. So tasks count from the beginning of
the split, under a name that nobody else looks at, and when all are done what stands before is added. What is done twice
gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq

from superpeer.catalog.inputs import open_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNPLACED = "_unplaced-"


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """How much text a split of a file has, and whether something in its table has an offset."""

    file: str
    start_bytes: int
    name: str
    size_bytes: int
    has_rejected: bool


def place(spark: SparkSession, directory: str, parts: Iterable[Part]) -> None:
    """Adds what stands before each split to the offsets in its table in a directory."""
    found = [(part.name, before) for part, before in _before(parts) if part.has_rejected]
    if found:
        spark.sparkContext.parallelize(found, len(found)).foreach(lambda one: _place(directory, *one))


def _before(parts: Iterable[Part]) -> Iterator[tuple[Part, int]]:
    for _, some in groupby(sorted(parts), key=lambda part: part.file):
        mine = list(some)
        yield from zip(mine, accumulate((part.size_bytes for part in mine), initial=0), strict=False)


def _place(directory: str, name: str, before: int) -> None:
    system, path = open_uri(directory)
    source = pq.ParquetFile(f"{path}/{UNPLACED}{name}", filesystem=system)
    draft = f"{path}/_{name}.draft"
    with source, pq.ParquetWriter(draft, source.schema_arrow, filesystem=system, compression="snappy") as target:
        number = source.schema_arrow.get_field_index("offset")
        for batch in source.iter_batches():
            target.write_batch(
                batch.set_column(number, source.schema_arrow[number], pc.add(batch.column(number), before))
            )
    system.move(draft, f"{path}/{name}")
