"""The laboratory: its fast models against the systems themselves, the trends of the papers in small, and its files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from typer.testing import CliRunner

import qel
from superpeer.cli import app
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.errors import DhtError
from superpeer.dht.group_tree import Shape
from superpeer.dht.intervals import Examining, Intervals
from superpeer.dht.lab import experiment, experiments, string_model
from superpeer.dht.lab.bibliography import Bibliography
from superpeer.dht.lab.experiment import Experiment, Figure, Series, Spread, Table, run
from superpeer.dht.lab.interval_runs import GroupTrees, Setting, SingleRing, measure
from superpeer.dht.lab.interval_workload import SCHEMA, Workload
from superpeer.dht.lab.output import write
from superpeer.dht.lab.string_load import loads
from superpeer.dht.selective import SelectiveBroadcast
from superpeer.dht.simulation import Fabric, Leg, Work
from superpeer.dht.string_matching import Matching, SubId, without_hopeless
from superpeer.dht.string_matching import run as match
from superpeer.dht.timing import BUSY, Environment, Operation, busiest_share, elapsed_s, management_s, match_latency_s

SMALL = 0.002
PAGE = Path(__file__).parents[3] / "docs" / "lab.md"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("drops_hopeless", [False, True])
def test_the_string_model_counts_what_the_matchings_send(seed: int, drops_hopeless: bool) -> None:
    random = np.random.default_rng(seed)
    subscriptions, events, width, values = 60, 40, 6, 3
    declared = random.random((subscriptions, width)) < 0.4
    declared[~declared.any(axis=1), 0] = True
    wanted = random.integers(0, values, (subscriptions, width))
    has = random.random((events, width)) < 0.6
    given = random.integers(0, values, (events, width))
    sent = string_model.count_in(declared, wanted, has, given, drops_hopeless=drops_hopeless)
    names = [str(attribute) for attribute in range(width)]
    subs = [SubId(0, str(i), 0, frozenset(names[a] for a in np.flatnonzero(declared[i]))) for i in range(subscriptions)]
    totals = dict.fromkeys(Matching, 0)
    for event in range(events):
        order = [names[a] for a in np.flatnonzero(has[event])]
        local = {
            name: {
                sub
                for i, sub in enumerate(subs)
                if name in sub.declared and wanted[i, int(name)] == given[event, int(name)]
            }
            for name in order
        }
        if drops_hopeless:
            local = without_hopeless(local, order)
        for matching in Matching:
            totals[matching] += match(matching, order, local, order).sent
    assert sent.coordinated == pytest.approx(totals[Matching.COORDINATED] / events)
    assert sent.distributed == pytest.approx(totals[Matching.DISTRIBUTED] / events)
    assert sent.hybrid == pytest.approx(totals[Matching.HYBRID] / events)


def figures(name: str, scale: float) -> dict[str, Figure]:
    found = {one.name: one for one in run(experiment(name), scale=scale)}
    return {key: one for key, one in found.items() if isinstance(one, Figure)}


def ratios(series: Series, of: str, to: str) -> list[float]:
    return [one / other for (_, one), (_, other) in zip(series[of], series[to], strict=True)]


def test_dhtstrings_trends() -> None:
    """What docs/lab.md says of Figures 6 to 8: with as many attributes as events have, filtering pays; with few, the
    order is the papers'."""
    values = figures("strings-values", 0.05)
    assert all(ratio < 0.65 for ratio in ratios(values["strings-values"].series, "hybrid", "coordinated"))
    few = values["strings-values-few"].series
    assert all(0.85 < ratio < 1.15 for ratio in ratios(few, "hybrid", "coordinated"))
    assert all(ratio > 1.5 for ratio in ratios(few, "distributed", "coordinated"))
    mixed = ratios(figures("strings-mixed", 0.03)["strings-mixed"].series, "hybrid", "coordinated")
    assert mixed[0] < 0.1 < mixed[-1]
    response = figures("strings-response", 0.05)["strings-response"].series
    assert response["distributed"][0][1] < 20
    assert response["hybrid"][0][1] < 20
    assert response["distributed"][-1][1] > 95
    assert response["hybrid"][-1][1] < 50
    assert min(y for _, y in response["hybrid, own lists read"]) > 100


