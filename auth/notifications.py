"""Signed notifications: one signature for a batch, and for each notification a proof that stands alone.

A publisher signs the root of a Merkle tree over its batch. A subscriber gets only those notifications that match,
each with its path to the root, and can verify every one by itself:

    leaf      = H_leaf(id, kind, body)
    signature over (publisher's key, publisher's public id, access point's key, size of the batch, root)

The public id is derived from the publisher's key and salt, so it cannot be somebody else's. A proof has 64 bytes for
the signature, at most 32 * ceil(log2 n) for the path, and a few for two numbers and the framing: 77 bytes alone, 337
in a batch of 256.

A signature costs some 70 microseconds to verify and a path a few. A `BatchVerifier` remembers the roots it has
verified, so that the notifications of one batch cost one signature together.

That a notification is genuine does not make it new: whoever receives it drops what it has seen, by id or by position
in the origin's log.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import msgspec

from auth.errors import LimitExceeded, WrongKey
from auth.identifiers import PublicId
from auth.identity import Identity, sign, verify
from auth.merkle import leaf_hash, path, root_of, tree
from auth.revocation import Revocations
from auth.statements import HASH_BYTES, Purpose, number
from auth.values import PublicKey
from auth.wire import Hash, Message, Signature

MAX_BATCH = 4096
MAX_PATH_BYTES = 12 * HASH_BYTES
VERIFIED_BATCHES = 1024


class Origin(Message, frozen=True, tag="origin"):
    """Where a notification comes from: its publisher, and the access point through which it was published."""

    publisher: PublicKey
    salt: Hash
    access_point: PublicKey

    @property
    def public_id(self) -> PublicId:
        return _public_id(self.publisher, self.salt)


class Item(msgspec.Struct, frozen=True, gc=False):
    """What is signed of a notification: the publisher's id for it, its kind (new, updated, deleted) and its body."""

    id: bytes
    kind: str
    body: bytes


class Proof(Message, frozen=True, tag="proof"):
    """That a notification is the one at `index` in a batch of `size` which its publisher signed."""

    index: Annotated[int, msgspec.Meta(ge=0, lt=MAX_BATCH)]
    size: Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH)]
    path: Annotated[bytes, msgspec.Meta(max_length=MAX_PATH_BYTES)]
    signature: Signature


def sign_batch(publisher: Identity, origin: Origin, items: Sequence[Item]) -> list[Proof]:
    """One signature for all; a proof for each, in the same order."""
    return _proofs(*_signed(publisher, origin, items)) if items else []


def sign_together(publisher: Identity, origin: Origin, items: Sequence[Item]) -> bytes:
    """The signature alone, for whoever gets the whole batch and makes the proofs itself: see `BatchVerifier.prove`."""
    return _signed(publisher, origin, items)[1]


def _signed(publisher: Identity, origin: Origin, items: Sequence[Item]) -> tuple[list[list[bytes]], bytes]:
    if origin.publisher != publisher.public:
        raise WrongKey("a publisher signs notifications of its own only; give the origin with its key")
    if len(items) > MAX_BATCH:
        raise LimitExceeded("notifications in a batch", MAX_BATCH, "sign them in several batches")
    levels = tree([_leaf(item) for item in items])
    return levels, sign(publisher, Purpose.NOTIFICATIONS, *_parts(origin, len(items), levels[-1][0]))


def verify_item(origin: Origin, item: Item, proof: Proof) -> None:
    """Raise `ProofInvalid` or `BadSignature` unless the origin's publisher signed this notification."""
    verify_root(origin, proof, root_of(_leaf(item), proof.index, proof.size, proof.path))


def verify_root(origin: Origin, proof: Proof, root: bytes) -> None:
    verify(origin.publisher, Purpose.NOTIFICATIONS, proof.signature, *_parts(origin, proof.size, root))


class BatchVerifier:
    """Verifies notifications, and each batch's signature once while it is remembered."""

    def __init__(self, revocations: Revocations | None = None, max_batches: int = VERIFIED_BATCHES) -> None:
        self._revocations = revocations
        self._max_batches = max_batches
        # Everything that a verification depends on is in the key, the signature included.
        self._verified: dict[tuple[bytes, ...], None] = {}

    def verify(self, origin: Origin, item: Item, proof: Proof) -> None:
        """As `verify_item`, and `KeyRevoked` if the publisher's key counts no more."""
        if self._revocations is not None:
            self._revocations.require(origin.publisher)
        root = root_of(_leaf(item), proof.index, proof.size, proof.path)
        batch = (*_parts(origin, proof.size, root), proof.signature)
        if batch not in self._verified:
            verify_root(origin, proof, root)
            self._verified[batch] = None
            if len(self._verified) > self._max_batches:
                del self._verified[next(iter(self._verified))]

    def prove(self, origin: Origin, items: Sequence[Item], signature: bytes) -> list[Proof]:
        """The proofs of all notifications of a batch that its publisher signed; raises as `verify` does."""
        assert 0 < len(items) <= MAX_BATCH
        if self._revocations is not None:
            self._revocations.require(origin.publisher)
        levels = tree([_leaf(item) for item in items])
        proofs = _proofs(levels, signature)
        verify_root(origin, proofs[0], levels[-1][0])
        return proofs


@lru_cache(maxsize=4_096)
def _public_id(publisher: PublicKey, salt: bytes) -> PublicId:
    return PublicId.derive(publisher, salt)


def _proofs(levels: list[list[bytes]], signature: bytes) -> list[Proof]:
    size = len(levels[0])
    return [Proof(index, size, path(levels, index), signature) for index in range(size)]


def _leaf(item: Item) -> bytes:
    return leaf_hash(item.id, item.kind.encode(), item.body)


def _parts(origin: Origin, size: int, root: bytes) -> tuple[bytes, ...]:
    keys = (origin.publisher.raw, origin.public_id.raw, origin.access_point.raw)
    return (*keys, number(size), root)
