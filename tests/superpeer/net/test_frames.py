"""Frames: whatever the cuts, what was written is read; whatever the bytes, they are read or refused."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from superpeer.net.errors import MessageTooLarge, Reason, Violation
from superpeer.net.frames import (
    HANDSHAKE_BODY_BYTES,
    MAX_MESSAGES,
    Frame,
    FrameReader,
    Kind,
    read_closing,
    read_messages,
    write_closing,
    write_frame,
    write_messages,
)
from superpeer.net.limits import MEBIBYTE, MIN_FRAME_BYTES, Limits
from superpeer.net.outbox import Outbox

encode = msgspec.msgpack.encode


def opened(max_body_bytes: int = MEBIBYTE) -> FrameReader:
    reader = FrameReader()
    reader.open(max_body_bytes)
    return reader


def read_all(reader: FrameReader) -> list[Frame]:
    frames = []
    while (frame := reader.next()) is not None:
        frames.append(frame)
    return frames


def take(reader: FrameReader, data: bytes) -> None:
    """Read everything to the bottom."""
    reader.feed(data)
    for frame in read_all(reader):
        if frame.kind is Kind.MESSAGES:
            read_messages(frame.body)
        if frame.kind is Kind.CLOSE:
            read_closing(frame.body)


def refusal(data: bytes, reader: FrameReader | None = None) -> Reason:
    with pytest.raises(Violation) as found:
        take(reader or opened(), data)
    return found.value.reason


batches = st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=20), max_size=6)


@given(batches, st.randoms(use_true_random=False), st.sampled_from([None, 0, 1000]))
def test_messages_come_out_as_they_went_in(batches: list[list[bytes]], random: Random, compress: int | None) -> None:
    stream = b"".join(write_messages(batch, compress) + write_frame(Kind.HEARTBEAT) for batch in batches)
    reader = opened()
    found: list[list[bytes]] = []
    while stream:
        size = random.randint(1, 400)
        reader.feed(stream[:size])
        stream = stream[size:]
        found += [read_messages(frame.body) for frame in read_all(reader) if frame.kind is Kind.MESSAGES]
    assert found == batches
    assert not reader.is_within_frame


@given(st.binary(max_size=200), st.sampled_from([None, Kind.MESSAGES, Kind.COMPRESSED, Kind.CLOSE]))
def test_any_bytes_are_read_or_refused(data: bytes, kind: Kind | None) -> None:
    try:
        take(opened(), data if kind is None else write_frame(kind, data))
    except Violation as violation:
        assert violation.reason.is_refusal


def test_large_frames_are_compressed_if_that_helps() -> None:
    large = [b"the same again " * 1000]
    written = write_messages(large, 4096)
    assert written[4] == Kind.COMPRESSED
    assert len(written) < 1000
    assert write_messages(large, None)[4] == Kind.MESSAGES
    assert write_messages([b"small"], 4096)[4] == Kind.MESSAGES
    dense = zstandard.ZstdCompressor().compress(bytes(range(256)) * 40 + large[0])
    assert write_messages([dense], 1)[4] == Kind.MESSAGES


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xff\xff\xff\x01", Reason.OVERSIZE),
        ((MEBIBYTE + 1).to_bytes(4, "big") + b"\x02", Reason.OVERSIZE),
        (b"\x00\x00\x00\x00\x05", Reason.UNKNOWN_KIND),
        (b"\x00\x00\x00\x00\xff", Reason.UNKNOWN_KIND),
        (write_frame(Kind.HEARTBEAT, b"x"), Reason.MALFORMED_FRAME),
        (write_frame(Kind.HANDSHAKE, b"x"), Reason.OUT_OF_ORDER),
        (write_frame(Kind.MESSAGES), Reason.MALFORMED_FRAME),
        (write_frame(Kind.MESSAGES, encode([1])), Reason.MALFORMED_FRAME),
        (write_frame(Kind.MESSAGES, encode(["text"])), Reason.MALFORMED_FRAME),
        (write_frame(Kind.MESSAGES, encode([b"x"]) + b"more"), Reason.MALFORMED_FRAME),
        (write_frame(Kind.MESSAGES, b"\xdd\xff\xff\xff\xff"), Reason.MALFORMED_FRAME),
        (write_frame(Kind.MESSAGES, encode([b""] * (MAX_MESSAGES + 1))), Reason.MALFORMED_FRAME),
        (write_frame(Kind.MESSAGES, b"\x91\xc6\xff\xff\xff\xff"), Reason.MALFORMED_FRAME),
        (write_frame(Kind.CLOSE), Reason.MALFORMED_FRAME),
        (write_frame(Kind.CLOSE, encode([0, "x" * 201])), Reason.MALFORMED_FRAME),
        (write_frame(Kind.CLOSE, b"\x92\x00\xa1\xff"), Reason.MALFORMED_FRAME),
        (write_frame(Kind.COMPRESSED, b"not zstd"), Reason.BAD_COMPRESSION),
        (write_frame(Kind.COMPRESSED, b""), Reason.BAD_COMPRESSION),
        (write_frame(Kind.COMPRESSED, zstandard.compress(encode([b"x" * 999]))[:-2]), Reason.BAD_COMPRESSION),
        (write_frame(Kind.COMPRESSED, zstandard.compress(encode([b"x" * 999])) + b"x"), Reason.BAD_COMPRESSION),
    ],
)
def test_violations(data: bytes, reason: Reason) -> None:
    assert refusal(data) is reason


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    bomb = zstandard.compress(bytes(MEBIBYTE + 1))
    assert len(bomb) < 200
    assert refusal(write_frame(Kind.COMPRESSED, bomb)) is Reason.OVERSIZE


def test_a_bomb_that_does_not_state_its_size_is_refused() -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100 * MEBIBYTE))
    assert refusal(write_frame(Kind.COMPRESSED, bomb)) is Reason.BAD_COMPRESSION


def test_before_the_handshake_is_complete_only_small_frames_of_it_are_read() -> None:
    assert refusal(write_messages([b"early"], None), FrameReader()) is Reason.OUT_OF_ORDER
    assert refusal(write_frame(Kind.COMPRESSED, b"early"), FrameReader()) is Reason.OUT_OF_ORDER
    assert refusal(write_frame(Kind.HEARTBEAT), FrameReader()) is Reason.OUT_OF_ORDER
    assert refusal((HANDSHAKE_BODY_BYTES + 1).to_bytes(4, "big") + b"\x00", FrameReader()) is Reason.OVERSIZE
    reader = FrameReader()
    reader.feed(write_frame(Kind.HANDSHAKE, b"x" * HANDSHAKE_BODY_BYTES) + write_closing(Reason.DONE))
    assert [frame.kind for frame in read_all(reader)] == [Kind.HANDSHAKE, Kind.CLOSE]


def test_a_reason_comes_with_a_text_that_can_be_shown() -> None:
    reader = FrameReader()
    reader.feed(write_closing(Reason.GOING_AWAY, "back at \x1b[2Jnoon" + "!" * 300))
    frame = reader.next()
    assert frame is not None
    closing = read_closing(frame.body)
    assert closing.reason == Reason.GOING_AWAY
    assert closing.text.startswith("back at ?[2Jnoon!!")
    assert len(closing.text) == 200


@given(st.lists(st.tuples(st.integers(0, 70_000), st.booleans()), max_size=12))
def test_an_outbox_gives_everything_in_order_in_frames_that_the_other_end_takes(sizes: list[tuple[int, bool]]) -> None:
    outbox = Outbox(Limits(batch_bytes=3000, compress_from_bytes=100), MIN_FRAME_BYTES)
    expected = []
    for number, (size, secret) in enumerate(sizes):
        message = (str(number) * size)[:size].encode()
        if size > outbox.max_message_bytes:
            with pytest.raises(MessageTooLarge):
                outbox.append(message, secret)
        else:
            outbox.append(message, secret)
            expected.append(message)
    reader, found = opened(MIN_FRAME_BYTES), []
    any_secret = any(secret for size, secret in sizes if size <= outbox.max_message_bytes)
    while outbox:
        frame, count = outbox.next_frame()
        assert count == 1 or len(frame) <= 3000 + 5
        assert not (any_secret and frame[4] == Kind.COMPRESSED)
        reader.feed(frame)
        read = reader.next()
        assert read is not None
        messages = read_messages(read.body)
        assert len(messages) == count
        found += messages
    assert found == expected
    assert outbox.size_bytes == 0