def test_dhtstrings_load_evens_out_with_attributes() -> None:
    few, many = (loads(attributes, 1.4, 5_000, 128, equalities=1 / 3, even=True, seed=1) for attributes in (1, 35))
    assert few.sum() == 5_000
    assert many.max() / many.min() < 8 < few.max() / max(few.min(), 1)


def test_a_trace_takes_the_time_that_it_takes() -> None:
    """Two events meet at a broker that examines ten subscriptions for a tenth of a second each."""
    slow = Environment("slow", 1.0, 0.1, 0.0)
    trace = (Leg("publish", (1,)), Work(1, 10, 1))
    operations = [Operation.of(0.0, trace), Operation.of(0.5, trace)]
    assert match_latency_s(operations, slow, 0) == pytest.approx((1.0 + 1.5) / 2)
    assert management_s(trace, slow) == pytest.approx(1.0)
    hops = (Leg("publish", (1, 2, 3)), Work(3, 0, 1))
    latencies = [match_latency_s([Operation.of(0.0, hops)], slow, seed) for seed in range(800)]
    assert sum(latencies) / len(latencies) == pytest.approx(4.0, rel=0.1)


def test_side_by_side_only_the_longest_counts() -> None:
    slow = Environment("slow", 1.0, 1.0, 0.5)
    visit = (Leg("publish", (1, 2)), Leg("redirect", (2, 3)), Work(3, 7, 1), Work(2, 4, 0))
    assert management_s(visit, slow) == pytest.approx(2 * 0.5 + 11)
    assert elapsed_s(visit, slow) == pytest.approx(2 * 0.5 + 7)
    assert elapsed_s(visit + visit, slow) == pytest.approx(2 * (2 * 0.5 + 7))
    # Two visits in ten seconds: node 3 examines 14 subscriptions, node 2 passes on twice and examines 8.
    assert busiest_share([Operation.of(5.0, visit), Operation.of(10.0, visit)], slow) == pytest.approx(1.4)


def test_helpers_are_reached_while_the_broker_examines() -> None:
    slow = Environment("slow", 1.0, 1.0, 0.0)
    trace = (Leg("publish", (1, 2)), Leg("redirect", (2, 3)), Work(3, 1, 1), Work(2, 100, 0))
    latencies = [match_latency_s([Operation.of(0.0, trace)], slow, seed) for seed in range(400)]
    assert sum(latencies) / len(latencies) == pytest.approx(5.0, rel=0.15)


@pytest.mark.parametrize("pair", [(Intervals, SingleRing), (Clusters, GroupTrees)])
def test_comparing_ranges_gives_what_queries_do(pair: tuple[type[Intervals], type[SingleRing]]) -> None:
    workload = Workload(20, 0.6, 40.0, 3)
    requests = workload.requests(120)
    plain, quick = (kind(Fabric(Chord(range(20), 12)), attributes=SCHEMA, serves_any_topic=False) for kind in pair)
    assert isinstance(quick, SingleRing | GroupTrees)
    quick.requests = requests
    for number, request in enumerate(requests):
        for one in (plain, quick):
            one.subscribe(request.home, str(number), request.query)
    total = 0
    for occurrence in workload.occurrences(requests, 60):
        expected = plain.publish(occurrence.at, occurrence.publication).notified
        assert quick.publish(occurrence.at, occurrence.publication).notified == expected
        assert expected
        total += len(expected)
    assert total > 60


def test_one_cluster_is_faster_and_topics_in_keys_spread_the_groups() -> None:
    """What docs/lab.md says of Figure 8, in small."""
    small = Setting(nodes=128, subscriptions=800, events=600)
    single = measure(small)
    printed = measure(replace(small, shape=Shape()))
    keyed = measure(replace(small, shape=Shape(), topic_in_keys=True))
    assert single.latency_s["free"] < min(printed.latency_s["free"], keyed.latency_s["free"])
    assert single.hops < printed.hops
    assert printed.brokers < keyed.brokers
    assert keyed.examined < 0.9 * printed.examined
    assert single.management_s["busy"] == pytest.approx(10 * single.management_s["free"])


