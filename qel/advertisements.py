"""Advertisements: what a peer will publish, at three levels, and which queries they cover.

    schemas      whole namespaces                                   Definition 5 of the chapter
    properties   single properties; classes of rdf:type count too   Definition 6
    values       properties with the values that they will have     Definitions 7 and 8

Peers mix levels, and an index merges what many peers say. Taken one by one the definitions then lose notifications: a
peer that advertises the schema dc: and the property foaf:name is covered by neither for a query that uses both. So
`covers` has a fourth way, the *joint rule*: some alternative of the query has each of its slots admitted at some level.
A slot is admitted freely when its property, or the schema of its property, is advertised, and by values when one of
the values advertised for its property can meet it. With it the following law holds, which makes routing exact:

    if T conforms to d and T matches q, then d covers q.

rdf:type is special, as in the chapter: its class stands in its place. A slot or a triple with rdf:type is admitted by
the class or the schema of the class; if it is open which class it is, any class that is advertised will do.
An advertised integer or range admits every literal with such an integer view, an advertised string every literal with
this lexical form, in any language. `covers` says no only when it is certain; where it depends on a hierarchy of topics
or a language, it says yes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import isinf
from typing import Any, Protocol

from qel.errors import QelTypeError
from qel.names import PREFIXES, RDF, RDF_TYPE, XSD, expand, is_iri, namespace
from qel.normal import Disjunct
from qel.regions import ANY, Region, integers
from qel.syntax import Query, UriIs, tests_of
from qel.topics import NO_TOPICS
from qel.values import Description, Kind, Value, datatype_of, describe, value_of


@dataclass(frozen=True, slots=True, order=True)
class Uri:
    """A URI as an advertised value."""

    uri: str


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from `low` to `high`, both included; None is no end."""

    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise QelTypeError(f"a range from {self.low} to {self.high} has no integers in it")


AdvertisedValue = Uri | str | Range
"""A string stands for the literals with this lexical form; a single integer is a range of one."""


class Levels(Protocol):
    """What is advertised, by one peer or by many together: all that covering and conforming ask for."""

    @property
    def schemas(self) -> Set[str]: ...

    @property
    def properties(self) -> Set[str]: ...

    @property
    def values(self) -> Mapping[str, Set[AdvertisedValue]]: ...


@dataclass(frozen=True)
class Advertisement:
    """What will be published; any of the three levels may be empty.

    Schemas and properties are IRIs, as text (`dc:creator` with a built-in prefix, `dc:` or `dc` for a schema) or as
    terms of rdflib or pyoxigraph. Values go from a property to what it may have: a Python string is a string, an int
    an integer, `Range(a, b)` or `(a, b)` a range (None for no end), and a URI is a term, or a `Uri`.
    """

    schemas: frozenset[str] = frozenset()
    properties: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[AdvertisedValue]] = field(default_factory=dict)

    def __init__(
        self,
        schemas: Iterable[Any] = (),
        properties: Iterable[Any] = (),
        values: Mapping[Any, Any] | None = None,
    ) -> None:
        for name, given in (("schemas", schemas), ("properties", properties)):
            if isinstance(given, str):
                raise QelTypeError(f"{name} is a list of names, and {given!r} is a single one")
        merged: dict[str, frozenset[AdvertisedValue]] = {}
        for key, advertised in (values or {}).items():
            found = merged.get(_name(key), frozenset()) | frozenset(_advertised(advertised))
            if not found:
                raise QelTypeError(f"no values are advertised for {key}; advertise the property itself instead")
            merged[_name(key)] = found
        object.__setattr__(self, "schemas", frozenset(_schema(schema) for schema in schemas))
        object.__setattr__(self, "properties", frozenset(_name(name) for name in properties))
        object.__setattr__(self, "values", merged)

    def __hash__(self) -> int:
        return hash((self.schemas, self.properties, frozenset(self.values.items())))

    def __or__(self, other: Advertisement) -> Advertisement:
        """What either advertises."""
        values = {
            key: self.values.get(key, frozenset()) | other.values.get(key, frozenset())
            for key in {*self.values, *other.values}
        }
        return Advertisement(self.schemas | other.schemas, self.properties | other.properties, values)


