"""Both backbones offer the same: links, `relays`, and exact routes in both directions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypercup import (
    Backbone,
    ChosenLink,
    CubeBackbone,
    CubeKind,
    Entry,
    HypercupError,
    Kind,
    Link,
    NoMembers,
    Status,
    Table,
    TreeBackbone,
    UnknownMember,
    UnstructuredKind,
    broadcast_tree,
    make_view,
    spanning_tree,
)

KINDS: list[Callable[[], Kind]] = [CubeKind, UnstructuredKind]


def settled_entries(kind: Kind, n: int, seed: int = 0) -> list[Entry]:
    random = Random(seed)
    entries = [Entry(random.randbytes(8), incarnation=1) for _ in range(n)]
    for _ in range(2):
        backbone = kind.build(entries)
        choices = [kind.choose(entry, backbone) for entry in entries]
        entries = [Entry(e.key, "", 1, claim=c.claim, links=c.links) for e, c in zip(entries, choices, strict=True)]
    return entries


def way_back(backbone: Backbone, root: bytes) -> dict[bytes, bytes]:
    """Who passes on what the root publishes: over in-links that relay to where it came from."""
    came_from: dict[bytes, bytes] = {}
    reached: list[tuple[bytes, Link | None]] = [(root, None)]
    for member, arrived in reached:
        for link in backbone.position(member).in_links:
            if arrived is None or backbone.relays(link, arrived):
                assert link.neighbour not in came_from
                assert link.neighbour != root
                came_from[link.neighbour] = member
                reached.append((link.neighbour, Link(member, link.dimension)))
    return came_from


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 24, 60])
def test_broadcasts_and_the_way_back_are_exact(kind: Callable[[], Kind], n: int) -> None:
    maker = kind()
    backbone = maker.build(settled_entries(maker, n))
    for root in backbone.members:
        tree = broadcast_tree(backbone, root)
        assert nx.is_arborescence(tree)
        assert set(tree) == set(backbone.members)
        came_from = way_back(backbone, root)
        assert came_from.keys() == set(backbone.members) - {root}
        for member in came_from:
            assert backbone.path(member, root)[1] == came_from[member]
            assert nx.shortest_path(tree, root, member) == backbone.path(root, member)


@pytest.mark.parametrize("kind", KINDS)
def test_in_links_and_out_links_are_two_ends_of_the_same(kind: Callable[[], Kind]) -> None:
    maker = kind()
    backbone = maker.build(settled_entries(maker, 21))
    ends = {(z, x, k) for z in backbone.members for x, k in backbone.position(z).out_links}
    assert ends == {(z, x, k) for x in backbone.members for z, k in backbone.position(x).in_links}
    for member in backbone.members:
        position = backbone.position(member)
        for link in position.in_links:
            assert not any(backbone.relays(link, out) for out in position.out_links if out.neighbour == link.neighbour)


@pytest.mark.parametrize("kind", KINDS)
def test_view_ids_are_equal_for_equal_entries_and_differ_otherwise(kind: Callable[[], Kind]) -> None:
    entries = settled_entries(kind(), 9)
    view = make_view(kind(), Table(entries))
    assert view == make_view(kind(), Table(reversed(entries)))
    assert hash(view) == hash(make_view(kind(), Table(entries)))
    assert entries[0].key in view
    assert len(view) == 9
    gone = Entry(b"gone", status=Status.LEFT)
    assert make_view(kind(), Table([*entries, gone])).id == view.id
    assert make_view(kind(), Table(entries[1:])).id != view.id
    again = Entry(entries[0].key, "", 2, claim=entries[0].claim, links=entries[0].links)
    assert make_view(kind(), Table([*entries, again])).id != view.id


def test_a_claim_that_confirms_a_label_keeps_the_view() -> None:
    entries = settled_entries(CubeKind(), 9)
    newcomer = Entry(b"newcomer", incarnation=1)
    view = make_view(CubeKind(), Table([*entries, newcomer]))
    assert isinstance(view.backbone, CubeBackbone)
    settled = Entry(b"newcomer", "", 1, 1, claim=view.backbone.label(b"newcomer"))
    assert make_view(CubeKind(), Table([*entries, settled])).id == view.id


weights = st.dictionaries(st.tuples(st.integers(0, 11), st.integers(0, 11)), st.integers(0, 5), max_size=40)


@given(st.integers(1, 12), weights, st.randoms(use_true_random=False))
def test_the_tree_is_a_minimum_spanning_tree_whatever_the_order(
    n: int, chosen: dict[tuple[int, int], int], random: Random
) -> None:
    links: dict[int, list[ChosenLink]] = {}
    for (one, other), weight in chosen.items():
        links.setdefault(one, []).append(ChosenLink(bytes([other]), weight))
    entries = [Entry(bytes([i]), links=tuple(links.get(i, []))) for i in range(n)]
    tree = spanning_tree(entries)
    assert nx.is_tree(tree)
    assert set(tree) == {entry.key for entry in entries}
    random.shuffle(entries)
    assert nx.utils.edges_equal(spanning_tree(entries).edges, tree.edges)
    graph = nx.Graph()
    # The lighter of two choices of one link comes last, and stays.
    for (one, other), weight in sorted(chosen.items(), key=lambda item: -item[1]):
        if max(one, other) < n and one != other:
            graph.add_edge(bytes([one]), bytes([other]), weight=weight)
    least = nx.minimum_spanning_tree(graph).size(weight="weight")
    assert sum(weight for _, _, weight in tree.edges(data="weight") if weight is not None) == least


def test_components_are_chained_by_their_smallest_keys() -> None:
    entries = [Entry(b"a", links=(ChosenLink(b"d", 1),)), Entry(b"d"), Entry(b"b"), Entry(b"c")]
    assert {frozenset(edge) for edge in spanning_tree(entries).edges} == {
        frozenset((b"a", b"d")),
        frozenset((b"a", b"b")),
        frozenset((b"b", b"c")),
    }


def test_reverse_path_forwarding_accepts_each_broadcast_from_one_neighbour() -> None:
    maker = UnstructuredKind()
    backbone = maker.build(settled_entries(maker, 30))
    for origin in backbone.members:
        for member in backbone.members:
            neighbours = backbone.position(member).neighbours
            accepted = [n for n in neighbours if backbone.accepts(member, origin, n)]
            assert len(accepted) == (member != origin)


def test_choices_are_stable_and_replace_what_is_lost() -> None:
    kind = UnstructuredKind(fanout=3)
    entries = settled_entries(kind, 40)
    backbone = kind.build(entries)
    for entry in entries:
        assert len(entry.links) == 3
        assert entry.key not in {link.neighbour for link in entry.links}
        assert kind.choose(entry, backbone).links == entry.links
    rest = [entry for entry in entries if entry.key != entries[0].links[0].neighbour]
    chosen = kind.choose(entries[0], kind.build(rest)).links
    assert len(chosen) == 3
    assert set(entries[0].links[1:]) < set(chosen)


def test_what_is_not_there_is_named() -> None:
    for kind in (CubeKind(), UnstructuredKind()):
        with pytest.raises(NoMembers):
            kind.build([])
        with pytest.raises(UnknownMember, match="6e6f"):
            kind.build([Entry(b"a")]).position(b"no")
    forest = nx.Graph()
    forest.add_nodes_from([b"a", b"b"])
    with pytest.raises(HypercupError, match="connect"):
        TreeBackbone(forest)
