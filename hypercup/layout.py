"""Where to draw labels: as a projected hypercube while that can be recognised, else as a radial tree.

*Projection.* Every dimension has a vector, and a vertex lies at the sum of the vectors of its one-bits. The
last three dimensions span a cube in the usual slanted view; the ones before set cubes beside and below each
other. A label that stands for several vertices lies amid them.

*Radial tree.* The root of a broadcast is in the middle and everyone else on the ring of its distance, in a
sector as wide as the number of leaves beyond it.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import NamedTuple

import networkx as nx

from hypercup.cube import Cube
from hypercup.label import Label

# The widest cube that is drawn as a hypercube, in labels.
RECOGNISABLE = 32

ACROSS, UP, BACK = (190.0, 0.0), (0.0, -150.0), (84.0, -66.0)
BESIDE, BELOW = (410.0, -38.0), (46.0, 372.0)
RING = 150.0


class Point(NamedTuple):
    x: float
    y: float


def axes(dimensions: int) -> list[tuple[float, float]]:
    """The vector of each dimension, first dimension first."""
    inner = [ACROSS, UP, BACK][: min(dimensions, 3)]
    outer = [BESIDE, BELOW][: max(0, dimensions - 3)]
    return [*outer, *inner]


def projected(cube: Cube) -> dict[Label, Point]:
    """The places of a cube of at most five dimensions."""
    vectors = axes(cube.dimensions)
    places = {}
    for label in cube.labels:
        shares = [label[k] if k < len(label) else 0.5 for k in range(len(vectors))]
        x = sum(share * vector[0] for share, vector in zip(shares, vectors, strict=True))
        y = sum(share * vector[1] for share, vector in zip(shares, vectors, strict=True))
        places[label] = Point(x, y)
    return places


def radial(tree: nx.DiGraph, root: Label) -> dict[Label, Point]:
    """The places of a broadcast tree around its root."""
    order = list(nx.dfs_preorder_nodes(tree, root))
    leaves: dict[Label, int] = {}
    for label in reversed(order):
        leaves[label] = sum(leaves[child] for child in tree[label]) or 1
    sectors = {root: (0.0, 2 * pi)}
    places = {root: Point(0.0, 0.0)}
    # Half of all labels lie beyond the middle ring, so the rings grow with their number.
    ring = max(RING, len(order) * 3.0 / depth_of_tree(tree)) if len(order) > 1 else RING
    for label in order:
        start, width = sectors[label]
        for child in tree[label]:
            share = width * leaves[child] / leaves[label]
            sectors[child] = (start, share)
            angle, distance = start + share / 2, ring * tree.nodes[child]["depth"]
            places[child] = Point(distance * cos(angle), distance * sin(angle))
            start += share
    return places


def depth_of_tree(tree: nx.DiGraph) -> int:
    """The greatest distance from the root."""
    depth: int = max(depth for _, depth in tree.nodes(data="depth"))
    return depth
