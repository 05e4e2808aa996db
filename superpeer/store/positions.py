"""Where things are in the store, kept in memory, so that writing never has to look.

The tables that grow with every publication are only appended to: row ids are given here. Here is also counted who still
needs a row. A *body* is a publication on disk; the log and the deliveries refer to it. A *delivery* is a body with the
peers it was put into the queues of; each of these refers to it until the peer has got it. A row goes with its last
reference. Counting costs no writing, and is done anew from the rows when a store is opened.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from superpeer.node.publications import Place


class Body:
    """A publication on disk."""

    __slots__ = ("digest", "id", "origin", "place", "references")

    def __init__(self, identity: int, digest: bytes, origin: bytes, place: Place) -> None:
        self.id = identity
        self.digest = digest
        self.origin = origin
        self.place = place
        self.references = 0


class Delivery:
    """A body in some queues."""

    __slots__ = ("body", "id", "is_history", "references")

    def __init__(self, identity: int, body: Body, is_history: bool) -> None:
        self.id = identity
        self.body = body
        self.is_history = is_history
        self.references = 0


class PeerRow:
    """A peer's number and small change. Its queue's entries have the positions after `taken`, without gaps."""

    __slots__ = (
        "advertises",
        "came_from",
        "entries",
        "files",
        "has_caught_up_here",
        "id",
        "is_arriving",
        "is_leaving",
        "last_serial",
        "lost",
        "name",
        "taken",
    )

    def __init__(self, identity: int, name: str) -> None:
        self.id = identity
        self.name = name
        self.taken = 0
        self.lost = 0
        self.last_serial = 0
        self.is_leaving = False
        self.is_arriving = False
        self.came_from: bytes | None = None
        self.has_caught_up_here = True
        self.advertises = False
        self.entries: deque[Delivery] = deque()
        self.files: dict[str, bytes] = {}
        """By rendezvous, the digest of the content."""


@dataclass
class Positions:
    """All of it, for one store."""

    generation: int = 0
    trimmed: int = 0
    log: deque[Body] = field(default_factory=deque)
    bodies: dict[bytes, Body] = field(default_factory=dict)
    """By digest."""
    peers: dict[str, PeerRow] = field(default_factory=dict)
    last_body: int = 0
    last_delivery: int = 0
    last_peer: int = 0
    """Numbers of peers are not used again while a delivery may still name them."""
    moved: dict[str, None] = field(default_factory=dict)
    """The oldest first, as they go in that order."""
    file_users: Counter[bytes] = field(default_factory=Counter)
    """By digest of the content, how many rows name it."""
    _origins: dict[bytes, bytes] = field(default_factory=dict)

    def body(self, digest: bytes, origin: bytes, place: Place) -> Body:
        """A new body."""
        self.last_body += 1
        # A million publications come from a few origins: one copy of each key is enough.
        origin = self._origins.setdefault(origin, origin)
        body = self.bodies[digest] = Body(self.last_body, digest, origin, place)
        return body
