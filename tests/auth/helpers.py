"""What the tests of `auth` share: fixed keys, a random source that repeats itself, and whole exchanges."""

from __future__ import annotations

from base64 import b32encode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from hashlib import blake2b

import pytest

from auth import (
    AuthError,
    Credentials,
    ExchangeMessage,
    Granted,
    Identity,
    Outcome,
    PeerExchange,
    Registering,
    Registry,
    SuperPeerExchange,
    attach,
    decode_message,
    encode,
)

NOW = 1_100_000_000.0
CHANNEL = b"the channel of this connection"


class Dice:
    """A random source from a seed: the hash of the seed and a counter."""

    def __init__(self, seed: str = "dice") -> None:
        self.seed = seed.encode()
        self.count = 0

    def __call__(self, size: int) -> bytes:
        self.count += 1
        return blake2b(self.seed + self.count.to_bytes(4, "big"), digest_size=size).digest()


def identity(name: str) -> Identity:
    """The same key for the same name, always."""
    return Identity(blake2b(name.encode(), digest_size=32).digest())


PEER = identity("peer")
OTHER_PEER = identity("other peer")
SUPER_PEER = identity("super-peer")
SECOND_SUPER_PEER = identity("second super-peer")
THIRD_SUPER_PEER = identity("third super-peer")
ROOT = identity("root")


def registry_of(super_peer: Identity) -> Registry:
    return Registry(super_peer.public, "super-peer.example.org:4000")


def register(registry: Registry, peer: Identity, serial: int = 1, now: float = NOW, seed: str = "register") -> Granted:
    """Register a peer without the exchange."""
    attachment = attach(peer, registry.key, serial)
    return registry.register(Registering("peer.example.org:5000", attachment), now, Dice(f"{seed} {serial}"))


def run_exchange(peer: PeerExchange, super_peer: SuperPeerExchange, now: float = NOW) -> tuple[Credentials, Outcome]:
    """A whole exchange, with every message written to bytes and read again."""
    greeting = super_peer.receive(over_the_wire(peer.begin(now)), now)
    request = peer.receive(over_the_wire(greeting), now)
    assert request is not None
    reply = super_peer.receive(over_the_wire(request), now)
    assert peer.receive(over_the_wire(reply), now) is None
    assert peer.credentials is not None
    assert super_peer.outcome is not None
    return peer.credentials, super_peer.outcome


def over_the_wire(message: ExchangeMessage) -> ExchangeMessage:
    return decode_message(encode(message))


def registered(
    peer: Identity, super_peer: Identity, registry: Registry, now: float = NOW, past: Credentials | None = None
) -> tuple[Credentials, Outcome]:
    """Register, or with a past migrate, through the whole exchange."""
    mine = PeerExchange(peer, super_peer.public, "peer.example.org:5000", CHANNEL, Dice(f"peer {now}"), past=past)
    theirs = SuperPeerExchange(super_peer, registry, CHANNEL, Dice(f"super-peer {now}"))
    return run_exchange(mine, theirs, now)


def flipped(data: bytes) -> Iterator[bytes]:
    """The data with each bit flipped in turn."""
    for position in range(len(data) * 8):
        changed = bytearray(data)
        changed[position // 8] ^= 1 << position % 8
        yield bytes(changed)


def truncated(data: bytes) -> Iterator[bytes]:
    """The data cut at every length."""
    return (data[:length] for length in range(len(data)))


def refused(error: type[AuthError], action: Callable[[], object], state: Callable[[], object] = lambda: None) -> None:
    """That an action is refused with exactly this error, and leaves the state alone."""
    before = state()
    with pytest.raises(error) as caught:
        action()
    assert type(caught.value) is error
    assert state() == before


def contents(registry: Registry) -> list[object]:
    return list(registry.records())


def forms(secret: bytes) -> list[str]:
    """How a secret could appear in a text."""
    escaped = repr(secret)[2:-1]
    encoded = [b32encode(secret), b64encode(secret), urlsafe_b64encode(secret)]
    parts = [secret.hex(), secret.hex().upper(), escaped, str(int.from_bytes(secret, "big")), str(list(secret))[1:-1]]
    return [*parts, *(form.decode().rstrip("=") for form in encoded)]
