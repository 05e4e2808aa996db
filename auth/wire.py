"""How the messages and statements of this package are written: MessagePack through msgspec, with a bound on everything.

A message is an array whose first element is the message's name, then its fields in order; keys, identifiers, nonces
and signatures are byte strings of their exact length. Unknown fields, wrong types, wrong lengths and anything that
follows the message are refused. Signatures never cover these bytes but a statement built from the fields (see
`statements`), so it does not matter that MessagePack can write the same value in several ways.

`write_value` and `read_value` are the hooks with which another package puts keys and identifiers into its own structs.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from auth.errors import InvalidIdentifier, InvalidValue, MalformedMessage, TruncatedMessage
from auth.identifiers import MAX_ADDRESS_BYTES, PrivateId
from auth.identity import SIGNATURE_BYTES
from auth.letters import MAX_LETTER_BYTES
from auth.statements import HASH_BYTES, MAX_NUMBER
from auth.values import Value

MAX_MESSAGE_BYTES = 8192
NONCE_BYTES = 32
MAX_CHANNEL_BYTES = 64

Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
Signature = Annotated[bytes, msgspec.Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
Hash = Annotated[bytes, msgspec.Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]
Channel = Annotated[bytes, msgspec.Meta(max_length=MAX_CHANNEL_BYTES)]
Letter = Annotated[bytes, msgspec.Meta(max_length=MAX_LETTER_BYTES)]
Number = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Address = Annotated[str, msgspec.Meta(max_length=MAX_ADDRESS_BYTES)]


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The base of everything that is written. A subclass states its tag, which is part of the wire format. Values that
    are frozen make no cycles, and are nothing that the garbage collector has to look at."""


AnyMessage = TypeVar("AnyMessage", bound=Message)
_decoders: dict[type[Message], msgspec.msgpack.Decoder[Any]] = {}


def encode(message: Message) -> bytes:
    data = _encoder.encode(message)
    assert len(data) <= MAX_MESSAGE_BYTES, "the limits on the fields keep every message within the limit"
    return data


def decode(kind: type[AnyMessage], data: bytes) -> AnyMessage:
    """Read a message of one kind. Whatever is wrong with the bytes, the error is a `MalformedMessage`."""
    if kind not in _decoders:
        _decoders[kind] = decoder_of(kind)
    message: AnyMessage = decode_with(_decoders[kind], data)
    return message


def decoder_of(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """A decoder for a message or a union of messages."""
    return msgspec.msgpack.Decoder(kind, dec_hook=read_value)


def decode_with(decoder: msgspec.msgpack.Decoder[Any], data: bytes) -> Any:
    if len(data) > MAX_MESSAGE_BYTES:
        raise MalformedMessage(f"a message has at most {MAX_MESSAGE_BYTES} bytes; close the connection")
    try:
        return decoder.decode(data)
    except (msgspec.ValidationError, UnicodeDecodeError, InvalidValue, RecursionError) as error:
        raise MalformedMessage from error
    except msgspec.DecodeError as error:
        raise (TruncatedMessage if "truncated" in str(error) else MalformedMessage) from error


def write_value(value: object) -> bytes:
    """msgspec's hook to encode keys and identifiers."""
    if isinstance(value, Value):
        return value.raw
    if isinstance(value, PrivateId):
        return value.reveal()
    raise NotImplementedError(f"messages hold no {type(value).__name__}")


def read_value(kind: type, value: object) -> Value | PrivateId:
    """msgspec's hook to decode keys and identifiers."""
    if isinstance(value, bytes) and issubclass(kind, (Value, PrivateId)):
        return kind(value)
    raise InvalidIdentifier("keys and identifiers are written as byte strings; check the sender's version")


_encoder = msgspec.msgpack.Encoder(enc_hook=write_value)
