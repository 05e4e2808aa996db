"""What a catalogue knows of its resources, kept beside its triples, so that a profile need not look at them again.

    properties.parquet    property, resources, most_values, registers      `registers` are those of HyperLogLog
    pairs.parquet         first, second, resources                         how many resources have both properties
    shapes.parquet        properties, resources                            the sets of properties that most have
    repeated.parquet      file, row                                        triples that came before, if they are few

Properties are given by their numbers, their places in the manifest's list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from superpeer.catalog.inputs import open_uri
from superpeer.catalog.records import Records, Shape
from superpeer.catalog.scanning import Unit

REPEATED = "repeated.parquet"

_PROPERTIES = pa.schema(
    [("property", pa.int64()), ("resources", pa.int64()), ("most_values", pa.int64()), ("registers", pa.binary())]
)
_PAIRS = pa.schema([("first", pa.int64()), ("second", pa.int64()), ("resources", pa.int64())])
_SHAPES = pa.schema([("properties", pa.list_(pa.int64())), ("resources", pa.int64())])
_REPEATED = pa.schema([("file", pa.string()), ("row", pa.int64())])


@dataclass(frozen=True)
class Knowledge:
    """Arrays are by property. `registers` has those that resources have."""

    resources: Any
    most_values: Any
    registers: dict[int, Any]
    pairs: list[tuple[int, int, int]]
    shapes: list[tuple[Shape, int]]


def write_knowledge(uri: str, records: Records, units: Sequence[Unit]) -> None:
    system, path = open_uri(uri)
    system.create_dir(path, recursive=True)
    found = records.found
    names = sorted(found.registers)
    columns: list[Any] = [
        names,
        found.having[names],
        found.most[names],
        [found.registers[name].tobytes() for name in names],
    ]
    repeats = [[units[number].name for number in found.repeats["unit"].tolist()], found.repeats["row"].tolist()]
    pairs = [(*pair, resources) for pair, resources in records.pairs.items()]
    for name, schema, arrays in (
        ("properties.parquet", _PROPERTIES, columns),
        ("pairs.parquet", _PAIRS, list(zip(*pairs, strict=True)) or [()] * 3),
        ("shapes.parquet", _SHAPES, list(zip(*records.shapes, strict=True)) or [()] * 2),
        (REPEATED, _REPEATED, repeats),
    ):
        held = [pa.array(array, one.type) for array, one in zip(arrays, schema, strict=True)]
        pq.write_table(pa.Table.from_arrays(held, schema=schema), f"{path}/{name}", filesystem=system)


def read_knowledge(uri: str, properties: int) -> Knowledge:
    system, path = open_uri(uri)

    def rows(name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pq.read_table(f"{path}/{name}", filesystem=system).to_pylist()
        return found

    resources, most = np.zeros(properties, np.int64), np.zeros(properties, np.int64)
    registers = {}
    for row in rows("properties.parquet"):
        resources[row["property"]], most[row["property"]] = row["resources"], row["most_values"]
        registers[row["property"]] = np.frombuffer(row["registers"], np.uint8)
    pairs = [(row["first"], row["second"], row["resources"]) for row in rows("pairs.parquet")]
    shapes = [(tuple(row["properties"]), row["resources"]) for row in rows("shapes.parquet")]
    return Knowledge(resources, most, registers, pairs, shapes)
