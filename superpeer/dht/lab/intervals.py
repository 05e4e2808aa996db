"""Lo's experiments with IIM on one ring: the choice of the attribute (Figure 4) and overloaded brokers (Figure 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from superpeer.dht.delegation import Policy, Relief
from superpeer.dht.intervals import Selection
from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result
from superpeer.dht.lab.interval_runs import (
    ENVIRONMENTS,
    SOURCE,
    Costs,
    Setting,
    Values,
    cost_and_latency,
    measure,
    series_of,
    settings_of,
)
from superpeer.dht.timing import BUSY, FREE, Environment

Measure = Callable[[Costs], float]


def _selections() -> Iterable[Setting]:
    for selection in Selection:
        usual = Setting(selection=selection, environments=(FREE,))
        for nodes in (128, 512, 1024):
            curve = f"nodes/{selection.value}"
            yield replace(usual, curve=curve, x=nodes, nodes=nodes)
        for variance in (5, 45, 125):
            curve = f"variance/{selection.value}"
            yield replace(usual, curve=curve, x=variance, variance=variance)


def _selection_findings(results: Sequence[Result]) -> Iterable[Finding]:
    reported = {
        "nodes": ("proportional slightly cheaper than random", "small difference between the two"),
        "variance": ("proportional cheaper as the variance grows", "no clear difference, some vibration"),
    }
    axes = {"nodes": "nodes", "variance": "variance of the range size"}
    for group, x in axes.items():
        chosen = [
            (replace(setting, curve=setting.curve.removeprefix(f"{group}/")), costs)
            for setting, costs in results
            if setting.curve.startswith(group)
        ]
        title = "IIM: choice of the attribute, free environment"
        yield from cost_and_latency(f"intervals-selection-{group}", title, x, chosen, (FREE,), reported[group])


SELECTION = Experiment(
    "intervals-selection",
    "Random and proportional choice of the attribute",
    f"{SOURCE}: Figure 4",
    settings_of(_selections),
    measure,
    _selection_findings,
)

BROKERS = (2, 5, 8)
THRESHOLDS = (20, 80)
PAPERS_BROKERS = 5
FASTER = tuple(Environment(f"{pace} s", pace, BUSY.examination_s, BUSY.lookup_s) for pace in (0.5, 0.6, 0.8))
PACES = (*FASTER, BUSY)
"""The busy environment, and the same with events more often than Lo's."""
RELIEVED_NODES = 128


def _reliefs() -> Iterable[Setting]:
    paces = (*ENVIRONMENTS, *FASTER)
    yield Setting(Policy.NONE.value, 0, nodes=RELIEVED_NODES, environments=paces)
    for policy in (Policy.REPLICATION, Policy.PARTITION):
        for brokers in BROKERS:
            for threshold in THRESHOLDS:
                relief = Relief(policy, threshold, brokers)
                environments = paces if brokers == PAPERS_BROKERS else ENVIRONMENTS
                yield Setting(policy.value, brokers, nodes=RELIEVED_NODES, relief=relief, environments=environments)


def _management(environment: str, costs: Costs) -> float:
    return costs.management_s[environment]


def _elapsed(environment: str, costs: Costs) -> float:
    return costs.elapsed_s[environment]


def _latency(environment: str, costs: Costs) -> float:
    return costs.latency_s[environment]


def _best(results: Sequence[Result], value: Measure) -> list[Result]:
    """For each policy and number of brokers the threshold that gives the least."""
    best: dict[tuple[str, float], Result] = {}
    for setting, costs in results:
        known = best.get((setting.curve, setting.x))
        if known is None or value(costs) < value(known[1]):
            best[setting.curve, setting.x] = setting, costs
    return [result for (curve, _), result in best.items() if curve != Policy.NONE.value]


def _relief_findings(results: Sequence[Result]) -> Iterable[Finding]:
    plain = next(costs for setting, costs in results if setting.relief.policy is Policy.NONE)
    least = "partition least, at C = 5"
    for name, title, value, y, reported in (
        ("busy-management", "busy", partial(_management, "busy"), "management cost (s)", least),
        ("busy-elapsed", "busy", partial(_elapsed, "busy"), "management cost, side by side (s)", least),
        (
            "busy-latency",
            "busy",
            partial(_latency, "busy"),
            "mean match latency (s)",
            "largely reduced, partition least; C and threshold change it by less than 2 s",
        ),
        ("free-latency", "free", partial(_latency, "free"), "mean match latency (s)", "no improvement"),
    ):
        yield Figure(
            f"intervals-relief-{name}",
            f"IIM: overloaded brokers, {title} environment, {RELIEVED_NODES} nodes",
            "brokers C (each with its best threshold)",
            y,
            series_of(_best(results, value), value),
            reported,
            lines={"without relief": value(plain)},
            places={"the paper's best": PAPERS_BROKERS} if reported == least else {},
        )
    optimal: Values = {}
    for label, value in (("", partial(_management, "busy")), (", side by side", partial(_elapsed, "busy"))):
        for setting, _ in _best(results, value):
            optimal.setdefault(f"{setting.curve}{label}", []).append((setting.x, setting.relief.threshold))
    yield Figure(
        "intervals-relief-threshold",
        f"IIM: threshold of least management cost, busy environment, {RELIEVED_NODES} nodes",
        "brokers C",
        "threshold (subscriptions)",
        optimal,
        "grows with C",
    )
    yield from _pace_findings([result for result in results if result[0].x == PAPERS_BROKERS], plain)


def _pace_findings(results: Sequence[Result], plain: Costs) -> Iterable[Finding]:
    """When relief pays, as events come faster or slower than Lo's."""
    latency: Values = {Policy.NONE.value: [(pace.event_interval_s, plain.latency_s[pace.name]) for pace in PACES]}
    for pace in PACES:
        for setting, costs in _best(results, partial(_latency, pace.name)):
            latency.setdefault(setting.curve, []).append((pace.event_interval_s, costs.latency_s[pace.name]))
    x = "mean time between events (s)"
    yield Figure(
        "intervals-relief-pace",
        f"IIM: overloaded brokers, C = {PAPERS_BROKERS}, {RELIEVED_NODES} nodes",
        x,
        "mean match latency (s)",
        latency,
        "partition slightly below replication, both far below none, at 1 s",
        log_y=True,
        places={"the paper": BUSY.event_interval_s},
    )
    yield Figure(
        "intervals-relief-busiest",
        f"IIM: the busiest broker without relief, {RELIEVED_NODES} nodes",
        x,
        "% of the time that it works",
        {"busy": [(pace.event_interval_s, 100 * plain.busiest[pace.name]) for pace in PACES]},
        lines={"falls behind": 100},
        places={"the paper": BUSY.event_interval_s},
    )


RELIEF = Experiment(
    "intervals-relief",
    "Replication and partition of overloaded brokers",
    f"{SOURCE}: Figure 5",
    settings_of(_reliefs),
    measure,
    _relief_findings,
)
EXPERIMENTS = (SELECTION, RELIEF)
