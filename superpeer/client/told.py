"""What a peer is told, whether it lives in a process of its own or in a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import qel
from superpeer.node.body import read_body
from superpeer.node.publications import Place, Publication
from superpeer.rdf.terms import triples_of


@dataclass(frozen=True)
class Told:
    """A publication, which of the peer's subscriptions matched, and what their variables stand for."""

    publication: Publication = field(repr=False)
    subscriptions: frozenset[str]
    queries: Mapping[str, qel.Query] = field(repr=False)
    """Those that matched."""
    is_history: bool
    """It was published before the peer subscribed, which asked for that."""

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
    def place(self) -> Place:
        """Where it stands in the log of the super-peer that it was published at."""
        return self.publication.place

    @property
    def triples(self) -> tuple[Any, ...]:
        """What it says, in terms of rdflib."""
        return triples_of(read_body(self.publication.draft.body))

    @property
    def bindings(self) -> dict[str, dict[str, tuple[Any, ...]]]:
        """For each subscription that matched, the terms that each of its variables stands for."""
        triples, topics = self.triples, self.publication.topics
        return {
            name: next(iter(qel.bindings(query, triples, topics).values()), {}) for name, query in self.queries.items()
        }