def test_deep_trees_spread_a_small_network() -> None:
    """What docs/lab.md says of Figure 6: with fewer than about three members to a leaf, more brokers share the work."""
    small = Setting(nodes=128, subscriptions=2_000, events=300, environments=(BUSY,))
    flat, deep = (measure(replace(small, shape=Shape(depth))) for depth in (1, 7))
    assert flat.remapped == 0 < deep.remapped
    assert deep.brokers > flat.brokers
    assert deep.examined < 0.9 * flat.examined
    assert deep.hops > flat.hops


@pytest.mark.parametrize("shape", [None, Shape()])
def test_what_brokers_examine_changes_the_cost_alone(shape: Shape | None) -> None:
    small = Setting(nodes=32, subscriptions=200, events=200, shape=shape)
    costs = {one: measure(replace(small, examining=one)) for one in Examining}
    everything, group, key = (costs[one].examined for one in Examining)
    assert everything > group > key > 0
    assert costs[Examining.EVERYTHING].foreign == pytest.approx(1 - group / everything)
    assert len({one.hops for one in costs.values()}) == 1


def test_subscribers_keep_to_their_interests() -> None:
    for interests in (1, 3):
        topics: dict[int, set[str]] = {}
        for request in Workload(40, 0.6, 5.0, 1, interests=interests).requests(2_000):
            topics.setdefault(request.home, set()).add(request.topic)
        assert max(map(len, topics.values())) == interests
    own = Workload(40, 0.6, 5.0, 1, has_all_attributes=False)
    requests = own.requests(50)
    assert {len(one.publication.description.values) - 1 for one in own.occurrences(requests, 50)} <= {
        len(request.ranges) for request in requests
    }


def test_several_seeds_are_shown_as_mean_and_spread(tmp_path: Path) -> None:
    chosen = experiment("strings-response")
    alone = [run(chosen, scale=0.01, seed=seed)[0] for seed in (4, 5, 6)]
    (together,) = run(chosen, scale=0.01, seed=4, seeds=3)
    assert isinstance(together, Figure)
    for name, points in together.series.items():
        for number, (x, mean) in enumerate(points):
            values = [one.series[name][number][1] for one in alone if isinstance(one, Figure)]
            assert together.spreads[name][number] == (mean, min(values), max(values))
            assert mean == pytest.approx(sum(values) / 3)
            assert x == alone[0].series[name][number][0]  # type: ignore[union-attr]
    write([together], tmp_path)
    header = (tmp_path / "strings-response.csv").read_text(encoding="utf-8").splitlines()[0]
    assert 'hybrid,"hybrid, least","hybrid, most"' in header
    (table,) = run(experiment("placements"), scale=SMALL, seeds=2)
    assert isinstance(table, Table)
    assert all(isinstance(cell, str | Spread) for row in table.rows for cell in row)


@pytest.mark.parametrize("seed", range(3))
def test_selective_broadcast_is_exact(seed: int) -> None:
    random, bibliography = Random(seed), Bibliography(seed, authors=8)
    system = SelectiveBroadcast(Fabric(CubeTable(range(13))))
    for publisher in (2, 7):
        system.advertise(publisher, qel.Advertisement(schemas=["dc:", "bibo:"]))
    queries = {}
    for number in range(60):
        queries[str(number)] = qel.parse(bibliography.author_and_year())
        system.subscribe(random.randrange(13), str(number), queries[str(number)])
    for number in range(0, 60, 3):
        system.unsubscribe(str(number))
        del queries[str(number)]
    matched = 0
    for number in range(60):
        article = bibliography.article(number)
        expected = {
            name
            for name, query in queries.items()
            if any(qel.matching.meets(one, article.description, qel.Topics()) for one in query.normal_form.disjuncts)
        }
        assert system.publish(random.choice((2, 7)), article).notified == expected
        matched += len(expected)
    assert matched > 10
    assert system.fabric.messages["notify"] > 0


