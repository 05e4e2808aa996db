"""Lo's experiments with group trees: depth (Figure 6), rotation (Figure 7), and one cluster against many (Figures 8 and
9); and what of the latter depends on what Lo leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from superpeer.dht.group_tree import Shape
from superpeer.dht.intervals import Examining
from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, Table
from superpeer.dht.lab.interval_runs import (
    ENVIRONMENTS,
    FEWER_EVENTS,
    SOURCE,
    Setting,
    Values,
    cost_and_latency,
    measure,
    scattered,
    series_of,
    settings_of,
)
from superpeer.dht.lab.interval_workload import TOPICS
from superpeer.dht.timing import BUSY, FREE

SINGLE, MULTI, KEYED = "single-cluster", "multi-cluster", "multi-cluster, topic in keys"
ANY, ONE = len(TOPICS), 1
FORMS = {
    SINGLE: Setting(SINGLE, environments=(FREE,)),
    MULTI: Setting(MULTI, shape=Shape(), environments=(FREE,)),
    KEYED: Setting(KEYED, shape=Shape(), topic_in_keys=True, environments=(FREE,)),
}
"""The last has keys that depend on the topic, as on the single ring; in Lo's procedure for clusters they do not."""
TREES = {
    "as printed": Setting("as printed"),
    "one topic each": Setting("one topic each", interests=ONE),
    "topic in keys": Setting("topic in keys", topic_in_keys=True),
}
"""What Lo leaves open and trees could depend on: in how many topics a subscriber is interested, and the keys."""


DEPTHS = (1, 3, 5, 7, 9)
NETWORKS = (512, 128)


def _depths() -> Iterable[Setting]:
    for one in TREES.values():
        for depth in DEPTHS:
            yield replace(one, x=depth, shape=Shape(depth))
    for nodes in NETWORKS:
        for theta in (0.0, 1.0):
            for depth in DEPTHS:
                yield Setting(
                    f"{nodes} nodes",
                    theta,
                    nodes=nodes,
                    theta=theta,
                    events=FEWER_EVENTS,
                    shape=Shape(depth),
                    environments=(BUSY,),
                )


def _depth_findings(results: Sequence[Result]) -> Iterable[Finding]:
    chosen = [(setting, costs) for setting, costs in results if setting.curve in TREES]
    title, x = "IIM, multi-cluster: depth of the tree", "depth (levels below the root)"
    falls = "falls with the depth, above all when busy"
    places = {"depth in Figure 7": 6.0}
    yield from cost_and_latency("intervals-depth", title, x, chosen, ENVIRONMENTS, (falls, falls), places)
    yield from _spreading("intervals-depth", title, x, chosen)
    yield from _networks([(setting, costs) for setting, costs in results if setting.curve not in TREES])


def _networks(results: Sequence[Result]) -> Iterable[Finding]:
    """The same in two networks, for topics alike and for skewed ones."""
    best: dict[tuple[str, float], tuple[float, float]] = {}
    plain: dict[str, float] = {}
    management: Values = {}
    latency: Values = {}
    for setting, costs in results:
        assert setting.shape is not None
        depth, cost = setting.shape.depth, costs.management_s["busy"]
        best[setting.curve, setting.x] = min(best.get((setting.curve, setting.x), (cost, depth)), (cost, depth))
        curve = f"{setting.curve}, θ = {setting.theta:g}"
        management.setdefault(curve, []).append((depth, 100 * cost / plain.setdefault(curve, cost)))
        latency.setdefault(curve, []).append((depth, costs.latency_s["busy"]))
    title, x = "IIM, multi-cluster: depth of the tree, busy environment", "depth (levels below the root)"
    falls = "falls with the depth, above all when busy"
    cost = f"management cost, in % of that of depth {DEPTHS[0]}"
    yield Figure("intervals-depth-nodes-management", title, x, cost, management, falls)
    yield Figure("intervals-depth-nodes-latency", title, x, "mean match latency (s)", latency, falls, log_y=True)
    optimal: Values = {}
    for (curve, theta), (_, depth) in best.items():
        optimal.setdefault(curve, []).append((theta, depth))
    yield Figure(
        "intervals-depth-optimal",
        "IIM, multi-cluster: depth of least management cost, busy environment",
        "θ of topics",
        x,
        optimal,
        "larger for 512 nodes than for 128",
    )


def _spreading(name: str, title: str, x: str, results: Sequence[Result]) -> Iterable[Finding]:
    """Lo's reason for a gain: more brokers in use."""
    yield Figure(
        f"{name}-brokers",
        title,
        x,
        "brokers that store anything",
        series_of(results, lambda costs: costs.brokers),
        "more brokers, as data is rotated into a more uniform state",
        lines=scattered(results[0][0].nodes),
    )
    yield Figure(
        f"{name}-remapped",
        title,
        x,
        "% of stored entries that are remapped",
        series_of(results, lambda costs: 100 * costs.remapped),
    )


DEPTH = Experiment(
    "intervals-depth", "Depth of group trees", f"{SOURCE}: Figure 6", settings_of(_depths), measure, _depth_findings
)


def _rotations() -> Iterable[Setting]:
    small = Setting(f"{NETWORKS[-1]} nodes, a third of the events", nodes=NETWORKS[-1], events=FEWER_EVENTS)
    for one in (TREES["as printed"], TREES["topic in keys"], small):
        for distance in (0, 80, 170, 250, 341):
            yield replace(one, x=distance, shape=Shape(6, distance / 4096))


