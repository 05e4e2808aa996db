"""The comparison that no paper has: all systems on one bibliographic workload, as the network grows.

Some super-peers publish articles; subscriptions ask for an author and a year, which every system can place. All systems
notify the same subscriptions, which is checked. RDFPeers on Chord beside selective broadcast answers the question with
which the chapter closes; as that depends on how many super-peers publish, a second experiment varies their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.hashing import Domain
from superpeer.dht.interval_keys import Attribute
from superpeer.dht.intervals import Intervals
from superpeer.dht.lab.bibliography import DC, FIRST_YEAR, LAST_YEAR, Bibliography
from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.selective import SelectiveBroadcast
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Strategy
from superpeer.dht.strings import Strings
from superpeer.dht.triples import Triples
from superpeer.dht.words import Words

SIZES = (16, 64, 256, 1_024, 4_096)
AUTHORS, PUBLISHERS, SUBSCRIPTIONS, PUBLICATIONS = 100, 16, 500, 200
YEARS = Domain(FIRST_YEAR, LAST_YEAR)
SELECTIVE = "selective broadcast"
TABLES = {"chord": "Chord", "cube": "the cube"}


def _dates(kind: type[Intervals]) -> Callable[[Fabric], Strategy[Any]]:
    attributes = {DC + "date": Attribute(YEARS, LAST_YEAR - FIRST_YEAR + 1)}
    return lambda fabric: kind(fabric, attributes=attributes)


SYSTEMS: dict[str, Callable[[Fabric], Any]] = {
    SELECTIVE: SelectiveBroadcast,
    "DHTStrings": Strings,
    "IIM": _dates(Intervals),
    "IIM, clusters": _dates(Clusters),
    "DHTrie": Words,
    "RDFPeers": lambda fabric: Triples(fabric, domains={DC + "date": YEARS}),
}


@dataclass(frozen=True, slots=True)
class Point:
    system: str
    table: str
    nodes: int
    subscriptions: int
    publications: int
    seed: int
    publishers: int = PUBLISHERS


@dataclass(frozen=True, slots=True)
class Counted:
    messages: float
    """Of a publication, with its notifications."""
    kilobytes: float
    hops: float
    """Until the last subscriber of a publication knows; of those that match anything."""
    placing: float
    """Messages of a subscription, with its share of the advertisements."""
    stored: float
    """Entries of a subscription in all tables."""
    imbalance: float
    """Messages of the busiest node, in multiples of the mean, while publications are under way."""
    notified: tuple[frozenset[str], ...]


def points(scale: float, seed: int) -> list[Point]:
    sizes = [size for size in SIZES if size <= max(SIZES) * scale or size == min(SIZES)]
    numbers = scaled(SUBSCRIPTIONS, scale, 20), scaled(PUBLICATIONS, scale, 20)
    made = [Point(SELECTIVE, "cube", size, *numbers, seed) for size in reversed(sizes)]
    return made + [
        Point(system, table, size, *numbers, seed)
        for size in reversed(sizes)
        for system in SYSTEMS
        if system != SELECTIVE
        for table in TABLES
    ]


def measure(point: Point) -> Counted:
    table = (Chord if point.table == "chord" else CubeTable)(range(point.nodes))
    fabric = Fabric(table, point.seed)
    system = SYSTEMS[point.system](fabric)
    random, bibliography = Random(point.seed), Bibliography(point.seed, AUTHORS)
    publishers = random.sample(range(point.nodes), min(point.publishers, point.nodes))
    if isinstance(system, SelectiveBroadcast):
        for publisher in publishers:
            system.advertise(publisher, qel.Advertisement(schemas=["dc:", "bibo:"]))
    for number in range(point.subscriptions):
        query = qel.parse(bibliography.author_and_year())
        system.subscribe(random.randrange(point.nodes), str(number), query)
    placing = sum(fabric.messages.values()) / point.subscriptions
    before, before_bytes = sum(fabric.messages.values()), sum(fabric.bytes.values())
    fabric.handled.clear()
    notified, hops = [], []
    for number in range(point.publications):
        published = system.publish(random.choice(publishers), bibliography.article(number))
        notified.append(published.notified)
        if published.notified:
            hops.append(published.hops)
    sent = sum(fabric.messages.values()) - before
    return Counted(
        messages=sent / point.publications,
        kilobytes=(sum(fabric.bytes.values()) - before_bytes) / point.publications / 1_000,
        hops=sum(hops) / len(hops) if hops else 0.0,
        placing=placing,
        stored=sum(system.stored().values()) / point.subscriptions,
        imbalance=max(fabric.handled.values(), default=0) * point.nodes / max(sent, 1),
        notified=tuple(notified),
    )


METRICS = (
    ("messages", "messages per publication"),
    ("kilobytes", "kilobytes per publication"),
    ("hops", "hops until the last subscriber knows"),
    ("placing", "messages per subscription"),
    ("stored", "stored entries per subscription"),
    ("imbalance", "messages of the busiest node / mean"),
)


PER_SUBSCRIPTION = tuple(2.0**power for power in range(-6, 9))
"""Publications for each subscription."""


def findings(results: Sequence[Result]) -> Iterable[Finding]:
    _check(results)
    for table, where in TABLES.items():
        chosen = [(point, counted) for point, counted in results if point.table == table or point.system == SELECTIVE]
        for metric, y in METRICS:
            series: dict[str, list[tuple[float, float]]] = {}
            for point, counted in chosen:
                series.setdefault(point.system, []).append((point.nodes, getattr(counted, metric)))
            yield Figure(
                f"strategies-{table}-{metric}",
                f"All systems, hash tables on {where}",
                "super-peers",
                y,
                {system: sorted(found) for system, found in series.items()},
                log_x=True,
                log_y=True,
            )
        yield from _total(table, where, chosen)


def _total(table: str, where: str, results: Sequence[Result]) -> Iterable[Finding]:
    """What a subscription costs with all that is published while it is there, in the largest network."""
    largest = max(point.nodes for point, _ in results)
    yield Figure(
        f"strategies-{table}-total",
        f"All systems on {largest:,} super-peers, hash tables on {where}",
        "publications for each subscription",
        "messages in all, for each subscription",
        {
            point.system: [(often, counted.placing + often * counted.messages) for often in PER_SUBSCRIPTION]
            for point, counted in results
            if point.nodes == largest
        },
        log_x=True,
        log_y=True,
    )


def _check(results: Sequence[Result]) -> None:
    notified: dict[tuple[int, int], tuple[frozenset[str], ...]] = {}
    for point, counted in results:
        others = notified.setdefault((point.nodes, point.publishers), counted.notified)
        assert counted.notified == others, "all systems notify the same subscriptions"


ALL = Experiment(
    "strategies",
    "All systems on one bibliographic workload, 16 to 4,096 super-peers",
    "no paper",
    points,
    measure,
    findings,
)

PUBLISHING = (1, 4, 16, 64)
PUBLISHING_NODES = 1_024


def publisher_points(scale: float, seed: int) -> list[Point]:
    nodes = scaled(PUBLISHING_NODES, scale, 16)
    numbers = scaled(SUBSCRIPTIONS, scale, 20), scaled(PUBLICATIONS, scale, 20)
    return [
        Point(system, table, nodes, *numbers, seed, publishers)
        for publishers in PUBLISHING
        for system, table in ((SELECTIVE, "cube"), ("RDFPeers", "chord"))
    ]


def publisher_findings(results: Sequence[Result]) -> Iterable[Finding]:
    _check(results)
    by_system = {(point.system, point.publishers): counted for point, counted in results}
    nodes = results[0][0].nodes
    title, x = f"RDFPeers on Chord and selective broadcast, {nodes:,} super-peers", "super-peers that publish"
    for metric, y in (("placing", "messages per subscription"), ("messages", "messages per publication")):
        series = {
            system: [(publishers, getattr(by_system[system, publishers], metric)) for publishers in PUBLISHING]
            for system in (SELECTIVE, "RDFPeers")
        }
        yield Figure(f"strategies-publishers-{metric}", title, x, y, series, log_x=True, log_y=True)
    even = []
    for publishers in PUBLISHING:
        selective, rdf_peers = by_system[SELECTIVE, publishers], by_system["RDFPeers", publishers]
        even.append((publishers, (selective.placing - rdf_peers.placing) / (rdf_peers.messages - selective.messages)))
    yield Figure(
        "strategies-publishers-even",
        "From where on selective broadcast sends fewer messages than RDFPeers",
        f"{x} (of {nodes:,})",
        "publications for each subscription",
        {"as many messages": even},
        log_x=True,
        log_y=min(ratio for _, ratio in even) > 0,
    )


BY_PUBLISHERS = Experiment(
    "strategies-publishers",
    "RDFPeers and selective broadcast, by how many super-peers publish",
    "the chapter's closing question",
    publisher_points,
    measure,
    publisher_findings,
)
EXPERIMENTS = (ALL, BY_PUBLISHERS)
