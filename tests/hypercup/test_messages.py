"""Messages survive being written and read, and what is not a message is refused."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypercup import (
    Announce,
    AnyMessage,
    Ask,
    ChosenLink,
    Compare,
    Entries,
    Entry,
    Heartbeat,
    Label,
    MalformedMessage,
    News,
    Received,
    Status,
    Tone,
    Verdict,
    Vouch,
    decode,
    encode,
)
from hypercup.messages import MAX_MESSAGE_BYTES
from hypercup.table import BUCKETS

ENTRY = Entry(
    b"k", "host:1", 3, 4, Status.DEAD, Label("0110"), (ChosenLink(b"x", 7),), 5, b"signature", Verdict(b"a", b"s")
)
MESSAGES: list[AnyMessage] = [
    Heartbeat(b"k", "host:1", 3, b"d" * 16, Tone.CALL),
    Announce(b"k", "host:1", Entry(b"k", claim=Label()), b"d" * 16),
    Received(b"k", "host:1", 3, 4),
    News(b"k", "host:1", (ENTRY, Entry(b"l")), 2),
    Compare(b"k", "host:1", (b"12345678",) * BUCKETS),
    Entries(b"k", "host:1", (ENTRY,), (1, 255)),
    Ask(b"k", "host:1", b"t"),
    Vouch(b"k", "host:1", b"t", 3),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_what_was_written_is_read(message: AnyMessage) -> None:
    assert decode(encode(message)) == message


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode(data)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_damaged_messages_are_read_or_refused_but_never_break_the_reader(message: AnyMessage) -> None:
    random = Random(1)
    whole = encode(message)
    for _ in range(400):
        data = bytearray(whole)
        data[random.randrange(len(data))] = random.randrange(256)
        for damaged in (bytes(data), whole[: random.randrange(len(whole))]):
            try:
                decode(damaged)
            except MalformedMessage:
                continue


def test_sizes_are_limited() -> None:
    with pytest.raises(MalformedMessage, match="at most"):
        decode(b"x" * (MAX_MESSAGE_BYTES + 1))
    with pytest.raises(MalformedMessage, match="256 buckets"):
        decode(encode(Compare(b"k", "a", (b"1",))))
    for sender, address in ((b"", "a"), (b"k" * 65, "a"), (b"k", "a" * 300)):
        with pytest.raises(MalformedMessage, match="usual lengths"):
            decode(encode(Ask(sender, address, b"t")))


def test_a_label_is_written_with_its_digits() -> None:
    data = msgspec.msgpack.decode(encode(News(b"k", "a", (Entry(b"k", claim=Label("01")),), 0)))
    assert data[3][0][5] == "01"
    data[3][0][5] = "0b1"
    with pytest.raises(MalformedMessage, match="digits 0 and 1"):
        decode(msgspec.msgpack.encode(data))


def test_a_full_message_of_ordinary_entries_fits() -> None:
    entry = Entry(b"k" * 32, "super-peer.example.org:4000", 2**40, 7, claim=Label("0" * 12), signature=b"s" * 64)
    assert len(encode(Entries(b"k" * 32, "host:1", (entry,) * 256))) < MAX_MESSAGE_BYTES / 10
