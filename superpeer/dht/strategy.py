"""What a hash-placed system does, and what all of them have in common.

A subscription is the disjuncts of its query's normal form. A strategy turns each disjunct into *items*, each with the
keys under which it is to be found, and stores every item at the owners of its keys. A publication goes to the keys that
its own values give, finds the items there, and whoever's subscription matches is notified at its *home*, the node
where it subscribed. A strategy that cannot place some disjunct refuses the query when it is subscribed.

Items follow their keys when nodes join and leave. What a crash destroys comes back when subscribers place their
subscriptions again (`refresh`), which Lo has them do periodically. A notification for a home that is not there is kept
by the owner of its `mail_key`, on Chord its successor as in DHTrie, until it returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Generic, TypeVar

import qel
from qel import Query
from qel.matching import meets
from qel.normal import Disjunct
from qel.topics import NO_TOPICS, Topics
from superpeer.dht.errors import DhtError
from superpeer.dht.mail import Mail
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.table import Change

Content = TypeVar("Content")


@dataclass(eq=False)
class Subscription(Generic[Content]):
    """A subscription, with the items that it was placed as."""

    name: str
    home: int
    query: Query
    items: list[Item[Content]] = field(default_factory=list)

    @cached_property
    def size_bytes(self) -> int:
        return len(self.name) + len(qel.format_query(self.query))


@dataclass(frozen=True, eq=False, slots=True)
class Item(Generic[Content]):
    """What is stored of one disjunct under the keys from `low` to `high`."""

    subscription: Subscription[Content]
    number: int
    disjunct: Disjunct
    low: int
    high: int
    content: Content

    @property
    def id(self) -> tuple[str, int]:
        return self.subscription.name, self.number


class Store(ABC, Generic[Content]):
    """What one node holds, so that it finds what a publication asks for."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], Item[Content]] = {}

    def __len__(self) -> int:
        return len(self.held)

    def add(self, item: Item[Content]) -> None:
        if item.id not in self.held:
            self.held[item.id] = item
            self._enter(item)

    def remove(self, item: Item[Content]) -> None:
        if self.held.pop(item.id, None) is not None:
            self._withdraw(item)

    @abstractmethod
    def _enter(self, item: Item[Content]) -> None: ...

    @abstractmethod
    def _withdraw(self, item: Item[Content]) -> None: ...


@dataclass(frozen=True, slots=True)
class Published:
    """Which subscriptions a publication matched, and after how many hops the last of their homes knew. For homes that
    are not there, the notification waits."""

    notified: frozenset[str]
    hops: int


Deliver = Callable[[str, Publication], None]
"""Told of each subscription that a publication reaches at its home."""


