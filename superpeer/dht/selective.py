"""Selective broadcast on the cube, counted like the hash-placed systems, to compare them.

These are the routing tables of `superpeer.node`, without anything that makes a network safe: a super-peer's
advertisements go back over the links on which queries for them would come, subscriptions go out where an
advertisement covers them and no more general subscription went before, and notifications return the same way.
"""

from __future__ import annotations

from collections import deque

import qel
from hypercup import CubeLink, Label
from qel import Advertisement, Query
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.errors import DhtError
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Published
from superpeer.node.advertisements import elements_of, written
from superpeer.node.tables import LocalPeer, LocalSubscription, Tables


class SelectiveBroadcast:
    """Super-peers of a cube, each with its tables; what one has to say to another is carried at once."""

    def __init__(self, fabric: Fabric) -> None:
        assert isinstance(fabric.table, CubeTable)
        self.fabric = fabric
        self.table = fabric.table
        self.subscriptions: dict[str, tuple[int, Query]] = {}
        self._nodes = {self.table.label(node): node for node in self.table.nodes}
        self._tables: dict[Label, Tables[CubeLink, CubeLink]] = {}
        for label in self._nodes:
            tables = self._tables[label] = Tables()
            in_links, out_links = self.table.cube.in_links(label), self.table.cube.out_links(label)
            tables.enter(dict.fromkeys(in_links), dict.fromkeys(out_links), lambda w, k: w.dimension < k.dimension)

    def advertise(self, at: int, advertisement: Advertisement) -> None:
        label = self.table.label(at)
        self._tables[label].update_advertisements(LocalPeer(str(at)), elements_of(advertisement))
        self._spread(label)

    def subscribe(self, at: int, name: str, query: Query) -> None:
        qel.require_satisfiable(query)
        if name in self.subscriptions:
            raise DhtError(f"there is a subscription {name!r} already; give this one another name")
        self.subscriptions[name] = at, query
        label = self.table.label(at)
        self._tables[label].update_subscriptions(LocalSubscription(str(at), name), [query])
        self._spread(label)

    def unsubscribe(self, name: str) -> None:
        at, query = self.subscriptions.pop(name)
        label = self.table.label(at)
        source = LocalSubscription(str(at), name)
        self._tables[label].update_subscriptions(source, removed=[qel.canonical_id(query)])
        self._spread(label)

    def publish(self, at: int, publication: Publication) -> Published:
        """Over in-links with matching subscriptions, each once."""
        reached: set[str] = set()
        furthest = 0
        pending: list[tuple[Label, CubeLink | None, int]] = [(self.table.label(at), None, 0)]
        while pending:
            label, arrived, hops = pending.pop()
            local, links = self._tables[label].recipients(publication.description, arrived)
            if local:
                reached.update(subscription.subscription for subscription in local)
                furthest = max(furthest, hops)
            for link in links:
                self._carry(label, link.label, "notify", publication.size_bytes)
                pending.append((link.label, CubeLink(label, link.dimension), hops + 1))
        return Published(frozenset(reached), furthest)

    def stored(self) -> dict[int, int]:
        """How many subscriptions each super-peer has in its tables, its own and those of others."""
        return {node: len(self._tables[label].poset) for label, node in self._nodes.items()}

    def _spread(self, origin: Label) -> None:
        pending = deque([origin])
        while pending:
            label = pending.popleft()
            unsaid = self._tables[label].unsaid
            for back in sorted(unsaid.in_links):
                added, removed = unsaid.take_elements(back)
                self._carry(label, back.label, "advertise", sum(len(written(one)) for one in (*added, *removed)))
                self._tables[back.label].update_advertisements(CubeLink(label, back.dimension), added, removed)
                pending.append(back.label)
            for out in sorted(unsaid.out_links):
                new, old = unsaid.take_queries(out)
                size = sum(len(qel.format_query(query)) for query in new) + 16 * len(old)
                self._carry(label, out.label, "subscribe", size)
                self._tables[out.label].update_subscriptions(CubeLink(label, out.dimension), new, old)
                pending.append(out.label)

    def _carry(self, sender: Label, receiver: Label, kind: str, size_bytes: int) -> None:
        self.fabric.direct(self._nodes[sender], self._nodes[receiver], kind, size_bytes)
