"""Features of queries: small facts that decide quickly which queries cannot cover each other, or match.

What a disjunct of a query (see `qel.normal`) asks of one value often contains a constant: letters that the value must
have in a row, or a URI that it must be; and it asks at least that the property is there. Each property, each URI and
each run of three letters is a *feature*. A disjunct *requires* features, and *offers* them:

    if a disjunct implies another, it offers all that the other requires;
    if a description meets a disjunct, it offers all that the disjunct requires.

So what may cover a query, what it may cover, and what a publication may match is found in a dictionary by the rarest
feature that is required, and only that is compared. A feature is a number, and two may fall together by chance: then
there is a candidate too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from qel import Query
from qel.normal import Disjunct
from qel.values import Description, Kind

LETTERS = 3
"""How many letters in a row make a feature."""

ANYTHING = 0
"""Required and offered by everything."""

IMPOSSIBLE = 1
"""Offered by a query that nothing matches, which every other covers."""


class Features(NamedTuple):
    """What each of the prime disjuncts of a query requires, and what each offers."""

    required: tuple[frozenset[int], ...]
    offered: tuple[frozenset[int], ...]

    def may_cover(self, other: Features) -> bool:
        """Whether each disjunct of the other query offers what some disjunct of this one requires."""
        return all(any(required <= offered for required in self.required) for offered in other.offered)


@lru_cache(maxsize=1 << 14)
def features_of(query: Query) -> Features:
    primes = query.normal_form.primes
    required = tuple(frozenset(required_by(prime)) for prime in primes)
    offered = tuple(frozenset(offered_by(prime)) for prime in primes)
    return Features(required, offered or (frozenset([IMPOSSIBLE]),))


def required_by(disjunct: Disjunct) -> Iterator[int]:
    """The features that whatever implies the disjunct, or meets it, has."""
    yield ANYTHING
    for name, slots in disjunct.slots.items():
        yield hash(name)
        for slot in slots:
            region = slot.region
            if region.uri is not None:
                yield hash((name, region.uri, Kind.URI.value))
            for text in (region.exact or "", region.prefix, region.suffix):
                yield from _runs(name, text)
            for part in region.parts:
                # A range implies the digits that all its members share, and has no such constant.
                if not part.isdigit():
                    yield from _runs(name, part)


def offered_by(disjunct: Disjunct) -> Iterator[int]:
    """The features that whatever meets the disjunct has."""
    yield ANYTHING
    for name, slots in disjunct.slots.items():
        yield hash(name)
        for slot in slots:
            region = slot.region
            if region.uri is not None:
                yield hash((name, region.uri, Kind.URI.value))
            for text in (region.exact or "", region.prefix, region.suffix, *region.parts):
                yield from _runs(name, text)


def features_in(description: Description) -> set[int]:
    """The features of what is said of one subject."""
    found = {ANYTHING}
    for name, values in description.values.items():
        found.add(hash(name))
        for value in values:
            if value.kind is Kind.URI:
                found.add(hash((name, value.text, Kind.URI.value)))
            found.update(_runs(name, value.text))
    return found


def _runs(name: str, text: str) -> Iterator[int]:
    return (hash((name, text[i : i + LETTERS])) for i in range(len(text) - LETTERS + 1))
