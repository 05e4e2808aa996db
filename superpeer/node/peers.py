"""What a peer may ask of its access point, and what comes of it.

Every request is checked before anything is done: it is refused with an error, or does all of its work. Limits are those
of `limits`; what a peer publishes has to be signed by it and, unless the operator says otherwise, to conform to what it
advertised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise

import msgspec

import qel
from auth import BatchVerifier, Origin, PublicId, PublicKey, Registration, Registry, UnknownPeer
from auth.welcoming import Outcome
from qel.advertisements import unadmitted
from superpeer.node.body import said_in
from superpeer.node.broker import Broker
from superpeer.node.errors import BadRequest, LimitReached, Nonconforming, OutOfTurn, Refused
from superpeer.node.forms import read_elements, read_query
from superpeer.node.handover import Handovers, left_by
from superpeer.node.limits import Allowance
from superpeer.node.publications import Draft, Posting
from superpeer.node.records import (
    Arriving,
    Brought,
    Dequeued,
    Forgotten,
    LossTold,
    OrderKept,
    Registered,
    Rendezvous,
    Subscription,
    Unregistered,
)
from superpeer.node.rendezvous import RendezvousDesk
from superpeer.node.requests import (
    Advertise,
    Answer,
    Bring,
    Done,
    Fetch,
    FileTaken,
    Leave,
    ListSubscriptions,
    Logged,
    Notice,
    NotificationsLost,
    Notified,
    Pause,
    Publish,
    Query,
    Received,
    Renew,
    Reply,
    Request,
    Resume,
    Subscribe,
    Subscribed,
    SubscriptionList,
    SubscriptionStatus,
    Unsubscribe,
    Upload,
    Welcome,
)
from superpeer.node.retention import Retention
from superpeer.node.workspace import Workspace

WINDOW = 1_000
"""So many notices are under way to a peer before it has to say that it received some."""


@lru_cache(maxsize=65_536)
def _public_id(peer: str) -> PublicId:
    return PublicId.parse(peer)


class Peers:
    """The local peers of one super-peer."""

    def __init__(
        self,
        workspace: Workspace,
        registry: Registry,
        broker: Broker,
        handovers: Handovers,
        rendezvous: RendezvousDesk,
        retention: Retention,
        accepts_nonconforming: bool,
    ) -> None:
        self._workspace = workspace
        self._state = workspace.state
        self._limits = workspace.limits
        self._registry = registry
        self._broker = broker
        self._handovers = handovers
        self._rendezvous = rendezvous
        self._retention = retention
        self.verifier = BatchVerifier(registry.revocations)
        self._accepts_nonconforming = accepts_nonconforming
        self._sent: dict[str, int] = {}
        """For connected peers: the position up to which they were sent what waits."""
        self._allowances: dict[str, tuple[Allowance, Allowance]] = {}

    def is_here(self, peer: str) -> bool:
        kept = self._state.peers.get(peer)
        if kept is not None and kept.handing_over is not None:
            return False
        try:
            self._registration(peer)
        except UnknownPeer:
            return False
        return True

    def admit(self, outcome: Outcome) -> None:
        """A peer has registered or arrived. An order that it gave is kept until the old access point has answered."""
        peer = str(outcome.registration.public_id)
        order = outcome.order
        self._workspace.keep(Arriving(peer, None if order is None else order.old.raw))
        if order is not None:
            self._workspace.keep(OrderKept(peer, order))

    def connect(self, peer: str) -> Welcome:
        kept = self._state.peer(peer)
        self._workspace.connected.add(peer)
        self._sent[peer] = 0
        self._workspace.touch(peer)
        self._rendezvous.connect(peer)
        key = self._registration(peer).key
        unacknowledged = tuple(
            publication.draft.serial
            for publication in self._state.log.unacknowledged.values()
            if publication.draft.publisher == key
        )
        return Welcome(unacknowledged, kept.last_serial, tuple(kept.subscriptions))

    def deliver(self) -> None:
        """Sends connected peers what has come for them, as far as their window is open."""
        for peer in self._workspace.take_touched():
            kept = self._state.peers.get(peer)
            if kept is None:
                continue
            self._retention.trim_queue(peer)
            if peer not in self._workspace.connected or kept.is_arriving:
                continue
            self._tell_loss(peer)
            notices = []
            for entry in kept.queue.after(self._sent[peer], WINDOW):
                self._sent[peer] = entry.position
                notices.append(Notice(entry.position, entry.publication, entry.subscriptions, entry.is_history))
            if notices:
                self._workspace.tell(peer, Notified(tuple(notices)))

    def _tell_loss(self, peer: str) -> None:
        lost = self._state.peer(peer).queue.lost
        if lost:
            self._workspace.tell(peer, NotificationsLost(lost))
            self._workspace.keep(LossTold(peer))

    def handle(self, peer: str, request: Request) -> Reply:
        """Does what a peer asks for; see `requests`."""
        requests, publications = self._allowance(peer)
        if isinstance(request, Publish):
            publications.take(self._workspace.now, len(request.postings))
            return self._publish(peer, request)
        if isinstance(request, Received):
            self._on_received(peer, request.through)
            return Done()
        requests.take(self._workspace.now)
        match request:
            case Subscribe():
                return self._subscribe(peer, request)
            case ListSubscriptions():
                return self._list(peer)
            case Unsubscribe(name):
                self._subscription(peer, name)
                self._broker.unsubscribe(peer, name)
            case Pause(name):
                self._change(peer, name, is_paused=True)
            case Resume(name):
                self._change(peer, name, is_paused=False, accepted_at=self._workspace.now)
            case Renew(name, lasts_s):
                self._change(peer, name, expires_at=self._expiry(lasts_s))
            case Advertise(elements):
                self._check_count("elements of an advertisement", len(elements), self._limits.elements_per_peer)
                self._broker.advertise(peer, read_elements(elements))
            case Query():
                self._query(peer, request)
            case Answer(question, bodies):
                for body in bodies:
                    self._check_body(body)
                self._broker.queries.hear_peer(peer, question, bodies)
            case Fetch():
                self._fetch(peer, request)
            case Upload(identity, content):
                self._check_size("the file", len(content or b""), self._limits.file_bytes)
                self._rendezvous.upload(peer, identity, content)
            case FileTaken(identity):
                self._rendezvous.file_taken(peer, identity)
            case Bring():
                self._bring(peer, request)
            case Leave():
                self._leave(peer)
        return Done()

    def forget_absent(self) -> None:
        """Forgets peers that have been away for longer than the operator keeps things for them."""
        oldest = self._workspace.now - self._limits.absence_s
        for registration in list(self._registry):
            peer = str(registration.public_id)
            if registration.seen_at < oldest and peer not in self._workspace.connected and self.is_here(peer):
                self._leave(peer)

    def _subscribe(self, peer: str, request: Subscribe) -> Subscribed:
        kept = self._state.peer(peer)
        if request.name not in kept.subscriptions:
            self._check_count("subscriptions", len(kept.subscriptions) + 1, self._limits.subscriptions_per_peer)
        query = self._check_subscription(request.name, request.text)
        now = self._workspace.now
        expires_at = self._expiry(request.lasts_s)
        subscription = Subscription(request.name, request.text, now, expires_at, since=request.since)
        self._broker.subscribe(peer, subscription)
        return Subscribed(request.name, self._broker.is_servable(query))

    def _check_subscription(self, name: str, text: str) -> qel.Query:
        if not name or not name.isprintable():
            raise BadRequest("a subscription has a name that can be printed; choose another one")
        self._check_size("the name of a subscription", len(name), self._limits.name_characters)
        self._check_size("the query", len(text), self._limits.query_characters)
        query = read_query(text)
        qel.require_satisfiable(query)
        return query

    def _expiry(self, lasts_s: float | None) -> float | None:
        if lasts_s is None:
            return None
        if not 0 < lasts_s <= self._limits.subscription_lifetime_s:
            raise LimitReached(
                "seconds that a subscription lasts", self._limits.subscription_lifetime_s, "choose a time up to it"
            )
        expires_at = self._workspace.now + lasts_s
        self._workspace.wake_at(expires_at)
        return expires_at

    def _list(self, peer: str) -> SubscriptionList:
        return SubscriptionList(
            tuple(
                SubscriptionStatus(
                    one, self._broker.is_active(peer, one.name), self._broker.is_servable(read_query(one.text))
                )
                for one in self._state.peer(peer).subscriptions.values()
            )
        )

    def _subscription(self, peer: str, name: str) -> Subscription:
        subscription = self._state.peer(peer).subscriptions.get(name)
        if subscription is None:
            raise BadRequest(f"there is no subscription {name!r}; list those that there are")
        return subscription

    def _change(self, peer: str, name: str, **changes: object) -> None:
        before = self._subscription(peer, name)
        after = msgspec.structs.replace(before, **changes)
        if before.is_paused == after.is_paused:
            after = msgspec.structs.replace(after, accepted_at=before.accepted_at)
        if after != before:
            self._broker.subscribe(peer, after)

    def _publish(self, peer: str, request: Publish) -> Logged:
        log, kept = self._state.log, self._state.peer(peer)
        if request.after > kept.last_serial:
            raise OutOfTurn(f"what was handed in as {request.after} was not taken; begin after {kept.last_serial}")
        serials = [request.after, *(posting.serial for posting in request.postings)]
        if any(serial <= before for before, serial in pairwise(serials)):
            raise BadRequest("the serials of what is published rise; hand it in in their order")
        if serials[-1] <= kept.last_serial:
            return Logged(log.end)  # It is there: the peer did not get the answer.
        for posting in request.postings:
            self._check_posting(posting, self._check_posted_body)
        registration = self._registration(peer)
        source = Origin(registration.key, registration.salt, self._registry.key)
        proofs = self.verifier.prove(source, [posting.item for posting in request.postings], request.signature)
        new = [each for each in zip(request.postings, proofs, strict=True) if each[0].serial > kept.last_serial]
        if not self._accepts_nonconforming:
            for posting, _ in new:
                self._check_posting(posting, partial(self._check_conforming, kept.advertisement))
        waiting, most = len(log.unacknowledged) + len(new), self._limits.unacknowledged_publications
        if waiting > most:
            raise LimitReached("publications that the network has not acknowledged", most, "wait and try again")
        for posting, proof in new:
            draft = Draft(registration.key, registration.salt, posting.serial, posting.kind, posting.body, proof)
            self._broker.publish(draft)
        self._retention.trim_log()
        return Logged(log.end)

    def _check_posting(self, posting: Posting, check: Callable[[Posting], None]) -> None:
        try:
            check(posting)
        except Refused as error:
            error.serial = posting.serial
            raise

    def _check_posted_body(self, posting: Posting) -> None:
        self._check_body(posting.body)

    def _check_conforming(self, advertisement: qel.Advertisement, posting: Posting) -> None:
        missing = {name for name, _ in unadmitted(advertisement, said_in(posting.body).description)}
        if missing:
            raise Nonconforming(tuple(sorted(missing)))

    def _on_received(self, peer: str, through: int) -> None:
        queue = self._state.peer(peer).queue
        if through > self._sent.get(peer, 0):
            raise BadRequest("a peer receives what it was sent")
        if queue.entries and queue.entries[0].position <= through:
            self._workspace.keep(Dequeued(peer, through))
            self._workspace.touch(peer)

    def _query(self, peer: str, request: Query) -> None:
        self._check_size("the query", len(request.text), self._limits.query_characters)
        qel.require_satisfiable(read_query(request.text))
        if not 0 < request.seconds <= self._limits.query_s:
            raise LimitReached("seconds that a query may take", self._limits.query_s, "choose a time up to it")
        queries = self._broker.queries
        self._check_count("open queries", queries.count(peer) + 1, self._limits.open_queries_per_peer)
        queries.ask(peer, request.request, request.text, request.seconds)

    def _fetch(self, peer: str, request: Fetch) -> None:
        kept = self._state.peer(peer)
        self._check_count("rendezvous", len(kept.rendezvous) + 1, self._limits.meetings_per_peer)
        self._check_count("files that wait", len(kept.files) + 1, self._limits.files_per_peer)
        self._check_size("the name of the rendezvous", len(request.id), self._limits.name_characters)
        self._check_size("the name of the resource", len(request.resource), self._limits.query_characters)
        PublicId.parse(request.owner)
        PublicKey(request.owner_at)
        self._rendezvous.fetch(
            Rendezvous(
                request.id,
                request.resource,
                request.owner,
                request.owner_at,
                peer,
                self._workspace.key,
                self._workspace.now,
            )
        )

    def _bring(self, peer: str, request: Bring) -> None:
        """A peer comes from elsewhere: it is as if it had always been here, and its queue catches up."""
        self._check_count("subscriptions", len(request.subscriptions), self._limits.subscriptions_per_peer)
        self._check_count("marks", len(request.marks), self._limits.marks_per_peer)
        for one in request.subscriptions:
            self._check_subscription(one.name, one.text)
        elements = None
        if request.elements is not None:
            self._check_count("elements of an advertisement", len(request.elements), self._limits.elements_per_peer)
            elements = read_elements(request.elements)
        registration = self._registration(peer)
        for order in request.orders:
            if order.peer != registration.key or order.new != self._registry.key:
                raise BadRequest("a migration order is the peer's own, and names its new access point")
        kept = self._state.peer(peer)
        # A peer has one order for each access point where it was, and these are among those it has marks of.
        olds = kept.orders.keys() | {order.old.raw for order in request.orders}
        self._check_count("migration orders", len(olds), self._limits.marks_per_peer)
        left_here = left_by(kept)
        names = {one.name for one in request.subscriptions}
        for name in kept.subscriptions.keys() - names:
            self._broker.unsubscribe(peer, name)
        self._workspace.keep(Brought(peer, request.marks))
        for one in request.subscriptions:
            self._broker.subscribe(peer, one)
            if one.expires_at is not None:
                self._workspace.wake_at(one.expires_at)
        if elements is not None:
            self._broker.advertise(peer, elements)
        # A peer that was here before has left something here, as at any other access point.
        self._handovers.take(peer, left_here)
        self._handovers.begin(peer, request.orders)
        if request.subscriptions:
            self._broker.catch_up(peer)

    def _leave(self, peer: str) -> None:
        kept = self._state.peer(peer)
        for name in list(kept.subscriptions):
            self._broker.unsubscribe(peer, name)
        if kept.elements is not None:
            self._broker.withdraw(peer)
        self._broker.forget(peer)
        registration = self._registry.forget(self._registration(peer).key, self._workspace.now)
        self._workspace.keep(Unregistered(registration.key.raw))
        for record in self._registry.records():
            if record.key == registration.key:
                self._workspace.keep(Registered(record))
        self._workspace.keep(Forgotten(peer))
        self._workspace.connected.discard(peer)
        self._allowances.pop(peer, None)

    def _registration(self, peer: str) -> Registration:
        return self._registry.find(_public_id(peer))

    def _allowance(self, peer: str) -> tuple[Allowance, Allowance]:
        if peer not in self._allowances:
            limits, now = self._limits, self._workspace.now
            self._allowances[peer] = (
                Allowance("requests", limits.requests_per_second, limits.requests_at_once, now),
                Allowance("publications", limits.publications_per_second, limits.publications_at_once, now),
            )
        return self._allowances[peer]

    def _check_body(self, body: bytes) -> None:
        self._check_size("what a publication says", len(body), self._limits.body_bytes)
        said_in(body)

    def _check_size(self, what: str, size: int, most: int) -> None:
        if size > most:
            raise LimitReached(f"the size of {what}", most, f"this one has {size:,}; make it smaller")

    def _check_count(self, what: str, count: int, most: int) -> None:
        if count > most:
            raise LimitReached(what, most, "take some away first")
