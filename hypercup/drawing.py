"""Drawings of the cube with one broadcast tree, as SVG and as Graphviz DOT, written by hand.

Links have the colour of their dimension. The thick ones are the broadcast from the root; the thin ones the
other links. A cube of up to 32 labels is shown as a hypercube, a larger one as its broadcast tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import networkx as nx

from hypercup.cube import Cube
from hypercup.errors import DrawingError
from hypercup.label import Label
from hypercup.layout import RECOGNISABLE, Point, projected, radial

# After Paul Tol's bright and muted schemes: told apart by most who do not see all colours.
COLOURS = [
    "4477aa",
    "ee6677",
    "228833",
    "ccbb44",
    "aa3377",
    "66ccee",
    "ee7733",
    "332288",
    "8c564b",
    "882255",
    "999933",
    "44aa99",
]
MARGIN, LEGEND = 48.0, 40.0
MOST_LABELS = 16_384
WRITTEN_LABELS = 160


def draw(cube: Cube, root: Label, extension: str) -> str:
    """The drawing as text, in the format that a file's extension asks for."""
    if len(cube) > MOST_LABELS:
        raise DrawingError(f"a drawing has at most {MOST_LABELS} labels, not {len(cube)}")
    match extension.lower().lstrip("."):
        case "svg":
            return draw_svg(cube, root)
        case "dot" | "gv":
            return draw_dot(cube, root)
    shown = extension or "no extension"
    raise DrawingError(f"drawings are written as .svg or .dot, not {shown}")


def colour(dimension: int) -> str:
    return f"#{COLOURS[dimension % len(COLOURS)]}"


def draw_dot(cube: Cube, root: Label) -> str:
    """The cube for Graphviz."""
    tree = cube.broadcast_tree(root)
    lines = ["graph hypercup {", '  node [shape=box, style=rounded, fontname="monospace"];']
    lines += [f'  "{label}"{" [penwidth=2.5]" if label == root else ""};' for label in cube.labels]
    for one, other, dimension in sorted(cube.links().edges(data="dimension")):
        width = 2.5 if _in_tree(tree, one, other) else 0.7
        lines.append(f'  "{one}" -- "{other}" [color="{colour(dimension)}", penwidth={width}];')
    return "\n".join([*lines, "}", ""])


def draw_svg(cube: Cube, root: Label) -> str:
    """The cube as a picture that needs nothing else."""
    tree = cube.broadcast_tree(root)
    recognisable = len(cube) <= RECOGNISABLE and cube.dimensions <= 5
    places = projected(cube) if recognisable else radial(tree, root)
    left = min(place.x for place in places.values()) - MARGIN
    top = min(place.y for place in places.values()) - MARGIN
    width = max(max(place.x for place in places.values()) + MARGIN - left, 360.0)
    height = max(place.y for place in places.values()) + MARGIN - top
    left -= (width - (max(place.x for place in places.values()) + MARGIN - left)) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.1f} {top:.1f} {width:.1f} {height + LEGEND:.1f}"'
        f' width="{width:.0f}" height="{height + LEGEND:.0f}" font-family="ui-monospace, monospace">',
        f"<title>{escape(_title(cube, root))}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height + LEGEND:.1f}" fill="#ffffff"/>',
        *_links(cube, tree, places, thin=recognisable),
        *_nodes(cube, tree, root, places),
        *_legend(cube, root, Point(left + 16, top + height + LEGEND - 18)),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _title(cube: Cube, root: Label) -> str:
    return f"{len(cube)} super-peers in a cube of {cube.dimensions} dimensions, with the broadcast from {root}"


def _links(cube: Cube, tree: nx.DiGraph, places: dict[Label, Point], *, thin: bool) -> Iterable[str]:
    if thin:
        for one, other, dimension in cube.links().edges(data="dimension"):
            if not _in_tree(tree, one, other):
                yield _line(places[one], places[other], dimension, 'stroke-width="1.3" stroke-opacity="0.55"')
    heavy = "3.4" if len(cube) <= WRITTEN_LABELS else "1.6"
    for one, other, dimension in tree.edges(data="dimension"):
        yield _line(places[one], places[other], dimension, f'stroke-width="{heavy}" stroke-linecap="round"')


def _line(one: Point, other: Point, dimension: int, style: str) -> str:
    return (
        f'<line x1="{one.x:.1f}" y1="{one.y:.1f}" x2="{other.x:.1f}" y2="{other.y:.1f}"'
        f' stroke="{colour(dimension)}" {style}/>'
    )


def _nodes(cube: Cube, tree: nx.DiGraph, root: Label, places: dict[Label, Point]) -> Iterable[str]:
    for label in cube.labels:
        x, y = places[label]
        depth = tree.nodes[label]["depth"]
        hint = f"<title>{label}: {depth} hops from {root}</title>"
        fill, ink = ("#222222", "#ffffff") if label == root else ("#ffffff", "#222222")
        if len(cube) > WRITTEN_LABELS:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}" stroke="#222222">{hint}</circle>'
            continue
        half = 9.0 + 3.9 * max(1, len(label))
        yield (
            f'<g>{hint}<rect x="{x - half:.1f}" y="{y - 11:.1f}" width="{2 * half:.1f}" height="22" rx="11"'
            f' fill="{fill}" stroke="#222222" stroke-width="1.2"/>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" font-size="13" text-anchor="middle" fill="{ink}">{label}</text></g>'
        )


def _legend(cube: Cube, root: Label, corner: Point) -> Iterable[str]:
    words = f"broadcast from {root}; dimension" if cube.dimensions else "one super-peer, no links"
    yield f'<text x="{corner.x:.1f}" y="{corner.y:.1f}" font-size="12" fill="#222222">{words}</text>'
    x = corner.x + 7.3 * len(words) + 10
    for dimension in range(cube.dimensions):
        yield (
            f'<line x1="{x:.1f}" y1="{corner.y - 4:.1f}" x2="{x + 14:.1f}" y2="{corner.y - 4:.1f}"'
            f' stroke="{colour(dimension)}" stroke-width="4"/>'
            f'<text x="{x + 18:.1f}" y="{corner.y:.1f}" font-size="12" fill="#222222">{dimension}</text>'
        )
        x += 36


def _in_tree(tree: nx.DiGraph, one: Label, other: Label) -> bool:
    return bool(tree.has_edge(one, other) or tree.has_edge(other, one))
