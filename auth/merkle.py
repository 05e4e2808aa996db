"""Merkle trees: one hash that stands for a list, and a short proof that something is in the list.

The tree is that of RFC 6962: neighbours are hashed in pairs, level by level, and a last one without a neighbour moves
up as it is. Leaves and inner nodes are hashed in different domains, so an inner node cannot be passed off as a leaf.
The shape follows from the size alone; so with the size signed, the path for an index has one possible length.

    path of index i in n leaves: at most ceil(log2 n) hashes of 32 bytes, from the leaf upwards
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from auth.errors import ProofInvalid
from auth.statements import HASH_BYTES, Domain, digest

_NODE = Domain.NODE.value
_LENGTH = HASH_BYTES.to_bytes(4, "big")


def leaf_hash(*parts: bytes) -> bytes:
    return digest(Domain.LEAF, *parts)


def node_hash(left: bytes, right: bytes) -> bytes:
    assert len(left) == len(right) == HASH_BYTES
    # As `digest` writes it, spelt out: every publication costs several of these on its way.
    return blake2b(_LENGTH + left + _LENGTH + right, digest_size=HASH_BYTES, person=_NODE).digest()


def tree(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """The levels of the tree, from the leaves to the root."""
    assert leaves, "a tree has leaves"
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        pairs = zip(below[::2], below[1::2], strict=False)
        levels.append([node_hash(left, right) for left, right in pairs] + below[len(below) & ~1 :])
    return levels


def path(levels: Sequence[Sequence[bytes]], index: int) -> bytes:
    """What a leaf is hashed with on its way to the root."""
    siblings = _siblings(index, len(levels[0]))
    return b"".join(level[sibling] for level, sibling in zip(levels, siblings, strict=False) if sibling is not None)


def root_of(leaf: bytes, index: int, size: int, proof: bytes) -> bytes:
    """The root that a leaf at this index of so many has with this path."""
    if not 0 <= index < size or len(proof) % HASH_BYTES:
        raise ProofInvalid
    hashes = [proof[start : start + HASH_BYTES] for start in range(0, len(proof), HASH_BYTES)]
    needed = list(_siblings(index, size))
    if len(hashes) != sum(sibling is not None for sibling in needed):
        raise ProofInvalid
    known, remaining = leaf, iter(hashes)
    for level, sibling in enumerate(needed):
        if sibling is not None:
            other = next(remaining)
            known = node_hash(other, known) if sibling < index >> level else node_hash(known, other)
    return known


def _siblings(index: int, size: int) -> Iterator[int | None]:
    """At each level below the root, the position of the neighbour, if there is one."""
    while size > 1:
        sibling = index ^ 1
        yield sibling if sibling < size else None
        index, size = index >> 1, (size + 1) >> 1
