"""How things are written in the columns of the store: MessagePack, and a seal on everything.

SQLite notices when its trees are broken, not when a bit of a value flips. So every row ends with a checksum over its
key and its value, the *seal*, and a row whose seal is broken is damage and not news. A publication has the digest of
its bytes instead, which also tells when it is already there.

Numbers that other super-peers and peers say (places, counts) may be anything that MessagePack holds, more than an
integer of SQLite. They are written as bytes that sort like the numbers.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, TypeVar
from zlib import crc32

import msgspec

import auth
from auth import read_value, write_value
from hypercup import Entry, Label
from superpeer.node.forms import ElementForm
from superpeer.node.publications import Place, Publication
from superpeer.node.records import Rendezvous, Subscription

DIGEST_BYTES = 16
SEAL_BYTES = 4
NUMBER_BYTES = 9
BIAS = 2**64
"""Makes every number of MessagePack positive."""

Key = int | str | bytes
Decoded = TypeVar("Decoded")


class BrokenSeal(Exception):
    """A value is not what was written. Never leaves this package."""


class PeerStatus(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a peer in one small row, as it changes often."""

    name: str
    taken: int = 0
    """The position in its queue up to which everything is gone."""
    lost: str = "0"
    """In digits: others say how much was lost, and integers have bounds in MessagePack."""
    last_serial: int = 0
    is_leaving: bool = False
    is_arriving: bool = False
    came_from: bytes | None = None
    has_caught_up_here: bool = True


class DeliveryRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A publication that waits for some peers: for each the peer, the position and the subscriptions."""

    publication: int
    at: float
    is_history: bool
    recipients: list[tuple[int, int, tuple[str, ...]]]


class FileRow(msgspec.Struct, frozen=True, array_like=True):
    """A file that waits for a peer; its content is on disk under the name of its own digest."""

    rendezvous: Rendezvous
    digest: bytes
    content: bytes
    at: float


class LogStatus(msgspec.Struct, frozen=True, array_like=True):
    generation: int
    trimmed: int


def digest_of(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def encode(value: object) -> bytes:
    return _encoder.encode(value)


def seal(key: Key, data: bytes) -> bytes:
    """A value as it stands in the row of a key."""
    return data + crc32(data, _begin(key)).to_bytes(SEAL_BYTES, "big")


def unseal(key: Key, sealed: object) -> bytes:
    if not isinstance(sealed, bytes) or len(sealed) < SEAL_BYTES:
        raise BrokenSeal
    data = sealed[:-SEAL_BYTES]
    if crc32(data, _begin(key)).to_bytes(SEAL_BYTES, "big") != sealed[-SEAL_BYTES:]:
        raise BrokenSeal
    return data


def write(key: Key, value: object) -> bytes:
    return seal(key, _encoder.encode(value))


def read(decoder: msgspec.msgpack.Decoder[Decoded], key: Key, sealed: object) -> Decoded:
    """What `write` wrote, or `BrokenSeal`."""
    return decode(decoder, unseal(key, sealed))


def decode(decoder: msgspec.msgpack.Decoder[Decoded], data: bytes) -> Decoded:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, auth.AuthError, ValueError, RecursionError) as error:
        raise BrokenSeal from error


def log_seal(number: int, publication: int, is_acknowledged: bool) -> int:
    """The seal of a row that has nothing but numbers."""
    return crc32(b"%d %d %d" % (number, publication, is_acknowledged))


def write_place(place: Place) -> bytes:
    """Places sort like what is written of them."""
    generation, number = place
    return (generation + BIAS).to_bytes(NUMBER_BYTES, "big") + (number + BIAS).to_bytes(NUMBER_BYTES, "big")


def read_place(data: bytes) -> Place:
    if len(data) != 2 * NUMBER_BYTES:
        raise BrokenSeal
    number = int.from_bytes(data[NUMBER_BYTES:], "big") - BIAS
    return int.from_bytes(data[:NUMBER_BYTES], "big") - BIAS, number


def named_key(first: int | str, second: Key) -> bytes:
    """The key of a row that has two columns for it."""
    return f"{first} ".encode() + (second if isinstance(second, bytes) else str(second).encode())


def _begin(key: Key) -> int:
    """So that a value does not fit another key."""
    return crc32(key if isinstance(key, bytes) else str(key).encode())


def _write(value: object) -> bytes | str:
    return str(value) if isinstance(value, Label) else write_value(value)


def _read(kind: type, value: object) -> object:
    return Label(value) if kind is Label and isinstance(value, str) else read_value(kind, value)


def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind, dec_hook=_read)


_encoder = msgspec.msgpack.Encoder(enc_hook=_write)

PUBLICATION: msgspec.msgpack.Decoder[Publication] = _decoder(Publication)
DELIVERY: msgspec.msgpack.Decoder[DeliveryRow] = _decoder(DeliveryRow)
PEER: msgspec.msgpack.Decoder[PeerStatus] = _decoder(PeerStatus)
SUBSCRIPTION: msgspec.msgpack.Decoder[Subscription] = _decoder(Subscription)
ELEMENTS: msgspec.msgpack.Decoder[tuple[ElementForm, ...]] = _decoder(tuple[ElementForm, ...])
ORDER: msgspec.msgpack.Decoder[auth.MigrationOrder] = _decoder(auth.MigrationOrder)
RENDEZVOUS: msgspec.msgpack.Decoder[Rendezvous] = _decoder(Rendezvous)
FILE: msgspec.msgpack.Decoder[FileRow] = _decoder(FileRow)
LOG: msgspec.msgpack.Decoder[LogStatus] = _decoder(LogStatus)
REGISTERED: msgspec.msgpack.Decoder[auth.Record] = _decoder(auth.Record)
ENTRY: msgspec.msgpack.Decoder[Entry] = _decoder(Entry)
