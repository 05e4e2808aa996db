"""TLS under the identity's own key."""

from __future__ import annotations

import os
import stat
import tempfile
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from superpeer.net import certificates
from superpeer.net.certificates import certificate_chain, certificate_of, key_in, same_key, server_context
from superpeer.net.errors import Reason, Violation
from superpeer.net.tls import Tls
from tests.superpeer.net.helpers import PEER, SERVER


def test_a_certificate_holds_the_key_and_is_always_the_same() -> None:
    data = certificate_of(SERVER).public_bytes(Encoding.DER)
    assert key_in(data) == SERVER.public
    assert certificate_of(SERVER).public_bytes(Encoding.DER) == data
    assert key_in(certificate_of(PEER).public_bytes(Encoding.DER)) == PEER.public


def test_a_certificate_signs_itself() -> None:
    certificate = certificate_of(SERVER)
    certificate.verify_directly_issued_by(certificate)


@pytest.mark.parametrize("data", [None, b"", b"no certificate", b"0\x82\x01\x00" + bytes(256)])
def test_what_is_no_certificate_holds_no_key(data: bytes | None) -> None:
    assert key_in(data) is None


def test_a_key_of_another_kind_is_none() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    date = datetime(2030, 1, 1, tzinfo=UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, date, date).sign(key, hashes.SHA256())
    assert key_in(built.public_bytes(Encoding.DER)) is None


def test_keys_are_compared() -> None:
    assert same_key(SERVER.public, SERVER.public)
    assert not same_key(SERVER.public, PEER.public)


def test_the_secret_is_never_written_in_the_clear() -> None:
    chain = certificate_chain(SERVER, b"passphrase")
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in chain
    assert SERVER.reveal_seed() not in chain
    assert b64encode(SERVER.reveal_seed())[2:-4] not in chain


def test_where_there_are_no_files_in_memory_the_key_is_in_a_private_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with certificates._private_file(b"content") as path:
        assert Path(path).read_bytes() == b"content"
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
    assert not list(tmp_path.iterdir())
    server_context(SERVER)
    assert not list(tmp_path.iterdir())


def test_a_file_in_memory_is_closed() -> None:
    before = open_files()
    server_context(SERVER)
    assert open_files() == before


def open_files() -> set[str]:
    directory = Path("/proc/self/fd")
    return {path.name for path in directory.iterdir()} if directory.is_dir() else set()


def shake(client: Tls, server: Tls) -> None:
    ready = {client: False, server: False}
    while not all(ready.values()):
        for one, other in ((client, server), (server, client)):
            ready[one] = ready[one] or one.handshake()
            other.feed(one.outgoing())


def test_tls_carries_bytes_and_its_end() -> None:
    client = Tls(certificates.client_context(), server_side=False)
    server = Tls(server_context(SERVER), server_side=True)
    shake(client, server)
    assert key_in(client.certificate()) == SERVER.public
    assert server.certificate() is None
    client.write(b"hello" * 10_000)
    server.feed(client.outgoing())
    received = b""
    while data := server.read():
        received += data
    assert received == b"hello" * 10_000
    assert not server.ended
    client.end()
    server.feed(client.outgoing())
    assert server.read() == b""
    assert server.ended


def test_another_protocol_is_refused() -> None:
    context = certificates.client_context()
    context.set_alpn_protocols(["http/1.1"])
    with pytest.raises(Violation, match="does not speak superpeer") as found:
        shake(Tls(context, server_side=False), Tls(server_context(SERVER), server_side=True))
    assert found.value.reason is Reason.TLS_FAILED


def test_garbage_is_refused() -> None:
    server = Tls(server_context(SERVER), server_side=True)
    server.feed(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(Violation) as found:
        server.handshake()
    assert found.value.reason is Reason.TLS_FAILED


def test_altered_records_are_refused() -> None:
    client = Tls(certificates.client_context(), server_side=False)
    server = Tls(server_context(SERVER), server_side=True)
    shake(client, server)
    client.write(b"hello")
    data = bytearray(client.outgoing())
    data[-1] ^= 1
    server.feed(bytes(data))
    with pytest.raises(Violation) as found:
        server.read()
    assert found.value.reason is Reason.TLS_FAILED
