"""Peers of a network with hash-placed subscriptions. Names and meaning are those of `superpeer.sim.Peer`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import qel
from qel import Query
from superpeer.dht.errors import DhtError, UnsupportedOperation
from superpeer.node.records import Subscription
from superpeer.node.requests import SubscriptionStatus

if TYPE_CHECKING:
    from superpeer.dht.network import HashPlacedNetwork, HashSuperPeer

KINDS = ("new", "updated", "deleted")


@dataclass(frozen=True)
class Notification:
    """What a peer is told: what was published, and which of its subscriptions matched."""

    id: str
    kind: str
    publisher: str
    access_point: str
    triples: tuple[Any, ...]
    subscriptions: frozenset[str]
    queries: Mapping[str, Query] = field(repr=False)

    @property
    def bindings(self) -> dict[str, dict[str, tuple[Any, ...]]]:
        """For each subscription that matched, the terms that each of its variables stands for."""
        return {
            name: next(iter(qel.bindings(query, self.triples).values()), {}) for name, query in self.queries.items()
        }


class HashPeer:
    """A peer, attached to one super-peer."""

    def __init__(self, network: HashPlacedNetwork, number: int, access_point: HashSuperPeer) -> None:
        self.name = self.id = f"peer {number}"
        self.access_point = access_point
        self.inbox: list[Notification] = []
        self.is_connected = True
        self.queries: dict[str, Query] = {}
        self._network = network
        self._named = 0
        self._waiting: list[Notification] = []

    def __repr__(self) -> str:
        return f"<HashPeer {self.name} at {self.access_point.name}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedOperation.of(self, name)

    @property
    def subscriptions(self) -> list[SubscriptionStatus]:
        """What it asks for. All of it is in place at once, and anybody may publish it."""
        return [
            SubscriptionStatus(Subscription(name, qel.format_query(query), 0.0), is_active=True, is_servable=True)
            for name, query in self.queries.items()
        ]

    def advertise(
        self, schemas: Iterable[Any] = (), properties: Iterable[Any] = (), values: Mapping[Any, Any] | None = None
    ) -> None:
        """Checked and then forgotten: nobody here routes by advertisements."""
        qel.Advertisement(schemas, properties, values)

    def subscribe(
        self, text: str, name: str | None = None, *, since: float | None = None, lasts: float | None = None
    ) -> str:
        """Asks for everything that matches from now on; the name of the subscription."""
        for option, value in (("since", since), ("lasts", lasts)):
            if value is not None:
                raise DhtError(
                    f"a hash-placed subscription has no {option!r}; it holds from now until it is taken back"
                )
        self._require_service()
        if name is None:
            self._named += 1
            name = f"subscription {self._named}"
        if not isinstance(name, str):
            raise DhtError(f"the name of a subscription is a text, not {name!r}")
        if name in self.queries:
            raise DhtError(f"{self.name} has a subscription {name!r} already; give this one another name")
        query = qel.parse(text)
        self._network.strategy.subscribe(self.access_point.number, self._full(name), query)
        self.queries[name] = query
        return name

    def unsubscribe(self, subscription: str) -> None:
        self._require_service()
        if subscription not in self.queries:
            raise DhtError(f"{self.name} has no subscription {subscription!r}")
        self._network.strategy.unsubscribe(self._full(subscription))
        del self.queries[subscription]

    def is_active(self, subscription: str) -> bool:
        """Whether what is published and matches will arrive: a subscription is in place at once."""
        return subscription in self.queries

    def publish(self, triples: Iterable[Any], kind: str = "new") -> str:
        """Publishes what is said of one subject, which is new, updated or deleted; the id of the publication."""
        if kind not in KINDS:
            raise DhtError(f"a publication is {', '.join(KINDS)}, not {kind!r}")
        self._require_service()
        return self._network.carry(self, tuple(triples), kind)

    def disconnect(self) -> None:
        """Goes offline; what comes meanwhile waits at the access point."""
        self.is_connected = False

    def connect(self) -> None:
        """Comes back, and gets what waited."""
        self.is_connected = True
        self.inbox += self._waiting
        self._waiting.clear()

    def hear(self, notification: Notification) -> None:
        (self.inbox if self.is_connected else self._waiting).append(notification)

    def _full(self, name: str) -> str:
        return f"{self.id}: {name}"

    def _require_service(self) -> None:
        if not self.is_connected:
            raise DhtError(f"{self.name} is offline; connect it first")
        if not self.access_point.is_running:
            raise DhtError(f"{self.access_point.name} is down; restart it first")
