"""A whole network with hash-placed subscriptions: super-peers that are nodes of a hash table, and their peers.

net = HashPlacedNetwork(super_peers=16, seed=1, routing="words", table="cube")
reader, library = net.add_peer(at=3), net.add_peer(at=9)
reader.subscribe('X : t(X, dc:title, T) & T words ("alert")')
library.publish(triples)
reader.inbox

Names and meaning are those of `superpeer.sim.Network`, as far as they apply; `network` makes either. Hash-placed
systems have no advertisements, so `advertise` changes nothing. Messages take no time, so all is quiet when a call
returns and `run` has nothing to wait for. A super-peer that is away has its notifications kept by another; its peers
get them when it is back. After a crash subscribers place their subscriptions again with the next `run`, as they do
from time to time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import qel
from qel import Query, Topics
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.errors import DhtError
from superpeer.dht.intervals import Intervals
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Strategy
from superpeer.dht.strings import Strings
from superpeer.dht.table import HashTable
from superpeer.dht.triples import Triples
from superpeer.dht.words import Words
from superpeer.sim import Network

TABLES: dict[str, Callable[[Iterable[int]], HashTable]] = {"chord": Chord, "cube": CubeTable}
STRATEGIES: dict[str, Callable[..., Strategy[Any]]] = {
    "strings": Strings,
    "intervals": Intervals,
    "clusters": Clusters,
    "words": Words,
    "triples": Triples,
}
SELECTIVE = "selective"


@dataclass(frozen=True)
class Notification:
    """What a peer is told: what was published, and which of its subscriptions matched."""

    id: str
    publisher: str
    subscriptions: frozenset[str]
    triples: tuple[Any, ...]
    queries: Mapping[str, Query] = field(repr=False)
    kind: str = "new"

    @property
    def bindings(self) -> dict[str, dict[str, tuple[Any, ...]]]:
        """For each subscription that matched, the terms that each of its variables stands for."""
        return {
            name: next(iter(qel.bindings(query, self.triples).values()), {}) for name, query in self.queries.items()
        }


class HashPeer:
    """A peer, attached to one super-peer."""

    def __init__(self, network: HashPlacedNetwork, number: int, access_point: int) -> None:
        self.name = self.id = f"peer {number}"
        self.access_point = access_point
        self.inbox: list[Notification] = []
        self.is_connected = True
        self.subscriptions: dict[str, Query] = {}
        self._network = network
        self._named = 0
        self._waiting: list[Notification] = []

    def __repr__(self) -> str:
        return f"<HashPeer {self.name} at sp{self.access_point}>"

    def advertise(
        self, schemas: Iterable[Any] = (), properties: Iterable[Any] = (), values: Mapping[Any, Any] | None = None
    ) -> None:
        """Checked and then forgotten: nobody here routes by advertisements."""
        qel.Advertisement(schemas, properties, values)

    def subscribe(self, text: str, name: str | None = None) -> str:
        """Asks for everything that matches from now on; the name of the subscription."""
        if name is None:
            self._named += 1
            name = f"subscription {self._named}"
        if name in self.subscriptions:
            raise DhtError(f"{self.name} has a subscription {name!r} already; give this one another name")
        query = qel.parse(text)
        self._network.strategy.subscribe(self.access_point, self._full(name), query)
        self.subscriptions[name] = query
        return name

    def unsubscribe(self, subscription: str) -> None:
        if subscription not in self.subscriptions:
            raise DhtError(f"{self.name} has no subscription {subscription!r}")
        self._network.strategy.unsubscribe(self._full(subscription))
        del self.subscriptions[subscription]

    def publish(self, triples: Iterable[Any]) -> str:
        """Publishes what is said of one subject; the id of the publication."""
        return self._network.publish(self, tuple(triples))

    def disconnect(self) -> None:
        """Goes offline; what comes meanwhile waits at the access point."""
        self.is_connected = False

    def connect(self) -> None:
        self.is_connected = True
        self.inbox += self._waiting
        self._waiting.clear()

    def hear(self, notification: Notification) -> None:
        (self.inbox if self.is_connected else self._waiting).append(notification)

    def _full(self, name: str) -> str:
        return f"{self.id}: {name}"


class HashPlacedNetwork:
    """Super-peers and peers around one strategy on one hash table."""

    def __init__(
        self,
        super_peers: int,
        seed: int = 0,
        *,
        routing: str,
        table: str = "chord",
        topics: Topics | None = None,
        **options: Any,
    ) -> None:
        """`options` are those of the strategy."""
        if routing not in STRATEGIES:
            raise DhtError(f"there is no routing {routing!r}; there are {SELECTIVE}, {', '.join(STRATEGIES)}")
        if table not in TABLES:
            raise DhtError(f"there is no hash table {table!r}; there are {', '.join(TABLES)}")
        if super_peers < 1:
            raise DhtError(f"a network has at least one super-peer, not {super_peers}")
        self.fabric = Fabric(TABLES[table](range(super_peers)), seed)
        self.strategy = STRATEGIES[routing](self.fabric, topics or Topics(), **options)
        self.strategy.deliver = self._deliver
        self.peers: list[HashPeer] = []
        self._super_peers = super_peers
        self._published = 0
        self._sources: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self._arrived: dict[tuple[int, str], set[str]] = {}
        self._has_crashed = False

    @property
    def counters(self) -> Counter[str]:
        """Messages by kind."""
        return self.fabric.messages

    @property
    def super_peers(self) -> list[int]:
        """The numbers of those that are there."""
        return sorted(self.fabric.table.nodes)

    def add_peer(self, at: int) -> HashPeer:
        self.fabric.table.require(at)
        peer = HashPeer(self, len(self.peers), at)
        self.peers.append(peer)
        return peer

    def add_super_peer(self) -> int:
        """A new super-peer joins; its number."""
        number = self._super_peers
        self._super_peers += 1
        self.strategy.join(number)
        self._hand_out()
        return number

    def leave(self, number: int) -> None:
        """A super-peer hands over what it holds and goes; its peers wait for its return."""
        self.strategy.leave(number)

    def crash(self, number: int) -> None:
        """A super-peer is gone with what it held for others, until they place it again."""
        self.strategy.crash(number)
        self._has_crashed = True

    def restart(self, number: int) -> None:
        """A super-peer comes back, and its peers get what waited."""
        if number >= self._super_peers:
            raise DhtError(f"there was no super-peer {number}; add one")
        self.strategy.join(number)
        self._hand_out()

    def run(self, seconds: float | None = None) -> None:
        """Time passes: tables are stabilised, and what a crash destroyed is placed again."""
        del seconds
        if isinstance(self.fabric.table, Chord):
            self.fabric.note("membership", self.fabric.table.stabilise())
        if self._has_crashed:
            self.strategy.refresh()
            self._has_crashed = False

    def publish(self, peer: HashPeer, triples: tuple[Any, ...]) -> str:
        self._published += 1
        identity = f"{peer.id}/{self._published}"
        publication = Publication.of(identity, triples)
        self._sources[identity] = (peer.id, triples)
        self.strategy.publish(peer.access_point, publication)
        self._hand_out()
        return identity

    def _deliver(self, subscription: str, publication: Publication) -> None:
        peer, _, name = subscription.partition(": ")
        number = int(peer.removeprefix("peer "))
        self._arrived.setdefault((number, publication.id), set()).add(name)

    def _hand_out(self) -> None:
        """Each peer gets one notification for each publication, with all subscriptions that it matched."""
        arrived, self._arrived = self._arrived, {}
        for (number, identity), names in arrived.items():
            peer = self.peers[number]
            publisher, triples = self._sources[identity]
            queries = {name: peer.subscriptions[name] for name in sorted(names)}
            peer.hear(Notification(identity, publisher, frozenset(names), triples, queries))


def network(
    super_peers: int, seed: int = 0, *, routing: str = SELECTIVE, table: str = "chord", **options: Any
) -> Network | HashPlacedNetwork:
    """A simulated network whose super-peers route by selective broadcast, or place subscriptions by hashing."""
    if routing == SELECTIVE:
        return Network(super_peers, seed, **options)
    return HashPlacedNetwork(super_peers, seed, routing=routing, table=table, **options)
