"""From pieces of text to whole lines, for a range of a file that others read as well.

A line belongs to the range that holds the line break before it, and the first line to the range that holds the first
byte. So a range begins behind its first line break, and goes on behind its end up to the next one; no range needs to
know what stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

BLOCK_BYTES = 4 << 20
MAX_LINE_BYTES = 64 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the text of a file. `owned` if it is of the range, and not behind it; `first` if none stands before."""

    text: bytes
    owned: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """Some of the text is missing here; `reason` if the gap begins here, and nobody else says so."""

    reason: str | None
    owned: bool


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines, each with its line break, and where they begin: counted from the first byte of the range."""

    at: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Unread:
    """What could not be read, and where it begins."""

    at: int
    reason: str


class WholeLines:
    """Cuts pieces into lines, some million bytes of them at a time. `size_bytes` is how much text the range has."""

    def __init__(self, pieces: Iterable[Piece | Gap]) -> None:
        self.size_bytes = 0
        self._pieces = pieces
        self._held: list[bytes] = []
        self._held_bytes = self._held_at = 0
        # Of the line that has no end yet; without a place, it is not ours or of no use.
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._begun_at: int | None = None

    def __iter__(self) -> Iterator[Lines | Unread]:
        for piece in self._pieces:
            if not piece.owned and self._begun_at is None:
                break
            if isinstance(piece, Gap):
                self._drop()
                if piece.owned and piece.reason is not None:
                    yield from self._take()
                    yield Unread(self.size_bytes, piece.reason)
                continue
            text = piece.text if piece.owned else piece.text[: piece.text.find(b"\n") + 1 or len(piece.text)]
            yield from self._add(text, piece.first)
            if piece.owned:
                self.size_bytes += len(text)
            elif text.endswith(b"\n"):
                break
        else:
            if self._begun_bytes:
                yield from self._end([*self._begun, b"\n"])
        yield from self._take()

    def _add(self, text: bytes, first: bool) -> Iterator[Lines | Unread]:
        start = 0
        if first:
            start = self._begun_at = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
        end = text.find(b"\n", start) + 1
        if end:
            if self._begun_at is not None:
                yield from self._end([*self._begun, text[start:end]])
            last = text.rfind(b"\n") + 1
            if last > end:
                yield from self._hold(self.size_bytes + end, [text[end:last]])
            self._drop()
            self._begun_at, start = self.size_bytes + last, last
        if self._begun_at is not None:
            self._begun.append(text[start:])
            self._begun_bytes += len(text) - start
            if self._begun_bytes > MAX_LINE_BYTES:
                yield from self._end(self._begun)
                self._drop()

    def _end(self, line: list[bytes]) -> Iterator[Lines | Unread]:
        assert self._begun_at is not None
        if sum(map(len, line)) <= MAX_LINE_BYTES:
            yield from self._hold(self._begun_at, line)
        else:
            yield from self._take()
            yield Unread(self._begun_at, f"a line is longer than {MAX_LINE_BYTES} bytes; it is skipped")

    def _drop(self) -> None:
        self._begun, self._begun_bytes, self._begun_at = [], 0, None

    def _hold(self, at: int, text: list[bytes]) -> Iterator[Lines]:
        if at != self._held_at + self._held_bytes:
            yield from self._take()
        if not self._held:
            self._held_at = at
        self._held += text
        self._held_bytes += sum(map(len, text))
        if self._held_bytes >= BLOCK_BYTES:
            yield from self._take()

    def _take(self) -> Iterator[Lines]:
        if self._held:
            yield Lines(self._held_at, b"".join(self._held))
        self._held, self._held_bytes = [], 0
