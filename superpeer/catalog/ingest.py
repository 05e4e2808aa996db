"""From files to a catalogue in Parquet: parsed once, kept beside the output, used again while the files are the same.

    DIR/manifest.json     which files were read, and what was counted
    DIR/parsed/plain      triples without blank nodes            (schema: `superpeer.catalog.columns`)
    DIR/parsed/nested     triples with a blank node as subject or object, as they were read
    DIR/parsed/rejected   what was not read, with the reason
    DIR/lifted-N          triples with blank objects, after names were put in their place
    DIR/distinct-N        all triples, each once, if many came more than once
    DIR/about-N           what is known of resources, see `superpeer.catalog.knowledge`; also which triples came before,
                          if they are few

Tasks write Parquet themselves, under the name of their split: a task that runs again writes the same file again.
Files that were added since are read in addition; if one changed or went, everything is read anew. Whatever a job left
that did not come to its end belongs to no manifest, and is deleted by the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from superpeer.catalog.columns import BLANK, REJECTED, TRIPLES, file_mark
from superpeer.catalog.inputs import File, Split, UnreadableCatalogue, cut, find_files, open_uri, uri_of
from superpeer.catalog.knowledge import REPEATED, Knowledge, read_knowledge, write_knowledge
from superpeer.catalog.lifting import count_anonymous, lifted
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.reading import Reading, read_split, rejected_batch
from superpeer.catalog.records import LITTLE, find_records
from superpeer.catalog.scanning import Unit, find_units
from superpeer.catalog.session import cores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = 2
_OURS = re.compile(r"parsed|(?:lifted|distinct|about)-[0-9]+")
MANIFEST = "manifest.json"
PARSED = "parsed"
ROWS_IN_GROUP = 250_000


@dataclass(frozen=True)
class Manifest:
    """What a catalogue was made of. `read` are triples as read, `triples` those that are left: lifted, each once.
    `properties` are all that were read; tasks know them by their numbers."""

    files: tuple[File, ...]
    tables: tuple[str, ...]
    properties: tuple[str, ...]
    read: int
    triples: int
    resources: int
    rejected: int
    undecided: int
    nested: int
    repeated: int
    anonymous: int
    has_repeats: bool = False
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
        tables, properties = tuple(data.pop("tables")), tuple(data.pop("properties"))
        return Manifest(files=files, tables=tables, properties=properties, **data)


@dataclass(frozen=True)
class Catalogue:
    """A catalogue in Parquet."""

    uri: str
    manifest: Manifest

    def triples(self, spark: SparkSession) -> DataFrame:
        """All triples with a URI as subject, each once, names lifted: (subject, predicate, object, kind, language,
        datatype)."""
        if self.repeats is None:
            return _table(spark, self.uri, self.manifest.tables).drop("subject_blank")
        return _without(spark, self.uri, self.manifest.tables, self.repeats).drop("subject_blank")

    def units(self) -> list[Unit]:
        return find_units(self.uri, self.manifest.tables)

    @property
    def repeats(self) -> str | None:
        """The table of triples that came before, if there is one."""
        return f"{self.about}/{REPEATED}" if self.manifest.has_repeats else None

    @property
    def about(self) -> str:
        return f"{self.uri}/about-{self.manifest.generation}"

    def knowledge(self) -> Knowledge:
        return read_knowledge(self.about, len(self.manifest.properties))

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
    if before and not set(before.files) <= set(files):
        before = None
    known = set(before.files) if before else set()
    _delete_unknown(uri, before)
    if before and known == set(files):
        return Catalogue(uri, before)
    fresh = [file for file in files if file not in known]
    steps.say(f"reading {len(fresh):,} files" if len(fresh) > 1 else f"reading {fresh[0].uri.rpartition('/')[2]}")
    counted = _parse(spark, fresh, f"{uri}/{PARSED}")
    manifest = _settle(spark, uri, counted, before, files, steps)
    _write_text(uri, MANIFEST, manifest.to_json())
    _delete_unknown(uri, manifest)
    return Catalogue(uri, manifest)


def require_input(paths: Sequence[str]) -> None:
    """Complains of what cannot be read at all. It needs no Spark, so it answers at once."""
    if len(paths) != 1 or opened(paths[0]) is None:
        find_files(paths)


def opened(path: str) -> Catalogue | None:
    """The catalogue that a directory holds, if it holds one."""
    uri = uri_of(path).rstrip("/")
    manifest = _read_manifest(uri)
    return Catalogue(uri, manifest) if manifest else None


def _parse(spark: SparkSession, files: list[File], target: str) -> Parsed:
    for part in ("plain", "nested", "rejected"):
        system, path = open_uri(target)
        system.create_dir(f"{path}/{part}", recursive=True)
    splits = cut(files, cores(spark))
    tasks = spark.sparkContext.parallelize(splits, len(splits))
    return tasks.map(lambda split: _read_into(split, target)).reduce(add)


@dataclass(frozen=True)
class Parsed:
    """How many rows were written, how many lines were undecided, and which properties there are."""

    plain: int
    nested: int
    rejected: int
    undecided: int
    properties: frozenset[str]

    def __add__(self, other: Parsed) -> Parsed:
        return Parsed(
            self.plain + other.plain,
            self.nested + other.nested,
            self.rejected + other.rejected,
            self.undecided + other.undecided,
            self.properties | other.properties,
        )


def _read_into(split: Split, target: str) -> Parsed:
    """Runs in a task: reads a split and writes its tables."""
    pa.set_cpu_count(1)
    reading = Reading()
    properties: set[str] = set()
    name = f"{file_mark(split.file.uri)}-{split.start_bytes:015d}.parquet"
    plain, nested = _Writer(f"{target}/plain", name, TRIPLES), _Writer(f"{target}/nested", name, TRIPLES)
    with plain, nested:
        for batch in read_split(split, reading):
            properties.update(batch.column("predicate").dictionary.to_pylist())
            is_nested = _is_nested(batch)
            if is_nested is None:
                plain.write(batch)
            else:
                nested.write(batch.filter(is_nested))
                plain.write(batch.filter(pc.invert(is_nested)))
    with _Writer(f"{target}/rejected", name, REJECTED) as rejected:
        if reading.rejected:
            rejected.write(rejected_batch(reading.rejected))
    return Parsed(plain.rows, nested.rows, rejected.rows, reading.undecided, frozenset(properties))


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
    counted: Parsed,
    before: Manifest | None,
    files: Iterable[File],
    steps: Steps,
) -> Manifest:
    """Lifts names and drops what is there twice."""
    generation = before.generation + 1 if before else 0
    nested = counted.nested + (before.nested if before else 0)
    read = counted.plain + counted.nested + (before.read if before else 0)
    tables = [f"{PARSED}/plain"] if read > nested else []
    anonymous = 0
    if nested:
        steps.say("lifting the names of blank nodes")
        rows = spark.read.parquet(f"{uri}/{PARSED}/nested")
        table = f"lifted-{generation}"
        lifted(rows).write.mode("overwrite").parquet(f"{uri}/{table}")
        anonymous = count_anonymous(rows)
        tables.append(table)
    steps.say("looking at resources")
    names = sorted(counted.properties.union(before.properties if before else ()))
    units = find_units(uri, tables)
    found = find_records(spark, units, names, read)
    repeated = found.found.repeated
    write_knowledge(f"{uri}/about-{generation}", found, units)
    if repeated > LITTLE:
        everything = _table(spark, uri, tables).drop("subject_blank")
        tables = [f"distinct-{generation}"]
        everything.dropDuplicates().write.mode("overwrite").parquet(f"{uri}/{tables[0]}")
    return Manifest(
        tuple(files),
        tuple(tables) if found.found.triples else (),
        tuple(names),
        read,
        found.found.triples - repeated,
        found.found.resources,
        counted.rejected + (before.rejected if before else 0),
        counted.undecided + (before.undecided if before else 0),
        nested,
        repeated,
        anonymous,
        0 < repeated <= LITTLE,
        generation,
    )


def _without(spark: SparkSession, uri: str, tables: Sequence[str], repeats: str) -> DataFrame:
    """Tables without the rows that a table of files and rows lists."""
    from pyspark.sql import functions as f

    listed = f.broadcast(spark.read.parquet(repeats))
    kept = [
        spark.read.parquet(f"{uri}/{table}")
        .withColumns({"file": f.col("_metadata.file_name"), "row": f.col("_metadata.row_index")})
        .join(listed, ["file", "row"], "left_anti")
        .drop("file", "row")
        for table in tables
    ]
    return reduce(lambda one, other: one.unionByName(other), kept)


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


def _delete_unknown(uri: str, manifest: Manifest | None) -> None:
    """Deletes what a job left that was changed or did not end, and nothing that is not ours."""
    system, path = open_uri(uri)
    kept = {PARSED, *manifest.tables, f"about-{manifest.generation}"} if manifest else set()
    for info in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
        if info.type == fs.FileType.Directory and _OURS.fullmatch(info.base_name) and info.base_name not in kept:
            system.delete_dir(info.path)
    marks = {file_mark(file.uri) for file in manifest.files} if manifest else set()
    for info in system.get_file_info(fs.FileSelector(f"{path}/{PARSED}", recursive=True, allow_not_found=True)):
        if info.type == fs.FileType.File and info.base_name.partition("-")[0] not in marks:
            system.delete_file(info.path)
