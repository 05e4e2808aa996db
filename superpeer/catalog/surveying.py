"""From what tasks left of their triples to a profile: resources first, then values.

A triple that came before counts once, but a task that scans does not know of it. So resources are looked at first; they
tell which triples came again. If these are few, what was counted of them is taken off; if they are many, all triples
are written anew, each once, and their values scanned again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qel.names import RDF_TYPE
from superpeer.catalog.columns import URI
from superpeer.catalog.inputs import make_directory
from superpeer.catalog.profile import Profile, assemble
from superpeer.catalog.progress import Steps
from superpeer.catalog.records import find_records
from superpeer.catalog.repeats import Repeats
from superpeer.catalog.scanning import Scanned, Wanted
from superpeer.catalog.tasks import in_tasks
from superpeer.catalog.units import find_units, take_off, write_once
from superpeer.catalog.values import FEW_VALUES, Found, find_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PIECES = "pieces"
BUCKET_ROWS = 4_000_000
LITTLE = 100_000
"""Up to so many triples that came before are taken off; where there are more, all others are written anew."""


@dataclass(frozen=True)
class Surveyed:
    """A profile, the tables with the triples that it is of, and which of these came before, if few: files, and rows
    of them."""

    profile: Profile
    tables: tuple[str, ...]
    repeated: int
    repeats: tuple[tuple[str, Any], ...]


def buckets_for(rows: int, cores: int) -> int:
    return max(cores, -(-rows // BUCKET_ROWS))


def survey(
    spark: SparkSession, uri: str, tables: Sequence[str], scanned: Scanned, wanted: Wanted, new: str, steps: Steps
) -> Surveyed:
    """Looks at all that was scanned of some tables of a catalogue; `new` names the table for triples written anew."""
    if not scanned.rows:
        return Surveyed(Profile(0, 0, (), (), (), (), (), ()), (), 0, ())
    directory = f"{uri}/{PIECES}"
    names = sorted(scanned.counts)
    steps.say("looking at resources")
    records = find_records(spark, scanned.pieces, directory, names, wanted.buckets)
    repeated = records.found.repeated
    repeats = tuple(Repeats(directory, wanted.buckets)) if 0 < repeated <= LITTLE else ()
    if repeated > LITTLE:
        steps.say("writing each triple once")
        scanned = _write_once(spark, uri, tables, new, replace(wanted, resources=False))
        tables = [new]
    steps.say("looking at values")
    pieces, counts = scanned.pieces, scanned.counts
    if repeats:
        wanted = Wanted(wanted.buckets, resources=False, takes_off=True)
        taken = in_tasks(
            spark, repeats, lambda task, some: take_off(some, directory, f"repeated-{task}", wanted), Scanned()
        )
        pieces += taken.pieces
        counts = {
            name: one.without(taken.counts[name]) if name in taken.counts else one for name, one in counts.items()
        }
    values = find_values(spark, pieces, names, wanted.buckets, scanned.many)
    triples = sum(one.values for one in counts.values())
    classes = _classes(spark, uri, tables, names, values)
    found = assemble(names, triples, counts, scanned.many, records, values, classes)
    return Surveyed(found, tuple(tables), repeated, repeats)


def _write_once(spark: SparkSession, uri: str, tables: Sequence[str], new: str, wanted: Wanted) -> Scanned:
    target, pieces = f"{uri}/{new}", f"{uri}/{PIECES}"
    make_directory(target)
    return in_tasks(
        spark,
        find_units(uri, tables),
        lambda task, some: write_once(some, target, pieces, f"{new}-{task}", wanted),
        Scanned(),
    )


def table_of(spark: SparkSession, uri: str, tables: Sequence[str]) -> DataFrame:
    if not tables:
        return spark.createDataFrame(
            [],
            "subject string, subject_blank boolean, predicate string, object string, kind string, language string,"
            " datatype string",
        )
    frame = spark.read.parquet(f"{uri}/{tables[0]}")
    for table in tables[1:]:
        frame = frame.unionByName(spark.read.parquet(f"{uri}/{table}"))
    return frame


def _classes(
    spark: SparkSession, uri: str, tables: Sequence[str], names: Sequence[str], values: Found
) -> list[tuple[str, int]]:
    """Classes, and how many resources each has."""
    from pyspark.sql import functions as f

    if RDF_TYPE not in names:
        return []
    number = names.index(RDF_TYPE)
    if 0 < values.distinct[number] <= FEW_VALUES:
        found = [(one.object, one.count) for one in values.few if one.property == number and one.kind == URI]
    else:
        types = table_of(spark, uri, tables).where((f.col("predicate") == RDF_TYPE) & (f.col("kind") == URI))
        counted = types.groupBy("object").agg(f.count_distinct("subject").alias("n"))
        found = [(row["object"], row["n"]) for row in counted.collect()]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))
