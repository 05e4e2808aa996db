"""The names of anonymous nodes, put in their place.

Catalogues write `dc:creator [ foaf:name "W. Nejdl" ]`, and a subscriber asks for a `dc:creator` that contains "Nejdl".
So a blank node that is the value of a property and has a name is replaced by its name: by all of them where it has
several, and a container (rdf:Bag, rdf:Seq, rdf:Alt) by its members. A name may itself be a node that has a name, and no
further. A node without a name stays. A blank node is never a subject of its own: its label means nothing outside
its file.

The rule is this one function, which knows nothing of how triples are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from qel.names import PREFIXES, RDF

NAMES = (
    RDF + "value",
    PREFIXES["rdfs"] + "label",
    PREFIXES["skos"] + "prefLabel",
    PREFIXES["foaf"] + "name",
    PREFIXES["schema"] + "name",
    "https://schema.org/name",
)
"""The properties whose values can stand for a node, in the order in which these are given."""

MEMBER = re.escape(RDF) + "_[1-9][0-9]*"
"""The properties that lead to the members of a container, as a regular expression."""

MAX_DEPTH = 2

_MEMBER = re.compile(MEMBER)

Object = TypeVar("Object")
Statement = tuple[str, Object]
"""What is said of a subject: the IRI of a property, and a value."""


def lift(
    statements: Iterable[Statement[Object]],
    said_of: Callable[[Object], Sequence[Statement[Object]] | None],
    is_literal: Callable[[Object], bool],
) -> list[Statement[Object]]:
    """What is said of a subject, with named blank nodes replaced by their names, and no statement twice.

    `said_of` gives what is said of a blank node, and None for what is no blank node."""
    lifted = {
        (name, found): None for name, value in statements for found in names_of(value, said_of, is_literal) or [value]
    }
    return list(lifted)


def names_of(
    node: Object,
    said_of: Callable[[Object], Sequence[Statement[Object]] | None],
    is_literal: Callable[[Object], bool],
    depth: int = MAX_DEPTH,
) -> list[Object]:
    """The literals that stand for a node; none for what is no blank node."""
    ranked = ((rank, value) for name, value in said_of(node) or () if (rank := _rank(name)) is not None)
    found: list[Object] = []
    for _, value in sorted(ranked, key=lambda pair: pair[0]):
        if is_literal(value):
            found.append(value)
        elif depth > 1:
            found += names_of(value, said_of, is_literal, depth - 1)
    return found


def _rank(name: str) -> tuple[int, int] | None:
    if name in NAMES:
        return NAMES.index(name), 0
    if _MEMBER.fullmatch(name):
        return len(NAMES), int(name[len(RDF) + 1 :])
    return None
