"""Peers of a simulated network, as an application has them: advertise, subscribe, publish, and an inbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import qel
from qel.values import describe
from superpeer.node.advertisements import elements_of
from superpeer.node.tables import LocalPeer, LocalSubscription
from superpeer.sim.errors import SimulationError

if TYPE_CHECKING:
    from superpeer.sim.network import Network, SuperPeer


@dataclass(frozen=True, slots=True)
class Notification:
    """What a peer is told: a publication, and which of its subscriptions matched."""

    id: str
    triples: tuple[Any, ...]
    subscriptions: frozenset[str]


class Peer:
    """One peer, attached to one super-peer, its access point."""

    def __init__(self, network: Network, name: str, access_point: SuperPeer) -> None:
        self.name = name
        self.access_point = access_point
        self.inbox: list[Notification] = []
        self.is_connected = True
        self._network = network
        self._advertisement = qel.Advertisement()
        self._subscriptions: dict[str, LocalSubscription] = {}
        self._named = 0

    def __repr__(self) -> str:
        return f"<Peer {self.name} at {self.access_point.name}>"

    def advertise(
        self,
        schemas: Iterable[Any] = (),
        properties: Iterable[Any] = (),
        values: Mapping[Any, Any] | None = None,
    ) -> None:
        """Says what it will publish, in place of what it said before."""
        self._require_connection()
        self._advertisement = qel.Advertisement(schemas, properties, values)
        node = self.access_point.running_node
        self._network.carry_out(
            self.access_point, node.advertise(LocalPeer(self.name), elements_of(self._advertisement))
        )

    def subscribe(self, text: str, name: str | None = None) -> str:
        """Asks for everything that matches a query from now on; the id of the subscription."""
        self._require_connection()
        query = qel.parse(text)
        qel.require_satisfiable(query)
        if name is None:
            self._named += 1
            name = f"subscription {self._named}"
        subscription = self._subscriptions[name] = LocalSubscription(self.name, name)
        node = self.access_point.running_node
        self._network.carry_out(self.access_point, node.subscribe(subscription, query, self._network.time))
        return name

    def unsubscribe(self, subscription: str) -> None:
        self._require_connection()
        if subscription not in self._subscriptions:
            raise SimulationError(f"{self.name} has no subscription {subscription!r}")
        local = self._subscriptions.pop(subscription)
        self._network.carry_out(self.access_point, self.access_point.running_node.unsubscribe(local))

    def is_active(self, subscription: str) -> bool:
        """Whether everything that is published from now on, anywhere, and matches, will arrive."""
        node = self.access_point.node
        return node is not None and node.is_active(self._subscriptions[subscription])

    def publish(self, triples: Iterable[Any]) -> str:
        """Publishes what is said of one subject; the id of the publication."""
        self._require_connection()
        published = tuple(triples)
        subjects = len(describe(published))
        if subjects != 1:
            raise SimulationError(f"a publication speaks of one subject, this of {subjects}; publish each by itself")
        missing = sorted({name for name, _ in qel.nonconforming(self._advertisement, published)})
        if missing:
            raise SimulationError(f"{self.name} did not advertise {', '.join(missing)}; advertise it before publishing")
        node = self.access_point.running_node
        publication, effects = node.publish(LocalPeer(self.name), published, self._network.time)
        self._network.carry_out(self.access_point, effects)
        return f"{self.access_point.name}/{publication.number}"

    def disconnect(self) -> None:
        """Goes offline; what comes meanwhile waits at the access point."""
        self.is_connected = False

    def connect(self) -> None:
        """Comes back, and gets what waited."""
        self.is_connected = True
        self.collect()

    def collect(self) -> None:
        """Takes what the access point has for it, if both are there."""
        node = self.access_point.node
        if not self.is_connected or node is None:
            return
        queue = node.delivery.queue(self.name)
        for delivered in queue.entries:
            publication = delivered.publication
            origin = self._network.name_of(publication.origin)
            note = Notification(f"{origin}/{publication.number}", publication.triples, delivered.subscriptions)
            self.inbox.append(note)
        queue.entries.clear()

    def _require_connection(self) -> None:
        if not self.is_connected:
            raise SimulationError(f"{self.name} is offline; connect it first")
