"""One run of Lo's workload on IIM, and what it costs: what all of Lo's experiments are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from qel.names import RDF_TYPE
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.delegation import Relief
from superpeer.dht.group_tree import Shape
from superpeer.dht.intervals import Examining, Intervals, Placing, Selection
from superpeer.dht.lab.experiment import Figure, Finding, Result, scaled
from superpeer.dht.lab.interval_workload import SCHEMA, TOPIC_ATTRIBUTES, TOPICS, Request, Workload
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric, Leg, Work
from superpeer.dht.strategy import Item
from superpeer.dht.timing import (
    BUSY,
    FREE,
    Environment,
    Operation,
    busiest_share,
    elapsed_s,
    followers_of,
    hops_of,
    management_s,
    match_latency_s,
)

SPACE_BITS = 12
NODES, SUBSCRIPTIONS, EVENTS = 512, 3_000, 9_000
FEWER_EVENTS = EVENTS // 3
"""Where many settings are compared: costs grow evenly with events (Figure 9), so their proportions stay."""
COUNTED = frozenset({"subscribe", "publish", "register", "redirect", "delegate", "transfer"})
"""Messages of managing; notifications are not among them."""
SOURCE = "Lo, Efficient Content-Based Publish/Subscribe Systems over Peer-to-Peer Networks"
ENVIRONMENTS = (BUSY, FREE)

Values = dict[str, list[tuple[float, float]]]


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
    interests: int = len(TOPICS)
    has_all_attributes: bool = True
    selection: Selection = Selection.PROPORTIONAL
    examining: Examining = Examining.EVERYTHING
    relief: Relief = Relief()  # noqa: RUF009 - it is frozen
    shape: Shape | None = None
    """With a shape it is the multi-cluster form."""
    topic_in_keys: bool = False
    environments: tuple[Environment, ...] = ENVIRONMENTS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Costs:
    """What a run took, by environment where that matters."""

    management_s: dict[str, float]
    """The time that brokers spend."""
    elapsed_s: dict[str, float]
    """The same, where only the longest counts of what is examined side by side."""
    latency_s: dict[str, float]
    """The mean time until a match is found."""
    busiest: dict[str, float]
    """Which part of the time the busiest broker is busy with events."""
    hops: int
    examined: int
    foreign: float
    """Which part of what was examined is of other topics than the event's."""
    brokers: int
    """Those that store anything."""
    remapped: float
    """Which part of what is stored found nobody at the leaf of its tree."""


class _Comparing(Intervals):
    """Compares ranges and values directly, which gives what the queries would, sooner."""

    requests: Sequence[Request] = ()
    of_other_topics = 0
    _topic = ""
    _event: Mapping[str, int] = {}

    def _publish(self, at: int, publication: Publication) -> None:
        values = publication.description.values
        self._topic = values[RDF_TYPE][0].text
        self._event = {name: int(found[0].text) for name, found in values.items() if name != RDF_TYPE}
        super()._publish(at, publication)

    def _matches(self, item: Item[Placing], _publication: Publication, _ranges: object) -> bool:
        request = self.requests[int(item.subscription.name)]
        if request.topic != self._topic:
            return False
        for name, low, high in request.ranges:
            value = self._event.get(name)
            if value is None or not low <= value <= high:
                return False
        return True

    def _examined(self, store: object, topic: str, key: int) -> int:
        examined = super()._examined(store, topic, key)  # type: ignore[arg-type]
        if self.examining is Examining.EVERYTHING:
            self.of_other_topics += examined - store.topics[topic]  # type: ignore[attr-defined]
        return examined


class SingleRing(_Comparing):
    """On one ring, without the notifications, which Lo does not count."""

    def _notify(self, _sender: int, items: Iterable[Item[Placing]], _publication: Publication, _hops: int) -> None:
        self._reached.update(item.subscription.name for item in items)


class GroupTrees(SingleRing, Clusters):
    """With a tree for each topic."""

    @property
    def remapped(self) -> float:
        items = [item for subscription in self.subscriptions.values() for item in subscription.items]
        passed = [self._tree(item.content.topic).locate(item.low)[1] for item in items]
        return sum(one > 1 for one in passed) / len(passed)


