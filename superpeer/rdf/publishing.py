"""From RDF as it is in files to publications: one for each subject, with the names of anonymous nodes in their place.

Catalogues write `dc:creator [ foaf:name "W. Nejdl" ]`, and a subscriber asks for a `dc:creator` that contains "Nejdl".
So a blank node that is the value of a property and has a name is replaced by that name: see `lift`, which is the rule.
It knows nothing of how triples are kept, so that other ways of reading a catalogue share it.

A blank node is never a subject of its own: its label means nothing outside its file, so nobody could update what was
published of it, delete it or refer to it. Those whose names were put in their place have had their say; the others are
skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from qel import PREFIXES, Advertisement, Range, Uri, namespace
from qel.advertisements import AdvertisedValue
from qel.names import RDF, RDF_TYPE
from qel.topics import NO_TOPICS, UPWARDS, Topics
from qel.values import Kind, Value, datatype_of, value_of

NAMES = (
    RDF + "value",
    PREFIXES["rdfs"] + "label",
    PREFIXES["skos"] + "prefLabel",
    PREFIXES["foaf"] + "name",
    PREFIXES["schema"] + "name",
    "https://schema.org/name",
)
"""The properties whose values can stand for a node, in the order in which these are given."""

_MEMBER = re.compile(re.escape(RDF) + r"_[1-9][0-9]*")
MAX_DEPTH = 2
"""A node's name may be a node that has a name, and no further."""

LEVELS = ("schemas", "properties", "values")
FEW_VALUES = 20
"""A property with more values than this is advertised by itself."""
MAX_VALUE_CHARACTERS = 200

Object = TypeVar("Object")
Statement = tuple[str, Object]
"""What is said of a subject: the IRI of a property, and a value."""


def lift(
    statements: Iterable[Statement[Object]],
    said_of: Callable[[Object], Sequence[Statement[Object]] | None],
    is_literal: Callable[[Object], bool],
) -> list[Statement[Object]]:
    """What is said of a subject, with named blank nodes replaced by their names, and no statement twice.

    `said_of` gives what is said of a blank node, and None for what is no blank node. A node with several names is
    replaced by all of them, and so is a container (rdf:Bag, rdf:Seq, rdf:Alt) by its members. One without a name stays.
    """
    lifted: dict[Statement[Object], None] = {}
    for name, value in statements:
        for found in _names_of(value, said_of, is_literal, MAX_DEPTH) or [value]:
            lifted[name, found] = None
    return list(lifted)


def _names_of(
    node: Object,
    said_of: Callable[[Object], Sequence[Statement[Object]] | None],
    is_literal: Callable[[Object], bool],
    depth: int,
) -> list[Object]:
    said = said_of(node)
    if said is None:
        return []
    found: list[Object] = []
    ranked = ((rank, value) for name, value in said if (rank := _rank(name)) is not None)
    for _, value in sorted(ranked, key=lambda pair: pair[0]):
        if is_literal(value):
            found.append(value)
        elif depth > 1:
            found += _names_of(value, said_of, is_literal, depth - 1)
    return found


def _rank(name: str) -> tuple[int, int] | None:
    if name in NAMES:
        return NAMES.index(name), 0
    if _MEMBER.fullmatch(name):
        return len(NAMES), int(name[len(RDF) + 1 :])
    return None


class Described(NamedTuple):
    """A publication to be: a subject and its triples, in the terms in which they were given."""

    subject: Any
    triples: tuple[tuple[Any, Any, Any], ...]


class Publications:
    """The publications that some triples make, in the order in which their subjects come."""

    def __init__(self, triples: Iterable[Any]) -> None:
        """Triples of rdflib or pyoxigraph; an rdflib graph is an iterable of its triples. All are held in memory."""
        self._terms: dict[TermKey, Any] = {}
        self._predicates: dict[str, Any] = {}
        self._said: dict[TermKey, dict[Statement[TermKey], None]] = {}
        self._referred: set[TermKey] = set()
        self._broader: dict[str, list[str]] = {}
        self._latest: tuple[Any, TermKey] | None = None
        for triple in triples:
            parts = triple if isinstance(triple, tuple) else (triple.subject, triple.predicate, triple.object)
            self._add(*parts[:3])
        self.skipped = sum(not self._is_spoken_for(subject) for subject in self._said if _is_blank(subject))
        """Anonymous subjects of which nothing is published: they have no name, or nobody refers to them."""

    def __len__(self) -> int:
        return sum(not _is_blank(subject) for subject in self._said)

    def __iter__(self) -> Iterator[Described]:
        for subject, lifted in self._lifted():
            term = self._terms[subject]
            yield Described(term, tuple((term, self._predicates[name], self._terms[value]) for name, value in lifted))

    def statements(self) -> Iterator[tuple[TermKey, list[Statement[TermKey]]]]:
        """Each subject and what is published of it, for whoever needs no terms; languages are as they were written."""
        for subject, lifted in self._lifted():
            yield subject, [(name, self._as_written(value) if value.language else value) for name, value in lifted]

    def _lifted(self) -> Iterator[tuple[TermKey, list[Statement[TermKey]]]]:
        for subject, said in self._said.items():
            if not _is_blank(subject):
                yield subject, lift(said, self._said_of, _is_literal)

    @property
    def topics(self) -> Topics:
        """The hierarchy of topics that the triples themselves tell of."""
        return Topics.of(self._broader) if self._broader else NO_TOPICS

    def _add(self, subject: Any, predicate: Any, node: Any) -> None:
        name, value = value_of(predicate).text, self._key(node)
        if self._latest is None or self._latest[0] is not subject:
            self._latest = subject, self._key(subject)
        self._predicates.setdefault(name, predicate)
        self._said.setdefault(self._latest[1], {})[name, value] = None
        if _is_blank(value):
            self._referred.add(value)
        if name in UPWARDS and value.kind is Kind.URI:
            self._broader.setdefault(self._latest[1].text, []).append(value.text)

    def _key(self, term: Any) -> TermKey:
        value = value_of(term)
        if value.kind is Kind.LITERAL:
            key = TermKey(value.kind, value.text, value.language, datatype_of(term))
        else:
            key = TermKey(value.kind, value.text)
        self._terms.setdefault(key, term)
        return key

    def _as_written(self, key: TermKey) -> TermKey:
        return key._replace(language=self._terms[key].language)

    def _said_of(self, node: TermKey) -> list[Statement[TermKey]] | None:
        return list(self._said.get(node, ())) if _is_blank(node) else None

    def _is_spoken_for(self, node: TermKey) -> bool:
        return node in self._referred and bool(_names_of(node, self._said_of, _is_literal, MAX_DEPTH))


