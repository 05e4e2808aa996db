"""Revocation: statements that a key, or a certificate, counts no more. They are never taken back.

A key is revoked by a statement signed with the key itself (its owner fears that it was stolen, and so may the thief:
both want it gone) or with the network's root key. A certificate is revoked by its serial number, with the root key.

What is known of revocations is a set that merges: its elements are the keys and serials that are revoked, each with one
statement that proves it, and with the root's rather than the owner's when both are known. So merging is commutative,
associative and idempotent, sets only grow, and super-peers that exchange them converge; a digest tells whether two
differ. Which of several proofs of the same fact a party keeps is left open: an owner can make any number of them, and
must not be able to keep a network busy with that.

A revoked key counts no more at all. That also refuses what it signed before it was revoked, because when a signature
was made is only the signer's word.

Anybody can make keys and revoke them, so the statements of owners are limited in number; those of the root are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from auth.errors import BadSignature, CertificateRevoked, KeyRevoked, LimitExceeded
from auth.identity import Identity, sign, verify
from auth.statements import Domain, Purpose, digest, number
from auth.values import PublicKey
from auth.wire import Message, Number, Signature, decode_with, decoder_of

SERIAL_BYTES = 16
MAX_OWNER_REVOCATIONS = 100_000

Serial = Annotated[bytes, msgspec.Meta(min_length=SERIAL_BYTES, max_length=SERIAL_BYTES)]


class KeyRevocation(Message, frozen=True, tag="key revocation"):
    """'`key` counts no more', signed by `signer`: the key itself, or the network's root."""

    key: PublicKey
    signer: PublicKey
    issued: Number
    signature: Signature


class CertificateRevocation(Message, frozen=True, tag="certificate revocation"):
    """'The certificate with this serial counts no more', signed by the network's root."""

    serial: Serial
    signer: PublicKey
    issued: Number
    signature: Signature


Revocation = KeyRevocation | CertificateRevocation
_decoder = decoder_of(Revocation)


def revoke_key(signer: Identity, key: PublicKey, now: float) -> KeyRevocation:
    """Sign with the key itself, or with the root key of the network."""
    issued = int(now)
    signature = sign(signer, Purpose.KEY_REVOCATION, key.raw, signer.public.raw, number(issued))
    return KeyRevocation(key, signer.public, issued, signature)


def revoke_certificate(root: Identity, serial: bytes, now: float) -> CertificateRevocation:
    assert len(serial) == SERIAL_BYTES
    issued = int(now)
    signature = sign(root, Purpose.CERTIFICATE_REVOCATION, serial, root.public.raw, number(issued))
    return CertificateRevocation(serial, root.public, issued, signature)


def decode_revocation(data: bytes) -> Revocation:
    revocation: Revocation = decode_with(_decoder, data)
    return revocation


class Revocations:
    """All revocations that are known, in a network with this root key (or in none that has one)."""

    def __init__(self, root: PublicKey | None = None, max_owner_revocations: int = MAX_OWNER_REVOCATIONS) -> None:
        self._root = root
        self._max_owner_revocations = max_owner_revocations
        self._owner_revocations = 0
        # Keys and serials differ in length, so they share one table.
        self._known: dict[bytes, Revocation] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Revocation]:
        """All statements, in the order of what they revoke, to be stored or sent."""
        return (self._known[subject] for subject in sorted(self._known))

    def is_revoked(self, key: PublicKey) -> bool:
        return key.raw in self._known

    def require(self, key: PublicKey) -> None:
        """Raise `KeyRevoked` if the key counts no more."""
        if key.raw in self._known:
            raise KeyRevoked

    def require_serial(self, serial: bytes) -> None:
        """Raise `CertificateRevoked` if the certificate counts no more."""
        if serial in self._known:
            raise CertificateRevoked

    def add(self, revocation: Revocation) -> bool:
        """Take a statement in, if it is genuine; true if it changes what is known."""
        subject = _subject(revocation)
        known = self._known.get(subject)
        if known is not None and self._is_by_root(known) >= self._is_by_root(revocation):
            return False
        self._verify(revocation)
        if not self._is_by_root(revocation):
            if self._owner_revocations >= self._max_owner_revocations:
                limit = self._max_owner_revocations
                raise LimitExceeded("revocations by owners", limit, "let the root revoke the key instead")
            self._owner_revocations += 1
        elif known is not None:
            self._owner_revocations -= 1
        self._known[subject] = revocation
        return True

    def merge(self, others: Iterable[Revocation]) -> int:
        """Take in what another party knows; the number of statements that were new here."""
        return sum([self.add(revocation) for revocation in others])

    def digest(self) -> bytes:
        """Equal for equal sets, so that two parties can tell whether they have something to exchange."""
        facts = (_subject(revocation) + bytes([self._is_by_root(revocation)]) for revocation in self)
        return digest(Domain.REVOCATIONS, *facts)

    def _is_by_root(self, revocation: Revocation) -> bool:
        return revocation.signer == self._root

    def _verify(self, revocation: Revocation) -> None:
        signer, parts = revocation.signer, (revocation.signer.raw, number(revocation.issued))
        if isinstance(revocation, CertificateRevocation):
            if not self._is_by_root(revocation):
                raise BadSignature("only the root key of the network revokes a certificate; discard the statement")
            verify(signer, Purpose.CERTIFICATE_REVOCATION, revocation.signature, revocation.serial, *parts)
        else:
            if not self._is_by_root(revocation) and signer != revocation.key:
                raise BadSignature("a key is revoked by itself or by the network's root; discard the statement")
            verify(signer, Purpose.KEY_REVOCATION, revocation.signature, revocation.key.raw, *parts)


def _subject(revocation: Revocation) -> bytes:
    return revocation.key.raw if isinstance(revocation, KeyRevocation) else revocation.serial
