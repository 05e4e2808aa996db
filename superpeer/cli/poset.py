"""`superpeer poset`: the subscriptions that a super-peer knows, the more general above those that they cover.

A poset may have a hundred thousand places, and a screen has fewer. If all do not fit, the roots come first, and each
gets an equal share of the rest; what is folded away is counted where it is. A place with several parents is shown in
full below the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.asking_admins import ask
from superpeer.cli.choosing import AdminKeyOption, AdminSocketOption, ContextOption, JsonOption, SuperPeerOption
from superpeer.cli.input import read_argument
from superpeer.cli.output import complain, count, print_json, printable

if TYPE_CHECKING:
    from rich.tree import Tree

Row = dict[str, Any]
NAMED = 3
"""So many are named one by one; of more, the number is told."""


@dataclass
class Node:
    """A place of the poset, with those below it that are shown."""

    row: Row
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def poset(
    root: Annotated[
        str, typer.Option("--root", "-r", metavar="QUERY", help="Only this query and what it covers: file, - or text.")
    ] = "",
    depth: Annotated[int, typer.Option("--depth", metavar="N", min=0, max=1000, help="So many levels below.")] = 8,
    match: Annotated[
        str,
        typer.Option(
            "--match", "-m", metavar="QEL-OR-TEXT", help="Only what this query covers, or what contains this text."
        ),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="Show at most so many.")] = 200,
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="FILE", help="Draw it into a file: .svg or .dot.")
    ] = None,
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show the subscriptions by generality: who asked, where each was forwarded, and what hides it.

    \b
    superpeer poset
    superpeer poset --match Nejdl --json
    superpeer poset --root 'X : t(X, dc:date, D) & D >= 2000' --depth 2 --draw poset.svg
    """
    from superpeer.daemon.admin_messages import ShowPoset

    within, text = _read_match(match)
    start = read_argument(root) if root else ""
    whom = {"context": context, "super_peer": super_peer, "admin_socket": admin_socket, "admin_key": admin_key}

    def show(**wanted: Any) -> Row:
        found: Row = ask(ShowPoset(**wanted), **whom)
        return found

    if match or start:
        found = show(text=text, within=within, root=start, depth=depth, limit=limit)
    else:
        found = _fair(show, depth, limit)
    if draw is not None:
        from superpeer.cli.poset_drawing import write_drawing

        write_drawing(nest(found["places"]), draw)
    if as_json:
        print_json(found)
    elif draw is None:
        print_tree(found, is_part=bool(match or start))


def nest(rows: list[Row]) -> list[Node]:
    """Rows come as one walks through the tree; where a row was left out, the next above takes its children."""
    roots: list[Node] = []
    above: list[Node] = []
    for row in rows:
        node = Node(row)
        while above and above[-1].row["depth"] >= row["depth"]:
            above.pop()
        (above[-1].children if above else roots).append(node)
        above.append(node)
    return roots


def _fair(show: Any, depth: int, limit: int) -> Row:
    """All of it if it fits, else the roots with an equal share for each."""
    roots: Row = show(depth=0, limit=limit)
    if roots["total"] <= limit or len(roots["places"]) >= limit or depth == 0:
        whole: Row = show(depth=depth, limit=limit) if roots["total"] <= limit else roots
        return whole
    share = max(1, limit // len(roots["places"]))
    rows: list[Row] = []
    left = limit - len(roots["places"])
    for row in roots["places"]:
        most = min(share, left + 1)
        if row["hides"] and most > 1:
            below: list[Row] = show(root=row["query"], depth=depth, limit=most)["places"]
        else:
            below = [row]
        left -= len(below) - 1
        rows += below
    return {**roots, "places": rows, "is_cut": True}


def _read_match(match: str) -> tuple[str, str]:
    """A query, or a text that a query contains."""
    if "t(" in match.replace(" ", "") and ":" in match:
        import qel

        qel.parse(match)
        return match, ""
    return "", match


def print_tree(found: Row, *, is_part: bool = False) -> None:
    from rich.console import Console
    from rich.tree import Tree

    roots = nest(found["places"])
    title = f"{count(found['total'], 'query')} in the poset, {found['roots']:,} at the top"
    tree = Tree(title)
    for node in roots:
        _grow(tree, node, is_part)
    if not is_part and len(roots) < found["roots"]:
        tree.add(f"… {found['roots'] - len(roots):,} more at the top")
    console = Console(highlight=False, markup=False, width=None if _is_terminal() else 10_000)
    console.print(tree)
    if found["is_cut"]:
        shown = len({row["query"] for row in found["places"]})
        complain(f"{shown:,} of {found['total']:,} are shown; --limit, --depth, --root and --match choose others")


def _grow(tree: Tree, node: Node, is_part: bool) -> None:
    from rich.text import Text

    row = node.row
    label = Text(printable(row["query"]))
    if row["is_shown_before"]:
        label.append("  (shown above)", style="dim")
    else:
        for line in about(row):
            label.append(f"\n{printable(line)}", style="dim")
    branch = tree.add(label)
    if row["is_shown_before"]:
        return
    for child in node.children:
        _grow(branch, child, is_part)
    folded = row["hides"] - len(node.children)
    if folded > 0 and not is_part:
        branch.add(Text(f"… {folded:,} more below", style="dim"))


def about(row: Row) -> list[str]:
    """Who asked for it, where it was forwarded, and what hides it."""
    lines = []
    asked = [*row["asked_by_peers"], *(f"link {one}" for one in row["asked_by_links"])]
    if asked:
        lines.append(f"asked by {_some(asked, row['asked_by'])}")
    if row["forwarded_to"]:
        lines.append(f"forwarded over {_some([f'link {one}' for one in row['forwarded_to']])}")
    else:
        lines.append("forwarded nowhere")
    if row["hidden_by"]:
        lines.append(f"hidden by {_some(row['hidden_by'])}")
    return lines


def _some(names: list[str], total: int = 0) -> str:
    more = max(total, len(names)) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _is_terminal() -> bool:
    import sys

    return sys.stdout.isatty()
