"""N-Triples and N-Quads, block by block, in columns: no Python object for a triple.

One regular expression, run by Arrow over a whole block, says which lines are surely well formed. It is stricter than
the standard: plain IRIs in ASCII, blank nodes with simple labels, everyday language tags, the escapes of one character,
one space between terms. For these lines the places of spaces, quotes and line ends, found by numpy, are all that is
needed to cut out the terms: the boundaries become the offsets of one Arrow array over the bytes of the block.

What the expression does not accept is *undecided*: it may be right all the same, and pyoxigraph says so; see
`superpeer.catalog.reading`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from superpeer.catalog.columns import BLANK, DICTIONARY, LITERAL, PLAIN_DATATYPES, TRIPLES, URI, batch_of

_AFTER = r"[A-Za-z0-9._~!$&'()*+,;=:@/?-]"
_NO_SLASH = _AFTER.replace("/", "")
_IRI = (
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    rf"(?://[A-Za-z0-9.-]*(?::[0-9]+)?(?:[/?]{_AFTER}*)?|/?(?:{_NO_SLASH}{_AFTER}*)?)"
    rf"(?:#{_AFTER}*)?"
)
_BLANK = r"_:[A-Za-z0-9_][A-Za-z0-9_-]*"
_TEXT = r"""(?:[^"\\\x00-\x08\x0a-\x1f]|\\[tbnrf"'\\])*"""
_LANGUAGE = r"[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
_NODE = rf"(?:<{_IRI}>|{_BLANK})"
_TRIPLE = rf'^{_NODE} <{_IRI}> (?:{_NODE}|"{_TEXT}"(?:@{_LANGUAGE}|\^\^<{_IRI}>)?) '
_END = r"\.\r?\n$"

N_TRIPLES_LINE = _TRIPLE + _END
N_QUADS_LINE = rf"{_TRIPLE}(?:{_NODE} )?{_END}"
_NOTHING = r"^[ \t]*(?:#[^\n]*)?\r?\n$"

_NEWLINE, _SPACE, _QUOTE, _BACKSLASH, _UNDERSCORE = b'\n "\\_'

# Control characters stand for an escaped backslash and quote while the other escapes are replaced: a line that has any
# of its own is undecided.
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

_SLOTS = 8
_SUBJECT, _PREDICATE, _OBJECT, _TAIL = 1, 3, 5, 7

_KINDS = pa.array([URI, LITERAL, BLANK])


@dataclass(frozen=True)
class Block:
    """What a block of lines holds: triples in columns, and undecided lines with where they start in the block."""

    triples: pa.RecordBatch
    undecided: list[tuple[int, bytes]]


def read_block(block: bytes, quads: bool, mark: str) -> Block:
    """Reads whole lines, each of which ends in a line break."""
    assert not block or block[-1] == _NEWLINE
    buffer = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(buffer == _NEWLINE) + 1
    starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1]])[: len(ends)]
    well_formed, nothing = _judge(block, starts, ends, quads)
    undecided = np.flatnonzero(~(well_formed | nothing)).tolist()
    lines = [(int(starts[i]), block[starts[i] : ends[i]]) for i in undecided]
    if len(undecided) or nothing.any():
        starts = starts[well_formed]
    return Block(_cut(block, buffer, starts, mark), lines)


