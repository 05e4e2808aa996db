"""The page on the protocol has every message, with its fields in order and their types, and none that there is not.

A row of its tables begins with the message's name, then has the fields. What they should say is written here from the
types that the messages are read with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

import auth.errors
import hypercup.messages
import qel.errors
from auth import PrivateId, PublicId, PublicKey
from hypercup import Label
from qel import QelError, QelUnsupported
from superpeer.daemon import tracing
from superpeer.net.peer_messages import FROM_PEER, TO_PEER
from superpeer.node import coding, errors
from superpeer.node.body import Body
from superpeer.node.forms import ElementForm
from superpeer.node.publications import Place
from superpeer.node.requests import Event, Reply, Request

PAGE = (Path(__file__).parent.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
CUSTOM = {PublicKey: "key", PublicId: "public id", PrivateId: "private id", Label: "label"}
FAMILIES = [
    FROM_PEER._decoder.type,
    TO_PEER._decoder.type,
    Request,
    Reply,
    Event,
    coding._messages._decoder.type,
    Body,
    tracing.Question | tracing.Findings,
    hypercup.messages.AnyMessage,
]
TABLE = re.compile(r"^\| name \| fields \| meaning \|\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<fields>[^|]*) \|", re.MULTILINE)


PLACE = inspect.type_info(Place)
ELEMENT = inspect.type_info(ElementForm)


def types_of(union: Any) -> tuple[inspect.Type, ...]:
    found = inspect.type_info(union)
    return found.types if isinstance(found, inspect.UnionType) else (found,)


def classes_of(types: Iterable[inspect.Type]) -> frozenset[type]:
    return frozenset(one.cls for one in types if isinstance(one, inspect.StructType))


UNIONS = {
    classes_of(types_of(Request)): "request",
    classes_of(types_of(Reply)): "reply",
    classes_of(types_of(Event)): "event",
    classes_of(types_of(coding._Content)): "content",
}


def messages() -> dict[str, str]:
    """By name: the fields of all messages, and of all that occur in them."""
    found: dict[str, str] = {}

    def walk(one: inspect.Type) -> None:
        if isinstance(one, inspect.StructType):
            name, fields = name_of(one), ", ".join(map(field, one.fields)) or "none"
            assert found.get(name, fields) == fields, f"two messages are called {name}"
            if name not in found:
                found[name] = fields
                for inner in one.fields:
                    walk(inner.type)
        for part in parts_of(one):
            walk(part)

    for family in FAMILIES:
        for one in types_of(family):
            walk(one)
    return found


def parts_of(one: inspect.Type) -> Iterator[inspect.Type]:
    match one:
        case inspect.UnionType(types):
            yield from types
        case inspect.TupleType(types):
            yield from types
        case inspect.VarTupleType(item) | inspect.ListType(item):
            yield item


def name_of(struct: inspect.StructType) -> str:
    return str(struct.tag) if struct.tag is not None else struct.cls.__name__.lower().removesuffix("form")


def field(one: inspect.Field) -> str:
    return f"`{one.name}{'' if one.required else '?'}` {written(one.type)}"


def written(one: inspect.Type) -> str:
    """A type, in the words of the page."""
    if isinstance(one, inspect.UnionType):
        named = UNIONS.get(classes_of(one.types))
        # What may be missing is named last, wherever the annotation has it.
        return named or " or ".join(sorted(map(written, one.types), key="nil".__eq__))
    match one:
        case inspect.NoneType():
            return "nil"
        case inspect.BoolType():
            return "boolean"
        case inspect.FloatType():
            return "float"
        case inspect.IntType(ge=None, gt=None):
            return "integer"
        case inspect.IntType():
            return "count"
        case inspect.StrType():
            return "text"
        case inspect.BytesType(min_length=least, max_length=most):
            return f"{least} bytes" if least and least == most else "bytes"
        case inspect.EnumType(cls):
            return " / ".join(msgspec.json.encode(member.value).decode() for member in cls)
        case inspect.CustomType(cls):
            return CUSTOM[cls]
        case inspect.StructType():
            return f"`{name_of(one)}`"
        case inspect.TupleType() if one == PLACE:
            return "place"
        case inspect.TupleType(items):
            return f"[{', '.join(map(written, items))}]"
        case inspect.VarTupleType(item, max_length=None):
            return f"array of {written(item)}"
        case inspect.VarTupleType() if one == ELEMENT:
            return "element"
        case inspect.VarTupleType(item, min_length=least, max_length=most):
            return f"array of {least} to {most} {written(item)}"
    raise AssertionError(f"the page has no word for {one}")


def rows() -> list[tuple[str, str]]:
    """What the tables of messages say."""
    return [(row["name"], row["fields"]) for table in TABLE.findall(PAGE) for row in ROW.finditer(table)]


@pytest.mark.parametrize("name", messages())
def test_every_message_is_on_the_page(name: str) -> None:
    assert [fields for known, fields in rows() if known == name] == [messages()[name]]


def test_the_page_has_no_message_that_there_is_not() -> None:
    assert {name for name, _ in rows()} == set(messages())


def test_what_a_request_may_be_refused_with_is_on_the_page() -> None:
    table = PAGE[PAGE.index("\n### Errors\n") : PAGE.index("\n### An example\n")]
    kinds = [
        *errors.Refused.__subclasses__(),
        *(kind for kind in QelError.__subclasses__() if kind is not QelUnsupported),
    ]
    for kind in kinds:
        assert f"`{kind.__name__}`" in table
    named = set(re.findall(r"`([A-Z]\w+)`", table))
    known = {name for module in (errors, auth.errors, qel.errors) for name in vars(module)}
    assert named <= known
