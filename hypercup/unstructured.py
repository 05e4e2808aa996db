"""The unstructured backbone of P2P-DIET: links that super-peers choose, and a minimum spanning tree.

Every super-peer states in its entry which links it would like, and their weights. The chosen links of the
living form a graph; a link that both ends chose has the lesser weight. Messages travel on its minimum
spanning tree, on which everyone agrees because it is a pure function of the entries:

- links are taken in the order of weight, then of the keys at their ends, so the tree is unique;
- where the chosen links leave several components, these are put in the order of their smallest keys, and
  the smallest member of each is linked to the smallest of the one before.

Broadcasts use reverse-path forwarding: a member accepts a message from the neighbour on its own path to the
origin, and passes it on to all its other neighbours. In a tree this reaches everyone once, and the same links
in both directions serve the way back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b
from itertools import pairwise

import networkx as nx

from hypercup.backbone import Backbone, Choice, Link, Position
from hypercup.entry import ChosenLink, Entry
from hypercup.errors import HypercupError, NoMembers, UnknownMember

Weigh = Callable[[bytes, bytes], int]


class TreeBackbone:
    """A spanning tree of the members."""

    def __init__(self, tree: nx.Graph) -> None:
        self.tree = tree
        self._members = dict.fromkeys(sorted(tree))
        self._parents: dict[bytes, bytes] = {
            child: parent for parent, child in nx.bfs_edges(tree, min(tree), sort_neighbors=sorted)
        }
        if len(self._parents) != len(self._members) - 1:
            raise HypercupError("the links do not connect all members")

    @property
    def members(self) -> Collection[bytes]:
        return self._members.keys()

    def position(self, member: bytes) -> Position:
        self._check(member)
        links = tuple(Link(neighbour, 0) for neighbour in sorted(self.tree[member]))
        return Position(links, links)

    def relays(self, in_link: Link, out_link: Link) -> bool:
        return in_link.neighbour != out_link.neighbour

    def accepts(self, member: bytes, origin: bytes, sender: bytes) -> bool:
        """Reverse-path forwarding: whether a broadcast of the origin may reach the member from the sender."""
        return member != origin and self.path(member, origin)[1] == sender

    def path(self, source: bytes, target: bytes) -> list[bytes]:
        up, down = self._ancestors(source), self._ancestors(target)
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return up + down[-2::-1]

    def place(self, member: bytes) -> bytes | None:
        """The neighbour on the way to the smallest key; all of these together are the tree."""
        self._check(member)
        return self._parents.get(member)

    def _ancestors(self, member: bytes) -> list[bytes]:
        self._check(member)
        line = [member]
        while line[-1] in self._parents:
            line.append(self._parents[line[-1]])
        return line

    def _check(self, member: bytes) -> None:
        if member not in self.tree:
            raise UnknownMember(f"the view has no member {member.hex()}")


def spanning_tree(living: Iterable[Entry]) -> nx.Graph:
    """The minimum spanning tree of the chosen links, with the components connected."""
    members = {entry.key: entry for entry in living}
    if not members:
        raise NoMembers("nobody is alive, so there is no tree")
    weights: dict[tuple[bytes, bytes], int] = {}
    for entry in members.values():
        for neighbour, weight in ((link.neighbour, link.weight) for link in entry.links):
            if neighbour in members and neighbour != entry.key:
                ends = (min(entry.key, neighbour), max(entry.key, neighbour))
                weights[ends] = min(weight, weights.get(ends, weight))
    graph = nx.Graph()
    graph.add_nodes_from(sorted(members))
    # The rank of a link stands for its weight, so that no two weights are equal and the tree is unique.
    for rank, (weight, ends) in enumerate(sorted((weight, ends) for ends, weight in weights.items())):
        graph.add_edge(*ends, rank=rank, weight=weight)
    tree = nx.minimum_spanning_tree(graph, weight="rank")
    smallest = sorted(min(component) for component in nx.connected_components(tree))
    for one, other in pairwise(smallest):
        tree.add_edge(one, other, weight=None)
    return tree


class UnstructuredKind:
    """Builds spanning trees. A member wants `fanout` links, the lightest of a sample of the others."""

    name = "unstructured"

    def __init__(self, fanout: int = 3, sample: int = 12, weigh: Weigh | None = None) -> None:
        self.fanout = fanout
        self.sample = sample
        self.weigh = weigh or pseudo_distance

    def build(self, living: Iterable[Entry]) -> TreeBackbone:
        return TreeBackbone(spanning_tree(living))

    def choose(self, entry: Entry, backbone: Backbone) -> Choice:
        """The links that were chosen and still lead to somebody, and others in place of the lost ones."""
        others = len(backbone.members) - 1
        kept = [link for link in entry.links if link.neighbour in backbone.members]
        if len(kept) >= min(self.fanout, others):
            return Choice(None, tuple(kept))
        chosen = {link.neighbour for link in kept}
        candidates = {key for key in self._sampled(entry, backbone) if key not in chosen and key != entry.key}
        weighed = sorted((self.weigh(entry.key, key), key) for key in candidates)
        added = [ChosenLink(key, weight) for weight, key in weighed[: self.fanout - len(kept)]]
        return Choice(None, (*kept, *added))

    def _sampled(self, entry: Entry, backbone: Backbone) -> list[bytes]:
        """Members at places that depend on the chooser only, so that a choice is stable among the same."""
        members = sorted(backbone.members)
        if len(members) <= self.sample + 1:
            return members
        points = [blake2b(entry.key, digest_size=8, salt=bytes([i])).digest() for i in range(self.sample)]
        return [members[bisect_left(members, point) % len(members)] for point in points]


def pseudo_distance(one: bytes, other: bytes) -> int:
    """A symmetric weight that depends on the two keys only; stands in for a measured round-trip time."""
    ends = min(one, other) + b"-" + max(one, other)
    return int.from_bytes(blake2b(ends, digest_size=2).digest(), "big")
