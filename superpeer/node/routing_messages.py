"""What super-peers say to each other about their tables.

A table that a neighbour is told is a set. Its first message in a view starts from a *base*, a set that the neighbour
holds, and says how the table differs from it; later ones say what changed. They are numbered from 1 in each view.
"""

from __future__ import annotations

from dataclasses import dataclass

from qel import Query
from superpeer.node.advertisements import Element
from superpeer.node.digests import NOTHING


@dataclass(frozen=True, slots=True)
class Held:
    """Digests of what somebody holds of what a neighbour told it in former views: elements and queries."""

    elements: bytes = NOTHING
    queries: bytes = NOTHING


@dataclass(frozen=True, slots=True)
class ElementsChanged:
    """Over an in-link: what is advertised on this side. Number 1 has the digest of its base, later ones none."""

    dimension: int
    number: int
    added: frozenset[Element]
    removed: frozenset[Element] = frozenset()
    base: bytes = b""


@dataclass(frozen=True, slots=True)
class QueriesChanged:
    """Over an out-link: what is asked for on this side; what is no longer asked for goes by identity. Number 1 has the
    digest of its base, later ones none."""

    dimension: int
    number: int
    added: tuple[Query, ...]
    removed: tuple[str, ...] = ()
    base: bytes = b""


@dataclass(frozen=True, slots=True)
class ElementsAcknowledged:
    """Over an out-link: an ElementsChanged has done its work, and all before it."""

    dimension: int
    number: int


@dataclass(frozen=True, slots=True)
class QueriesAcknowledged:
    """Over an in-link: a QueriesChanged has done its work, and all before it."""

    dimension: int
    number: int


RoutingMessage = ElementsChanged | QueriesChanged | ElementsAcknowledged | QueriesAcknowledged
