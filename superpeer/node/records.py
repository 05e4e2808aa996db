"""Records: what a super-peer has on disk, as the statements that bring it about.

Whatever a node wants to remember beyond its life, it says with a record, and `State.apply` is what a record means. The
node applies its records to its own state as it makes them; whoever drives the node writes them to disk before any
message of the same step leaves, and gives the state that they add up to to the next life.
"""

from __future__ import annotations

import auth
from auth import MigrationOrder
from superpeer.node.forms import Count, ElementForm, Form
from superpeer.node.publications import Place, Publication


class Subscription(Form, frozen=True, tag="subscription"):
    """What a peer asks for under a name."""

    name: str
    text: str
    accepted_at: float
    expires_at: float | None = None
    is_paused: bool = False
    since: float | None = None
    """The peer also wants what was published since then, before it subscribed."""
    answered: tuple[bytes, ...] = ()
    """The origins that have said what they had of that."""


class Rendezvous(Form, frozen=True, tag="rendezvous"):
    """A peer wants a resource that another one owns."""

    id: str
    resource: str
    owner: str
    owner_at: bytes
    requester: str
    requester_at: bytes
    asked_at: float
    failure: str = ""
    """Why it came to nothing, until the requester knows."""


class LogBegun(Form, frozen=True, tag="log begun"):
    """This super-peer has a log, of this generation."""

    generation: int


class Published(Form, frozen=True, tag="published"):
    publication: Publication


class Acknowledged(Form, frozen=True, tag="acknowledged"):
    """The network has a publication: it is in every queue that it has to be in."""

    number: int


class LogTrimmed(Form, frozen=True, tag="log trimmed"):
    """What is not above this number is no longer in the log."""

    through: int


class Enqueued(Form, frozen=True, tag="enqueued"):
    """A publication waits for some local peers, for each with the subscriptions that it matches."""

    publication: Publication
    recipients: tuple[tuple[str, tuple[str, ...]], ...]
    at: float
    is_history: bool = False
    """It does not move the mark: it lies below, as somebody asked for what was published before, or it came from an
    old access point and more may come from its origin."""


class Marked(Form, frozen=True, tag="marked"):
    """A peer's queue has what it asked for from an origin up to this place."""

    peer: str
    origin: bytes
    place: Place


class Dequeued(Form, frozen=True, tag="dequeued"):
    """A peer has got what waited for it, up to a position in its queue."""

    peer: str
    through: int


class QueueTrimmed(Form, frozen=True, tag="queue trimmed"):
    """What waited for a peer up to a position is given up; it will be told."""

    peer: str
    through: int


class Missed(Form, frozen=True, tag="missed"):
    """Publications that no log has any more, and that a peer may have asked for; it will be told."""

    peer: str
    count: Count


class LossTold(Form, frozen=True, tag="loss told"):
    """A peer knows what it has lost, so far."""

    peer: str


class Subscribed(Form, frozen=True, tag="subscribed"):
    """A peer has this subscription, in place of one of the same name."""

    peer: str
    subscription: Subscription


class Unsubscribed(Form, frozen=True, tag="unsubscribed"):
    peer: str
    name: str


class Advertised(Form, frozen=True, tag="advertised"):
    """A peer advertises these elements, and no others."""

    peer: str
    elements: tuple[ElementForm, ...]


class Leaving(Form, frozen=True, tag="leaving"):
    """A peer advertises no more; its elements stay until what it published is acknowledged."""

    peer: str


class Withdrawn(Form, frozen=True, tag="withdrawn"):
    """And now they are gone."""

    peer: str


class Forgotten(Form, frozen=True, tag="forgotten"):
    """A peer is no longer here: its subscriptions, its queue and its files are gone. `moved_to` knows it now."""

    peer: str
    moved_to: bytes | None = None


class Registered(Form, frozen=True, tag="registered"):
    """A record of the registry is new or has changed."""

    record: auth.Record


class Unregistered(Form, frozen=True, tag="unregistered"):
    """The registry has a peer of this key no more."""

    key: bytes


class OrderKept(Form, frozen=True, tag="order kept"):
    """A peer came from another access point, which has not handed it over yet."""

    peer: str
    order: MigrationOrder


class OrderDropped(Form, frozen=True, tag="order dropped"):
    """It has, or never will."""

    peer: str
    old: bytes


class HandingOver(Form, frozen=True, tag="handing over"):
    """A peer has moved; what is here for it stays until its new access point has it."""

    peer: str
    order: MigrationOrder


class Arriving(Form, frozen=True, tag="arriving"):
    """A peer has registered here, perhaps again, and nothing goes to it before it has said what it brings."""

    peer: str
    came_from: bytes | None


class CaughtUpHere(Form, frozen=True, tag="caught up here"):
    """The queue of a peer that came from elsewhere has what it asked for of the log of this super-peer."""

    peer: str


class Brought(Form, frozen=True, tag="brought"):
    """It has: its queue is empty, and begins with these marks."""

    peer: str
    marks: tuple[tuple[bytes, Place], ...]


class RendezvousKept(Form, frozen=True, tag="rendezvous kept"):
    """`peer`, who wants a resource or owns it, is a local one."""

    peer: str
    rendezvous: Rendezvous


class RendezvousDropped(Form, frozen=True, tag="rendezvous dropped"):
    peer: str
    id: str


class FileKept(Form, frozen=True, tag="file kept"):
    """A resource that was uploaded for a peer waits until the peer has it."""

    peer: str
    rendezvous: Rendezvous
    digest: bytes
    content: bytes
    at: float


class FileDropped(Form, frozen=True, tag="file dropped"):
    peer: str
    id: str


Record = (
    LogBegun
    | Published
    | Acknowledged
    | LogTrimmed
    | Enqueued
    | Marked
    | Dequeued
    | QueueTrimmed
    | Missed
    | LossTold
    | Subscribed
    | Unsubscribed
    | Advertised
    | Leaving
    | Withdrawn
    | Forgotten
    | Registered
    | Unregistered
    | OrderKept
    | OrderDropped
    | HandingOver
    | Arriving
    | Brought
    | CaughtUpHere
    | RendezvousKept
    | RendezvousDropped
    | FileKept
    | FileDropped
)
