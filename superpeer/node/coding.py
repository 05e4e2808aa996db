"""How messages, requests, replies, events and records are written: MessagePack through msgspec, typed.

Every message is an array that begins with its name. Keys and identifiers are byte strings of their exact length,
queries and elements stand in their written forms (see `forms`). Unknown names and fields, wrong types and lengths,
queries that are none and anything that follows are refused with `Malformed`. Whoever reads from a network bounds the
size first.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from auth.errors import AuthError
from auth.wire import read_value, write_value
from qel import QelError
from superpeer.node.catching_up import CatchUpAnswered, CatchUpAsked
from superpeer.node.delivery import Notified, NotifiedAcknowledged
from superpeer.node.errors import Malformed, Refused
from superpeer.node.exchange import Announced, InView
from superpeer.node.forms import ElementForm, Form, read_elements, read_query, write_elements, write_query
from superpeer.node.handover import HandoverMessage
from superpeer.node.messages import NodeMessage
from superpeer.node.querying import QueryAnswered, QueryAsked
from superpeer.node.records import Record
from superpeer.node.rendezvous import RendezvousMessage
from superpeer.node.requests import Event, Reply, Request, Welcome
from superpeer.node.routing_messages import (
    ElementsAcknowledged,
    ElementsChanged,
    Held,
    QueriesAcknowledged,
    QueriesChanged,
)

Kind = TypeVar("Kind")


class Code(Generic[Kind]):
    """Writes and reads one family of messages."""

    def __init__(self, kind: Any) -> None:
        self._decoder = msgspec.msgpack.Decoder(kind, dec_hook=read_value)

    def encode(self, message: Kind) -> bytes:
        return _encoder.encode(message)

    def decode(self, data: bytes) -> Kind:
        try:
            message: Kind = self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, AuthError) as error:
            raise Malformed(f"a message cannot be read: {error}; check the sender's version") from error
        return message


_encoder = msgspec.msgpack.Encoder(enc_hook=write_value)

REQUESTS: Code[Request] = Code(Request)
REPLIES: Code[Reply | Welcome] = Code(Reply | Welcome)
EVENTS: Code[Event] = Code(Event)
RECORDS: Code[Record] = Code(Record)


class _Announced(Form, frozen=True, tag="announced"):
    view: bytes
    elements: bytes
    queries: bytes


class _Elements(Form, frozen=True, tag="elements"):
    dimension: int
    number: int
    added: tuple[ElementForm, ...]
    removed: tuple[ElementForm, ...]
    base: bytes


class _Queries(Form, frozen=True, tag="queries"):
    dimension: int
    number: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    base: bytes


class _ElementsAcknowledged(Form, frozen=True, tag="elements acknowledged"):
    dimension: int
    number: int


class _QueriesAcknowledged(Form, frozen=True, tag="queries acknowledged"):
    dimension: int
    number: int


_Content = (
    _Elements
    | _Queries
    | _ElementsAcknowledged
    | _QueriesAcknowledged
    | Notified
    | NotifiedAcknowledged
    | QueryAsked
    | QueryAnswered
    | CatchUpAsked
    | CatchUpAnswered
)


class _InView(Form, frozen=True, tag="in view"):
    view: bytes
    content: _Content


_messages: Code[Any] = Code(_Announced | _InView | HandoverMessage | RendezvousMessage)


def encode_message(message: NodeMessage) -> bytes:
    """What one super-peer says to another."""
    if isinstance(message, Announced):
        return _messages.encode(_Announced(message.view, message.held.elements, message.held.queries))
    if isinstance(message, InView):
        return _messages.encode(_InView(message.view, _write_content(message.content)))
    return _messages.encode(message)


def decode_message(data: bytes) -> NodeMessage:
    form = _messages.decode(data)
    if isinstance(form, _Announced):
        return Announced(form.view, Held(form.elements, form.queries))
    if isinstance(form, _InView):
        try:
            return InView(form.view, _read_content(form.content))
        except (Refused, QelError) as error:
            raise Malformed(f"a message has something unreadable in it: {error}") from error
    message: NodeMessage = form
    return message


def _write_content(content: Any) -> Any:
    match content:
        case ElementsChanged(dimension, number, added, removed, base):
            return _Elements(dimension, number, write_elements(added), write_elements(removed), base)
        case QueriesChanged(dimension, number, added, removed, base):
            return _Queries(dimension, number, tuple(map(write_query, added)), removed, base)
        case ElementsAcknowledged(dimension, number):
            return _ElementsAcknowledged(dimension, number)
        case QueriesAcknowledged(dimension, number):
            return _QueriesAcknowledged(dimension, number)
    return content


def _read_content(form: Any) -> Any:
    match form:
        case _Elements(dimension, number, added, removed, base):
            return ElementsChanged(dimension, number, read_elements(added), read_elements(removed), base)
        case _Queries(dimension, number, added, removed, base):
            return QueriesChanged(dimension, number, tuple(map(read_query, added)), removed, base)
        case _ElementsAcknowledged(dimension, number):
            return ElementsAcknowledged(dimension, number)
        case _QueriesAcknowledged(dimension, number):
            return QueriesAcknowledged(dimension, number)
    return form
