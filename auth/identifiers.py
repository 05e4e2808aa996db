"""The two identifiers of a registered peer: a private id, known to it and its access point, and a public id.

The chapter makes both by hashing "current date and time, the IP address of s, the current IP address of x and a very
large random number" (section 5.2). Here the hash is BLAKE2b, personalised for each use, and every random number has
32 bytes:

    private id = H_private(public key of x, time, address of s, address of x, random number)
    salt       = H_salt(public key of x, time, address of s, address of x, another random number)
    public id  = H_public(public key of x, salt)

So the public id is bound to the key: whoever is shown key and salt can check that the id is the key's, and nobody finds
a second key for an id. A super-peer that lies cannot pass its own key off as the owner of somebody's public id. The
salt tells nothing about the addresses, because a random number is hashed with them.

A private id is compared in constant time and is never shown: not in a repr, a log, a pickle or a hash table. The
access point keeps only its *verifier*, a hash, so that what it writes to disk does not let anybody act as the peer.
"""

from __future__ import annotations

import hmac
from typing import Literal, Self

from auth.errors import InvalidAddress, InvalidIdentifier, WrongPublicId
from auth.identity import Random, draw
from auth.secret import Secret
from auth.statements import HASH_BYTES, Domain, digest, number
from auth.values import PublicKey, Value

PRIVATE_ID_BYTES = 32
SALT_BYTES = HASH_BYTES
LARGE_RANDOM_BYTES = 32
MAX_ADDRESS_BYTES = 256


class PublicId(Value):
    """What others see of a peer: enough to ask for its address or a rendezvous, never to act as the peer."""

    __slots__ = ()

    SIZE = 32
    CHECK_SIZE = 3
    PREFIX = "spi-"
    WHAT = "a public id"
    ERROR = InvalidIdentifier

    @classmethod
    def derive(cls, key: PublicKey, salt: bytes) -> Self:
        assert len(salt) == SALT_BYTES
        return cls(digest(Domain.PUBLIC_ID, key.raw, salt))

    def require_owner(self, key: PublicKey, salt: bytes) -> None:
        """Raise `WrongPublicId` unless this id was made for this key."""
        if self != PublicId.derive(key, salt):
            raise WrongPublicId


class PrivateId(Secret):
    """The secret that goes with every message of a peer to its access point, inside the encrypted channel."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        if len(raw) != PRIVATE_ID_BYTES:
            raise InvalidIdentifier(f"a private id has {PRIVATE_ID_BYTES} bytes; register again to get a new one")
        self._raw = raw

    def reveal(self) -> bytes:
        """The secret itself, for a sealed letter, an encrypted channel or a file of mode 0600, and nothing else."""
        return self._raw

    def verifier(self, key: PublicKey) -> bytes:
        """What the access point keeps: it recognises this private id of this peer, and reveals nothing of it."""
        return digest(Domain.PRIVATE_VERIFIER, key.raw, self._raw)

    def meets(self, verifier: bytes, key: PublicKey) -> bool:
        """Whether the verifier was made of this private id, found out in constant time."""
        return hmac.compare_digest(self.verifier(key), verifier)

    def __eq__(self, other: object) -> bool:
        return hmac.compare_digest(self._raw, other._raw) if isinstance(other, PrivateId) else NotImplemented

    # A hash table compares its keys by content and in variable time, and a hash is a number that gets shown.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> Literal["<PrivateId>"]:
        return "<PrivateId>"


def make_private_id(key: PublicKey, super_peer: str, peer: str, now: float, random: Random) -> PrivateId:
    """`super_peer` and `peer` are addresses."""
    return PrivateId(_hash_of_circumstances(Domain.PRIVATE_ID, key, super_peer, peer, now, random))


def make_salt(key: PublicKey, super_peer: str, peer: str, now: float, random: Random) -> bytes:
    """What a public id is derived from, together with the peer's key; `super_peer` and `peer` are addresses."""
    return _hash_of_circumstances(Domain.PUBLIC_SALT, key, super_peer, peer, now, random)


def check_address(address: str) -> str:
    """An address is kept, logged and shown, so it is short and cannot carry line breaks or control characters."""
    if not address.isprintable() or " " in address:
        raise InvalidAddress
    if len(address.encode()) > MAX_ADDRESS_BYTES:
        raise InvalidAddress(f"an address has at most {MAX_ADDRESS_BYTES} bytes; use a shorter host name")
    return address


def _hash_of_circumstances(
    domain: Domain, key: PublicKey, super_peer: str, peer: str, now: float, random: Random
) -> bytes:
    milliseconds, large = number(int(now * 1000)), draw(random, LARGE_RANDOM_BYTES)
    return digest(domain, key.raw, milliseconds, super_peer.encode(), peer.encode(), large)
