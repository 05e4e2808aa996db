"""What a command leaves in its output directory: tables in Parquet, a summary in JSON, a report in HTML.

Rows come as dataclasses; the columns of a table are the fields of the class, so the class is the schema. The tables
are small, summaries all of them, and are written from here; what is large is written by Spark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from superpeer.errors import SuperpeerError

_TYPES: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    float: pa.float64(),
    tuple[str, ...]: pa.list_(pa.string()),
    tuple[tuple[str, int], ...]: pa.list_(pa.struct([("name", pa.string()), ("count", pa.int64())])),
    int | None: pa.decimal128(38, 0),
    str | None: pa.string(),
}


class UnwritableOutput(SuperpeerError):
    """The output directory cannot be made or written."""


def prepare(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableOutput(f"--out {directory} cannot be made a directory: {error.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UnwritableOutput(f"--out {directory} cannot be written")
    return directory


def schema_of(row: type[Any]) -> pa.Schema:
    hints = get_type_hints(row)
    return pa.schema([(one.name, _TYPES[hints[one.name]]) for one in fields(row)])


def write_table(directory: Path, name: str, row: type[Any], rows: Iterable[Any]) -> None:
    """One Parquet file, `name.parquet`, in the order of the rows."""
    schema = schema_of(row)
    data = [{key: _plain(value) for key, value in _fields(one)} for one in rows]
    pq.write_table(pa.Table.from_pylist(data, schema), directory / f"{name}.parquet")


def write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, default=_to_data) + "\n", encoding="utf-8")


def _fields(one: Any) -> Iterable[tuple[str, Any]]:
    return ((field.name, getattr(one, field.name)) for field in fields(one))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return [{"name": name, "count": count} for name, count in value]
    return list(value) if isinstance(value, tuple) else value


def _to_data(value: Any) -> Any:
    if isinstance(value, Sequence | set | frozenset):
        return list(value)
    return asdict(value)
