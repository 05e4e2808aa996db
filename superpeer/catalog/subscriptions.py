"""Subscriptions from files, as a table: each meaning once, with how many ask for it.

A file whose name ends in `.qel` holds one query, which may take several lines; any other has a query on each line, and
lines that are empty or start with `#` say nothing. Files may be packed. What is no query, or can match nothing, is
rejected with the reason, and never stops the job. Each text is parsed once, however many wrote it.

    number      from 0, in the order of ids
    id          what the query means (`qel.canonical_id`): the same for all who ask for the same
    text        the query as one of them wrote it: the first in the alphabet
    asked       how many ask for it
    tests       what it asks for (`superpeer.catalog.asking`)
    covered     whether each of some advertisements covers it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import qel
from qel import Advertisement
from superpeer.catalog.asking import TESTS, Writer
from superpeer.catalog.inputs import UnreadableCatalogue, uri_of
from superpeer.catalog.session import cores
from superpeer.catalog.tasks import prepare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_QUERY_CHARACTERS = 100_000
TASKS_FOR_CORE = 4

_PARSED = pa.schema(
    [
        ("text", pa.string()),
        ("times", pa.int64()),
        ("id", pa.string()),
        ("tests", TESTS),
        ("covered", pa.list_(pa.bool_())),
        ("reason", pa.string()),
    ]
)
PARSED = "text string, times long, id string, tests array<array<binary>>, covered array<boolean>, reason string"

_PARTITION_SHIFT = 33
"""Spark's increasing ids are the number of a partition and that of a row in it, so much apart."""


@dataclass(frozen=True)
class Subscriptions:
    """The table of subscriptions, where it stands, and how many there are."""

    table: DataFrame
    path: str
    rejected: DataFrame
    distinct: int
    asked: int
    rejected_count: int


def read_subscriptions(
    spark: SparkSession, paths: Sequence[str], scratch: str, advertisements: Sequence[Advertisement] = ()
) -> Subscriptions:
    """Parses files of subscriptions into a table in the directory `scratch`."""
    from pyspark.sql import functions as f

    texts = _texts(spark, paths).repartition(cores(spark) * TASKS_FOR_CORE, "text")
    texts = texts.groupBy("text").agg(f.count("*").alias("times"))
    texts.mapInArrow(lambda batches: _parse(batches, advertisements), PARSED).write.mode("overwrite").parquet(
        f"{scratch}/parsed"
    )
    parsed = spark.read.parquet(f"{scratch}/parsed")
    rejected = parsed.where(f.col("id") == "").select("text", "times", "reason")
    first = f.min(f.struct("text", "tests", "covered")).alias("first")
    meanings = parsed.where(f.col("id") != "").groupBy("id").agg(first, f.sum("times").alias("asked"))
    path = f"{scratch}/subscriptions"
    ordered = meanings.select("id", "first.*", "asked").orderBy("id")
    ordered.withColumn("at", f.monotonically_increasing_id()).write.mode("overwrite").parquet(path)
    table = _numbered(spark, path)
    totals = table.agg(f.count("*").alias("distinct"), f.sum("asked").alias("asked")).first()
    assert totals is not None
    if not totals["distinct"]:
        some = rejected.orderBy("text").first()
        why = f"; {some['text'][:80]!r} is none: {some['reason']}" if some else ""
        raise UnreadableCatalogue(f"there is no subscription in {', '.join(paths)}{why}")
    lines = rejected.agg(f.coalesce(f.sum("times"), f.lit(0)).alias("lines")).first()
    assert lines is not None
    each = rejected.select(f.explode(f.array_repeat(f.struct("text", "reason"), f.col("times").cast("int"))))
    return Subscriptions(table, path, each.select("col.*"), totals["distinct"], totals["asked"], lines["lines"])


def _parse(batches: Iterator[pa.RecordBatch], advertisements: Sequence[Advertisement]) -> Iterator[pa.RecordBatch]:
    prepare()
    writer = Writer()
    for batch in batches:
        found = [_parse_one(text, writer, advertisements) for text in batch.column(0).to_pylist()]
        columns = list(zip(*found, strict=True)) if found else [()] * 4
        parsed = [pa.array(column, _PARSED.field(i).type) for i, column in enumerate(columns, start=2)]
        yield pa.RecordBatch.from_arrays([batch.column(0), batch.column(1), *parsed], schema=_PARSED)


def _parse_one(
    text: str, writer: Writer, advertisements: Sequence[Advertisement]
) -> tuple[str, list[list[bytes]], list[bool], str]:
    """The columns of one query, or, with an empty id, why it is rejected."""
    if len(text) > MAX_QUERY_CHARACTERS:
        return "", [], [], f"longer than {MAX_QUERY_CHARACTERS:,} characters"
    try:
        query = qel.parse(text)
        qel.require_satisfiable(query)
    except qel.QelError as error:
        return "", [], [], str(error).partition("\n")[0]
    covered = [qel.covers(advertisement, query) for advertisement in advertisements]
    return qel.canonical_id(query), writer.write(query), covered, ""


def _texts(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """(text): every query, as often as it was written."""
    from pyspark.sql import functions as f

    require_files(paths)
    single = [uri for path in paths for uri in _expanded(path) if uri.endswith(".qel")]
    lines = [uri for path in paths for uri in _expanded(path) if not uri.endswith(".qel")]
    frames = []
    if single:
        frames.append(spark.read.text(single, wholetext=True))
    if lines:
        text = f.col("value")
        frames.append(spark.read.text(lines).where((f.trim(text) != "") & ~f.ltrim(text).startswith("#")))
    whole = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    return whole.select(f.make_valid_utf8("value").alias("text"))


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


def _numbered(spark: SparkSession, path: str) -> DataFrame:
    """A table with its numbers. It was sorted in many partitions, whose sizes say where the numbers of each start."""
    from pyspark.sql import functions as f

    found = spark.read.parquet(path)
    partition = f.shiftright("at", _PARTITION_SHIFT).cast("int")
    sizes = {row["p"]: row["n"] for row in found.groupBy(partition.alias("p")).agg(f.count("*").alias("n")).collect()}
    starts = list(accumulate((sizes.get(i, 0) for i in range(max(sizes, default=0) + 1)), initial=0))
    start = f.element_at(f.array(*map(f.lit, starts)), partition + 1)
    number = start + f.col("at").bitwiseAND((1 << _PARTITION_SHIFT) - 1)
    return found.select(number.cast("long").alias("number"), "*").drop("at")
