"""Overloaded brokers and their helpers: replication and partition (Lo, Section 3.1).

A broker that holds more subscriptions than a threshold distributes those that come later among itself and up to C - 1
neighbours that are not overloaded. With *replication* helpers get copies of everything, and an event is examined by any
one of the C. With *partition* each later subscription is held by one of the C, and an event is examined by all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Generic, TypeVar

from superpeer.dht.strategy import Item, Store

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


@dataclass(slots=True)
class Delegation(Generic[Content]):
    """One broker's helpers, each with what it holds for the broker."""

    held: dict[int, Store[Content]] = field(default_factory=dict)

    @property
    def helpers(self) -> list[int]:
        return list(self.held)

    def holder(self, item: Item[Content]) -> int | None:
        return next((helper for helper, store in self.held.items() if item.id in store.held), None)

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

    def recruit(self, broker: int, candidates: Sequence[int]) -> Delegation[Content]:
        chosen = list(candidates[: self.relief.brokers - 1])
        delegation = self._delegations[broker] = Delegation({helper: self._new_store() for helper in chosen})
        return delegation

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
