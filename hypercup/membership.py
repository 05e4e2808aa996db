"""Membership: every super-peer knows all super-peers, as a state machine without input or output.

Whoever drives a `Membership` passes it the messages that arrive and the time, carries out the effects it
returns, and calls `tick` when `next_wakeup` has come. There is no clock, no socket and no chance in it.

*Joining.* A newcomer announces itself to one address, again with every heartbeat until it is answered. The
member there broadcasts the news and compares tables with it.

*News.* What a member learns from the one concerned (a join, a refutation, a farewell), a verdict it
pronounces, or a change of its own entry, it broadcasts over the backbone. Everyone takes the news in first
and passes it on in the view that results, so all use the same tree: N - 1 messages, each member once.

*Healing.* Every heartbeat carries the digest of the sender's living entries. Where digests differ twice in
a row, the two compare buckets and exchange the entries of those that differ. So lost news arrives late, not
never.

*Death.* See `detector` for suspicion. A verdict that arrives as news is believed. One that is found by
comparing tables is old: after a partition each side has pronounced the other dead, and believing all this
at once would leave nobody. Such a verdict is first put to the accused, who refutes it with a higher
incarnation, and believed when `refute_s` pass without an answer.

*Contact.* Whoever gets a message from a member that it holds for dead, or for an older incarnation than it
knows, says so to the sender, who then refutes. Members call the dead, and their first contacts, at a slow
rate for as long as they remember them: this is how the two sides of a partition meet again.

*Settling.* When a view has lasted for a while, a member states the place that the backbone gives it (its
label, or its links) in its entry. Because `place` gives a label that is claimed again, nothing moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Self

from hypercup.backbone import Link
from hypercup.effects import Effect, Stopped
from hypercup.entry import Entry, Identity, Status, check_limits
from hypercup.knowledge import Lesson
from hypercup.messages import (
    Announce,
    AnyMessage,
    Ask,
    Compare,
    Entries,
    Heartbeat,
    News,
    Received,
    Tone,
    Vouch,
)
from hypercup.participant import Participant
from hypercup.table import Table
from hypercup.timing import Timing
from hypercup.view import Views


class Membership(Participant):
    """One member's part in the protocol."""

    def __init__(
        self,
        identity: Identity,
        table: Table,
        now: float,
        *,
        views: Views,
        contacts: Sequence[str] = (),
        timing: Timing | None = None,
    ) -> None:
        """A member in the middle of its life: the table has its own entry. See `start` for a beginning."""
        super().__init__(identity, table, now, views, timing or Timing())
        self.contacts = tuple(contact for contact in contacts if contact != self.entry.address)
        self.overcrowded = 0
        self._asked: dict[bytes, dict[bytes, float]] = {}
        self._quiet: dict[bytes, tuple[int, int, int, bytes, bytes]] = {}
        self._joined = not self.contacts
        self._farewells: list[str] | None = None
        self._stopped = False
        self._next_contact = 0
        self._next_heartbeat = now
        self._next_call = now + self.timing.reconnect_s
        self._settled_since = -inf

    @classmethod
    def start(
        cls,
        identity: Identity,
        address: str,
        incarnation: int,
        now: float,
        *,
        views: Views,
        contacts: Sequence[str] = (),
        timing: Timing | None = None,
        known: Table | None = None,
    ) -> Self:
        """A new life. The incarnation is higher than any before, as a clock or a counter on disk gives it.

        `known` is what a former life wrote down, if it did: then it need not find its contacts again.
        """
        table = known.fork() if known is not None else Table()
        former = table.get(identity.key)
        if former is None:
            entry = Entry(identity.key, address, incarnation)
        else:
            higher = max(incarnation, former.incarnation + 1)
            entry = Entry(identity.key, address, higher, claim=former.claim, links=former.links)
        check_limits(entry)
        table.put(identity.signed(entry), now)
        return cls(identity, table, now, views=views, contacts=contacts, timing=timing)

    @property
    def refused(self) -> int:
        """How many entries and newcomers were turned away."""
        return self._knowledge.refused + self.overcrowded

    @property
    def is_stopped(self) -> bool:
        return self._stopped

    @property
    def next_wakeup(self) -> float:
        """When `tick` has something to do, unless a message comes first."""
        if self._stopped:
            return inf
        if self._farewells is not None:
            return self._next_heartbeat
        return min(
            self._next_heartbeat, self._next_call, self._settle_at, self._detector.wakeup, self._knowledge.believe_at
        )

    def receive(self, message: AnyMessage, now: float) -> list[Effect]:
        """Take in a message that another member sent."""
        if self._stopped or message.sender == self.key:
            return []
        match message:
            case Heartbeat():
                self._on_heartbeat(message, now)
            case News():
                self._on_news(message, now)
            case Entries():
                self._on_entries(message, now)
            case Compare():
                self._on_compare(message)
            case Announce():
                self._on_announce(message, now)
            case Received():
                self._on_received(message)
            case Ask():
                self._on_ask(message, now)
            case Vouch():
                self._on_vouch(message, now)
        return self._flush(now)

    def tick(self, now: float) -> list[Effect]:
        """Do what is due."""
        if self._stopped:
            return []
        if now >= self._next_heartbeat:
            if now - self._next_heartbeat > self.timing.suspect_after_s / 2:
                self._detector.forgive_all(now)
            self._next_heartbeat = now + self.timing.heartbeat_s
            self._beat(now)
        if self._farewells is None:
            self._pursue_suspects(now)
            self._knowledge.believe_held(now)
            if now >= self._next_call:
                self._next_call = now + self.timing.reconnect_s
                self._call_the_lost()
            if now >= self._settle_at:
                self._settled_since = self._view_since
                self._settle(now)
        return self._flush(now)

    def add_contact(self, address: str) -> None:
        """Another address to join through, or to find the others by after a partition."""
        if address not in (self.entry.address, *self.contacts):
            self.contacts = (*self.contacts, address)

    @property
    def acquaintances(self) -> set[str]:
        """The addresses this member knows and would turn to: of the living, of the dead, and its contacts."""
        known = {entry.address for entry in self.table if entry.status is not Status.LEFT}
        return (known | {*self.contacts}) - {self.entry.address}

    def leave(self, now: float) -> list[Effect]:
        """Say farewell. `Stopped` follows when a neighbour has heard it, or after trying each twice."""
        if self._stopped or self._farewells is not None:
            return []
        neighbours = [self.table.get(key) for key in self._detector.neighbours]
        self._farewells = [entry.address for entry in neighbours if entry is not None] * 2
        self._knowledge.restate(now, status=Status.LEFT)
        self._next_heartbeat = now + self.timing.heartbeat_s
        self._detector.follow({}, now)
        self._say_farewell()
        return self._flush(now)

    @property
    def _settle_at(self) -> float:
        """When this view has lasted for a while, unless this was done in it already."""
        return self._view_since + self.timing.settle_s if self._view_since > self._settled_since else inf

    # Messages, one by one.

    def _on_heartbeat(self, message: Heartbeat, now: float) -> None:
        if self._farewells is not None:
            return
        known = self.table.get(message.sender)
        if known is None or known.incarnation < message.incarnation:
            self._compare(message.address)
            return
        if not known.is_alive or known.incarnation > message.incarnation:
            self._send(message.address, self._entries((known,)))
            return
        self._hear(message.sender, now)
        if message.tone is Tone.CALL or (message.tone is Tone.REGULAR and message.sender not in self._detector):
            self._send(message.address, self._heartbeat(Tone.ANSWER))
        if message.tone is not Tone.REGULAR:
            if message.digest != self.table.digest:
                self._compare(message.address)
        elif self._differs.persists(message.sender, message.digest, self.table.digest, self.key < message.sender):
            self._compare(message.address)

    def _on_news(self, message: News, now: float) -> None:
        fresh = tuple(entry for entry in message.entries if self._is_to_be_passed_on(entry, now, message.address))
        if fresh and self._farewells is None:
            self._joined = True
            self._see(now)
            self._broadcast(fresh, Link(message.sender, message.dimension))

    def _is_to_be_passed_on(self, entry: Entry, now: float, teller: str) -> bool:
        """Whether news is new here, or was learned by comparing tables just before, and so went no further."""
        learned_quietly = self._quiet.pop(entry.key, None) == entry.rank
        return self._learn(entry, now, teller, is_news=True) or learned_quietly

    def _on_compare(self, message: Compare) -> None:
        if self._farewells is not None:
            return
        self._joined = True
        for buckets in self._knowledge.differing(message.buckets):
            self._send(message.address, self._entries(self.table.in_buckets(buckets), tuple(buckets)))

    def _on_entries(self, message: Entries, now: float) -> None:
        for entry in message.entries:
            if self._learn(entry, now, message.address):
                self._quiet[entry.key] = entry.rank
        if message.buckets and self._farewells is None:
            self._joined = True
            for better in self._knowledge.better_than(message.entries, message.buckets):
                self._send(message.address, self._entries(better))

    def _on_announce(self, message: Announce, now: float) -> None:
        entry = message.entry
        if self._farewells is not None or entry.key != message.sender:
            return
        stranger = self.table.get(entry.key) is None
        if stranger and self.table.living_count >= self.timing.max_members:
            self.overcrowded += 1
            return
        is_new = self._learn(entry, now, message.address)
        known = self.table.get(entry.key)
        if known is None:
            return
        if known.rank > entry.rank and not known.is_alive:
            self._send(message.address, self._entries((known,)))
            return
        if is_new and entry.is_alive:
            self._see(now)
            self._broadcast((entry,))
        elif is_new:
            self._raise_epoch(now)
            self._see(now)
            self._broadcast((entry, self.entry))
        self._send(message.address, Received(*self._sender(), entry.incarnation, entry.version))
        if entry.is_alive:
            self._hear(entry.key, now)
            if message.digest != self.table.digest:
                self._compare(message.address)

    def _on_received(self, message: Received) -> None:
        if self._farewells is None:
            # Where both knew the same already, there is nothing to compare, and this is the only answer.
            self._joined = self._joined or len(self.view) > 1
        elif (message.incarnation, message.version) == (self.entry.incarnation, self.entry.version):
            self._stop(heard=True)

    def _on_ask(self, message: Ask, now: float) -> None:
        target = self.table.get(message.target)
        if self._farewells is None and target and {message.target, message.sender} <= self.view.incarnations.keys():
            until = now + self.timing.verdict_after_s
            self._asked.setdefault(message.target, {})[message.sender] = until
            self._send(target.address, self._heartbeat(Tone.CALL))

    def _on_vouch(self, message: Vouch, now: float) -> None:
        target = self.table.get(message.target)
        if target is not None and message.incarnation >= target.incarnation:
            self._detector.heard(message.target, now)

    # What is due.

    def _beat(self, now: float) -> None:
        if self._farewells is not None:
            self._say_farewell()
            return
        regular = self._heartbeat(Tone.REGULAR)
        for key in self._detector.neighbours:
            neighbour = self.table.get(key)
            assert neighbour is not None, "a neighbour has an entry"
            self._send(neighbour.address, regular)
        self._detector.suspect_the_silent(now, self._turn)
        if not self._joined:
            contact = self.contacts[self._next_contact % len(self.contacts)]
            self._next_contact += 1
            self._announce(contact)
        self.table.forget(now - self.timing.tombstone_s, self.timing.max_tombstones)
        if self._asked:
            self._asked = {
                target: waiting
                for target, requesters in self._asked.items()
                if (waiting := {key: until for key, until in requesters.items() if until > now})
            }

    def _turn(self, suspect: bytes) -> int:
        return self.view.position(suspect).neighbours.index(self.key)

    def _pursue_suspects(self, now: float) -> None:
        ask, condemn = self._detector.due(now)
        for suspect in ask:
            self._send_to(suspect, self._heartbeat(Tone.CALL))
            helpers = [key for key in self._detector.neighbours if key != suspect]
            # Starting behind the suspect in the ring of keys spreads the questions over the neighbours.
            helpers.sort(key=lambda key: (key < suspect, key))
            for helper in helpers[: self.timing.asked]:
                self._send_to(helper, Ask(*self._sender(), suspect))
        verdicts = []
        for suspect in condemn:
            entry = self.table.get(suspect)
            if entry is not None and entry.is_alive:
                verdicts.append(self._knowledge.identity.pronounced_dead(entry))
                self._knowledge.put(verdicts[-1], now)
        if verdicts:
            self._raise_epoch(now)
            self._see(now)
            self._broadcast((*verdicts, self.entry))

    def _raise_epoch(self, now: float) -> None:
        """Somebody is gone, and the view without it may have been there before: this makes it another one."""
        self._knowledge.restate(now, epoch=self.entry.epoch + 1)

    def _call_the_lost(self) -> None:
        living = {entry.address for entry in self.table.living} if self.contacts else set()
        lost = [entry.address for entry in self.table.tombstones if entry.status is Status.DEAD]
        lost += [contact for contact in self.contacts if contact not in living]
        if lost:
            start = int.from_bytes(self.key[-4:], "big") + self._next_contact
            self._next_contact += 1
            self._send(lost[start % len(lost)], self._heartbeat(Tone.CALL))

    def _settle(self, now: float) -> None:
        self._quiet.clear()
        if self._joined:
            choice = self._views.kind.choose(self.entry, self.view.backbone)
            if choice != (self.entry.claim, self.entry.links):
                self._knowledge.restate(now, claim=choice.claim, links=choice.links)
                self._see(now)
                self._broadcast((self.entry,))

    # Learning and telling.

    def _learn(self, entry: Entry, now: float, teller: str, *, is_news: bool = False) -> bool:
        """Take in an entry; whether it was new."""
        match self._knowledge.learn(entry, now, is_news=is_news):
            case Lesson.NEW:
                return True
            case Lesson.HELD:
                self._send_to(entry.key, self._entries((entry,)))
            case Lesson.ABOUT_ME:
                self._refute(entry, now, teller)
        return False

    def _refute(self, entry: Entry, now: float, teller: str) -> None:
        """Somebody knows more of this member than it does itself: a verdict, or an earlier life."""
        if self._farewells is None:
            self._knowledge.restate(now, incarnation=entry.incarnation + 1, version=0)
            self._see(now)
            self._broadcast((self.entry,))
            self._announce(teller)

    def _hear(self, member: bytes, now: float) -> None:
        self._detector.heard(member, now)
        entry = self.table.get(member)
        if entry is not None:
            for requester in self._asked.pop(member, ()):
                self._send_to(requester, Vouch(*self._sender(), member, entry.incarnation))

    def _say_farewell(self) -> None:
        if self._farewells:
            self._announce(self._farewells.pop(0))
        else:
            self._stop(heard=False)

    def _stop(self, *, heard: bool) -> None:
        self._stopped = True
        self._effects.append(Stopped(heard))
