"""The abstract syntax of QEL.

A query is `heads : triples and constraint` (Definition 2 of the chapter): all triples on one subject variable,
with distinct object variables, or a constant in place of one. A constraint is a tree of conjunctions and
disjunctions over *tests*; a test says one thing, an *atom*, about one variable.

All of it is immutable and hashable. The order and the names that were written are kept: two queries are equal
when they were written alike up to spelling. Equality of meaning is `qel.equivalent`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from qel.dates import Span
from qel.text import Chain
from qel.values import View

if TYPE_CHECKING:
    from qel.normal import NormalForm


class Operator(Enum):
    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Date:
    """A date constant: its text as written, and the span that it names."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class UriIs:
    """`X = <uri>`"""

    uri: str


@dataclass(frozen=True, slots=True)
class Within:
    """`X within <topic>`: the topic itself, or one below it in the hierarchy."""

    topic: str


@dataclass(frozen=True, slots=True)
class Compare:
    """`X >= 2004`, `X < 3.5`, `X = 2004-05`: a comparison in the view that the constant chooses."""

    operator: Operator
    view: View
    constant: int | Decimal | Date


@dataclass(frozen=True, slots=True)
class StringIs:
    """`X = "text"`"""

    text: str


@dataclass(frozen=True, slots=True)
class Contains:
    """`X contains "text"`: as a substring."""

    text: str


@dataclass(frozen=True, slots=True)
class Like:
    """`X like "prefix*suffix"`: prefix and suffix do not overlap in the value; either may be empty."""

    prefix: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Words:
    """`X words ("a" before[0,3] "b")`"""

    chain: Chain


@dataclass(frozen=True, slots=True)
class Similar:
    """`X similar[0.7] "some text"`"""

    threshold: Decimal
    text: str


@dataclass(frozen=True, slots=True)
class LanguageIs:
    """`lang(X) = "en"`: the language tag, without regard to case; "" means a literal without one."""

    tag: str


Atom = UriIs | Within | Compare | StringIs | Contains | Like | Words | Similar | LanguageIs
Constant = UriIs | StringIs | Compare
"""What may stand in place of an object variable: an equality."""


@dataclass(frozen=True, slots=True)
class Test:
    """One atom said of one variable."""

    __test__ = False  # not a test case, whatever its name suggests to a test runner

    variable: str
    atom: Atom


@dataclass(frozen=True, slots=True)
class And:
    """A conjunction of two or more parts, none of which is a conjunction itself."""

    parts: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction of two or more parts, none of which is a disjunction itself."""

    parts: tuple[Constraint, ...]


Constraint = Test | And | Or


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """`t(S, property, object)`: the object is the name of a variable, or a constant."""

    property: str
    object: str | Constant


@dataclass(frozen=True)
class Query:
    """A query, which is also a subscription: what it is over is said by whoever takes it."""

    heads: tuple[str, ...]
    subject: str
    triples: tuple[TriplePattern, ...]
    constraint: Constraint | None = None

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The subject and the object variables, in the order of the triples."""
        objects = (pattern.object for pattern in self.triples)
        return (self.subject, *(name for name in objects if isinstance(name, str)))

    @cached_property
    def normal_form(self) -> NormalForm:
        """What the query means, for matching and comparing; see `qel.normal`."""
        from qel.normal import normalise

        return normalise(self)

    @cached_property
    def answer_form(self) -> NormalForm:
        """The normal form with the heads as tags."""
        from qel.normal import normalise

        return normalise(self, self.heads)

    @cached_property
    def binding_form(self) -> NormalForm:
        """The normal form with every variable as a tag."""
        from qel.normal import normalise

        return normalise(self, self.variables)

    @cached_property
    def _hash(self) -> int:
        return hash((self.heads, self.subject, self.triples, self.constraint))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        from qel.writing import write_query

        return write_query(self)


def conjunction(parts: Iterator[Constraint] | list[Constraint]) -> Constraint | None:
    """All of the parts, flattened; nothing where there are none."""
    flat: list[Constraint] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, And) else (part,))
    return flat[0] if len(flat) == 1 else And(tuple(flat)) if flat else None


def tests_of(constraint: Constraint | None) -> Iterator[Test]:
    """The tests of a constraint from left to right."""
    pending = [constraint] if constraint is not None else []
    while pending:
        part = pending.pop()
        if isinstance(part, Test):
            yield part
        else:
            pending.extend(reversed(part.parts))
