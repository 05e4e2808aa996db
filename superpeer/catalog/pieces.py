"""What the scan of a task leaves for those who bring together what belongs together: arrays, cut into buckets.

    NAME.runs       for each run of triples with one subject: the hash of the subject, where the run stands, and for
                    each of its triples the property and a hash of property and value
    NAME.values     for each value of a batch: the hash of property and value, the property, whether it is a blank
                    node, how often the batch has it, and where it stands first
    NAME.names      the properties and the files for which numbers stand in the others

Files of Arrow's, beside the catalogue, with a batch for each bucket, again and again. Whoever wants a bucket reads its
batches only. So what tasks exchange goes neither through Java nor through pickles, which took most of the time before,
and the file system is one that all of them see anyway. Pieces are deleted when the catalogue is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

from superpeer.catalog.grouping import by_bucket, gather_runs
from superpeer.catalog.inputs import open_uri

RUNS = pa.schema(
    [
        ("a", pa.uint64()),
        ("b", pa.uint64()),
        ("file", pa.uint32()),
        ("row", pa.uint32()),
        ("triples", pa.list_(pa.struct([("property", pa.uint32()), ("hash", pa.uint64())]))),
    ]
)
VALUES = pa.schema(
    [
        ("a", pa.uint64()),
        ("b", pa.uint64()),
        ("property", pa.uint32()),
        ("blank", pa.uint8()),
        ("count", pa.int64()),
        ("file", pa.uint32()),
        ("row", pa.uint32()),
    ]
)
_NAMES = pa.schema([("kind", pa.string()), ("name", pa.string())])


@dataclass(frozen=True, slots=True)
class Piece:
    """What one task left; `uri` has no extension."""

    uri: str


@dataclass(frozen=True)
class Runs:
    """Runs of triples with one subject. Run i has the triples from `bounds[i]` to `bounds[i + 1]`; its first stands in
    a row of a file, and the others in the rows after it."""

    a: Any
    b: Any
    file: Any
    row: Any
    bounds: Any
    properties: Any
    triples: Any


@dataclass(frozen=True)
class Values:
    """Values, each once, how often they occur, and where they stand first."""

    a: Any
    b: Any
    property: Any
    blank: Any
    count: Any
    file: Any
    row: Any

    def where(self, chosen: Any) -> Values:
        return Values(*(getattr(self, name)[chosen] for name in VALUES.names))

    @staticmethod
    def joined(some: Sequence[Values]) -> Values:
        return Values(*(np.concatenate([getattr(one, name) for one in some]) for name in VALUES.names))


class PieceWriter:
    """Writes the piece of one task. A task that runs again writes the same again."""

    def __init__(self, directory: str, name: str, buckets: int, has_runs: bool) -> None:
        self._piece = Piece(f"{directory}/{name}")
        self._buckets = buckets
        self._runs = self._opened("runs", RUNS) if has_runs else None
        self._values = self._opened("values", VALUES)

    def add_values(self, found: Values) -> None:
        order, bounds = by_bucket(found.a, self._buckets)
        ordered = found.where(order)
        columns = [pa.array(getattr(ordered, one.name), one.type) for one in VALUES]
        self._values.write(pa.RecordBatch.from_arrays(columns, schema=VALUES), bounds)

    def add_runs(self, found: Runs) -> None:
        assert self._runs is not None
        order, bounds = by_bucket(found.a, self._buckets)
        starts, ends = found.bounds[:-1], found.bounds[1:]
        properties, triples = np.empty_like(found.properties), np.empty_like(found.triples)
        gather_runs(order, starts, ends, found.properties, found.triples, properties, triples)
        offsets = np.concatenate([[0], np.cumsum((ends - starts)[order])]).astype(np.int32)
        inner = pa.StructArray.from_arrays(
            [pa.array(properties), pa.array(triples)], fields=list(RUNS[4].type.value_type)
        )
        columns = [pa.array(getattr(found, name)[order]) for name in RUNS.names[:4]]
        lists = pa.ListArray.from_arrays(pa.array(offsets), inner, type=RUNS[4].type)
        self._runs.write(pa.RecordBatch.from_arrays([*columns, lists], schema=RUNS), bounds)

    def close(self, properties: Sequence[str], files: Sequence[str]) -> Piece:
        for one in (self._runs, self._values):
            if one is not None:
                one.close()
        kinds = ["property"] * len(properties) + ["file"] * len(files)
        names = self._opened("names", _NAMES)
        names.write(
            pa.RecordBatch.from_arrays([pa.array(kinds, pa.string()), pa.array([*properties, *files])], schema=_NAMES)
        )
        names.close()
        return self._piece

    def _opened(self, extension: str, schema: pa.Schema) -> ArrowFile:
        return ArrowFile(f"{self._piece.uri}.{extension}", schema)


class ArrowFile:
    """A file of Arrow's, batch by batch."""

    def __init__(self, uri: str, schema: pa.Schema) -> None:
        system, path = open_uri(uri)
        self._target = system.open_output_stream(path)
        self._file = pa.ipc.new_file(self._target, schema)

    def write(self, batch: pa.RecordBatch, bounds: Any = None) -> None:
        """Writes a batch, cut at bounds if there are any."""
        if bounds is None:
            self._file.write_batch(batch)
            return
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._file.write_batch(batch.slice(start, end - start))

    def close(self) -> None:
        self._file.close()
        self._target.close()


def names_of(piece: Piece) -> tuple[list[str], list[str]]:
    """The properties and the files of a piece, each in the order of their numbers."""
    (names,) = batches(f"{piece.uri}.names")
    kinds, texts = names.column("kind").to_pylist(), names.column("name").to_pylist()
    pairs = list(zip(kinds, texts, strict=True))
    return [text for kind, text in pairs if kind == "property"], [text for kind, text in pairs if kind == "file"]


def read_runs(piece: Piece, bucket: int, buckets: int) -> Iterator[Runs]:
    """The runs of a bucket, batch by batch."""
    for batch in batches(f"{piece.uri}.runs", bucket, buckets):
        lists = batch.column("triples")
        inner = lists.flatten()
        bounds = np.asarray(lists.offsets).astype(np.int64)
        a, b, file, row = (np.asarray(batch.column(name)) for name in RUNS.names[:4])
        properties, triples = np.asarray(inner.field("property")), np.asarray(inner.field("hash"))
        yield Runs(a, b, file, row, bounds - bounds[0], properties, triples)


def read_values(piece: Piece, bucket: int, buckets: int) -> Iterator[Values]:
    """The values of a bucket, batch by batch."""
    for batch in batches(f"{piece.uri}.values", bucket, buckets):
        yield Values(*(np.asarray(column) for column in batch.columns))


def batches(uri: str, first: int = 0, step: int = 1) -> Iterator[pa.RecordBatch]:
    """Every `step`-th batch of such a file that has any rows."""
    system, path = open_uri(uri)
    local = isinstance(system, fs.LocalFileSystem)
    with pa.memory_map(path) if local else system.open_input_file(path) as source:
        file = pa.ipc.open_file(source)
        for number in range(first, file.num_record_batches, step):
            batch = file.get_batch(number)
            if len(batch):
                yield batch