class Strategy(ABC, Generic[Content]):
    """A hash-placed system on one hash table."""

    routing: ClassVar[str]
    system: ClassVar[str]
    """As its authors call it."""

    def __init__(self, fabric: Fabric, topics: Topics = NO_TOPICS) -> None:
        self.fabric = fabric
        self.table = fabric.table
        self.topics = topics
        self.deliver: Deliver = lambda _name, _publication: None
        self.subscriptions: dict[str, Subscription[Content]] = {}
        self._stores: dict[int, Store[Content]] = {}
        self._mail = Mail()
        self._reached: set[str] = set()
        self._hops = 0

    def subscribe(self, at: int, name: str, query: Query) -> None:
        self.table.require(at)
        if name in self.subscriptions:
            raise DhtError(f"there is a subscription {name!r} already; give this one another name")
        self._install(self._prepare(at, name, query))

    def update(self, name: str, query: Query) -> None:
        """Another query under the same name: the nodes of the old values delete, those of the new ones store. If it
        cannot be placed, the old one stays."""
        subscription = self._require(name)
        prepared = self._prepare(subscription.home, name, query)
        self.unsubscribe(name)
        self._install(prepared)

    def unsubscribe(self, name: str) -> None:
        """As it was stored, so it is removed."""
        subscription = self._require(name)
        for item in subscription.items:
            for node in self._send(subscription.home, item, "unsubscribe"):
                self._drop(node, item)
        del self.subscriptions[name]
        self._end(subscription)

    def publish(self, at: int, publication: Publication) -> Published:
        self.table.require(at)
        self._reached, self._hops = set(), 0
        self._publish(at, publication)
        return Published(frozenset(self._reached), self._hops)

    def join(self, node: int) -> None:
        """A node comes, takes what belongs to its keys, and collects its mail. If it was here before, it places its
        subscriptions again: a crash may have destroyed them meanwhile."""
        self._changed(self.table.join(node))
        self._collect_mail(node)
        self._refresh(node)

    def leave(self, node: int) -> None:
        """A node hands over what it holds. Its own subscriptions stay, and what comes for them waits."""
        self._changed(self.table.leave(node))
        assert not self._stores.pop(node, None)
        assert not self._mail.lose(node)

    def crash(self, node: int) -> None:
        """A node is gone with all that it held."""
        change = self.table.crash(node)
        self._lose(node)
        self._changed(change)

    def refresh(self) -> None:
        """Subscribers place their subscriptions again; those that are away do so when they come back."""
        for node in sorted({subscription.home for subscription in self.subscriptions.values()}):
            if node in self.table.nodes:
                self._refresh(node)

    def stored(self) -> dict[int, int]:
        """How many items each node holds."""
        return {node: len(self._stores.get(node, ())) for node in self.table.nodes}

    def _prepare(self, at: int, name: str, query: Query) -> Subscription[Content]:
        qel.require_satisfiable(query)
        subscription: Subscription[Content] = Subscription(name, at, query)
        for disjunct in query.normal_form.disjuncts:
            for low, high, content in self._place(subscription, disjunct):
                number = len(subscription.items)
                subscription.items.append(Item(subscription, number, disjunct, low, high, content))
        return subscription

    def _install(self, subscription: Subscription[Content]) -> None:
        self.subscriptions[subscription.name] = subscription
        self._begin(subscription)
        for item in subscription.items:
            self._put(item, "subscribe")

    def _require(self, name: str) -> Subscription[Content]:
        """A subscription whose home is there."""
        subscription = self.subscriptions.get(name)
        if subscription is None:
            raise DhtError(f"there is no subscription {name!r}")
        self.table.require(subscription.home)
        return subscription

    @abstractmethod
    def _place(self, subscription: Subscription[Content], disjunct: Disjunct) -> Iterable[tuple[int, int, Content]]:
        """The items of a disjunct, each with its keys; or an `UnsupportedQuery`."""

    @abstractmethod
    def _new_store(self) -> Store[Content]: ...

    @abstractmethod
    def _publish(self, at: int, publication: Publication) -> None: ...

    def _begin(self, subscription: Subscription[Content]) -> None:
        """Before the items of a new subscription are stored."""

    def _end(self, subscription: Subscription[Content]) -> None:
        """After those of one that ends are removed."""

    def _locate(self, item: Item[Content]) -> list[int]:
        """The nodes that hold an item."""
        return self.table.owners(item.low, item.high)

    def _send(self, sender: int, item: Item[Content], kind: str) -> list[int]:
        """Sends an item to where it belongs: to the owner of its first key, and along to those of the others."""
        size = item.subscription.size_bytes
        first = self.fabric.route(sender, item.low, kind, size).node
        nodes = self.table.owners(item.low, item.high)
        assert nodes[0] == first
        for before, node in pairwise(nodes):
            self.fabric.route(before, self.table.identifier(node), kind, size)
        return nodes

    def _put(self, item: Item[Content], kind: str) -> None:
        for node in self._send(item.subscription.home, item, kind):
            self._keep(node, item)

    def _refresh(self, home: int) -> None:
        for subscription in list(self.subscriptions.values()):
            if subscription.home == home:
                for item in subscription.items:
                    self._put(item, "refresh")

    def _keep(self, node: int, item: Item[Content]) -> None:
        self._store(node).add(item)

    def _holds(self, node: int, item: Item[Content]) -> bool:
        return item.id in self._store(node).held

    def _drop(self, node: int, item: Item[Content]) -> None:
        self._store(node).remove(item)

    def _store(self, node: int) -> Store[Content]:
        store = self._stores.get(node)
        if store is None:
            store = self._stores[node] = self._new_store()
        return store

    def _is_met(self, item: Item[Content], publication: Publication) -> bool:
        return meets(item.disjunct, publication.description, self.topics)

    def _notify(self, sender: int, items: Iterable[Item[Content]], publication: Publication, hops: int) -> None:
        """Tells the homes of items that matched, each with one message; `hops` is how far the publication has come."""
        for home, names in sorted(self._by_home(items).items()):
            self._tell(sender, home, names, publication, hops)

    def _by_home(self, items: Iterable[Item[Content]]) -> dict[int, set[str]]:
        homes: dict[int, set[str]] = {}
        for item in items:
            homes.setdefault(item.subscription.home, set()).add(item.subscription.name)
        return homes

    def _tell(self, sender: int, home: int, names: Iterable[str], publication: Publication, hops: int) -> None:
        names = sorted(names)
        size = publication.size_bytes + sum(map(len, names))
        if home in self.table.nodes:
            hops += self.fabric.direct(sender, home, "notify", size)
            self._arrive(names, publication, hops)
        else:
            holder = self.fabric.route(sender, self.table.mail_key(home), "mail", size).node
            self._leave_mail(holder, home, names, publication)

    def _arrive(self, names: Iterable[str], publication: Publication, hops: int) -> None:
        """Notifications are at home. A subscription that several nodes found is told of once."""
        self._hops = max(self._hops, hops)
        for name in names:
            if name not in self._reached:
                self._reached.add(name)
                self.deliver(name, publication)

    def _leave_mail(self, holder: int, home: int, names: Collection[str], publication: Publication) -> None:
        self._reached.update(names)
        self._mail.leave(holder, home, names, publication)

    def _collect_mail(self, node: int) -> None:
        holder = self.fabric.route(node, self.table.mail_key(node), "mail").node
        box = self._mail.collect(holder, node)
        if box and holder != node:
            self.fabric.direct(holder, node, "mail", sum(publication.size_bytes for publication in box.values()))
        for (name, _), publication in box.items():
            self.deliver(name, publication)

    def _lose(self, node: int) -> None:
        """What a node held is gone with it."""
        self._stores.pop(node, None)
        self._mail.lose(node)

    def _changed(self, change: Change) -> None:
        """Whoever may hold what is no longer its own hands it over."""
        self.fabric.note("membership", change.messages)
        for donor in change.donors:
            self._hand_over(donor)

    def _hand_over(self, donor: int) -> None:
        taken: dict[int, int] = {}
        store = self._stores.get(donor)
        for item in list(store.held.values()) if store else ():
            nodes = self._locate(item)
            for node in nodes:
                if not self._holds(node, item):
                    self._keep(node, item)
                    taken[node] = taken.get(node, 0) + item.subscription.size_bytes
            if donor not in nodes:
                self._store(donor).remove(item)
        mail = self._mail.hand_over(donor, lambda home: self.table.owner(self.table.mail_key(home)))
        for node, size in mail.items():
            taken[node] = taken.get(node, 0) + size
        for node, size in sorted(taken.items()):
            self.fabric.direct(donor, node, "transfer", size)