def publications_of(triples: Iterable[Any]) -> Publications:
    """The publications that some triples make: for each subject, itself and its triples."""
    return Publications(triples)


class TermKey(NamedTuple):
    """A term as a key, whichever library it is of."""

    kind: Kind
    text: str
    language: str = ""
    datatype: str = ""


def _is_literal(key: TermKey) -> bool:
    return key.kind is Kind.LITERAL


def _is_blank(key: TermKey) -> bool:
    return key.kind is Kind.BLANK


def advertisement_of_catalogue(triples: Iterable[Any], levels: Iterable[str] = LEVELS) -> Advertisement:
    """What a peer should advertise that publishes a catalogue, derived from the data, at the levels that are wanted.

        schemas      the namespaces of its properties and classes
        properties   its properties, and its classes
        values       for a property with few values, these; for one whose values are all integers, years or dates, the
                     range that they span

    The most general level decides what is routed: with `schemas`, every query on these schemas comes. With `properties`
    and `values`, a property that has values at the lowest level is left out of the middle one, so that it is as narrow
    as the data is. What is published of the catalogue conforms to it if `schemas` or `properties` is among the levels.
    """
    wanted = _check_levels(levels)
    found: dict[str, _Values] = {}
    for _, described in Publications(triples):
        for _, predicate, node in described:
            found.setdefault(value_of(predicate).text, _Values()).add(value_of(node))
    schemas: set[str] = set()
    properties: set[str] = set()
    values: dict[str, Sequence[AdvertisedValue]] = {}
    for name, some in found.items():
        # A class stands in the place of rdf:type, unless somebody wrote something that is none.
        names = some.uris if name == RDF_TYPE and some.are_uris else {name}
        few = some.advertised
        schemas |= {namespace(one) for one in names}
        if "values" in wanted and few and not (name == RDF_TYPE and "properties" in wanted):
            values[name] = few
        else:
            properties |= names
    return Advertisement(schemas if "schemas" in wanted else (), properties if "properties" in wanted else (), values)


class _Values:
    """What a property has for values, as far as advertising them needs it."""

    def __init__(self) -> None:
        self.uris: set[str] = set()
        self.are_uris = True
        self._texts: set[str] = set()
        self._are_few = True
        self._lowest: int | None = None
        self._highest: int | None = None
        self._are_integers = True

    def add(self, value: Value) -> None:
        self.are_uris &= value.kind is Kind.URI
        if value.kind is Kind.URI:
            self.uris.add(value.text)
        elif len(self._texts) <= FEW_VALUES:
            self._texts.add(value.text)
        self._are_few &= value.kind is not Kind.BLANK and len(value.text) <= MAX_VALUE_CHARACTERS
        integer = value.integer
        if integer is None:
            self._are_integers = False
        else:
            self._lowest = integer if self._lowest is None else min(self._lowest, integer)
            self._highest = integer if self._highest is None else max(self._highest, integer)

    @property
    def advertised(self) -> list[AdvertisedValue]:
        """Empty if there are too many."""
        if self._are_integers:
            return [Range(self._lowest, self._highest)]
        if not self._are_few or len(self.uris) + len(self._texts) > FEW_VALUES:
            return []
        return [*map(Uri, sorted(self.uris)), *sorted(self._texts)]


def _check_levels(levels: Iterable[str]) -> frozenset[str]:
    wanted = frozenset([levels] if isinstance(levels, str) else levels)
    unknown = wanted - set(LEVELS)
    if unknown or not wanted:
        raise ValueError(f"levels are some of {', '.join(LEVELS)}, not {', '.join(sorted(unknown)) or 'none of them'}")
    return wanted
