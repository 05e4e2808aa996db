"""The simulated network: nodes driven by real membership, over links with delays, partitions and crashes.

Membership runs as it does anywhere, in the simulator of `hypercup`: its messages may be lost, repeated and overtake
each other. What nodes say to each other goes over connections, which are first in, first out and lose nothing while
both ends live; a cut, or an end that stands still, only delays it. A crash ends the connections of a life, and what
was under way on them is lost. A super-peer's disk has the records that its node made, and the next life begins with the
state that they add up to; or without one, if the disk is lost as well.

The same seed and the same calls give the same run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Any

import auth
from auth import BatchVerifier, PublicKey
from hypercup import CubeKind, Faults, Kind, SimulatedNetwork, Stopped, UnstructuredKind, View, ViewChanged
from hypercup.effects import Effect
from hypercup.entry import Identity
from hypercup.hosts import Host, simulated_check, simulated_signature
from superpeer.node.exchange import InView
from superpeer.node.explaining import (
    NotificationExplained,
    SubscriptionExplained,
    explain_notification,
    explain_subscription,
)
from superpeer.node.limits import Limits
from superpeer.node.node import Node
from superpeer.node.publications import Publication
from superpeer.node.records import Record
from superpeer.node.requests import Reply, Request
from superpeer.node.state import State
from superpeer.node.workspace import Effects
from superpeer.sim.errors import SimulationError
from superpeer.sim.peer import Peer
from superpeer.sim.trace import Setup, Trace, traced

BACKBONES: dict[str, type[Kind]] = {"cube": CubeKind, "unstructured": UnstructuredKind}
SELECTIVE = "selective"
QUIET_STEP_S = 0.25
EPOCH_S = 1_750_000_000.0
"""The time of day when a simulation begins: identities and orders need one."""

Listener = Callable[[str, str, object], None]
"""Told of everything that is emitted: from whom, to whom, what."""


class SuperPeer:
    """A super-peer: its node while it runs, and its disk, which stays."""

    def __init__(self, number: int, skew_s: float) -> None:
        self.number = number
        self.name = name_of_super_peer(number)
        self.identity = identity_of_super_peer(self.name)
        self.key = self.identity.public.raw
        self.skew_s = skew_s
        self.node: Node | None = None
        self.disk: list[Record] = []
        self.acquaintances: set[str] = set()
        """On disk, too: the super-peers that it knew, so that it finds them again."""
        self.life = 0
        self.peers: list[Peer] = []
        self.is_leaving = False
        self.has_said_farewell = False
        self.wakeup: float | None = None

    def __repr__(self) -> str:
        return f"<SuperPeer {self.name}{'' if self.node else ', down'}>"

    @property
    def running_node(self) -> Node:
        if self.node is None:
            raise SimulationError(f"{self.name} is down; restart it first")
        return self.node


class Network:
    """Super-peers and peers in virtual time. With another `routing` than selective broadcast, subscriptions are placed
    by hashing: "strings", "intervals", "clusters", "words" or "triples", with the options of
    `superpeer.dht.network.HashPlacedNetwork`, which is what one gets."""

    node_class: type[Node] = Node

    def __new__(cls, *arguments: Any, routing: str = SELECTIVE, **options: Any) -> Any:
        if routing == SELECTIVE:
            return super().__new__(cls)
        from superpeer.dht.network import HashPlacedNetwork  # only where it is asked for: there is much to import

        return HashPlacedNetwork(*arguments, routing=routing, **options)

    def __init__(
        self,
        super_peers: int,
        seed: int = 0,
        *,
        routing: str = SELECTIVE,
        backbone: str = "cube",
        faults: Faults | None = None,
        limits: Limits | None = None,
        accepts_nonconforming: bool = False,
        **options: Any,
    ) -> None:
        assert routing == SELECTIVE, "every other routing makes another network"
        if options:
            raise SimulationError(f"selective broadcast has no option {next(iter(options))!r}; choose another routing")
        if backbone not in BACKBONES:
            raise SimulationError(f"there is no backbone {backbone!r}; there are {', '.join(BACKBONES)}")
        if super_peers < 1:
            raise SimulationError(f"a network has at least one super-peer, not {super_peers}")
        faults, limits = faults or Faults(), limits or Limits(new_peers_per_minute=1_000_000)
        self.trace = Trace(Setup(super_peers, seed, backbone, faults, limits, accepts_nonconforming))
        self.trace_number = None
        self.epoch = EPOCH_S
        self.counters: Counter[str] = Counter()
        self.super_peers: list[SuperPeer] = []
        self.peers: list[Peer] = []
        self.listeners: list[Listener] = []
        self._limits = limits
        self._accepts_nonconforming = accepts_nonconforming
        self._by_key: dict[bytes, SuperPeer] = {}
        self._by_id: dict[str, Peer] = {}
        self._under_way = 0
        self._last: dict[tuple[int, int], float] = {}
        self._delayed: list[tuple[SuperPeer, SuperPeer, tuple[int, int], Any]] = []
        self._random = Random(seed)
        self._verifier = BatchVerifier()
        self._members = _Members(self, seed, kind=BACKBONES[backbone], faults=faults)
        self._members.populate([name_of_super_peer(i) for i in range(super_peers)])
        self._begin_lives([self._add() for _ in range(super_peers)])

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._members.time

    @property
    def membership_messages(self) -> Counter[str]:
        """What membership sent, by kind; it is not among the `counters` of the nodes."""
        return self._members.messages

    def clock(self, super_peer: SuperPeer) -> float:
        """The time of day, as a super-peer has it."""
        return self.epoch + self.time + super_peer.skew_s

    def name_of(self, key: bytes) -> str:
        return self._by_key[key].name

    def public_key(self, super_peer: SuperPeer) -> PublicKey:
        return super_peer.identity.public

    def randbytes(self, size: int) -> bytes:
        return self._random.randbytes(size)

    @traced
    def add_peer(self, at: int) -> Peer:
        """A new peer, attached to a super-peer."""
        super_peer = self.super_peers[at]
        super_peer.running_node  # noqa: B018 - says that it is down
        peer = Peer(self, len(self.peers), super_peer)
        self.peers.append(peer)
        super_peer.peers.append(peer)
        peer.connect()
        return peer

    @traced
    def add_super_peer(self) -> int:
        """A new super-peer joins through any that runs; its number."""
        number = len(self.super_peers)
        self._members.join(name_of_super_peer(number))
        self._begin_lives([self._add()])
        return number

    @traced
    def crash(self, number: int, *, disk: bool = True) -> None:
        """A super-peer is gone with what it had in memory; its disk stays, unless that is lost, too."""
        super_peer = self.super_peers[number]
        super_peer.running_node  # noqa: B018 - says that it is down
        super_peer.acquaintances = self._members.member(super_peer.name).acquaintances
        if not disk:
            super_peer.disk.clear()
            super_peer.acquaintances = set()
        self._end_life(super_peer)
        self._members.crash(super_peer.name)

    @traced
    def leave(self, number: int) -> None:
        """A super-peer leaves in peace: it says farewell when the network has acknowledged what was published there.
        Its disk stays; its peers wait for its return, or go elsewhere."""
        super_peer = self.super_peers[number]
        super_peer.running_node  # noqa: B018 - says that it is down
        super_peer.is_leaving = True
        self._leave_if_done(super_peer)

    @traced
    def restart(self, number: int) -> None:
        """A super-peer begins a new life with its disk."""
        super_peer = self.super_peers[number]
        if super_peer.node is not None:
            raise SimulationError(f"{super_peer.name} is running already")
        self._members.restart(super_peer.name)
        for address in sorted(super_peer.acquaintances):
            self._members.member(super_peer.name).add_contact(address)
        self._begin_lives([super_peer])

    @traced
    def stall(self, number: int) -> None:
        """A super-peer gets no time, until others take it for dead."""
        self._members.stand_still(self.super_peers[number].name)

    @traced
    def resume(self, number: int) -> None:
        self._members.go_on(self.super_peers[number].name)
        self._send_delayed()

    def partition(self, groups: Iterable[Sequence[int]]) -> None:
        """Cuts the network between groups of super-peers; whoever is in none is with the first."""
        self.cut([list(group) for group in groups])

    @traced
    def cut(self, groups: list[list[int]]) -> None:
        self._members.partition([name_of_super_peer(number) for number in group] for group in groups)
        self._send_delayed()

    @traced
    def heal(self) -> None:
        self._members.heal()
        self._send_delayed()

    @traced
    def run(self, seconds: float | None = None) -> None:
        """Lets time pass; without a number, until all is quiet."""
        if seconds is not None:
            self._members.run(seconds)
            return
        limit = self._members.timing.convergence_s(len(self.super_peers)) + 60.0
        if self._members.run_until(self._is_quiet, limit, QUIET_STEP_S) is None:
            raise SimulationError(f"the network is not quiet after {limit:.0f} seconds")

    def run_until(self, condition: Callable[[], bool], limit_s: float) -> None:
        """Lets time pass until a condition holds, or so many seconds."""
        self._members.run_until(condition, limit_s, QUIET_STEP_S)

    def explain_subscription(self, peer: Peer, name: str) -> SubscriptionExplained:
        """Which advertisements cover a subscription, to which links it went, and what hides it."""
        return explain_subscription(peer.access_point.running_node, peer.id, name)

    def explain_notification(self, publication: str, peer: Peer | None = None) -> NotificationExplained:
        """Every step that a publication took; and why it did or did not reach a peer."""
        nodes = {one.key: one.node for one in self.super_peers if one.node is not None}
        found = (entry for node in nodes.values() for entry in node.state.log if entry.id == publication)
        entry = next(found, None)
        if entry is None:
            raise SimulationError(f"no log has a publication {publication}")
        if peer is None:
            return explain_notification(nodes, entry, self.name_of)
        return explain_notification(nodes, entry, self.name_of, peer.id, peer.access_point.key)

    def request(self, peer: Peer, request: Request) -> Reply:
        """What a peer asks of its access point, over a connection that takes no time."""
        super_peer, attached = peer.access_point, peer.memory.attached
        self._emit(peer.name, super_peer.name, (attached.private_id, request))
        now = self.clock(super_peer)
        reply, effects = super_peer.running_node.request(attached.public_id, attached.private_id, request, now)
        self._emit(super_peer.name, peer.name, reply)
        self.carry_out(super_peer, effects)
        return reply

    def note_identity(self, peer: Peer) -> None:
        """A peer is known under a public id from now on."""
        self._by_id[peer.id] = peer

    def note_exchange(self, peer: Peer, message: object, reply: object) -> None:
        """A peer registers, and listeners hear it."""
        self._emit(peer.name, peer.access_point.name, message)
        self._emit(peer.access_point.name, peer.name, reply)

    def verify(self, publication: Publication) -> None:
        """What every subscriber does. They share what they verified, as they are in one process."""
        self._verifier.verify(publication.source, publication.draft.item, publication.draft.proof)

    def carry_out(self, super_peer: SuperPeer, effects: Effects) -> None:
        """Writes to disk, then sends what a node says, and tells its peers what came for them."""
        super_peer.disk += effects.records
        for key, message in effects.messages:
            self._send(super_peer, self._by_key[key], message)
        for public_id, event in effects.events:
            peer = self._by_id.get(public_id)
            # What a peer says to one event may be the last thing that its super-peer waited for before it left.
            if peer is not None and peer.access_point is super_peer and peer.is_served:
                self._emit(super_peer.name, peer.name, event)
                peer.hear(event)
        self._schedule(super_peer)
        if super_peer.is_leaving:
            self._leave_if_done(super_peer)

    def enter_view(self, name: str, view: View) -> None:
        """Membership has moved a super-peer to another view."""
        super_peer = self.super_peers[number_of_super_peer(name)]
        if super_peer.node is not None:
            self.carry_out(super_peer, super_peer.node.enter_view(view, self.clock(super_peer)))

    def stopped(self, name: str) -> None:
        """Membership has said farewell."""
        self._end_life(self.super_peers[number_of_super_peer(name)])

    def _add(self) -> SuperPeer:
        drift = self._members.faults.clock_drift
        super_peer = SuperPeer(len(self.super_peers), self._random.uniform(-100, 100) * drift)
        self.super_peers.append(super_peer)
        self._by_key[super_peer.key] = super_peer
        return super_peer

    def _begin_lives(self, super_peers: Iterable[SuperPeer]) -> None:
        super_peers = list(super_peers)
        for super_peer in super_peers:
            super_peer.life += 1
            super_peer.wakeup = None
            state = State()
            for record in super_peer.disk:
                state.apply(record)
            super_peer.node = self.node_class(
                super_peer.identity,
                f"{super_peer.name}.example.org:4000",
                state,
                now=self.clock(super_peer),
                random=self.randbytes,
                limits=self._limits,
                accepts_nonconforming=self._accepts_nonconforming,
            )
        for super_peer in super_peers:
            view = self._members.member(super_peer.name).view
            self.carry_out(super_peer, super_peer.running_node.enter_view(view, self.clock(super_peer)))
            for peer in list(super_peer.peers):
                peer.attach()

    def _end_life(self, super_peer: SuperPeer) -> None:
        super_peer.node = None
        super_peer.is_leaving = super_peer.has_said_farewell = False
        for peer in super_peer.peers:
            peer.hang_up()

    def _leave_if_done(self, super_peer: SuperPeer) -> None:
        if not super_peer.has_said_farewell and not super_peer.running_node.state.log.unacknowledged:
            super_peer.has_said_farewell = True
            super_peer.acquaintances = self._members.member(super_peer.name).acquaintances
            self._members.leave(super_peer.name)

    def _schedule(self, super_peer: SuperPeer) -> None:
        """Wakes a node when it wants to be woken."""
        wakeup = super_peer.node.next_wakeup if super_peer.node else None
        if wakeup is not None and (super_peer.wakeup is None or wakeup < super_peer.wakeup):
            super_peer.wakeup = wakeup
            time = max(self.time, wakeup - self.epoch - super_peer.skew_s)
            self._members.at(time, partial(self._wake, super_peer, super_peer.life, wakeup))

    def _wake(self, super_peer: SuperPeer, life: int, wakeup: float) -> None:
        if super_peer.node is None or super_peer.life != life or super_peer.wakeup != wakeup:
            return
        super_peer.wakeup = None
        self.carry_out(super_peer, super_peer.node.tick(max(wakeup, self.clock(super_peer))))

    def _send(self, sender: SuperPeer, receiver: SuperPeer, message: Any) -> None:
        content = message.content if isinstance(message, InView) else message
        self.counters[type(content).__name__] += 1
        self._emit(sender.name, receiver.name, message)
        way = (sender.number, receiver.number)
        faults = self._members.faults
        delay = self._members.random.uniform(faults.min_delay_s, faults.max_delay_s)
        self._last[way] = arrival = max(self._last.get(way, 0.0), self.time + delay)
        self._under_way += 1
        lives = (sender.life, receiver.life)
        self._members.at(arrival, partial(self._arrive, sender, receiver, lives, message))

    def _arrive(self, sender: SuperPeer, receiver: SuperPeer, lives: tuple[int, int], message: Any) -> None:
        if sender.node is None or receiver.node is None or lives != (sender.life, receiver.life):
            self._under_way -= 1
        elif self._members.is_cut(sender.name, receiver.name):
            self._delayed.append((sender, receiver, lives, message))
        else:
            self._under_way -= 1
            self.carry_out(receiver, receiver.node.receive(sender.key, message, self.clock(receiver)))

    def _send_delayed(self) -> None:
        """What a cut held back goes on, in its order, as far as there is still a way."""
        delayed, self._delayed = self._delayed, []
        for sender, receiver, lives, message in delayed:
            self._arrive(sender, receiver, lives, message)

    def _emit(self, sender: str, receiver: str, what: object) -> None:
        for listener in self.listeners:
            listener(sender, receiver, what)

    def _is_quiet(self) -> bool:
        """Nothing is under way but what a cut holds back, and all who can agree on their view do."""
        is_somebody_leaving = any(one.is_leaving for one in self.super_peers)
        quiet = self._under_way == len(self._delayed) and not is_somebody_leaving
        return quiet and self._members.is_settled_by_sides()


class _Members(SimulatedNetwork):
    """The membership of all super-peers; it tells the network of each new view."""

    def __init__(self, network: Network, seed: int, *, kind: type[Kind], faults: Faults) -> None:
        super().__init__(seed, kind=kind, faults=faults, identity_of=member_identity)
        self._network = network

    def at(self, time: float, happen: Any) -> None:
        self._at(time, happen)

    def is_cut(self, one: str, other: str) -> bool:
        """Whether nothing gets from one to the other now: a cut, or one of them stands still."""
        still = self.hosts[one].is_still or self.hosts[other].is_still
        return still or self._sides.get(one, 0) != self._sides.get(other, 0)

    def _carry_out(self, host: Host, effects: list[Effect]) -> None:
        super()._carry_out(host, effects)
        for effect in effects:
            if isinstance(effect, ViewChanged) and host.member is not None:
                self._network.enter_view(host.name, effect.view)
            elif isinstance(effect, Stopped):
                self._network.stopped(host.name)


def identity_of_super_peer(name: str) -> auth.Identity:
    return auth.Identity(blake2b(name.encode(), digest_size=32, person=b"simulated").digest())


def member_identity(name: str) -> Identity:
    """The same key in membership, with signatures that cost nothing and that nobody in a simulation tries to forge."""
    key = identity_of_super_peer(name).public.raw
    return Identity(key, partial(simulated_signature, key), simulated_check)


def name_of_super_peer(number: int) -> str:
    return f"sp{number}"


def number_of_super_peer(name: str) -> int:
    return int(name.removeprefix("sp"))
