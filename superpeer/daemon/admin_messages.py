"""What an admin may ask of a running super-peer, and how it is written.

Requests are typed; reports are plain values (numbers, texts, lists, tables of these), so that whatever an admin uses
can show them as JSON. Each request has a number, which comes back with its report, or with the sentence that says why
there is none.
"""

from __future__ import annotations

from typing import Any

import msgspec

from superpeer.daemon.errors import AdminError

MAX_REQUEST_BYTES = 1024 * 1024
MAX_LIMIT = 10_000


class AdminRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The base of all requests."""


class ShowStatus(AdminRequest, frozen=True):
    """Who it is, how long it has run, and how much of everything there is."""


class ShowBackbone(AdminRequest, frozen=True):
    """The members with their labels, and the links of this one."""


class ShowPoset(AdminRequest, frozen=True):
    """The subscriptions by generality: the roots, and below each what it covers."""

    text: str = ""
    """Only those whose query contains this."""
    within: str = ""
    """Only those that this query subsumes."""
    root: str = ""
    """Only the place of this query, and those below it."""
    depth: int = 8
    limit: int = 200


class ShowIndices(AdminRequest, frozen=True):
    """What is advertised: by local peers, and beyond each link."""

    text: str = ""
    limit: int = 200


class ShowPeers(AdminRequest, frozen=True):
    """The peers of this super-peer."""

    text: str = ""
    limit: int = 200


class ShowQueues(AdminRequest, frozen=True):
    """What waits, the longest queues first: for peers, for other super-peers, for the disk."""

    limit: int = 200


class ExplainSubscription(AdminRequest, frozen=True):
    """Why a subscription went where it went."""

    peer: str
    name: str


class ExplainNotification(AdminRequest, frozen=True):
    """Every step that a publication took; and why it did or did not reach a peer."""

    publication: str
    peer: str = ""


class TryQuery(AdminRequest, frozen=True):
    """What a subscription would match among the last publications here, and who could serve it. Nothing changes."""

    query: str
    limit: int = 20


class Shutdown(AdminRequest, frozen=True):
    """Leave the backbone in peace, and end."""


Request = (
    ShowStatus
    | ShowBackbone
    | ShowPoset
    | ShowIndices
    | ShowPeers
    | ShowQueues
    | ExplainSubscription
    | ExplainNotification
    | TryQuery
    | Shutdown
)


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    number: int
    request: Request


class Reported(msgspec.Struct, frozen=True):
    """`error` is a sentence, and empty if there is a report."""

    number: int
    report: Any = None
    error: str = ""


_asked = msgspec.msgpack.Decoder(Asked)
_reported = msgspec.msgpack.Decoder(Reported)


def write(message: Asked | Reported) -> bytes:
    return msgspec.msgpack.encode(message)


def read_asked(data: bytes) -> Asked:
    if len(data) > MAX_REQUEST_BYTES:
        raise AdminError("a request is larger than any that makes sense; ask for less")
    try:
        return _asked.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise AdminError(f"this is no request of an admin: {error}; check the version") from error


def read_reported(data: bytes) -> Reported:
    try:
        return _reported.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise AdminError(f"this is no report of a super-peer: {error}; check the version") from error