def _judge(block: bytes, starts: Any, ends: Any, quads: bool) -> tuple[Any, Any]:
    """Which lines are surely well formed, and which say nothing."""
    offsets = np.concatenate([starts, ends[-1:]]).astype(np.int32)
    lines = pa.Array.from_buffers(pa.string(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    well_formed = _matches(lines, N_QUADS_LINE if quads else N_TRIPLES_LINE)
    if not well_formed.all():
        nothing = np.zeros(len(ends), bool)
        rest = np.flatnonzero(~well_formed)
        nothing[rest] = _matches(lines.take(pa.array(rest)), _NOTHING)
    else:
        nothing = ~well_formed
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        # The expression lets pass what no other check does: halves of surrogate pairs.
        for i in np.flatnonzero(well_formed).tolist():
            well_formed[i] = _is_text(block[starts[i] : ends[i]])
    return well_formed, nothing


def _matches(lines: pa.Array, expression: str) -> Any:
    return pc.match_substring_regex(lines, expression).to_numpy(zero_copy_only=False).copy()


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cut(block: bytes, buffer: Any, starts: Any, mark: str) -> pa.RecordBatch:
    """The terms of well-formed lines."""
    count = len(starts)
    if count == 0:
        return batch_of([])
    spaces = np.flatnonzero(buffer == _SPACE)
    first = np.searchsorted(spaces, starts)
    after_subject, after_predicate = spaces[first], spaces[first + 1]
    objects = after_predicate + 1
    literal = buffer[objects] == _QUOTE
    blank = buffer[objects] == _UNDERSCORE
    subject_blank = buffer[starts] == _UNDERSCORE

    offsets = np.empty(_SLOTS * count + 1, np.int32)
    offsets[_SUBJECT::_SLOTS] = starts + 1 + subject_blank
    offsets[_SUBJECT + 1 :: _SLOTS] = after_subject - ~subject_blank
    offsets[_PREDICATE::_SLOTS] = after_subject + 2
    offsets[_PREDICATE + 1 :: _SLOTS] = after_predicate - 1
    offsets[_OBJECT::_SLOTS] = objects + 1 + blank
    ends = spaces[first + 2] - (~literal & ~blank)
    tails = ends.copy()
    if literal.any():
        closing = _closing_quotes(buffer, objects[literal])
        ends[literal] = closing
        tails[literal] = spaces[np.searchsorted(spaces, closing)]
    offsets[_OBJECT + 1 :: _SLOTS] = ends
    offsets[_TAIL::_SLOTS] = np.where(literal, ends + 1, ends)
    offsets[_SLOTS::_SLOTS] = tails
    offsets[0] = 0
    slots = pa.Array.from_buffers(pa.string(), _SLOTS * count, [None, pa.py_buffer(offsets), pa.py_buffer(block)])

    def column(slot: int) -> pa.Array:
        return slots.take(pa.array(np.arange(slot, _SLOTS * count, _SLOTS)))

    kinds = np.where(literal, 1, np.where(blank, 2, 0)).astype(np.int32)
    languages, datatypes = _read_tails(column(_TAIL))
    return pa.RecordBatch.from_arrays(
        [
            _scope(column(_SUBJECT), subject_blank, mark),
            pa.array(subject_blank),
            column(_PREDICATE).dictionary_encode(),
            _scope(_unescape(column(_OBJECT), literal), blank, mark),
            pa.DictionaryArray.from_arrays(pa.array(kinds), _KINDS),
            languages,
            datatypes,
        ],
        schema=TRIPLES,
    )


def _closing_quotes(buffer: Any, opening: Any) -> Any:
    quotes = np.flatnonzero(buffer == _QUOTE)
    # A quote is escaped when an odd number of backslashes stands before it.
    escaped = np.zeros(len(quotes), bool)
    at = np.flatnonzero(buffer[quotes - 1] == _BACKSLASH)
    back = 1
    while len(at):
        escaped[at] = ~escaped[at]
        back += 1
        at = at[buffer[quotes[at] - back] == _BACKSLASH]
    quotes = quotes[~escaped]
    return quotes[np.searchsorted(quotes, opening) + 1]


def _unescape(objects: pa.Array, literal: Any) -> pa.Array:
    escaped = _matches_plain(objects, "\\")
    if not escaped.any():
        return objects
    escaped &= literal
    texts = objects.filter(pa.array(escaped))
    for written, meant in _ESCAPES:
        texts = pc.replace_substring(texts, written, meant)
    return pc.replace_with_mask(objects, pa.array(escaped), texts)


def _matches_plain(array: pa.Array, part: str) -> Any:
    return pc.match_substring(array, part).to_numpy(zero_copy_only=False).copy()


def _scope(names: pa.Array, blank: Any, mark: str) -> pa.Array:
    if not blank.any():
        return names
    mask = pa.array(blank)
    return pc.replace_with_mask(names, mask, pc.binary_join_element_wise(mark, names.filter(mask), "_"))


def _read_tails(tails: pa.Array) -> tuple[pa.Array, pa.Array]:
    """What follows the closing quote, as languages and datatypes: few are distinct."""
    encoded = tails.dictionary_encode()
    written = encoded.dictionary.to_pylist()
    languages = pa.array([tail[1:].lower() if tail.startswith("@") else "" for tail in written], pa.string())
    named = (tail[3:-1] if tail.startswith("^") else "" for tail in written)
    datatypes = pa.array(["" if name in PLAIN_DATATYPES else name for name in named], pa.string())
    return (
        languages.take(encoded.indices).dictionary_encode().cast(DICTIONARY),
        datatypes.take(encoded.indices).dictionary_encode().cast(DICTIONARY),
    )
