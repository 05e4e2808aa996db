"""`superpeer catalog poset`: from files of subscriptions to tables, a drawing and a report.

    places.parquet/   place, id, text, asked, above, below, parents, children, depth, component
    pairs.parquet/    above, below: every place with every place that it covers
    hasse.parquet/    above, below: neighbours only
    rejected.parquet/ text, reason: what was no subscription
    poset.json        the numbers below
    poset.svg         the largest component, cut to what can be read
    report.html       for people

`above` and `below` count the places that cover a place, and that it covers; `depth` is the length of the longest chain
down to it, from 0 at a root.

Queries are parsed by many tasks. One task orders them (`superpeer.catalog.order`), which takes less time than parsing
does, and writes what is large.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from superpeer.catalog import outputs
from superpeer.catalog.asking import Asked, read_table
from superpeer.catalog.order import Order, order_of
from superpeer.catalog.poset_picture import Drawn, choose
from superpeer.catalog.poset_report import draw, write_report
from superpeer.catalog.progress import SILENT, Steps
from superpeer.catalog.subscriptions import read_subscriptions
from superpeer.catalog.tasks import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN = 12
ROWS_OF_GROUP = 1 << 20
"""About so many pairs are written at a time."""


@dataclass(frozen=True)
class PosetStatistics:
    """What the poset looks like."""

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
    outputs.prepare(directory)
    scratch = directory / "scratch"
    steps.say("reading subscriptions")
    read = read_subscriptions(spark, subscriptions, str(scratch))
    read.rejected.write.mode("overwrite").parquet(str(directory / "rejected.parquet"))
    steps.say(f"ordering {read.distinct:,} subscriptions")
    path, rejected, out = read.path, read.rejected_count, str(directory)
    statistics, drawn = spark.sparkContext.parallelize([path], 1).map(lambda path: arrange(path, out, rejected)).first()
    steps.say("writing the report")
    drawing = draw(drawn.places, drawn.links, drawn.whole)
    outputs.write_json(directory / "poset.json", asdict(statistics) | {"kept_off": statistics.kept_off})
    (directory / "poset.svg").write_text(drawing, encoding="utf-8")
    (directory / "report.html").write_text(write_report(statistics, drawing), encoding="utf-8")
    shutil.rmtree(scratch, ignore_errors=True)
    return statistics


def arrange(path: str, out: str, rejected: int) -> tuple[PosetStatistics, Drawn]:
    """Runs in a task: orders a table of subscriptions, and writes the tables of the poset."""
    prepare()
    read = read_table(path, ["id", "text", "asked", "tests"])
    order = order_of(Asked.of(read.column("tests")))
    read = read.drop_columns(["tests"])
    below = np.bincount(order.above, minlength=len(read))
    children = np.bincount(order.parents, minlength=len(read))
    asked = np.bincount(order.place, read.column("asked").to_numpy(), len(read)).astype(np.int64)
    kept = order.places
    numbers = {
        "asked": asked,
        "above": np.diff(order.above_at),
        "below": below,
        "parents": np.diff(order.parents_at),
        "children": children,
        "depth": order.depth,
        "component": order.component,
    }
    places = pa.table(
        {
            "place": kept,
            "id": read.column("id").take(pa.array(kept)),
            "text": read.column("text").take(pa.array(kept)),
            **{name: column[kept].astype(np.int64) for name, column in numbers.items()},
        }
    )
    pq.write_table(places, _new_table(Path(out), "places"))
    _write_pairs(Path(out), "pairs", order.above, order.above_at)
    _write_pairs(Path(out), "hasse", order.parents, order.parents_at)
    drawn = choose(places, order)
    return _statistics(places, order, read.column("text"), len(read), rejected), drawn


def _new_table(directory: Path, name: str) -> Path:
    """A file in a directory of its own, as Spark writes tables, where there is nothing else."""
    path = directory / f"{name}.parquet"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path / "part-0.parquet"


def _write_pairs(directory: Path, name: str, above: Any, at: Any) -> None:
    """Lists of what is above each place, as pairs."""
    schema = pa.schema([("above", pa.int64()), ("below", pa.int64())])
    with pq.ParquetWriter(_new_table(directory, name), schema) as writer:
        for start in range(0, len(above), ROWS_OF_GROUP):
            some = above[start : start + ROWS_OF_GROUP].astype(np.int64)
            below = np.searchsorted(at, np.arange(start, start + len(some)), "right") - 1
            writer.write_table(pa.table([some, below], schema=schema))


def _statistics(
    places: pa.Table, order: Order, texts: pa.ChunkedArray, distinct: int, rejected: int
) -> PosetStatistics:
    asked, parents, children, depth = (
        places.column(name).to_numpy() for name in ("asked", "parents", "children", "depth")
    )
    roots = parents == 0
    sizes = np.bincount(places.column("component").to_numpy())
    covering = places.filter(pc.greater(places.column("below"), 0))
    general = covering.sort_by([("below", "descending"), ("text", "ascending")])[:SHOWN]
    return PosetStatistics(
        int(asked.sum()),
        distinct,
        len(places),
        rejected,
        len(order.above),
        len(order.parents),
        int(roots.sum()),
        int(asked[roots].sum()),
        int((roots & (children == 0)).sum()),
        int(depth.max()),
        order.width(),
        int(np.count_nonzero(sizes)),
        int(sizes.max()),
        _spread(depth),
        _spread(children),
        _spread(parents),
        tuple(texts[number].as_py() for number in order.chain()),
        tuple(zip(general.column("text").to_pylist(), general.column("below").to_pylist(), strict=True)),
    )


def _spread(numbers: Any) -> tuple[tuple[int, int], ...]:
    values, often = np.unique(numbers, return_counts=True)
    return tuple(zip(values.tolist(), often.tolist(), strict=True))
