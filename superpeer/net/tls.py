"""TLS 1.3 as a machine without a socket: bytes of TCP in, bytes of ours out, and the other way round.

asyncio could do this itself. Done here, the certificate is looked at before the client's last word of the handshake
leaves, an idle connection costs no read buffer of its own (asyncio keeps 256 KiB for each), reading stops wherever
the reader is full, and all event loops behave alike.
"""

from __future__ import annotations

import ssl

from superpeer.net.certificates import PROTOCOL_NAME
from superpeer.net.errors import Reason, Violation

CHUNK_BYTES = 64 * 1024


class Tls:
    """One end of one encrypted connection."""

    __slots__ = ("_incoming", "_object", "_outgoing", "ended")

    def __init__(self, context: ssl.SSLContext, *, server_side: bool) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        self.ended = False
        """Whether the other end said, inside the encryption, that nothing follows."""

    def feed(self, data: bytes) -> None:
        """Bytes came from TCP."""
        self._incoming.write(data)

    def outgoing(self) -> bytes:
        """Bytes that go to TCP now."""
        return self._outgoing.read()

    def handshake(self) -> bool:
        """Go on with the handshake as far as the bytes allow; whether it is complete."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise Violation(
                Reason.TLS_FAILED, f"the TLS handshake failed ({_why(error)}); check what connects"
            ) from error
        if self._object.selected_alpn_protocol() != PROTOCOL_NAME:
            raise Violation(Reason.TLS_FAILED, f"the other end does not speak {PROTOCOL_NAME}; check what connects")
        return True

    def certificate(self) -> bytes | None:
        """The other end's certificate as it came (DER); clients show none."""
        return self._object.getpeercert(binary_form=True)

    def write(self, data: bytes) -> None:
        """Encrypt. The bytes are in `outgoing` afterwards."""
        try:
            written = self._object.write(data)
        except ssl.SSLError as error:
            raise Violation(Reason.TLS_FAILED, f"TLS failed ({_why(error)}); connect again") from error
        assert written == len(data), "a memory buffer takes everything"

    def read(self) -> bytes:
        """Decrypt some of what came; nothing, if there is no complete record."""
        try:
            data = self._object.read(CHUNK_BYTES)
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError as error:
            raise Violation(Reason.TLS_FAILED, f"TLS failed ({_why(error)}); connect again") from error
        # OpenSSL gives no bytes for the other end's last word, and asks to wait for everything else.
        self.ended = not data
        return data

    def end(self) -> None:
        """Say, inside the encryption, that nothing follows."""
        try:
            self._object.unwrap()
        except ssl.SSLError:
            # Wants the other end's word too, or is broken: our own is in `outgoing` if there could be one.
            return


def _why(error: ssl.SSLError) -> str:
    return (error.reason or "no reason given").replace("_", " ").lower()
