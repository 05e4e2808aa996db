"""What is in a catalogue: for each property how often, for what, with which values, and together with what.

It is found out when the catalogue is made (`superpeer.catalog.surveying`) and kept with it. The distinct values of
properties that have very many may be estimated by HyperLogLog; then their top values are left out.

All results are lists in one order, whatever the partitioning: ties are broken by the values themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qel.names import namespace
from superpeer.catalog.counting import Counts
from superpeer.catalog.records import Records
from superpeer.catalog.values import TOP_VALUES, Found, Text


@dataclass(frozen=True, slots=True)
class Property:
    """One row of the table `properties`. The forms are explained in `superpeer.catalog.views`."""

    property: str
    resources: int
    values: int
    distinct: int
    exact: bool
    most_values: int
    uri: int
    blank: int
    year: int
    date: int
    integer: int
    decimal: int
    string: int
    invalid: int
    lowest: int | None
    highest: int | None
    beyond: int
    longest: int
    languages: tuple[tuple[str, int], ...]
    datatypes: tuple[tuple[str, int], ...]


def has_integers_only(one: Property) -> bool:
    """Whether every value has an integer view."""
    return one.values > 0 and one.year + one.date + one.integer == one.values


@dataclass(frozen=True, slots=True)
class TopValue:
    """One row of `top_values`, and of `few_values`: a value of a property, and how many resources have it."""

    property: str
    object: str
    kind: str
    language: str
    datatype: str
    count: int


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of `pairs`: how many resources have both properties; the first is the smaller in the alphabet."""

    first: str
    second: str
    resources: int


@dataclass(frozen=True)
class Profile:
    """All that `superpeer catalog profile` finds out."""

    triples: int
    resources: int
    properties: tuple[Property, ...]
    classes: tuple[tuple[str, int], ...]
    top_values: tuple[TopValue, ...]
    few_values: tuple[TopValue, ...]
    pairs: tuple[Pair, ...]
    shapes: tuple[tuple[tuple[str, ...], int], ...]
    """The sets of properties that resources have, with how many have exactly this set: the most common."""

    @property
    def schemas(self) -> tuple[tuple[str, int, int], ...]:
        """Each namespace with how many properties and classes of it are used, and how many triples use them."""
        found: dict[str, list[int]] = {}
        for one in self.properties:
            entry = found.setdefault(namespace(one.property), [0, 0])
            entry[0] += 1
            entry[1] += one.values
        for name, _ in self.classes:
            found.setdefault(namespace(name), [0, 0])[0] += 1
        return tuple(sorted((name, used, triples) for name, (used, triples) in found.items()))


def assemble(
    names: Sequence[str],
    triples: int,
    counts: Mapping[str, Counts],
    estimated: Mapping[str, int],
    records: Records,
    values: Found,
    classes: Sequence[tuple[str, int]],
) -> Profile:
    """A profile of what was found by the numbers of properties, which are their places in `names`."""
    properties = tuple(
        _property(
            name,
            int(records.found.having[number]),
            int(records.found.most[number]),
            estimated.get(name, values.distinct[number]),
            name not in estimated,
            counts[name],
        )
        for number, name in enumerate(names)
    )
    return Profile(
        triples,
        records.found.resources,
        properties,
        tuple(classes),
        tuple(_top_value(names, text) for text in values.top),
        tuple(_top_value(names, text) for text in values.few),
        tuple(Pair(names[one], names[other], resources) for (one, other), resources in records.pairs.items()),
        tuple((tuple(names[number] for number in shape), resources) for shape, resources in records.shapes),
    )


def _top_value(names: Sequence[str], text: Text) -> TopValue:
    return TopValue(names[text.property], text.object, text.kind, text.language, text.datatype, text.count)


def _property(name: str, resources: int, most: int, distinct: int, exact: bool, counts: Counts) -> Property:
    forms = counts.forms
    return Property(
        name,
        resources,
        counts.values,
        distinct,
        exact,
        most,
        forms["uri"],
        forms["blank"],
        forms["year"],
        forms["date"],
        forms["integer"],
        forms["decimal"],
        forms["string"],
        counts.invalid,
        counts.lowest,
        counts.highest,
        counts.beyond,
        counts.longest,
        _most_common(counts.languages),
        _most_common(counts.datatypes),
    )


def _most_common(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:TOP_VALUES])
