"""From files to a catalogue in Parquet: parsed once, kept beside the output, used again while the files are the same.

    DIR/manifest.json     which files were read, and what was counted
    DIR/parsed/plain      triples without blank nodes            (schema: `superpeer.catalog.columns`)
    DIR/parsed/nested     triples with a blank node as subject or object, as they were read
    DIR/parsed/rejected   what was not read, with the reason
    DIR/lifted-N          triples with blank objects, after names were put in their place
    DIR/repeated-N        what came more than once, each once, where this is little; else
    DIR/distinct-N        all triples, each once

Tasks write Parquet themselves, under the name of their split: a task that runs again writes the same file again.
Files that were added since are read in addition; if one changed or went, everything is read anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from superpeer.catalog.columns import BLANK, REJECTED, TRIPLES, file_mark
from superpeer.catalog.inputs import File, Split, UnreadableCatalogue, cut, find_files, open_uri, uri_of
from superpeer.catalog.lifting import count_anonymous, lifted
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.reading import Reading, read_split, rejected_batch
from superpeer.catalog.session import cores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = 1
MANIFEST = "manifest.json"
PARSED = "parsed"
ROWS_IN_GROUP = 250_000
LITTLE = 100_000
"""Up to so many repeated triples are left out on reading; with more, the table is written anew."""

_SUMMARY = pa.schema(
    [("plain", pa.int64()), ("nested", pa.int64()), ("rejected", pa.int64()), ("undecided", pa.int64())]
)


@dataclass(frozen=True)
class Manifest:
    """What a catalogue was made of. `read` are triples as read, `triples` those that are left: lifted, each once."""

    files: tuple[File, ...]
    tables: tuple[str, ...]
    read: int
    triples: int
    rejected: int
    undecided: int
    nested: int
    repeated: int
    anonymous: int
    repeats: str | None = None
    generation: int = 0
    version: int = VERSION

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Manifest | None:
        data = json.loads(text)
        if data.get("version") != VERSION:
            return None
        files = tuple(File(**file) for file in data.pop("files"))
        return Manifest(files=files, tables=tuple(data.pop("tables")), **data)


@dataclass(frozen=True)
class Catalogue:
    """A catalogue in Parquet."""

    uri: str
    manifest: Manifest

    def triples(self, spark: SparkSession) -> DataFrame:
        """All triples with a URI as subject, each once, names lifted: (subject, predicate, object, kind, language,
        datatype)."""
        found = _table(spark, self.uri, self.manifest.tables).drop("subject_blank")
        if self.manifest.repeats is None:
            return found
        return _with_repeats_once(found, spark.read.parquet(f"{self.uri}/{self.manifest.repeats}"))

    def rejected(self, spark: SparkSession) -> DataFrame:
        if not self.manifest.rejected:
            return spark.createDataFrame([], "file string, line long, offset long, text string, reason string")
        return spark.read.parquet(f"{self.uri}/{PARSED}/rejected")


def convert(spark: SparkSession, paths: Sequence[str], directory: str, steps: Steps = SILENT) -> Catalogue:
    """Reads files into a directory; what is there already and unchanged is not read again. A single path that is itself
    such a directory is taken as it is."""
    if len(paths) == 1 and (ready := opened(paths[0])) is not None:
        return ready
    uri = uri_of(directory).rstrip("/")
    files = find_files(paths)
    before = _read_manifest(uri)
    known = set(before.files) if before else set()
    if before and known == set(files):
        return Catalogue(uri, before)
    if not known < set(files):
        before, known = None, set()
        _delete(uri)
    fresh = [file for file in files if file not in known]
    steps.say(f"reading {len(fresh):,} files" if len(fresh) > 1 else f"reading {fresh[0].uri.rpartition('/')[2]}")
    counted = _parse(spark, fresh, f"{uri}/{PARSED}")
    manifest = _settle(spark, uri, counted, before, files, steps)
    _write_text(uri, MANIFEST, manifest.to_json())
    if before:
        for table in {*before.tables, before.repeats} - {*manifest.tables, manifest.repeats, None}:
            _delete(f"{uri}/{table}")
    return Catalogue(uri, manifest)


def opened(path: str) -> Catalogue | None:
    """The catalogue that a directory holds, if it holds one."""
    uri = uri_of(path).rstrip("/")
    manifest = _read_manifest(uri)
    return Catalogue(uri, manifest) if manifest else None


def _parse(spark: SparkSession, files: list[File], target: str) -> dict[str, int]:
    for part in ("plain", "nested", "rejected"):
        system, path = open_uri(target)
        system.create_dir(f"{path}/{part}", recursive=True)
    splits = cut(files, cores(spark))
    tasks = spark.sparkContext.parallelize([(split,) for split in splits], len(splits))
    frame = tasks.mapPartitions(lambda rows: (_read_into(split, target) for (split,) in rows))
    totals = frame.reduce(lambda one, other: tuple(a + b for a, b in zip(one, other, strict=True)))
    return dict(zip(_SUMMARY.names, totals, strict=True))


def _read_into(split: Split, target: str) -> tuple[int, ...]:
    """Runs in a task: reads a split, writes its tables, and returns how many rows they have."""
    pa.set_cpu_count(1)
    reading = Reading()
    name = f"{file_mark(split.file.uri)}-{split.start_bytes:015d}.parquet"
    plain, nested = _Writer(f"{target}/plain", name, TRIPLES), _Writer(f"{target}/nested", name, TRIPLES)
    with plain, nested:
        for batch in read_split(split, reading):
            is_nested = _is_nested(batch)
            if is_nested is None:
                plain.write(batch)
            else:
                nested.write(batch.filter(is_nested))
                plain.write(batch.filter(pc.invert(is_nested)))
    with _Writer(f"{target}/rejected", name, REJECTED) as rejected:
        if reading.rejected:
            rejected.write(rejected_batch(reading.rejected))
    return plain.rows, nested.rows, rejected.rows, reading.undecided


def _is_nested(batch: pa.RecordBatch) -> pa.Array | None:
    """Which rows have a blank node; None where none has."""
    kinds = batch.column("kind")
    subjects = batch.column("subject_blank")
    some = BLANK in kinds.dictionary.to_pylist()
    blank = pc.or_(subjects, pc.equal(kinds, BLANK)) if some else subjects
    return blank if pc.any(blank).as_py() else None


class _Writer:
    """A Parquet file that comes into being with its first row, and under its name when it is complete."""

    def __init__(self, directory: str, name: str, schema: pa.Schema) -> None:
        self._system, path = open_uri(directory)
        self._path, self._draft = f"{path}/{name}", f"{path}/_{name}.draft"
        self._schema = schema
        self._file: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self.rows = 0

    def __enter__(self) -> _Writer:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            self.rows += len(batch)
            self._held.append(batch)
            self._held_rows += len(batch)
            if self._held_rows >= ROWS_IN_GROUP:
                self._flush()

    def _flush(self) -> None:
        if self._file is None:
            self._file = pq.ParquetWriter(
                self._draft, self._schema, filesystem=self._system, compression="zstd", compression_level=1
            )
        table = pa.Table.from_batches(self._held, self._schema).unify_dictionaries()
        self._file.write_table(table)
        self._held, self._held_rows = [], 0

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self._held:
            self._flush()
        if self._file is not None:
            self._file.close()
            if kind is None:
                self._system.move(self._draft, self._path)


def _settle(
    spark: SparkSession,
    uri: str,
    counted: dict[str, int],
    before: Manifest | None,
    files: Iterable[File],
    steps: Steps,
) -> Manifest:
    """Lifts names and drops what is there twice."""
    generation = before.generation + 1 if before else 0
    nested = counted["nested"] + (before.nested if before else 0)
    read = counted["plain"] + counted["nested"] + (before.read if before else 0)
    tables = [f"{PARSED}/plain"] if read > nested else []
    anonymous = 0
    if nested:
        steps.say("lifting the names of blank nodes")
        rows = spark.read.parquet(f"{uri}/{PARSED}/nested")
        table = f"lifted-{generation}"
        lifted(rows).write.mode("overwrite").parquet(f"{uri}/{table}")
        anonymous = count_anonymous(rows)
        tables.append(table)
    steps.say("looking for triples that come more than once")
    all_triples = _table(spark, uri, tables).drop("subject_blank")
    total, repeated = _count_repeated(all_triples)
    repeats = None
    if repeated and repeated > LITTLE:
        tables = [f"distinct-{generation}"]
        all_triples.dropDuplicates().write.mode("overwrite").parquet(f"{uri}/{tables[0]}")
    elif repeated:
        repeats = f"repeated-{generation}"
        _repeats(all_triples).write.mode("overwrite").parquet(f"{uri}/{repeats}")
    manifest = Manifest(
        tuple(files),
        tuple(tables),
        read,
        total - repeated,
        counted["rejected"] + (before.rejected if before else 0),
        counted["undecided"] + (before.undecided if before else 0),
        nested,
        repeated,
        anonymous,
        repeats,
        generation,
    )
    return manifest if manifest.triples else replace(manifest, tables=())


def _marked(triples: DataFrame) -> DataFrame:
    """With two hashes of the whole triple: moving these costs a tenth of moving the triples."""
    from pyspark.sql import functions as f

    columns = triples.columns
    return triples.select(*columns, f.xxhash64(*columns).alias("a"), f.hash(*reversed(columns)).alias("b"))


def _count_repeated(triples: DataFrame) -> tuple[int, int]:
    """How many rows there are, and how many of them are not the first of their kind."""
    from pyspark.sql import functions as f

    counted = _marked(triples).groupBy("a", "b").agg(f.count("*").alias("n"))
    row = counted.agg(f.sum("n").alias("total"), f.count("*").alias("distinct")).first()
    assert row is not None
    total = row["total"] or 0
    return total, total - row["distinct"]


def _repeats(triples: DataFrame) -> DataFrame:
    """The rows that are there more than once, once, with their hashes."""
    from pyspark.sql import functions as f

    marked = _marked(triples)
    often = marked.groupBy("a", "b").agg(f.count("*").alias("n")).where(f.col("n") > 1).drop("n")
    return marked.join(f.broadcast(often), ["a", "b"]).dropDuplicates()


def _with_repeats_once(triples: DataFrame, repeats: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    others = _marked(triples).join(f.broadcast(repeats.select("a", "b")), ["a", "b"], "left_anti")
    return others.unionByName(repeats).drop("a", "b")


def _table(spark: SparkSession, uri: str, tables: Sequence[str]) -> DataFrame:
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


def _read_manifest(uri: str) -> Manifest | None:
    system, path = open_uri(uri)
    try:
        with system.open_input_file(f"{path}/{MANIFEST}") as file:
            return Manifest.from_json(file.read().decode())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise UnreadableCatalogue(f"{uri}/{MANIFEST} is damaged ({error}); delete the directory") from None


def _write_text(uri: str, name: str, text: str) -> None:
    system, path = open_uri(uri)
    system.create_dir(path, recursive=True)
    with system.open_output_stream(f"{path}/{name}.draft") as file:
        file.write(text.encode())
    system.move(f"{path}/{name}.draft", f"{path}/{name}")


def _delete(uri: str) -> None:
    system, path = open_uri(uri)
    try:
        system.delete_dir(path)
    except FileNotFoundError:
        return
