"""From RDF as it is in files to publications: one for each subject, with the names of anonymous nodes in their place.

Catalogues write `dc:creator [ foaf:name "W. Nejdl" ]`, and a subscriber asks for a `dc:creator` that contains "Nejdl".
So a blank node that is the value of a property and has a name is replaced by that name: see `superpeer.rdf.lifting`.

A blank node is never a subject of its own: its label means nothing outside its file, so nobody could update what was
published of it, delete it or refer to it. Those whose names were put in their place have had their say; the others are
skipped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from qel import Advertisement, Range, Uri, namespace
from qel.advertisements import AdvertisedValue
from qel.names import RDF_TYPE
from qel.topics import NO_TOPICS, UPWARDS, Topics
from qel.values import Kind, Value, datatype_of, value_of
from superpeer.rdf.lifting import Statement, lift, names_of

LEVELS = ("schemas", "properties", "values")
FEW_VALUES = 20
"""A property with more values than this is advertised by itself."""
MAX_VALUE_CHARACTERS = 200


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
        return node in self._referred and bool(names_of(node, self._said_of, _is_literal))


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
