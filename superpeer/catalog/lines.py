"""N-Triples and N-Quads, block by block, in columns: no Python object for a triple.

Compiled loops (`superpeer.catalog.line_kernels`) cut lines that are surely well formed into terms. They are stricter
than the standard: plain IRIs in ASCII, blank nodes with simple labels, everyday language tags, the escapes of one
character, one space between terms. What they do not accept is *undecided*: it may be right all the same, and pyoxigraph
says so; see `superpeer.catalog.reading`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from superpeer.catalog.columns import BLANK, LITERAL, PLAIN_DATATYPES, TRIPLES, URI
from superpeer.catalog.line_kernels import BLANK as BLANK_KIND
from superpeer.catalog.line_kernels import BLANK_SUBJECT, ESCAPED, KIND, split_lines
from superpeer.catalog.octets import copy_texts

_NEWLINE = ord("\n")
_NOTHING = re.compile(rb"[ \t]*(?:#[^\n]*)?\r?\n")

# A control character stands for an escaped backslash while the other escapes are replaced: a line that has any of its
# own is undecided.
_ESCAPES = (
    ("\\\\", "\x01"),
    ('\\"', '"'),
    ("\\'", "'"),
    ("\\n", "\n"),
    ("\\r", "\r"),
    ("\\t", "\t"),
    ("\\b", "\b"),
    ("\\f", "\f"),
    ("\x01", "\\"),
)

_KINDS = pa.array([URI, LITERAL, BLANK])


@dataclass(frozen=True)
class Block:
    """What a block of lines holds: triples in columns, and undecided lines with where they start in the block."""

    triples: pa.RecordBatch
    undecided: list[tuple[int, bytes]]


def read_block(block: bytes, quads: bool, mark: str) -> Block:
    """Reads whole lines, each of which ends in a line break."""
    assert not block or block.endswith(b"\n")
    data = np.frombuffer(block, np.uint8)
    lines = int(np.count_nonzero(data == _NEWLINE))
    terms, codes = np.empty((4, lines), np.int32), np.empty((2, lines), np.int32)
    marks, undecided = np.empty(lines, np.uint8), np.empty((lines, 2), np.int32)
    names, tails = _numbering(lines), _numbering(lines)
    count, missed, names_count, tails_count = split_lines(data, quads, terms, codes, marks, undecided, names, tails)
    marks = marks[:count]
    triples = _columns(
        (data, terms[:, :count], marks, mark),
        _dictionary(codes[0, :count], _texts(block, names, names_count)),
        codes[1, :count],
        _texts(block, tails, tails_count),
    )
    rest = ((start, block[start:end]) for start, end in undecided[:missed].tolist())
    return Block(triples, [(start, line) for start, line in rest if not _NOTHING.fullmatch(line)])


def _numbering(lines: int) -> tuple[Any, Any, Any]:
    """Room for a number for each line, see `line_kernels`."""
    return np.zeros(1 << (2 * lines).bit_length(), np.int32), np.empty(lines, np.int32), np.empty(lines, np.int32)


def _texts(block: bytes, numbering: tuple[Any, Any, Any], count: int) -> list[str]:
    _, starts, ends = numbering
    places = zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)
    return [block[start:end].decode("ascii") for start, end in places]


def _columns(
    lines: tuple[Any, Any, Any, str], predicates: pa.DictionaryArray, tail_of: Any, tails: list[str]
) -> pa.RecordBatch:
    data, terms, marks, mark = lines
    kinds = marks & KIND
    subject_blank = (marks & BLANK_SUBJECT) != 0
    # What follows a literal is a language or a datatype; few are distinct.
    languages = [tail[1:].lower() if tail.startswith("@") else "" for tail in tails]
    named = (tail[3:-1] if tail.startswith("^") else "" for tail in tails)
    datatypes = ["" if name in PLAIN_DATATYPES else name for name in named]
    objects = _unescape(_cut(data, terms[2], terms[3]), (marks & ESCAPED) != 0)
    return pa.RecordBatch.from_arrays(
        [
            _scope(_cut(data, terms[0], terms[1]), subject_blank, mark),
            pa.array(subject_blank),
            predicates,
            _scope(objects, kinds == BLANK_KIND, mark),
            pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int32)), _KINDS),
            _dictionary(tail_of, languages),
            _dictionary(tail_of, datatypes),
        ],
        schema=TRIPLES,
    )


def _cut(data: Any, starts: Any, ends: Any) -> pa.Array:
    offsets = np.empty(len(starts) + 1, np.int32)
    texts = np.empty(int(np.sum(ends - starts)), np.uint8)
    copy_texts(data, starts, ends, offsets, texts)
    return pa.Array.from_buffers(pa.string(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(texts)])


def _dictionary(codes: Any, texts: list[str]) -> pa.DictionaryArray:
    """Texts by number; those that are the same under several numbers get one."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) < len(texts):
        places = {text: i for i, text in enumerate(distinct)}
        codes = np.array([places[text] for text in texts], np.int32)[codes]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(distinct, pa.string()))


def _unescape(objects: pa.Array, escaped: Any) -> pa.Array:
    if not escaped.any():
        return objects
    mask = pa.array(escaped)
    texts = objects.filter(mask)
    for written, meant in _ESCAPES:
        texts = pc.replace_substring(texts, written, meant)
    return pc.replace_with_mask(objects, mask, texts)


def _scope(names: pa.Array, blank: Any, mark: str) -> pa.Array:
    if not blank.any():
        return names
    mask = pa.array(blank)
    return pc.replace_with_mask(names, mask, pc.binary_join_element_wise(mark, names.filter(mask), "_"))
