"""Identity: an Ed25519 key pair, what it signs, and the X25519 pair derived from it for sealing.

A peer, a super-peer and a network's root are each such a pair. The seed of 32 bytes is the whole secret; everything
else follows from it. The X25519 pair is the birational image of the Ed25519 pair, as libsodium computes it, so that
who knows a public key can also write to its owner under seal. Using one secret for both is sound here because the two
never process the same bytes: what is signed is a statement, and X25519 only ever sees points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import nacl.exceptions
from nacl.bindings import crypto_sign_ed25519_pk_to_curve25519
from nacl.public import PrivateKey as SealingPrivateKey
from nacl.public import PublicKey as SealingPublicKey
from nacl.signing import SigningKey, VerifyKey

from auth.errors import BadSignature, InvalidKey
from auth.secret import Secret
from auth.statements import Purpose, statement
from auth.values import KeyId, PublicKey

SEED_BYTES = 32
SIGNATURE_BYTES = 64

Random = Callable[[int], bytes]


class Identity(Secret):
    """A key pair. It shows its public half only; the seed leaves through `reveal_seed` alone."""

    __slots__ = ("_signing_key", "public")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise InvalidKey(f"the seed of an identity has {SEED_BYTES} bytes; restore the whole of it")
        self._signing_key = SigningKey(seed)
        self.public = PublicKey(bytes(self._signing_key.verify_key))

    @classmethod
    def generate(cls, random: Random) -> Self:
        return cls(draw(random, SEED_BYTES))

    @property
    def id(self) -> KeyId:
        return self.public.id

    def reveal_seed(self) -> bytes:
        """The secret itself, for a key file or a TLS key."""
        return bytes(self._signing_key)

    def sealing_key(self) -> SealingPrivateKey:
        """The secret that opens what was sealed for this identity."""
        return self._signing_key.to_curve25519_private_key()

    def __repr__(self) -> str:
        return f"<Identity {self.public.text}>"


def sign(identity: Identity, purpose: Purpose, *parts: bytes) -> bytes:
    """A signature of 64 bytes over the statement of these parts for this purpose."""
    signature = identity._signing_key.sign(statement(purpose, *parts)).signature
    assert len(signature) == SIGNATURE_BYTES
    return signature


def verify(key: PublicKey, purpose: Purpose, signature: bytes, *parts: bytes) -> None:
    """Raise `BadSignature` unless the key's owner signed exactly these parts for this purpose."""
    if len(signature) != SIGNATURE_BYTES:
        raise BadSignature(f"a signature has {SIGNATURE_BYTES} bytes, not {len(signature)}; discard the statement")
    try:
        VerifyKey(key.raw).verify(statement(purpose, *parts), signature)
    except nacl.exceptions.BadSignatureError as error:
        raise BadSignature from error


def sealing_key_of(key: PublicKey) -> SealingPublicKey:
    """What to seal with for a key's owner. Raises `InvalidKey` for a point outside the prime-order group."""
    try:
        return SealingPublicKey(crypto_sign_ed25519_pk_to_curve25519(key.raw))
    except nacl.exceptions.CryptoError as error:
        raise InvalidKey from error


def draw(random: Random, size: int) -> bytes:
    """Random bytes from a source that was passed in; a source that gives too few is a fault of the program."""
    drawn = random(size)
    assert len(drawn) == size, "a random source gives as many bytes as it is asked for"
    return drawn
