"""A member that knows who is there, and speaks to the others in the view that follows from it.

This is the part of membership that has no rules of its own: what is known, the view of it, the neighbours to
watch, and the messages that wait to be sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypercup.backbone import Link
from hypercup.detector import Detector
from hypercup.differences import Differences
from hypercup.effects import Effect, Send, ViewChanged
from hypercup.entry import Entry, Identity
from hypercup.knowledge import Knowledge
from hypercup.messages import Announce, AnyMessage, Compare, Entries, Heartbeat, News, Tone
from hypercup.table import Table
from hypercup.timing import Timing
from hypercup.view import View, Views

REMEMBERED_VIEWS = 1024
"""Messages of views that are longer ago are not under way any more."""


class Participant:
    """Knowledge, view, neighbours and outgoing messages of one member."""

    def __init__(self, identity: Identity, table: Table, now: float, views: Views, timing: Timing) -> None:
        self.key = identity.key
        self.timing = timing
        self._knowledge = Knowledge(identity, table, timing)
        self._views = views
        self._detector = Detector(timing)
        self._differs = Differences()
        self._effects: list[Effect] = []
        self._past: dict[bytes, None] = {}
        self.view = views.view(table)
        self._digest = table.digest
        self._view_since = now
        self._follow(now)

    @property
    def entry(self) -> Entry:
        """What this member says of itself."""
        return self._knowledge.entry

    @property
    def table(self) -> Table:
        return self._knowledge.table

    def _see(self, now: float) -> None:
        """Bring the view up to date with the table."""
        if self.table.digest != self._digest and self.entry.is_alive:
            self._digest = self.table.digest
            view = self._views.view(self.table)
            if view.id != self.view.id:
                self._enter(view, now)

    def _enter(self, view: View, now: float) -> None:
        """Go over to another view; one that this member has been in becomes a new one by its epoch."""
        returns = view.id in self._past
        if returns:
            self._knowledge.restate(now, epoch=self.entry.epoch + 1)
            self._digest = self.table.digest
            view = self._views.view(self.table)
        self._past[self.view.id] = None
        if len(self._past) > REMEMBERED_VIEWS:
            del self._past[next(iter(self._past))]
        self.view = view
        self._view_since = now
        self._follow(now)
        self._effects.append(ViewChanged(view))
        if returns:
            self._broadcast((self.entry,))

    def _follow(self, now: float) -> None:
        neighbours = self.view.position(self.key).neighbours
        self._detector.follow({key: self.view.incarnations[key] for key in neighbours}, now)
        self._differs.keep(self.view.incarnations)

    def _broadcast(self, entries: tuple[Entry, ...], arrived: Link | None = None) -> None:
        """Send news along the broadcast tree, past those it is about.

        A newcomer does not know the view yet, so it cannot pass on the news of its own coming. Whoever would
        send it there sends it to the members beyond in its place.
        """
        subjects = {entry.key for entry in entries}
        backbone = self.view.backbone
        senders = [(self.key, arrived)]
        for sender, came in senders:
            for link in backbone.position(sender).out_links:
                if came is not None and not backbone.relays(came, link):
                    continue
                if link.neighbour in subjects:
                    senders.append((link.neighbour, Link(sender, link.dimension)))
                else:
                    self._send_to(link.neighbour, News(*self._sender(), entries, link.dimension))

    def _announce(self, address: str) -> None:
        self._send(address, Announce(*self._sender(), self.entry, self.table.digest))

    def _compare(self, address: str) -> None:
        self._send(address, Compare(*self._sender(), self.table.bucket_digests))

    def _heartbeat(self, tone: Tone) -> Heartbeat:
        return Heartbeat(*self._sender(), self.entry.incarnation, self.table.digest, tone)

    def _entries(self, entries: Iterable[Entry], buckets: tuple[int, ...] = ()) -> Entries:
        return Entries(*self._sender(), tuple(entries), buckets)

    def _sender(self) -> tuple[bytes, str]:
        return self.key, self.entry.address

    def _send_to(self, member: bytes, message: AnyMessage) -> None:
        entry = self.table.get(member)
        if entry is not None:
            self._send(entry.address, message)

    def _send(self, address: str, message: AnyMessage) -> None:
        self._effects.append(Send(address, message))

    def _flush(self, now: float) -> list[Effect]:
        self._see(now)
        effects, self._effects = self._effects, []
        return effects
