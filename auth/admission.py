"""Admission: which super-peers belong to a network.

A network is known by its root key. The holder of the root secret, who can keep it offline, admits a super-peer by
signing a certificate: this key, under this name, from then until then. A certificate is no secret. Its serial number
is a hash of what it says, so it need not be chosen, and it is what a revocation names.

A certificate is checked in an order that makes the first complaint the true one: another network's root, then the
signature, and only then what the certificate says.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Annotated, Self

import msgspec

from auth.errors import (
    AdmissionError,
    BadSignature,
    CertificateExpired,
    CertificateForAnother,
    CertificateNotYetValid,
    CertificateTampered,
    InvalidName,
    KeyRevoked,
    MalformedMessage,
    NotAdmitted,
    WrongRoot,
)
from auth.identity import Identity, sign, verify
from auth.revocation import SERIAL_BYTES, Revocations
from auth.statements import Domain, Purpose, digest, number
from auth.values import PublicKey
from auth.wire import Message, Number, Signature, decode, encode

MAX_NAME_BYTES = 64
TEXT_PREFIX = "spc-"


class Certificate(Message, frozen=True, tag="certificate"):
    """'`key` is the super-peer `name` of my network, from `not_before` until `not_after`', signed by `root`."""

    root: PublicKey
    key: PublicKey
    name: Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES)]
    not_before: Number
    not_after: Number
    signature: Signature

    @property
    def serial(self) -> bytes:
        """What a revocation names."""
        return digest(Domain.CERTIFICATE_SERIAL, *_parts(self), size=SERIAL_BYTES)

    @property
    def text(self) -> str:
        """One line for a file or a message to the operator of the super-peer."""
        return TEXT_PREFIX + urlsafe_b64encode(encode(self)).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form; a `MalformedMessage` says what is wrong with it."""
        written = text.strip()
        if not written.startswith(TEXT_PREFIX):
            raise MalformedMessage(f"a certificate starts with {TEXT_PREFIX}; check that you copied the right thing")
        encoded = written[len(TEXT_PREFIX) :]
        try:
            data = b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
        except (Base64Error, ValueError) as error:
            raise MalformedMessage("a certificate has letters, digits, - and _ only; copy it again, whole") from error
        return decode(cls, data)


def admit(root: Identity, key: PublicKey, not_before: int, not_after: int, name: str) -> Certificate:
    """Admit a super-peer to the network of this root, for a time in seconds since the epoch."""
    assert 0 <= not_before < not_after, "a certificate is valid for some time"
    _check_name(name)
    unsigned = Certificate(root.public, key, name, not_before, not_after, b"")
    signature = sign(root, Purpose.CERTIFICATE, *_parts(unsigned))
    return Certificate(root.public, key, name, not_before, not_after, signature)


def check(
    certificate: Certificate, root: PublicKey, key: PublicKey, now: float, revocations: Revocations | None = None
) -> None:
    """Raise an `AdmissionError` unless this certificate admits this key to the network of this root now."""
    verify_certificate(certificate, root)
    if certificate.key != key:
        raise CertificateForAnother
    check_time(certificate, now)
    if revocations is not None:
        check_revoked(certificate, revocations)


def verify_certificate(certificate: Certificate, root: PublicKey) -> None:
    """What does not depend on the time: the network, the root's signature, and a name that can be shown."""
    if certificate.root != root:
        raise WrongRoot
    try:
        verify(root, Purpose.CERTIFICATE, certificate.signature, *_parts(certificate))
    except BadSignature as error:
        raise CertificateTampered from error
    _check_name(certificate.name)


def check_time(certificate: Certificate, now: float) -> None:
    if now < certificate.not_before:
        raise CertificateNotYetValid
    if now >= certificate.not_after:
        raise CertificateExpired


def check_revoked(certificate: Certificate, revocations: Revocations) -> None:
    revocations.require_serial(certificate.serial)
    revocations.require(certificate.key)


class Admissions:
    """The certificates of a network that a super-peer has seen, one for each key: the one that lasts longest."""

    def __init__(self, root: PublicKey, revocations: Revocations | None = None) -> None:
        self.root = root
        self.revocations = Revocations(root) if revocations is None else revocations
        self._certificates: dict[PublicKey, Certificate] = {}

    def __len__(self) -> int:
        return len(self._certificates)

    def learn(self, certificate: Certificate, now: float) -> None:
        """Take a certificate in, if it is valid now. Only the root can make one, so this cannot be flooded."""
        known = self._certificates.get(certificate.key)
        if known is not None and known.not_after >= certificate.not_after and self.admits(known.key, now):
            return
        check(certificate, self.root, certificate.key, now, self.revocations)
        self._certificates[certificate.key] = certificate

    def admits(self, key: PublicKey, now: float) -> bool:
        try:
            self.require(key, now)
        except (AdmissionError, KeyRevoked):
            return False
        return True

    def require(self, key: PublicKey, now: float) -> Certificate:
        """The certificate by which a key belongs to the network now; otherwise an error that says why it does not."""
        certificate = self._certificates.get(key)
        if certificate is None:
            raise NotAdmitted
        check_time(certificate, now)
        check_revoked(certificate, self.revocations)
        return certificate


def _check_name(name: str) -> None:
    if not name or not name.isprintable() or len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidName(f"a name is printable text of 1 to {MAX_NAME_BYTES} bytes; choose another one")


def _parts(certificate: Certificate) -> tuple[bytes, ...]:
    times = (number(certificate.not_before), number(certificate.not_after))
    return (certificate.root.raw, certificate.key.raw, certificate.name.encode(), *times)
