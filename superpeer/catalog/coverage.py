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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from superpeer.catalog.advertising import LEVELS
from superpeer.catalog.asking import read_test
from superpeer.catalog.record_matching import SAMPLES, match_batches
from superpeer.catalog.session import cores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLOODING = "flooding"

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
            written = batch.column(0).flatten().flatten().unique().to_pylist()
            names.update(read_test(test)[0] for test in written)
        yield pa.RecordBatch.from_arrays([pa.array(sorted(names), pa.string())], names=["property"])

    rows = table.select("tests").mapInArrow(find, "property string").distinct().collect()
    return sorted(row["property"] for row in rows)


def match_records(spark: SparkSession, triples: DataFrame, names: list[str], subscriptions: str) -> DataFrame:
    """For every resource that matches something a row (resource, matches), and for every subscription and task a row
    (number, matches, samples)."""
    from pyspark.sql import functions as f

    wanted = triples.where(f.col("predicate").isin(*names))
    grouped = (
        wanted.withColumn("mark", f.xxhash64("subject"))
        .repartition(cores(spark) * 2, "mark")
        .sortWithinPartitions("mark", "subject")
        .select("mark", "subject", "predicate", "object", "kind", "language")
    )
    return grouped.mapInArrow(lambda batches: match_batches(batches, subscriptions), MATCHED)


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


def route(table: DataFrame, matched: DataFrame, peer: str, place: int, sizes: dict[str, int]) -> list[Routing]:
    """What each level forwards to a peer, and how much of it is needless. In the column `covered` the levels of the
    peer begin at some place."""
    from pyspark.sql import functions as f

    joined = table.select("number", "covered").join(matched.select("number", "matched"), "number", "left")
    matches = f.coalesce(f.col("matched"), f.lit(0)) > 0
    columns = [f.count("*").alias("all")]
    covering = {FLOODING: f.lit(True)} | {level: f.col("covered")[place + i] for i, level in enumerate(LEVELS)}
    for level, covers in covering.items():
        columns += [
            f.count(f.when(covers, 1)).alias(f"{level}_forwarded"),
            f.count(f.when(covers & matches, 1)).alias(f"{level}_useful"),
            f.count(f.when(~covers & matches, 1)).alias(f"{level}_missed"),
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
        for level in covering
    ]
