"""RDFPeers, the subscription side, as a routing strategy (Cai, Frank, Yan, MacGregor).

Every triple goes to the owners of its subject, of its predicate and of its object; an object that is a number is placed
by the locality-preserving hash. A subscription sits where one constant of its patterns is: its subject, else an object,
else a narrow range of objects, at all nodes of that range, else the least common of its predicates; some pattern has
a predicate, so every query can be placed. A triple that meets the pattern a subscription sits by is a candidate. The
rest of the patterns speak of the same subject, so the candidate is passed on to the owner of the subject, which gets
all triples of the publication, and is checked there. Or, with `carries_all`, all triples go with each triple, and the
rest is checked at once: fewer steps and many more bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qel.normal import Disjunct
from qel.regions import Region
from qel.topics import NO_TOPICS, Topics
from qel.values import Description, Kind, Value
from superpeer.dht.hashing import Domain, Number
from superpeer.dht.publication import Publication
from superpeer.dht.regions import constant_of, constant_text, each_slot, number_of, numbers_of
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Item, Store, Strategy, Subscription

USUAL_DOMAIN = Domain(0, 10_000)
WIDEST_SHARE = 4
"""A range that covers more than one in so many of the keys is placed by its predicate."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The part of a subscription by which it sits where it does."""

    position: str
    """subject, object or predicate"""
    property: str
    region: Region


class Patterns(Store[Anchor]):
    """The subscriptions of one node, by position and property."""

    def __init__(self) -> None:
        super().__init__()
        self._by_place: dict[tuple[str, str], dict[tuple[str, int], Item[Anchor]]] = {}

    def _enter(self, item: Item[Anchor]) -> None:
        self._by_place.setdefault((item.content.position, item.content.property), {})[item.id] = item

    def _withdraw(self, item: Item[Anchor]) -> None:
        del self._by_place[item.content.position, item.content.property][item.id]

    def at(self, position: str, name: str) -> Iterable[Item[Anchor]]:
        return self._by_place.get((position, name), {}).values()


class Triples(Strategy[Anchor]):
    """RDFPeers."""

    routing = "triples"
    system = "RDFPeers"

    def __init__(
        self,
        fabric: Fabric,
        topics: Topics = NO_TOPICS,
        domains: Mapping[str, Domain] | None = None,
        carries_all: bool = False,
    ) -> None:
        """`domains` says which numbers to expect of a property."""
        super().__init__(fabric, topics)
        self.carries_all = carries_all
        self._domains = dict(domains or {})
        self._predicates: Counter[str] = Counter()

    def _new_store(self) -> Patterns:
        return Patterns()

    def _place(self, _subscription: Subscription[Anchor], disjunct: Disjunct) -> Iterable[tuple[int, int, Anchor]]:
        subject = constant_of(disjunct.subject)
        if subject is not None:
            key = self.table.key(subject)
            return [(key, key, Anchor("subject", "", disjunct.subject))]
        found: list[tuple[int, int, Anchor]] = []
        for name, _, region in each_slot(disjunct):
            span = self._span(name, region)
            if span is not None:
                found.append((*span, Anchor("object", name, region)))
        narrow = [entry for entry in found if (entry[1] - entry[0]) * WIDEST_SHARE <= self.table.size]
        if narrow:
            return [min(narrow, key=lambda entry: entry[1] - entry[0])]
        name, _, region = min(each_slot(disjunct), key=lambda slot: (self._predicates[slot[0]], slot[0]))
        self._predicates[name] += 1
        key = self.table.key(constant_text(Kind.URI, name))
        return [(key, key, Anchor("predicate", name, region))]

    def _span(self, name: str, region: Region) -> tuple[int, int] | None:
        """The keys of all objects that a region admits."""
        numbers = numbers_of(region)
        if numbers is not None:
            domain = self._domains.get(name, USUAL_DOMAIN)
            low, high = numbers
            return (
                0 if low is None else domain.key(low, self.table.bits),
                self.table.size - 1 if high is None else domain.key(high, self.table.bits),
            )
        constant = constant_of(region)
        if constant is None:
            return None
        key = self.table.key(constant)
        return key, key

    def _publish(self, at: int, publication: Publication) -> None:
        description = publication.description
        subject = self.table.key(constant_text(description.subject.kind, description.subject.text))
        whole = self.fabric.route(at, subject, "publish", publication.size_bytes)
        sitting = self._patterns(whole.node).at("subject", "")
        self._notify(whole.node, [i for i in sitting if self._is_met(i, publication)], publication, whole.hops)
        for name, value, position, key in self._destinations(description):
            size = publication.size_bytes if self.carries_all else _triple_size(description, name, value)
            arrival = self.fabric.route(at, key, "publish", size)
            candidates = [
                item
                for item in self._patterns(arrival.node).at(position, name)
                if item.content.region.admits(value, self.topics)
            ]
            self._decide(arrival.node, whole.node, candidates, publication, max(arrival.hops, whole.hops))

    def _decide(
        self, node: int, subject_node: int, candidates: list[Item[Anchor]], publication: Publication, hops: int
    ) -> None:
        """Checks the rest of the patterns, here or where the subject is."""
        simple = [item for item in candidates if _is_whole(item.disjunct)]
        rest = [item for item in candidates if not _is_whole(item.disjunct)]
        self._notify(node, simple, publication, hops)
        if rest and not self.carries_all:
            hops += self.fabric.direct(node, subject_node, "candidates", sum(i.subscription.size_bytes for i in rest))
            node = subject_node
        self._notify(node, [item for item in rest if self._is_met(item, publication)], publication, hops)

    def _destinations(self, description: Description) -> Iterable[tuple[str, Value, str, int]]:
        for name, values in description.values.items():
            for value in values:
                yield name, value, "predicate", self.table.key(constant_text(Kind.URI, name))
                number = number_of(value)
                if number is not None:
                    yield name, value, "object", self._domain_key(name, number)
                elif value.kind is not Kind.BLANK:
                    yield name, value, "object", self.table.key(constant_text(value.kind, value.text))

    def _domain_key(self, name: str, number: Number) -> int:
        return self._domains.get(name, USUAL_DOMAIN).key(number, self.table.bits)

    def _patterns(self, node: int) -> Patterns:
        store = self._store(node)
        assert isinstance(store, Patterns)
        return store


def _is_whole(disjunct: Disjunct) -> bool:
    """Whether one triple decides: there is one pattern only, and nothing is asked of the subject."""
    return disjunct.subject.kind is None and sum(map(len, disjunct.slots.values())) == 1


def _triple_size(description: Description, name: str, value: Value) -> int:
    return len(description.subject.text) + len(name) + len(value.text) + 4
