"""TLS under the key that somebody is known by: self-signed certificates, and the pin that a client checks.

There is no certificate authority. A listener's certificate is signed by the Ed25519 key of its own identity and says
nothing but that key; its dates and names mean nothing. A client knows the key from elsewhere. In TLS 1.3 the server
signs the transcript of the handshake, its own and the client's ephemeral keys included, with the key in its
certificate, and OpenSSL checks that signature whatever its settings about authorities are. So once a client has found
the expected key in the certificate, it knows that the holder of this key is at the other end of the encryption.

One key signs here and in `auth`, and the signed bytes never coincide: TLS signs bytes that start with 64 spaces, an
X.509 certificate is a DER sequence and starts with 0x30, and every statement of `auth` starts with a zero byte.

OpenSSL is given its key through a file, as Python's ssl has no other way. The key is in it only encrypted, with a
passphrase that is drawn for that moment and never leaves the process, and the file is an anonymous one in memory
where the system has those; otherwise a file of mode 0600 in a private directory, removed at once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

from auth import Identity, PublicKey

PROTOCOL_NAME = "superpeer"
"""The name in TLS's negotiation of protocols (ALPN). It keeps this protocol apart from all others on the same port."""

# RFC 5280, 4.1.2.5: the date that says that a certificate has no end.
NO_END = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
NO_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def server_context(identity: Identity) -> ssl.SSLContext:
    """TLS for a listener with this identity."""
    context = _strict(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    # Without tickets there is no resumption, so every connection proves the key afresh and no state is kept.
    context.num_tickets = 0
    passphrase = os.urandom(32).hex().encode()
    with _private_file(certificate_chain(identity, passphrase)) as path:
        context.load_cert_chain(path, password=passphrase)
    return context


def client_context() -> ssl.SSLContext:
    """TLS for whoever connects. It trusts nobody by itself: `pinned` decides."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return _strict(context)


def certificate_of(identity: Identity) -> x509.Certificate:
    """The certificate that says this identity's key. The same key always gives the same certificate."""
    key = Ed25519PrivateKey.from_private_bytes(identity.reveal_seed())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, identity.public.text)])
    serial = int.from_bytes(hashlib.sha256(identity.public.raw).digest()[:16], "big") | 1
    unsigned = x509.CertificateBuilder(name, name, key.public_key(), serial, NO_BEGINNING, NO_END)
    return unsigned.sign(key, None)


def certificate_chain(identity: Identity, passphrase: bytes) -> bytes:
    """Certificate and encrypted private key as OpenSSL reads them."""
    key = Ed25519PrivateKey.from_private_bytes(identity.reveal_seed())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase))
    return certificate_of(identity).public_bytes(Encoding.PEM) + secret


def key_in(certificate: bytes | None) -> PublicKey | None:
    """The Ed25519 key in a certificate (DER), if that is what it holds."""
    if certificate is None:
        return None
    try:
        key = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
        return None
    if not isinstance(key, Ed25519PublicKey):
        return None
    return PublicKey(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def same_key(one: PublicKey, other: PublicKey) -> bool:
    """Compared in constant time. Public keys are no secrets, but whoever reads this need not think about it."""
    return hmac.compare_digest(one.raw, other.raw)


def _strict(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([PROTOCOL_NAME])
    return context


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """The path of a file with this content that no other user can open, for as long as the block lasts."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
        try:
            _write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "certificate.pem"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _write(descriptor, content)
        finally:
            os.close(descriptor)
        yield str(path)


def _write(descriptor: int, content: bytes) -> None:
    written = os.write(descriptor, content)
    assert written == len(content), "a few kilobytes are written at once"
