"""The experiments of the DHTStrings papers: SubIDs sent (Figures 6 to 8, which are 9 to 11 of the earlier paper), load
balance (Figure 5), and response time against overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.lab.string_load import loads
from superpeer.dht.lab.string_model import ATTRIBUTES, Sent, Workload, count
from superpeer.dht.string_matching import Matching

LOAD_TRIALS = 3
SUBSCRIPTIONS, EVENTS, NODES = 10_000, 30_000, 128
THETAS = tuple(step / 10 for step in range(1, 11))
SOURCE = "Aekaterinidis and Triantafillou, DHTStrings"


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    workload: Workload
    careful: bool


def _points(workload_of: Callable[[float], tuple[float, tuple[float, ...]]]) -> Callable[[float, int], list[Point]]:
    def points(scale: float, seed: int) -> list[Point]:
        found = []
        for x in THETAS:
            attribute_theta, value_thetas = workload_of(x)
            workload = Workload(
                attribute_theta, value_thetas, scaled(SUBSCRIPTIONS, scale), scaled(EVENTS, scale), seed
            )
            found += [Point(x, workload, careful) for careful in (False, True)]
        return found

    return points


def measure_sent(point: Point) -> Sent:
    return count(point.workload, careful=point.careful)


def _findings(name: str, title: str, x: str, reported: str) -> Callable[[Sequence[Result]], Iterable[Finding]]:
    def findings(results: Sequence[Result]) -> Iterable[Finding]:
        for careful, suffix, addition in ((False, "", ""), (True, "-careful", ", careful")):
            chosen = [(point.x, sent) for point, sent in results if point.careful is careful]
            series = {
                "coordinated": [(at, sent.coordinated) for at, sent in chosen],
                "distributed": [(at, sent.distributed) for at, sent in chosen],
                "hybrid": [(at, sent.hybrid) for at, sent in chosen],
            }
            yield Figure(name + suffix, title + addition, x, "SubIDs sent per event", series, reported)

    return findings


def _mixed(theta: float) -> tuple[float, tuple[float, ...]]:
    """The popular half of the attributes has uniform values, the other half skewed ones."""
    half = ATTRIBUTES // 2
    return theta, (0.0,) * half + (1.0,) * (ATTRIBUTES - half)


VALUES = Experiment(
    "strings-values",
    "SubIDs sent against the skew of values",
    f"{SOURCE}: Figure 6; Figure 9 of the earlier paper",
    _points(lambda theta: (0.6, (theta,) * ATTRIBUTES)),
    measure_sent,
    _findings(
        "strings-values",
        "DHTStrings: skew of values (attributes' θ = 0.6)",
        "θ of values",
        "coordinated slightly better than hybrid, both considerably better than distributed",
    ),
)
POPULARITY = Experiment(
    "strings-attributes",
    "SubIDs sent against the skew of attributes",
    f"{SOURCE}: Figure 7; Figure 10 of the earlier paper",
    _points(lambda theta: (theta, (0.5,) * ATTRIBUTES)),
    measure_sent,
    _findings(
        "strings-attributes",
        "DHTStrings: skew of attributes (values' θ = 0.5)",
        "θ of attributes",
        "coordinated marginally better than hybrid in all cases",
    ),
)
MIXED = Experiment(
    "strings-mixed",
    "SubIDs sent where popular attributes have uniform values",
    f"{SOURCE}: Figure 8; Figure 11 of the earlier paper",
    _points(_mixed),
    measure_sent,
    _findings(
        "strings-mixed",
        "DHTStrings: popular attributes uniform, others with θ = 1",
        "θ of attributes",
        "hybrid best for small θ; all three alike as θ approaches 1",
    ),
)


LOAD_VARIANTS = {
    "strings-load": ("", False, True),
    "strings-load-equalities": (", equalities only", True, True),
    "strings-load-chord": (", shares like Chord's arcs", False, False),
}
"""By name of the figure: what to say of it, whether there are equalities only, and whether shares are even."""


@dataclass(frozen=True, slots=True)
class LoadPoint:
    variant: str
    attributes: int
    theta: float
    subscriptions: int
    seed: int


def load_points(scale: float, seed: int) -> list[LoadPoint]:
    return [
        LoadPoint(variant, attributes, theta, scaled(20_000, scale), seed)
        for variant in LOAD_VARIANTS
        for theta in (0.6, 0.8, 1.0, 1.2, 1.4)
        for attributes in (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 35)
    ]


def measure_load(point: LoadPoint) -> float:
    """The ratio of the largest load to the smallest, the mean of several hash functions."""
    _, equalities_only, even = LOAD_VARIANTS[point.variant]
    ratios = []
    for trial in range(LOAD_TRIALS):
        stored = loads(
            point.attributes,
            point.theta,
            point.subscriptions,
            NODES,
            equalities_only=equalities_only,
            even=even,
            seed=point.seed + trial,
        )
        ratios.append(float(stored.max() / max(stored.min(), 1)))
    return sum(ratios) / len(ratios)


def load_findings(results: Sequence[Result]) -> Iterable[Finding]:
    for variant, (addition, _, _) in LOAD_VARIANTS.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for point, ratio in results:
            if point.variant == variant:
                series.setdefault(f"θ = {point.theta}", []).append((point.attributes, ratio))
        yield Figure(
            variant,
            f"DHTStrings: load balance on {NODES} nodes{addition}",
            "attributes of the schema",
            "largest load / smallest load",
            series,
            "falls under 5 with many attributes even for θ = 1.4",
            log_y=True,
            lines={"5": 5},
        )


LOAD = Experiment(
    "strings-load",
    "Storage load ratio against attributes",
    f"{SOURCE}: Figure 5",
    load_points,
    measure_load,
    load_findings,
)


@dataclass(frozen=True, slots=True)
class OverlapPoint:
    overlap: float
    list_length: int
    steps: int
    trials: int
    seed: int


def overlap_points(scale: float, seed: int) -> list[OverlapPoint]:
    """Events of ten attributes, each with a list of a hundredth of the subscriptions."""
    trials = scaled(EVENTS, scale, 10) // 100 or 1
    return [OverlapPoint(step / 10, SUBSCRIPTIONS // 100, ATTRIBUTES, trials, seed) for step in range(1, 11)]


def measure_overlap(point: OverlapPoint) -> dict[Matching, float]:
    """SubIDs that have to be merged one after the other until an event is matched. A node has its own list indexed, so
    that a visit costs what comes to it; the coordinator gets all lists and has nothing indexed. The overlap says which
    part of what comes is in the local list, and so goes on. The last attribute that a SubID declares may be any, and
    when that has been visited, hybrid matching sends it home."""
    random = Random(f"{point.seed} {point.overlap}")
    totals = dict.fromkeys(Matching, 0)
    for _ in range(point.trials):
        totals[Matching.COORDINATED] += point.list_length * point.steps
        passed = [random.randrange(point.steps) for _ in range(point.list_length)]
        """For each SubID that is passed on, the last attribute that it declares."""
        for step in range(point.steps):
            totals[Matching.DISTRIBUTED] += len(passed)
            totals[Matching.HYBRID] += sum(last > step for last in passed)
            passed = [last for last in passed if random.random() < point.overlap]
    return {matching: total / point.trials for matching, total in totals.items()}


def overlap_findings(results: Sequence[Result]) -> Iterable[Finding]:
    series: dict[str, list[tuple[float, float]]] = {}
    for point, merged in results:
        for matching in (Matching.DISTRIBUTED, Matching.HYBRID):
            share = 100 * merged[matching] / merged[Matching.COORDINATED]
            series.setdefault(matching.value, []).append((100 * point.overlap, share))
    yield Figure(
        "strings-response",
        "DHTStrings: response time against overlap",
        "overlap of consecutive lists (%)",
        "% of coordinated matching's time",
        series,
        "below 20% at 10% overlap; distributed approaches 100%, hybrid stays under 50%",
        lines={"coordinated": 100, "50": 50, "20": 20},
    )


RESPONSE = Experiment(
    "strings-response",
    "Response time against overlap",
    f"{SOURCE}: Section 5, event matching latency",
    overlap_points,
    measure_overlap,
    overlap_findings,
)
EXPERIMENTS = (LOAD, VALUES, POPULARITY, MIXED, RESPONSE)
