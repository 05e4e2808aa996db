"""Brute force: routing in the cube is exact, for every number of super-peers and every source.

Every cube of 1 to 300 labels, balanced and skewed, is checked from every source with a literal run of the
forwarding rules; the links are read through the public interface once for each cube, then numbered.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import networkx as nx
import pytest

from hypercup import Cube, first_difference

Make = Callable[[int, int], Cube]
Links = list[list[tuple[int, int]]]
KINDS = [Cube.grow, Cube.random]


def numbered_links(cube: Cube) -> tuple[Links, Links]:
    number = {label: i for i, label in enumerate(cube.labels)}
    out = [[(number[x], k) for x, k in cube.out_links(label)] for label in cube.labels]
    back = [[(number[x], k) for x, k in cube.in_links(label)] for label in cube.labels]
    return out, back


def broadcast(links: Links, root: int, rising: bool) -> tuple[list[int], list[int], list[int]]:
    """Who was reached in which order, who sent to each, and over which dimension it left the root."""
    sender, exit_dimension = [-1] * len(links), [-1] * len(links)
    sender[root] = root
    reached = [root]
    limit = [-1 if rising else 1 << 30] * len(links)
    for z in reached:
        arrived = limit[z]
        for x, k in links[z]:
            if k > arrived if rising else k < arrived:
                if sender[x] != -1:
                    raise AssertionError(f"reached {x} from {sender[x]} and {z}")
                sender[x], limit[x] = z, k
                exit_dimension[x] = k if z == root else exit_dimension[z]
                reached.append(x)
    return reached, sender, exit_dimension


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("residue", range(6))
def test_every_source_of_every_cube_to_300(make: Make, residue: int) -> None:
    for n in range(1 + residue, 301, 6):
        check_cube(make(n, n), range(n))


def check_cube(cube: Cube, sources: range | list[int]) -> None:
    n = len(cube)
    out, back = numbered_links(cube)
    for z in range(n):
        for x, k in out[z]:
            assert (z, k) in back[x]
    assert sum(map(len, out)) == sum(map(len, back))
    difference = {
        z: [-1 if x == z else first_difference(cube.labels[z], cube.labels[x]) for x in range(n)] for z in sources
    }
    next_hops = {}
    for z in sources:
        reached, sender, exit_dimension = broadcast(out, z, rising=True)
        assert len(reached) == n == len(set(reached))
        assert exit_dimension == difference[z]
        next_hops[z] = [z if k < 0 else out[z][k][0] for k in difference[z]]
        assert sender[z] == z
    for x in sources:
        reached, sender, _ = broadcast(back, x, rising=False)
        assert len(reached) == n == len(set(reached))
        for z in sources:
            assert sender[z] == next_hops[z][x]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("n", [1023, 1024, 1500, 4095, 4096])
def test_sampled_sources_to_4096(make: Make, n: int) -> None:
    check_cube(make(n, n), Random(n).sample(range(n), 12))


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 33, 64])
def test_trees_are_spanning_trees_and_the_reverse_tree_reverses_every_path(make: Make, n: int) -> None:
    cube = make(n, n)
    for root in cube.labels:
        tree, reverse = cube.broadcast_tree(root), cube.reverse_tree(root)
        for graph in (tree, reverse):
            assert nx.is_arborescence(graph)
            assert set(graph) == set(cube.labels)
            assert graph.number_of_edges() == n - 1
        for label in cube.labels:
            assert nx.shortest_path(tree, root, label) == cube.path(root, label)
            assert nx.shortest_path(reverse, root, label) == cube.path(label, root)[::-1]
            assert tree.nodes[label]["depth"] == len(cube.path(root, label)) - 1
        for sender, receiver, dimension in tree.edges(data="dimension"):
            assert cube.primary(sender, dimension) == receiver
        for sender, receiver, dimension in reverse.edges(data="dimension"):
            assert cube.primary(receiver, dimension) == sender


@pytest.mark.parametrize("n", [3, 21, 100])
def test_links_show_every_out_link_with_its_dimension(n: int) -> None:
    cube = Cube.random(n, seed=n)
    graph = cube.links()
    expected = {frozenset((z, x)): k for z in cube.labels for x, k in cube.out_links(z)}
    assert {frozenset((z, x)): k for z, x, k in graph.edges(data="dimension")} == expected


def test_the_check_can_fail() -> None:
    """With one dimension order for both ways, as a naive reading has it, routes are not reversed."""
    cube = Cube.grow(11, seed=3)
    _, back = numbered_links(cube)
    with pytest.raises(AssertionError, match="reached"):
        broadcast_everywhere(back)


def broadcast_everywhere(links: Links) -> None:
    for root in range(len(links)):
        reached, _, _ = broadcast(links, root, rising=True)
        assert len(reached) == len(links), f"reached {len(reached)}"
