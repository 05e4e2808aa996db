"""What routing costs when the backbone changes, and what it saves.

    python -m benchmarks.routing [--sizes 16,64,256] [--write]

Both tables come from whole networks in the simulator, with nodes on real membership. Every message takes the same
time, one *link delay*, so that times can be counted in link delays. `--write` puts the tables into docs/routing.md.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any
from unittest import mock

from rdflib import Literal, URIRef

import qel
from benchmarks.workload import Bibliography
from hypercup import Faults, View
from superpeer.node import beyond
from superpeer.node.advertisements import AdvertisementIndex, written
from superpeer.node.exchange import Announced, InView
from superpeer.node.node import Effects
from superpeer.node.poset import Poset
from superpeer.node.routing_messages import ElementsChanged, QueriesChanged
from superpeer.sim import Network, Peer, SuperPeer

SIZES = [16, 64, 256]
LINK_DELAY_S = 0.05
SUBSCRIPTIONS_EACH = 8
REPEATS = 3
SEED = 20_040_510
DOCUMENT = Path(__file__).parent.parent / "docs" / "routing.md"

HEADER_BYTES = 40
"""A guess at what every message has: the view, a type, a dimension, a number, a signature of the channel."""
DIGEST_BYTES = 32
IDENTITY_BYTES = 16


class MeasuredNetwork(Network):
    """A network that notes what is said, and when super-peers enter views and are settled in them."""

    def __init__(self, super_peers: int, seed: int) -> None:
        self.said: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.entered: dict[int, float] = {}
        self.settled: dict[int, float] = {}
        self.views: set[bytes] = set()
        self.last_said = 0.0
        super().__init__(super_peers, seed, faults=Faults(min_delay_s=LINK_DELAY_S, max_delay_s=LINK_DELAY_S))

    def carry_out(self, super_peer: SuperPeer, effects: Effects) -> None:
        super().carry_out(super_peer, effects)
        for _, message in effects.messages:
            content = message.content if isinstance(message, InView) else message
            name = type(content).__name__
            self.said[name] += 1
            self.bytes[name] += size_of(content)
            if not name.startswith("CatchUp"):
                self.last_said = self.time
        if super_peer.node is not None and super_peer.node.broker.router.is_settled:
            self.settled.setdefault(super_peer.number, self.time)

    def enter_view(self, name: str, view: View) -> None:
        number = int(name.removeprefix("sp"))
        self.settled.pop(number, None)
        self.entered[number] = self.time
        self.views.add(view.id)
        super().enter_view(name, view)

    def forget(self) -> None:
        for noted in (self.said, self.bytes, self.entered, self.settled, self.views):
            noted.clear()


def size_of(message: Any) -> int:
    """An estimate: text and numbers as they are, without the overhead of an encoding."""
    size = HEADER_BYTES
    match message:
        case Announced():
            size += 2 * DIGEST_BYTES
        case ElementsChanged(_, _, added, removed, base):
            size += len(base) + sum(len(written(element)) for element in (*added, *removed))
        case QueriesChanged(_, _, added, removed, base):
            size += len(base) + sum(len(str(query)) for query in added) + IDENTITY_BYTES * len(removed)
    return size


def tables_bytes(network: Network) -> int:
    """What it would take to tell every link its whole tables."""
    total = 0
    for super_peer in network.super_peers:
        if super_peer.node is not None:
            tables = super_peer.node.broker.router.tables
            for w in tables.in_links:
                total += HEADER_BYTES + sum(len(written(element)) for element in tables.adverts_out(w))
            for k in tables.out_links:
                total += HEADER_BYTES + sum(len(str(query)) for query in tables.subs_out(k).values())
    return total


# The cost of change.


@dataclass(frozen=True)
class Change:
    """What one super-peer that came or went meant for the tables of all."""

    views: int
    announcements: int
    tables: int
    acknowledgements: int
    bytes: int
    whole_bytes: int
    delays_to_settled: float
    delays_to_quiet: float


def cost_of_change(size: int) -> dict[str, list[Change]]:
    network = MeasuredNetwork(size, SEED)
    random = Random(SEED)
    bibliography = Bibliography(SEED, authors=400)
    for number, text in enumerate(bibliography.subscriptions(size * SUBSCRIPTIONS_EACH)):
        if number % SUBSCRIPTIONS_EACH == 0:
            reader = network.add_peer(at=number // SUBSCRIPTIONS_EACH)
        reader.subscribe(text)
    for number in range(0, size, 2):
        profile = random.choice(PROFILES)
        Library(network.add_peer(at=number), profile, bibliography.authors, random).advertise(random.choice(LEVELS))
    network.run()
    changes: dict[str, list[Change]] = {"joins": [], "leaves": [], "crashes": []}
    for _ in range(REPEATS):
        changes["joins"].append(measure(network, network.add_super_peer))
        changes["leaves"].append(measure(network, lambda: network.leave(some_running(network, random))))
        changes["joins"].append(measure(network, network.add_super_peer))
        changes["crashes"].append(measure(network, lambda: network.crash(some_running(network, random))))
    return changes


def some_running(network: Network, random: Random) -> int:
    return random.choice([one.number for one in network.super_peers if one.node is not None])


def measure(network: MeasuredNetwork, change: Callable[[], object]) -> Change:
    network.forget()
    change()
    network.run()
    running = [one.number for one in network.super_peers if one.node is not None]
    assert set(running) <= network.entered.keys() & network.settled.keys(), "all went over and are settled"
    news = max(network.entered[number] for number in running)
    said = network.said
    return Change(
        len(network.views),
        said["Announced"],
        said["ElementsChanged"] + said["QueriesChanged"],
        said["ElementsAcknowledged"] + said["QueriesAcknowledged"],
        sum(network.bytes[name] for name in ("Announced", "ElementsChanged", "QueriesChanged")),
        tables_bytes(network),
        max(0.0, max(network.settled[number] for number in running) - news) / LINK_DELAY_S,
        max(0.0, network.last_said + LINK_DELAY_S - news) / LINK_DELAY_S,
    )


CHANGE_HEADER = """\
| N | 2 log2 N | one that | views | announcements | tables said | acknowledgements | kB said | kB of all tables \
| link delays to settled | link delays to quiet |
|--:|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|"""


def change_line(size: int, name: str, changes: list[Change]) -> str:
    def average(of: Callable[[Change], float]) -> float:
        return mean(map(of, changes))

    figures = [
        f"{average(lambda c: c.views):.1f}",
        f"{average(lambda c: c.announcements):,.0f}",
        f"{average(lambda c: c.tables):,.0f}",
        f"{average(lambda c: c.acknowledgements):,.0f}",
        f"{average(lambda c: c.bytes) / 1000:,.0f}",
        f"{average(lambda c: c.whole_bytes) / 1000:,.0f}",
        f"{average(lambda c: c.delays_to_settled):.1f}",
        f"{average(lambda c: c.delays_to_quiet):.1f}",
    ]
    return "| " + " | ".join([f"{size}", f"{2 * log2(size):g}", name, *figures]) + " |"


# What routing saves.

LEVELS = ["schema", "property", "property/value"]


@dataclass(frozen=True)
class Profile:
    """What a library has: one schema, some properties of it, and years."""

    schema: str
    properties: tuple[str, ...]
    first_year: int
    last_year: int


PROFILES = [
    Profile(schema, properties, first, last)
    for schema in ("dc", "schema")
    for properties in (("creator", "date"), ("creator", "title", "date"))
    for first, last in ((1980, 2004), (2000, 2025))
]


@dataclass
class Library:
    """A peer that publishes works by some authors, from some years, in one schema."""

    peer: Peer
    profile: Profile
    all_authors: list[str]
    random: Random
    authors: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.authors = self.random.sample(self.all_authors, len(self.all_authors) // 8)

    def name(self, local: str) -> str:
        return f"{self.profile.schema}:{local}"

    def advertise(self, level: str) -> None:
        """The same, at one of the three levels: as little, or as much, as the level can say."""
        profile = self.profile
        if level == "schema":
            self.peer.advertise(schemas=[f"{profile.schema}:"])
        elif level == "property":
            self.peer.advertise(properties=[self.name(local) for local in profile.properties])
        else:
            values = {
                self.name("creator"): self.authors,
                self.name("date"): (profile.first_year, profile.last_year),
            }
            rest = [self.name(local) for local in profile.properties if local not in ("creator", "date")]
            self.peer.advertise(properties=rest, values=values)

    def publications(self, number: int) -> Iterator[list[Any]]:
        profile = self.profile
        base = qel.names.PREFIXES[profile.schema]
        for i in range(number):
            resource = URIRef(f"http://example.org/{self.peer.name.replace(' ', '')}/{i}")
            year = self.random.randint(profile.first_year, profile.last_year)
            triples = [
                (resource, URIRef(base + "creator"), Literal(self.random.choice(self.authors))),
                (resource, URIRef(base + "date"), Literal(str(year))),
            ]
            if "title" in profile.properties:
                triples.append((resource, URIRef(base + "title"), Literal(f"Work {i}")))
            yield triples


class WithoutCovering(Poset[Any]):
    """Every subscription goes where it is advertised, whatever went there before; only equal ones are one."""

    def _smallest_above(self, query: qel.Query) -> set[Any]:  # noqa: ARG002
        return set()

    def _largest_below(self, query: qel.Query) -> list[Any]:  # noqa: ARG002
        return []


class CoversEverything(AdvertisementIndex[Any]):
    """As if everybody advertised everything: subscriptions go everywhere."""

    def covers(self, query: qel.Query) -> bool:  # noqa: ARG002
        return True


@dataclass(frozen=True)
class Variant:
    name: str
    level: str | None
    has_covering: bool


VARIANTS = [
    Variant("subscriptions to all, without covering", None, has_covering=False),
    Variant("subscriptions to all, with covering", None, has_covering=True),
    *(
        Variant(f"{level} advertisements, {with_or_not} covering", level, with_or_not == "with")
        for level in LEVELS
        for with_or_not in ("without", "with")
    ),
]
SAVING_SIZE, SAVING_SUBSCRIPTIONS, LIBRARIES, PUBLICATIONS_EACH = 64, 1_000, 16, 20
AUTHORS, WORDS = 40, 40


def saving(variant: Variant) -> tuple[MeasuredNetwork, int]:
    """Runs one variant; the network, and how many notifications its readers got."""
    with (
        mock.patch.object(beyond, "Poset", Poset if variant.has_covering else WithoutCovering),
        mock.patch.object(beyond, "AdvertisementIndex", AdvertisementIndex if variant.level else CoversEverything),
    ):
        network = MeasuredNetwork(SAVING_SIZE, SEED)
        random = Random(SEED)
        bibliography = Bibliography(SEED, authors=AUTHORS, words=WORDS)
        libraries = [
            Library(network.add_peer(at=random.randrange(SAVING_SIZE)), PROFILES[i % 8], bibliography.authors, random)
            for i in range(LIBRARIES)
        ]
        network.run()
        network.forget()
        for library in libraries:
            library.advertise(variant.level or "schema")
        network.run()
        readers = [network.add_peer(at=number) for number in range(SAVING_SIZE)]
        for text in bibliography.subscriptions(SAVING_SUBSCRIPTIONS):
            asked = text.replace("dc:", "schema:") if random.random() < 0.5 else text
            random.choice(readers).subscribe(asked)
        network.run()
        for library in libraries:
            for triples in library.publications(PUBLICATIONS_EACH):
                library.peer.publish(triples)
        network.run()
    return network, sum(len(reader.inbox) for reader in readers)


def asked_on_links(network: Network) -> int:
    """How many subscriptions all links hold together."""
    running = [one.node.broker.router.tables for one in network.super_peers if one.node is not None]
    return sum(len(tables.subs_out(k)) for tables in running for k in tables.out_links)


SAVING_HEADER = """\
| variant | messages for subscriptions | kB | subscriptions held in the end | messages for advertisements | kB \
| messages for notifications | notifications delivered |
|:--|--:|--:|--:|--:|--:|--:|--:|"""


def saving_lines() -> Iterator[str]:
    delivered: set[int] = set()
    for variant in VARIANTS:
        network, got = saving(variant)
        delivered.add(got)
        said = [
            f"{network.said['QueriesChanged']:,}",
            f"{network.bytes['QueriesChanged'] / 1000:,.0f}",
            f"{asked_on_links(network):,}",
            f"{network.said['ElementsChanged'] if variant.level else 0:,}",
            f"{network.bytes['ElementsChanged'] / 1000 if variant.level else 0:,.0f}",
            f"{network.said['Notified']:,}",
            f"{got:,}",
        ]
        yield "| " + " | ".join([variant.name, *said]) + " |"
    assert len(delivered) == 1, "readers get the same in every variant"
    flooded = LIBRARIES * PUBLICATIONS_EACH * (SAVING_SIZE - 1)
    yield f"| notifications to all, no tables | 0 | 0 | 0 | 0 | 0 | {flooded:,} | {got:,} |"


def write(name: str, lines: Sequence[str]) -> None:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = DOCUMENT.read_text(encoding="utf-8")
    head, rest = text.split(begin, 1)
    _, tail = rest.split(end, 1)
    DOCUMENT.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{tail}", encoding="utf-8")


def show(header: str, lines: Iterator[str]) -> list[str]:
    """Prints lines as they are ready."""
    print(header, flush=True)
    shown = header.splitlines()
    started = time.perf_counter()
    for line in lines:
        print(line, f"({time.perf_counter() - started:.0f} s)", flush=True)
        shown.append(line)
    return shown


def change_lines(sizes: Sequence[int]) -> Iterator[str]:
    for size in sizes:
        for name, changes in cost_of_change(size).items():
            yield change_line(size, name, changes)


def main(words: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--only", choices=["change", "saving"], help="one of the two tables")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/routing.md")
    arguments = parser.parse_args(words)
    gc.disable()  # all that these networks hold is alive until they end
    try:
        if arguments.only != "saving":
            changes = show(CHANGE_HEADER, change_lines(list(map(int, arguments.sizes.split(",")))))
            if arguments.write:
                write("change", changes)
        if arguments.only != "change":
            savings = show(SAVING_HEADER, saving_lines())
            if arguments.write:
                write("saving", savings)
    finally:
        gc.enable()


if __name__ == "__main__":
    main(sys.argv[1:])
