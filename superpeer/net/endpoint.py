"""Who we are on the network, for all our connections together, and who the other end of one turned out to be."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from auth import Admissions, Certificate, Identity, PublicKey, Random
from superpeer.net.certificates import client_context, server_context
from superpeer.net.limits import Limits


class Party(Enum):
    """In what capacity somebody is on the network."""

    SUPER_PEER = "super-peer"
    PEER = "peer"
    ADMIN = "admin"


@dataclass(frozen=True)
class Endpoint:
    """What every connection of a process starts from."""

    identity: Identity
    party: Party
    admissions: Admissions | None = None
    """The network: its root key, the super-peers it admitted, what was revoked. A super-peer has one; a peer may."""
    certificate: Certificate | None = None
    """By which we were admitted, if we are a super-peer."""
    admins: frozenset[PublicKey] = frozenset()
    """The keys that may administer us."""
    limits: Limits = field(default_factory=Limits)
    random: Random = os.urandom
    clock: Callable[[], float] = time.time
    """Seconds since the epoch, as certificates count them."""

    def __post_init__(self) -> None:
        if self.party is Party.SUPER_PEER:
            assert self.admissions is not None, "a super-peer belongs to a network"
            assert self.certificate is not None, "a super-peer shows by what it was admitted"

    @property
    def root(self) -> PublicKey | None:
        return None if self.admissions is None else self.admissions.root

    @cached_property
    def server_context(self) -> ssl.SSLContext:
        return server_context(self.identity)

    @cached_property
    def client_context(self) -> ssl.SSLContext:
        return client_context()


@dataclass(frozen=True, slots=True)
class Other:
    """The other end of a connection, its key proved."""

    party: Party
    key: PublicKey
    root: PublicKey | None
    version: int
    """Of the protocol, as agreed."""
    max_frame_bytes: int
    """The largest frame that it takes."""
    patience_s: float
    """It gives the connection up after so long a silence."""
    channel: bytes
    """Names this connection, alike on both ends; what `auth` asks for to tie a proof to it."""
