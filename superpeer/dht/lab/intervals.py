"""Lo's experiments with IIM: Figures 4 to 9, in the busy and the free environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from qel.names import RDF_TYPE
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.delegation import Policy, Relief
from superpeer.dht.group_tree import Shape
from superpeer.dht.intervals import Intervals, Placing, Selection
from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.lab.interval_workload import SCHEMA, Request, Workload
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric, Leg, Work
from superpeer.dht.strategy import Item
from superpeer.dht.timing import BUSY, FREE, Environment, Operation, management_s, match_latency_s

SPACE_BITS = 12
NODES, SUBSCRIPTIONS, EVENTS = 512, 3_000, 9_000
COUNTED = frozenset({"subscribe", "publish", "register", "redirect", "delegate", "transfer"})
"""Messages of managing; notifications are not among them."""
SOURCE = "Lo, Efficient Content-Based Publish/Subscribe Systems over Peer-to-Peer Networks"
CROWDED = Environment("crowded", 0.5, BUSY.examination_s, BUSY.lookup_s)
"""Not in the paper: the busy environment with events twice as often."""
ENVIRONMENTS = (BUSY, FREE)
REPLAYED = (*ENVIRONMENTS, CROWDED)


@dataclass(frozen=True, slots=True)
class Setting:
    """One run. `curve` and `x` say where its results go."""

    curve: str = ""
    x: float = 0
    nodes: int = NODES
    subscriptions: int = SUBSCRIPTIONS
    events: int = EVENTS
    theta: float = 0.6
    variance: float = 5.0
    selection: Selection = Selection.PROPORTIONAL
    relief: Relief = Relief()  # noqa: RUF009 - it is frozen
    shape: Shape | None = None
    """With a shape it is the multi-cluster form."""
    relief_is_compared: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Costs:
    """By environment: the time that brokers spend, and the mean time until a match is found; and the brokers that
    store anything."""

    management_s: dict[str, float]
    latency_s: dict[str, float]
    brokers: int
    examined: int


class _Comparing(Intervals):
    """Compares ranges and values directly, which gives what the queries would, sooner."""

    requests: Sequence[Request] = ()

    def _is_met(self, item: Item[Placing], publication: Publication) -> bool:
        request = self.requests[int(item.subscription.name)]
        values = publication.description.values
        if values[RDF_TYPE][0].text != request.topic:
            return False
        # Whoever publishes has checked that all attributes of the topic are there.
        return all(low <= int(values[name][0].text) <= high for name, low, high in request.ranges)


class SingleRing(_Comparing):
    """On one ring, without the notifications, which Lo does not count."""

    def _notify(self, _sender: int, items: Iterable[Item[Placing]], _publication: Publication, _hops: int) -> None:
        self._reached.update(item.subscription.name for item in items)


class GroupTrees(SingleRing, Clusters):
    """With a tree for each topic."""


def measure(setting: Setting) -> Costs:
    workload = Workload(setting.nodes, setting.theta, setting.variance, setting.seed)
    fabric = Fabric(Chord(range(setting.nodes), SPACE_BITS), setting.seed)
    options = {
        "attributes": SCHEMA,
        "selection": setting.selection,
        "relief": setting.relief,
        "serves_any_topic": False,
    }
    strategy: SingleRing | GroupTrees
    if setting.shape is None:
        strategy = SingleRing(fabric, **options)  # type: ignore[arg-type]
    else:
        strategy = GroupTrees(fabric, shape=setting.shape, **options)
    spent: dict[str, float] = dict.fromkeys((one.name for one in ENVIRONMENTS), 0.0)
    requests = strategy.requests = workload.requests(setting.subscriptions)
    for number, request in enumerate(requests):
        fabric.trace = []
        strategy.subscribe(request.home, str(number), request.query)
        _add(spent, _counted(fabric.trace))
    traces: list[tuple[float, tuple[Leg | Work, ...]]] = []
    time = 0.0
    for occurrence in workload.occurrences(requests, setting.events):
        fabric.trace = []
        strategy.publish(occurrence.at, occurrence.publication)
        trace = _counted(fabric.trace)
        _add(spent, trace)
        time += occurrence.gap
        traces.append((time, trace))
    latency = {
        one.name: match_latency_s(
            [Operation(start * one.event_interval_s, trace) for start, trace in traces], one, setting.seed
        )
        for one in (REPLAYED if setting.relief_is_compared else ENVIRONMENTS)
    }
    return Costs(spent, latency, sum(map(bool, strategy.stored().values())), strategy.examined)


def _counted(trace: Sequence[Leg | Work]) -> tuple[Leg | Work, ...]:
    return tuple(entry for entry in trace if isinstance(entry, Work) or entry.kind in COUNTED)


def _add(spent: dict[str, float], trace: Sequence[Leg | Work]) -> None:
    for one in ENVIRONMENTS:
        spent[one.name] += management_s(trace, one)


def _settings(make: Callable[[], Iterable[Setting]]) -> Callable[[float, int], list[Setting]]:
    def settings(scale: float, seed: int) -> list[Setting]:
        return [
            replace(
                one,
                nodes=scaled(one.nodes, scale, 8),
                subscriptions=scaled(one.subscriptions, scale, 10),
                events=scaled(one.events, scale, 10),
                seed=seed,
            )
            for one in make()
        ]

    return settings


def _series(
    results: Sequence[Result], value: Callable[[Costs], float], keep: Callable[[Setting], bool] = lambda _setting: True
) -> dict[str, list[tuple[float, float]]]:
    series: dict[str, list[tuple[float, float]]] = {}
    for setting, costs in results:
        if keep(setting):
            series.setdefault(setting.curve, []).append((setting.x, value(costs)))
    return series


def _metric(costs: Costs, metric: str, environment: str) -> float:
    return (costs.management_s if metric == "management" else costs.latency_s)[environment]


def _pair(
    name: str,
    title: str,
    x: str,
    results: Sequence[Result],
    environments: Sequence[Environment],
    reported: tuple[str, str],
    keep: Callable[[Setting], bool] = lambda _setting: True,
) -> Iterable[Finding]:
    """Management cost and latency; with both environments, curves for each."""
    for metric, y, said in (
        ("management", "management cost (s)", reported[0]),
        ("latency", "mean match latency (s)", reported[1]),
    ):
        series: dict[str, list[tuple[float, float]]] = {}
        for one in environments:
            value = partial(_metric, metric=metric, environment=one.name)
            for curve, points in _series(results, value, keep).items():
                label = " ".join(filter(None, [curve, one.name if len(environments) > 1 else ""]))
                series[label] = points
        yield Figure(f"{name}-{metric}", title, x, y, series, said)


def _selections() -> Iterable[Setting]:
    for selection in Selection:
        for nodes in (128, 256, 512, 1024):
            yield Setting(f"nodes/{selection.value}", nodes, nodes=nodes, selection=selection)
        for variance in (5, 20, 45, 80, 125):
            yield Setting(f"variance/{selection.value}", variance, variance=variance, selection=selection)


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
        yield from _pair(
            f"intervals-selection-{group}",
            "IIM: choice of the attribute, free environment",
            x,
            chosen,
            (FREE,),
            reported[group],
        )


SELECTION = Experiment(
    "intervals-selection",
    "Random and proportional choice of the attribute",
    f"{SOURCE}: Figure 4",
    _settings(_selections),
    measure,
    _selection_findings,
)

BROKERS = (2, 3, 5, 8)
THRESHOLDS = (20, 60, 120, 180)


def _reliefs() -> Iterable[Setting]:
    yield Setting(Policy.NONE.value, 0, nodes=128, relief_is_compared=True)
    for policy in (Policy.REPLICATION, Policy.PARTITION):
        for brokers in BROKERS:
            for threshold in THRESHOLDS:
                relief = Relief(policy, threshold, brokers)
                yield Setting(policy.value, brokers, nodes=128, relief=relief, relief_is_compared=True)


def _best(results: Sequence[Result], metric: str, environment: str) -> list[Result]:
    """For each policy and number of brokers the threshold that gives the least."""
    best: dict[tuple[str, float], Result] = {}
    for setting, costs in results:
        known = best.get((setting.curve, setting.x))
        if known is None or _metric(costs, metric, environment) < _metric(known[1], metric, environment):
            best[setting.curve, setting.x] = setting, costs
    return [result for (curve, _), result in best.items() if curve != Policy.NONE.value]


def _relief_findings(results: Sequence[Result]) -> Iterable[Finding]:
    plain = next(costs for setting, costs in results if setting.relief.policy is Policy.NONE)
    optimal: dict[str, list[tuple[float, float]]] = {}
    for setting, _ in _best(results, "management", "busy"):
        optimal.setdefault(setting.curve, []).append((setting.x, setting.relief.threshold))
    yield Figure(
        "intervals-relief-threshold",
        "IIM: threshold of least cost, busy, 128 nodes",
        "brokers C",
        "threshold",
        optimal,
        "grows with C",
    )
    for name, metric, y, reported in (
        ("busy", "management", "management cost (s)", "partition cheapest, at C = 5"),
        ("busy", "latency", "mean match latency (s)", "partition slightly below replication, both far below none"),
        ("free", "management", "management cost (s)", "no improvement"),
        ("free", "latency", "mean match latency (s)", "no improvement"),
        ("crowded", "latency", "mean match latency (s)", "nothing: here events come twice as often as in the paper"),
    ):
        series = _series(_best(results, metric, name), partial(_metric, metric=metric, environment=name))
        yield Figure(
            f"intervals-relief-{name}-{metric}",
            f"IIM: overloaded brokers, {name}, 128 nodes",
            "brokers C",
            y,
            series,
            reported,
            lines={"none": _metric(plain, metric, name)},
        )
    by_threshold = [
        (replace(setting, x=setting.relief.threshold), costs) for setting, costs in results if setting.x == 5
    ]
    yield Figure(
        "intervals-relief-busy-latency-threshold",
        "IIM: overloaded brokers, busy, 128 nodes, C = 5",
        "threshold",
        "mean match latency (s)",
        _series(by_threshold, lambda costs: costs.latency_s["busy"]),
        "less than 2 s of difference between settings",
        lines={"none": plain.latency_s["busy"]},
    )


RELIEF = Experiment(
    "intervals-relief",
    "Replication and partition of overloaded brokers",
    f"{SOURCE}: Figure 5",
    _settings(_reliefs),
    measure,
    _relief_findings,
)


def _depths() -> Iterable[Setting]:
    for depth in range(1, 10):
        yield Setting("depth", depth, shape=Shape(depth))
    for nodes in (512, 128):
        for theta in (0.0, 0.5, 1.0):
            for depth in range(1, 10, 2):
                yield Setting(f"{nodes} nodes", theta, nodes=nodes, theta=theta, events=EVENTS // 3, shape=Shape(depth))


def _depth_findings(results: Sequence[Result]) -> Iterable[Finding]:
    chosen = [(replace(setting, curve=""), costs) for setting, costs in results if setting.curve == "depth"]
    yield from _pair(
        "intervals-depth",
        "IIM, multi-cluster: depth of the tree",
        "depth",
        chosen,
        ENVIRONMENTS,
        ("falls with the depth, above all when busy", "falls with the depth, above all when busy"),
    )
    best: dict[tuple[str, float], tuple[float, float]] = {}
    for setting, costs in results:
        if setting.curve != "depth":
            assert setting.shape is not None
            found = costs.management_s["busy"], setting.shape.depth
            best[setting.curve, setting.x] = min(best.get((setting.curve, setting.x), found), found)
    series: dict[str, list[tuple[float, float]]] = {}
    for (curve, x), (_, depth) in best.items():
        series.setdefault(curve, []).append((x, depth))
    yield Figure(
        "intervals-depth-optimal",
        "IIM, multi-cluster: depth of least cost, busy",
        "θ of topics",
        "depth",
        series,
        "larger for 512 nodes than for 128",
    )


DEPTH = Experiment(
    "intervals-depth", "Depth of group trees", f"{SOURCE}: Figure 6", _settings(_depths), measure, _depth_findings
)


def _rotations() -> Iterable[Setting]:
    for distance in (0, 50, 100, 150, 200, 250, 300, 341):
        yield Setting("", distance, shape=Shape(6, distance / 4096))


def _rotation_findings(results: Sequence[Result]) -> Iterable[Finding]:
    yield from _pair(
        "intervals-rotation",
        "IIM, multi-cluster: rotation of levels, depth 6",
        "rotation distance",
        results,
        ENVIRONMENTS,
        (
            "rotation helps when busy; a wrong distance does harm",
            "rotation helps when busy; a wrong distance does harm",
        ),
    )


ROTATION = Experiment(
    "intervals-rotation", "Rotation distance", f"{SOURCE}: Figure 7", _settings(_rotations), measure, _rotation_findings
)


def _skews() -> Iterable[Setting]:
    for theta in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        yield Setting("single-cluster", theta, theta=theta)
        yield Setting("multi-cluster", theta, theta=theta, shape=Shape())


def _skew_findings(results: Sequence[Result]) -> Iterable[Finding]:
    yield from _pair(
        "intervals-clusters",
        "IIM: one cluster or many, free environment",
        "θ of topics",
        results,
        (FREE,),
        ("multi-cluster cheaper from θ = 0.4 on", "single-cluster faster"),
    )
    yield Figure(
        "intervals-clusters-brokers",
        "IIM: brokers that store anything",
        "θ of topics",
        "brokers",
        _series(results, lambda costs: costs.brokers),
        "more brokers in the multi-cluster form under skew",
    )


SKEW = Experiment(
    "intervals-clusters",
    "Single-cluster and multi-cluster",
    f"{SOURCE}: Figure 8",
    _settings(_skews),
    measure,
    _skew_findings,
)


def _volumes() -> Iterable[Setting]:
    for events in (3_000, 6_000, 9_000, 12_000, 15_000):
        yield Setting("single-cluster", events, events=events)
        yield Setting("multi-cluster", events, events=events, shape=Shape())


def _volume_findings(results: Sequence[Result]) -> Iterable[Finding]:
    yield from _pair(
        "intervals-events",
        "IIM: one cluster or many, free environment",
        "events",
        results,
        (FREE,),
        ("multi-cluster cheaper, the more the more events", "single-cluster faster by a constant gap"),
    )


VOLUME = Experiment(
    "intervals-events", "Volume of events", f"{SOURCE}: Figure 9", _settings(_volumes), measure, _volume_findings
)
EXPERIMENTS = (SELECTION, RELIEF, DEPTH, ROTATION, SKEW, VOLUME)
