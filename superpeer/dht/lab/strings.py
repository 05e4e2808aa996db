"""The experiments of the DHTStrings papers: SubIDs sent (Figures 6 to 8, which are 9 to 11 of the earlier paper), and
response time against overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.lab.string_load import SOURCE
from superpeer.dht.lab.string_model import ATTRIBUTES, Declaring, Order, Sent, Workload, count
from superpeer.dht.string_matching import Matching

SUBSCRIPTIONS, EVENTS = 10_000, 30_000
THETAS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


FEW = 0.2
"""Of what events have: subscriptions with little more than one attribute."""


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    workload: Workload


def measure_sent(point: Point) -> Sent:
    return count(point.workload)


def _points(workload_of: Callable[[float], tuple[float, tuple[float, ...]]]) -> Callable[[float, int], list[Point]]:
    """Subscriptions that declare as many attributes as events have, as the papers say; and with few."""

    def points(scale: float, seed: int) -> list[Point]:
        sizes = scaled(SUBSCRIPTIONS, scale, 200), scaled(EVENTS, scale, 200)
        return [Point(x, Workload(*workload_of(x), *sizes, seed, share=share)) for x in THETAS for share in (1.0, FEW)]

    return points


def _findings(name: str, title: str, x: str, reported: str) -> Callable[[Sequence[Result]], Iterable[Finding]]:
    def findings(results: Sequence[Result]) -> Iterable[Finding]:
        for share, suffix, addition in ((1.0, "", "as the text has it"), (FEW, "-few", "few declared attributes")):
            chosen = [(point.x, sent) for point, sent in results if point.workload.share == share]
            series = {
                "coordinated": [(at, sent.coordinated) for at, sent in chosen],
                "distributed": [(at, sent.distributed) for at, sent in chosen],
                "hybrid": [(at, sent.hybrid) for at, sent in chosen],
            }
            yield Figure(f"{name}{suffix}", f"{title}, {addition}", x, "SubIDs sent per event", series, reported)

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
        "DHTStrings: skew of values",
        "θ of values (θ of attributes is 0.6)",
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
        "DHTStrings: skew of attributes",
        "θ of attributes (θ of values is 0.5)",
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
        "DHTStrings: popular attributes uniform",
        "θ of attributes (θ of the values of unpopular ones is 1)",
        "hybrid best for small θ; all three alike as θ approaches 1",
    ),
)

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
USUAL_READING = ", short lists first"
READINGS: dict[str, dict[str, Any]] = {
    USUAL_READING: {},
    ", large domains first": {"order": Order.LARGE_DOMAINS_FIRST},
    ", ten draws": {"declaring": Declaring.DRAWN},
    ", hopeless dropped": {"drops_hopeless": True},
}
"""What the papers leave open, each by itself; the first is what Figures 6 to 8 are made with."""


@dataclass(frozen=True, slots=True)
class ReadingPoint:
    reading: str
    workload: Workload


def declared_points(scale: float, seed: int) -> list[ReadingPoint]:
    """The setting of Figures 6 and 7 where both have it: attributes with θ = 0.6, values with θ = 0.5."""
    sizes = scaled(SUBSCRIPTIONS, scale, 200), scaled(EVENTS, scale, 200)
    return [
        ReadingPoint(reading, Workload(0.6, (0.5,) * ATTRIBUTES, *sizes, seed, share=share, **options))
        for reading, options in READINGS.items()
        for share in SHARES
    ]


def measure_reading(point: ReadingPoint) -> Sent:
    return count(point.workload)


def declared_findings(results: Sequence[Result]) -> Iterable[Finding]:
    x = "attributes that a subscription declares, on average"
    for algorithm, reported in (
        ("hybrid", "slightly above 1"),
        ("distributed", "considerably above 1"),
    ):
        series: dict[str, list[tuple[float, float]]] = {}
        for point, sent in results:
            ratio = getattr(sent, algorithm) / sent.coordinated
            series.setdefault(f"{algorithm}{point.reading}", []).append((sent.declared, ratio))
        yield Figure(
            f"strings-declared-{algorithm}",
            f"DHTStrings: {algorithm} against coordinated matching",
            x,
            "SubIDs sent, in multiples of coordinated",
            series,
            reported,
            lines={"coordinated": 1},
        )
    usual = [sent for point, sent in results if point.reading == USUAL_READING]
    fates: dict[str, Callable[[Sent], float]] = {
        "match": lambda sent: sent.matching / sent.found,
        "are carried in vain": lambda sent: (sent.carried - sent.matching) / sent.found,
        "failed before and are not sent": lambda sent: 1 - sent.carried / sent.found,
    }
    yield Figure(
        "strings-declared-why",
        "DHTStrings: what hybrid matching does with the SubIDs that an event finds",
        x,
        "% of the SubIDs found",
        {fate: [(sent.declared, 100 * share(sent)) for sent in usual] for fate, share in fates.items()},
    )


DECLARED = Experiment(
    "strings-declared",
    "SubIDs sent against how many attributes subscriptions declare",
    f"{SOURCE}: what Figures 6 and 7 leave open",
    declared_points,
    measure_reading,
    declared_findings,
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
    """SubIDs that come to a node and have to be looked at, one after the other, until an event is matched. The
    coordinator gets all lists. A visit gets the list that is passed on; its own is indexed, or has to be looked at as
    well, which the papers leave open. The overlap says which part of what comes is in the local list, and so goes on.
    The last attribute that a SubID declares may be any, and when that has been visited, hybrid matching sends it
    home."""
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
            for curve, own in ((matching.value, 0), (f"{matching.value}, own lists read", point.steps)):
                looked_at = merged[matching] + own * point.list_length
                share = 100 * looked_at / merged[Matching.COORDINATED]
                series.setdefault(curve, []).append((100 * point.overlap, share))
    yield Figure(
        "strings-response",
        "DHTStrings: response time against overlap",
        "overlap of consecutive lists (%)",
        "% of coordinated matching's time",
        series,
        "below 20 % at 10 % overlap; distributed approaches 100 %, hybrid stays under 50 %",
        lines={"coordinated": 100, "50 %": 50, "20 %": 20},
    )


RESPONSE = Experiment(
    "strings-response",
    "Response time against overlap",
    f"{SOURCE}: Section 5, event matching latency",
    overlap_points,
    measure_overlap,
    overlap_findings,
)
EXPERIMENTS = (VALUES, POPULARITY, MIXED, DECLARED, RESPONSE)
