"""Where a super-peer is and which key it holds: HOST:PORT#KEY, as operators hand it out."""

from __future__ import annotations

from typing import NamedTuple, Self

from auth import InvalidValue, PublicKey
from superpeer.client.errors import BadAddress

MAX_PORT = 2**16 - 1


class Address(NamedTuple):
    """The key is what counts; host and port may change."""

    host: str
    port: int
    key: PublicKey

    @classmethod
    def parse(cls, text: str) -> Self:
        """An IPv6 address stands in brackets."""
        place, number_sign, key = text.strip().partition("#")
        if not number_sign:
            raise BadAddress(text, "it names no key")
        host, colon, port = place.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise BadAddress(text, "an IPv6 address stands in brackets")
        if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) <= MAX_PORT):
            raise BadAddress(text, "it names no host with a port")
        try:
            return cls(host, int(port), PublicKey.parse(key))
        except InvalidValue as error:
            raise BadAddress(text, str(error)) from error

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}#{self.key}"
