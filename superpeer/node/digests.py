"""Digests of sets that follow each change: two super-peers find out whether they hold the same, whatever its size.

A set's *total* is the sum of its elements' fingerprints, so that a change costs one addition, and the order in which
elements came and went does not matter. Its digest is a hash of the total.

Peers choose what they ask for and advertise, so somebody might look for two sets with the same digest. If two ends of
a link took different tables for the same, the one would go on without some subscriptions of the other until the link
starts from nothing again, and lose their notifications. Sums of short fingerprints are weak against this: with n bits,
and as many elements as one likes, a collision costs about 2 ** (2 * sqrt(n)) (Wagner's generalised birthday). With
4,096 bits that is 2 ** 128, and an addition of that length is still nothing in comparison with a message.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b, shake_256

FINGERPRINT_BYTES = 512
DIGEST_BYTES = 32
_MODULUS = 1 << (8 * FINGERPRINT_BYTES)


@lru_cache(maxsize=4096)
def _fingerprint(element: bytes) -> int:
    return int.from_bytes(shake_256(element).digest(FINGERPRINT_BYTES), "big")


def digest_of(total: int) -> bytes:
    """The digest of the set with this total."""
    written = total.to_bytes(FINGERPRINT_BYTES, "big")
    return blake2b(written, digest_size=DIGEST_BYTES, person=b"superpeer set 1").digest()


def total_after(total: int, added: Iterable[bytes], removed: Iterable[bytes]) -> int:
    """The total of a set when elements that it did not have came, and others that it had went."""
    return (total + sum(map(_fingerprint, added)) - sum(map(_fingerprint, removed))) % _MODULUS


NOTHING = digest_of(0)
"""The digest of the empty set."""