def measure(setting: Setting) -> Costs:
    workload = Workload(
        setting.nodes,
        setting.theta,
        setting.variance,
        setting.seed,
        interests=setting.interests,
        has_all_attributes=setting.has_all_attributes,
    )
    strategy = _system(setting)
    fabric = strategy.fabric
    requests = strategy.requests = workload.requests(setting.subscriptions)
    traces: list[tuple[Leg | Work, ...]] = []
    for number, request in enumerate(requests):
        fabric.trace = []
        strategy.subscribe(request.home, str(number), request.query)
        traces.append(_counted(fabric.trace))
    starts: list[float] = []
    time = 0.0
    for occurrence in workload.occurrences(requests, setting.events):
        fabric.trace = []
        strategy.publish(occurrence.at, occurrence.publication)
        traces.append(_counted(fabric.trace))
        time += occurrence.gap
        starts.append(time)
    events = traces[len(requests) :]
    happened = [(start, trace, followers_of(trace)) for start, trace in zip(starts, events, strict=True)]
    replays = {
        one: [Operation(start * one.event_interval_s, trace, then) for start, trace, then in happened]
        for one in setting.environments
    }
    return Costs(
        {one.name: sum(management_s(trace, one) for trace in traces) for one in replays},
        {one.name: sum(elapsed_s(trace, one) for trace in traces) for one in replays},
        {one.name: match_latency_s(replay, one, setting.seed) for one, replay in replays.items()},
        {one.name: busiest_share(replay, one) for one, replay in replays.items()},
        hops=sum(map(hops_of, traces)),
        examined=strategy.examined,
        foreign=strategy.of_other_topics / max(strategy.examined, 1),
        brokers=sum(map(bool, strategy.stored().values())),
        remapped=strategy.remapped if isinstance(strategy, GroupTrees) else 0.0,
    )


def _system(setting: Setting) -> SingleRing:
    fabric = Fabric(Chord(range(setting.nodes), SPACE_BITS), setting.seed)
    kind = partial(
        SingleRing
        if setting.shape is None
        else partial(GroupTrees, shape=setting.shape, topic_in_keys=setting.topic_in_keys),
        attributes=SCHEMA,
        selection=setting.selection,
        relief=setting.relief,
        examining=setting.examining,
        serves_any_topic=False,
    )
    return kind(fabric)


def _counted(trace: Sequence[Leg | Work]) -> tuple[Leg | Work, ...]:
    return tuple(entry for entry in trace if isinstance(entry, Work) or entry.kind in COUNTED)


def settings_of(make: Callable[[], Iterable[Setting]]) -> Callable[[float, int], list[Setting]]:
    """An experiment's points, from its settings at the paper's size."""

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


def series_of(results: Sequence[Result], value: Callable[[Costs], float], suffix: str = "") -> Values:
    series: Values = {}
    for setting, costs in results:
        series.setdefault(f"{setting.curve}{suffix}", []).append((setting.x, value(costs)))
    return series


def scattered(nodes: int) -> dict[str, float]:
    """As many brokers as there would be if each key of each topic fell on a node of its own choice."""
    keys = len(TOPICS) * TOPIC_ATTRIBUTES * next(iter(SCHEMA.values())).intervals
    return {"keys at random": nodes * (1 - (1 - 1 / nodes) ** keys)}


def cost_and_latency(
    name: str,
    title: str,
    x: str,
    results: Sequence[Result],
    environments: Sequence[Environment],
    reported: tuple[str, str],
    places: Mapping[str, float] | None = None,
    *,
    log_latency: bool = False,
) -> Iterable[Finding]:
    """Management cost, which is in the free environment a tenth of that in the busy one, whatever else; and latency,
    with curves for each environment."""
    first = environments[0]
    management = series_of(results, lambda costs: costs.management_s[first.name])
    yield Figure(
        f"{name}-management",
        title,
        x,
        f"management cost (s), {first.name}",
        management,
        reported[0],
        places=places or {},
    )
    latency: Values = {}
    for one in environments:
        suffix = f", {one.name}" if len(environments) > 1 else ""
        latency |= series_of(results, partial(_latency, one.name), suffix)
    y = "mean match latency (s)"
    yield Figure(f"{name}-latency", title, x, y, latency, reported[1], log_y=log_latency, places=places or {})


def _latency(environment: str, costs: Costs) -> float:
    return costs.latency_s[environment]
