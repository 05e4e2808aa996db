"""Peers of a simulated network, as an application has them: advertise, subscribe, publish, ask, fetch, and an inbox.

A peer is what it is in life, a key with a `Memory`, and says the same to its access point; only the connection between
the two takes no time. An access point that is down is waited for: the peer is served again when it is back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import qel
from auth import AuthError, Identity, PeerExchange
from qel.matching import is_met
from qel.topics import NO_TOPICS, Topics
from superpeer.client.memory import Memory
from superpeer.client.told import Told
from superpeer.node.advertisements import elements_of
from superpeer.node.body import read_body, said_in, write_body
from superpeer.node.errors import Refused
from superpeer.node.forms import read_query, write_elements
from superpeer.node.publications import Kind, Posting, publication_id
from superpeer.node.records import Rendezvous, Subscription
from superpeer.node.requests import (
    Advertise,
    Answer,
    AnswerWanted,
    Event,
    Fetch,
    FetchFailed,
    FileArrived,
    FileTaken,
    HandedOver,
    Leave,
    ListSubscriptions,
    Notice,
    NotificationsLost,
    Notified,
    Pause,
    PublicationsAcknowledged,
    Query,
    QueryFinished,
    Received,
    Renew,
    Reply,
    Request,
    Resume,
    Subscribe,
    Subscribed,
    SubscriptionExpired,
    SubscriptionList,
    SubscriptionStatus,
    Unsubscribe,
    Upload,
    UploadWanted,
)
from superpeer.rdf.terms import triples_of
from superpeer.sim.errors import SimulationError
from superpeer.sim.trace import traced

if TYPE_CHECKING:
    from superpeer.sim.network import Network, SuperPeer

QUERY_S = 10.0


@dataclass(frozen=True)
class Notification(Told):
    """What a simulated peer is told."""

    access_point: str
    """The name of the super-peer that it was published at."""


@dataclass(frozen=True)
class QueryResult:
    """What a one-time query found: answers by owner, and who did not answer in time."""

    answers: tuple[tuple[str, tuple[Any, ...]], ...]
    """The public id of the owner, and the triples that it holds of one subject."""
    silent: tuple[str, ...]
    """The super-peers that did not answer."""
    absent_peers: int
    is_cut: bool

    @property
    def triples(self) -> set[Any]:
        return {triple for _, triples in self.answers for triple in triples}

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Any:
        return iter(self.answers)


@dataclass
class Download:
    """A resource that was asked for."""

    id: str
    resource: str
    owner: str
    owner_at: bytes
    content: bytes | None = None
    failure: str = ""


class Peer:
    """One peer, attached to one super-peer, its access point."""

    def __init__(self, network: Network, number: int, access_point: SuperPeer) -> None:
        self.trace, self.trace_number = network.trace, number
        self.name = name = f"peer {number}"
        self.access_point = access_point
        self.inbox: list[Notification] = []
        self.is_connected = False
        self.lost = 0
        """Notifications that expired before this peer could get them, as it was told."""
        self.expired: list[str] = []
        self.downloads: dict[str, Download] = {}
        self.files: dict[str, bytes] = {}
        """What it uploads when somebody asks for it."""
        self.holdings: dict[Any, bytes] = {}
        """What it published of each subject and did not delete: what it says when it is asked."""
        self.memory = Memory(Identity(blake2b(name.encode(), digest_size=32, person=b"simulated peer").digest()))
        self._network = network
        self._id = ""
        self._named = 0
        self._asked = 0
        self._results: dict[int, QueryFinished] = {}
        self.is_served = False

    def __repr__(self) -> str:
        return f"<Peer {self.name} at {self.access_point.name}>"

    @property
    def id(self) -> str:
        """The public id: what others see of it."""
        return self._id

    @property
    def subscriptions(self) -> list[SubscriptionStatus]:
        """What it asks for, and how that stands."""
        reply = self._ask(ListSubscriptions())
        assert isinstance(reply, SubscriptionList)
        return list(reply.subscriptions)

    def advertise(
        self,
        schemas: Iterable[Any] = (),
        properties: Iterable[Any] = (),
        values: Mapping[Any, Any] | None = None,
    ) -> None:
        """Says what it will publish, in place of what it said before."""
        self.advertise_elements(list(write_elements(elements_of(qel.Advertisement(schemas, properties, values)))))

    @traced
    def advertise_elements(self, elements: list[Any]) -> None:
        """The same, in the written form."""
        written = tuple(tuple(element) for element in elements)
        self._ask(Advertise(written))
        self.memory.elements = written

    @traced
    def subscribe(
        self, text: str, name: str | None = None, *, since: float | None = None, lasts: float | None = None
    ) -> str:
        """Asks for everything that matches a query from now on, with `since` (a time of the network) also for what was
        published before, for `lasts` seconds; the id of the subscription."""
        if name is None:
            self._named += 1
            name = f"subscription {self._named}"
        began = None if since is None else self._network.epoch + since
        reply = self._ask(Subscribe(name, text, began, lasts))
        assert isinstance(reply, Subscribed)
        now = self._network.epoch + self._network.time
        expires_at = None if lasts is None else now + lasts
        self.memory.subscriptions[name] = Subscription(name, text, now, expires_at, since=began)
        return name

    def is_servable(self, subscription: str) -> bool:
        """Whether somebody advertises what a subscription asks for, as far as the access point knows."""
        return next(one.is_servable for one in self.subscriptions if one.subscription.name == subscription)

    @traced
    def unsubscribe(self, subscription: str) -> None:
        self._ask(Unsubscribe(subscription))
        del self.memory.subscriptions[subscription]

    @traced
    def pause(self, subscription: str) -> None:
        """Keeps a subscription, and lets nothing come of it."""
        self._ask(Pause(subscription))

    @traced
    def resume(self, subscription: str) -> None:
        self._ask(Resume(subscription))

    @traced
    def renew(self, subscription: str, lasts: float | None = None) -> None:
        """Lets a subscription last so many seconds from now, or for ever."""
        self._ask(Renew(subscription, lasts))

    def is_active(self, subscription: str) -> bool:
        """Whether everything that is published from now on, anywhere, and matches, will arrive."""
        node = self.access_point.node
        return node is not None and node.broker.is_active(self.id, subscription)

    def publish(self, triples: Iterable[Any], kind: str = "new", topics: Topics = NO_TOPICS) -> str:
        """Publishes what is said of one subject, which is new, updated or deleted, with what is broader than its
        topics; the id of the publication."""
        return self.publish_body(write_body(triples, topics).hex(), Kind(kind).value)

    @traced
    def publish_body(self, body_in_hex: str, kind: str) -> str:
        """The same, in the written form."""
        body = bytes.fromhex(body_in_hex)
        self._require_service()
        posting = self.memory.post(Kind(kind), body)
        try:
            self._hand_in(posting)
        except (Refused, AuthError):
            self.memory.acknowledged(posting.serial)
            raise
        subject = read_body(body).subject
        if posting.kind is Kind.DELETED:
            self.holdings.pop(subject, None)
        else:
            self.holdings[subject] = body
        return publication_id(self.id, posting.serial)

    @traced
    def query(self, text: str, seconds: float = QUERY_S) -> QueryResult:
        """Asks once what others hold now. Time passes until all have answered, or so many seconds."""
        self._asked += 1
        request = self._asked
        self._ask(Query(request, text, seconds))
        self._network.run_until(lambda: request in self._results, seconds + 1.0)
        finished = self._results.pop(request, None)
        if finished is None:
            raise SimulationError(f"{self.access_point.name} went away before it could answer; ask again")
        return QueryResult(
            tuple((one.owner, triples_of(read_body(one.body))) for one in finished.answers),
            tuple(map(self._network.name_of, finished.silent)),
            finished.absent_peers,
            finished.is_cut,
        )

    def offer(self, resource: Any, content: bytes) -> None:
        """Has a file for whoever asks for a resource."""
        self.offer_file(str(resource), content.hex())

    @traced
    def offer_file(self, resource: str, content_in_hex: str) -> None:
        self.files[resource] = bytes.fromhex(content_in_hex)

    def fetch(self, resource: Any, notification: Notification) -> Download:
        """Asks for a resource that a notification speaks of. It comes when its owner has been there."""
        return self.fetch_from(str(resource), notification.publisher, notification.publication.origin.hex())

    @traced
    def fetch_from(self, resource: str, owner: str, owner_at_in_hex: str) -> Download:
        self._asked += 1
        identity, owner_at = f"{self.id}/{self._asked}", bytes.fromhex(owner_at_in_hex)
        self._ask(Fetch(identity, resource, owner, owner_at))
        download = self.downloads[identity] = Download(identity, resource, owner, owner_at)
        return download

    @traced
    def disconnect(self) -> None:
        """Goes offline; what comes meanwhile waits at the access point."""
        self.is_connected = False
        self.is_served = False
        node = self.access_point.node
        if node is not None:
            effects = node.disconnect(self.memory.attached.public_id, self._network.clock(self.access_point))
            self._network.carry_out(self.access_point, effects)

    @traced
    def connect(self) -> None:
        """Comes back, and gets what waited."""
        self.is_connected = True
        self.attach()

    @traced
    def migrate(self, to: int) -> None:
        """Goes to another access point, with all that it has and all that waits for it; also if the old one is down."""
        old, new = self.access_point, self._network.super_peers[to]
        if new is old:
            raise SimulationError(f"{self.name} is at {old.name} already")
        if new.node is None:
            raise SimulationError(f"{new.name} is down; choose another one")
        if self.is_connected:
            self.disconnect()
        old.peers.remove(self)
        new.peers.append(self)
        self.access_point = new
        self.is_connected = True
        self.attach()

    @traced
    def leave(self) -> None:
        """Leaves the network for good."""
        self._ask(Leave())
        self.is_connected = self.is_served = False
        self.access_point.peers.remove(self)

    def attach(self) -> None:
        """Registers if the access point does not know it, and connects, if both are there."""
        node = self.access_point.node
        if node is None or not self.is_connected or self.is_served:
            return
        is_new = self.memory.credentials is None or self.memory.attached.access_point.raw != node.key
        is_lost = not is_new and not node.peers.is_here(self.id)
        if is_new or is_lost:
            self._register(is_lost=is_lost)
        attached, now = self.memory.attached, self._network.clock(self.access_point)
        welcome, effects = node.connect(attached.public_id, attached.private_id, self.name_as_address, now)
        self.is_served = True
        self._network.carry_out(self.access_point, effects)
        if not self.memory.has_brought:
            self._ask(self.memory.bring(self._network.epoch + self._network.time))
            self.memory.has_brought = True
            for download in self.downloads.values():
                if download.content is None and not download.failure:
                    self._ask(Fetch(download.id, download.resource, download.owner, download.owner_at))
        for posting in self.memory.welcomed(welcome):
            self._hand_in(posting)

    def hang_up(self) -> None:
        """The access point is gone; the peer waits for it."""
        self.is_served = False

    def hear(self, event: Event) -> None:
        """The access point says something."""
        match event:
            case Notified(notices):
                for notice in notices:
                    self._network.verify(notice.publication)
                    if self.memory.is_new(notice):
                        self.inbox.append(self._notification(notice))
                self._ask(Received(notices[-1].position))
            case PublicationsAcknowledged(serials):
                for serial in serials:
                    self.memory.acknowledged(serial)
            case NotificationsLost(count):
                self.lost += count
            case SubscriptionExpired(name):
                self.expired.append(name)
                self.memory.subscriptions.pop(name, None)
            case AnswerWanted(question, text):
                query = read_query(text)
                held = [body for body in self.holdings.values() if is_met(query, *said_in(body))]
                self._ask(Answer(question, tuple(held)))
            case QueryFinished(request):
                self._results[request] = event
            case UploadWanted(rendezvous):
                self._ask(Upload(rendezvous.id, self.files.get(rendezvous.resource)))
            case FileArrived(rendezvous, content):
                self._download(rendezvous).content = content
                self._ask(FileTaken(rendezvous.id))
            case FetchFailed(rendezvous, reason):
                self._download(rendezvous).failure = reason
            case HandedOver(old):
                self.memory.handed_over(old)
            case _:
                pass  # That something is in place is asked for, not heard.

    @property
    def name_as_address(self) -> str:
        return self.name.replace(" ", "-") + ".example.org:4000"

    def _download(self, rendezvous: Rendezvous) -> Download:
        one = rendezvous
        return self.downloads.setdefault(one.id, Download(one.id, one.resource, one.owner, one.owner_at))

    def _notification(self, notice: Notice) -> Notification:
        matched, origin = frozenset(notice.subscriptions), notice.publication.origin
        asked = self.memory.subscriptions
        queries = {name: read_query(asked[name].text) for name in sorted(matched & asked.keys())}
        return Notification(notice.publication, matched, queries, notice.is_history, self._network.name_of(origin))

    def _register(self, *, is_lost: bool) -> None:
        """The exchange of `auth`. A peer with a past brings it; with a super-peer that lost its disk it begins anew."""
        node, network = self.access_point.running_node, self._network
        channel = b"%s to %s" % (self.name.encode(), self.access_point.name.encode())
        now = network.clock(self.access_point)
        exchange = PeerExchange(
            self.memory.identity,
            network.public_key(self.access_point),
            self.name_as_address,
            channel,
            network.randbytes,
            past=None if is_lost else self.memory.credentials,
            last_serial=self.memory.attachment_serial,
        )
        super_peer = node.welcome(channel)
        message: Any = exchange.begin(now)
        while message is not None:
            reply, effects = node.exchange(super_peer, message, now)
            network.note_exchange(self, message, reply)
            network.carry_out(self.access_point, effects)
            message = exchange.receive(reply, now)
        assert exchange.credentials is not None
        self.memory.attach(exchange.credentials)
        self._id = str(exchange.credentials.public_id)
        network.note_identity(self)

    def _hand_in(self, posting: Posting) -> None:
        self._ask(self.memory.handing_in([posting]))

    def _ask(self, request: Request) -> Reply:
        self._require_service()
        return self._network.request(self, request)

    def _require_service(self) -> None:
        if not self.is_connected:
            raise SimulationError(f"{self.name} is offline; connect it first")
        self.access_point.running_node  # noqa: B018 - says that it is down
        assert self.is_served, "who is connected to a running super-peer is served"
