"""Indices of advertisements: what lies in one direction, and who supports each element of it.

An advertisement is a set of *elements*: schemas, properties, and properties with a value (Section 4.1 of the chapter).
An index merges the advertisements of many. The chapter's SP/P and SP/SP indices are the same structure: the supporters
of an element are peers in the one, and the links over which it came in the other. An element is there as long as
somebody supports it, and withdrawn with its last supporter.

Which subscriptions an index covers is `qel.covers`. A change of one element can matter only to the subscriptions that
*mention* it, so that an index that changes need not look at all of them.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

import qel
from qel import Advertisement, Query, namespace
from qel.advertisements import AdvertisedValue, Range, Uri
from qel.names import RDF_TYPE
from qel.values import Kind

Supporter = TypeVar("Supporter", bound=Hashable)

ANY_CLASS = "any class"
"""What a subscription mentions that leaves open which class it wants: every schema and property matters to it."""


@dataclass(frozen=True, slots=True)
class SchemaElement:
    schema: str


@dataclass(frozen=True, slots=True)
class PropertyElement:
    property: str


@dataclass(frozen=True, slots=True)
class ValueElement:
    property: str
    value: AdvertisedValue


Element = SchemaElement | PropertyElement | ValueElement


def elements_of(advertisement: Advertisement) -> frozenset[Element]:
    """The elements that an advertisement consists of."""
    return frozenset(
        [
            *map(SchemaElement, advertisement.schemas),
            *map(PropertyElement, advertisement.properties),
            *(ValueElement(name, value) for name, values in advertisement.values.items() for value in values),
        ]
    )


def advertisement_of(elements: Iterable[Element]) -> Advertisement:
    """The advertisement that consists of some elements."""
    schemas, properties = [], []
    values: dict[str, list[AdvertisedValue]] = {}
    for element in elements:
        match element:
            case SchemaElement(schema):
                schemas.append(schema)
            case PropertyElement(name):
                properties.append(name)
            case ValueElement(name, value):
                values.setdefault(name, []).append(value)
    return Advertisement(schemas, properties, values)


def written(element: Element) -> bytes:
    """An element as bytes, the same on every machine, and different for different elements."""
    match element:
        case SchemaElement(schema):
            data: list[object] = ["schema", schema]
        case PropertyElement(name):
            data = ["property", name]
        case ValueElement(name, Uri(uri)):
            data = ["uri", name, uri]
        case ValueElement(name, Range(low, high)):
            data = ["range", name, low, high]
        case ValueElement(name, text):
            data = ["text", name, text]
    return json.dumps(data).encode()


def mentioned_by(element: Element) -> tuple[str, ...]:
    """The keys under which subscriptions are found that an element can matter to."""
    match element:
        case SchemaElement(schema):
            return schema, ANY_CLASS
        case PropertyElement(name):
            return name, ANY_CLASS
        case ValueElement(name):
            return (name,)


@lru_cache(maxsize=1 << 14)
def mentions(query: Query) -> frozenset[str]:
    """The keys of all elements that can decide whether the query is covered."""
    found = {pattern.property for pattern in query.triples} | qel.properties(query)
    for disjunct in query.normal_form.disjuncts:
        for slot in disjunct.slots.get(RDF_TYPE, ()):
            if slot.region.kind is None or (slot.region.kind is Kind.URI and slot.region.uri is None):
                found.add(ANY_CLASS)
    return frozenset(found | {namespace(name) for name in found if name != ANY_CLASS})


class AdvertisementIndex(Generic[Supporter]):
    """The elements that somebody supports, at three levels; it covers subscriptions as an advertisement does."""

    def __init__(self) -> None:
        self.schemas: set[str] = set()
        self.properties: set[str] = set()
        self.values: dict[str, set[AdvertisedValue]] = {}
        self._supporters: dict[Element, set[Supporter]] = {}

    def __len__(self) -> int:
        return len(self._supporters)

    def __iter__(self) -> Iterator[Element]:
        return iter(self._supporters)

    def __contains__(self, element: object) -> bool:
        return element in self._supporters

    def supporters(self, element: Element) -> frozenset[Supporter]:
        return frozenset(self._supporters.get(element, ()))

    def covers(self, query: Query) -> bool:
        return qel.covers(self, query)

    def add(self, element: Element, supporter: Supporter) -> bool:
        """One more who supports an element; whether the element is new."""
        known = self._supporters.get(element)
        if known is not None:
            known.add(supporter)
            return False
        self._supporters[element] = {supporter}
        match element:
            case SchemaElement(schema):
                self.schemas.add(schema)
            case PropertyElement(name):
                self.properties.add(name)
            case ValueElement(name, value):
                self.values.setdefault(name, set()).add(value)
        return True

    def remove(self, element: Element, supporter: Supporter) -> bool:
        """One less who supports an element; whether it was the last, and the element is gone."""
        known = self._supporters.get(element)
        if known is None or supporter not in known:
            return False
        known.remove(supporter)
        if known:
            return False
        del self._supporters[element]
        match element:
            case SchemaElement(schema):
                self.schemas.remove(schema)
            case PropertyElement(name):
                self.properties.remove(name)
            case ValueElement(name, value):
                self.values[name].remove(value)
                if not self.values[name]:
                    del self.values[name]
        return True
