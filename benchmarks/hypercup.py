"""What a change of the backbone costs, for the cube and for the unstructured backbone.

    python -m benchmarks.hypercup [--sizes 16,64,...] [--write]

Every figure comes from a run of the membership protocol in the simulator: N members in the middle of their
lives, each with its own state machine, delays of 10 to 100 ms, no loss. Then one joins, one leaves and one
crashes, several times over, and the messages that are not heartbeats are counted until everyone is in the
same view and has stated its place. `--write` puts the table into docs/hypercup.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path
from random import Random
from statistics import mean

from hypercup import Backbone, CubeKind, Kind, SimulatedNetwork, Timing, UnstructuredKind, broadcast_tree

SIZES = [16, 64, 256, 1024, 4096]
KINDS: list[Callable[[], Kind]] = [CubeKind, UnstructuredKind]
DOCUMENT = Path(__file__).parent.parent / "docs" / "hypercup.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SAMPLED_ROOTS = 16


@dataclass(frozen=True)
class Change:
    """The cost of one join, departure or crash."""

    messages: int
    heartbeats: float
    links: int


@dataclass(frozen=True)
class Row:
    size: int
    kind: str
    joins: list[Change]
    leaves: list[Change]
    crashes: list[Change]
    depth: int
    degree_mean: float
    degree_max: int


def measure(size: int, kind: Callable[[], Kind], repeats: int) -> Row:
    network = SimulatedNetwork(seed=size, kind=kind, timing=Timing())
    network.populate([f"m{i}" for i in range(size)])
    network.run(2 * network.timing.heartbeat_s)
    assert network.is_settled()
    shape = shape_of(network)
    random = Random(size)
    joins, leaves, crashes = [], [], []
    for turn in range(repeats):
        joins.append(cost(network, partial(network.join, f"new{turn}")))
        leaves.append(cost(network, partial(network.leave, random.choice(network.running))))
        joins.append(cost(network, partial(network.join, f"more{turn}")))
        crashes.append(cost(network, partial(network.crash, random.choice(network.running))))
    return Row(size, network.views.kind.name, joins, leaves, crashes, *shape)


def cost(network: SimulatedNetwork, change: Callable[[], None]) -> Change:
    """Let something happen, and wait until all have the same view and have stated their places."""
    before = links_of(backbone_of(network))
    network.messages.clear()
    change()
    limit = network.timing.convergence_s(len(network.hosts))
    taken = network.run_until(network.is_agreed, limit, step_s=0.1)
    assert taken is not None, "the members did not agree in the stated time"
    assert network.run_until(network.is_settled, limit, step_s=0.5) is not None
    changed = before ^ links_of(backbone_of(network))
    messages = sum(count for name, count in network.messages.items() if name != "Heartbeat")
    return Change(messages, taken / network.timing.heartbeat_s, len(changed))


def backbone_of(network: SimulatedNetwork) -> Backbone:
    return network.member(network.running[0]).view.backbone


def links_of(backbone: Backbone) -> set[frozenset[bytes]]:
    return {
        frozenset((member, link.neighbour))
        for member in backbone.members
        for link in backbone.position(member).out_links
    }


def shape_of(network: SimulatedNetwork) -> tuple[int, float, int]:
    """The depth of broadcasts from sampled members, and the numbers of neighbours."""
    backbone = backbone_of(network)
    members = sorted(backbone.members)
    roots = Random(0).sample(members, min(SAMPLED_ROOTS, len(members)))
    depths = [max(depth for _, depth in broadcast_tree(backbone, root).nodes(data="depth")) for root in roots]
    degrees = [len(backbone.position(member).neighbours) for member in members]
    return max(depths), mean(degrees), max(degrees)


HEADER = """\
| N | log2 N | backbone | join: messages | leave: messages | crash: messages | join: heartbeats | leave: heartbeats \
| crash: heartbeats | links changed: join, leave, crash | broadcast depth | degree: mean, max |
|--:|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def line(row: Row) -> str:
    changes = (row.joins, row.leaves, row.crashes)
    messages = [f"{mean(change.messages for change in kind):,.0f}" for kind in changes]
    heartbeats = [f"{mean(change.heartbeats for change in kind):.1f}" for kind in changes]
    links = ", ".join(f"{mean(change.links for change in kind):.0f}" for kind in changes)
    shape = [links, str(row.depth), f"{row.degree_mean:.1f}, {row.degree_max}"]
    return "| " + " | ".join([f"{row.size}", f"{log2(row.size):g}", row.kind, *messages, *heartbeats, *shape]) + " |"


def write(lines: list[str]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    DOCUMENT.write_text(f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{tail}", encoding="utf-8")


def main(words: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--write", action="store_true", help="put the table into docs/hypercup.md")
    arguments = parser.parse_args(words)
    lines = HEADER.splitlines()
    print(HEADER, flush=True)
    for size in map(int, arguments.sizes.split(",")):
        for kind in KINDS:
            started = time.perf_counter()
            lines.append(line(measure(size, kind, repeats=max(2, min(8, 2048 // size)))))
            print(lines[-1], f"({time.perf_counter() - started:.0f} s)", flush=True)
    if arguments.write:
        write(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
