"""Overloaded brokers and their helpers: replication and partition (Lo, Section 3.1).

A broker that holds more subscriptions than a threshold distributes those that come later among itself and up to C - 1
neighbours that are not overloaded. With *replication* helpers get copies of everything, and an event is examined by any
one of the C. With *partition* each later subscription is held by one of the C, and an event is examined by all. Where
fewer neighbours are able to help, the broker asks again with each subscription that comes.

A delegation ends when its broker or one of the helpers goes, or when keys of the broker become those of others: it
takes back what the helpers hold, and begins anew when more comes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Generic, TypeVar

from qel.topics import Topics
from superpeer.dht.errors import DhtError
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Item, Store, Strategy
from superpeer.dht.table import Change

Content = TypeVar("Content")


class Policy(Enum):
    NONE = "none"
    REPLICATION = "replication"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class Relief:
    """What an overloaded broker does, above how many subscriptions, and among how many brokers."""

    policy: Policy = Policy.NONE
    threshold: int = 40
    brokers: int = 5

    def __post_init__(self) -> None:
        if self.threshold < 0 or self.brokers < 1:
            raise DhtError(
                "relief has a threshold of at least 0 subscriptions and at least 1 broker, "
                f"not {self.threshold} and {self.brokers}"
            )


@dataclass(slots=True)
class Delegation(Generic[Content]):
    """One broker's helpers, each with what it holds for the broker."""

    held: dict[int, Store[Content]] = field(default_factory=dict)

    @property
    def helpers(self) -> list[int]:
        return list(self.held)

    def holds(self, item: Item[Content]) -> bool:
        return any(item.id in store.held for store in self.held.values())

    def items(self) -> Iterable[Item[Content]]:
        return {identity: item for store in self.held.values() for identity, item in store.held.items()}.values()


class Helpers(Generic[Content]):
    """All delegations of a network, and how many foreign items each node holds."""

    def __init__(self, relief: Relief, random: Random, new_store: Callable[[], Store[Content]]) -> None:
        self.relief = relief
        self._new_store = new_store
        self._random = random
        self._delegations: dict[int, Delegation[Content]] = {}
        self._foreign: dict[int, int] = {}

    @property
    def brokers(self) -> list[int]:
        return list(self._delegations)

    def of(self, broker: int) -> Delegation[Content] | None:
        return self._delegations.get(broker)

    def foreign(self, node: int) -> int:
        """How many items a node holds for others."""
        return self._foreign.get(node, 0)

    def lacks(self, broker: int) -> int:
        """How many helpers a broker has room for."""
        delegation = self._delegations.get(broker)
        return self.relief.brokers - 1 - (len(delegation.held) if delegation else 0)

    def recruit(self, broker: int, candidates: Sequence[int]) -> list[int]:
        """As many of the candidates as there is room for help from now on; those who do."""
        chosen = list(candidates[: self.lacks(broker)])
        if chosen:
            delegation = self._delegations.setdefault(broker, Delegation())
            delegation.held |= {helper: self._new_store() for helper in chosen}
        return chosen

    def choose(self, broker: int) -> int:
        """The broker or one of its helpers, each as likely."""
        delegation = self._delegations[broker]
        return self._random.choice([broker, *delegation.held])

    def give(self, broker: int, helper: int, item: Item[Content]) -> None:
        store = self._delegations[broker].held[helper]
        if item.id not in store.held:
            store.add(item)
            self._foreign[helper] = self._foreign.get(helper, 0) + 1

    def take(self, broker: int, item: Item[Content]) -> list[int]:
        """Removes an item from all helpers of a broker; those that had it."""
        delegation = self._delegations.get(broker)
        stores = {} if delegation is None else delegation.held
        had = [helper for helper, store in stores.items() if item.id in store.held]
        for helper in had:
            stores[helper].remove(item)
            self._foreign[helper] -= 1
        return had

    def lose(self, helper: int) -> None:
        """A helper is gone with what it held."""
        for delegation in self._delegations.values():
            if helper in delegation.held:
                delegation.held[helper] = self._new_store()
        self._foreign.pop(helper, None)

    def end(self, broker: int) -> Delegation[Content] | None:
        """A broker has no helpers any more."""
        delegation = self._delegations.pop(broker, None)
        for helper, store in delegation.held.items() if delegation else ():
            self._foreign[helper] = self._foreign.get(helper, 0) - len(store)
        return delegation


