"""The parts of a simulation: how the network treats messages, and the places where members run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from math import inf

from hypercup.entry import Identity
from hypercup.membership import Membership
from hypercup.messages import AnyMessage


@dataclass(frozen=True)
class Faults:
    """How the network treats messages and clocks."""

    min_delay_s: float = 0.01
    max_delay_s: float = 0.1
    loss: float = 0.0
    duplication: float = 0.0
    clock_drift: float = 0.0


CALM = Faults()


@dataclass
class Host:
    """A place where a member runs, with a clock of its own."""

    name: str
    identity: Identity
    rate: float
    offset: float
    member: Membership | None = None
    incarnation: int = 0
    contacts: Sequence[str] = ()
    is_still: bool = False
    waiting: list[AnyMessage] = field(default_factory=list)
    wakeup: float = inf
    woken: tuple[float, int] = (-inf, 0)
    views_seen: int = 0

    def clock(self, time: float) -> float:
        return self.offset + self.rate * time

    def true_time(self, clock: float) -> float:
        return (clock - self.offset) / self.rate


def simulated_identity(name: str) -> Identity:
    """A key made from the name, and signatures that nobody in a simulation tries to forge."""
    key = blake2b(name.encode(), digest_size=32).digest()
    return Identity(key, partial(simulated_signature, key), simulated_check)


def simulated_signature(key: bytes, statement: bytes) -> bytes:
    return blake2b(statement, key=key, digest_size=32).digest()


def simulated_check(key: bytes, statement: bytes, signature: bytes) -> bool:
    return simulated_signature(key, statement) == signature
