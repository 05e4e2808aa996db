"""Subscriptions from files, as a table: each meaning once, with how many ask for it.

A file whose name ends in `.qel` holds one query, which may take several lines; any other has a query on each line, and
lines that are empty or start with `#` say nothing. Files may be packed. What is no query, or can match nothing, is
rejected with the reason, and never stops the job.

    number      from 0, in the order of ids
    id          what the query means (`qel.canonical_id`): the same for all who ask for the same
    text        the query as one of them wrote it: the first in the alphabet
    asked       how many ask for it
    form        the parsed query, for tasks to come
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import qel
from qel.regions import ANY
from superpeer.catalog.inputs import UnreadableCatalogue, uri_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_QUERY_CHARACTERS = 100_000

_PARSED = pa.schema([("text", pa.string()), ("id", pa.string()), ("form", pa.binary()), ("reason", pa.string())])
PARSED = "text string, id string, form binary, reason string"


@dataclass(frozen=True)
class Subscriptions:
    """The table of subscriptions, and how many there are."""

    table: DataFrame
    rejected: DataFrame
    distinct: int
    asked: int
    rejected_count: int


def read_subscriptions(spark: SparkSession, paths: Sequence[str], scratch: str) -> Subscriptions:
    """Parses files of subscriptions into a table in the directory `scratch`."""
    from pyspark.sql import functions as f

    parsed = _texts(spark, paths).mapInArrow(_parse, PARSED)
    parsed.write.mode("overwrite").parquet(f"{scratch}/parsed")
    parsed = spark.read.parquet(f"{scratch}/parsed")
    right = parsed.where(f.col("id") != "")
    firsts = right.groupBy("id").agg(
        f.min("text").alias("text"), f.count("*").alias("asked"), f.first("form").alias("form")
    )
    numbers = _numbered(spark, right.select("id").distinct())
    firsts.join(numbers, "id").write.mode("overwrite").parquet(f"{scratch}/subscriptions")
    table = spark.read.parquet(f"{scratch}/subscriptions")
    rejected = parsed.where(f.col("id") == "").select("text", "reason")
    totals = table.agg(f.count("*").alias("distinct"), f.sum("asked").alias("asked")).first()
    assert totals is not None
    if not totals["distinct"]:
        first = rejected.orderBy("text").first()
        why = f"; {first['text'][:80]!r} is none: {first['reason']}" if first else ""
        raise UnreadableCatalogue(f"there is no subscription in {', '.join(paths)}{why}")
    return Subscriptions(table, rejected, totals["distinct"], totals["asked"], rejected.count())


def dump(form: Any) -> bytes:
    """A query or a part of it for another task. The region without bounds is one object, and stays so."""
    target = io.BytesIO()
    _Pickler(target, 5).dump(form)
    return target.getvalue()


def load(data: bytes) -> Any:
    """What `dump` wrote. Only ever of a table that this job wrote itself."""
    return _Unpickler(io.BytesIO(data)).load()


class _Pickler(pickle.Pickler):
    def persistent_id(self, found: Any) -> str | None:
        return "ANY" if found is ANY else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, _name: Any) -> Any:
        return ANY


def parse_one(text: str) -> tuple[str, bytes, str]:
    """Its id, its form, and why it is rejected: one of them is empty."""
    try:
        if len(text) > MAX_QUERY_CHARACTERS:
            return "", b"", f"longer than {MAX_QUERY_CHARACTERS:,} characters"
        query = qel.parse(text)
        qel.require_satisfiable(query)
    except qel.QelError as error:
        return "", b"", str(error).partition("\n")[0]
    identity = qel.canonical_id(query)
    return identity, dump(query), ""


def _parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        texts = batch.column(0).to_pylist()
        known: dict[str, tuple[str, bytes, str]] = {}
        found = [known.get(text) or known.setdefault(text, parse_one(text)) for text in texts]
        ids, forms, reasons = zip(*found, strict=True) if found else ((), (), ())
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(texts, pa.string()),
                pa.array(ids, pa.string()),
                pa.array(forms, pa.binary()),
                pa.array(reasons, pa.string()),
            ],
            schema=_PARSED,
        )


def _texts(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as f

    require_files(paths)
    single = [uri for path in paths for uri in _expanded(path) if uri.endswith(".qel")]
    lines = [uri for path in paths for uri in _expanded(path) if not uri.endswith(".qel")]
    frames = []
    if single:
        frames.append(spark.read.text(single, wholetext=True))
    if lines:
        text = f.col("value")
        said = spark.read.text(lines).where((f.trim(text) != "") & ~f.ltrim(text).startswith("#"))
        frames.append(said.repartition(spark.sparkContext.defaultParallelism * 4, f.xxhash64("value")))
    whole = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    return whole.select(f.make_valid_utf8("value").alias("value"))


def require_files(paths: Sequence[str]) -> None:
    """Complains of paths that are not there. It needs no Spark, so it answers at once."""
    if not [uri for path in paths for uri in _expanded(path)]:
        raise UnreadableCatalogue("there is no file of subscriptions in " + ", ".join(paths))


def _expanded(path: str) -> list[str]:
    local = Path(path)
    if "://" in path:
        return [path]
    if local.is_dir():
        return [one.absolute().as_uri() for one in sorted(local.rglob("*")) if one.is_file()]
    if not local.is_file():
        raise UnreadableCatalogue(f"there is no file or directory {path}")
    return [uri_of(path)]


def _numbered(spark: SparkSession, ids: DataFrame) -> DataFrame:
    """Ids with their numbers. Sorted in many partitions, whose sizes say where each starts."""
    ordered = ids.orderBy("id").rdd.map(lambda row: row[0]).zipWithIndex()
    return spark.createDataFrame(ordered.map(lambda pair: (pair[0], pair[1])), "id string, number long")
