"""Cuts an RDF/XML document into its records, the elements directly under `rdf:RDF`.

An RDF/XML parser that has met an error knows no longer where it is, so what it says afterwards may be false.
Cut into records that are parsed one by one, a document loses only the records that are wrong. Expat finds the
boundaries; the records themselves stay the bytes of the document. Where the XML itself is broken, cutting
goes on at the next element with the name of a record.

Entities are replaced here, within limits, and the document type declaration is left out, because a parser
that expands entities without limits can be made to fill the memory by a few lines of declarations.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.parsers import expat
from xml.sax.saxutils import escape

MAX_RECORD_BYTES = 64 * 1024 * 1024
MAX_EXPANDED_BYTES = 1024 * 1024
MAX_ENTITY_BYTES = 64 * 1024
MAX_DEPTH = 200
MAX_BROKEN_RECORDS = 1000

# Small, since after each break in the XML the rest of a piece is read again.
PIECE_BYTES = 16 * 1024

REST = "the rest of the file is skipped"

ENTITY = re.compile(rb"&([A-Za-z_][\w.-]*);")


@dataclass(frozen=True, slots=True)
class Record:
    """A record's own bytes; between `head` and `tail` they are a document. `line` is where it starts."""

    head: bytes
    body: bytes
    tail: bytes
    line: int


@dataclass(frozen=True, slots=True)
class Broken:
    """What could not be cut into records, and why."""

    line: int
    message: str


def records(pieces: Iterable[bytes]) -> Iterator[Record | Broken]:
    """The records of a document that comes in pieces of UTF-8."""
    return _Cutter(pieces).run()


@dataclass(slots=True)
class _Root:
    """What every record stands in: the start tag of the root, and the entities declared before it."""

    head: bytes
    entities: dict[bytes, bytes]


