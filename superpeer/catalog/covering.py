"""`superpeer catalog coverage`: from catalogues and subscriptions to a directory with tables and a report.

subscriptions.parquet/   number, id, text, asked, and for all peers together: matched, samples
matches.parquet/         peer, number, matched, samples
resources.parquet/       peer, resource, subscriptions: for resources that match any
rejected.parquet/        text, reason: what was no subscription
routing.parquet          see `Routing` in `superpeer.catalog.coverage`
coverage.json            totals and the rows of `routing`
report.html              for people
catalogue-N/             the parsed catalogue of each peer
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qel import Advertisement
from superpeer.catalog import outputs
from superpeer.catalog.advertising import LEVELS, advise, size_bytes
from superpeer.catalog.catalogue import Catalogue
from superpeer.catalog.coverage import Routing, by_resource, by_subscription, match_records, properties_of, route
from superpeer.catalog.coverage_report import write_report
from superpeer.catalog.ingest import convert
from superpeer.catalog.profiling import CACHE
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.subscriptions import read_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN = 15


@dataclass(frozen=True)
class Covered:
    """What was found, in short."""

    distinct: int
    asked: int
    rejected: int
    matched: int
    resources: int
    resources_matched: int
    notifications: int
    routing: tuple[Routing, ...]
    most: tuple[tuple[str, int], ...]
    matched_counts: tuple[tuple[int, int], ...]
    resource_counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Peer:
    """A peer with its catalogue, and what it would advertise at each level."""

    name: str
    catalogue: Catalogue
    resources: int
    advertisements: dict[str, Advertisement]


def cover_files(
    spark: SparkSession, paths: Sequence[str], subscriptions: Sequence[str], directory: Path, steps: Steps = SILENT
) -> Covered:
    from pyspark.sql import functions as f

    outputs.prepare(directory)
    scratch = directory / "scratch"
    peers = []
    for number, (name, path) in enumerate(zip(_peer_names(paths), paths, strict=True)):
        catalogue = convert(spark, [path], str(directory / f"catalogue-{number}"), steps)
        found = catalogue.profile()
        peers.append(_Peer(name, catalogue, found.resources, dict(advise(found).advertisements)))
    steps.say("reading subscriptions")
    advertisements = [peer.advertisements[level] for peer in peers for level in LEVELS]
    read = read_subscriptions(spark, subscriptions, str(scratch), advertisements)
    properties = properties_of(read.table)
    routing: list[Routing] = []
    for number, peer in enumerate(peers):
        steps.say(f"matching {peer.resources:,} resources of {peer.name} with {read.distinct:,} subscriptions")
        matched = match_records(spark, peer.catalogue.triples(spark), properties, read.path)
        matched.write.mode("overwrite").parquet(str(scratch / f"matched-{number}"))
        matched = spark.read.parquet(str(scratch / f"matched-{number}"))
        mode = "overwrite" if number == 0 else "append"
        named = f.lit(peer.name).alias("peer")
        by_subscription(matched).select(named, "*").write.mode(mode).parquet(str(directory / "matches.parquet"))
        by_resource(matched).select(named, "*").write.mode(mode).parquet(str(directory / "resources.parquet"))
        steps.say(f"counting what each level forwards to {peer.name}")
        mine = spark.read.parquet(str(directory / "matches.parquet")).where(f.col("peer") == peer.name)
        sizes = {level: size_bytes(peer.advertisements[level]) for level in LEVELS}
        routing += route(read.table, mine, peer.name, number * len(LEVELS), sizes)
    matches = spark.read.parquet(str(directory / "matches.parquet"))
    totals = matches.groupBy("number").agg(
        f.sum("matched").alias("matched"), f.flatten(f.array_sort(f.collect_list("samples"))).alias("samples")
    )
    whole = read.table.drop("tests", "covered").join(totals, "number", "left").fillna(0, ["matched"])
    whole.orderBy("number").write.mode("overwrite").parquet(str(directory / "subscriptions.parquet"))
    read.rejected.write.mode("overwrite").parquet(str(directory / "rejected.parquet"))
    steps.say("writing the report")
    whole = spark.read.parquet(str(directory / "subscriptions.parquet"))
    by_resources = spark.read.parquet(str(directory / "resources.parquet"))
    summary = _summary(whole, by_resources, routing, read.rejected_count, sum(peer.resources for peer in peers))
    outputs.write_table(directory, "routing", Routing, routing)
    outputs.write_json(directory / "coverage.json", asdict(summary))
    (directory / "report.html").write_text(write_report(summary), encoding="utf-8")
    shutil.rmtree(scratch, ignore_errors=True)
    return summary


def _summary(
    whole: DataFrame, by_resources: DataFrame, routing: Sequence[Routing], rejected: int, resources: int
) -> Covered:
    from pyspark.sql import functions as f

    row = whole.agg(
        f.count("*").alias("distinct"),
        f.sum("asked").alias("asked"),
        f.count(f.when(f.col("matched") > 0, 1)).alias("matched"),
        f.sum(f.col("matched") * f.col("asked")).alias("notifications"),
    ).first()
    assert row is not None
    most = whole.where("matched > 0").orderBy(f.col("matched").desc(), "text").limit(SHOWN).collect()
    counts = whole.groupBy("matched").count().orderBy("matched").collect()
    per_resource = by_resources.groupBy("subscriptions").count().orderBy("subscriptions").collect()
    resource_counts = [(one["subscriptions"], one["count"]) for one in per_resource]
    matched = sum(count for _, count in resource_counts)
    return Covered(
        row["distinct"],
        row["asked"],
        rejected,
        row["matched"],
        resources,
        matched,
        row["notifications"],
        tuple(routing),
        tuple((one["text"], one["matched"]) for one in most),
        tuple((one["matched"], one["count"]) for one in counts),
        ((0, resources - matched), *resource_counts),
    )


def _peer_names(paths: Sequence[str]) -> list[str]:
    """The names of files without their extensions, told apart by numbers where they are the same."""
    names: list[str] = []
    for path in paths:
        here = Path(path.rstrip("/"))
        # The catalogue inside the output of another command says nothing; the name of that output does.
        name = (here.parent if here.name == CACHE else here).name.partition(".")[0] or "peer"
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    return names
