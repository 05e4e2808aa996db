"""Drawings of a poset: as Graphviz DOT, with every parent of a place; as SVG, with rows as in the terminal."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from textwrap import shorten

from superpeer.cli.poset import Node, about
from superpeer.errors import SuperpeerError

ROW, INDENT, MARGIN, CHARACTER = 36, 28, 16, 7
LONGEST = 160


class CannotDraw(SuperpeerError):
    """A format that there is not, or a file that cannot be written."""


def write_drawing(roots: list[Node], file: Path) -> None:
    match file.suffix.lower():
        case ".svg":
            text = draw_svg(roots)
        case ".dot" | ".gv":
            text = draw_dot(roots)
        case _:
            raise CannotDraw(f"drawings are written as .svg or .dot, not {file.suffix or 'without an extension'}")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotDraw(f"cannot write {file}: {error.strerror or error}") from error


def draw_dot(roots: list[Node]) -> str:
    """A box for each place; an arrow from each query to those that it covers."""
    nodes = {node.row["query"]: node for root in roots for node in root.walk()}
    numbers = {query: number for number, query in enumerate(nodes)}
    lines = ["digraph poset {", '  rankdir=LR; node [shape=box, style=rounded, fontname="monospace"];']
    for query, node in nodes.items():
        said = "\n".join([_short(query), *map(_short, about(node.row))])
        lines.append(f"  q{numbers[query]} [label={json.dumps(said, ensure_ascii=False)}];")
    for query, node in nodes.items():
        lines += [
            f"  q{numbers[parent]} -> q{numbers[query]};" for parent in node.row["hidden_by"] if parent in numbers
        ]
    return "\n".join([*lines, "}", ""])


def draw_svg(roots: list[Node]) -> str:
    """A row for each place, indented by its depth, with lines from above."""
    shapes: list[str] = []
    widest = y = MARGIN

    def place(node: Node, depth: int, parent: tuple[int, int] | None) -> None:
        nonlocal y, widest
        x, own = MARGIN + depth * INDENT, y
        query, details = _short(node.row["query"]), "; ".join(map(_short, about(node.row)))
        if parent is not None:
            shapes.append(f'<path d="M{parent[0] + 6} {parent[1] + 10}V{own}H{x}" fill="none" stroke="#bbbbbb"/>')
        colour = "#228833" if node.row["forwarded_to"] else "#999999"
        shapes.append(f'<circle cx="{x + 4}" cy="{own}" r="4" fill="{colour}"/>')
        shapes.append(
            f'<text x="{x + 14}" y="{own + 4}"><title>{escape(node.row["query"])}</title>{escape(query)}</text>'
        )
        shapes.append(f'<text x="{x + 14}" y="{own + 18}" fill="#777777">{escape(details)}</text>')
        widest = max(widest, x + 14 + CHARACTER * max(len(query), len(details)))
        y += ROW
        for child in node.children:
            place(child, depth + 1, (x, own))

    for root in roots:
        place(root, 0, None)
    size = f'width="{widest + MARGIN}" height="{y}" viewBox="0 0 {widest + MARGIN} {y}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">'
    return "\n".join([start, '<rect width="100%" height="100%" fill="white"/>', *shapes, "</svg>", ""])


def _short(text: str) -> str:
    """A line that fits, without what XML does not allow."""
    return shorten("".join(one if one.isprintable() else " " for one in text), LONGEST, placeholder=" …")
