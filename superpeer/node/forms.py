"""Written forms: how queries and elements of advertisements stand in messages and on disk.

A query is its text. An element is a few strings: integers have no bounds in QEL and have bounds in MessagePack, so
the ends of a range are strings, too, and empty where there is no end.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated

import msgspec

import qel
from qel import Query, Range, Uri
from superpeer.node.advertisements import Element, PropertyElement, SchemaElement, ValueElement
from superpeer.node.errors import BadRequest

MAX_PARTS = 4

SHORT_QUERY_CHARACTERS = 1_024
KEY_BYTES = 32
MAX_COUNT = 2**62

SuperPeerKey = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
ElementForm = Annotated[tuple[str, ...], msgspec.Meta(min_length=2, max_length=MAX_PARTS)]


class Form(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The base of everything that is sent or stored. A subclass in a union states its tag. Values that are frozen make
    no cycles, and are nothing that the garbage collector has to look at: a log has a million of them."""


def write_elements(elements: Iterable[Element]) -> tuple[ElementForm, ...]:
    """In one order, whatever the order of the set."""
    return tuple(sorted(map(_write_element, elements)))


def read_elements(forms: Iterable[ElementForm]) -> frozenset[Element]:
    return frozenset(map(_read_element, forms))


def read_query(text: str) -> Query:
    """The query that a text stands for. Remembered, unless it is long: the same subscriptions pass again and again."""
    return _read_short_query(text) if len(text) <= SHORT_QUERY_CHARACTERS else qel.parse(text)


@lru_cache(maxsize=16_384)
def _read_short_query(text: str) -> Query:
    return qel.parse(text)


def write_query(query: Query) -> str:
    return qel.format_query(query)


def _write_element(element: Element) -> ElementForm:
    match element:
        case SchemaElement(schema):
            return ("schema", schema)
        case PropertyElement(name):
            return ("property", name)
        case ValueElement(name, Uri(uri)):
            return ("uri", name, uri)
        case ValueElement(name, Range(low, high)):
            return ("range", name, "" if low is None else str(low), "" if high is None else str(high))
        case ValueElement(name, text):
            assert isinstance(text, str)
            return ("string", name, text)


def _read_element(form: ElementForm) -> Element:
    match form:
        case ("schema", schema):
            return SchemaElement(schema)
        case ("property", name):
            return PropertyElement(name)
        case ("uri", name, uri):
            return ValueElement(name, Uri(uri))
        case ("string", name, text):
            return ValueElement(name, text)
        case ("range", name, low, high):
            try:
                return ValueElement(name, Range(int(low) if low else None, int(high) if high else None))
            except (ValueError, qel.QelError) as error:
                raise BadRequest(f"from {low} to {high} is no range of integers") from error
    raise BadRequest(f"an advertisement has no element {form[0]!r} with {len(form) - 1} parts")
