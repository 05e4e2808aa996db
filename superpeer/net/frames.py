"""Frames: how messages are cut out of a stream of bytes. No socket in here.

    frame = length of the body, 4 bytes big-endian ‖ kind, 1 byte ‖ body

    HANDSHAKE   0   one message of the handshake
    MESSAGES    1   a MessagePack array of byte strings, each a message of the layer above
    COMPRESSED  2   the same as one zstd frame that states its content's size
    HEARTBEAT   3   empty
    CLOSE       4   a MessagePack array: the number of a reason, and a text

Messages are byte strings inside the array, not values of it, so nothing that a message contains can break a frame,
and the layer above reads each with its own decoder. Every size is checked before anything is allocated for it. A
reader takes one frame at a time, so that however much a few bytes decompress to, whoever reads decides when to go on.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, NamedTuple

import msgspec
import zstandard

from superpeer.net.errors import Reason, Violation

HEADER_BYTES = 5
HANDSHAKE_BODY_BYTES = 2048
MAX_MESSAGES = 65_536
MAX_TEXT_CHARACTERS = 200
# An array has a header of up to 5 bytes, and each byte string one of up to 5.
BODY_OVERHEAD_BYTES = 5
MESSAGE_OVERHEAD_BYTES = 5
COMPRESSION_LEVEL = 1
# A window is what a decompressor keeps in memory beside its output.
MAX_WINDOW_BYTES = 8 * 1024 * 1024


class Kind(IntEnum):
    HANDSHAKE = 0
    MESSAGES = 1
    COMPRESSED = 2
    HEARTBEAT = 3
    CLOSE = 4


class Frame(NamedTuple):
    """What was read: never `COMPRESSED`, as that is undone."""

    kind: Kind
    body: bytes


class Closing(msgspec.Struct, frozen=True, array_like=True):
    """The body of a CLOSE frame."""

    reason: int
    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARACTERS)] = ""


_messages_decoder: msgspec.msgpack.Decoder[list[bytes]] = msgspec.msgpack.Decoder(
    Annotated[list[bytes], msgspec.Meta(max_length=MAX_MESSAGES)]
)
_closing_decoder = msgspec.msgpack.Decoder(Closing)
_encoder = msgspec.msgpack.Encoder()


class _Zstd(threading.local):
    """These hold memory between calls, so connections share them; threads must not."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)


_zstd = _Zstd()


class FrameReader:
    """Bytes in, frames out. Until `open` is called it takes frames of the handshake only, and small ones."""

    __slots__ = ("_buffer", "_is_open", "_max_body_bytes")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._is_open = False
        self._max_body_bytes = HANDSHAKE_BODY_BYTES

    def open(self, max_body_bytes: int) -> None:
        self._is_open = True
        self._max_body_bytes = max_body_bytes

    @property
    def is_within_frame(self) -> bool:
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Frame | None:
        """The next frame, if it is complete. Raises a `Violation`, after which there is nothing more to read."""
        buffer = self._buffer
        if len(buffer) < HEADER_BYTES:
            return None
        length = int.from_bytes(buffer[:4], "big")
        kind = self._check(length, buffer[4])
        if len(buffer) < HEADER_BYTES + length:
            return None
        body = bytes(memoryview(buffer)[HEADER_BYTES : HEADER_BYTES + length])
        del buffer[: HEADER_BYTES + length]
        if kind is Kind.COMPRESSED:
            return Frame(Kind.MESSAGES, decompress(body, self._max_body_bytes))
        return Frame(kind, body)

    def _check(self, length: int, number: int) -> Kind:
        """The header alone decides, before the body is waited for."""
        try:
            kind = Kind(number)
        except ValueError:
            raise Violation(
                Reason.UNKNOWN_KIND, f"there are no frames of kind {number}; close the connection"
            ) from None
        if length > self._max_body_bytes:
            raise Violation(
                Reason.OVERSIZE,
                f"a frame of {length} bytes is larger than {self._max_body_bytes}; close the connection",
            )
        if kind is not Kind.CLOSE and self._is_open is (kind is Kind.HANDSHAKE):
            raise Violation(Reason.OUT_OF_ORDER, f"a frame of kind {kind.name} has no place here; close the connection")
        if kind is Kind.HEARTBEAT and length:
            raise Violation(Reason.MALFORMED_FRAME, "a heartbeat is empty; close the connection")
        return kind


def write_frame(kind: Kind, body: bytes = b"") -> bytes:
    return len(body).to_bytes(4, "big") + bytes((kind,)) + body


def write_messages(messages: Sequence[bytes], compress_from_bytes: int | None) -> bytes:
    """One frame with all these messages; compressed, if it is large enough and gets smaller by that."""
    assert 0 < len(messages) <= MAX_MESSAGES
    body = _encoder.encode(messages)
    if compress_from_bytes is not None and len(body) >= compress_from_bytes:
        compressed = _zstd.compressor.compress(body)
        if len(compressed) < len(body):
            return write_frame(Kind.COMPRESSED, compressed)
    return write_frame(Kind.MESSAGES, body)


def read_messages(body: bytes) -> list[bytes]:
    try:
        return _messages_decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Violation(Reason.MALFORMED_FRAME, f"a frame is no array of messages ({error}); close it") from error


def write_closing(reason: Reason, text: str = "") -> bytes:
    return write_frame(Kind.CLOSE, _encoder.encode(Closing(int(reason), text[:MAX_TEXT_CHARACTERS])))


def read_closing(body: bytes) -> Closing:
    """A reason that this version does not know is told from none by its number only."""
    try:
        closing = _closing_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Violation(Reason.MALFORMED_FRAME, "a frame gives no reason for closing; close it as well") from error
    # The text comes from outside and may end in a terminal.
    shown = "".join(character if character.isprintable() else "?" for character in closing.text)
    return Closing(closing.reason, shown)


def decompress(data: bytes, max_bytes: int) -> bytes:
    """Undo zstd for data that says how large it gets, and no larger than this."""
    try:
        size = zstandard.frame_content_size(data)
        if size < 0:
            raise Violation(Reason.BAD_COMPRESSION, "compressed data states its content's size; close the connection")
        if size > max_bytes:
            raise Violation(Reason.OVERSIZE, f"a frame decompresses to {size} bytes, more than {max_bytes}; close it")
        content = _zstd.decompressor.decompress(data, max_output_size=max_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Violation(Reason.BAD_COMPRESSION, f"a frame does not decompress ({error}); close it") from error
    assert len(content) <= max_bytes
    return content
