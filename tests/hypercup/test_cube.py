"""The cube on small examples: what it refuses, its links, its routes, and its use as a hash table."""

from __future__ import annotations

from hashlib import sha256

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypercup import Cube, HypercupError, IncompleteCube, InvalidLabel, Label, NoSuchDimension, UnknownLabel


def labels(*texts: str) -> list[Label]:
    return [Label(text) for text in texts]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([], "no label covers ε"),
        (["0"], "no label covers 1"),
        (["1"], "no label covers 0"),
        (["00", "1"], "no label covers 01"),
        (["000", "001", "01", "11"], "no label covers 10"),
        (["0000", "1"], "no label covers 0001"),
        (["0", "0", "1"], "labels 0 and 0 overlap"),
        (["0", "01", "1"], "labels 0 and 01 overlap"),
        (["", "1"], "labels ε and 1 overlap"),
        (["00", "01", "010", "1"], "labels 01 and 010 overlap"),
    ],
)
def test_only_a_complete_prefix_code_is_a_cube(texts: list[str], sentence: str) -> None:
    with pytest.raises(IncompleteCube, match=f"^{sentence}$"):
        Cube(texts)


def test_labels_are_sorted_and_written_labels_are_read() -> None:
    cube = Cube(["1", "01", "00"])
    assert list(cube.labels) == labels("00", "01", "1")
    assert cube == Cube(labels("01", "1", "00"))
    assert hash(cube) == hash(Cube(["00", "01", "1"]))
    assert cube != Cube(["0", "1"])
    assert repr(cube) == "Cube(['00', '01', '1'])"
    assert Label("01") in cube
    assert Label("0") not in cube
    assert cube.dimensions == 2


def test_a_cube_of_one() -> None:
    cube = Cube([""])
    assert cube.out_links(Label()) == cube.in_links(Label()) == ()
    assert cube.path(Label(), Label()) == [Label()]
    assert cube.owner(b"") == cube.owner(b"anything") == Label()
    assert list(cube.broadcast_tree(Label())) == [Label()]


def test_primaries_are_padded_with_zeros() -> None:
    cube = Cube(["00", "01", "100", "101", "11"])
    assert cube.primary(Label("00"), 0) == Label("100")
    assert cube.primary(Label("01"), 0) == Label("11")
    assert cube.primary(Label("101"), 0) == Label("00")
    assert cube.primary(Label("101"), 2) == Label("100")
    assert cube.in_links(Label("00")) == (
        (Label("100"), 0),
        (Label("101"), 0),
        (Label("01"), 1),
    )
    assert cube.in_links(Label("101")) == ((Label("100"), 2),)


def test_a_complete_cube_is_the_hypercube() -> None:
    cube = Cube.grow(16, seed=0)
    graph = nx.convert_node_labels_to_integers(cube.links())
    assert nx.is_isomorphic(graph, nx.convert_node_labels_to_integers(nx.hypercube_graph(4)))
    assert all(cube.out_links(label) == cube.in_links(label) for label in cube.labels)


def test_paths_raise_the_first_difference() -> None:
    cube = Cube.random(40, seed=7)
    for z in cube.labels:
        for x in cube.labels:
            path = cube.path(z, x)
            assert path[0] == z
            assert path[-1] == x
            differences = [cube.first_difference(hop, x) for hop in path[:-1]]
            assert differences == sorted(set(differences))


@given(st.integers(1, 200), st.integers(0, 99), st.booleans(), st.binary(max_size=8))
def test_the_owner_of_a_key_is_the_label_that_starts_its_hash(n: int, seed: int, skew: bool, key: bytes) -> None:
    cube = Cube.random(n, seed) if skew else Cube.grow(n, seed)
    hashed = sha256(key).digest()
    bits = "".join(f"{byte:08b}" for byte in hashed)
    assert [label for label in cube.labels if bits.startswith(str(label).strip("ε"))] == [cube.owner(hashed)]


def test_a_short_key_is_padded_with_zeros() -> None:
    assert Cube(["0" * 9, *("0" * k + "1" for k in range(9))]).owner(b"\0") == Label("0" * 9)


@given(st.integers(1, 300), st.integers(0, 9))
def test_grown_cubes_are_balanced_and_repeatable(n: int, seed: int) -> None:
    cube = Cube.grow(n, seed)
    assert len(cube) == n
    lengths = {len(label) for label in cube.labels}
    assert max(lengths) - min(lengths) <= 1
    assert cube == Cube.grow(n, seed)
    assert Cube.random(n, seed) == Cube.random(n, seed)
    assert len(Cube.random(n, seed)) == n


def test_random_cubes_are_skewed() -> None:
    depths = [Cube.random(64, seed).dimensions for seed in range(20)]
    assert min(depths) > 8


@pytest.mark.parametrize("n", [0, -1])
def test_no_cube_has_no_labels(n: int) -> None:
    for make in (Cube.grow, Cube.random):
        with pytest.raises(HypercupError, match="at least one label"):
            make(n, 0)


def test_what_the_cube_does_not_have_is_refused_by_name() -> None:
    cube = Cube(["0", "1"])
    for call in (cube.out_links, cube.in_links, cube.broadcast_tree, cube.reverse_tree):
        with pytest.raises(UnknownLabel, match="no label 01"):
            call(Label("01"))
    with pytest.raises(UnknownLabel, match="no label 01"):
        cube.path(Label("0"), Label("01"))
    with pytest.raises(NoSuchDimension, match="label 0 has dimensions below 1, not 1"):
        cube.primary(Label("0"), 1)
    with pytest.raises(InvalidLabel):
        cube.next_hop(Label("0"), Label("0"))


@given(st.integers(2, 60), st.integers(0, 50), st.data())
def test_replacing_labels_gives_what_building_gives(n: int, seed: int, data: st.DataObject) -> None:
    cube = Cube.random(n, seed)
    removed = set(data.draw(st.lists(st.sampled_from(cube.labels), unique=True, max_size=4)))
    added = set(data.draw(st.lists(st.sampled_from([*cube.labels, *(x.child(0) for x in cube.labels)]), max_size=3)))
    split = next(iter(removed), None)
    if split is not None and data.draw(st.booleans()):
        removed, added = {split}, {split.child(0), split.child(1)}
    try:
        expected = Cube([*(set(cube.labels) - removed), *added])
    except IncompleteCube:
        with pytest.raises(IncompleteCube):
            cube.replace(removed, added)
    else:
        assert cube.replace(removed, added) == expected


def test_replacing_reaches_beyond_the_common_width() -> None:
    deep = ["0" * 70, *("0" * k + "1" for k in range(70))]
    assert Cube(["0", "1"]).replace([Label("0")], [Label(text) for text in deep if text[0] == "0"]) == Cube(deep)
