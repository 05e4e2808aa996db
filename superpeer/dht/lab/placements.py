"""Lo's Table 1, measured: to how many brokers each system sends a subscription (m) and an event (n), and how many there
are (k); IIM's own beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from superpeer.dht.chord import Chord
from superpeer.dht.interval_keys import IntervalKeys
from superpeer.dht.lab.experiment import Experiment, Finding, Result, Table, scaled
from superpeer.dht.lab.interval_workload import DOMAIN, SCHEMA, Workload
from superpeer.dht.placements import Baldoni, EFerry, Ferry, Meghdoot, Placement, Ranges, Values
from superpeer.dht.table import HashTable

NODES, SUBSCRIPTIONS, EVENTS = 512, 3_000, 9_000
SPACE_BITS = 12
NARROW = "Meghdoot, one attribute"
"""With a schema of one attribute, for which Lo's k holds: a part of all zones is lost with every attribute."""
EVENT_SAMPLE = 1_000
"""Enough for a mean; Meghdoot's zones are many to look through."""


class IntervalMapping(Placement):
    """IIM: the intervals of the attribute with the narrowest range."""

    system = "IIM"

    def __init__(self, table: HashTable) -> None:
        self._table = table
        self._keys = IntervalKeys(table.bits, SCHEMA)

    def subscription(self, subscriber: int, ranges: Ranges) -> set[int]:
        del subscriber
        name = min(sorted(ranges), key=lambda one: ranges[one][1] - ranges[one][0])
        return {self._owner(name, index) for index in SCHEMA[name].indices(ranges[name])}

    def event(self, values: Values) -> set[int]:
        return {self._owner(name, SCHEMA[name].index(value)) for name, value in values.items()}

    def brokers(self) -> set[int]:
        return {self._owner(name, index) for name, attribute in SCHEMA.items() for index in range(attribute.intervals)}

    def _owner(self, name: str, index: int) -> int:
        return self._table.owner(self._keys.key(name, "", index))


@dataclass(frozen=True, slots=True)
class Point:
    system: str
    nodes: int
    subscriptions: int
    events: int
    seed: int


@dataclass(frozen=True, slots=True)
class Measured:
    formulas: tuple[str, str, str]
    expected: tuple[float, float, float]
    found: tuple[float, float, float]


def points(scale: float, seed: int) -> list[Point]:
    sizes = scaled(NODES, scale, 16), scaled(SUBSCRIPTIONS, scale, 20), scaled(EVENTS, scale, 20)
    systems = "Ferry", "eFerry", "Baldoni et al.", "Meghdoot", NARROW, "IIM"
    return [Point(system, *sizes, seed) for system in systems]


def measure(point: Point) -> Measured:
    table = Chord(range(point.nodes), SPACE_BITS)
    schema = dict.fromkeys(SCHEMA, DOMAIN)
    workload = Workload(point.nodes, 0.6, 5.0, point.seed)
    requests = workload.requests(point.subscriptions)
    ranges = [{name: (low, high) for name, low, high in request.ranges} for request in requests]
    values = [
        {name: int(found[0].text) for name, found in one.publication.description.values.items() if name in SCHEMA}
        for one in workload.occurrences(requests, point.events)
    ]
    if point.system == NARROW:
        (name, *_), schema = schema, dict(list(schema.items())[:1])
        ranges = [{name: next(iter(one.values()))} for one in ranges]
        values = [{name: next(iter(one.values()))} for one in values]
    per_event = sum(map(len, values)) / len(values)
    width = sum(high - low + 1 for one in ranges for low, high in one.values()) / sum(map(len, ranges))
    placement: Placement
    formulas: tuple[str, str, str]
    expected: tuple[float, float, float]
    match point.system:
        case "Ferry":
            placement, k = Ferry(table, schema), len(schema)
            formulas, expected = ("1", "|h(names)|", "|h(names)|"), (1.0, k, k)
        case "eFerry":
            placement, sets = EFerry(table, schema), 2**per_event
            formulas, expected = ("1", "2^n_e", "|h(power(names))|"), (1.0, sets, min(2 ** len(schema), point.nodes))
        case "Baldoni et al.":
            placement, k = Baldoni(table, schema, point.seed), len(schema) * (DOMAIN.most + 1)
            formulas, expected = ("R", "n_e", "|h(values)|"), (width, per_event, min(k, point.nodes))
        case "Meghdoot" | "Meghdoot, one attribute":
            placement = Meghdoot(point.nodes, schema, point.seed)
            formulas, expected = ("1", "N/4", "N/2"), (1.0, point.nodes / 4, point.nodes / 2)
        case _:
            placement = IntervalMapping(table)
            per_range = width / ((DOMAIN.most + 1) / 6) + 1
            formulas, expected = ("R/interval + 1", "n_e", "names x intervals"), (per_range, per_event, len(schema) * 6)
    stored = [len(placement.subscription(request.home, one)) for request, one in zip(requests, ranges, strict=True)]
    sent = [len(placement.event(one)) for one in values[:EVENT_SAMPLE]]
    found = sum(stored) / len(stored), sum(sent) / len(sent), float(len(placement.brokers()))
    return Measured(formulas, expected, found)


def findings(results: Sequence[Result]) -> Iterable[Finding]:
    rows = []
    for point, measured in results:
        row: list[str | float] = [point.system]
        for formula, expected, found in zip(measured.formulas, measured.expected, measured.found, strict=True):
            row += [f"{formula} = {expected:.4g}", round(found, 2)]
        rows.append(row)
    yield Table(
        "placements",
        "Brokers of a subscription (m), of an event (n), in all (k)",
        ("system", "m, formula", "m", "n, formula", "n", "k, formula", "k"),
        rows,
        "the formulas of the first, third and fifth column; no numbers",
    )


TABLE = Experiment(
    "placements",
    "Lo's Table 1, measured",
    "Lo, Efficient Content-Based Publish/Subscribe Systems over Peer-to-Peer Networks: Table 1",
    points,
    measure,
    findings,
)
EXPERIMENTS = (TABLE,)
