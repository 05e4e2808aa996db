"""`superpeer catalog poset`: from files of subscriptions to tables, a drawing and a report.

    places.parquet/   place, id, text, asked, above, below, parents, children, depth, component
    pairs.parquet/    above, below: every place with every place that it covers
    hasse.parquet/    above, below: neighbours only
    rejected.parquet/ text, reason: what was no subscription
    poset.json        the numbers below
    poset.svg         the largest component, cut to what can be read
    report.html       for people

`above` and `below` count the places that cover a place, and that it covers; `depth` is the length of the longest chain
down to it, from 0 at a root. Depths and components come from one pass over the Hasse diagram in the order of ranks, in
a single task that holds a few numbers for each place.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from superpeer.catalog import outputs
from superpeer.catalog.poset import merge_equivalent, pairs, reduce
from superpeer.catalog.poset_report import draw, write_report
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.subscriptions import read_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DRAWN = 28
SHOWN = 12
FEW_PLACES = 2_000
"""Up to so many places the width is found exactly."""


@dataclass(frozen=True)
class PosetStatistics:
    """What the poset looks like. A width that is not exact is that of the largest set of places of one depth."""

    asked: int
    distinct: int
    places: int
    rejected: int
    pairs: int
    links: int
    roots: int
    roots_asked: int
    alone: int
    depth: int
    width: int
    width_is_exact: bool
    components: int
    largest_component: int
    depths: tuple[tuple[int, int], ...]
    fan_out: tuple[tuple[int, int], ...]
    fan_in: tuple[tuple[int, int], ...]
    chain: tuple[str, ...]
    most_general: tuple[tuple[str, int], ...]

    @property
    def kept_off(self) -> float:
        """The share of all who ask that covering keeps off a link: only roots are forwarded, once."""
        return 1 - self.roots / self.asked


def poset_of_files(
    spark: SparkSession, subscriptions: Sequence[str], directory: Path, steps: Steps = SILENT
) -> PosetStatistics:
    from pyspark.sql import functions as f

    outputs.prepare(directory)
    scratch = directory / "scratch"
    steps.say("reading subscriptions")
    read = read_subscriptions(spark, subscriptions, str(scratch))
    steps.say(f"comparing {read.distinct:,} subscriptions")
    found = pairs(spark, read.table, str(scratch))
    steps.say("ordering them")
    order, place = merge_equivalent(found, read.table)
    order = _kept(spark, order, directory / "pairs.parquet")
    steps.say("finding neighbours")
    hasse = _kept(spark, reduce(order), scratch / "hasse")
    hasse.select("above", "below").write.mode("overwrite").parquet(str(directory / "hasse.parquet"))
    steps.say("finding depths and components")
    placed = _kept(spark, walk(hasse), scratch / "placed")
    asked = place.join(read.table.select("number", "asked"), "number")
    texts = read.table.select(f.col("number").alias("place"), "id", "text")
    asked = asked.groupBy("place").agg(f.sum("asked").alias("asked")).join(texts, "place")
    places = (
        asked.join(_count(order, "below", "above"), "place", "left")
        .join(_count(order, "above", "below"), "place", "left")
        .join(_count(hasse, "below", "parents"), "place", "left")
        .join(_count(hasse, "above", "children"), "place", "left")
        .join(placed.select("place", "depth", "component"), "place", "left")
        .fillna(0, ["above", "below", "parents", "children", "depth"])
        .withColumn("component", f.coalesce("component", "place"))
    )
    places = _kept(spark, places, directory / "places.parquet")
    read.rejected.write.mode("overwrite").parquet(str(directory / "rejected.parquet"))
    steps.say("writing the report")
    statistics = _statistics(places, order, placed, read.distinct, read.rejected_count)
    drawing = draw(*_largest(places, hasse))
    outputs.write_json(directory / "poset.json", asdict(statistics) | {"kept_off": statistics.kept_off})
    (directory / "poset.svg").write_text(drawing, encoding="utf-8")
    (directory / "report.html").write_text(write_report(statistics, drawing), encoding="utf-8")
    shutil.rmtree(scratch, ignore_errors=True)
    return statistics


def _kept(spark: SparkSession, frame: DataFrame, path: Path) -> DataFrame:
    """Written, so that it is computed once."""
    frame.write.mode("overwrite").parquet(str(path))
    return spark.read.parquet(str(path))


def _count(order: DataFrame, place: str, name: str) -> DataFrame:
    from pyspark.sql import functions as f

    return order.groupBy(f.col(place).alias("place")).agg(f.count("*").alias(name))


def walk(hasse: DataFrame) -> DataFrame:
    """(place, depth, component, parent): for every place with a neighbour; `parent` is on the longest chain to it."""
    ordered = hasse.repartition(1).sortWithinPartitions("rank", "below", "above").select("above", "below")
    return ordered.mapInArrow(_walk, "place long, depth long, component long, parent long")


def _walk(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    depth: dict[int, int] = {}
    parent: dict[int, int] = {}
    joined: dict[int, int] = {}

    def component(place: int) -> int:
        root = place
        while (above := joined.get(root, root)) != root:
            root = above
        while joined.get(place, place) != root:
            joined[place], place = root, joined[place]
        return root

    for batch in batches:
        for above, below in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            # Everything above comes before, so its depth is final.
            deep = depth.setdefault(above, 0) + 1
            if deep > depth.get(below, 0):
                depth[below] = deep
                parent[below] = above
            one, other = sorted((component(above), component(below)))
            joined[other] = joined[one] = one
    places = np.array(sorted(depth), np.int64)
    for start in range(0, len(places), 100_000):
        some = places[start : start + 100_000].tolist()
        columns = [
            some,
            [depth[place] for place in some],
            [component(place) for place in some],
            [parent.get(place) for place in some],
        ]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, pa.int64()) for column in columns], names=["place", "depth", "component", "parent"]
        )


def _statistics(
    places: DataFrame, order: DataFrame, placed: DataFrame, distinct: int, rejected: int
) -> PosetStatistics:
    from pyspark.sql import functions as f

    root = f.col("parents") == 0
    row = places.agg(
        f.count("*").alias("places"),
        f.sum("asked").alias("asked"),
        f.count(f.when(root, 1)).alias("roots"),
        f.sum(f.when(root, f.col("asked")).otherwise(0)).alias("roots_asked"),
        f.count(f.when(root & (f.col("children") == 0), 1)).alias("alone"),
        f.sum("children").alias("links"),
        f.sum("below").alias("pairs"),
    ).first()
    assert row is not None
    components = places.groupBy("component").count()
    sizes = components.agg(f.count("*").alias("n"), f.max("count").alias("most")).first()
    assert sizes is not None
    depths = _spread(places, "depth")
    exact = row["places"] <= FEW_PLACES
    width = _exact_width(row["places"], order) if exact else max(number for _, number in depths)
    general = places.orderBy(f.col("below").desc(), "text").limit(SHOWN).collect()
    return PosetStatistics(
        row["asked"],
        distinct,
        row["places"],
        rejected,
        row["pairs"],
        row["links"],
        row["roots"],
        row["roots_asked"],
        row["alone"],
        depths[-1][0],
        width,
        exact,
        sizes["n"],
        sizes["most"],
        depths,
        _spread(places, "children"),
        _spread(places, "parents"),
        _chain(places, placed),
        tuple((one["text"], one["below"]) for one in general if one["below"]),
    )


def _spread(places: DataFrame, column: str) -> tuple[tuple[int, int], ...]:
    rows = places.groupBy(column).count().orderBy(column).collect()
    return tuple((row[column], row["count"]) for row in rows)


def _exact_width(places: int, order: DataFrame) -> int:
    """By Dilworth's theorem: places less the largest matching of those above with those below."""
    import networkx as nx

    graph = nx.Graph()
    above = set()
    for row in order.select("above", "below").collect():
        graph.add_edge(("above", row["above"]), ("below", row["below"]))
        above.add(("above", row["above"]))
    matching = nx.bipartite.hopcroft_karp_matching(graph, above) if above else {}
    return places - len(matching) // 2


