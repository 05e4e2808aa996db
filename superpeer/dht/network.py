"""A whole network with hash-placed subscriptions: super-peers that are nodes of a hash table, and their peers.

net = Network(super_peers=16, seed=1, routing="words", table="cube")
reader, library = net.add_peer(at=3), net.add_peer(at=9)
reader.subscribe('X : t(X, dc:title, T) & T words ("alert")')
library.publish(triples)
reader.inbox

This is what `superpeer.sim.Network` makes when it is asked for another routing than selective broadcast. Names and
meaning are the same, as far as they apply; what does not is refused (`UnsupportedOperation`). Hash-placed systems have
no advertisements, so `advertise` changes nothing. Messages take no time, so all is quiet when a call returns and `run`
has nothing to wait for. A super-peer that is away has its notifications kept by another; its peers get them when it is
back. After a crash subscribers place their subscriptions again with the next `run`, as they do from time to time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import EnumType
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from qel import Topics
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.errors import DhtError, UnsupportedOperation
from superpeer.dht.intervals import Intervals
from superpeer.dht.peer import HashPeer, Notification
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Strategy
from superpeer.dht.strings import Strings
from superpeer.dht.table import HashTable
from superpeer.dht.triples import Triples
from superpeer.dht.words import Words

TABLES: dict[str, Callable[[Iterable[int]], HashTable]] = {"chord": Chord, "cube": CubeTable}
STRATEGIES: dict[str, type[Strategy[Any]]] = {
    "strings": Strings,
    "intervals": Intervals,
    "clusters": Clusters,
    "words": Words,
    "triples": Triples,
}


class HashSuperPeer:
    """A super-peer, as peers see it."""

    def __init__(self, number: int, table: HashTable) -> None:
        self.number = number
        self.name = f"sp{number}"
        self._table = table

    def __repr__(self) -> str:
        return f"<HashSuperPeer {self.name}{'' if self.is_running else ', down'}>"

    @property
    def is_running(self) -> bool:
        return self.number in self._table.nodes


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
            raise DhtError(f"there is no routing {routing!r}; there are selective, {', '.join(STRATEGIES)}")
        if table not in TABLES:
            raise DhtError(f"there is no hash table {table!r}; there are {', '.join(TABLES)}")
        if super_peers < 1:
            raise DhtError(f"a network has at least one super-peer, not {super_peers}")
        options["topics"] = Topics() if topics is None else topics
        _check_options(routing, options)
        self.fabric = Fabric(TABLES[table](range(super_peers)), seed)
        self.strategy = STRATEGIES[routing](self.fabric, **options)
        self.strategy.deliver = self._deliver
        self.super_peers = [HashSuperPeer(number, self.fabric.table) for number in range(super_peers)]
        self.peers: list[HashPeer] = []
        self._sources: dict[str, tuple[HashPeer, str, tuple[Any, ...]]] = {}
        self._arrived: dict[tuple[int, str], set[str]] = {}
        self._has_crashed = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedOperation.of(self, name)

    @property
    def counters(self) -> Counter[str]:
        """Messages by kind."""
        return self.fabric.messages

    def add_peer(self, at: int) -> HashPeer:
        """A new peer, attached to a super-peer."""
        self.fabric.table.require(at)
        peer = HashPeer(self, len(self.peers), self.super_peers[at])
        self.peers.append(peer)
        return peer

    def add_super_peer(self) -> int:
        """A new super-peer joins; its number."""
        number = len(self.super_peers)
        self.strategy.join(number)
        self.super_peers.append(HashSuperPeer(number, self.fabric.table))
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
        if number not in range(len(self.super_peers)):
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

    def carry(self, peer: HashPeer, triples: tuple[Any, ...], kind: str) -> str:
        """A peer's publication goes to where its values hash to, and to whom it matches."""
        identity = f"{peer.id}/{len(self._sources) + 1}"
        publication = Publication.of(identity, triples)
        self._sources[identity] = peer, kind, triples
        self.strategy.publish(peer.access_point.number, publication)
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
            publisher, kind, triples = self._sources[identity]
            queries = {name: peer.queries[name] for name in sorted(names)}
            origin = publisher.access_point.name
            peer.hear(Notification(identity, kind, publisher.id, origin, triples, frozenset(names), queries))


def _check_options(routing: str, options: Mapping[str, Any]) -> None:
    """Options are those of the constructors of a strategy, and of the types that these say."""
    known: dict[str, Any] = {}
    for kind in STRATEGIES[routing].__mro__[:-1]:
        if "__init__" in vars(kind):
            known = get_type_hints(vars(kind)["__init__"]) | known
    for no_option in ("fabric", "arguments", "options", "return"):
        known.pop(no_option, None)
    for name, value in options.items():
        if name not in known:
            able = ", ".join(sorted({"table", *known}))
            raise DhtError(f"routing {routing!r} has no option {name!r}; it has {able}")
        types = get_args(known[name]) if isinstance(known[name], UnionType) else (known[name],)
        if not any(_is_of(value, one) for one in types):
            able = " or ".join(map(_described, types))
            raise DhtError(f"the option {name!r} of routing {routing!r} is {able}, not {value!r}")


def _is_of(value: object, kind: Any) -> bool:
    """As far as one sees from outside: a collection is not looked into. A text is no collection of texts."""
    return isinstance(value, get_origin(kind) or kind) and not (get_origin(kind) and isinstance(value, str))


def _described(kind: Any) -> str:
    if kind is NoneType:
        return "None"
    name = str(getattr(kind, "__name__", kind))
    if isinstance(kind, EnumType):
        return " or ".join(f"{name}.{one}" for one in kind.__members__)
    return f"of type {name}"
