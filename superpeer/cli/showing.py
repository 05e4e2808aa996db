"""Notifications and answers on the screen: as tables, as JSON lines, or as Turtle."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.output import moment, printable

if TYPE_CHECKING:
    from superpeer.client.notifications import Notification
    from superpeer.client.queries import Answer


class Shape(StrEnum):
    """How what comes is printed."""

    TABLE = "table"
    JSON = "json"
    TURTLE = "turtle"


ShapeOption = Annotated[
    Shape, typer.Option("--format", "-f", help="A table for each, a line of JSON, or Turtle.", show_choices=True)
]
LONGEST = 500
"""Of a value that is shown in a table; the other shapes have all of it."""


def print_notification(one: Notification, shape: Shape) -> None:
    """Printed, and out of this process, before anybody is told that it was received."""
    if shape is Shape.JSON:
        print(json.dumps(notification_as_json(one), ensure_ascii=False))
    elif shape is Shape.TURTLE:
        print(f"# {one.kind} {one.id} {moment(one.published_at)} {owner_text(one.publisher, str(one.access_point))}")
        print(turtle(one.triples))
    else:
        names = ", ".join(sorted(one.subscriptions))
        history = ", published before" if one.is_history else ""
        print(printable(f"{moment(one.published_at)}  {one.kind}  {one.subject}  ({names}{history})"))
        _print_rows(one.triples)
        print(f"    from {owner_text(one.publisher, str(one.access_point))}")
    sys.stdout.flush()


def print_answer(one: Answer, shape: Shape) -> None:
    owner = owner_text(one.owner.public_id, _key(one.owner.access_point))
    if shape is Shape.JSON:
        print(
            json.dumps(
                {"subject": str(one.subject), "owner": owner, "triples": _as_n3(one.triples)}, ensure_ascii=False
            )
        )
    elif shape is Shape.TURTLE:
        print(f"# {owner}")
        print(turtle(one.triples))
    else:
        print(printable(str(one.subject)))
        _print_rows(one.triples)
        print(f"    from {owner}")


def owner_text(public_id: str, access_point: str) -> str:
    """Whom to ask for a resource, as `superpeer fetch --owner` wants it."""
    return f"{public_id}@{access_point}"


def notification_as_json(one: Notification) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind,
        "subject": str(one.subject),
        "publisher": one.publisher,
        "access_point": str(one.access_point),
        "owner": owner_text(one.publisher, str(one.access_point)),
        "published_at": one.published_at,
        "is_history": one.is_history,
        "subscriptions": sorted(one.subscriptions),
        "bindings": {
            name: {variable: [term.n3() for term in terms] for variable, terms in found.items()}
            for name, found in one.bindings.items()
        },
        "triples": _as_n3(one.triples),
    }


def turtle(triples: Iterable[Any]) -> str:
    from rdflib import Graph

    from qel import PREFIXES

    graph = Graph(bind_namespaces="none")
    for prefix, start in PREFIXES.items():
        graph.bind(prefix, start)
    for triple in triples:
        graph.add(triple)
    return graph.serialize(format="turtle").rstrip() + "\n"


def _as_n3(triples: Iterable[Any]) -> list[list[str]]:
    return [[term.n3() for term in triple] for triple in triples]


def _print_rows(triples: Iterable[Any]) -> None:
    from qel.names import write_iri

    rows = [(write_iri(str(predicate)), str(value)) for _, predicate, value in triples]
    width = min(32, max((len(name) for name, _ in rows), default=0))
    for name, value in rows:
        shown = value if len(value) <= LONGEST else value[:LONGEST] + "…"
        print(printable(f"    {name:<{width}}  {' '.join(shown.split())}"))


def _key(raw: bytes) -> str:
    from auth import PublicKey

    return str(PublicKey(raw))
