"""The poset: pairs, places, links, depths and components are those of comparing everything with everything."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import qel
from superpeer.catalog import reference
from superpeer.catalog.asking import TESTS, Asked, Writer
from superpeer.catalog.order import Order, order_of
from superpeer.catalog.posets import poset_of_files
from superpeer.matching.arrays import Int32s, Int64s
from tests.qel.strategies import chapter_queries, queries
from tests.superpeer.catalog.samples import write_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def width_of(places: set[int], order: set[tuple[int, int]]) -> int:
    """The largest antichain, by Dilworth's theorem, with a flow instead of a matching."""
    flow = nx.DiGraph()
    for place in places:
        flow.add_edge("source", ("above", place), capacity=1)
        flow.add_edge(("below", place), "sink", capacity=1)
    for above, below in order:
        flow.add_edge(("above", above), ("below", below), capacity=1)
    matched: int = nx.maximum_flow_value(flow, "source", "sink")
    return len(places) - matched


def arranged(asked: list[qel.Query]) -> Order:
    """The order of queries whose columns were written in two pieces, as by two tasks."""
    half = len(asked) // 2
    columns = []
    for some in (asked[:half], asked[half:]):
        writer = Writer()
        columns.append(pa.array([writer.write(query) for query in some], TESTS))
    return order_of(Asked.of(pa.chunked_array(columns)))


def links_of(values: Int32s, at: Int64s) -> set[tuple[int, int]]:
    return {(above, place) for place in range(len(at) - 1) for above in values[at[place] : at[place + 1]].tolist()}


def check_order(asked: list[qel.Query]) -> None:
    order = arranged(asked)
    places, pairs = reference.order_of(asked)
    hasse = reference.hasse_of(pairs)
    assert order.place.tolist() == places
    assert links_of(order.above, order.above_at) == pairs
    assert links_of(order.parents, order.parents_at) == hasse
    depths = reference.depths_of(hasse)
    assert {place: depths.get(place, 0) for place in places} == {place: int(order.depth[place]) for place in places}
    graph = nx.Graph(list(hasse))
    graph.add_nodes_from(places)
    first = {place: min(component) for component in nx.connected_components(graph) for place in component}
    assert first == {place: int(order.component[place]) for place in first}
    assert order.width() == width_of(set(places), pairs)
    chain = order.chain()
    assert len(chain) == max(depths.values(), default=-1) + 1
    assert all(link in hasse for link in pairwise(chain))


def distinct(asked: list[qel.Query]) -> list[qel.Query]:
    """One of each meaning, as in a table of subscriptions."""
    return list({qel.canonical_id(query): query for query in asked if qel.is_satisfiable(query)}.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(queries(leaves=4), min_size=1, max_size=25))
def test_the_order_is_that_of_comparing_all_with_all_operators(asked: list[qel.Query]) -> None:
    assume(any(map(qel.is_satisfiable, asked)))
    check_order(distinct(asked))


@settings(max_examples=30, deadline=None)
@given(st.lists(chapter_queries(), min_size=1, max_size=25))
def test_the_order_is_that_of_comparing_all_in_the_chapters_language(asked: list[qel.Query]) -> None:
    assume(any(map(qel.is_satisfiable, asked)))
    check_order(distinct(asked))


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_many_ranges_of_years(seed: int) -> None:
    """Intervals within intervals: long chains, places with many parents, and a width that is not that of a depth."""
    generator = random.Random(seed)
    asked = []
    for _ in range(150):
        low = generator.randint(1990, 2010)
        asked.append(f"X : t(X, dc:date, D) & D >= {low} & D <= {low + generator.randint(0, 15)}")
    check_order(distinct([qel.parse(text) for text in asked]))


def test_queries_that_differ_in_names_and_order_are_one_place() -> None:
    same = [
        'X : t(X, dc:title, T) & t(X, dc:date, D) & T contains "web" & D > 2003',
        'A : t(A, dc:date, Y) & t(A, dc:title, Name) & Y >= 2004 & Name contains "web"',
    ]
    assert len({qel.canonical_id(qel.parse(text)) for text in same}) == 1
    # Whatever is a year has its digits: each implies the other, but what they ask for is not the same.
    twins = [qel.parse(f"X : t(X, dc:date, D) & {test}") for test in ("D = 2004", 'D = 2004 & D contains "20"')]
    assert len(set(map(qel.canonical_id, twins))) == 2
    order = arranged([*twins, qel.parse(same[0])])
    assert order.place.tolist() == [0, 0, 2]
    check_order([*twins, qel.parse(same[0])])


@pytest.mark.spark
def test_the_poset_is_that_of_the_reference(spark: "SparkSession", tmp_path: Path) -> None:
    asked = write_subscriptions(tmp_path / "subscriptions.txt", 3, 150)
    found = poset_of_files(spark, [str(asked)], tmp_path / "out")
    out = tmp_path / "out"

    rows = sorted(pq.read_table(out / "places.parquet").to_pylist(), key=lambda row: row["place"])
    texts = [line for line in asked.read_text().splitlines() if "t(" in line and not line.startswith("#")]
    by_id: dict[str, list[qel.Query]] = {}
    for text in texts:
        query = qel.parse(text)
        if qel.is_satisfiable(query):
            by_id.setdefault(qel.canonical_id(query), []).append(query)
    queries = [by_id[identity][0] for identity in sorted(by_id)]
    places, order = reference.order_of(queries)
    hasse = reference.hasse_of(order)
    depths = reference.depths_of(hasse)
    asked_of: dict[int, int] = {}
    for place, identity in zip(places, sorted(by_id), strict=True):
        asked_of[place] = asked_of.get(place, 0) + len(by_id[identity])

    def links(name: str) -> set[tuple[int, int]]:
        return {(row["above"], row["below"]) for row in pq.read_table(out / name).to_pylist()}

    assert links("pairs.parquet") == order
    assert links("hasse.parquet") == hasse
    assert [row["place"] for row in rows] == sorted(set(places))
    assert {row["place"]: row["asked"] for row in rows} == asked_of
    assert {row["place"]: row["depth"] for row in rows} == {place: depths.get(place, 0) for place in set(places)}
    graph = nx.Graph(list(hasse))
    graph.add_nodes_from(places)
    components = {place: min(some) for some in nx.connected_components(graph) for place in some}
    together = {row["place"]: row["component"] for row in rows}
    assert len(set(together.values())) == len(set(components.values())) == found.components
    assert len({(together[place], components[place]) for place in components}) == found.components
    assert found.roots == len({*places} - {below for _, below in hasse})
    assert found.depth == max(depths.values())
    assert found.width == width_of(set(places), order)
    assert len(found.chain) == found.depth + 1
    for general, special in pairwise(found.chain):
        assert qel.subsumes(qel.parse(general), qel.parse(special))
    assert json.loads((out / "poset.json").read_text())["places"] == len(set(places))
    assert len(order) > 50

    # The same in another order and other files, and into the same directory.
    lines = asked.read_text().splitlines(keepends=True)
    for name, some in (("a.txt", lines[1::2]), ("b.txt", lines[::2][::-1])):
        (tmp_path / name).write_text("".join(some))
    before = [pq.read_table(out / name) for name in ("places.parquet", "pairs.parquet", "hasse.parquet")]
    assert poset_of_files(spark, [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], out) == found
    assert [pq.read_table(out / name) for name in ("places.parquet", "pairs.parquet", "hasse.parquet")] == before
