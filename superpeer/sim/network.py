"""The simulated network: nodes driven by real membership, over links with delays, partitions and crashes.

Membership runs as it does anywhere, in the simulator of `hypercup`: its messages may be lost, repeated and overtake
each other. What nodes say to each other goes over connections, which are first in, first out and lose nothing while
both ends live; a cut, or an end that stands still, only delays it. A crash ends the connections of a life, and what
was under way on them is lost. The disk of a super-peer, its log, queues, subscriptions and advertisements, survives.

The same seed and the same calls give the same run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from hypercup import CubeKind, Faults, Kind, SimulatedNetwork, UnstructuredKind, View, ViewChanged
from hypercup.effects import Effect
from hypercup.hosts import Host
from superpeer.node.exchange import InView
from superpeer.node.node import Effects, Node
from superpeer.sim.errors import SimulationError
from superpeer.sim.peer import Peer

BACKBONES: dict[str, type[Kind]] = {"cube": CubeKind, "unstructured": UnstructuredKind}
QUIET_STEP_S = 0.25


class SuperPeer:
    """A super-peer: its node while it runs, and its disk while it does not."""

    def __init__(self, number: int, key: bytes) -> None:
        self.number = number
        self.name = name_of_super_peer(number)
        self.key = key
        self.node: Node | None = None
        self.disk: Node | None = None
        self.acquaintances: set[str] = set()
        """On disk, too: the super-peers that it knew, so that it finds them again."""
        self.life = 0
        self.peers: list[Peer] = []

    def __repr__(self) -> str:
        return f"<SuperPeer {self.name}{'' if self.node else ', down'}>"

    @property
    def running_node(self) -> Node:
        if self.node is None:
            raise SimulationError(f"{self.name} is down; restart it first")
        return self.node


class Network:
    """Super-peers and peers in virtual time."""

    def __init__(
        self, super_peers: int, seed: int = 0, *, backbone: str = "cube", faults: Faults | None = None
    ) -> None:
        if backbone not in BACKBONES:
            raise SimulationError(f"there is no backbone {backbone!r}; there are {', '.join(BACKBONES)}")
        if super_peers < 1:
            raise SimulationError(f"a network has at least one super-peer, not {super_peers}")
        self.counters: Counter[str] = Counter()
        self.super_peers: list[SuperPeer] = []
        self._by_key: dict[bytes, SuperPeer] = {}
        self._peers = 0
        self._under_way = 0
        self._last: dict[tuple[int, int], float] = {}
        self._delayed: list[tuple[SuperPeer, SuperPeer, tuple[int, int], Any]] = []
        self._members = _Members(self, seed, kind=BACKBONES[backbone], faults=faults or Faults())
        self._members.populate([name_of_super_peer(i) for i in range(super_peers)])
        self._begin_lives([self._add(host) for host in self._members.hosts.values()])

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._members.time

    def name_of(self, key: bytes) -> str:
        return self._by_key[key].name

    def add_peer(self, at: int) -> Peer:
        """A new peer, attached to a super-peer."""
        super_peer = self.super_peers[at]
        peer = Peer(self, f"peer {self._peers}", super_peer)
        self._peers += 1
        super_peer.peers.append(peer)
        return peer

    def add_super_peer(self) -> int:
        """A new super-peer joins through any that runs; its number."""
        number = len(self.super_peers)
        self._members.join(name_of_super_peer(number))
        self._begin_lives([self._add(self._members.hosts[name_of_super_peer(number)])])
        return number

    def crash(self, number: int) -> None:
        """A super-peer is gone with what it had in memory; its disk stays."""
        super_peer = self.super_peers[number]
        super_peer.disk, super_peer.node = super_peer.running_node, None
        super_peer.acquaintances = self._members.member(super_peer.name).acquaintances
        self._members.crash(super_peer.name)

    def restart(self, number: int) -> None:
        """A super-peer begins a new life with its disk."""
        super_peer = self.super_peers[number]
        if super_peer.node is not None:
            raise SimulationError(f"{super_peer.name} is running already")
        self._members.restart(super_peer.name)
        for address in sorted(super_peer.acquaintances):
            self._members.member(super_peer.name).add_contact(address)
        self._begin_lives([super_peer])

    def stall(self, number: int) -> None:
        """A super-peer gets no time, until others take it for dead."""
        self._members.stand_still(self.super_peers[number].name)

    def resume(self, number: int) -> None:
        self._members.go_on(self.super_peers[number].name)
        self._send_delayed()

    def partition(self, groups: Iterable[Sequence[int]]) -> None:
        """Cuts the network between groups of super-peers; whoever is in none is with the first."""
        self._members.partition([name_of_super_peer(number) for number in group] for group in groups)
        self._send_delayed()

    def heal(self) -> None:
        self._members.heal()
        self._send_delayed()

    def run(self, seconds: float | None = None) -> None:
        """Lets time pass; without a number, until all is quiet."""
        if seconds is not None:
            self._members.run(seconds)
            return
        limit = self._members.timing.convergence_s(len(self.super_peers)) + 60.0
        if self._members.run_until(self._is_quiet, limit, QUIET_STEP_S) is None:
            raise SimulationError(f"the network is not quiet after {limit:.0f} seconds")

    def carry_out(self, super_peer: SuperPeer, effects: Effects) -> None:
        """Sends what a node says, and tells its peers what came for them."""
        for key, message in effects.messages:
            self._send(super_peer, self._by_key[key], message)
        for peer in super_peer.peers:
            peer.collect()

    def enter_view(self, name: str, view: View) -> None:
        """Membership has moved a super-peer to another view."""
        super_peer = self.super_peers[number_of_super_peer(name)]
        if super_peer.node is not None:
            self.carry_out(super_peer, super_peer.node.enter_view(view))

    def _add(self, host: Host) -> SuperPeer:
        super_peer = SuperPeer(len(self.super_peers), host.identity.key)
        self.super_peers.append(super_peer)
        self._by_key[super_peer.key] = super_peer
        return super_peer

    def _begin_lives(self, super_peers: Iterable[SuperPeer]) -> None:
        super_peers = list(super_peers)
        for super_peer in super_peers:
            super_peer.life += 1
            super_peer.node = Node(super_peer.key)
            if super_peer.disk is not None:
                super_peer.node.restore(super_peer.disk)
                super_peer.disk = None
        for super_peer in super_peers:
            view = self._members.member(super_peer.name).view
            self.carry_out(super_peer, super_peer.running_node.enter_view(view))

    def _send(self, sender: SuperPeer, receiver: SuperPeer, message: Any) -> None:
        content = message.content if isinstance(message, InView) else message
        self.counters[type(content).__name__] += 1
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
            self.carry_out(receiver, receiver.node.receive(sender.key, message))

    def _send_delayed(self) -> None:
        """What a cut held back goes on, in its order, as far as there is still a way."""
        delayed, self._delayed = self._delayed, []
        for sender, receiver, lives, message in delayed:
            self._arrive(sender, receiver, lives, message)

    def _is_quiet(self) -> bool:
        """Nothing is under way but what a cut holds back, and all who can agree on their view do."""
        return self._under_way == len(self._delayed) and self._members.is_settled_by_sides()


class _Members(SimulatedNetwork):
    """The membership of all super-peers; it tells the network of each new view."""

    def __init__(self, network: Network, seed: int, *, kind: type[Kind], faults: Faults) -> None:
        super().__init__(seed, kind=kind, faults=faults)
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


def name_of_super_peer(number: int) -> str:
    return f"sp{number}"


def number_of_super_peer(name: str) -> int:
    return int(name.removeprefix("sp"))