@pytest.mark.parametrize("name", sorted(experiments()))
def test_every_experiment_runs_and_writes_its_figures(name: str, tmp_path: Path) -> None:
    chosen = experiment(name)
    found = run(chosen, scale=SMALL)
    assert found
    files = write(found[:2], tmp_path)
    assert len(files) == 2 * len(found[:2])
    for file in files:
        assert file.stat().st_size > (1_000 if file.suffix == ".png" else 10)
    assert {finding.name for finding in found} <= shown_figures(), "docs/lab.md shows every figure"
    assert all(isinstance(one, Table) or (one.x and one.y) for one in found)


def shown_figures() -> set[str]:
    return set(re.findall(r"\(images/lab-([\w-]+)\.png\)", PAGE.read_text(encoding="utf-8")))


def test_the_page_and_its_pictures_belong_together() -> None:
    pictures = {path.stem.removeprefix("lab-") for path in (PAGE.parent / "images").glob("lab-*.png")}
    assert pictures == shown_figures()


def test_another_seed_gives_other_figures() -> None:
    chosen = experiment("strings-mixed")
    assert run(chosen, scale=SMALL, seed=1) != run(chosen, scale=SMALL, seed=2)


ALL_FINDINGS = f"""
import sys
from superpeer.dht.lab import experiments
from superpeer.dht.lab.experiment import run

for one in experiments().values():
    print(run(one, scale={SMALL}, seed=3, workers=int(sys.argv[1])))
"""


def test_the_same_seed_gives_the_same_findings_whatever_the_order_of_sets_and_the_number_of_processes() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", ALL_FINDINGS, workers],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            timeout=600,
        ).stdout
        for workers, hash_seed in (("1", "0"), ("2", "17"))
    ]
    assert len(found[0].splitlines()) == len(experiments())
    assert found[0] == found[1]


def test_the_same_findings_give_the_same_files(tmp_path: Path) -> None:
    found = run(experiment("placements"), scale=SMALL) + run(experiment("strings-response"), scale=SMALL, seeds=2)
    first, second = (write(found, tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_command(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["lab", "list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in experiments())
    known = json.loads(runner.invoke(app, ["lab", "list", "--json"]).output)
    assert [one["name"] for one in known] == list(experiments())
    assert all(one["title"] and one["source"] for one in known)
    arguments = ["lab", "run", "strings-response", "--out", str(tmp_path), "--scale", "0.01", "--workers", "1"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"strings-response.csv", "strings-response.png"}
    table = (tmp_path / "strings-response.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 11


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scale", "0"], "a scale is above 0 and at most 1, not 0"),
        (["--scale", "-1"], "a scale is above 0 and at most 1, not -1"),
        (["--scale", "nan"], "a scale is above 0 and at most 1, not nan"),
        (["--seed", "-1"], "a seed is 0 or more, not -1"),
        (["--seeds", "0"], "at least one seed, not 0"),
        (["--workers", "0"], "at least one worker, not 0"),
    ],
)
def test_settings_are_refused_before_anything_is_made(tmp_path: Path, options: list[str], sentence: str) -> None:
    out = tmp_path / "figures"
    result = CliRunner().invoke(app, ["lab", "run", "strings-response", "--out", str(out), *options])
    assert isinstance(result.exception, DhtError)
    assert sentence in str(result.exception)
    assert not out.exists()


def test_without_matplotlib_one_can_list_and_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    runner = CliRunner()
    assert runner.invoke(app, ["lab", "list"]).exit_code == 0
    result = runner.invoke(app, ["lab", "run", "strings-response", "--out", str(tmp_path / "figures")])
    assert isinstance(result.exception, DhtError)
    assert 'pip install "superpeer[lab]"' in str(result.exception)
    assert not (tmp_path / "figures").exists()


def test_a_worker_that_dies_is_reported() -> None:
    dying = Experiment("dying", "", "", lambda _scale, _seed: [1, 1], os._exit, lambda _results: [])
    with pytest.raises(DhtError, match="a worker process was ended"):
        run(dying, workers=2)


def test_mistakes_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DhtError, match="no experiment 'magic'"):
        experiment("magic")
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(DhtError, match="cannot write"):
        write([], blocked / "below")
    with pytest.raises(DhtError, match="not a directory"):
        write([], blocked)