def schemas(query: Query) -> frozenset[str]:
    """The namespaces of the properties and classes of a query, rdf: left out."""
    return frozenset(namespace(name) for name in properties(query)) - {RDF}


def properties(query: Query) -> frozenset[str]:
    """The properties of a query; for rdf:type the classes that it names in its place, where it names any."""
    classes = {
        pattern.object: _classes(query, pattern.object) for pattern in query.triples if pattern.property == RDF_TYPE
    }
    found = {pattern.property for pattern in query.triples if pattern.property != RDF_TYPE}
    for named in classes.values():
        found |= named or {RDF_TYPE}
    return frozenset(found)


def covers(advertisement: Levels, query: Query) -> bool:
    """Whether what is advertised may match the query, by any of the definitions or by the joint rule."""
    return (
        covers_by_schemas(advertisement, query)
        or covers_by_properties(advertisement, query)
        or covers_by_values(advertisement, query)
        or covers_jointly(advertisement, query)
    )


def covers_by_schemas(advertisement: Levels, query: Query) -> bool:
    """Definition 5: every schema of the query is advertised."""
    return bool(advertisement.schemas) and _possible(query) and schemas(query) <= advertisement.schemas


def covers_by_properties(advertisement: Levels, query: Query) -> bool:
    """Definition 6: every property of the query is advertised."""
    return bool(advertisement.properties) and _possible(query) and properties(query) <= advertisement.properties


def covers_by_values(advertisement: Levels, query: Query) -> bool:
    """Definition 8: a property is shared, and with advertised values in the shared ones the constraint can be met."""
    values = advertisement.values
    return any(
        not values.keys().isdisjoint(disjunct.slots)
        and all(_some_value_meets(values[name], region) for name, region in _slots(disjunct) if name in values)
        for disjunct in query.normal_form.disjuncts
    )


def covers_jointly(advertisement: Levels, query: Query) -> bool:
    """The joint rule: some alternative has each slot admitted at some level."""
    return any(
        all(_admits_slot(advertisement, name, region) for name, region in _slots(disjunct))
        for disjunct in query.normal_form.disjuncts
    )


def conforms(advertisement: Levels, triples: Iterable[Any]) -> bool:
    """Whether each triple is admitted at some level."""
    return next(nonconforming(advertisement, triples), None) is None


