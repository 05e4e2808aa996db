"""Bodies: what a publication says, as bytes that its publisher signs and that nobody on the way has to write anew.

A body is the subject and what is said of it, in MessagePack: URIs, literals with language and datatype, blank nodes.
Matching needs the values only, so a super-peer makes no RDF terms of them.

Topics that are among the values may come with what is broader, as the publisher knows it. So `T within <topic>` means
the same at every super-peer on the way, and none of them has to know the hierarchies of all libraries.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from qel.topics import NO_TOPICS, Topics
from qel.values import Description, Kind, Value, datatype_of, describe
from superpeer.node.errors import BadPublication

_KINDS = {Kind.URI: "u", Kind.LITERAL: "l", Kind.BLANK: "b"}
_CODES = {code: kind for kind, code in _KINDS.items()}
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
REMEMBERED_BYTES = 8 * 1024
"""Larger bodies are read again: of short statements, a description takes some 25 times the space of its body."""


class Term(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A term of RDF; `kind` is u, l or b."""

    kind: str
    text: str
    language: str = ""
    datatype: str = ""

    @property
    def value(self) -> Value:
        return Value(_CODES[self.kind], self.text, self.language.lower(), self)


class Body(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What is said of one subject, and what is broader than the topics among the values."""

    subject: Term
    statements: tuple[tuple[str, Term], ...]
    broader: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def description(self) -> Description:
        description = Description(self.subject.value)
        for name, term in self.statements:
            description.values.setdefault(name, []).append(term.value)
        return description

    @property
    def topics(self) -> Topics:
        return Topics.of(dict(self.broader)) if self.broader else NO_TOPICS


def write_body(triples: Iterable[Any], topics: Topics = NO_TOPICS) -> bytes:
    """The body that consists of some triples of rdflib or pyoxigraph, which speak of one subject; with what is broader
    than the topics that it has."""
    described = describe(triples)
    if len(described) != 1:
        raise BadPublication(f"a publication speaks of one subject, this of {len(described)}; publish each by itself")
    statements = [(name, _term(value)) for name, values in described[0].values.items() for value in values]
    return _write(_term(described[0].subject), statements, topics)


def write_statements(
    subject: tuple[Kind, str], statements: Iterable[tuple[str, tuple[Kind, str, str, str]]], topics: Topics = NO_TOPICS
) -> bytes:
    """The same body from statements that are read already, none of them twice: properties, and for each value its
    kind, text, language and datatype."""
    values: dict[str, list[Term]] = {}
    for name, value in statements:
        values.setdefault(name, []).append(_term_of(*value))
    pairs = [(name, term) for name, terms in values.items() for term in terms]
    return _write(Term(_KINDS[subject[0]], subject[1]), pairs, topics)


def _write(subject: Term, statements: list[tuple[str, Term]], topics: Topics) -> bytes:
    broader: list[tuple[str, tuple[str, ...]]] = []
    if topics is not NO_TOPICS:
        uris = sorted({term.text for _, term in statements if term.kind == "u"})
        broader = [(uri, tuple(sorted(above))) for uri in uris if (above := topics.ancestors(uri))]
    return _encoder.encode(Body(subject, tuple(statements), tuple(broader)))


def read_body(data: bytes) -> Body:
    """Reads a body that somebody else wrote."""
    try:
        body = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadPublication("the body of a publication cannot be read; check the sender's version") from error
    if not body.statements:
        raise BadPublication("a publication says something of its subject; this one says nothing")
    if body.subject.kind not in ("u", "b") or any(term.kind not in _CODES for _, term in body.statements):
        raise BadPublication("a term is a URI, a literal or a blank node, and a subject is no literal")
    return body


class Said(NamedTuple):
    """What a body says, as matching sees it."""

    description: Description
    topics: Topics


def said_in(data: bytes) -> Said:
    """What a body says. Remembered for a while: the same body is matched again at catching up."""
    return _remembered(data) if len(data) <= REMEMBERED_BYTES else _read(data)


def _read(data: bytes) -> Said:
    body = read_body(data)
    return Said(body.description, body.topics)


_remembered = lru_cache(maxsize=512)(_read)


def _term(value: Value) -> Term:
    return _term_of(value.kind, value.text, getattr(value.term, "language", None) or "", datatype_of(value.term))


def _term_of(kind: Kind, text: str, language: str, datatype: str) -> Term:
    if kind is not Kind.LITERAL:
        return Term(_KINDS[kind], text)
    # What every literal has that says nothing else need not be said.
    return Term("l", text, language, "" if language or datatype in (XSD_STRING, RDF_LANG_STRING) else datatype)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Body)