def _chain(places: DataFrame, placed: DataFrame) -> tuple[str, ...]:
    """A longest chain, from the most general down."""
    from pyspark.sql import functions as f

    deepest = placed.orderBy(f.col("depth").desc(), "place").limit(1).collect()
    if not deepest:
        return ()
    same = placed.where(f.col("component") == deepest[0]["component"])
    numbers = [deepest[0]["place"]]
    # The parents of one chain: a look-up for each step, over a small table.
    parents = {row["place"]: row["parent"] for row in _upward(same, numbers[0], deepest[0]["depth"])}
    while parents.get(numbers[-1]) is not None:
        numbers.append(parents[numbers[-1]])
    texts = {row["place"]: row["text"] for row in places.where(f.col("place").isin(*numbers)).collect()}
    return tuple(texts[number] for number in reversed(numbers))


def _upward(placed: DataFrame, start: int, steps: int) -> list[Any]:
    """The rows of the places on the way up from one."""
    from pyspark.sql import functions as f

    links = placed.select("place", "parent").cache()
    try:
        found, here = [], start
        for _ in range(steps + 1):
            row = links.where(f.col("place") == here).first()
            if row is None:
                break
            found.append(row)
            if row["parent"] is None:
                break
            here = row["parent"]
        return found
    finally:
        links.unpersist()


def _largest(places: DataFrame, hasse: DataFrame) -> tuple[list[tuple[int, int, int, str]], list[tuple[int, int]], int]:
    """Of the largest component the places that cover most, with the links between them, and how many it has. Whatever
    is above one of them covers more, so nothing is missing between two."""
    from pyspark.sql import functions as f

    sizes = places.groupBy("component").count().orderBy(f.col("count").desc(), "component").limit(1).collect()
    if not sizes or sizes[0]["count"] < 2:
        return [], [], 0
    mine = places.where(f.col("component") == sizes[0]["component"])
    rows = mine.orderBy(f.col("below").desc(), "depth", "place").limit(DRAWN).collect()
    chosen = [(row["place"], row["depth"], row["below"], row["text"]) for row in rows]
    numbers = [place for place, _, _, _ in chosen]
    links = hasse.where(f.col("above").isin(*numbers) & f.col("below").isin(*numbers)).collect()
    kept = sorted((row["above"], row["below"]) for row in links)
    linked = Counter(number for link in kept for number in link)
    chosen = [one for one in chosen if linked[one[0]] or len(chosen) < 3] or chosen[:1]
    return chosen, kept, sizes[0]["count"]
