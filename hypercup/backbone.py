"""All that a node asks of a backbone: its links, and whether what came in on one may go out on another.

Subscriptions and queries come in on *in-links* and go out on *out-links*; advertisements and notifications
go the same ways back. One relation, `relays(in_link, out_link)`, rules both directions: a subscription that
came in on an in-link goes on to the out-links it relays to, and a notification that came back on an out-link
goes on to the in-links that relay to it. What a node's own peers send goes everywhere.

- In the cube an in-link of dimension d relays to an out-link of dimension k when d < k.
- In a tree every neighbour is both an out-link and an in-link, and relays to every other.

`Backbone` is what both have in common. `Kind` is what membership needs to run on either: how a backbone is
built from the living entries, and which place in it a member should choose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

import networkx as nx

from hypercup.entry import ChosenLink, Entry
from hypercup.errors import UnknownMember
from hypercup.label import Label
from hypercup.placement import Placement
from hypercup.placer import Placer


class Link(NamedTuple):
    """One end of a link: the neighbour's key, and the dimension (0 where a backbone has none)."""

    neighbour: bytes
    dimension: int


class Position(NamedTuple):
    """The links of one member."""

    out_links: tuple[Link, ...]
    in_links: tuple[Link, ...]

    @property
    def neighbours(self) -> list[bytes]:
        """Everyone at the other end of a link, once, in the order of keys."""
        return sorted({link.neighbour for link in (*self.out_links, *self.in_links)})


class Backbone(Protocol):
    """How the members of one view are linked."""

    @property
    def members(self) -> Collection[bytes]: ...

    def position(self, member: bytes) -> Position: ...

    def relays(self, in_link: Link, out_link: Link) -> bool: ...

    def path(self, source: bytes, target: bytes) -> list[bytes]: ...

    def place(self, member: bytes) -> Label | bytes | None:
        """Where a member stands: its label, or the neighbour above it in a tree (None for the root)."""
        ...


class Choice(NamedTuple):
    """The place in the backbone that a member states in its entry."""

    claim: Label | None
    links: tuple[ChosenLink, ...]


class Kind(Protocol):
    """A way to build backbones."""

    @property
    def name(self) -> str: ...

    def build(self, living: Iterable[Entry]) -> Backbone: ...

    def choose(self, entry: Entry, backbone: Backbone) -> Choice: ...


class CubeBackbone:
    """The cube, seen through the keys of its members."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self._positions: dict[bytes, Position] = {}

    @property
    def members(self) -> Collection[bytes]:
        return self.placement.labels.keys()

    def label(self, member: bytes) -> Label:
        try:
            return self.placement.labels[member]
        except KeyError:
            raise UnknownMember(f"the view has no member {member.hex()}") from None

    def position(self, member: bytes) -> Position:
        if member not in self._positions:
            label, owners = self.label(member), self.placement.owners
            self._positions[member] = Position(
                tuple(Link(owners[x], k) for x, k in self.placement.cube.out_links(label)),
                tuple(Link(owners[x], k) for x, k in self.placement.cube.in_links(label)),
            )
        return self._positions[member]

    def relays(self, in_link: Link, out_link: Link) -> bool:
        return in_link.dimension < out_link.dimension

    def path(self, source: bytes, target: bytes) -> list[bytes]:
        path = self.placement.cube.path(self.label(source), self.label(target))
        return [self.placement.owners[label] for label in path]

    def place(self, member: bytes) -> Label:
        return self.label(member)


class CubeKind:
    """Builds cubes. It remembers the last placement only to be quick about the next."""

    name = "cube"

    def __init__(self) -> None:
        self._placer = Placer()

    def build(self, living: Iterable[Entry]) -> CubeBackbone:
        return CubeBackbone(self._placer.place(living))

    def choose(self, entry: Entry, backbone: Backbone) -> Choice:
        assert isinstance(backbone, CubeBackbone), "a cube's members settle in a cube"
        return Choice(backbone.label(entry.key), ())


def broadcast_tree(backbone: Backbone, root: bytes) -> nx.DiGraph:
    """How a broadcast travels over any backbone, run by the rule of `relays`.

    Edges point the way of messages and have a `dimension`, nodes a `depth`.
    """
    tree = nx.DiGraph()
    tree.add_node(root, depth=0)
    reached: list[tuple[bytes, Link | None, int]] = [(root, None, 0)]
    for member, arrived, depth in reached:
        for link in backbone.position(member).out_links:
            if arrived is None or backbone.relays(arrived, link):
                assert link.neighbour not in tree, "a broadcast reached a member twice"
                tree.add_node(link.neighbour, depth=depth + 1)
                tree.add_edge(member, link.neighbour, dimension=link.dimension)
                reached.append((link.neighbour, Link(member, link.dimension), depth + 1))
    return tree
