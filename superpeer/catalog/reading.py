"""From a split of a file to triples in columns, and what had to be rejected.

Lines go through `superpeer.catalog.lines`; those that it leaves undecided, and all other formats, through the reader
that the rest of the project uses, `superpeer.rdf.read`, so that a line or a document means the same everywhere.
"""

from __future__ import annotations

import bz2
import gzip
import shutil
import tempfile
import zlib
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
from superpeer.rdf import Problem, UnreadableFile, read

BLOCK_BYTES = 4 << 20
MAX_LINE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Rejected:
    """What was not read, why, and where: by line where the format has none of its own, else by byte."""

    file: str
    line: int | None
    offset: int | None
    text: str
    reason: str


@dataclass
class Reading:
    """What reading a split gave beside its triples."""

    rejected: list[Rejected] = field(default_factory=list)
    undecided: int = 0


def read_split(split: Split, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The triples of a split. What is wrong is noted in `reading`, and never raised."""
    file = split.file
    try:
        if file.has_lines:
            yield from _read_lines(split, reading)
        else:
            yield from _read_document(file, reading)
    except (UnreadableFile, OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "reason", None) or str(error)
        reading.rejected.append(Rejected(file.uri, None, None, "", f"cannot be read further ({reason})"))


def rejected_batch(rejected: list[Rejected]) -> pa.RecordBatch:
    columns = list(zip(*((r.file, r.line, r.offset, r.text, r.reason) for r in rejected), strict=True))
    arrays = [pa.array(column, one.type) for column, one in zip(columns, REJECTED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECTED)


def _read_lines(split: Split, reading: Reading) -> Iterator[pa.RecordBatch]:
    mark = file_mark(split.file.uri)
    quads = split.file.extension == ".nq"
    for at, text in _blocks(split, reading):
        found = read_block(text, quads, mark)
        if len(found.triples):
            yield found.triples
        if found.undecided:
            reading.undecided += len(found.undecided)
            rows = list(_decide(found.undecided, at, split.file, quads, mark, reading))
            if rows:
                yield batch_of(rows)


def _blocks(split: Split, reading: Reading) -> Iterator[tuple[int, bytes]]:
    """Whole lines with where they start, a few million bytes at a time."""
    system, path = open_uri(split.file.uri)
    whole = split.file.compression is not None
    with _input(system, path, split.file.compression) as stream:
        at = split.start_bytes
        if at:
            # A line belongs to the range in which it starts: one that starts right here is ours.
            stream.seek(at - 1)
            at += len(_rest_of_line(stream)) - 1
        while whole or at < split.end_bytes:
            size = BLOCK_BYTES if whole else min(BLOCK_BYTES, split.end_bytes - at)
            text, damage = _read(stream, size)
            if damage is not None:
                reading.rejected.append(Rejected(split.file.uri, None, at, "", f"cannot be read further ({damage})"))
            elif text and not text.endswith(b"\n"):
                text += _rest_of_line(stream)
            if not text:
                return
            size = len(text)
            if at == 0:
                text = text.removeprefix(b"\xef\xbb\xbf")
            yield at + size - len(text), text if text.endswith(b"\n") else text + b"\n"
            at += size
            if damage is not None:
                return


def _read(stream: Any, size: int) -> tuple[bytes, Exception | None]:
    """The next bytes, in small pieces, because a read that fails takes what it had read before the damage with it."""
    if isinstance(stream, _Buffered):
        return stream.read(size), None
    held = bytearray()
    try:
        while len(held) < size and (piece := stream.read1(size - len(held))):
            held += piece
    except (OSError, EOFError, zlib.error) as error:
        return bytes(held), error
    return bytes(held), None


def _rest_of_line(stream: Any) -> bytes:
    """Up to the next line break, which is included. A line beyond all measure is cut, and rejected for it."""
    rest = bytearray()
    while len(rest) < MAX_LINE_BYTES:
        piece: bytes = stream.readline(65_536)
        rest += piece
        if not piece or piece.endswith(b"\n"):
            break
    return bytes(rest)


@contextmanager
def _input(system: fs.FileSystem, path: str, compression: str | None) -> Iterator[Any]:
    with system.open_input_file(path) as raw:
        if compression is None:
            yield _Buffered(raw)
        elif compression == "gzip":
            with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                yield stream
        elif compression == "bz2":
            with bz2.BZ2File(raw, "rb") as stream:
                yield stream
        else:
            with pa.CompressedInputStream(raw, compression) as stream:
                yield _Buffered(stream)


class _Buffered:
    """Arrow's streams with lines."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._held = b""

    def seek(self, at: int) -> None:
        self._stream.seek(at)
        self._held = b""

    def read(self, size: int) -> bytes:
        if self._held:
            taken, self._held = self._held[:size], self._held[size:]
            return taken + (self._stream.read(size - len(taken)) if len(taken) < size else b"")
        taken = self._stream.read(size)
        return bytes(taken)

    def readline(self, limit: int) -> bytes:
        if not self._held:
            self._held = self._stream.read(limit)
        end = self._held.find(b"\n", 0, limit) + 1 or min(limit, len(self._held))
        line, self._held = self._held[:end], self._held[end:]
        return line


def _decide(
    lines: list[tuple[int, bytes]], at: int, file: File, quads: bool, mark: str, reading: Reading
) -> Iterator[Row]:
    """The triples of undecided lines. They go to the reader as one small file, which is fast if they are right."""
    problems: list[Problem] = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "lines.nq" if quads else "lines.nt")
        path.write_bytes(b"".join(line for _, line in lines))
        for triple in read(path, problems.append):
            yield row_of(triple, mark)
    for problem in problems:
        offset, line = lines[problem.line - 1] if problem.line else (0, b"")
        text = line.decode(errors="replace").rstrip("\r\n")[:MAX_REJECTED_TEXT]
        reading.rejected.append(Rejected(file.uri, None, at + offset, text, problem.message))


def _read_document(file: File, reading: Reading) -> Iterator[pa.RecordBatch]:
    def note(problem: Problem) -> None:
        reading.rejected.append(Rejected(file.uri, problem.line, None, "", problem.message))

    mark = file_mark(file.uri)
    with _local_copy(file) as path:
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
def _local_copy(file: File) -> Iterator[Path]:
    """The file itself where the reader can open it, else a copy of it, unpacked."""
    system, path = open_uri(file.uri)
    if isinstance(system, fs.LocalFileSystem) and file.compression in (None, "gzip"):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory, "document" + file.extension)
        with _input(system, path, file.compression) as stream, copy.open("wb") as target:
            shutil.copyfileobj(stream, target, BLOCK_BYTES)
        yield copy
