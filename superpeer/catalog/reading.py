"""From a split of a file to triples in columns, and what had to be rejected.

Lines go through `superpeer.catalog.lines`; those that it leaves undecided, and all other formats, through the reader
that the rest of the project uses, `superpeer.rdf.read`, so that a line or a document means the same everywhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyoxigraph
from pyarrow import fs

from superpeer.catalog.columns import MAX_REJECTED_TEXT, REJECTED, Row, batch_of, batches_of, file_mark, row_of
from superpeer.catalog.inputs import File, Split, open_uri
from superpeer.catalog.lines import read_block
from superpeer.catalog.unpacking import DAMAGES, read_pieces, read_whole
from superpeer.catalog.whole_lines import Piece, Unread, WholeLines
from superpeer.rdf import Problem, UnreadableFile, read


@dataclass(frozen=True, slots=True)
class Rejected:
    """What was not read, why, and where: by line in a document, by byte in a file of lines. Of a packed file, bytes are
    counted as they are when it is unpacked, without what is damaged, and from the beginning of the split."""

    file: str
    line: int | None
    offset: int | None
    text: str
    reason: str


@dataclass
class Reading:
    """What reading a split gave beside its triples. `size_bytes` is how much text it has, where it has lines."""

    rejected: list[Rejected] = field(default_factory=list)
    undecided: int = 0
    size_bytes: int = 0


def read_split(split: Split, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The triples of a split. What is wrong is noted in `reading`, and never raised."""
    file = split.file
    try:
        if file.has_lines:
            yield from _read_lines(split, reading)
        else:
            yield from _read_document(file, reading)
    # Not the memory of this machine, but a limit of the parser.
    except (UnreadableFile, *DAMAGES, MemoryError) as error:
        reason = getattr(error, "reason", None) or str(error)
        reading.rejected.append(Rejected(file.uri, None, None, "", f"cannot be read further ({reason})"))


def rejected_batch(rejected: list[Rejected]) -> pa.RecordBatch:
    columns = list(zip(*((r.file, r.line, r.offset, r.text, r.reason) for r in rejected), strict=True))
    arrays = [pa.array(column, one.type) for column, one in zip(columns, REJECTED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECTED)


def _read_lines(split: Split, reading: Reading) -> Iterator[pa.RecordBatch]:
    mark = file_mark(split.file.uri)
    quads = split.file.extension == ".nq"
    start = 0 if split.file.compression else split.start_bytes
    lines = WholeLines(read_pieces(split))
    for found in lines:
        if isinstance(found, Unread):
            reading.rejected.append(Rejected(split.file.uri, None, start + found.at, "", found.reason))
            continue
        block = read_block(found.text, quads, mark)
        if len(block.triples):
            yield block.triples
        if block.undecided:
            reading.undecided += len(block.undecided)
            if rows := _decide(block.undecided, start + found.at, split.file, mark, reading):
                yield batch_of(rows)
    reading.size_bytes = lines.size_bytes


def _decide(lines: list[tuple[int, bytes]], at: int, file: File, mark: str, reading: Reading) -> list[Row]:
    """The triples of undecided lines. They go to the reader as one small file, which is fast if they are right."""
    problems: list[Problem] = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "lines" + file.extension)
        path.write_bytes(b"".join(line for _, line in lines))
        try:
            rows = [row_of(triple, mark) for triple in read(path, problems.append)]
        except MemoryError as error:
            rows, problems = [], [Problem(path, f"{error}; the line is skipped")]
    if len(lines) > 1 and any(problem.line is None for problem in problems):
        # The reader gave up on what is behind a line that it could not name.
        half = len(lines) // 2
        return [row for some in (lines[:half], lines[half:]) for row in _decide(some, at, file, mark, reading)]
    for problem in problems:
        offset, line = lines[problem.line - 1 if problem.line else 0]
        text = line.decode(errors="replace").rstrip("\r\n")[:MAX_REJECTED_TEXT]
        reading.rejected.append(Rejected(file.uri, None, at + offset, text, problem.message))
    return rows


def _read_document(file: File, reading: Reading) -> Iterator[pa.RecordBatch]:
    def note(problem: Problem) -> None:
        reading.rejected.append(Rejected(file.uri, problem.line, None, "", problem.message))

    mark = file_mark(file.uri)
    with _local_copy(file, reading) as path:
        labels: dict[str, str] = {}
        yield from batches_of(row_of(_relabel(triple, labels), mark) for triple in read(path, note, base=file.uri))


def _relabel(triple: Any, labels: dict[str, str]) -> Any:
    """Labels of blank nodes by the order in which they come: those that the parser makes up differ from run to run."""
    if not isinstance(triple.subject, pyoxigraph.BlankNode) and not isinstance(triple.object, pyoxigraph.BlankNode):
        return triple

    def name(term: Any) -> Any:
        if not isinstance(term, pyoxigraph.BlankNode):
            return term
        return pyoxigraph.BlankNode(labels.setdefault(term.value, f"b{len(labels)}"))

    return pyoxigraph.Triple(name(triple.subject), triple.predicate, name(triple.object))


@contextmanager
def _local_copy(file: File, reading: Reading) -> Iterator[Path]:
    """The file itself where the reader can open it, else a copy of it, unpacked."""
    system, path = open_uri(file.uri)
    if isinstance(system, fs.LocalFileSystem) and file.compression in (None, "gzip"):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory, "document" + file.extension)
        with system.open_input_file(path) as raw, copy.open("wb") as target:
            for piece in read_whole(raw, file.compression):
                if isinstance(piece, Piece):
                    target.write(piece.text)
                else:
                    reading.rejected.append(Rejected(file.uri, None, None, "", piece.reason or ""))
        yield copy
