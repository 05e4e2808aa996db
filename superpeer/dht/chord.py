"""Chord: an identifier ring with fingers (Stoica, Morris, Karger, Kaashoek, Balakrishnan).

A node knows its predecessor, a list of the nodes that follow it (so that some may fail at once), and *fingers*: for
each i the owner of its identifier plus 2^i. A message for a key goes to the last known node before the key; each hop
at least halves the distance, so a lookup takes O(log N) hops. While fingers are out of date it takes more, but as long
as the successors are right it ends at the owner.

A newcomer finds its successor by a lookup and puts itself between it and its predecessor, which is one step of
*stabilisation*; a node that leaves says so to both; and the lists of successors nearby follow. The fingers of all
others are repaired when `stabilise` is called, as nodes do from time to time. A crash is noticed by whoever tries to
reach the node: attempts in vain are counted in `failures`.

A network can also be made at once, with all tables as they are when stabilisation has ended.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, count

from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import KEY_BITS, hash_text
from superpeer.dht.table import Change, HashTable, Step

SUCCESSORS = 8
"""How many of the nodes that follow it a node knows."""


class _Node:
    """What one node knows of others."""

    __slots__ = ("distances", "fingers", "identifier", "predecessor", "successors")

    def __init__(self, identifier: int, predecessor: int, successors: list[int]) -> None:
        self.identifier = identifier
        self.predecessor = predecessor
        self.successors = successors
        self.fingers: list[int] = []
        """Different ones only, the closest first."""
        self.distances: list[int] = []
        """How far behind this node each finger stands."""


class Chord(HashTable):
    """A ring of nodes, each with tables of its own."""

    def __init__(self, nodes: Iterable[int] = (), bits: int = KEY_BITS, successors: int = SUCCESSORS) -> None:
        super().__init__(bits)
        if successors < 2:
            raise DhtError(f"a node knows at least two successors, not {successors}, or a crash would break the ring")
        self.failures = 0
        self._length = successors
        self._known: dict[int, _Node] = {}
        self._identifiers: dict[int, int] = {}
        """Of all nodes that have ever been here."""
        self._taken: set[int] = set()
        self._ring: list[int] = []
        self._at: dict[int, int] = {}
        for node in dict.fromkeys(nodes):
            self._take_identifier(node)
        self._settle()

    @property
    def nodes(self) -> Collection[int]:
        return self._known.keys()

    def owner(self, key: int) -> int:
        ring = self._ring
        return self._at[ring[bisect_left(ring, key) % len(ring)]]

    def identifier(self, node: int) -> int:
        return self._known[node].identifier

    def predecessor(self, node: int) -> int:
        return self._known[node].predecessor

    def successors(self, node: int) -> list[int]:
        """Those of the list that are there."""
        return [other for other in self._known[node].successors if other in self._known]

    def fingers(self, node: int) -> list[int]:
        return [other for other in self._known[node].fingers if other in self._known]

    def next_along(self, node: int) -> int:
        for other in self._known[node].successors:
            if other in self._known:
                return other
            self.failures += 1
        raise AssertionError("more nodes in a row crashed at once than a successor list holds")

    def next_hop(self, node: int, key: int) -> int:
        mine = self._known[node]
        before = self._known.get(mine.predecessor)
        distance = (key - mine.identifier) % self.size
        if distance == 0 or (before is not None and _is_within(key, before.identifier, mine.identifier)):
            return node
        following = self.next_along(node)
        if distance <= (self._known[following].identifier - mine.identifier) % self.size or following == node:
            return following
        for i in range(bisect_left(mine.distances, distance) - 1, -1, -1):
            if mine.fingers[i] in self._known:
                return mine.fingers[i]
            self.failures += 1
        return following

    def neighbours(self, node: int) -> Sequence[int]:
        known = dict.fromkeys(chain(self.successors(node), self.fingers(node)))
        known.pop(node, None)
        mine = self._known[node].identifier
        return sorted(known, key=lambda other: (self._known[other].identifier - mine) % self.size)

    def split(self, node: int, keys: Iterable[int]) -> tuple[list[int], list[tuple[int, list[int]]]]:
        """As DHTrie forwards a publication: the list is sorted clockwise, and goes towards its head as a whole."""
        mine = self._known[node].identifier
        ordered = sorted(keys, key=lambda key: (key - mine) % self.size)
        own: list[int] = []
        rest: list[int] = []
        for key in ordered:
            (own if self.next_hop(node, key) == node else rest).append(key)
        return own, [(self.next_hop(node, rest[0]), rest)] if rest else []

    def circle(self, node: int) -> list[Step]:
        """From successor to successor."""
        steps: list[Step] = []
        sender = node
        while (receiver := self.next_along(sender)) != node:
            steps.append(Step(sender, receiver, len(steps) + 1))
            sender = receiver
        return steps

    def mail_key(self, node: int) -> int:
        return self._identifiers[node]

    def join(self, node: int, via: int | None = None) -> Change:
        if node in self._known:
            raise DhtError(f"node {node} is in the network already")
        if not self._known:
            self._take_identifier(node)
            self._settle()
            return Change((), 0)
        start = next(iter(self._known)) if via is None else via
        self.require(start)
        identifier = self._free_identifier(node)
        path = self.route(start, identifier)
        following = path[-1]
        self._enter(node, identifier)
        before = self._known[following].predecessor
        self._known[node] = _Node(identifier, before, self._list_before(following))
        messages = len(path) + self._stabilise(node)
        messages += self._stabilise(before) + self._fix_fingers(node)
        return Change((following,), messages + self._refresh_lists(node))

    def leave(self, node: int) -> Change:
        self.require(node)
        if len(self._known) == 1:
            raise DhtError("the last node of a network cannot leave it")
        following, before = self.next_along(node), self._known[node].predecessor
        self._forget(node)
        self._known[following].predecessor = before
        return Change((node,), 2 + self._refresh_lists(following))

    def crash(self, node: int) -> Change:
        """Nobody is told. The ring closes as the predecessor stabilises, which it does here at once, going back from
        the first successor it can reach to the one it should have; fingers stay as they are."""
        self.require(node)
        if len(self._known) == 1:
            raise DhtError("the last node of a network cannot leave it")
        before = self._known[node].predecessor
        self._forget(node)
        messages = 0
        while True:
            following = self.next_along(before)
            messages += self._stabilise(before)
            if self._known[before].successors[0] == following:
                return Change((), messages + self._refresh_lists(following))

    def stabilise(self) -> int:
        """One round: every node asks its successor for its predecessor, and looks its fingers up again. How many
        messages it took."""
        return sum(self._stabilise(node) for node in self._known) + sum(self._fix_fingers(node) for node in self._known)

    def _stabilise(self, node: int) -> int:
        mine = self._known[node]
        following = self.next_along(node)
        between = self._known[following].predecessor
        if between in self._known and between != node:
            place = self._known[between].identifier
            if _is_within(place, mine.identifier, self._known[following].identifier):
                following = between
        mine.successors = self._list_before(following)
        theirs = self._known[following]
        before = self._known.get(theirs.predecessor)
        if before is None or _is_within(mine.identifier, before.identifier, theirs.identifier):
            theirs.predecessor = node
        return 3

    def _fix_fingers(self, node: int) -> int:
        """Looks up those fingers that lie beyond the successor; the others are the successor."""
        mine = self._known[node]
        following = self.next_along(node)
        reach = (self._known[following].identifier - mine.identifier) % self.size
        found = {following: None}
        messages = 0
        for i in range(max(reach - 1, 0).bit_length(), self.bits):
            path = self.route(node, (mine.identifier + (1 << i)) % self.size)
            messages += len(path) - 1
            found.setdefault(path[-1])
        self._set_fingers(mine, found)
        return messages

    def _set_fingers(self, mine: _Node, found: Iterable[int]) -> None:
        placed = sorted(((self._known[other].identifier - mine.identifier) % self.size, other) for other in found)
        mine.distances = [distance for distance, _ in placed if distance]
        mine.fingers = [other for distance, other in placed if distance]

    def _list_before(self, following: int) -> list[int]:
        """The successor list of whoever has `following` as its successor."""
        return [following, *self._known[following].successors][: self._length]

    def _refresh_lists(self, following: int) -> int:
        """Those before a place where the ring changed copy the lists of those behind them, nearest first."""
        for passed in range(self._length):
            before = self._known[following].predecessor
            self._known[before].successors = self._list_before(following)
            if before == following:
                return passed
            following = before
        return self._length

    def _take_identifier(self, node: int) -> None:
        self._enter(node, self._free_identifier(node))

    def _free_identifier(self, node: int) -> int:
        """The same whenever the node joins: nobody else takes it, since mail may wait for the node there."""
        identifier = self._identifiers.get(node)
        if identifier is not None:
            return identifier
        if len(self._taken) == self.size:
            raise DhtError(f"an identifier space of {self.size} points is full, nodes that are away included")
        attempts = (hash_text(f"node {node} {attempt}", self.bits) for attempt in count())
        identifier = next(attempt for attempt in attempts if attempt not in self._taken)
        self._taken.add(identifier)
        self._identifiers[node] = identifier
        return identifier

    def _enter(self, node: int, identifier: int) -> None:
        insort(self._ring, identifier)
        self._at[identifier] = node

    def _forget(self, node: int) -> None:
        identifier = self._known.pop(node).identifier
        del self._ring[bisect_left(self._ring, identifier)]
        del self._at[identifier]

    def _settle(self) -> None:
        """Gives every node the tables that stabilisation would end with."""
        ring, at = self._ring, self._at
        order = [at[identifier] for identifier in ring]
        for i, node in enumerate(order):
            successors = [order[(i + 1 + j) % len(order)] for j in range(min(self._length, len(order)))]
            self._known[node] = _Node(ring[i], order[i - 1], successors)
        for i, node in enumerate(order):
            reach = (ring[(i + 1) % len(ring)] - ring[i]) % self.size
            found = {order[(i + 1) % len(order)]: None}
            for j in range(max(reach - 1, 0).bit_length(), self.bits):
                found.setdefault(self.owner((ring[i] + (1 << j)) % self.size))
            self._set_fingers(self._known[node], found)


def _is_within(key: int, after: int, until: int) -> bool:
    """Whether a point of the circle lies in (after, until]; the whole circle, where the two are one."""
    if after < until:
        return after < key <= until
    return key > after or key <= until
