"""What a peer and its access point say over a connection, in the order in which they may say it.

    peer                                 super-peer
      Attaching(exchange message)  ──>                                 registering, or arriving from elsewhere: `auth`
                                   <──  Attached(exchange message)     until the peer has its credentials
      Connecting(ids, address)     ──>                                 who it is, this time; from now on it is served
                                   <──  Welcomed(welcome)
      Asking(number, id, request)  ──>                                 any number of them, without waiting
                                   <──  Answered(number, reply)        or Refused(number, ...): in the order of asking
                                   <──  Told(event)                    whenever something happens

Numbers are the peer's own and come back with the answers. Everything that the peer says carries its private id, inside
the encrypted connection. A refusal names the error, so that a client raises the same one, and changes nothing.
"""

from __future__ import annotations

from auth import PrivateId, PublicId
from superpeer.node.coding import Code
from superpeer.node.forms import Count, Form
from superpeer.node.requests import Event, Reply, Request, Welcome


class Attaching(Form, frozen=True, tag="attaching"):
    message: bytes


class Connecting(Form, frozen=True, tag="connecting"):
    public_id: PublicId
    private_id: PrivateId
    address: str


class Asking(Form, frozen=True, tag="asking"):
    number: int
    private_id: PrivateId
    request: Request


class Attached(Form, frozen=True, tag="attached"):
    message: bytes


class Welcomed(Form, frozen=True, tag="welcomed"):
    welcome: Welcome
    at: float
    """The super-peer's time of day, by which it keeps times."""


class Answered(Form, frozen=True, tag="answered"):
    number: int
    reply: Reply


class Refused(Form, frozen=True, tag="refused"):
    """`error` is the name of the error's class; `number` is 0 for what has none."""

    number: int
    error: str
    text: str
    details: tuple[str, ...] = ()
    """Of `Nonconforming`, what is missing."""
    serial: Count = 0
    """Of the publication that it is about, of several that were handed in together."""


class Told(Form, frozen=True, tag="told"):
    event: Event


FROM_PEER: Code[Attaching | Connecting | Asking] = Code(Attaching | Connecting | Asking)
TO_PEER: Code[Attached | Welcomed | Answered | Refused | Told] = Code(Attached | Welcomed | Answered | Refused | Told)
