"""The text of a split, piece by piece, whatever it is packed with. A split that is damaged gives what is before that.

Plain text and bzip2 can be read from the middle; gzip and Zstandard from the beginning only.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import zstandard

from superpeer.catalog.bzip2 import read_blocks
from superpeer.catalog.inputs import Split, open_uri
from superpeer.catalog.whole_lines import BLOCK_BYTES, Gap, Piece

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED_BYTES = 4096
"""Few bytes at a time: a little Zstandard can become very much text."""
BEHIND_BYTES = 64 << 10

DAMAGES = (OSError, EOFError, zlib.error, zstandard.ZstdError)
"""What streams raise where a file is damaged."""


def read_pieces(split: Split) -> Iterator[Piece | Gap]:
    """The text of a split, and then what stands behind it, for as long as somebody wants it."""
    system, path = open_uri(split.file.uri)
    with system.open_input_file(path) as raw:
        match split.file.compression:
            case "bz2":
                yield from read_blocks(raw, split.file.size_bytes, split.start_bytes, split.end_bytes)
            case "gzip" | "zstd" as compression:
                yield from read_whole(raw, compression)
            case _:
                yield from _read_range(raw, split)


@contextmanager
def _unpacked(raw: Any, compression: str | None) -> Iterator[Any]:
    """A whole file as a stream of bytes."""
    match compression:
        case "gzip":
            with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                yield stream
        case "bz2":
            with bz2.BZ2File(raw, "rb") as stream:
                yield stream
        case "zstd":
            yield io.BufferedReader(_Frames(raw))
        case _:
            yield raw


def _read_range(raw: Any, split: Split) -> Iterator[Piece]:
    at, end = split.start_bytes, split.end_bytes
    raw.seek(at)
    while text := bytes(raw.read(min(BLOCK_BYTES, end - at) if at < end else BEHIND_BYTES)):
        yield Piece(text, at < end, at == 0)
        at += len(text)


def read_whole(raw: Any, compression: str | None) -> Iterator[Piece | Gap]:
    """A file from its beginning; read little by little, because a read that fails takes with it what it had read."""
    first = True
    held = bytearray()
    damage: str | None = None
    with _unpacked(raw, compression) as stream:
        while True:
            try:
                piece = stream.read1(BLOCK_BYTES)
            except DAMAGES as error:
                damage = str(error)
                break
            if not piece:
                break
            held += piece
            if len(held) >= BLOCK_BYTES:
                yield Piece(bytes(held), True, first)
                held.clear()
                first = False
    if held:
        yield Piece(bytes(held), True, first)
    if damage is not None:
        yield Gap(f"cannot be read further ({damage})", True)


class _Frames(io.RawIOBase):
    """Frames of Zstandard, one behind the other, as one stream."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._frame: Any = None
        self._packed = b""
        self._text = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer)
        while not self._text:
            self._packed = self._packed or bytes(self._raw.read(PACKED_BYTES))
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the file ends in the middle of a frame of Zstandard")
                return 0
            self._frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._text = memoryview(self._frame.decompress(self._packed))
            self._packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        size = min(len(target), len(self._text))
        target[:size] = self._text[:size]
        self._text = self._text[size:]
        return size
