"""Notifications, as an application has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import qel
from auth import PublicKey
from superpeer.client.downloads import Owner
from superpeer.node.body import read_body
from superpeer.node.publications import Place, Publication
from superpeer.rdf.terms import triples_of


@dataclass(frozen=True)
class NotificationContent:
    """What a peer is told: a publication, which of its subscriptions matched, and what their variables stand for."""

    publication: Publication = field(repr=False)
    subscriptions: frozenset[str]
    queries: Mapping[str, qel.Query] = field(repr=False)
    is_history: bool
    """It was published before the peer subscribed, which asked for that."""
    read_cursor: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        return self.publication.id

    @property
    def kind(self) -> str:
        """new, updated or deleted."""
        return self.publication.draft.kind.value

    @property
    def publisher(self) -> str:
        """The public id of the peer that published it, which signed it."""
        return self.publication.publisher

    @property
    def access_point(self) -> PublicKey:
        """The super-peer that it was published at."""
        return PublicKey(self.publication.origin)

    @property
    def place(self) -> Place:
        """Where it stands in the log of that super-peer."""
        return self.publication.place

    @property
    def published_at(self) -> float:
        """In seconds since the epoch, by the clock of that super-peer."""
        return self.publication.published_at

    @property
    def owner(self) -> Owner:
        """Whom to ask for a resource that it speaks of: see `Peer.fetch`."""
        return Owner(self.publisher, self.publication.origin)

    @property
    def triples(self) -> tuple[Any, ...]:
        """What it says, in terms of rdflib."""
        return triples_of(read_body(self.publication.draft.body))

    @property
    def subject(self) -> Any:
        return self.triples[0][0]

    @property
    def bindings(self) -> dict[str, dict[str, tuple[Any, ...]]]:
        """For each subscription that matched, the terms that each of its variables stands for."""
        triples, topics = self.triples, self.publication.topics
        return {
            name: next(iter(qel.bindings(query, triples, topics).values()), {}) for name, query in self.queries.items()
        }

    @property
    def cursor(self) -> bytes:
        """Everything up to and including this notification: to be stored with what the application makes of it, and
        given to `Peer.notifications(after=...)` the next time. Ask for it before the next notification."""
        return self.read_cursor()


@dataclass(frozen=True)
class Notification(NotificationContent):
    """One that waits to be acknowledged."""

    acknowledge_it: Callable[[], Awaitable[None]] = field(repr=False, compare=False)

    async def acknowledge(self) -> None:
        """Says that the application has dealt with it: it will not come again, also if the process is killed now."""
        await self.acknowledge_it()
