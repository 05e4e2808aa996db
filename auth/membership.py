"""Membership entries of the backbone: signed by the member, and believed only of members that were admitted.

The backbone takes two plain functions, one that signs a statement and one that checks `(key, statement, signature)`.
These adapters make them. The check also decides who belongs: it is false for a key without a valid certificate.

A signature has 64 bytes. With `certificate`, the signer appends its certificate: then an entry proves by itself that
its member was admitted, and it can be checked by somebody who has never heard of that member. That is how
certificates travel: with the entries, and nothing needs to be asked for. The certificate need not be signed over
again, because the root signed it for this key.

Reading the clock is left to a function that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable

from auth.admission import Admissions, Certificate
from auth.errors import AuthError
from auth.identity import SIGNATURE_BYTES, Identity, sign, verify
from auth.statements import Purpose
from auth.values import PublicKey
from auth.wire import decode, encode

# A certificate with the longest name, two keys, two times and the root's signature.
MAX_ENTRY_SIGNATURE_BYTES = 384


def entry_signer(identity: Identity, certificate: Certificate | None = None) -> Callable[[bytes], bytes]:
    """Signs membership statements; with the certificate appended, if it is given."""
    appended = b"" if certificate is None else encode(certificate)
    assert SIGNATURE_BYTES + len(appended) <= MAX_ENTRY_SIGNATURE_BYTES

    def sign_entry(statement: bytes) -> bytes:
        return sign(identity, Purpose.MEMBERSHIP, identity.public.raw, statement) + appended

    return sign_entry


def entry_verifier(
    admissions: Admissions, clock: Callable[[], float], refused: Callable[[AuthError], None] | None = None
) -> Callable[[bytes, bytes, bytes], bool]:
    """Checks membership statements, and learns the certificates that come with them. `refused` is told why one is not
    believed."""

    def verify_entry(key: bytes, statement: bytes, signature: bytes) -> bool:
        try:
            _check(admissions, clock(), key, statement, signature)
        except AuthError as error:
            if refused is not None:
                refused(error)
            return False
        return True

    return verify_entry


def _check(admissions: Admissions, now: float, raw_key: bytes, statement: bytes, signature: bytes) -> None:
    key = PublicKey(raw_key)
    signed, appended = signature[:SIGNATURE_BYTES], signature[SIGNATURE_BYTES:]
    verify(key, Purpose.MEMBERSHIP, signed, key.raw, statement)
    if appended:
        certificate = decode(Certificate, appended)
        if certificate.key == key:
            admissions.learn(certificate, now)
    admissions.require(key, now)
