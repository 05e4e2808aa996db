"""From texts and numbers to keys: points of the identifier space.

Texts are scattered evenly. Numbers are placed in order, by the *locality-preserving hash* of RDFPeers, so that a range
of numbers is a range of keys; for this the domain of the numbers has to be known, and what lies outside of it is
placed at its ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

from superpeer.dht.errors import DhtError

Number = int | float | Decimal

KEY_BITS = 64
"""How wide identifiers are unless somebody says otherwise."""


@lru_cache(maxsize=1 << 18)
def hash_text(text: str, bits: int = KEY_BITS) -> int:
    assert 0 < bits <= 64
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - bits)


@dataclass(frozen=True, slots=True)
class Domain:
    """The numbers that an attribute is expected to have, from `least` to `most`."""

    least: int
    most: int

    def __post_init__(self) -> None:
        if not self.least < self.most:
            raise DhtError(f"a domain ends above where it begins, not from {self.least} to {self.most}")

    def clamp(self, number: Number) -> Number:
        return min(max(number, self.least), self.most)

    def key(self, number: Number, bits: int = KEY_BITS) -> int:
        """The locality-preserving hash: it never decreases as the number grows."""
        inside = self.clamp(number)
        scaled = int((Decimal(inside) - self.least) * ((1 << bits) - 1) / (self.most - self.least))
        return min(scaled, (1 << bits) - 1)
