"""Entries: what is known of each member, who may say it, and how two versions of it merge.

An entry is a statement that the member signs itself: its key and address, its *incarnation* (a new one for
every life of the process, and for every refutation), a *version* that counts the statements within an
incarnation, whether it is alive or has left, its choice of a place in the backbone (a claimed label in the cube,
chosen links in the unstructured backbone), and an *epoch*, which it raises so that no view comes twice (see `view`).
That a member is *dead* it cannot say itself. Another
member says so, in a *verdict* on one incarnation that carries the accuser's key and signature.

Entries of one key are totally ordered, and merging takes the greater:

1. a higher incarnation wins: whoever is wrongly called dead answers with a higher one;
2. within an incarnation, left beats dead beats alive;
3. within a status, the higher version wins;
4. what is still equal is decided by the bytes, so that a member that contradicts itself divides nobody.

So merging is commutative, associative and idempotent, and entries only grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import blake2b

import msgspec

from hypercup.errors import InvalidEntry
from hypercup.label import Label

MAX_KEY_BYTES = 64
MAX_ADDRESS_BYTES = 256
MAX_SIGNATURE_BYTES = 384
"""A signature may carry the certificate that admits its signer."""
MAX_CLAIM_BITS = 64
MAX_CHOSEN_LINKS = 32
MAX_NUMBER = 2**63 - 1
FINGERPRINT_BYTES = 16

Sign = Callable[[bytes], bytes]
Verify = Callable[[bytes, bytes, bytes], bool]


class Status(Enum):
    ALIVE = "alive"
    DEAD = "dead"
    LEFT = "left"


STRENGTH = {Status.ALIVE: 0, Status.DEAD: 1, Status.LEFT: 2}


class ChosenLink(msgspec.Struct, frozen=True, array_like=True):
    """A link that a super-peer chose in the unstructured backbone; lighter ones are preferred."""

    neighbour: bytes
    weight: int


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """Who says that a member is dead."""

    accuser: bytes
    signature: bytes


class Entry(msgspec.Struct, frozen=True, dict=True, array_like=True):
    """What is known of one member."""

    key: bytes
    address: str = ""
    incarnation: int = 0
    version: int = 0
    status: Status = Status.ALIVE
    claim: Label | None = None
    links: tuple[ChosenLink, ...] = ()
    epoch: int = 0
    signature: bytes = b""
    verdict: Verdict | None = None

    @property
    def is_alive(self) -> bool:
        return self.status is Status.ALIVE

    @cached_property
    def statement(self) -> bytes:
        """The bytes that the member signs."""
        return msgspec.msgpack.encode(
            (
                "hypercup entry 1",
                self.key,
                self.address,
                self.incarnation,
                self.version,
                self.status is Status.LEFT,
                None if self.claim is None else (self.claim.bits, self.claim.length),
                self.links,
                self.epoch,
            )
        )

    @cached_property
    def accusation(self) -> bytes:
        """The bytes that an accuser signs, but for its own key."""
        return msgspec.msgpack.encode(("hypercup verdict 1", self.key, self.incarnation))

    @cached_property
    def rank(self) -> tuple[int, int, int, bytes, bytes]:
        """What decides when two entries of one key meet: the greater is kept."""
        accuser = b"" if self.verdict is None else self.verdict.accuser + self.verdict.signature
        return (self.incarnation, STRENGTH[self.status], self.version, self.statement, accuser)

    @cached_property
    def fingerprint(self) -> int:
        """A number that stands for the statement in sums over many entries."""
        return int.from_bytes(blake2b(self.statement, digest_size=FINGERPRINT_BYTES).digest(), "big")


def merge(one: Entry, other: Entry) -> Entry:
    """What is known of a member from two entries of its key."""
    return one if one.rank >= other.rank else other


@dataclass(frozen=True)
class Identity:
    """A member's key with the functions that sign for it and that check anybody's signature.

    `verify(key, statement, signature)` also decides who belongs to the backbone: it is false for a key that
    was never admitted.
    """

    key: bytes
    sign: Sign
    verify: Verify

    def signed(self, entry: Entry) -> Entry:
        """The entry as its own member states it."""
        return msgspec.structs.replace(entry, signature=self.sign(entry.statement), verdict=None)

    def pronounced_dead(self, entry: Entry) -> Entry:
        """The entry with a verdict by this member."""
        verdict = Verdict(self.key, self.sign(entry.accusation + self.key))
        return msgspec.structs.replace(entry, status=Status.DEAD, verdict=verdict)

    def is_genuine(self, entry: Entry) -> bool:
        """Whether the member made this statement, and an accuser the verdict that goes with it."""
        if not self.verify(entry.key, entry.statement, entry.signature):
            return False
        verdict = entry.verdict
        return verdict is None or self.verify(verdict.accuser, entry.accusation + verdict.accuser, verdict.signature)


def check_limits(entry: Entry) -> None:
    """Refuse an entry that is larger than any honest one, or that contradicts itself."""
    if not 1 <= len(entry.key) <= MAX_KEY_BYTES:
        raise InvalidEntry(f"a key has 1 to {MAX_KEY_BYTES} bytes, not {len(entry.key)}")
    if len(entry.address.encode()) > MAX_ADDRESS_BYTES:
        raise InvalidEntry(f"an address has at most {MAX_ADDRESS_BYTES} bytes")
    if not all(0 <= number <= MAX_NUMBER for number in (entry.incarnation, entry.version, entry.epoch)):
        raise InvalidEntry(f"incarnation, version and epoch are numbers from 0 to {MAX_NUMBER}")
    if entry.claim is not None and entry.claim.length > MAX_CLAIM_BITS:
        raise InvalidEntry(f"a claimed label has at most {MAX_CLAIM_BITS} bits, not {entry.claim.length}")
    if len(entry.links) > MAX_CHOSEN_LINKS:
        raise InvalidEntry(f"a member chooses at most {MAX_CHOSEN_LINKS} links, not {len(entry.links)}")
    if any(len(link.neighbour) > MAX_KEY_BYTES or not 0 <= link.weight <= MAX_NUMBER for link in entry.links):
        raise InvalidEntry("a chosen link names a key, and its weight is not negative")
    if len(entry.signature) > MAX_SIGNATURE_BYTES:
        raise InvalidEntry(f"a signature has at most {MAX_SIGNATURE_BYTES} bytes")
    if (entry.status is Status.DEAD) != (entry.verdict is not None):
        raise InvalidEntry("exactly the dead have a verdict")
    verdict = entry.verdict
    if verdict is not None and (len(verdict.accuser) > MAX_KEY_BYTES or len(verdict.signature) > MAX_SIGNATURE_BYTES):
        raise InvalidEntry("a verdict names a key and a signature")
