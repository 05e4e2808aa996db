"""Messages over a hash table, counted: how many of which kind, how many bytes, and who handles them.

Everything that a strategy does between nodes goes through one of three ways to send: to the owner of a key (`route`,
every hop a message), to a node whose address is known (`direct`, one message), and to the owners of many keys at once
(`multisend`). A call returns when the message has arrived. The order of calls is the order of things, so the same seed
and the same calls give the same counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from superpeer.dht.table import HashTable

HEADER_BYTES = 40
"""What a message has besides its content: sender, receiver, kind."""
KEY_BYTES = 8


class Arrival(NamedTuple):
    """Where a message came to, over how many hops."""

    node: int
    hops: int


class Share(NamedTuple):
    """The part of a message to many keys that is for one owner."""

    node: int
    keys: tuple[int, ...]
    hops: int


class Leg(NamedTuple):
    """A message that was sent, with all nodes on its way."""

    kind: str
    path: tuple[int, ...]


class Work(NamedTuple):
    """A node stored or examined so many subscriptions, of which some matched."""

    node: int
    subscriptions: int
    matched: int


class Fabric:
    """A hash table with counters on it. With a list as `trace`, it also notes what happens, in order."""

    def __init__(self, table: HashTable, seed: int = 0) -> None:
        self.table = table
        self.random = Random(seed)
        self.messages: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.lookups: Counter[str] = Counter()
        """Messages to the owners of keys, however many hops they took."""
        self.handled: Counter[int] = Counter()
        """Messages that each node received, its own and those that it passed on."""
        self.trace: list[Leg | Work] | None = None

    def route(self, sender: int, key: int, kind: str, size_bytes: int = 0) -> Arrival:
        path = self.table.route(sender, key)
        self.lookups[kind] += 1
        for node in path[1:]:
            self._count(node, kind, size_bytes)
        if self.trace is not None:
            self.trace.append(Leg(kind, tuple(path)))
        return Arrival(path[-1], len(path) - 1)

    def direct(self, sender: int, receiver: int, kind: str, size_bytes: int = 0) -> int:
        """To a node whose address is known; how many hops it took, none to oneself."""
        self.table.require(receiver)
        if sender == receiver:
            return 0
        self._count(receiver, kind, size_bytes)
        if self.trace is not None:
            self.trace.append(Leg(kind, (sender, receiver)))
        return 1

    def multisend(self, sender: int, keys: Iterable[int], kind: str, size_bytes: int = 0) -> list[Share]:
        """One message for the owners of many keys, which parts where their ways do. It carries the keys that it is
        still for."""
        shares = []
        under_way = [(sender, list(dict.fromkeys(keys)), 0)]
        while under_way:
            node, wanted, hops = under_way.pop()
            own, further = self.table.split(node, wanted)
            if own:
                shares.append(Share(node, tuple(own), hops))
            for following, rest in further:
                self._count(following, kind, size_bytes + KEY_BYTES * len(rest))
                under_way.append((following, rest, hops + 1))
        return shares

    def circle(self, sender: int, kind: str, size_bytes: int = 0) -> int:
        """A message to everybody; how many hops until the last one has it."""
        steps = self.table.circle(sender)
        for step in steps:
            self._count(step.receiver, kind, size_bytes)
        return max((step.depth for step in steps), default=0)

    def work(self, node: int, subscriptions: int, matched: int) -> None:
        if self.trace is not None:
            self.trace.append(Work(node, subscriptions, matched))

    def note(self, kind: str, number: int) -> None:
        """Messages of the hash table itself, which are not followed one by one."""
        if number:
            self.messages[kind] += number
            self.bytes[kind] += number * HEADER_BYTES

    def _count(self, receiver: int, kind: str, size_bytes: int) -> None:
        self.messages[kind] += 1
        self.bytes[kind] += HEADER_BYTES + size_bytes
        self.handled[receiver] += 1
