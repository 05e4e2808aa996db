"""A catalogue in Parquet, and what it says of itself.

DIR/manifest.json     which files were read, and what was counted
DIR/parsed/plain      triples without blank nodes            (schema: `superpeer.catalog.columns`)
DIR/parsed/nested     triples with a blank node as subject or object, as they were read
DIR/parsed/rejected   what was not read, with the reason
DIR/lifted-N          triples with blank objects, after names were put in their place
DIR/distinct-N        all triples, each once, if many came more than once
DIR/about-N           the profile; also which triples came before, if they are few
DIR/pieces            what tasks leave for others while the catalogue is made
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from superpeer.catalog.columns import file_mark, mark_of
from superpeer.catalog.inputs import File, UnreadableCatalogue, open_uri, uri_of
from superpeer.catalog.parsing import PLAIN, REJECTED_ROWS
from superpeer.catalog.profile import Profile
from superpeer.catalog.surveying import PIECES, Surveyed, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = 3
PARSED = "parsed"
PLAIN_TABLE = f"{PARSED}/{PLAIN}"
MANIFEST = "manifest.json"
_OURS = re.compile(rf"{PARSED}|{PIECES}|(?:lifted|distinct|about)-[0-9]+")
_PROFILE, _REPEATED = "profile.json", "repeated.parquet"
_ROWS = pa.schema([("file", pa.string()), ("row", pa.int64())])


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
    is_estimated: bool
    has_repeats: bool
    generation: int
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
        if not self.manifest.has_repeats:
            return table_of(spark, self.uri, self.manifest.tables).drop("subject_blank")
        return _without(spark, self.uri, self.manifest.tables, f"{self._about}/{_REPEATED}").drop("subject_blank")

    def profile(self) -> Profile:
        system, path = open_uri(f"{self._about}/{_PROFILE}")
        with system.open_input_file(path) as file:
            return msgspec.json.decode(file.read(), type=Profile)

    def rejected(self, spark: SparkSession) -> DataFrame:
        if not self.manifest.rejected:
            return spark.createDataFrame([], "file string, line long, offset long, text string, reason string")
        return spark.read.parquet(f"{self.uri}/{PARSED}/{REJECTED_ROWS}")

    @property
    def _about(self) -> str:
        return f"{self.uri}/{about(self.manifest.generation)}"


def about(generation: int) -> str:
    return f"about-{generation}"


def opened(path: str) -> Catalogue | None:
    """The catalogue that a directory holds, if it holds one."""
    uri = uri_of(path).rstrip("/")
    manifest = read_manifest(uri)
    return Catalogue(uri, manifest) if manifest else None


def read_manifest(uri: str) -> Manifest | None:
    system, path = open_uri(uri)
    try:
        with system.open_input_file(f"{path}/{MANIFEST}") as file:
            return Manifest.from_json(file.read().decode())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise UnreadableCatalogue(f"{uri}/{MANIFEST} is damaged ({error}); delete the directory") from None


def write_about(uri: str, generation: int, found: Surveyed) -> None:
    """Writes what was found out, which a manifest then refers to."""
    system, path = open_uri(f"{uri}/{about(generation)}")
    _write(f"{uri}/{about(generation)}", _PROFILE, msgspec.json.encode(found.profile))
    files = [uri.rpartition("/")[2] for uri, rows in found.repeats for _ in rows]
    rows = [row for _, rows in found.repeats for row in rows.tolist()]
    table = pa.Table.from_arrays([pa.array(files, pa.string()), pa.array(rows, pa.int64())], schema=_ROWS)
    pq.write_table(table, f"{path}/{_REPEATED}", filesystem=system)


def write_manifest(uri: str, manifest: Manifest) -> None:
    _write(uri, MANIFEST, manifest.to_json().encode())


def delete_unknown(uri: str, manifest: Manifest | None) -> None:
    """Deletes what a job left that was changed or did not end, and nothing that is not ours."""
    system, path = open_uri(uri)
    kept = {PARSED, *manifest.tables, about(manifest.generation)} if manifest else set()
    for info in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
        if info.type == fs.FileType.Directory and _OURS.fullmatch(info.base_name) and info.base_name not in kept:
            system.delete_dir(info.path)
    marks = {file_mark(file.uri) for file in manifest.files} if manifest else set()
    for info in system.get_file_info(fs.FileSelector(f"{path}/{PARSED}", recursive=True, allow_not_found=True)):
        if info.type == fs.FileType.File and mark_of(info.base_name) not in marks:
            system.delete_file(info.path)


def _write(uri: str, name: str, data: bytes) -> None:
    system, path = open_uri(uri)
    system.create_dir(path, recursive=True)
    with system.open_output_stream(f"{path}/{name}.draft") as file:
        file.write(data)
    system.move(f"{path}/{name}.draft", f"{path}/{name}")


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
