"""The cube as a hash table: a key belongs to the label that it starts with.

Out-links are to the cube what fingers are to Chord. The hop from Z towards the owner X of a key flips the first bit
where Z and X differ, so a route has at most as many hops as the longest label has bits. Joins and departures go as
`hypercup` places members: the cube is a function of who is there, and one change moves at most two others, which hand
over the keys of the places that they leave. Whoever crashes is known to be gone when the next view comes, so no link
leads nowhere. A change is told to all: N - 1 messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from hypercup import Cube, Label
from hypercup.label import first_difference
from hypercup.placer import Placer
from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import KEY_BITS
from superpeer.dht.table import Change, HashTable, Step

_KEY_BYTES = 8


@dataclass(frozen=True, slots=True)
class _Claim:
    key: bytes
    claim: Label | None
    is_alive: bool = True


class CubeTable(HashTable):
    """The nodes of a cube."""

    def __init__(self, nodes: Iterable[int] = (), bits: int = KEY_BITS) -> None:
        super().__init__(bits)
        self._placer = Placer()
        self._numbers: dict[bytes, int] = {}
        self._labels: dict[int, Label] = {}
        self._owners: dict[Label, int] = {}
        self._cube = Cube([Label()])
        members = list(dict.fromkeys(nodes))
        if members:
            self._place(members)

    @property
    def nodes(self) -> Collection[int]:
        return self._labels.keys()

    @property
    def cube(self) -> Cube:
        return self._cube

    def label(self, node: int) -> Label:
        return self._labels[node]

    def owner(self, key: int) -> int:
        return self._owners[self._label_of(key)]

    def identifier(self, node: int) -> int:
        label = self._labels[node]
        return ((label.bits + 1) << (self.bits - label.length)) - 1

    def next_hop(self, node: int, key: int) -> int:
        mine, wanted = self._labels[node], self._label_of(key)
        return node if mine == wanted else self._owners[self._cube.primary(mine, first_difference(mine, wanted))]

    def neighbours(self, node: int) -> Sequence[int]:
        """Over out-links, the last dimension first: those are the closest."""
        links = reversed(self._cube.out_links(self._labels[node]))
        return list(dict.fromkeys(self._owners[link.label] for link in links))

    def next_along(self, node: int) -> int:
        return self.owner((self.identifier(node) + 1) % self.size)

    def split(self, node: int, keys: Iterable[int]) -> tuple[list[int], list[tuple[int, list[int]]]]:
        """By the first bit in which a key's owner differs: what goes over one link goes together."""
        mine = self._labels[node]
        own: list[int] = []
        beyond: dict[int, list[int]] = {}
        for key in sorted(keys):
            wanted = self._label_of(key)
            (own if wanted == mine else beyond.setdefault(first_difference(mine, wanted), [])).append(key)
        return own, [(self._owners[self._cube.primary(mine, k)], found) for k, found in sorted(beyond.items())]

    def circle(self, node: int) -> list[Step]:
        """The broadcast of the cube."""
        tree = self._cube.broadcast_tree(self._labels[node])
        return [
            Step(self._owners[sender], self._owners[receiver], tree.nodes[receiver]["depth"])
            for sender, receiver in tree.edges
        ]

    def join(self, node: int) -> Change:
        if node in self._labels:
            raise DhtError(f"node {node} is in the network already")
        return self._change([*self._labels, node])

    def leave(self, node: int) -> Change:
        change = self.crash(node)
        return Change((node, *change.donors), change.messages)

    def crash(self, node: int) -> Change:
        self.require(node)
        if len(self._labels) == 1:
            raise DhtError("the last node of a network cannot leave it")
        return self._change([other for other in self._labels if other != node])

    def _change(self, members: list[int]) -> Change:
        before = dict(self._labels)
        self._place(members)
        moved = tuple(other for other, label in before.items() if self._labels.get(other, label) != label)
        return Change(moved, len(members) - 1)

    def _place(self, members: list[int]) -> None:
        if len(members) > self.size:
            raise DhtError(f"an identifier space of {self.size} points is full")
        self._numbers = {_member_key(node): node for node in members}
        placement = self._placer.place(
            _Claim(key, self._labels.get(node)) for key, node in sorted(self._numbers.items())
        )
        self._cube = placement.cube
        self._labels = {node: placement.labels[key] for key, node in self._numbers.items()}
        self._owners = {label: node for node, label in self._labels.items()}

    def _label_of(self, key: int) -> Label:
        return self._cube.owner((key << (8 * _KEY_BYTES - self.bits)).to_bytes(_KEY_BYTES, "big"))


def _member_key(node: int) -> bytes:
    return blake2b(f"node {node}".encode(), digest_size=32).digest()
