"""bzip2, read from the middle: the blocks of a file that begin in a range of its bytes.

A block can be unpacked without those before it. It begins with 48 bits that are always the same, at any bit of a byte,
and so does the end of a stream, with others. A block that is found in this way is written as a stream of its own (a
header, its bits moved to the start of a byte, the end of a stream with the checksum of the block) and unpacked by
Python's `bz2`, which checks it.

    file    streams, one behind the other; what stands behind the last one and does not begin like one is ignored
    stream  BZh1 .. BZh9, blocks, 0x177245385090, a checksum of 32 bits, zeros to the end of the byte
    block   0x314159265359, a checksum of 32 bits, what is packed

What looks like the beginning of a block may stand in the middle of one: then what begins there has a wrong checksum,
and so has what ends there. What is damaged is a *gap*, which ends where the next sound block begins. Which blocks are
sound and where gaps begin follows from the bytes around them, so any way of cutting a file into ranges gives the same.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from superpeer.catalog.whole_lines import Gap, Piece
from superpeer.matching.compiling import compiled

BLOCK, END = 0x314159265359, 0x177245385090
MAGIC_BITS, CHECKSUM_BITS, HEADER_BYTES = 48, 32, 4
EMPTY_STREAM_BYTES = HEADER_BYTES + (MAGIC_BITS + CHECKSUM_BITS) // 8

MOST_PACKED_BYTES = 3 << 20
"""No block takes more: 900,000 symbols of at most 20 bits, and the tables for them."""

CHUNK_BYTES = 1 << 20
HELD_CHUNKS = 8

CUT_OFF = "the file ends in the middle of a bzip2 stream"
DAMAGED = "a bzip2 block is damaged"
NO_BZIP2 = "this is not bzip2 data"

_HEADER = re.compile(rb"BZh[1-9]")
_WIDEST_HEADER = b"BZh9"


@compiled
def find_magics(data: Any, places: Any, is_block: Any) -> int:
    """Fills in at which bits blocks and ends of streams begin. Returns how many there are."""
    block, end = np.uint64(BLOCK), np.uint64(END)
    mask = np.uint64((1 << MAGIC_BITS) - 1)
    word = np.uint64(0)
    count = 0
    for i in range(len(data)):
        word = word << np.uint64(8) | np.uint64(data[np.uint64(i)])
        for shift in range(7, -1, -1):
            bits = word >> np.uint64(shift) & mask
            if bits in (block, end):
                places[count] = 8 * (i + 1) - shift - MAGIC_BITS
                is_block[count] = bits == block
                count += 1
    return count


def read_blocks(raw: Any, size_bytes: int, start_bytes: int, end_bytes: int) -> Iterator[Piece | Gap]:
    """The blocks that begin in a range of bytes, and then those behind it, for as long as somebody wants them."""
    file = _File(raw, size_bytes)
    start, end = start_bytes * 8, end_bytes * 8
    at: int | None
    # Whether what stands before is sound, so that a gap would begin here; None if nobody knows yet.
    follows: bool | None
    if start == 0:
        at, follows = file.first.block, True
        if file.first.fault is not None:
            yield Gap(file.first.fault, True)
            at, follows = file.next_block(0), False
    else:
        at, follows = file.next_block(start), None
    some = False
    while at is not None and (at < end or some):
        owned, some = at < end, True
        block = file.block(at)
        if block is None and follows is None:
            before = file.block_before(at)
            behind = file.behind(before.end) if before is not None else None
            if before is not None and behind is not None and before.end > at:
                # What looks like a block stands in the middle of one that begins before the range.
                follows = behind.block is not None
                at = behind.block if follows else file.next_block(before.end)
                some = False
                continue
            follows = (behind is not None and behind.block == at) or file.is_first(at)
        if block is None:
            yield Gap((DAMAGED if file.has_magic_behind(at) else CUT_OFF) if follows else None, owned)
            at, follows = file.next_block(at + 1), False
            continue
        yield Piece(block.text, owned, file.is_first(at))
        behind = file.behind(block.end)
        if behind.fault is not None:
            yield Gap(behind.fault, owned)
        follows = behind.block is not None
        at = behind.block if follows else file.next_block(block.end)


@dataclass(frozen=True, slots=True)
class _Block:
    """A sound block: what it holds, and the bit behind it."""

    text: bytes
    end: int


@dataclass(frozen=True, slots=True)
class _Next:
    """What stands behind something sound: a block that begins at a bit, or nothing more, or what is wrong there."""

    block: int | None = None
    fault: str | None = None


class _File:
    """A file as bits, of which chunks are held."""

    def __init__(self, raw: Any, size_bytes: int) -> None:
        self._raw = raw
        self._size_bytes = size_bytes
        self._chunk = lru_cache(HELD_CHUNKS)(self._read_chunk)
        self._magics = lru_cache(HELD_CHUNKS)(self._find_magics)

    @cached_property
    def first(self) -> _Next:
        """The first block."""
        if self._has_header(0):
            return self._stream(0)
        return _Next(fault=CUT_OFF if self._ends_in_header(0) else NO_BZIP2)

    def is_first(self, at: int) -> bool:
        # Only empty streams can stand before the first block, and these have one size.
        return (at - 8 * HEADER_BYTES) % (8 * EMPTY_STREAM_BYTES) == 0 and self.first.block == at

    def behind(self, bit: int) -> _Next:
        """What stands behind a sound block that ends at a bit."""
        magic = self._magic(bit)
        if magic == BLOCK:
            return _Next(bit)
        if magic == END:
            return self._stream(-(-(bit + MAGIC_BITS + CHECKSUM_BITS) // 8))
        return _Next(fault=CUT_OFF if magic is None else DAMAGED)

    def _stream(self, byte: int) -> _Next:
        """The first block of the stream that begins at a byte, or of those behind it."""
        while self._has_header(byte):
            bit = 8 * (byte + HEADER_BYTES)
            if self._magic(bit) != END:
                return self.behind(bit)
            byte += EMPTY_STREAM_BYTES
        is_cut_off = byte > self._size_bytes or (byte < self._size_bytes and self._ends_in_header(byte))
        return _Next(fault=CUT_OFF if is_cut_off else None)

    def _has_header(self, byte: int) -> bool:
        return _HEADER.fullmatch(self._between(byte, byte + HEADER_BYTES)) is not None

    def _ends_in_header(self, byte: int) -> bool:
        return _WIDEST_HEADER[:-1].startswith(self._between(byte, byte + HEADER_BYTES))

    def _magic(self, bit: int) -> int | None:
        """The bits that say what begins at a bit; None if the file ends before."""
        if bit + MAGIC_BITS > 8 * self._size_bytes:
            return None
        return int.from_bytes(self._bits(bit, bit + MAGIC_BITS)[: MAGIC_BITS // 8], "big")

    def next_block(self, bit: int) -> int | None:
        """Where the next block seems to begin, at a bit or behind it."""
        return next((at for at, is_block in self._magics_from(bit) if is_block), None)

    def has_magic_behind(self, bit: int) -> bool:
        return next(self._magics_from(bit + 1), None) is not None

    def block(self, at: int) -> _Block | None:
        """The block that seems to begin at a bit; None if it is not sound."""
        end, _ = next(self._magics_from(at + 1), (None, False))
        # Mostly it ends where the next one begins.
        if end is not None and end - at <= 8 * MOST_PACKED_BYTES and (text := self._unpack(at, end)) is not None:
            return _Block(text, end)
        return next((_Block(text, end) for end in self._ends(at) if (text := self._unpack(at, end)) is not None), None)

    def block_before(self, bit: int) -> _Block | None:
        """The last sound block that begins before a bit, if it can reach up to there."""
        least = max(0, bit - 8 * MOST_PACKED_BYTES)
        places = []
        for at, is_block in self._magics_from(least):
            if at >= bit:
                break
            if is_block:
                places.append(at)
        return next((block for at in reversed(places) if (block := self.block(at)) is not None), None)

    def _unpack(self, start: int, end: int) -> bytes | None:
        """What a block holds that ends at a bit; None if it does not end there, or is damaged."""
        if end - start <= MAGIC_BITS + CHECKSUM_BITS:
            return None
        packed = self._bits(start, end)
        checksum = int.from_bytes(packed[MAGIC_BITS // 8 : (MAGIC_BITS + CHECKSUM_BITS) // 8], "big")
        whole, rest = divmod(end - start, 8)
        # The bits behind the last whole byte, and the end of the stream.
        last = packed[whole] >> (8 - rest) if rest else 0
        tail = (last << MAGIC_BITS | END) << CHECKSUM_BITS | checksum
        size = rest + MAGIC_BITS + CHECKSUM_BITS
        tail <<= -size % 8
        unpacker = bz2.BZ2Decompressor()
        try:
            text = unpacker.decompress(_WIDEST_HEADER + packed[:whole] + tail.to_bytes(-(-size // 8), "big"))
        except OSError:
            return None
        return text if unpacker.eof and not unpacker.unused_data else None

    def _ends(self, at: int) -> Iterable[int]:
        """Where the block at a bit may end: its text appears when the byte is there that has its last bit."""
        unpacker = bz2.BZ2Decompressor()
        unpacker.decompress(_WIDEST_HEADER)
        packed = self._bits(at, min(at + 8 * MOST_PACKED_BYTES, 8 * self._size_bytes))
        try:
            size = next((i for i in range(len(packed)) if unpacker.decompress(packed[i : i + 1])), None)
        except OSError:
            return ()
        return () if size is None else range(at + 8 * size + 1, at + 8 * size + 9)

    def _magics_from(self, bit: int) -> Iterator[tuple[int, bool]]:
        """Where blocks (True) and ends of streams (False) seem to begin, at a bit or behind it."""
        for number in range(bit // (8 * CHUNK_BYTES), -(-self._size_bytes // CHUNK_BYTES)):
            places, is_block = self._magics(number)
            first = int(np.searchsorted(places, bit))
            yield from zip(places[first:].tolist(), is_block[first:].tolist(), strict=True)

    def _find_magics(self, number: int) -> tuple[Any, Any]:
        """Those that begin in a chunk."""
        start, end = number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES
        data = np.frombuffer(self._between(start, end + MAGIC_BITS // 8), np.uint8)
        places, is_block = np.empty(len(data), np.int64), np.empty(len(data), np.bool_)
        count = find_magics(data, places, is_block)
        mine = places[:count] < 8 * CHUNK_BYTES
        return places[:count][mine] + 8 * start, is_block[:count][mine]

    def _bits(self, start: int, end: int) -> bytes:
        """The bits from one place to another, moved so that the first one begins a byte; others may stand behind."""
        shift = start % 8
        held = self._between(start // 8, -(-end // 8) + 1)
        if shift == 0:
            return held
        data = np.frombuffer(held + b"\0", np.uint8)
        return bytes(data[:-1] << np.uint8(shift) | data[1:] >> np.uint8(8 - shift))

    def _between(self, start: int, end: int) -> bytes:
        """The bytes from one place to another, or to the end of the file."""
        numbers = range(start // CHUNK_BYTES, -(-min(end, self._size_bytes) // CHUNK_BYTES))
        pieces = []
        for number in numbers:
            chunk = self._chunk(number)
            at = number * CHUNK_BYTES
            pieces.append(chunk[max(0, start - at) : max(0, end - at)])
        return b"".join(pieces)

    def _read_chunk(self, number: int) -> bytes:
        return bytes(self._raw.read_at(CHUNK_BYTES, number * CHUNK_BYTES))
