"""Interval index mapping: from a range of an attribute's values to keys (Lo, Section 3.1).

The domain of an attribute is divided into intervals of one size. The keys of the intervals stand evenly spaced in the
identifier space, beginning at a hash of the attribute's name (and the topic). Values beyond the ends of a domain belong
to its first and last interval, so that a domain is an expectation, not a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import floor

from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import Domain, Number, hash_text
from superpeer.dht.regions import NumberRange

USUAL_DOMAIN = Domain(0, 10_000)
USUAL_INTERVALS = 100


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute's domain, and into how many intervals it is divided."""

    domain: Domain = USUAL_DOMAIN
    intervals: int = USUAL_INTERVALS

    def __post_init__(self) -> None:
        if self.intervals < 1:
            raise DhtError(f"an attribute has at least one interval, not {self.intervals}")

    def index(self, number: Number) -> int:
        """The number of the interval that a value lies in. All numbers are taken for decimals: with floats the end of a
        range would be rounded into another interval than an equal value, where domains are large."""
        inside = Decimal(self.domain.clamp(number))
        size = self.domain.most - self.domain.least + 1
        return min(floor((inside - self.domain.least) * self.intervals / size), self.intervals - 1)

    def indices(self, limits: NumberRange) -> range:
        """The intervals that a range has values in."""
        low, high = limits
        first = 0 if low is None else self.index(low)
        last = self.intervals - 1 if high is None else self.index(high)
        return range(first, max(first, last) + 1)

    def width(self, limits: NumberRange) -> float:
        """How many values of the domain a range has, at least one."""
        low = self.domain.least if limits[0] is None else float(self.domain.clamp(limits[0]))
        high = self.domain.most if limits[1] is None else float(self.domain.clamp(limits[1]))
        return max(high - low + 1, 1)


class IntervalKeys:
    """The attributes of a schema; those that it does not name are as usual."""

    def __init__(self, bits: int, attributes: Mapping[str, Attribute] | None = None) -> None:
        self.bits = bits
        self._attributes = dict(attributes or {})
        self._usual = Attribute()

    def attribute(self, name: str) -> Attribute:
        return self._attributes.get(name, self._usual)

    def key(self, name: str, topic: str, index: int) -> int:
        """Lo's S_ID."""
        attribute = self.attribute(name)
        gap = (1 << self.bits) // attribute.intervals
        start = hash_text(f"{name} {topic}" if topic else name, self.bits)
        return (index * gap + attribute.domain.least + start) % (1 << self.bits)
