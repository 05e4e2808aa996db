"""What a peer asks of its access point, what it is answered, and what it is told by itself.

A request either does all of its work or is refused with an error that says why, and changes nothing.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from auth import MigrationOrder
from auth.wire import Signature
from superpeer.node.forms import Count, ElementForm, Form, SuperPeerKey
from superpeer.node.publications import Place, Posting, Publication
from superpeer.node.records import Rendezvous, Subscription

MAX_POSTINGS = 512
"""In one request: others wait while they are taken."""

# Requests.


class Subscribe(Form, frozen=True, tag="subscribe"):
    """Ask for everything that matches a query from now on, in place of what this name stood for."""

    name: str
    text: str
    since: float | None = None
    """Also what was published since then, as far as logs reach back."""
    lasts_s: float | None = None


class Unsubscribe(Form, frozen=True, tag="unsubscribe"):
    name: str


class Pause(Form, frozen=True, tag="pause"):
    """Keep the subscription, and let nothing come of it until it is resumed."""

    name: str


class Resume(Form, frozen=True, tag="resume"):
    name: str


class Renew(Form, frozen=True, tag="renew"):
    """Let a subscription last for so long from now; for ever without a time."""

    name: str
    lasts_s: float | None = None


class ListSubscriptions(Form, frozen=True, tag="list subscriptions"):
    pass


class Advertise(Form, frozen=True, tag="advertise"):
    """Say what will be published, in place of what was said before."""

    elements: tuple[ElementForm, ...]


class Publish(Form, frozen=True, tag="publish"):
    """Publications with rising serials, and one signature for all of them together. All are taken, or none.

    `after` is the serial that was handed in before these on this connection, or 0. If that one was refused then
    these are, too (`OutOfTurn`): so among the serials up to the last that a super-peer took, there is none that it
    refused without the peer knowing, however many were under way when a connection broke."""

    postings: Annotated[tuple[Posting, ...], msgspec.Meta(min_length=1, max_length=MAX_POSTINGS)]
    signature: Signature
    after: Count = 0


class Received(Form, frozen=True, tag="received"):
    """The application has what came, up to a position of the queue."""

    through: Count


class Query(Form, frozen=True, tag="query"):
    """Ask once what others hold now."""

    request: int
    text: str
    seconds: float


class Answer(Form, frozen=True, tag="answer"):
    """What this peer holds of what `AnswerWanted` asked for, as bodies."""

    question: bytes
    bodies: tuple[bytes, ...]


class Fetch(Form, frozen=True, tag="fetch"):
    """Ask for a resource that another peer owns; it comes when both have been there."""

    id: str
    resource: str
    owner: str
    owner_at: bytes


class Upload(Form, frozen=True, tag="upload"):
    """The resource that `UploadWanted` asked for; None if this peer has none under that name."""

    id: str
    content: bytes | None


class FileTaken(Form, frozen=True, tag="file taken"):
    id: str


class Bring(Form, frozen=True, tag="bring"):
    """From a peer that comes from elsewhere: what it asked for and advertised, how far it got in each log, and the
    orders for the access points that may still have something for it."""

    subscriptions: tuple[Subscription, ...]
    elements: tuple[ElementForm, ...] | None
    marks: tuple[tuple[SuperPeerKey, Place], ...]
    orders: tuple[MigrationOrder, ...]


class Leave(Form, frozen=True, tag="leave"):
    """The peer leaves for good."""


Request = (
    Subscribe
    | Unsubscribe
    | Pause
    | Resume
    | Renew
    | ListSubscriptions
    | Advertise
    | Publish
    | Received
    | Query
    | Answer
    | Fetch
    | Upload
    | FileTaken
    | Bring
    | Leave
)

# Replies.


class Done(Form, frozen=True, tag="done"):
    pass


class Subscribed(Form, frozen=True, tag="accepted"):
    """The subscription is on disk. `is_servable` is false while nobody advertises what it asks for."""

    name: str
    is_servable: bool


class SubscriptionStatus(Form, frozen=True, tag="subscription status"):
    subscription: Subscription
    is_active: bool
    is_servable: bool


class SubscriptionList(Form, frozen=True, tag="subscription list"):
    subscriptions: tuple[SubscriptionStatus, ...]


class Logged(Form, frozen=True, tag="logged"):
    """All publications are in the log of the access point, on disk; where the last of them is."""

    place: Place


Reply = Done | Subscribed | SubscriptionList | Logged


class Welcome(Form, frozen=True, tag="welcome"):
    """The reply to a peer that connects: which of its publications the network has not acknowledged yet, and which
    names of subscriptions are known here."""

    unacknowledged: tuple[int, ...]
    last_serial: int
    subscriptions: tuple[str, ...]


# Events.


class Notice(Form, frozen=True, tag="notice"):
    """A publication that matches subscriptions of the peer, at a position of its queue."""

    position: int
    publication: Publication
    subscriptions: tuple[str, ...]
    is_history: bool


class Notified(Form, frozen=True, tag="notices"):
    notices: tuple[Notice, ...]


class SubscriptionActive(Form, frozen=True, tag="subscription active"):
    """Everything that is published from now on, anywhere, and matches, will arrive."""

    name: str


class SubscriptionExpired(Form, frozen=True, tag="subscription expired"):
    name: str


class AdvertisementSettled(Form, frozen=True, tag="advertisement settled"):
    """What is published from now on reaches all who asked for it."""


class PublicationsAcknowledged(Form, frozen=True, tag="publications acknowledged"):
    """The network has them: the peer may forget them."""

    serials: tuple[int, ...]


class NotificationsLost(Form, frozen=True, tag="notifications lost"):
    """Expired before the peer could get them. `count` is exact for what waited in the queue, and an upper bound for
    what a log no longer has."""

    count: int


class AnswerWanted(Form, frozen=True, tag="answer wanted"):
    """Somebody asks what this peer holds."""

    question: bytes
    text: str


class Held(Form, frozen=True, tag="held"):
    """What a peer holds that matches a query: who, at which access point, and what it says."""

    owner: str
    owner_at: bytes
    body: bytes


class QueryFinished(Form, frozen=True, tag="query finished"):
    """All that came before the deadline; who of the super-peers that may know something did not answer; and how many
    peers that advertise it did not, because they are offline or slow."""

    request: int
    answers: tuple[Held, ...]
    silent: tuple[bytes, ...]
    absent_peers: int
    is_cut: bool
    """There were more answers than the limit."""


class UploadWanted(Form, frozen=True, tag="upload wanted"):
    rendezvous: Rendezvous


class FileArrived(Form, frozen=True, tag="file arrived"):
    rendezvous: Rendezvous
    content: bytes


class FetchFailed(Form, frozen=True, tag="fetch failed"):
    rendezvous: Rendezvous
    reason: str


class HandedOver(Form, frozen=True, tag="handed over to"):
    """The old access point has nothing more for the peer."""

    old: bytes


Event = (
    Notified
    | SubscriptionActive
    | SubscriptionExpired
    | AdvertisementSettled
    | PublicationsAcknowledged
    | NotificationsLost
    | AnswerWanted
    | QueryFinished
    | UploadWanted
    | FileArrived
    | FetchFailed
    | HandedOver
)
