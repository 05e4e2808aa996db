"""Who would have been notified of what, and what each level of advertising keeps off the wire.

Every path of data is a peer. Its records are matched with all subscriptions by the matcher that super-peers run, inside
tasks: each Python worker builds the index once, from the table of subscriptions. Then the advertisement that
its data calls for, at each level, is asked which subscriptions it would bring to the peer:

    forwarded   the level covers the subscription, so that it is sent to the peer
    needless    it was forwarded, and nothing that the peer has matches
    missed      something matches, and it was not forwarded; the law of routing says that there is none

Samples are the resources with the smallest hashes among those that match, so they do not depend on the partitioning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset

import qel
from qel import Advertisement
from qel.values import Description, Kind, Value
from superpeer.catalog.advertising import LEVELS
from superpeer.catalog.columns import BLANK, URI
from superpeer.catalog.session import cores
from superpeer.catalog.subscriptions import load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLES = 5
CHUNK = 512
FLOODING = "flooding"

_MATCHED = pa.schema(
    [
        ("resource", pa.string()),
        ("matches", pa.int64()),
        ("number", pa.int64()),
        ("samples", pa.list_(pa.struct([("mark", pa.int64()), ("resource", pa.string())]))),
    ]
)
MATCHED = "resource string, matches long, number long, samples array<struct<mark: long, resource: string>>"


@dataclass(frozen=True)
class Routing:
    """One row of `routing`: what a level brings to a peer."""

    peer: str
    level: str
    size_bytes: int
    subscriptions: int
    forwarded: int
    useful: int
    needless: int
    missed: int


def properties_of(table: DataFrame) -> list[str]:
    """The properties that subscriptions ask for."""

    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names: set[str] = set()
        for batch in batches:
            for form in batch.column(0).to_pylist():
                names.update(pattern.property for pattern in load(form).triples)
        yield pa.RecordBatch.from_arrays([pa.array(sorted(names), pa.string())], names=["property"])

    rows = table.select("form").mapInArrow(find, "property string").distinct().collect()
    return sorted(row["property"] for row in rows)


def match_records(spark: SparkSession, triples: DataFrame, names: list[str], subscriptions: str) -> DataFrame:
    """For every resource that matches something a row (resource, matches), and for every subscription and task a row
    (number, matches, samples)."""
    from pyspark.sql import functions as f

    wanted = triples.where(f.col("predicate").isin(*names))
    grouped = (
        wanted.withColumn("mark", f.xxhash64("subject"))
        .repartition(cores(spark) * 2, "mark")
        .sortWithinPartitions("mark", "subject", "predicate", "kind", "object", "language", "datatype")
        .select("mark", "subject", "predicate", "object", "kind", "language")
    )
    return grouped.mapInArrow(lambda batches: _match(batches, subscriptions), MATCHED)


def by_subscription(matched: DataFrame) -> DataFrame:
    """(number, matched, samples): how many resources each subscription matches, and some of them."""
    from pyspark.sql import functions as f

    samples = f.slice(f.array_sort(f.flatten(f.collect_list("samples"))), 1, SAMPLES)
    return (
        matched.where(f.col("number").isNotNull())
        .groupBy("number")
        .agg(f.sum("matches").alias("matched"), samples.alias("samples"))
        .select("number", "matched", f.col("samples.resource").alias("samples"))
    )


def by_resource(matched: DataFrame) -> DataFrame:
    """(resource, subscriptions): how many subscriptions each resource matches, where it matches any."""
    from pyspark.sql import functions as f

    return matched.where(f.col("number").isNull()).select("resource", f.col("matches").alias("subscriptions"))


def route(
    table: DataFrame, matched: DataFrame, peer: str, advertisements: dict[str, Advertisement], sizes: dict[str, int]
) -> list[Routing]:
    """What each level forwards to a peer, and how much of it is needless."""
    from pyspark.sql import functions as f

    levels = list(LEVELS)

    def decide(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            queries = [load(form) for form in batch.column(1).to_pylist()]
            found = [[qel.covers(advertisements[level], query) for query in queries] for level in levels]
            columns = [batch.column(0), *(pa.array(one, pa.bool_()) for one in found)]
            yield pa.RecordBatch.from_arrays(columns, names=["number", *levels])

    schema = "number long, " + ", ".join(f"{level} boolean" for level in levels)
    decided = table.select("number", "form").mapInArrow(decide, schema)
    joined = decided.join(matched.select("number", "matched"), "number", "left").withColumn(FLOODING, f.lit(True))
    matches = f.coalesce(f.col("matched"), f.lit(0)) > 0
    columns = [f.count("*").alias("all")]
    for level in (FLOODING, *levels):
        columns += [
            f.count(f.when(f.col(level), 1)).alias(f"{level}_forwarded"),
            f.count(f.when(f.col(level) & matches, 1)).alias(f"{level}_useful"),
            f.count(f.when(~f.col(level) & matches, 1)).alias(f"{level}_missed"),
        ]
    row = joined.agg(*columns).first()
    assert row is not None
    return [
        Routing(
            peer,
            level,
            sizes.get(level, 0),
            row["all"],
            row[f"{level}_forwarded"],
            row[f"{level}_useful"],
            row[f"{level}_forwarded"] - row[f"{level}_useful"],
            row[f"{level}_missed"],
        )
        for level in (FLOODING, *levels)
    ]


class _Index:
    """All subscriptions in the matcher, and the numbers by which the table knows them."""

    def __init__(self, path: str) -> None:
        from superpeer.matching.matcher import Matcher

        self._matcher: Matcher[int] = Matcher()
        numbers: dict[int, int] = {}
        table = pa.dataset.dataset(path).to_table(columns=["number", "form"]).sort_by("number")
        for number, form in zip(table.column("number").to_pylist(), table.column("form").to_pylist(), strict=True):
            numbers[self._matcher.add(number, load(form))] = number
        self.size = len(numbers)
        self._numbers = np.zeros(max(numbers, default=0) + 1, np.int64)
        for inner, number in numbers.items():
            self._numbers[inner] = number

    def match(self, batch: list[Description]) -> list[Any]:
        return [self._numbers[found.numbers] for found in self._matcher.match_many(batch)]


@lru_cache(maxsize=1)
def _index(path: str) -> _Index:
    """One for each Python worker, however many tasks it runs."""
    return _Index(path)


def _match(batches: Iterator[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    index = _index(path)
    counts = np.zeros(index.size, np.int64)
    samples: dict[int, list[dict[str, Any]]] = {}
    for chunk in _chunks(_descriptions(batches)):
        found = index.match([description for _, description in chunk])
        names, matches = [], []
        for (mark, description), numbers in zip(chunk, found, strict=True):
            if not len(numbers):
                continue
            names.append(description.subject.text)
            matches.append(len(numbers))
            # Resources come in the order of their marks, so that the first ones are the sample.
            few = numbers[counts[numbers] < SAMPLES]
            counts[numbers] += 1
            for number in few.tolist():
                samples.setdefault(number, []).append({"mark": mark, "resource": description.subject.text})
        if names:
            yield _rows(names, matches, [None] * len(names), [None] * len(names))
    matched = np.flatnonzero(counts).tolist()
    if matched:
        none = [None] * len(matched)
        yield _rows(none, counts[matched].tolist(), matched, [samples[number] for number in matched])


def _rows(names: Sequence[Any], matches: list[int], numbers: Sequence[Any], samples: Sequence[Any]) -> pa.RecordBatch:
    columns = (names, matches, numbers, samples)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _MATCHED, strict=True)], schema=_MATCHED
    )


def _descriptions(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Description]]:
    """Triples that come sorted by subject, as what is said of each. Only one subject is held."""
    last: str | None = None
    description = Description(Value(Kind.URI, ""))
    at = 0
    for batch in batches:
        for mark, subject, predicate, text, kind, language in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            if subject != last:
                if last is not None:
                    yield at, description
                description, last, at = Description(Value(Kind.URI, subject)), subject, mark
            node = Value(Kind.URI if kind == URI else Kind.BLANK if kind == BLANK else Kind.LITERAL, text, language)
            description.values.setdefault(predicate, []).append(node)
    if last is not None:
        yield at, description


def _chunks(found: Iterator[tuple[int, Description]]) -> Iterator[list[tuple[int, Description]]]:
    held: list[tuple[int, Description]] = []
    for one in found:
        held.append(one)
        if len(held) >= CHUNK:
            yield held
            held = []
    if held:
        yield held
