"""What a strategy has to know of a region, in order to place it: whether it fixes a text or a URI, and which numbers it
can have."""

from __future__ import annotations

from collections.abc import Iterator

from qel.normal import Disjunct
from qel.regions import Region
from qel.values import Kind, Value
from superpeer.dht.errors import UnsupportedQuery
from superpeer.dht.hashing import Number

NumberRange = tuple[Number | None, Number | None]


def each_slot(disjunct: Disjunct) -> Iterator[tuple[str, int, Region]]:
    """Property, number among the slots of that property, and region."""
    for name, slots in disjunct.slots.items():
        for number, slot in enumerate(slots):
            yield name, number, slot.region


def number_of(value: Value) -> Number | None:
    """The number that a value is placed by: the decimal that it is written as, or else its integer view. Where a value
    has both they are equal, so one placing serves tests of either view."""
    return value.decimal if value.decimal is not None else value.integer


def numbers_of(region: Region) -> NumberRange | None:
    """Between which ends the numbers of all values of a region lie; None where some have no number."""
    if region.kind is not Kind.LITERAL:
        return None
    if region.exact is not None:
        number = number_of(Value(Kind.LITERAL, region.exact))
        return None if number is None else (number, number)
    if region.integer is not None:
        return region.integer
    if region.decimal is not None:
        return region.decimal[0], region.decimal[2]
    return None


def constant_of(region: Region) -> str | None:
    """The text under which the only value of a region is hashed; URIs and literals never share one."""
    if region.kind is Kind.URI and region.uri is not None:
        return constant_text(Kind.URI, region.uri)
    if region.kind is Kind.LITERAL and region.exact is not None:
        return constant_text(Kind.LITERAL, region.exact)
    return None


def constant_text(kind: Kind, text: str) -> str:
    """A literal that looks like a URI, or like what this makes of one, gets a quote in front."""
    if kind is Kind.URI:
        return f"<{text}>"
    return f'"{text}' if text.startswith(("<", '"')) else text


def operators_of(region: Region) -> Iterator[str]:
    """How the tests of a region are written."""
    if region.topics:
        yield "within"
    if region.uri is not None or region.exact is not None:
        yield "="
    if region.language is not None:
        yield "lang"
    if region.integer is not None or region.decimal is not None or region.date is not None:
        yield "comparison"
    if region.prefix or region.suffix:
        yield "like"
    if region.parts:
        yield "contains"
    if region.chains:
        yield "words"
    if region.likenesses:
        yield "similar"


def refuse(system: str, name: str, problem: str, able: str) -> UnsupportedQuery:
    """One sentence on what of a query cannot be placed, and one on what can."""
    return UnsupportedQuery(f"{system} cannot place {problem} of {name or 'the subject'}; {able}")