class RelievedStrategy(Strategy[Content]):
    """A strategy in which overloaded brokers have helpers."""

    def __init__(self, fabric: Fabric, topics: Topics, relief: Relief) -> None:
        super().__init__(fabric, topics)
        self.relief = relief
        self._helpers: Helpers[Content] = Helpers(relief, fabric.random, self._new_store)

    def stored(self) -> dict[int, int]:
        return {node: held + self._helpers.foreign(node) for node, held in super().stored().items()}

    @abstractmethod
    def _candidates(self, node: int, item: Item[Content]) -> list[int]:
        """Who may help a broker with an item, the first choice first."""

    def _examiners(self, broker: int) -> Mapping[int, Store[Content]]:
        """Who examines an event that came to a broker, and what they hold for it."""
        mine = self._store(broker)
        delegation = self._helpers.of(broker)
        if delegation is None:
            return {broker: mine}
        if self.relief.policy is Policy.REPLICATION:
            chosen = self._helpers.choose(broker)
            return {chosen: mine if chosen == broker else delegation.held[chosen]}
        # Helpers are told first, so that they examine while the broker does.
        return {helper: store for helper, store in delegation.held.items() if len(store)} | {broker: mine}

    def _keep(self, node: int, item: Item[Content]) -> None:
        """A broker that holds enough gives what comes later to helpers."""
        if self._holds(node, item):
            return
        self.fabric.work(node, 1, 0)
        if self.relief.policy is not Policy.NONE and self._load(node) >= self.relief.threshold:
            self._recruit(node, item)
        delegation = self._helpers.of(node)
        if delegation is None or self.relief.policy is Policy.REPLICATION:
            self._store(node).add(item)
            for helper in delegation.held if delegation else ():
                self._copy(node, helper, [item])
            return
        chosen = self._helpers.choose(node)
        if chosen == node:
            self._store(node).add(item)
        else:
            self._copy(node, chosen, [item])

    def _recruit(self, broker: int, item: Item[Content]) -> None:
        if not self._helpers.lacks(broker):
            return
        delegation = self._helpers.of(broker)
        able = [
            one
            for one in self._candidates(broker, item)
            if self._load(one) < self.relief.threshold and not (delegation and one in delegation.held)
        ]
        for helper in self._helpers.recruit(broker, able):
            if self.relief.policy is Policy.REPLICATION:
                self._copy(broker, helper, self._store(broker).held.values())

    def _holds(self, node: int, item: Item[Content]) -> bool:
        delegation = self._helpers.of(node)
        return super()._holds(node, item) or (delegation is not None and delegation.holds(item))

    def _copy(self, broker: int, helper: int, items: Iterable[Item[Content]]) -> None:
        for item in items:
            self._helpers.give(broker, helper, item)
            self.fabric.direct(broker, helper, "delegate", item.subscription.size_bytes)
            self.fabric.work(helper, 1, 0)

    def _drop(self, node: int, item: Item[Content]) -> None:
        super()._drop(node, item)
        for helper in self._helpers.take(node, item):
            self.fabric.direct(node, helper, "delegate", len(item.subscription.name))

    def _load(self, node: int) -> int:
        return len(self._stores.get(node, ())) + self._helpers.foreign(node)

    def _lose(self, node: int) -> None:
        super()._lose(node)
        self._helpers.lose(node)

    def _hand_over(self, donor: int) -> None:
        self._recall(donor)
        super()._hand_over(donor)

    def _changed(self, change: Change) -> None:
        for broker in list(self._brokers_without_helpers()):
            self._recall(broker)
        super()._changed(change)

    def _brokers_without_helpers(self) -> Iterator[int]:
        """Those whose delegation ends, since they or one of their helpers are gone."""
        present = self.table.nodes
        for broker in self._helpers.brokers:
            delegation = self._helpers.of(broker)
            if delegation and (broker not in present or any(helper not in present for helper in delegation.held)):
                yield broker

    def _recall(self, broker: int) -> None:
        """A broker takes back what its helpers hold, as far as they still do."""
        delegation = self._helpers.end(broker)
        if delegation is None:
            return
        self.fabric.note("transfer", len(delegation.held))
        if broker in self._stores:
            for item in delegation.items():
                self._store(broker).add(item)