def nonconforming(advertisement: Levels, triples: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The property and the object of each triple that no level admits."""
    for description in describe(triples):
        for name, value in unadmitted(advertisement, description):
            yield name, value.term


def unadmitted(advertisement: Levels, description: Description) -> Iterator[tuple[str, Value]]:
    """The same for what is said of one subject."""
    for name, found in description.values.items():
        for value in found:
            if not _admits_value(advertisement, name, value):
                yield name, value


def _possible(query: Query) -> bool:
    return bool(query.normal_form.disjuncts)


def _slots(disjunct: Disjunct) -> Iterator[tuple[str, Region]]:
    for name, slots in disjunct.slots.items():
        for slot in slots:
            yield name, slot.region


def _classes(query: Query, node: object) -> set[str]:
    """The classes that a query names for the object of an rdf:type triple."""
    if isinstance(node, UriIs):
        return {node.uri}
    return {
        test.atom.uri for test in tests_of(query.constraint) if test.variable == node and isinstance(test.atom, UriIs)
    }


def _admits_freely(advertisement: Levels, name: str) -> bool:
    """Whether the property is advertised with whatever value it has."""
    return name in advertisement.properties or namespace(name) in advertisement.schemas


def _admits_slot(advertisement: Levels, name: str, region: Region) -> bool:
    if _admits_freely(advertisement, name):
        return True
    if name == RDF_TYPE:
        if region.kind is Kind.URI and region.uri is not None:
            if _admits_freely(advertisement, region.uri):
                return True
        elif region.kind is not Kind.LITERAL and (advertisement.schemas or advertisement.properties):
            return True
    return name in advertisement.values and _some_value_meets(advertisement.values[name], region)


def _admits_value(advertisement: Levels, name: str, value: Value) -> bool:
    if _admits_freely(advertisement, name):
        return True
    if name == RDF_TYPE and value.kind is Kind.URI and _admits_freely(advertisement, value.text):
        return True
    return any(_stands_for(one, value) for one in advertisement.values.get(name, ()))


def _stands_for(advertised: AdvertisedValue, value: Value) -> bool:
    match advertised:
        case Uri(uri):
            return value.kind is Kind.URI and value.text == uri
        case Range(low, high):
            return integers(low, high).admits(value, NO_TOPICS)
        case text:
            return value.kind is Kind.LITERAL and value.text == text


def _some_value_meets(advertised: Set[AdvertisedValue], region: Region) -> bool:
    if region.kind is Kind.URI and region.uri is not None:
        return Uri(region.uri) in advertised
    if region.exact is not None and region.exact in advertised:
        return True
    return any(_can_meet(value, region) for value in advertised)


def _can_meet(advertised: AdvertisedValue, region: Region) -> bool:
    if region is ANY:
        return True
    match advertised:
        case Uri(uri):
            return region.meet(Region(Kind.URI, uri=uri)) is not None
        case Range(low, high):
            return region.meet(integers(low, high)) is not None
        case text:
            return region.meet(Region(Kind.LITERAL, exact=text)) is not None


def _name(given: Any) -> str:
    """The IRI of a property or class, however it is given."""
    text = given if type(given) is str else value_of(given).text
    iri = expand(text)
    if not is_iri(iri):
        raise QelTypeError(f"{text!r} is not the IRI of a property")
    return iri


def _schema(given: Any) -> str:
    text = str(given) if not hasattr(type(given), "value") else str(given.value)
    iri = PREFIXES.get(text.removesuffix(":")) or expand(text)
    if not is_iri(iri):
        raise QelTypeError(f"{text!r} is not the IRI of a schema, nor a known prefix")
    return iri


def _advertised(given: Any) -> Iterator[AdvertisedValue]:
    """The values of one property, given as one or as a sequence of them."""
    if isinstance(given, range):
        yield from [Range(given[0], given[-1])] if given.step == 1 and given else map(_one_value, given)
    elif isinstance(given, Sequence | set | frozenset) and not isinstance(given, str) and not _is_pair(given):
        yield from map(_one_value, given)
    else:
        yield _one_value(given)


def _is_pair(given: Any) -> bool:
    """Whether this is a range: two ends, of which None or an infinite number is none."""
    return isinstance(given, tuple) and len(given) == 2 and all(map(_is_end, given))


def _is_end(end: Any) -> bool:
    return end is None or type(end) is int or (isinstance(end, float) and isinf(end))


def _range(ends: tuple[Any, Any]) -> Range:
    low, high = (None if isinstance(end, float) else end for end in ends)
    return Range(low, high)


def _one_value(given: Any) -> AdvertisedValue:
    if isinstance(given, Range | Uri) or type(given) is str:
        return given
    if type(given) is int:
        return Range(given, given)
    if _is_pair(given):
        return _range(given)
    try:
        value = value_of(given)
    except TypeError:
        raise QelTypeError(
            f"{given!r} cannot be advertised: a value is a URI, a string, an integer or a range"
        ) from None
    if value.kind is Kind.BLANK:
        raise QelTypeError("a blank node cannot be advertised: its label means nothing elsewhere")
    if value.kind is Kind.URI:
        return Uri(value.text)
    is_integer = datatype_of(given) == XSD + "integer" and value.integer is not None
    return Range(value.integer, value.integer) if is_integer else value.text
