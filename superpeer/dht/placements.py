"""The placements of Lo's Table 1: where other systems store subscriptions and send events.

A placement says to which brokers a subscription and an event go. Every system keeps the intersection rule: where an
event matches a subscription, their brokers have one in common. What differs is how many brokers a subscription (m) and
an event (n) go to, and how many there are in all (k).

Ferry, eFerry and Baldoni et al. hash names or values, so they run on any hash table. Meghdoot has a torus of its own,
CAN with two dimensions for each attribute, divided into zones of one node each. A subscription is a point there: the
low end of each range in one dimension, the high end in the other. An event goes to all zones where some point has
low ends at or below its values and high ends at or above them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import chain, combinations
from math import prod
from random import Random
from typing import ClassVar

from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import Domain
from superpeer.dht.table import HashTable

Schema = Mapping[str, Domain]
Ranges = Mapping[str, tuple[int, int]]
"""For each attribute of a subscription both ends, included."""
Values = Mapping[str, int]


class Placement(ABC):
    """Which brokers subscriptions and events go to."""

    system: ClassVar[str]

    @abstractmethod
    def subscription(self, subscriber: int, ranges: Ranges) -> set[int]: ...

    @abstractmethod
    def event(self, values: Values) -> set[int]: ...

    @abstractmethod
    def brokers(self) -> set[int]:
        """All that a subscription can go to."""


class Ferry(Placement):
    """A subscription goes to one of the nodes that the names of attributes hash to, by its subscriber's identifier: the
    one that comes next. An event goes to all of them."""

    system = "Ferry"

    def __init__(self, table: HashTable, schema: Schema) -> None:
        self._table = table
        self._brokers = {table.owner(table.key(name)) for name in schema}

    def subscription(self, subscriber: int, ranges: Ranges) -> set[int]:
        del ranges
        mine = self._table.identifier(subscriber)
        return {min(self._brokers, key=lambda node: (self._table.identifier(node) - mine) % self._table.size)}

    def event(self, values: Values) -> set[int]:
        del values
        return self._brokers

    def brokers(self) -> set[int]:
        return self._brokers


class EFerry(Placement):
    """A subscription goes where the names of all its attributes hash to together; an event to the nodes of all subsets
    of its own."""

    system = "eFerry"

    def __init__(self, table: HashTable, schema: Schema) -> None:
        self._table = table
        self._schema = schema

    def subscription(self, subscriber: int, ranges: Ranges) -> set[int]:
        del subscriber
        return {self._owner(tuple(sorted(ranges)))}

    def event(self, values: Values) -> set[int]:
        return {self._owner(names) for names in _subsets(values)}

    def brokers(self) -> set[int]:
        """With many attributes there are more sets of names than there are nodes, so all are brokers in the end."""
        found: set[int] = set()
        for names in _subsets(self._schema):
            found.add(self._owner(names))
            if len(found) == len(self._table.nodes):
                break
        return found

    def _owner(self, names: tuple[str, ...]) -> int:
        return self._table.owner(self._table.key(" ".join(names)))


class Baldoni(Placement):
    """A subscription goes to the nodes of all values that the range of one of its attributes has, an event to those of
    its values. Baldoni et al. choose the attribute at random."""

    system = "Baldoni et al."

    def __init__(self, table: HashTable, schema: Schema, seed: int = 0) -> None:
        self._table = table
        self._schema = schema
        self._random = Random(seed)

    def subscription(self, subscriber: int, ranges: Ranges) -> set[int]:
        del subscriber
        name = self._random.choice(sorted(ranges))
        low, high = ranges[name]
        return {self._owner(name, value) for value in range(low, high + 1)}

    def event(self, values: Values) -> set[int]:
        return {self._owner(name, value) for name, value in values.items()}

    def brokers(self) -> set[int]:
        domains = self._schema.items()
        return {self._owner(name, value) for name, domain in domains for value in range(domain.least, domain.most + 1)}

    def _owner(self, name: str, value: int) -> int:
        return self._table.owner(self._table.key(f"{name} {value}"))


class Meghdoot(Placement):
    """Zones of a space with a low and a high dimension for each attribute of the schema. Attributes that a subscription
    does not name have their whole domain; those that an event does not name match anything."""

    system = "Meghdoot"

    def __init__(self, nodes: int, schema: Schema, seed: int = 0) -> None:
        self._names = sorted(schema)
        self._domains = [schema[name] for name in self._names for _ in range(2)]
        random = Random(seed)
        whole = tuple((domain.least, domain.most) for domain in self._domains)
        self._zones: list[tuple[tuple[int, int], ...]] = [whole]
        self._depths = [0]
        points = prod(high - low + 1 for low, high in whole)
        if not 1 <= nodes <= points:
            raise DhtError(f"a space of {points} points has zones for 1 to {points} nodes, not for {nodes}")
        while len(self._zones) < nodes:
            self._split(self._zone_of(tuple(random.randint(low, high) for low, high in whole)))

    def subscription(self, subscriber: int, ranges: Ranges) -> set[int]:
        del subscriber
        whole = {name: (self._domains[2 * i].least, self._domains[2 * i].most) for i, name in enumerate(self._names)}
        return {self._zone_of(tuple(end for name in self._names for end in ranges.get(name, whole[name])))}

    def event(self, values: Values) -> set[int]:
        return {number for number, zone in enumerate(self._zones) if self._is_reached(zone, values)}

    def brokers(self) -> set[int]:
        """Those with points whose low ends are not above their high ends."""
        return {
            number
            for number, zone in enumerate(self._zones)
            if all(zone[2 * i][0] <= zone[2 * i + 1][1] for i in range(len(self._names)))
        }

    def _is_reached(self, zone: tuple[tuple[int, int], ...], values: Values) -> bool:
        for i, name in enumerate(self._names):
            (lowest, _), (_, highest) = zone[2 * i], zone[2 * i + 1]
            if lowest > highest or (name in values and not lowest <= values[name] <= highest):
                return False
        return True

    def _zone_of(self, point: tuple[int, ...]) -> int:
        for number, zone in enumerate(self._zones):
            if all(low <= coordinate <= high for coordinate, (low, high) in zip(point, zone, strict=True)):
                return number
        raise AssertionError("the zones cover the whole space")

    def _split(self, number: int) -> None:
        """In half, along the dimensions in turn, as CAN does. One in which it is a point already is passed over; a zone
        that is one point stays as it is."""
        zone = self._zones[number]
        for step in range(len(zone)):
            dimension = (self._depths[number] + step) % len(zone)
            low, high = zone[dimension]
            if low < high:
                middle = (low + high) // 2
                self._zones[number] = (*zone[:dimension], (low, middle), *zone[dimension + 1 :])
                self._zones.append((*zone[:dimension], (middle + 1, high), *zone[dimension + 1 :]))
                self._depths[number] = dimension + 1
                self._depths.append(dimension + 1)
                return


def _subsets(names: Mapping[str, object]) -> chain[tuple[str, ...]]:
    """All but the empty one, small ones first."""
    ordered = sorted(names)
    return chain.from_iterable(combinations(ordered, size) for size in range(1, len(ordered) + 1))
