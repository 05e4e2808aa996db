"""Lo's workload: topics with numeric attributes, subscriptions with ranges, and events that match one of them each.

The schema has twenty attributes with values from 0 to 99, in six intervals; each of ten topics uses six of them. Topics
are chosen by Zipf. An event belongs to a subscription drawn at random: it has all attributes of the topic, with values
in that subscription's ranges, and any where it asks for none; or, which Lo leaves open as well, only that
subscription's attributes. A subscriber may be interested in every topic, or in a few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from random import Random

from qel import Query
from qel.names import RDF_TYPE
from qel.syntax import And, Compare, Operator, Test, TriplePattern, UriIs
from qel.values import Description, Kind, Value, View
from superpeer.dht.hashing import Domain
from superpeer.dht.interval_keys import Attribute
from superpeer.dht.publication import Publication, size_of

ATTRIBUTES = tuple(f"http://example.org/attributes/a{i:02d}" for i in range(20))
TOPICS = tuple(f"http://example.org/topics/t{i}" for i in range(10))
DOMAIN = Domain(0, 99)
SCHEMA = {name: Attribute(DOMAIN, 6) for name in ATTRIBUTES}
TOPIC_ATTRIBUTES = 6


@dataclass(frozen=True, slots=True)
class Request:
    """A subscription before it is a query."""

    home: int
    topic: str
    ranges: tuple[tuple[str, int, int], ...]

    @property
    def query(self) -> Query:
        patterns = [TriplePattern(RDF_TYPE, UriIs(self.topic))]
        tests = []
        for number, (name, low, high) in enumerate(self.ranges):
            patterns.append(TriplePattern(name, f"V{number}"))
            tests.append(Test(f"V{number}", Compare(Operator.AT_LEAST, View.INTEGER, low)))
            tests.append(Test(f"V{number}", Compare(Operator.AT_MOST, View.INTEGER, high)))
        return Query(("X",), "X", tuple(patterns), And(tuple(tests)))


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event: where and when it is published, and what."""

    at: int
    gap: float
    """How long after the one before, with a mean of 1."""
    publication: Publication


class Workload:
    """All of it from one seed."""

    def __init__(
        self,
        nodes: int,
        theta: float,
        variance: float,
        seed: int,
        *,
        interests: int = len(TOPICS),
        has_all_attributes: bool = True,
    ) -> None:
        """`interests` is in how many topics a node may be interested."""
        self._random = Random(seed)
        self._nodes = nodes
        self._has_all_attributes = has_all_attributes
        self._half_width = sqrt(3 * variance)
        self._weights = [1 / rank**theta for rank in range(1, len(TOPICS) + 1)]
        self._attributes = {topic: self._random.sample(ATTRIBUTES, TOPIC_ATTRIBUTES) for topic in TOPICS}
        self._interested = self._groups(interests)

    def _groups(self, interests: int) -> dict[str, list[int]]:
        """The nodes that may subscribe to each topic."""
        if interests >= len(TOPICS):
            return {topic: list(range(self._nodes)) for topic in TOPICS}
        groups: dict[str, list[int]] = {topic: [] for topic in TOPICS}
        for node in range(self._nodes):
            chosen: set[str] = set()
            while len(chosen) < interests:
                chosen.add(self._random.choices(TOPICS, self._weights)[0])
            for topic in sorted(chosen):
                groups[topic].append(node)
        return {topic: members or [self._random.randrange(self._nodes)] for topic, members in groups.items()}

    def requests(self, number: int) -> list[Request]:
        return [self._request() for _ in range(number)]

    def occurrences(self, requests: list[Request], number: int) -> Iterator[Occurrence]:
        for serial in range(number):
            request = self._random.choice(requests)
            wanted = {name: (low, high) for name, low, high in request.ranges}
            description = Description(Value(Kind.URI, f"http://example.org/events/{serial}"))
            description.values[RDF_TYPE] = [Value(Kind.URI, request.topic)]
            for name in self._attributes[request.topic] if self._has_all_attributes else wanted:
                value = self._random.randint(*wanted.get(name, (DOMAIN.least, DOMAIN.most)))
                description.values[name] = [Value(Kind.LITERAL, str(value))]
            at, gap = self._random.randrange(self._nodes), self._random.expovariate(1.0)
            yield Occurrence(at, gap, Publication(str(serial), description, size_of(description)))

    def _request(self) -> Request:
        topic = self._random.choices(TOPICS, self._weights)[0]
        number = min(max(round(self._random.uniform(3 - sqrt(3), 3 + sqrt(3))), 1), TOPIC_ATTRIBUTES)
        ranges = []
        for name in self._random.sample(self._attributes[topic], number):
            width = round(self._random.uniform(20 - self._half_width, 20 + self._half_width))
            width = min(max(width, 1), DOMAIN.most + 1)
            low = self._random.randint(0, DOMAIN.most + 1 - width)
            ranges.append((name, low, low + width - 1))
        return Request(self._random.choice(self._interested[topic]), topic, tuple(sorted(ranges)))
