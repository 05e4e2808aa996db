"""The backbone: membership over real links, and the node's messages beside it.

Membership speaks to addresses, links are made with keys: whose address it is, its entries say, or the configuration
does for the first contact, or whoever we are answering. Its messages are sent on connections that are there and are
lost otherwise, as the protocol allows for.

Our own entry is on disk before it is said, so that no life begins with an incarnation that an earlier one used. The
others are kept too, as acquaintances: after a restart this super-peer needs nobody to tell it where the backbone is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from math import inf
from random import Random

import hypercup
from auth import PublicKey, entry_signer, entry_verifier
from hypercup import (
    CubeKind,
    Effect,
    Entries,
    Entry,
    Membership,
    Send,
    Status,
    Stopped,
    Table,
    Timing,
    UnstructuredKind,
    View,
    ViewChanged,
    Views,
)
from superpeer.daemon.config import Address, Contact, parse_address
from superpeer.daemon.core import Core
from superpeer.daemon.envelopes import Topic
from superpeer.daemon.errors import BadConfiguration
from superpeer.daemon.logs import note
from superpeer.daemon.neighbours import Neighbours
from superpeer.net import Connection, Endpoint, Reason, SessionLimits, Violation
from superpeer.node.coding import decode_message, encode_message
from superpeer.node.errors import Refused
from superpeer.node.messages import NodeMessage
from superpeer.store.changes import Change, EntryDropped

KINDS = {"cube": CubeKind, "unstructured": UnstructuredKind}
MAX_HEARD = 16_384
log = logging.getLogger(__name__)


class Backbone:
    """This super-peer's part in the backbone."""

    def __init__(
        self,
        endpoint: Endpoint,
        core: Core,
        address: Address,
        *,
        kind: str,
        timing: Timing,
        contacts: Iterable[Contact],
        known: Iterable[Entry],
        random: Random,
        idle_s: float,
        session_bytes: int,
    ) -> None:
        """`known` is what a former life wrote down."""
        assert endpoint.admissions is not None
        self.key = endpoint.identity.public.raw
        self._core = core
        self._loop = asyncio.get_running_loop()
        self._identity = hypercup.Identity(
            self.key,
            entry_signer(endpoint.identity, endpoint.certificate),
            entry_verifier(endpoint.admissions, endpoint.clock, self._refused),
        )
        self._kept = {entry.key: entry for entry in known}
        former = self._kept.get(self.key)
        others = [entry for entry in self._kept.values() if entry.key != self.key]
        self._contacts = {entry.address: entry.key for entry in others}
        self._contacts.update((str(contact.address), contact.key.raw) for contact in contacts)
        self._contacts = {where: key for where, key in self._contacts.items() if key != self.key}
        self._heard: dict[str, bytes] = {}
        self._answering: tuple[str, bytes] = ("", b"")
        self._keys: dict[str, bytes] = {}
        self._keys_of: tuple[bytes, int] = (b"", 0)
        self.membership = Membership.start(
            self._identity,
            str(address),
            max(1, int(core.clock() * 1000)),
            self._loop.time(),
            views=Views(KINDS[kind]()),
            contacts=sorted(self._contacts),
            timing=timing,
            known=None if former is None else Table([former]),
        )
        self.neighbours = Neighbours(
            endpoint,
            limits=SessionLimits(max_unacknowledged_bytes=session_bytes),
            address_of=self._address_of,
            receive=self._receive,
            hear=self._hear,
            overflowed=self._begin_anew,
            random=random,
            idle_s=idle_s,
            hold_s=timing.max_delay_s,
            room=core.pump,
        )
        self.stopped = asyncio.Event()
        """Set when the farewell is said."""
        self.hear_other: Callable[[bytes, Topic, bytes], None] = _ignore
        """Gets what is said aside besides membership."""
        self.refused: int = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        self._is_running = False
        core.send = self.send

    @property
    def view(self) -> View:
        return self.membership.view

    def start(self) -> None:
        """Enter the first view, and look for the others. The own entry goes to disk before anything is said."""
        self._is_running = True
        self._follow(self.view)
        self._core.pump.put([self.membership.entry], self._tick)
        self._kept[self.key] = self.membership.entry
        self._core.enter_view(self.view)

    def leave(self) -> None:
        """Say farewell; `stopped` is set when that is done."""
        self._carry_out(self.membership.leave(self._loop.time()))

    async def close(self) -> None:
        """Say nothing any more."""
        self._is_running = False
        if self._timer is not None:
            self._timer.cancel()
        await self.neighbours.close()

    async def serve(self, connection: Connection) -> None:
        """Another super-peer has connected."""
        await self.neighbours.serve(connection)

    def send(self, key: bytes, message: NodeMessage) -> None:
        """What our node says to another one."""
        if key != self.key:
            self.neighbours.send(key, encode_message(message))

    def address_of(self, key: bytes) -> str:
        """Where a member is, as far as is known."""
        entry = self.membership.table.get(key)
        if entry is not None:
            return entry.address
        return next((address for address, holder in self._contacts.items() if holder == key), "")

    def _address_of(self, key: bytes) -> Address | None:
        text = self.address_of(key) or next((where for where, holder in self._heard.items() if holder == key), "")
        try:
            return parse_address(text) if text else None
        except BadConfiguration:
            return None

    # What others say.

    def _receive(self, sender: bytes, data: bytes) -> None:
        try:
            message = decode_message(data)
        except Refused as error:
            raise Violation(Reason.MALFORMED_MESSAGE, str(error)) from error
        if self._is_running:
            self._core.receive(sender, message)

    def _hear(self, sender: bytes, topic: Topic, data: bytes) -> None:
        if topic is not Topic.MEMBERSHIP:
            self.hear_other(sender, topic, data)
            return
        try:
            message = hypercup.decode(data)
        except hypercup.MalformedMessage as error:
            raise Violation(Reason.MALFORMED_MESSAGE, str(error)) from error
        if message.sender != sender:
            raise Violation(Reason.WRONG_KEY, "a member speaks for itself only; refuse it")
        if not self._is_running:
            return
        if message.address not in self._heard and len(self._heard) >= MAX_HEARD:
            del self._heard[next(iter(self._heard))]
        self._heard[message.address] = sender
        self._answering = (message.address, sender)
        self._carry_out(self.membership.receive(message, self._loop.time()))
        self._answering = ("", b"")

    def _tick(self) -> None:
        self._timer, self._timer_at = None, inf
        if self._is_running:
            self._carry_out(self.membership.tick(self._loop.time()))

    def _begin_anew(self, key: bytes) -> None:
        """A session was given up: what was said in this view is lost, so there has to be another view. A verdict on
        ourselves brings it about, as membership answers it with a higher incarnation."""
        if not self._is_running:
            return
        verdict = self._identity.pronounced_dead(self.membership.entry)
        effects = self.membership.receive(Entries(key, self.address_of(key), (verdict,)), self._loop.time())
        # Behind all that was to be said in the old view, and before the first word in the new one.
        self._core.say(lambda: self.neighbours.begin_anew(key))
        self._carry_out(effects)

    # What membership wants.

    def _carry_out(self, effects: list[Effect]) -> None:
        sends = [effect for effect in effects if isinstance(effect, Send)]
        answering = self._answering
        if self.membership.entry != self._kept.get(self.key):
            self._keep([self.membership.entry])
            self._core.pump.put([self.membership.entry], lambda: self._send_all(sends, answering))
        else:
            self._send_all(sends, answering)
        for effect in effects:
            if isinstance(effect, ViewChanged):
                self._enter(effect.view)
            elif isinstance(effect, Stopped):
                note(log, "said farewell to the backbone", was_heard=effect.heard)
                self.stopped.set()
        self._schedule()

    def _enter(self, view: View) -> None:
        note(log, "the backbone has changed", members=len(view), view=view.id.hex()[:12])
        self._follow(view)
        wanted = {entry.key: entry for entry in self.membership.table if entry.status is not Status.LEFT}
        changes: list[Change] = [
            entry
            for entry in wanted.values()
            if (known := self._kept.get(entry.key)) is None
            or (known.address, known.incarnation) != (entry.address, entry.incarnation)
        ]
        gone = [key for key in self._kept if key not in wanted and key != self.key]
        self._keep(entry for entry in changes if isinstance(entry, Entry))
        for key in gone:
            del self._kept[key]
        self._core.pump.put([*changes, *(EntryDropped(key) for key in gone)])
        self._core.enter_view(view)

    def _follow(self, view: View) -> None:
        self.neighbours.follow(view.incarnations, view.position(self.key).neighbours)

    def _keep(self, entries: Iterable[Entry]) -> None:
        self._kept.update((entry.key, entry) for entry in entries)

    def _send_all(self, sends: list[Send], answering: tuple[str, bytes]) -> None:
        for address, message in sends:
            key = self._key_at(address, answering)
            if key is None or key == self.key:
                note(log, "nobody is known at an address", logging.DEBUG, address=address)
            else:
                self.neighbours.send_aside(key, Topic.MEMBERSHIP, hypercup.encode(message))

    def _key_at(self, address: str, answering: tuple[str, bytes]) -> bytes | None:
        if address == answering[0]:
            return answering[1]
        table = self.membership.table
        if self._keys_of != (table.digest, len(table)):
            self._keys_of = (table.digest, len(table))
            # Of those who were ever at one address, the living and the latest count: they come last.
            ranked = sorted(table, key=lambda entry: (entry.is_alive, entry.incarnation))
            self._keys = {entry.address: entry.key for entry in ranked}
        return self._keys.get(address) or self._contacts.get(address) or self._heard.get(address)

    def _schedule(self) -> None:
        wakeup = self.membership.next_wakeup
        if wakeup == self._timer_at or not self._is_running:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, wakeup
        if wakeup < inf:
            self._timer = self._loop.call_at(max(wakeup, self._loop.time() + 0.001), self._tick)

    def _refused(self, error: Exception) -> None:
        self.refused += 1
        note(log, "an entry of a member was refused", logging.WARNING, reason=error)


def name_of(key: bytes) -> str:
    """A member in logs and tables."""
    return str(PublicKey(key).id)


def _ignore(_sender: bytes, _topic: Topic, _data: bytes) -> None:
    pass
