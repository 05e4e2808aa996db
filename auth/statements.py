"""Statements: the exact bytes that are signed or hashed, so that no two meanings ever share them.

A signature means something only together with what its maker thought it meant. So every signed statement starts with
the protocol's name and version and with a *purpose*, and every part is preceded by its length:

    field(x)                 = length of x, 4 bytes big-endian, then x
    statement(purpose, a, b) = field("superpeer/auth/1") field(purpose) field(a) field(b)

Such a sequence of fields can be read back in one way only; hence two statements are equal only if purpose and parts
are, and a signature for one purpose never verifies for another. The first byte is always zero. TLS signs 64 spaces
first, and an X.509 certificate starts with 0x30, so an identity key may also serve as a TLS key without either
protocol's signatures being taken for the other's.

Hashes are BLAKE2b, separated by its personalisation parameter in the same way.
"""

from __future__ import annotations

from enum import Enum
from hashlib import blake2b

PROTOCOL = b"superpeer/auth/1"
HASH_BYTES = 32
NUMBER_BYTES = 8
MAX_NUMBER = 2**63 - 1


class Purpose(Enum):
    """What a signature is for. The values are part of the wire format."""

    IDENTIFY_SUPER_PEER = "identify super-peer"
    IDENTIFY_PEER = "identify peer"
    IDENTIFY_MEMBER = "identify member"
    REGISTRATION_REQUEST = "registration request"
    REGISTRATION_REPLY = "registration reply"
    ARRIVAL_REQUEST = "arrival request"
    ARRIVAL_REPLY = "arrival reply"
    ATTACHMENT = "attachment"
    MIGRATION_ORDER = "migration order"
    KEY_REVOCATION = "key revocation"
    CERTIFICATE_REVOCATION = "certificate revocation"
    CERTIFICATE = "certificate"
    MEMBERSHIP = "membership"
    NOTIFICATIONS = "notifications"


class Domain(Enum):
    """What a hash is for: the personalisation of BLAKE2b, at most 16 bytes. Part of the wire format."""

    TEXT_CHECK = b"sp1 text check"
    KEY_ID = b"sp1 key id"
    PUBLIC_SALT = b"sp1 public salt"
    PUBLIC_ID = b"sp1 public id"
    PRIVATE_ID = b"sp1 private id"
    PRIVATE_VERIFIER = b"sp1 private chk"
    CERTIFICATE_SERIAL = b"sp1 cert serial"
    REVOCATIONS = b"sp1 revocations"
    LEAF = b"sp1 leaf"
    NODE = b"sp1 node"


def statement(purpose: Purpose, *parts: bytes) -> bytes:
    """The bytes that are signed for a purpose."""
    return fields(PROTOCOL, purpose.value.encode(), *parts)


def digest(domain: Domain, *parts: bytes, size: int = HASH_BYTES) -> bytes:
    """The hash of some parts for one use."""
    return blake2b(fields(*parts), digest_size=size, person=domain.value).digest()


def fields(*parts: bytes) -> bytes:
    return b"".join([len(part).to_bytes(4, "big") + part for part in parts])


def number(value: int) -> bytes:
    """A number as a part: unsigned, big-endian."""
    assert 0 <= value <= MAX_NUMBER, "numbers in statements have 63 bits"
    return value.to_bytes(NUMBER_BYTES, "big")
