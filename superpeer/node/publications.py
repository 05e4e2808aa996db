"""Publications: what a peer published, at its place in the log of its access point.

The *publisher* numbers its publications itself: key and serial name a publication for good, also when it is handed to
another access point because the first never returned. The *origin*, the access point that took it, gives it a place in
its log: the log's generation (a super-peer that lost its disk begins a new one) and a number. Places of one origin
are ordered, so a mark in a log is a place.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Annotated

import msgspec

from auth import Item, Origin, Proof, PublicId, PublicKey
from auth.identifiers import SALT_BYTES
from auth.statements import number as written_number
from qel import Query
from qel.matching import is_met
from qel.topics import Topics
from qel.values import Description
from superpeer.node.body import Said, said_in
from superpeer.node.forms import Count, Form, SuperPeerKey

Place = tuple[Count, Count]
"""A place in the log of one origin: generation and number."""

NOWHERE: Place = (0, 0)
"""Before every place."""


class Kind(Enum):
    """What happened to the resource that a publication speaks of."""

    NEW = "new"
    UPDATED = "updated"
    DELETED = "deleted"


class Posting(Form, frozen=True, tag="posting"):
    """What a publisher says, under a number of its own."""

    serial: Count
    kind: Kind
    body: bytes

    @property
    def item(self) -> Item:
        """What is signed of it."""
        return item_of(self.serial, self.kind, self.body)


class Draft(Form, frozen=True, tag="draft"):
    """What a publisher said and signed, with the proof of that."""

    publisher: PublicKey
    salt: Annotated[bytes, msgspec.Meta(min_length=SALT_BYTES, max_length=SALT_BYTES)]
    serial: Count
    kind: Kind
    body: bytes
    proof: Proof

    @property
    def item(self) -> Item:
        return item_of(self.serial, self.kind, self.body)


class Publication(Form, frozen=True, tag="publication"):
    """A draft that an access point took into its log."""

    origin: SuperPeerKey
    place: Place
    published_at: float
    draft: Draft

    @property
    def description(self) -> Description:
        return self.said.description

    @property
    def topics(self) -> Topics:
        return self.said.topics

    @property
    def said(self) -> Said:
        return said_in(self.draft.body)

    def meets(self, query: Query) -> bool:
        return is_met(query, *self.said)

    @property
    def source(self) -> Origin:
        """What the publisher signed for, besides the draft itself."""
        return Origin(self.draft.publisher, self.draft.salt, PublicKey(self.origin))

    @property
    def publisher(self) -> str:
        """The public id of the peer that published it."""
        return _public_id(self.draft.publisher, self.draft.salt)

    @property
    def id(self) -> str:
        return publication_id(self.publisher, self.draft.serial)

    @property
    def size_bytes(self) -> int:
        return len(self.draft.body) + len(self.draft.proof.path) + 256


@lru_cache(maxsize=4_096)
def _public_id(publisher: PublicKey, salt: bytes) -> str:
    return str(PublicId.derive(publisher, salt))


def item_of(serial: int, kind: Kind, body: bytes) -> Item:
    """What is signed of a publication."""
    return Item(written_number(serial), kind.value, body)


def publication_id(publisher: str, serial: int) -> str:
    """What a publication is called, by the publisher's public id."""
    return f"{publisher}/{serial}"
