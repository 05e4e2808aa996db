"""From what an access point refuses, over the wire, to the same exception here.

An error travels as the name of its class and its sentence. Only names of the errors that a node can raise mean
something here; another one, from a newer version say, becomes a plain `Refused` with the same sentence.
"""

from __future__ import annotations

import re

import auth.errors
import qel.errors
import superpeer.node.errors
from auth import AuthError
from qel import QelError
from superpeer.net.peer_messages import Refused as RefusedMessage
from superpeer.node.errors import LimitReached, Nonconforming, Refused

_LIMIT = re.compile(r"(?P<what>.+): the limit is (?P<limit>[0-9,.e+]+); (?P<advice>.+)", re.DOTALL)

Refusal = Refused | AuthError | QelError
REFUSALS = (Refused, AuthError, QelError)


def _known() -> dict[str, type[Refusal]]:
    modules = (qel.errors, auth.errors, superpeer.node.errors)
    named = (item for module in modules for item in vars(module).items())
    return {name: kind for name, kind in named if isinstance(kind, type) and issubclass(kind, REFUSALS)}


_KNOWN = _known()


def refusal_of(message: RefusedMessage) -> Refusal:
    """The exception to raise."""
    error = _read(message)
    if isinstance(error, Refused):
        error.serial = message.serial
    return error


def _read(message: RefusedMessage) -> Refusal:
    kind = _KNOWN.get(message.error)
    if kind is None:
        return Refused(message.text)
    if kind is Nonconforming:
        return Nonconforming(message.details)
    if kind is LimitReached:
        found = _LIMIT.fullmatch(message.text)
        if found is None:
            return Refused(message.text)
        return LimitReached(found["what"], float(found["limit"].replace(",", "")), found["advice"])
    if issubclass(kind, QelError):
        # Its constructors want the place in the text, which the sentence has by now.
        error = kind.__new__(kind)
        QelError.__init__(error, message.text)
        return error
    return _with_sentence(kind, message.text)


def _with_sentence(kind: type[Refused | AuthError], sentence: str) -> Refusal:
    error = kind.__new__(kind)
    Exception.__init__(error, sentence)
    return error


def is_of_size(error: Exception) -> bool:
    """Whether trying again is of no use, as the thing itself is too large."""
    return isinstance(error, LimitReached) and error.what.startswith("the size of")
