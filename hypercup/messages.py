"""What members say to each other, and how it is written.

    Heartbeat   to each neighbour, with the digest of the sender's table; or a call that wants an answer
    Announce    one's own entry, to one member: to join, to refute, or to say farewell
    Received    the answer to an announcement that was taken in
    News        entries that changed, broadcast over the backbone
    Compare     digests of all buckets, where two tables differ
    Entries     the entries of some buckets; the receiver sends back what it knows better
    Ask         "have you heard of this member?", about a suspect
    Vouch       "yes, it lives"

Every message names its sender's key and address. That these are true is the business of the channel it came
through; entries are signed because they travel through others.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from hypercup.entry import MAX_ADDRESS_BYTES, MAX_KEY_BYTES, Entry
from hypercup.errors import InvalidLabel, MalformedMessage
from hypercup.label import Label
from hypercup.table import BUCKETS

MAX_MESSAGE_BYTES = 1 << 20


class Tone(Enum):
    """Whether a heartbeat is the regular one, wants an answer, or is one."""

    REGULAR = 0
    CALL = 1
    ANSWER = 2


class Message(msgspec.Struct, frozen=True, tag=True, array_like=True):
    sender: bytes
    address: str


class Heartbeat(Message, frozen=True):
    incarnation: int
    digest: bytes
    tone: Tone = Tone.REGULAR


class Announce(Message, frozen=True):
    entry: Entry
    digest: bytes


class Received(Message, frozen=True):
    incarnation: int
    version: int


class News(Message, frozen=True):
    entries: tuple[Entry, ...]
    dimension: int


class Compare(Message, frozen=True):
    buckets: tuple[bytes, ...]


class Entries(Message, frozen=True):
    entries: tuple[Entry, ...]
    buckets: tuple[int, ...] = ()
    """The buckets of which these are all entries; empty in an answer, which is not answered."""


class Ask(Message, frozen=True):
    target: bytes


class Vouch(Message, frozen=True):
    target: bytes
    incarnation: int


AnyMessage = Heartbeat | Announce | Received | News | Compare | Entries | Ask | Vouch


def encode(message: AnyMessage) -> bytes:
    return msgspec.msgpack.encode(message, enc_hook=_write_label)


def decode(data: bytes) -> AnyMessage:
    """Read a message, refusing whatever is too long or is not one."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise MalformedMessage(f"a message has at most {MAX_MESSAGE_BYTES} bytes, not {len(data)}")
    try:
        message: AnyMessage = _decoder.decode(data)
    except (msgspec.MsgspecError, InvalidLabel, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessage(f"not a membership message: {error}") from error
    if not 1 <= len(message.sender) <= MAX_KEY_BYTES or len(message.address) > MAX_ADDRESS_BYTES:
        raise MalformedMessage("a message names a sender's key and address of the usual lengths")
    if isinstance(message, Compare) and len(message.buckets) != BUCKETS:
        raise MalformedMessage(f"tables are compared in {BUCKETS} buckets, not {len(message.buckets)}")
    return message


def _write_label(value: object) -> str:
    if isinstance(value, Label):
        return str(value)
    raise NotImplementedError(f"membership messages hold no {type(value).__name__}")


def _read_label(kind: type, value: object) -> Label:
    if kind is Label and isinstance(value, str):
        return Label(value)
    raise ValueError("a label is written as text")


_decoder = msgspec.msgpack.Decoder(AnyMessage, dec_hook=_read_label)
