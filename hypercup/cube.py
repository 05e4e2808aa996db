"""The cube: HyperCuP for any number of super-peers.

The labels of all super-peers are a complete prefix code: every infinite bit string starts with exactly one
of them. When all labels have d bits this is the hypercube of d dimensions. A shorter label stands for the
vertices below it that nobody occupies, as HyperCuP's nodes stand in for missing neighbours.

*Out-links.* `primary(Z, k)`, for each k < len(Z), is the owner of Z with bit k flipped and padded with
zeros. The *in-links* of Z are the labels that have Z as their out-link, with the same dimension.

*Routes.* The hop from Z towards X goes over dimension `first_difference(Z, X)`. It raises the first
difference, so a path has at most as many hops as the longest label has bits. Routes have no memory: the
labels beyond out-link k of Z are exactly those whose first difference from Z is k, whoever asks. From this
follow the two orders in which messages travel:

- *outward*, over out-links of rising dimension: whoever received on dimension d passes on over out-links
  of dimension greater than d. Started anywhere, this reaches every label exactly once (`broadcast_tree`);
- *back*, over in-links of falling dimension: whoever received on its out-link j passes on over in-links
  of dimension less than j. Started at X this runs every route that leads to X backwards (`reverse_tree`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from random import Random
from typing import NamedTuple

import networkx as nx

from hypercup.errors import HypercupError, IncompleteCube, NoSuchDimension, UnknownLabel
from hypercup.label import Label, first_difference

# Labels are compared as integers, shifted to the left edge of a common width. One width for all cubes in
# practice lets `replace` reuse the integers of the cube that it starts from.
COMMON_WIDTH = 64


class CubeLink(NamedTuple):
    """A neighbour and the dimension of the link to or from it."""

    label: Label
    dimension: int


class Cube:
    """A complete prefix code. Immutable; refuses any set of labels that overlap or leave a gap."""

    __slots__ = ("_positions", "_starts", "_width", "labels")

    labels: tuple[Label, ...]

    def __init__(self, labels: Iterable[Label | str]) -> None:
        parsed = [label if isinstance(label, Label) else Label(label) for label in labels]
        self._width = max([COMMON_WIDTH, *(len(label) for label in parsed)])
        keyed = sorted((label.bits << (self._width - label.length), label.length, label) for label in parsed)
        self._fill([label for _, _, label in keyed], [start for start, _, _ in keyed])
        self._check(0, len(keyed))

    @staticmethod
    def grow(n: int, seed: int) -> Cube:
        """A balanced cube of n labels: one of the shortest labels, chosen at random, splits n - 1 times."""
        random = Random(seed)
        complete = (_checked_size(n)).bit_length() - 1
        cells = [Label.of(bits, complete) for bits in range(1 << complete)]
        split = set(random.sample(cells, n - len(cells)))
        return Cube(label for cell in cells for label in ((cell.child(0), cell.child(1)) if cell in split else (cell,)))

    @staticmethod
    def random(n: int, seed: int) -> Cube:
        """A skewed cube of n labels: the label that splits is any one, and often one that was just made."""
        random = Random(seed)
        labels = [Label()]
        for _ in range(_checked_size(n) - 1):
            chosen = len(labels) - 1 if random.random() < 0.5 else random.randrange(len(labels))
            label, labels[chosen] = labels[chosen], labels[-1]
            first = random.randrange(2)
            labels[-1] = label.child(first)
            labels.append(label.child(1 - first))
        return Cube(labels)

    def replace(self, removed: Collection[Label], added: Collection[Label]) -> Cube:
        """The cube with some labels replaced; checked where it changed, so the cost goes with the change."""
        labels, starts = list(self.labels), list(self._starts)
        for label in removed:
            position = bisect_left(starts, self._start(label))
            del labels[position], starts[position]
        if any(label.length > self._width for label in added):
            return Cube([*labels, *added])
        for label in added:
            start = label.bits << (self._width - label.length)
            position = bisect_left(starts, start)
            labels.insert(position, label)
            starts.insert(position, start)
        cube = object.__new__(Cube)
        cube._width = self._width
        cube._fill(labels, starts)
        # A gap where nobody came in its place is beside no added label, so it is looked for at the old place.
        for start in (label.bits << (self._width - label.length) for label in [*removed, *added]):
            position = bisect_right(starts, start) - 1
            cube._check(max(0, position - 1), min(len(labels), position + 2))
        return cube

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self._positions

    def __eq__(self, other: object) -> bool:
        return self.labels == other.labels if isinstance(other, Cube) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        return f"Cube({[str(label) if label.length else '' for label in self.labels]!r})"

    @property
    def dimensions(self) -> int:
        """The length of the longest label, which bounds every path and broadcast."""
        return max(label.length for label in self.labels)

    def primary(self, label: Label, dimension: int) -> Label:
        """The out-link of one dimension: the owner of the label with that bit flipped, padded with zeros."""
        start = self._start(label)
        if not 0 <= dimension < label.length:
            raise NoSuchDimension(f"label {label} has dimensions below {label.length}, not {dimension}")
        return self._owner(start ^ 1 << (self._width - 1 - dimension))

    def out_links(self, label: Label) -> tuple[CubeLink, ...]:
        """The out-link of each dimension, in rising order."""
        return tuple(CubeLink(self.primary(label, k), k) for k in range(label.length))

    def in_links(self, label: Label) -> tuple[CubeLink, ...]:
        """The labels that have this one as their out-link, in rising order of dimension.

        Mirrored along dimension k, they are the labels that start where the mirror image of this label
        starts, or within it: all that lie below the image, or the one label above it whose padding with
        zeros gives it.
        """
        start = self._start(label)
        extent = 1 << (self._width - label.length)
        links: list[CubeLink] = []
        for dimension in range(label.length):
            mirrored = start ^ 1 << (self._width - 1 - dimension)
            first = bisect_left(self._starts, mirrored)
            beyond = bisect_left(self._starts, mirrored + extent, first)
            links.extend(CubeLink(self.labels[i], dimension) for i in range(first, beyond))
        return tuple(links)

    @staticmethod
    def first_difference(z: Label, x: Label) -> int:
        """The first bit where two labels differ: the dimension of the next hop."""
        return first_difference(z, x)

    def next_hop(self, z: Label, x: Label) -> Label:
        """Where a message at z goes next on its way to x."""
        self._start(x)
        return self.primary(z, first_difference(z, x))

    def path(self, z: Label, x: Label) -> list[Label]:
        """The whole way from z to x, both ends included."""
        self._start(z), self._start(x)
        path = [z]
        while path[-1] != x:
            path.append(self.next_hop(path[-1], x))
        return path

    def owner(self, key: bytes) -> Label:
        """The label that starts a hash: the cube as a hash table. Bits are read from the first byte on."""
        length = 8 * len(key)
        value = int.from_bytes(key, "big")
        shift = self._width - length
        return self._owner(value << shift if shift >= 0 else value >> -shift)

    def broadcast_tree(self, root: Label) -> nx.DiGraph:
        """How a broadcast from the root travels. Edges point the way of messages and have a `dimension`."""
        return self._tree(root, outward=True)

    def reverse_tree(self, root: Label) -> nx.DiGraph:
        """How a message travels back from the root to whoever may have asked: every route to it, reversed."""
        return self._tree(root, outward=False)

    def links(self) -> nx.Graph:
        """All links, as an undirected graph whose edges have a `dimension`."""
        graph = nx.Graph()
        graph.add_nodes_from(self.labels)
        for label in self.labels:
            for neighbour, dimension in self.out_links(label):
                graph.add_edge(label, neighbour, dimension=dimension)
        return graph

    def _tree(self, root: Label, *, outward: bool) -> nx.DiGraph:
        self._start(root)
        tree = nx.DiGraph()
        tree.add_node(root, depth=0)
        reached = [(root, -1 if outward else self._width, 0)]
        for label, arrived, depth in reached:
            links = self.out_links(label) if outward else self.in_links(label)
            for neighbour, dimension in links:
                if dimension > arrived if outward else dimension < arrived:
                    assert neighbour not in tree, "a broadcast reached a label twice"
                    tree.add_node(neighbour, depth=depth + 1)
                    tree.add_edge(label, neighbour, dimension=dimension)
                    reached.append((neighbour, dimension, depth + 1))
        return tree

    def _fill(self, labels: list[Label], starts: list[int]) -> None:
        self.labels = tuple(labels)
        self._starts = starts
        self._positions = {label: position for position, label in enumerate(labels)}

    def _start(self, label: Label) -> int:
        try:
            return self._starts[self._positions[label]]
        except KeyError:
            raise UnknownLabel(f"this cube has no label {label}") from None

    def _owner(self, padded: int) -> Label:
        return self.labels[bisect_right(self._starts, padded) - 1]

    def _check(self, first: int, beyond: int) -> None:
        """Whether labels first..beyond-1 follow on each other, and space begins and ends with them."""
        whole = 1 << self._width
        expected = 0 if first == 0 else self._starts[first]
        for position in range(first, beyond):
            label, start = self.labels[position], self._starts[position]
            if start < expected:
                raise IncompleteCube(f"labels {self.labels[position - 1]} and {label} overlap")
            if start > expected:
                raise IncompleteCube(f"no label covers {self._gap(expected, start)}")
            expected = start + (1 << (self._width - label.length))
        if beyond == len(self.labels) and expected < whole:
            raise IncompleteCube(f"no label covers {self._gap(expected, whole)}")

    def _gap(self, start: int, end: int) -> Label:
        """The largest region that begins at a gap's start and fits into it."""
        size = start & -start or 1 << self._width
        while start + size > end:
            size >>= 1
        length = self._width - (size.bit_length() - 1)
        return Label.of(start >> (self._width - length), length)


def _checked_size(n: int) -> int:
    if n < 1:
        raise HypercupError(f"a cube has at least one label, not {n}")
    return n
