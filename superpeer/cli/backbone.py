"""`superpeer backbone`: show the one that runs, plan one, and replay what happens to one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.choosing import AdminKeyOption, AdminSocketOption, ContextOption, JsonOption, SuperPeerOption
from superpeer.cli.output import count, print_json, print_table

if TYPE_CHECKING:
    from hypercup import Cube, Label
    from hypercup.replay import Scene

app = typer.Typer(
    name="backbone",
    rich_markup_mode=None,
)

MOST_SUPER_PEERS = 16_384
LISTED = 64


@app.callback(invoke_without_command=True)
def show(
    invoked: typer.Context,
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show the backbone as a running super-peer sees it; or plan one, or replay joins, leaves and crashes.

    \b
    superpeer backbone
    superpeer backbone --json
    """
    if invoked.invoked_subcommand is not None:
        return
    from superpeer.cli.asking_admins import ask
    from superpeer.daemon.admin_messages import ShowBackbone

    found = ask(ShowBackbone(), context=context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key)
    if as_json:
        print_json(found)
        return
    _print_running(found)


def _print_running(found: dict[str, Any]) -> None:
    members = sorted(found["members"], key=lambda one: (one["label"], one["id"]))
    print(f"{count(len(members), 'super-peer')} in view {found['view'][:16]}")
    rows = [
        [one["label"] or "-", one["id"], one["address"], one["incarnation"], "this one" if one["is_this_one"] else ""]
        for one in members
    ]
    print_table(["label", "super-peer", "address", "incarnation", ""], rows)
    rows = [
        [
            one["id"],
            " ".join(map(str, one["out_dimensions"])),
            " ".join(map(str, one["in_dimensions"])),
            "connected" if one["is_connected"] else "not connected",
            one["unacknowledged"],
            one["problem"],
        ]
        for one in found["links"]
    ]
    if rows:
        print()
        print_table(["link to", "out", "in", "", "not acknowledged", ""], rows)
    if found["gone"]:
        print()
        print_table(["gone", "address", ""], [[one["id"], one["address"], one["status"]] for one in found["gone"]])


