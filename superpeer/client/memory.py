"""What a peer remembers, so that it needs no particular super-peer to go on.

It owns its key, its subscriptions and its advertisement; it knows how far into each log it got; and its *outbox* holds
what it published until the network, not only the access point, has acknowledged it. With this it can go to any other
access point, also when the old one is gone for good, and the application sees every notification once.

A publication comes twice only when its publisher handed it to a second access point because the first did not answer.
Key and serial of the publisher tell, so for each publisher the last serials that came are remembered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from auth import Credentials, Identity, MigrationOrder, Origin, order_migration, sign_together
from auth.migration import MAX_ORDER_LIFETIME_S
from superpeer.node.forms import ElementForm
from superpeer.node.publications import NOWHERE, Kind, Place, Posting, Publication
from superpeer.node.records import Subscription
from superpeer.node.requests import Bring, Notice, Publish, Welcome

REMEMBERED_SERIALS = 4_096
NOTHING_SEEN: tuple[frozenset[int], tuple[int, ...]] = (frozenset(), ())


@dataclass
class Memory:
    """One peer's memory."""

    identity: Identity
    credentials: Credentials | None = None
    attachment_serial: int = 0
    has_brought: bool = False
    """Whether the present access point knows what this peer asks for and how far it got."""
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    elements: tuple[ElementForm, ...] | None = None
    marks: dict[bytes, Place] = field(default_factory=dict)
    outbox: dict[int, Posting] = field(default_factory=dict)
    serial: int = 0
    formers: dict[bytes, Credentials] = field(default_factory=dict)
    """By key: access points that may still have something for this peer."""
    _seen: dict[bytes, tuple[set[int], deque[int]]] = field(default_factory=dict)

    @property
    def attached(self) -> Credentials:
        assert self.credentials is not None, "a peer registers before anything else"
        return self.credentials

    def attach(self, credentials: Credentials) -> None:
        """The peer is registered with an access point, which may be another one than before."""
        before = self.credentials
        if before is not None and before.access_point != credentials.access_point:
            self.formers[before.access_point.raw] = before
        self.formers.pop(credentials.access_point.raw, None)
        self.credentials = credentials
        self.has_brought = False
        self.attachment_serial = credentials.serial

    def post(self, kind: Kind, body: bytes) -> Posting:
        """Puts something into the outbox, under a number of its own."""
        self.serial += 1
        posting = self.outbox[self.serial] = Posting(self.serial, kind, body)
        return posting

    def handing_in(self, postings: Sequence[Posting], after: int = 0) -> Publish:
        """Signs what is in the outbox for the present access point; `after` is what was handed in before."""
        attached = self.attached
        source = Origin(attached.peer, attached.salt, attached.access_point)
        signature = sign_together(self.identity, source, [one.item for one in postings])
        return Publish(tuple(postings), signature, after)

    def acknowledged(self, serial: int) -> None:
        """The network has it."""
        self.outbox.pop(serial, None)

    def welcomed(self, welcome: Welcome) -> list[Posting]:
        """What the access point knows of the outbox; returns what has to be handed to it."""
        for serial in list(self.outbox):
            if serial <= welcome.last_serial and serial not in welcome.unacknowledged:
                del self.outbox[serial]
        return [posting for serial, posting in self.outbox.items() if serial > welcome.last_serial]

    def bring(self, now: float) -> Bring:
        """All that a new access point has to know. Orders are made anew, so that they have not expired."""
        return Bring(
            tuple(self.subscriptions.values()), self.elements, tuple(sorted(self.marks.items())), self.orders(now)
        )

    def orders(self, now: float) -> tuple[MigrationOrder, ...]:
        attached = self.attached
        return tuple(
            order_migration(
                self.identity,
                former.public_id,
                former.access_point,
                attached.access_point,
                attached.serial,
                now,
                MAX_ORDER_LIFETIME_S,
            )
            for former in self.formers.values()
            if former.public_id == attached.public_id
        )

    def handed_over(self, old: bytes) -> None:
        """A former access point has nothing more."""
        self.formers.pop(old, None)

    def is_new(self, notice: Notice) -> bool:
        """Takes note of what came; whether the application has not seen it."""
        is_known = self.has(notice)
        if not notice.is_history:
            self.mark(notice.publication)
        if not is_known:
            self.note(notice.publication)
        return not is_known

    def has(self, notice: Notice) -> bool:
        """Whether the application has seen it."""
        publication = notice.publication
        if not notice.is_history and publication.place <= self.marks.get(publication.origin, NOWHERE):
            return True
        return self.knows(publication.draft.publisher.raw, publication.draft.serial)

    def knows(self, publisher: bytes, serial: int) -> bool:
        """Whether the application has seen what a publisher gave this serial, as far as that is remembered."""
        serials, _ = self._seen.get(publisher, NOTHING_SEEN)
        return serial in serials

    def mark(self, publication: Publication) -> bool:
        """The application has everything of a log up to this; whether that is new."""
        is_higher = publication.place > self.marks.get(publication.origin, NOWHERE)
        if is_higher:
            self.marks[publication.origin] = publication.place
        return is_higher

    def note(self, publication: Publication) -> int | None:
        """Remembers that the application has seen it, by its name; the serial that is forgotten for it, if any."""
        return self.note_name(publication.draft.publisher.raw, publication.draft.serial)

    def note_name(self, publisher: bytes, serial: int) -> int | None:
        serials, order = self._seen.setdefault(publisher, (set(), deque()))
        serials.add(serial)
        order.append(serial)
        if len(order) <= REMEMBERED_SERIALS:
            return None
        forgotten = order.popleft()
        serials.discard(forgotten)
        return forgotten
