"""Values and their views.

A node of RDF is a URI, a literal or a blank node, and never two of these. A literal has up to four *views*,
and a constraint tests one of them, chosen by its constant; a value without that view fails it:

    string    always: the lexical form
    integer   when the lexical form is an integer, and when it is an ISO 8601 year, date or dateTime: its year
    decimal   when the lexical form is a number
    date      when the lexical form is an ISO 8601 year, date or dateTime: the span that it names

Views come from the lexical form alone, whatever the datatype: catalogues type their literals wrongly as often
as not. An invalid typed literal keeps its string view. White space around a number or a date does not count.
A number written with more than `MAX_NUMBER_CHARACTERS` characters has its string view only. URIs and blank
nodes have no views; a URI is compared with URIs, and nothing can be said about a blank node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any

from qel.dates import Span, read_date
from qel.text import words_of

MAX_NUMBER_CHARACTERS = 4_000

_WHITE_SPACE = " \t\r\n"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_NUMBER_STARTS = frozenset("+-.0123456789" + _WHITE_SPACE)


class Kind(Enum):
    URI = "URI"
    LITERAL = "literal"
    BLANK = "blank node"

    # There is one of each; hashing its name, as an Enum does, costs more than all else where kinds are parts of keys.
    __hash__ = object.__hash__


class View(Enum):
    """What of a literal a comparison looks at."""

    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"


class Value:
    """One RDF term as the language sees it, with the term it was made from."""

    __slots__ = ("__dict__", "kind", "language", "term", "text")

    def __init__(self, kind: Kind, text: str, language: str = "", term: object = None) -> None:
        self.kind = kind
        self.text = text
        self.language = language
        self.term = term

    @cached_property
    def integer(self) -> int | None:
        return integer_view(self.text) if self.kind is Kind.LITERAL else None

    @cached_property
    def decimal(self) -> Decimal | None:
        return decimal_view(self.text) if self.kind is Kind.LITERAL else None

    @cached_property
    def date(self) -> Span | None:
        return date_view(self.text) if self.kind is Kind.LITERAL else None

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.text) if self.kind is Kind.LITERAL else ()

    def __repr__(self) -> str:
        return f"Value({self.kind.value}, {self.text!r}{', ' + self.language if self.language else ''})"


def integer_view(text: str) -> int | None:
    if not text or text[0] not in _NUMBER_STARTS:
        return None
    text = text.strip(_WHITE_SPACE)
    if len(text) <= MAX_NUMBER_CHARACTERS and _INTEGER.fullmatch(text):
        return int(text)
    date = read_date(text)
    return None if date is None else date[0]


def decimal_view(text: str) -> Decimal | None:
    if not text or text[0] not in _NUMBER_STARTS:
        return None
    text = text.strip(_WHITE_SPACE)
    if len(text) <= MAX_NUMBER_CHARACTERS and _NUMBER.fullmatch(text):
        return Decimal(text)
    return None


def date_view(text: str) -> Span | None:
    if not text or text[0] not in _NUMBER_STARTS:
        return None
    date = read_date(text.strip(_WHITE_SPACE))
    return None if date is None else date[1]


Triple = tuple[Any, Any, Any]
"""Subject, predicate and object as rdflib terms, or a pyoxigraph Triple or Quad, which unpack likewise."""


class Description:
    """What a set of triples says of one subject: its values, property by property."""

    __slots__ = ("subject", "values")

    def __init__(self, subject: Value) -> None:
        self.subject = subject
        self.values: dict[str, list[Value]] = {}


def describe(triples: Iterable[Any]) -> list[Description]:
    """Groups triples by subject, in the order in which subjects first occur; repeated triples count once."""
    found: dict[tuple[Kind, str], Description] = {}
    seen: set[tuple[Kind, str, str, Kind, str, str, str]] = set()
    for triple in triples:
        subject, predicate, node = _parts(triple)
        key = (subject.kind, subject.text)
        mark = (*key, predicate.text, node.kind, node.text, node.language, datatype_of(node.term))
        if mark in seen:
            continue
        seen.add(mark)
        description = found.get(key)
        if description is None:
            description = found[key] = Description(subject)
        description.values.setdefault(predicate.text, []).append(node)
    return list(found.values())


def value_of(term: object) -> Value:
    """The value of an rdflib or pyoxigraph term."""
    kind = type(term)
    reader = _readers_by_class.get(kind)
    if reader is None:
        reader = _readers_by_class[kind] = _reader(kind)
    return reader(term)


def _parts(triple: Any) -> Iterator[Value]:
    if not isinstance(triple, tuple):
        triple = (triple.subject, triple.predicate, triple.object)
    return map(value_of, triple[:3])


def _reader(kind: type[Any]) -> Callable[[Any], Value]:
    """How to read terms of one class. Neither library is imported: whoever made the term has done so."""
    for base in kind.__mro__:
        reader = _READERS.get((base.__module__.partition(".")[0], base.__name__))
        if reader is not None:
            return reader
    raise TypeError(f"a term must be of rdflib or pyoxigraph, not {kind.__module__}.{kind.__qualname__}")


def datatype_of(term: Any) -> str:
    """The datatype of a literal of either library, else an empty string."""
    datatype = getattr(term, "datatype", None)
    return "" if datatype is None else str(getattr(datatype, "value", datatype))


def _rdflib_literal(term: Any) -> Value:
    return Value(Kind.LITERAL, str(term), (term.language or "").lower(), term)


def _pyoxigraph_literal(term: Any) -> Value:
    return Value(Kind.LITERAL, term.value, (term.language or "").lower(), term)


_READERS: dict[tuple[str, str], Callable[[Any], Value]] = {
    ("rdflib", "URIRef"): lambda term: Value(Kind.URI, str(term), "", term),
    ("rdflib", "BNode"): lambda term: Value(Kind.BLANK, str(term), "", term),
    ("rdflib", "Literal"): _rdflib_literal,
    ("pyoxigraph", "NamedNode"): lambda term: Value(Kind.URI, term.value, "", term),
    ("pyoxigraph", "BlankNode"): lambda term: Value(Kind.BLANK, term.value, "", term),
    ("pyoxigraph", "Literal"): _pyoxigraph_literal,
    ("pyoxigraph", "Triple"): lambda term: Value(Kind.BLANK, str(term), "", term),
}
_readers_by_class: dict[type[Any], Callable[[Any], Value]] = {}
