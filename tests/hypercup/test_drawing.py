"""Drawings: well-formed, complete, and in the shape of a hypercube while there are few labels."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

from hypercup import Cube, DrawingError, Label
from hypercup.drawing import draw
from hypercup.layout import projected, radial

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12, 16, 24, 31, 32])
def test_a_small_cube_shows_every_label_and_every_link_once(n: int) -> None:
    cube = Cube.grow(n, n)
    picture = ET.fromstring(draw(cube, cube.labels[0], ".svg"))
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert [text for text in texts if text in set(map(str, cube.labels))][:n] == [str(x) for x in cube.labels]
    lines = list(picture.iter(f"{SVG}line"))
    assert len(lines) == cube.links().number_of_edges() + cube.dimensions
    assert sum(line.get("stroke-width") == "3.4" for line in lines) == n - 1


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32])
def test_links_of_one_dimension_are_parallel_in_a_full_cube(n: int) -> None:
    cube = Cube.grow(n, 0)
    places = projected(cube)
    for z in cube.labels:
        for x, k in cube.out_links(z):
            across = Label.of(1 << (len(z) - 1 - k), len(z))
            step = (places[across].x - places[cube.labels[0]].x, places[across].y - places[cube.labels[0]].y)
            sign = 1 if x[k] else -1
            assert places[x].x - places[z].x == pytest.approx(sign * step[0])
            assert places[x].y - places[z].y == pytest.approx(sign * step[1])


@pytest.mark.parametrize("n", range(2, 33))
def test_no_two_labels_are_drawn_on_each_other(n: int) -> None:
    cube = Cube.grow(n, n)
    for one, other in combinations(projected(cube).values(), 2):
        assert abs(one.x - other.x) > 40 or abs(one.y - other.y) > 24


@pytest.mark.parametrize("n", [33, 64, 300])
def test_a_large_cube_shows_its_broadcast_tree(n: int) -> None:
    cube = Cube.grow(n, 0)
    root = cube.labels[0]
    picture = ET.fromstring(draw(cube, root, ".svg"))
    assert len(list(picture.iter(f"{SVG}line"))) == n - 1 + cube.dimensions
    assert len(set(radial(cube.broadcast_tree(root), root).values())) == n


def test_a_skewed_cube_is_drawn_as_a_tree() -> None:
    cube = Cube.random(20, 1)
    assert cube.dimensions > 5
    assert "<svg" in draw(cube, cube.labels[0], ".svg")


def test_dot_names_every_label_and_link() -> None:
    cube = Cube.grow(6, 0)
    text = draw(cube, cube.labels[0], ".dot")
    assert text.startswith("graph hypercup {")
    assert text.count(" -- ") == cube.links().number_of_edges()
    assert text.count("penwidth=2.5]") == 5 + 1


@pytest.mark.parametrize(("extension", "shown"), [(".png", "not .png"), ("", "not no extension")])
def test_other_formats_are_refused(extension: str, shown: str) -> None:
    with pytest.raises(DrawingError, match=shown):
        draw(Cube([""]), Label(), extension)
