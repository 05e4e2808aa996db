"""From files to a catalogue in Parquet: parsed once, kept beside the output, used again while the files are the same.

While tasks parse, they scan what they parsed; what comes of it is brought together afterwards (`surveying`). Files that
were added since are read in addition, and what was read before is scanned from Parquet; if a file changed or went,
everything is read anew. Whatever a job left that did not come to its end belongs to no manifest, and is deleted by the
next.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from superpeer.catalog.catalogue import (
    PARSED,
    PLAIN_TABLE,
    Catalogue,
    Manifest,
    delete_unknown,
    opened,
    read_manifest,
    write_about,
    write_manifest,
)
from superpeer.catalog.columns import file_mark, mark_of
from superpeer.catalog.inputs import PACKING, File, cut, find_files, make_directory, require_apart, tasks_of, uri_of
from superpeer.catalog.lifting import Lifted, lift_shares, shares_of
from superpeer.catalog.offsets import place
from superpeer.catalog.parsing import NESTED, PLAIN, REJECTED_ROWS, Parsed, parse_splits
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.scanning import Scanned, Wanted
from superpeer.catalog.session import cores
from superpeer.catalog.surveying import PIECES, buckets_for, survey
from superpeer.catalog.tasks import in_tasks
from superpeer.catalog.units import find_units, scan_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_BYTES_A_TRIPLE = 100
"""What a triple takes in most files of lines, and less in others: how many there will be is guessed by it."""


def convert(
    spark: SparkSession, paths: Sequence[str], directory: str, steps: Steps = SILENT, approximate: bool = False
) -> Catalogue:
    """Reads files into a directory; what is there already and unchanged is not read again. A single path that is itself
    such a directory is taken as it is. With `approximate`, distinct values may be estimated where there are many."""
    if len(paths) == 1 and (ready := opened(paths[0])) is not None:
        return ready
    uri = uri_of(directory).rstrip("/")
    files = find_files(paths)
    before = read_manifest(uri)
    if before and not set(before.files) <= set(files):
        before = None
    known = set(before.files) if before else set()
    delete_unknown(uri, before)
    if before and known == set(files) and (approximate or not before.is_estimated):
        return Catalogue(uri, before)
    fresh = [file for file in files if file not in known]
    manifest = _make(spark, uri, before, fresh, Wanted(_buckets(spark, before, fresh), estimates=approximate), steps)
    write_manifest(uri, manifest)
    delete_unknown(uri, manifest)
    return Catalogue(uri, manifest)


def require_input(paths: Sequence[str], directory: Path) -> None:
    """Complains of what cannot be read at all, and of what would be read as input next time. It needs no Spark, so it
    answers at once."""
    if len(paths) != 1 or opened(paths[0]) is None:
        find_files(paths)
        require_apart(paths, directory)


def _buckets(spark: SparkSession, before: Manifest | None, fresh: Sequence[File]) -> int:
    size = sum(file.size_bytes * (PACKING if file.compression else 1) for file in fresh)
    return buckets_for(size // LEAST_BYTES_A_TRIPLE + (before.read if before else 0), cores(spark))


def _make(
    spark: SparkSession, uri: str, before: Manifest | None, fresh: Sequence[File], wanted: Wanted, steps: Steps
) -> Manifest:
    """Parses what is new, lifts names, and finds out what is in all of it."""
    counted = _parse(spark, fresh, uri, wanted, steps)
    generation = before.generation + 1 if before else 0
    nested = counted.nested + (before.nested if before else 0)
    read = counted.plain + counted.nested + (before.read if before else 0)
    tables = [PLAIN_TABLE] if read > nested else []
    anonymous = 0
    scanned = counted.scanned + _scan_old(spark, uri, fresh, wanted, steps)
    if nested:
        steps.say("lifting the names of blank nodes")
        table = f"lifted-{generation}"
        lifted = _lift(spark, uri, table, wanted)
        anonymous = lifted.anonymous
        if lifted.rows:
            scanned += lifted.scanned
            tables.append(table)
    found = survey(spark, uri, tables, scanned, wanted, f"distinct-{generation}", steps)
    write_about(uri, generation, found)
    return Manifest(
        (*(before.files if before else ()), *fresh),
        found.tables,
        read,
        found.profile.triples,
        counted.rejected + (before.rejected if before else 0),
        counted.undecided + (before.undecided if before else 0),
        nested,
        found.repeated,
        anonymous,
        any(not one.exact for one in found.profile.properties),
        bool(found.repeats),
        generation,
    )


def _parse(spark: SparkSession, files: Sequence[File], uri: str, wanted: Wanted, steps: Steps) -> Parsed:
    for name in (PIECES, *(f"{PARSED}/{part}" for part in (PLAIN, NESTED, REJECTED_ROWS))):
        make_directory(f"{uri}/{name}")
    if not files:
        return Parsed()
    steps.say(f"reading {len(files):,} files" if len(files) > 1 else f"reading {files[0].uri.rpartition('/')[2]}")
    target, pieces = f"{uri}/{PARSED}", f"{uri}/{PIECES}"
    groups = tasks_of(cut(files, cores(spark)), cores(spark))
    tasks = spark.sparkContext.parallelize(enumerate(groups), len(groups))
    parsed = tasks.map(lambda one: parse_splits(one[1], target, pieces, f"parsed-{one[0]:05d}", wanted)).reduce(add)
    place(spark, f"{target}/{REJECTED_ROWS}", parsed.parts)
    return parsed


def _scan_old(spark: SparkSession, uri: str, fresh: Sequence[File], wanted: Wanted, steps: Steps) -> Scanned:
    """Goes through what was parsed before."""
    marks, pieces = {file_mark(file.uri) for file in fresh}, f"{uri}/{PIECES}"
    units = [unit for unit in find_units(uri, [PLAIN_TABLE]) if mark_of(unit.uri) not in marks]
    if units:
        steps.say("looking at what was read before")
    return in_tasks(spark, units, lambda task, some: scan_units(some, pieces, f"old-{task}", wanted), Scanned())


def _lift(spark: SparkSession, uri: str, table: str, wanted: Wanted) -> Lifted:
    """Puts names in the place of blank nodes, in all that was ever parsed."""
    target, pieces = f"{uri}/{table}", f"{uri}/{PIECES}"
    make_directory(target)
    return in_tasks(
        spark,
        shares_of(f"{uri}/{PARSED}/{NESTED}"),
        lambda task, some: lift_shares(some, target, pieces, f"{table}-{task}", wanted),
        Lifted(),
    )
