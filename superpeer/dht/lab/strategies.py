"""The comparison that no paper has: all systems on one bibliographic workload, as the network grows.

Some super-peers publish articles; subscriptions ask for an author and a year, which every system can place. All systems
notify the same subscriptions, which is checked. RDFPeers on Chord beside selective broadcast answers the question with
which the chapter closes.
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
        for table in ("chord", "cube")
    ]


def measure(point: Point) -> Counted:
    table = (Chord if point.table == "chord" else CubeTable)(range(point.nodes))
    fabric = Fabric(table, point.seed)
    system = SYSTEMS[point.system](fabric)
    random, bibliography = Random(point.seed), Bibliography(point.seed, AUTHORS)
    publishers = random.sample(range(point.nodes), min(PUBLISHERS, point.nodes))
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
    ("imbalance", "busiest node / mean"),
)


def findings(results: Sequence[Result]) -> Iterable[Finding]:
    for point, counted in results:
        others = [o.notified for p, o in results if (p.nodes, p.subscriptions) == (point.nodes, point.subscriptions)]
        assert all(notified == counted.notified for notified in others), "all systems notify the same subscriptions"
    for table in ("chord", "cube"):
        for metric, y in METRICS:
            series: dict[str, list[tuple[float, float]]] = {}
            for point, counted in results:
                if point.table == table or point.system == SELECTIVE:
                    series.setdefault(point.system, []).append((point.nodes, getattr(counted, metric)))
            yield Figure(
                f"strategies-{table}-{metric}",
                f"All systems, hash tables on {'Chord' if table == 'chord' else 'the cube'}",
                "super-peers",
                y,
                {system: sorted(found) for system, found in series.items()},
                "nothing: no paper compares them",
                log_x=True,
                log_y=metric != "hops",
            )


ALL = Experiment(
    "strategies",
    "All systems on one bibliographic workload, 16 to 4,096 super-peers",
    "no paper",
    points,
    measure,
    findings,
)
EXPERIMENTS = (ALL,)