class _Cutter:
    """Feeds the document to one `_Scan` after the other: a new one after each break in the XML."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = _small(pieces)
        self.again = b""
        self.scan = _Scan()
        self.names: set[str] = set()

    def run(self) -> Iterator[Record | Broken]:
        for _ in range(MAX_BROKEN_RECORDS):
            try:
                while piece := self._next():
                    self.scan.feed(piece)
                    yield from self.scan.take()
                    if self.scan.held_bytes > MAX_RECORD_BYTES:
                        yield self.scan.broken(f"a record is larger than {MAX_RECORD_BYTES} bytes; {REST}")
                        return
                self.scan.finish()
                yield from self.scan.take()
                return
            except expat.ExpatError as error:
                yield from self.scan.take()
                reason = expat.ErrorString(error.code)
                rest = self._resume()
                if rest is None:
                    yield self.scan.broken(f"{reason}; {REST}")
                    return
                yield self.scan.broken(f"{reason}; skipped to the next record")
                self.scan = rest
        yield self.scan.broken(f"more than {MAX_BROKEN_RECORDS} broken records; {REST}")

    def _next(self) -> bytes:
        piece, self.again = self.again or next(self.pieces, b""), b""
        return piece

    def _resume(self) -> "_Scan | None":
        """A scan that goes on at the next start of a record after the error, if there is one."""
        failed = self.scan
        self.names |= failed.names
        if failed.root is None or not self.names:
            return None
        start = re.compile(b"<(?:%s)(?=[\\s/>])" % b"|".join(re.escape(name.encode()) for name in self.names))
        text, line = failed.after_error()
        longest_tag = max(map(len, self.names)) * 4 + 2
        while (found := start.search(text)) is None:
            keep = text[-longest_tag:]
            line += text.count(b"\n") - keep.count(b"\n")
            piece = self._next()
            if not piece:
                return None
            text = keep + piece
        line += text.count(b"\n", 0, found.start())
        self.again = text[found.start() :]
        return _Scan(failed.root, line)


def _small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), PIECE_BYTES):
            yield piece[at : at + PIECE_BYTES]


class _Scan:
    """One run of expat: over the document from its start, or, given a root, over the rest after an error."""

    def __init__(self, root: _Root | None = None, line: int = 1) -> None:
        self.root = root
        self.names: set[str] = set()
        self._entities: dict[bytes, bytes] = dict(root.entities) if root else {}
        self._done: deque[Record | Broken] = deque()
        self._held = bytearray()
        self._held_from = 0
        self._depth = self._deepest = self._record_depth = 0
        self._root_at = 0
        self._root_name = ""
        self._record_at: int | None = None
        self._needed_from = 0
        self._record_line = line
        self._head = self._tail = b""
        self._line_shift = 0
        self._parser = expat.ParserCreate("UTF-8")
        # Without a document type that could be elsewhere, an unknown entity ends the document; with one, it
        # costs no more than the record it is in.
        self._parser.UseForeignDTD(True)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._declare
        if root:
            self._line_shift = line - 1 - root.head.count(b"\n")
            self.feed(root.head)

    @property
    def held_bytes(self) -> int:
        return len(self._held)

    def feed(self, piece: bytes) -> None:
        self._held += piece
        self._parser.Parse(piece, False)
        self._drop_before(self._needed_from)

    def finish(self) -> None:
        self._parser.Parse(b"", True)

    def take(self) -> Iterator[Record | Broken]:
        while self._done:
            yield self._done.popleft()

    def broken(self, message: str) -> Broken:
        return Broken(self._parser.CurrentLineNumber + self._line_shift, message)

    def after_error(self) -> tuple[bytes, int]:
        """What follows the error, so that searching it cannot find the same place again, and its line."""
        at = max(self._parser.ErrorByteIndex, (self._record_at or 0)) + 1 - self._held_from
        line = self._parser.ErrorLineNumber + self._line_shift
        return bytes(self._held[at:]), line

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        at = self._parser.CurrentByteIndex
        if self._depth == 1:
            self._root_at, self._root_name = at, name
            if not _is_rdf(name):
                # The root is itself the only record.
                self._open(at, name, b"", b"")
        elif self._depth == 2 and _is_rdf(self._root_name):
            if self.root is None:
                head = self._expanded(self._cut(self._root_at, at))
                self.root = _Root(head or b"", self._entities)
            self._open(at, name, self.root.head, f"</{self._root_name}>".encode())

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if self._record_at is not None and self._depth == self._record_depth - 1:
            self._close(self._record_at, self._end_of_tag())

    def _end_of_tag(self) -> int:
        # Expat is at the start of an end tag, but behind a tag that is empty.
        at = self._parser.CurrentByteIndex
        in_held = at - self._held_from
        if self._held.startswith(b"</", in_held):
            return self._held.index(b">", in_held) + 1 + self._held_from
        return at

    def _open(self, at: int, name: str, head: bytes, tail: bytes) -> None:
        self.names.add(name)
        self._record_at = self._needed_from = at
        self._record_depth = self._depth
        self._record_line = self._parser.CurrentLineNumber + self._line_shift
        self._head, self._tail = head, tail
        self._deepest = self._depth

    def _close(self, start: int, end: int) -> None:
        body = self._expanded(self._cut(start, end))
        self._record_at = None
        self._needed_from = end
        if self._deepest > MAX_DEPTH:
            message = f"elements nested more than {MAX_DEPTH} deep; the record is skipped"
            self._done.append(Broken(self._record_line, message))
        elif body is None:
            message = f"entities that grow to more than {MAX_EXPANDED_BYTES} bytes; the record is skipped"
            self._done.append(Broken(self._record_line, message))
        else:
            self._done.append(Record(self._head, body, self._tail, self._record_line))

    def _cut(self, start: int, end: int) -> bytes:
        return bytes(self._held[start - self._held_from : end - self._held_from])

    def _drop_before(self, at: int) -> None:
        del self._held[: at - self._held_from]
        self._held_from = at

    def _declare(self, name: str, is_parameter: bool, value: str | None, *_where: str | None) -> None:
        if is_parameter or value is None:
            return
        text = self._expanded(escape(value, {'"': "&quot;"}).replace("&amp;", "&").encode())
        if text is not None and len(text) <= MAX_ENTITY_BYTES:
            self._entities.setdefault(name.encode(), text)

    def _expanded(self, text: bytes) -> bytes | None:
        """The text with its declared entities replaced; None where they grow beyond the limit."""
        entities = self._entities
        if not entities or b"&" not in text:
            return text
        grown = sum(len(entities.get(name, b"")) for name in ENTITY.findall(text))
        if grown > MAX_EXPANDED_BYTES:
            return None
        return ENTITY.sub(lambda found: entities.get(found[1], found[0]), text)


def _is_rdf(name: str) -> bool:
    return name.rpartition(":")[2] == "RDF"