@app.command()
def plan(
    super_peers: Annotated[int, typer.Option("--super-peers", "-n", metavar="N", help="How many super-peers.")],
    seed: Annotated[int, typer.Option(help="Which of the balanced cubes of that size.")] = 0,
    draw: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the cube into a file: .svg or .dot.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the labels, links and broadcast of a balanced cube.

    superpeer backbone plan --super-peers 12 --draw cube.svg
    """
    from hypercup import Cube, HypercupError

    if not 1 <= super_peers <= MOST_SUPER_PEERS:
        raise HypercupError(f"a backbone has 1 to {MOST_SUPER_PEERS} super-peers, not {super_peers}")
    cube = Cube.grow(super_peers, seed)
    root = cube.labels[0]
    if draw is not None:
        _write_drawing(cube, root, draw)
    if as_json:
        print_json(_described(cube, root))
    else:
        _print_plan(cube, root)


@app.command()
def replay(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A file with one event a line.")],
    seed: Annotated[int, typer.Option(help="Chooses delays and whom newcomers turn to.")] = 0,
    unstructured: Annotated[
        bool, typer.Option("--unstructured", help="A spanning tree of chosen links instead of the cube.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Play joins, leaves, crashes and partitions, and show the backbone after each.

    superpeer backbone replay examples/backbone/healing.txt
    """
    from hypercup import CubeKind, UnstructuredKind
    from hypercup.replay import play
    from hypercup.script import parse_script

    steps = parse_script(_read(script))
    scenes = play(steps, seed=seed, kind=UnstructuredKind if unstructured else CubeKind)
    if as_json:
        print_json([_recorded(scene) for scene in scenes])
    else:
        for scene in scenes:
            _print_scene(scene)


def _read(script: Path) -> str:
    from hypercup import HypercupError

    try:
        return script.read_text(encoding="utf-8")
    except OSError as error:
        raise HypercupError(f"cannot read {script}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise HypercupError(f"cannot read {script}: it is not UTF-8 text") from error


def _write_drawing(cube: "Cube", root: "Label", file: Path) -> None:
    from hypercup import HypercupError
    from hypercup.drawing import draw

    text = draw(cube, root, file.suffix)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HypercupError(f"cannot write {file}: {error.strerror or error}") from error


def _described(cube: "Cube", root: "Label") -> dict[str, Any]:
    """All that the plan says, for programs."""
    tree = cube.broadcast_tree(root)
    return {
        "super_peers": len(cube),
        "dimensions": cube.dimensions,
        "links": cube.links().number_of_edges(),
        "labels": [
            {
                "label": str(label),
                "out_links": [{"label": str(x), "dimension": k} for x, k in cube.out_links(label)],
                "in_links": [{"label": str(x), "dimension": k} for x, k in cube.in_links(label)],
                "degree": _degree(cube, label),
                "depth": tree.nodes[label]["depth"],
            }
            for label in cube.labels
        ],
        "broadcast": {
            "root": str(root),
            "messages": tree.number_of_edges(),
            "depth": max(depth for _, depth in tree.nodes(data="depth")),
            "edges": [
                {"from": str(sender), "to": str(receiver), "dimension": dimension}
                for sender, receiver, dimension in tree.edges(data="dimension")
            ],
        },
    }


def _degree(cube: "Cube", label: "Label") -> int:
    return len({link.label for link in (*cube.out_links(label), *cube.in_links(label))})


def _print_plan(cube: "Cube", root: "Label") -> None:
    from collections import Counter
    from statistics import mean

    from rich.console import Console
    from rich.table import Table
    from rich.tree import Tree

    console = Console(highlight=False)
    tree = cube.broadcast_tree(root)
    depths = dict(tree.nodes(data="depth"))
    degrees = [_degree(cube, label) for label in cube.labels]
    noun = "super-peer" if len(cube) == 1 else "super-peers"
    console.print(
        f"{len(cube)} {noun}, {cube.dimensions} dimensions, {cube.links().number_of_edges()} links; "
        f"neighbours: {mean(degrees):.1f} on average, {max(degrees)} at most"
    )
    console.print(f"broadcast from {root}: {tree.number_of_edges()} messages, at most {max(depths.values())} hops")
    if len(cube) <= LISTED:
        table = Table("label", "out-links by dimension", "in-links", "neighbours", "hops", box=None, pad_edge=False)
        for label, degree in zip(cube.labels, degrees, strict=True):
            table.add_row(
                str(label),
                " ".join(str(x) for x, _ in cube.out_links(label)),
                " ".join(str(x) for x, _ in cube.in_links(label)),
                str(degree),
                str(depths[label]),
            )
        console.print(table)
        shown = {root: Tree(str(root))}
        for sender, receiver, dimension in tree.edges(data="dimension"):
            shown[receiver] = shown[sender].add(f"{receiver}  [dim]dimension {dimension}[/dim]")
        console.print(shown[root])
        return
    lengths, hops = Counter(len(label) for label in cube.labels), Counter(depths.values())
    table = Table("label length", "labels", box=None, pad_edge=False)
    for length in sorted(lengths):
        table.add_row(str(length), str(lengths[length]))
    console.print(table)
    table = Table("hops", "super-peers", box=None, pad_edge=False)
    for distance in sorted(hops):
        table.add_row(str(distance), str(hops[distance]))
    console.print(table)


def _print_scene(scene: "Scene") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    happened = f"line {scene.step.line}: {scene.step.text}"
    if scene.taken_s is None:
        outcome = "not in the same view yet"
    else:
        sent = sum(count for name, count in scene.messages.items() if name != "Heartbeat")
        outcome = f"same view after {scene.taken_s:.1f} s, {sent} messages besides heartbeats"
    console.print(f"[bold]{happened}[/bold]", f"  at {scene.time_s:.1f} s: {outcome}", sep="\n")
    if scene.moved:
        console.print(f"  moved: {', '.join(scene.moved)}")
    for seen in scene.views:
        table = Table("super-peer", "place", "neighbours", title=f"view {seen.id[:8]}", title_justify="left", box=None)
        for name, place in sorted(seen.places.items(), key=lambda item: (item[1], item[0])):
            table.add_row(name, place, " ".join(seen.neighbours[name]))
        console.print(table)
    console.print()


def _recorded(scene: "Scene") -> dict[str, Any]:
    """A scene, for programs."""
    return {
        "line": scene.step.line,
        "command": scene.step.text,
        "time_s": round(scene.time_s, 3),
        "agreed_after_s": None if scene.taken_s is None else round(scene.taken_s, 3),
        "messages": scene.messages,
        "moved": list(scene.moved),
        "views": [
            {
                "id": seen.id,
                "holders": list(seen.holders),
                "places": seen.places,
                "neighbours": {name: list(others) for name, others in seen.neighbours.items()},
            }
            for seen in scene.views
        ],
    }
