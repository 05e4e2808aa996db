"""Triples as columns: the table that every way of reading RDF fills and that everything else reads.

    subject        the IRI, or the label of a blank node
    subject_blank  whether the subject is a blank node
    predicate      the IRI
    object         the IRI, the label of a blank node, or the lexical form of a literal
    kind           `uri`, `literal` or `blank`
    language       the language tag of a literal in lower case, else empty
    datatype       the datatype of a literal; empty where it is xsd:string or there is a language

A blank node belongs to its file, so its label here is the label in the file behind twelve digits that stand for the
file. Columns are never null: an empty string says "none", which hashes and compares like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from qel.names import RDF, XSD

URI, LITERAL, BLANK = "uri", "literal", "blank"

PLAIN_DATATYPES = frozenset({"", XSD + "string", RDF + "langString"})

DICTIONARY = pa.dictionary(pa.int32(), pa.string())

TRIPLES = pa.schema(
    [
        ("subject", pa.string()),
        ("subject_blank", pa.bool_()),
        ("predicate", DICTIONARY),
        ("object", pa.string()),
        ("kind", DICTIONARY),
        ("language", DICTIONARY),
        ("datatype", DICTIONARY),
    ]
)

REJECTED = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("offset", pa.int64()),
        ("text", pa.string()),
        ("reason", pa.string()),
    ]
)

MAX_REJECTED_TEXT = 1_000

Row = tuple[str, bool, str, str, str, str, str]


def file_mark(uri: str) -> str:
    """The digits that stand for a file in the labels of its blank nodes."""
    return blake2b(uri.encode(), digest_size=6).hexdigest()


def mark_of(table: str) -> str:
    """The mark of the file that a table is of, which its name begins with."""
    return table.rpartition("/")[2].partition("-")[0]


def scoped(mark: str, label: str) -> str:
    """The label of a blank node that is not mistaken for one of another file."""
    return f"{mark}_{label}"


def is_kind(rows: pa.RecordBatch, kind: str) -> Any:
    """Which rows have an object of a kind."""
    kinds = rows.column("kind")
    return np.array([one == kind for one in kinds.dictionary.to_pylist()], bool)[codes_of(kinds)]


def blank_ends(rows: pa.RecordBatch) -> tuple[Any, Any]:
    """Which rows have a blank node as subject, and which as object."""
    return rows.column("subject_blank").to_numpy(zero_copy_only=False), is_kind(rows, BLANK)


def codes_of(column: pa.DictionaryArray) -> Any:
    return column.indices.to_numpy(zero_copy_only=False)


def row_of(triple: Any, mark: str) -> Row:
    """A triple of pyoxigraph as a row."""
    subject, node = triple.subject, triple.object
    blank = type(subject).__name__ == "BlankNode"
    name = scoped(mark, subject.value) if blank else subject.value
    match type(node).__name__:
        case "NamedNode":
            return (name, blank, triple.predicate.value, node.value, URI, "", "")
        case "BlankNode":
            return (name, blank, triple.predicate.value, scoped(mark, node.value), BLANK, "", "")
    datatype = node.datatype.value
    language = (node.language or "").lower()
    return (
        *(name, blank, triple.predicate.value, node.value, LITERAL, language),
        "" if datatype in PLAIN_DATATYPES else datatype,
    )


def batch_of(rows: Iterable[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(TRIPLES)
    arrays = [
        pa.array(column, pa.string() if field.type == DICTIONARY else field.type)
        for column, field in zip(columns, TRIPLES, strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        [
            array.dictionary_encode() if field.type == DICTIONARY else array
            for array, field in zip(arrays, TRIPLES, strict=True)
        ],
        schema=TRIPLES,
    )


def batches_of(rows: Iterable[Row], size: int = 50_000) -> Iterator[pa.RecordBatch]:
    held: list[Row] = []
    for row in rows:
        held.append(row)
        if len(held) >= size:
            yield batch_of(held)
            held = []
    if held:
        yield batch_of(held)
