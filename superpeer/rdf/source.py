"""The bytes and the text of a file: opened, unpacked and decoded, however damaged.

What is damaged is cut off or replaced, with a warning. Text that nests deeper than any real data is cut off
too, because the parser is recursive there and would take the process with it.
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from superpeer.errors import SuperpeerError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ByteStream = io.BufferedReader | gzip.GzipFile

BLOCK_BYTES = 1024 * 1024
MAX_NESTING = 1000

REPLACED = "\N{REPLACEMENT CHARACTER}"


class UnreadableFile(SuperpeerError):
    """A file of which nothing can be read."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that was skipped. Line and column count from 1, where they are known."""

    path: Path
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Brackets:
    """What opens and what closes a level in a format."""

    opening: re.Pattern[bytes]
    either: re.Pattern[bytes]


TRIPLE_TERMS = Brackets(re.compile(rb"<<\("), re.compile(rb"<<\(|\)>>"))
JSON = Brackets(re.compile(rb"[\[{]"), re.compile(rb"[][{}]"))


class Source:
    """One file in the course of being read."""

    def __init__(self, path: Path, warn: Callable[[Problem], None]) -> None:
        self.path = path
        self._warn = warn
        self.stream = _open(path)

    def warn(self, message: str, line: int | None = None, column: int | None = None) -> None:
        self._warn(Problem(self.path, message, line, column))

    def blocks(self, brackets: Brackets | None = None) -> Iterator[bytes]:
        """The file's bytes without a byte order mark, as far as they are sound."""
        mark = codecs.BOM_UTF8
        depth = 0
        for block in self._raw_blocks():
            if brackets:
                depth = _depth_after(block, depth, brackets)
                if depth > MAX_NESTING:
                    self.warn(f"nested more than {MAX_NESTING} deep; the rest of the file is skipped")
                    return
            yield block.removeprefix(mark)
            mark = b""

    def _raw_blocks(self) -> Iterator[bytes]:
        block = bytearray()
        try:
            # A plain read that fails takes what it had read before the damage with it.
            while piece := self.stream.read1(BLOCK_BYTES):
                block += piece
                if len(block) >= BLOCK_BYTES:
                    yield bytes(block)
                    block.clear()
        except (OSError, EOFError, zlib.error) as error:
            self.warn(f"cannot be read further ({error}); the rest of the file is skipped")
        if block:
            yield bytes(block)

    def text(self, brackets: Brackets | None = None) -> Iterator[str]:
        """The text of a file in UTF-8. Bytes that are no text are replaced."""
        return self._decoded(self.blocks(brackets), "utf-8")

    def xml_text(self) -> Iterator[str]:
        """The text of a file in the encoding that its XML declaration names."""
        blocks = self.blocks()
        first = next(blocks, b"")
        return self._decoded(_chain(first, blocks), _xml_encoding(first))

    def _decoded(self, blocks: Iterator[bytes], encoding: str) -> Iterator[str]:
        decoder = self._decoder(encoding)
        line = 1
        for block in blocks:
            text = decoder.decode(block)
            if REPLACED in text and REPLACED.encode() not in block:
                before = text.count("\n", 0, text.index(REPLACED))
                self.warn(f"bytes that are not {encoding} text are replaced by {REPLACED}", line + before)
            line += text.count("\n")
            yield text
        if rest := decoder.decode(b"", final=True):
            self.warn("the text ends in the middle of a character", line)
            yield rest

    def _decoder(self, encoding: str) -> codecs.IncrementalDecoder:
        try:
            return codecs.getincrementaldecoder(encoding)("replace")
        except LookupError as error:
            raise UnreadableFile(self.path, f"the encoding {encoding!r} is unknown") from error


class Utf8File(io.RawIOBase):
    """Pieces of text as a file in UTF-8, which is what the parser reads."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        while not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._held = memoryview(piece.encode())
        target = memoryview(buffer)
        size = min(len(target), len(self._held))
        target[:size] = self._held[:size]
        self._held = self._held[size:]
        return size


def _open(path: Path) -> ByteStream:
    try:
        if path.suffix.lower() != ".gz":
            return path.open("rb")
        stream = gzip.GzipFile(path, "rb")
        stream.peek(1)
    except FileNotFoundError as error:
        raise UnreadableFile(path, "there is no such file") from error
    except IsADirectoryError as error:
        raise UnreadableFile(path, "this is a directory, not a file") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnreadableFile(path, "the name ends in .gz, but this is not gzipped data") from error
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    return stream


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _depth_after(block: bytes, depth: int, brackets: Brackets) -> int:
    """How deep the text is nested behind the block, or anything above the limit where it was so inside.

    Brackets in strings count too. They would have to be a thousand more open than closed to do harm.
    """
    if depth == 0 and not brackets.opening.search(block):
        return 0
    for found in brackets.either.finditer(block):
        depth = depth + 1 if brackets.opening.match(found[0]) else max(0, depth - 1)
        if depth > MAX_NESTING:
            break
    return depth


def _xml_encoding(start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    declared = re.match(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']""", start)
    return declared[1].decode("ascii") if declared else "utf-8"
