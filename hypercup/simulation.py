"""A whole backbone in one process: members, a network that misbehaves, and virtual time, from one seed.

Messages take a random time each, so they overtake one another; they are lost and repeated with stated
probabilities; clocks run fast and slow. Members join, leave, crash, restart, stand still (slow, or wrongly
suspected) and are cut off from each other by name. The same seed and the same calls give the same run.

Members share the cache of views, which are pure functions of what they know, and nothing else.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from random import Random

from hypercup.backbone import CubeKind, Kind
from hypercup.effects import Effect, Send, Stopped, ViewChanged
from hypercup.entry import Entry, Identity
from hypercup.errors import HypercupError, UnknownMember
from hypercup.hosts import CALM, Faults, Host, simulated_identity
from hypercup.membership import Membership
from hypercup.messages import AnyMessage
from hypercup.table import Table
from hypercup.timing import Timing
from hypercup.view import Views

# So often at one moment, and a member that wants to be woken would never let time pass.
MOST_WAKEUPS = 1000


class SimulatedNetwork:
    """Super-peers by name, in virtual time."""

    def __init__(
        self,
        seed: int,
        *,
        kind: Callable[[], Kind] = CubeKind,
        timing: Timing | None = None,
        faults: Faults = CALM,
        member_class: type[Membership] = Membership,
        identity_of: Callable[[str], Identity] = simulated_identity,
    ) -> None:
        self.random = Random(seed)
        self.timing = timing or Timing()
        self.faults = faults
        self.time = 0.0
        self.hosts: dict[str, Host] = {}
        self.messages: Counter[str] = Counter()
        self.views = Views(kind())
        self._member_class = member_class
        self._identity_of = identity_of
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._sides: dict[str, int] = {}

    # What happens to members.

    def join(self, name: str, contact: str | None = None) -> None:
        """Start a new member. Without a contact it knows one living member by address, if there is one."""
        if name in self.hosts:
            raise HypercupError(f"{name} has joined before; restart it")
        running = self.running
        host = self._host(name)
        if contact is None and running:
            contact = self.random.choice(running)
        host.contacts = (contact,) if contact else ()
        self._begin(host)

    def leave(self, name: str) -> None:
        host = self._running(name)
        assert host.member is not None
        self._carry_out(host, host.member.leave(host.clock(self.time)))

    def crash(self, name: str) -> None:
        """The member is gone, and so is its memory."""
        host = self._running(name)
        self._end(host)
        host.is_still = False
        host.waiting.clear()

    def restart(self, name: str) -> None:
        """Begin a new life with a higher incarnation, through its contacts or anyone it can reach."""
        host = self._known(name)
        if host.member is not None:
            raise HypercupError(f"{name} is running already")
        running = self.running
        if running:
            host.contacts = (self.random.choice(running),)
        self._begin(host)

    def stand_still(self, name: str) -> None:
        """The process gets no time: it neither hears nor speaks until it goes on."""
        self._running(name).is_still = True

    def go_on(self, name: str) -> None:
        host = self._running(name)
        host.is_still = False
        waiting, host.waiting = host.waiting, []
        for message in waiting:
            self._deliver(host, message)
        self._schedule(host)

    def partition(self, groups: Iterable[Iterable[str]]) -> None:
        """Cut the network. Whoever is in no group is with the first."""
        self._sides = {name: side for side, group in enumerate(groups) for name in group}

    def heal(self) -> None:
        self._sides = {}

    # What can be seen.

    @property
    def running(self) -> list[str]:
        """The names of those who take part and mean to stay."""
        return [name for name, host in self.hosts.items() if host.member and host.member.entry.is_alive]

    def member(self, name: str) -> Membership:
        member = self._running(name).member
        assert member is not None
        return member

    def name_of(self, key: bytes) -> str:
        return self._names.get(key, key.hex()[:8])

    @property
    def awake(self) -> list[str]:
        """Those of the running who do not stand still."""
        return [name for name in self.running if not self.hosts[name].is_still]

    @property
    def sides(self) -> list[list[str]]:
        """Those who are awake, by the side of the partition they are on."""
        sides: dict[int, list[str]] = {}
        for name in self.awake:
            sides.setdefault(self._sides.get(name, 0), []).append(name)
        return list(sides.values())

    def is_agreed(self, names: Sequence[str] | None = None) -> bool:
        """Whether these members (all who run) are in one view that has exactly them, as they are now."""
        members = [self.member(name) for name in (self.running if names is None else names)]
        if not members:
            return True
        first = members[0].view
        return len(first) == len(members) and all(
            member.view.id == first.id and first.incarnations.get(member.key) == member.entry.incarnation
            for member in members
        )

    def is_settled(self, names: Sequence[str] | None = None) -> bool:
        """Whether, besides, all have stated the place they have, and know each other's statements."""
        members = [self.member(name) for name in (self.running if names is None else names)]
        choose = self.views.kind.choose
        return self.is_agreed(names) and all(
            member.table.digest == members[0].table.digest
            and choose(member.entry, member.view.backbone) == (member.entry.claim, member.entry.links)
            for member in members
        )

    def is_agreed_by_sides(self) -> bool:
        return all(self.is_agreed(side) for side in self.sides)

    def is_settled_by_sides(self) -> bool:
        return all(self.is_settled(side) for side in self.sides)

    # Time.

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self._run_until(self.time + seconds)

    def run_until(self, condition: Callable[[], bool], limit_s: float, step_s: float = 0.05) -> float | None:
        """The time it takes until a condition holds, or None if it does not within the limit."""
        start = self.time
        while not condition():
            if self.time - start >= limit_s:
                return None
            self._run_until(self.time + step_s)
        return self.time - start

    def populate(self, names: Sequence[str]) -> None:
        """Put members in the middle of their lives, settled in one view, with one table shared by all."""
        hosts = [self._host(name) for name in names]
        for host in hosts:
            host.incarnation = 1
        entries = [Entry(host.identity.key, host.name, 1) for host in hosts]
        for _ in range(2):
            table = Table(host.identity.signed(entry) for host, entry in zip(hosts, entries, strict=True))
            backbone = self.views.view(table).backbone
            choices = [self.views.kind.choose(entry, backbone) for entry in entries]
            entries = [
                Entry(entry.key, entry.address, 1, claim=choice.claim, links=choice.links)
                for entry, choice in zip(entries, choices, strict=True)
            ]
        table = Table(host.identity.signed(entry) for host, entry in zip(hosts, entries, strict=True))
        for host in hosts:
            now = host.clock(self.time)
            host.member = self._member_class(host.identity, table.fork(), now, views=self.views, timing=self.timing)
            # Heartbeats of thousands of members do not fall on the same instant in any real network.
            self._wake_at(host, self.time + self.random.random() * self.timing.heartbeat_s)

    # How it works.

    def _run_until(self, end: float) -> None:
        events = self._events
        while events and events[0][0] <= end:
            self.time, _, happen = heapq.heappop(events)
            happen()
        self.time = end

    def _end(self, host: Host) -> None:
        """A life ends. How far its incarnation got, by refuting verdicts, is on disk: the next one is higher."""
        if host.member is not None:
            host.incarnation = max(host.incarnation, host.member.entry.incarnation)
        host.member, host.wakeup = None, inf

    def _begin(self, host: Host) -> None:
        host.incarnation += 1
        host.member = self._member_class.start(
            host.identity,
            host.name,
            host.incarnation,
            host.clock(self.time),
            views=self.views,
            contacts=host.contacts,
            timing=self.timing,
        )
        self._schedule(host)

    def _at(self, time: float, happen: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time, self._sequence, happen))

    def _wake_at(self, host: Host, time: float) -> None:
        host.wakeup = time
        self._at(time, partial(self._wake, host, time))

    def _schedule(self, host: Host) -> None:
        if host.member is not None and not host.is_still:
            wakeup = max(self.time, host.true_time(host.member.next_wakeup))
            if wakeup < host.wakeup and wakeup < inf:
                self._wake_at(host, wakeup)

    def _wake(self, host: Host, time: float) -> None:
        if host.wakeup == time:
            host.wakeup = inf
            host.woken = (time, host.woken[1] + 1 if host.woken[0] == time else 1)
            assert host.woken[1] < MOST_WAKEUPS, f"{host.name} wants to be woken at {time} for ever"
            if host.member is not None and not host.is_still:
                # Rounding must not wake a member a moment before its time, again and again.
                now = max(host.clock(time), min(host.member.next_wakeup, host.clock(time) + 1e-6))
                self._carry_out(host, host.member.tick(now))

    def _carry_out(self, host: Host, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(address, message):
                    self._transmit(host, address, message)
                case ViewChanged():
                    host.views_seen += 1
                case Stopped():
                    self._end(host)
        self._schedule(host)

    def _transmit(self, sender: Host, address: str, message: AnyMessage) -> None:
        self.messages[type(message).__name__] += 1
        faults, random = self.faults, self.random
        copies = 1
        if faults.loss and random.random() < faults.loss:
            copies = 0
        elif faults.duplication and random.random() < faults.duplication:
            copies = 2
        receiver = self.hosts.get(address)
        if receiver is None or self._sides.get(sender.name, 0) != self._sides.get(address, 0):
            return
        for _ in range(copies):
            delay = random.uniform(faults.min_delay_s, faults.max_delay_s)
            self._at(self.time + delay, partial(self._arrive, sender.name, receiver, message))

    def _arrive(self, sender: str, receiver: Host, message: AnyMessage) -> None:
        if self._sides.get(sender, 0) != self._sides.get(receiver.name, 0):
            return
        if receiver.is_still:
            receiver.waiting.append(message)
        else:
            self._deliver(receiver, message)

    def _deliver(self, host: Host, message: AnyMessage) -> None:
        if host.member is not None:
            self._carry_out(host, host.member.receive(message, host.clock(self.time)))

    def _host(self, name: str) -> Host:
        drift = self.faults.clock_drift
        rate, offset = self.random.uniform(1 - drift, 1 + drift), self.random.uniform(0, 1000)
        host = Host(name, self._identity_of(name), rate, offset)
        self.hosts[name] = host
        return host

    @property
    def _names(self) -> dict[bytes, str]:
        return {host.identity.key: name for name, host in self.hosts.items()}

    def _known(self, name: str) -> Host:
        if name not in self.hosts:
            raise UnknownMember(f"there is no member called {name}")
        return self.hosts[name]

    def _running(self, name: str) -> Host:
        host = self._known(name)
        if host.member is None:
            raise UnknownMember(f"{name} is not running")
        return host