def _rotation_findings(results: Sequence[Result]) -> Iterable[Finding]:
    title, x = "IIM, multi-cluster: rotation of levels, depth 6", "rotation distance (of 4,096)"
    reported = "rotation helps, above all when busy; a wrong distance does harm"
    name, twice, places = "intervals-rotation", (reported, reported), {"distance in Figure 6": 250.0}
    yield from cost_and_latency(name, title, x, results, ENVIRONMENTS, twice, places, log_latency=True)
    yield from _spreading(name, title, x, results)


ROTATION = Experiment(
    "intervals-rotation",
    "Rotation distance",
    f"{SOURCE}: Figure 7",
    settings_of(_rotations),
    measure,
    _rotation_findings,
)


def _skews() -> Iterable[Setting]:
    for theta in (0.0, 0.2, 0.4, 0.7, 1.0):
        for form in FORMS.values():
            yield replace(form, x=theta, theta=theta)


def _skew_findings(results: Sequence[Result]) -> Iterable[Finding]:
    title, x = "IIM: one cluster or many, free environment", "θ of topics"
    reported = "multi-cluster cheaper, above all from θ = 0.4 on", "single-cluster faster"
    yield from cost_and_latency("intervals-clusters", title, x, results, (FREE,), reported, {"θ = 0.4": 0.4})
    yield Figure(
        "intervals-clusters-brokers",
        title,
        x,
        "brokers that store anything",
        series_of(results, lambda costs: costs.brokers),
        "more brokers in the multi-cluster form under skew",
        lines=scattered(results[0][0].nodes),
    )
    single = {setting.theta: costs for setting, costs in results if setting.curve == SINGLE}
    ratios: Values = {}
    for setting, costs in results:
        if setting.curve != SINGLE:
            ratio = costs.management_s["free"] / single[setting.theta].management_s["free"]
            ratios.setdefault(setting.curve, []).append((setting.theta, ratio))
    yield Figure(
        "intervals-clusters-ratio",
        title,
        x,
        "management cost, in multiples of single-cluster",
        ratios,
        "below 1, above all from θ = 0.4 on",
        lines={SINGLE: 1},
        places={"θ = 0.4": 0.4},
    )


SKEW = Experiment(
    "intervals-clusters",
    "Single-cluster and multi-cluster",
    f"{SOURCE}: Figure 8",
    settings_of(_skews),
    measure,
    _skew_findings,
)


def _volumes() -> Iterable[Setting]:
    for events in (3_000, 9_000, 15_000):
        for form in FORMS.values():
            yield replace(form, x=events, events=events)


def _volume_findings(results: Sequence[Result]) -> Iterable[Finding]:
    reported = "multi-cluster cheaper, the more the more events", "single-cluster faster by a constant gap"
    title = "IIM: one cluster or many, free environment"
    yield from cost_and_latency("intervals-events", title, "events", results, (FREE,), reported)


VOLUME = Experiment(
    "intervals-events", "Volume of events", f"{SOURCE}: Figure 9", settings_of(_volumes), measure, _volume_findings
)


def _interests() -> Iterable[Setting]:
    for interests in (ONE, 2, 4, ANY):
        for form in FORMS.values():
            yield replace(form, x=interests, interests=interests, events=FEWER_EVENTS)
    for has_all in (True, False):
        for examining in Examining:
            for name, form in FORMS.items():
                setting = replace(form, curve=f"{name}/reading", examining=examining, events=FEWER_EVENTS)
                yield replace(setting, has_all_attributes=has_all)


def _interest_findings(results: Sequence[Result]) -> Iterable[Finding]:
    chosen = [(setting, costs) for setting, costs in results if not setting.curve.endswith("reading")]
    title = "IIM: one cluster or many, by the subscribers' interests"
    x = "topics that a subscriber is interested in"
    reported = "multi-cluster cheaper; it does not say how many topics a subscriber has"
    yield from cost_and_latency("intervals-interests", title, x, chosen, (FREE,), (reported, "single-cluster faster"))
    yield Figure(
        "intervals-interests-foreign",
        title,
        x,
        "% of what is examined that is of other topics",
        series_of(chosen, lambda costs: 100 * costs.foreign),
        "members of a group store nothing irrelevant, with high probability",
    )
    yield Table(
        "intervals-readings",
        "IIM: management cost (s) by what Lo leaves open; free environment, subscribers with any topics",
        ("an event has", "is compared with", *FORMS, *(f"1,000 hops, {form}" for form in (SINGLE, MULTI))),
        list(_rows(results)),
        "multi-cluster cheaper; it says neither what is compared nor whether the time of hops counts",
    )


def _rows(results: Sequence[Result]) -> Iterable[list[str | float]]:
    readings: dict[tuple[bool, Examining], dict[str, float]] = {}
    for setting, costs in results:
        form, _, rest = setting.curve.partition("/")
        if rest:
            found = readings.setdefault((setting.has_all_attributes, setting.examining), {})
            found[form] = costs.management_s["free"]
            found[f"{form} hops"] = costs.hops / 1_000
    for (has_all, examining), found in readings.items():
        has = "six attributes" if has_all else "its subscription's"
        yield [has, examining.value, *(found[form] for form in (*FORMS, f"{SINGLE} hops", f"{MULTI} hops"))]


INTEREST = Experiment(
    "intervals-interests",
    "Single-cluster and multi-cluster, by what Lo leaves open",
    f"{SOURCE}: Figure 8",
    settings_of(_interests),
    measure,
    _interest_findings,
)
EXPERIMENTS = (DEPTH, ROTATION, SKEW, INTEREST, VOLUME)
