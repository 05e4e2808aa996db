"""What is in a catalogue: for each property how often, for what, with which values, and together with what.

Resources were looked at when the catalogue was made (`superpeer.catalog.records`); one more pass looks at values
(`superpeer.catalog.values`). With `approximate`, the distinct values of properties that have very many are estimated by
HyperLogLog, and their top values are left out.

All results are lists in one order, whatever the partitioning: ties are broken by the values themselves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qel.names import RDF_TYPE, namespace
from superpeer.catalog.columns import URI
from superpeer.catalog.ingest import Catalogue
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.records import estimate
from superpeer.catalog.values import FEW_VALUES, TOP_VALUES, Counts, Text, find_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY_VALUES = 100_000
"""With `approximate`, the values of properties with more than this are not told apart."""


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


def profile(spark: SparkSession, catalogue: Catalogue, approximate: bool = False, steps: Steps = SILENT) -> Profile:
    manifest, known = catalogue.manifest, catalogue.knowledge()
    names = manifest.properties
    estimates = {name: estimate(some) for name, some in known.registers.items()} if approximate else {}
    many = frozenset(name for name, number in estimates.items() if number > MANY_VALUES)
    steps.say("counting values")
    found = find_values(spark, catalogue.units(), names, manifest.read, catalogue.repeats, many)
    properties = tuple(
        _property(
            names[number],
            int(known.resources[number]),
            int(known.most_values[number]),
            estimates[number] if number in many else found.distinct[number],
            number not in many,
            found.counts[number],
        )
        for number in sorted(found.counts)
    )
    few = tuple(_top_value(names, text) for text in found.few)
    return Profile(
        manifest.triples,
        manifest.resources,
        properties,
        _classes(spark, catalogue, few, properties),
        tuple(_top_value(names, text) for text in found.top),
        few,
        tuple(Pair(names[first], names[second], resources) for first, second, resources in known.pairs),
        tuple((tuple(names[number] for number in shape), resources) for shape, resources in known.shapes),
    )


def _top_value(names: tuple[str, ...], text: Text) -> TopValue:
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


def _classes(
    spark: SparkSession, catalogue: Catalogue, few: tuple[TopValue, ...], properties: tuple[Property, ...]
) -> tuple[tuple[str, int], ...]:
    from pyspark.sql import functions as f

    if all(one.distinct <= FEW_VALUES for one in properties if one.property == RDF_TYPE):
        found = [(one.object, one.count) for one in few if one.property == RDF_TYPE and one.kind == URI]
    else:
        types = catalogue.triples(spark).where((f.col("predicate") == RDF_TYPE) & (f.col("kind") == URI))
        found = [(row["object"], row["n"]) for row in types.groupBy("object").agg(f.count("*").alias("n")).collect()]
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))
