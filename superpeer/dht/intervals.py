"""IIM as a routing strategy, in its single-cluster form: numeric ranges (Lo).

A subscription is stored under one of its attributes, at the brokers of all intervals that its range has values in;
which attribute is chosen at random, or with a probability inverse to the size of its range. An event goes, for each of
its attributes, to the broker of the interval that its value lies in. The brokers' keys depend on attribute, interval
and topic: here the class of a resource. A broker examines all that it holds, or less (`Examining`); an overloaded one
has helpers (`delegation`).

A subscription that names no class, and one that asks for a generalised topic below which no topics are known, is kept
under a topic of its own that every event goes to as well. A generalised topic with a known hierarchy is substituted by
the topics within it.

*Partial match*, for those who want it, also tells subscribers of events that lack some of their attributes; then
subscriptions are stored under all of these.

Of QEL this supports all queries whose alternatives each compare a number, year or date (or are equal to one); the rest
of an alternative is examined with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from qel.names import RDF_TYPE
from qel.normal import Disjunct
from qel.topics import NO_TOPICS, Topics
from qel.values import Kind
from superpeer.dht.delegation import Relief, RelievedStrategy
from superpeer.dht.errors import DhtError, UnsupportedQuery
from superpeer.dht.interval_keys import Attribute, IntervalKeys
from superpeer.dht.publication import Publication
from superpeer.dht.regions import NumberRange, each_slot, number_of, numbers_of, refuse
from superpeer.dht.simulation import Arrival, Fabric
from superpeer.dht.strategy import Item, Store, Subscription

ANY_TOPIC = ""


class Selection(Enum):
    """Which attribute a subscription is stored under."""

    RANDOM = "random"
    PROPORTIONAL = "proportional"


class Examining(Enum):
    """With what of all that a broker holds it compares an event. What else it holds cannot match, so this changes
    nothing but the time that is spent; Lo does not say."""

    EVERYTHING = "all it holds"
    GROUP = "its topic's"
    KEY = "its interval's"


class Match(Enum):
    EXACT = "exact"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Placing:
    """Why an item is where it is."""

    topic: str
    attribute: str
    index: int


class Pile(Store[Placing]):
    """What a broker holds. Only what is under the key by which an event came can match, so a simulation need not look
    at the rest, whatever a broker examines."""

    def __init__(self) -> None:
        super().__init__()
        self.topics: Counter[str] = Counter()
        self._by_key: dict[int, dict[tuple[str, int], Item[Placing]]] = {}

    def at(self, key: int) -> Iterable[Item[Placing]]:
        return self._by_key.get(key, {}).values()

    def _enter(self, item: Item[Placing]) -> None:
        self.topics[item.content.topic] += 1
        self._by_key.setdefault(item.low, {})[item.id] = item

    def _withdraw(self, item: Item[Placing]) -> None:
        self.topics[item.content.topic] -= 1
        del self._by_key[item.low][item.id]


class Intervals(RelievedStrategy[Placing]):
    """IIM on one ring."""

    routing = "intervals"
    system = "IIM"

    def __init__(
        self,
        fabric: Fabric,
        topics: Topics = NO_TOPICS,
        attributes: Mapping[str, Attribute] | None = None,
        selection: Selection = Selection.PROPORTIONAL,
        relief: Relief | None = None,
        match: Match = Match.EXACT,
        examining: Examining = Examining.EVERYTHING,
        topic_property: str = RDF_TYPE,
        known_topics: Iterable[str] = (),
        serves_any_topic: bool = True,
    ) -> None:
        super().__init__(fabric, topics, relief or Relief())
        self.keys = IntervalKeys(self.table.bits, attributes)
        self.selection = selection
        self.match = match
        self.examining = examining
        self.topic_property = topic_property
        self.examined = 0
        """Subscriptions that brokers compared with events."""
        self._known_topics = sorted(known_topics)
        self._serves_any_topic = serves_any_topic

    def _new_store(self) -> Pile:
        return Pile()

    def _place(self, _subscription: Subscription[Placing], disjunct: Disjunct) -> Iterable[tuple[int, int, Placing]]:
        ranges = self._ranges(disjunct)
        if not ranges:
            able = "each alternative needs a comparison with a number, a year or a date, as in D >= 2004"
            raise refuse(self.system, next(iter(disjunct.slots)), "an alternative without numbers", able)
        chosen = list(ranges) if self.match is Match.PARTIAL else [self._select(ranges)]
        placed = []
        for topic in self._topics_of(disjunct):
            for name in chosen:
                for index in self.keys.attribute(name).indices(ranges[name]):
                    key = self._key(topic, name, index)
                    placed.append((key, key, Placing(topic, name, index)))
        return placed

    def _ranges(self, disjunct: Disjunct) -> dict[str, NumberRange]:
        """The attributes with numbers; of several ranges of one attribute any will do."""
        found = ((name, numbers_of(region)) for name, _, region in each_slot(disjunct))
        return {name: limits for name, limits in found if limits is not None}

    def _select(self, ranges: Mapping[str, NumberRange]) -> str:
        names = sorted(ranges)
        if self.selection is Selection.RANDOM:
            return self.fabric.random.choice(names)
        weights = [1 / self.keys.attribute(name).width(ranges[name]) for name in names]
        return self.fabric.random.choices(names, weights)[0]

    def _topics_of(self, disjunct: Disjunct) -> list[str]:
        """The topics under which a disjunct is kept."""
        for slot in disjunct.slots.get(self.topic_property, ()):
            if slot.region.uri is not None:
                return [slot.region.uri]
            if slot.region.topics:
                general = slot.region.topics[0]
                below = [topic for topic in self._known_topics if self.topics.within(topic, general)]
                if below:
                    return sorted({general, *below})
        if not self._serves_any_topic:
            raise UnsupportedQuery(f"{self.system} serves topics here; add t(X, <{self.topic_property}>, <topic>)")
        return [ANY_TOPIC]

    def _key(self, topic: str, attribute: str, index: int) -> int:
        return self.keys.key(attribute, topic, index)

    def _publish(self, at: int, publication: Publication) -> None:
        self._deliver_event(at, publication, {})

    def publish_ranges(self, at: int, publication: Publication, ranges: Mapping[str, NumberRange]) -> frozenset[str]:
        """An event that has ranges of values instead of values: it is delivered as a subscription is stored, and
        matches where each range of a subscription has values in common with it. What the publication says besides is
        matched as usual."""
        self.table.require(at)
        for name, (low, high) in ranges.items():
            if low is not None and high is not None and low > high:
                raise DhtError(f"a range begins at or below where it ends, not from {low} to {high} as that of {name}")
        self._reached, self._hops = set(), 0
        self._deliver_event(at, publication, ranges)
        return frozenset(self._reached)

    def _deliver_event(self, at: int, publication: Publication, ranges: Mapping[str, NumberRange]) -> None:
        spans: dict[str, list[NumberRange]] = {
            name: [(number, number) for value in values if (number := number_of(value)) is not None]
            for name, values in publication.description.values.items()
        }
        spans |= {name: [limits] for name, limits in ranges.items()}
        for topic in self._topics_of_event(publication):
            for name, limits_of_one in spans.items():
                attribute = self.keys.attribute(name)
                for index in sorted({index for limits in limits_of_one for index in attribute.indices(limits)}):
                    self._visit(at, Placing(topic, name, index), publication, ranges)

    def _topics_of_event(self, publication: Publication) -> list[str]:
        values = publication.description.values.get(self.topic_property, ())
        topics = {value.text for value in values if value.kind is Kind.URI}
        if self._known_topics:
            # Nothing was substituted by a topic that is not known: it is kept under what is broader.
            unknown = topics.difference(self._known_topics)
            topics = topics.union(*map(self.topics.ancestors, unknown))
        return [*sorted(topics), ANY_TOPIC] if self._serves_any_topic else sorted(topics)

    def _visit(self, at: int, placing: Placing, publication: Publication, ranges: Mapping[str, NumberRange]) -> None:
        key = self._key(placing.topic, placing.attribute, placing.index)
        arrival = self._reach(at, placing.topic, key, publication.size_bytes)
        self._examine_at(arrival, placing.topic, key, publication, ranges)

    def _reach(self, at: int, _topic: str, key: int, size_bytes: int) -> Arrival:
        """Takes an event to the broker of a key."""
        return self.fabric.route(at, key, "publish", size_bytes)

    def _examine_at(
        self,
        arrival: Arrival,
        topic: str,
        key: int,
        publication: Publication,
        ranges: Mapping[str, NumberRange],
    ) -> None:
        """The broker examines what it holds, or has it examined."""
        broker, hops = arrival
        for node, store in self._examiners(broker).items():
            assert isinstance(store, Pile)
            reached = hops + self.fabric.direct(broker, node, "redirect", publication.size_bytes)
            examined = self._examined(store, topic, key)
            met = [item for item in store.at(key) if self._matches(item, publication, ranges)]
            self.examined += examined
            self.fabric.work(node, examined, len(met))
            self._notify(node, met, publication, reached)

    def _examined(self, store: Pile, topic: str, key: int) -> int:
        """How many subscriptions of a pile an event of a topic is compared with."""
        match self.examining:
            case Examining.EVERYTHING:
                return len(store)
            case Examining.GROUP:
                group = self._group(topic)
                return sum(number for other, number in store.topics.items() if self._group(other) == group)
            case Examining.KEY:
                return sum(1 for item in store.at(key) if self._group(item.content.topic) == self._group(topic))

    def _group(self, topic: str) -> str:
        """The topics that are kept together."""
        return topic

    def _matches(self, item: Item[Placing], publication: Publication, ranges: Mapping[str, NumberRange]) -> bool:
        if not ranges and self.match is Match.EXACT:
            return self._is_met(item, publication)
        values = publication.description.values
        for name, _, region in each_slot(item.disjunct):
            limits = numbers_of(region)
            if name in ranges:
                if limits is None or not _overlap(limits, ranges[name]):
                    return False
            elif name in values:
                if not any(region.admits(value, self.topics) for value in values[name]):
                    return False
            elif self.match is Match.EXACT:
                return False
        return item.disjunct.subject.admits(publication.description.subject, self.topics)

    def _candidates(self, node: int, _item: Item[Placing]) -> list[int]:
        """The neighbours, by the routing table."""
        return list(self.table.neighbours(node))


def _overlap(one: NumberRange, other: NumberRange) -> bool:
    def is_below(high: object, low: object) -> bool:
        return high is not None and low is not None and high < low  # type: ignore[operator]

    return not is_below(one[1], other[0]) and not is_below(other[1], one[0])
