"""The poset: pairs, places, links, depths and components are those of comparing everything with everything."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import pyarrow.parquet as pq
import pytest

import qel
from superpeer.catalog import reference
from superpeer.catalog.posets import poset_of_files
from tests.superpeer.catalog.samples import write_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


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
    for general, special in zip(found.chain, found.chain[1:], strict=False):
        assert qel.subsumes(qel.parse(general), qel.parse(special))
    assert json.loads((out / "poset.json").read_text())["places"] == len(set(places))
    assert len(order) > 50
