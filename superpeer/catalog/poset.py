"""The poset of a million subscriptions: who covers whom, found by blocking and decided exactly.

A pair (general, special) is compared only if the special one *offers* all that an alternative of the general one
*requires* (`superpeer.node.features`). Each alternative of a general query is entered under the rarest feature that it
requires; a special query is looked up by all features that its most particular alternative offers, because whoever
covers a query covers each of its alternatives. Signatures of 256 bits for all features together, and of 124 bits for
where ranges begin and end, drop nearly all pairs that are not there, without leaving the JVM; `qel.subsumes` decides
the rest.

Queries that cover each other are one place, named by the smallest number. The number of queries above a place orders
the poset: what lies between two places has more above it than the upper one. So the place above with the largest
number is a parent, and if it has all others above it, it is the only one; only for the rest is a join needed to find
what is reached through another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

import qel
from qel import Query
from qel.normal import Disjunct, NormalForm
from superpeer.catalog.session import cores
from superpeer.catalog.subscriptions import dump, load
from superpeer.node.features import offered_by, required_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORDS = 4
"""How many words of 64 bits a signature of features has."""

BOUNDS = (0, 1, 10, 100, 1_000, 1_500, 1_800, 1_900, 1_950, 1_960, 1_970, *range(1_980, 2_031))
"""Where ranges are told apart by their signatures: in the years of catalogues."""

ALL_BOUNDS = (1 << len(BOUNDS)) - 1
HELD_FORMS = 50_000

_FEATURES = pa.schema(
    [
        ("number", pa.int64()),
        ("part", pa.int32()),
        ("required", pa.list_(pa.int64())),
        ("offered", pa.list_(pa.int64())),
        *((f"r{i}", pa.int64()) for i in range(WORDS + 2)),
        *((f"o{i}", pa.int64()) for i in range(WORDS + 2)),
        ("rest", pa.binary()),
    ]
)
FEATURES = (
    "number long, part int, required array<long>, offered array<long>, "
    + ", ".join(f"r{i} long" for i in range(WORDS + 2))
    + ", "
    + ", ".join(f"o{i} long" for i in range(WORDS + 2))
    + ", rest binary"
)


class Held(NamedTuple):
    """All of a query that comparing needs."""

    normal_form: NormalForm


def pairs(spark: SparkSession, table: DataFrame, scratch: str) -> DataFrame:
    """(general, special): every pair of subscriptions of which the first covers the second, by number."""

    table.select("number", "form").mapInArrow(_features, FEATURES).write.mode("overwrite").parquet(
        f"{scratch}/features"
    )
    featured = spark.read.parquet(f"{scratch}/features")
    _write_forms(featured.where("part = 0").select("number", "rest"), f"{scratch}/forms")
    found = candidates(featured.drop("rest"))
    forms = f"{scratch}/forms/forms.arrow"
    checked = (
        found.repartition(cores(spark) * 8, "feature")
        .sortWithinPartitions("feature", "general", "special")
        .select("general", "special")
        .mapInArrow(lambda batches: _check(batches, forms), "general long, special long")
    )
    checked.dropDuplicates().write.mode("overwrite").parquet(f"{scratch}/pairs")
    return spark.read.parquet(f"{scratch}/pairs")


def candidates(featured: DataFrame) -> DataFrame:
    """(feature, general, special): pairs that may be there, with the feature that brought them together."""
    from pyspark.sql import functions as f

    often = featured.select(f.explode("offered").alias("feature")).groupBy("feature").agg(f.count("*").alias("often"))
    required = featured.select("number", "part", f.explode("required").alias("feature")).join(often, "feature")
    keys = required.groupBy("number", "part").agg(f.min(f.struct("often", "feature")).alias("key"))
    general = featured.join(keys, ["number", "part"])
    # Of the alternatives of a special query, the most particular one leads to the fewest others.
    probing = keys.groupBy("number").agg(f.min(f.struct("key.often", "part")).alias("least"))
    probing = probing.select("number", f.col("least.part").alias("part"))
    special = featured.join(probing, ["number", "part"])
    entered = general.select(
        f.col("key.feature").alias("feature"), f.col("number").alias("general"), *(f"r{i}" for i in range(WORDS + 2))
    )
    looked_up = special.select(
        f.explode("offered").alias("feature"), f.col("number").alias("special"), *(f"o{i}" for i in range(WORDS + 2))
    )
    fits = f.col("general") != f.col("special")
    for i in range(WORDS + 2):
        fits = fits & (f.col(f"r{i}").bitwiseAND(f.col(f"o{i}")) == f.col(f"r{i}"))
    return entered.join(looked_up, "feature").where(fits).select("feature", "general", "special")


def merge_equivalent(found: DataFrame, table: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Pairs between places, and the place of each subscription: queries that cover each other share one."""
    from pyspark.sql import functions as f

    other = found.select(f.col("special").alias("general"), f.col("general").alias("special"))
    mutual = found.join(other, ["general", "special"])
    places = mutual.groupBy(f.col("special").alias("number")).agg(f.min("general").alias("first"))
    place = table.select("number").join(places, "number", "left")
    place = place.select("number", f.least("number", f.coalesce("first", "number")).alias("place"))
    moved = (
        found.join(place.withColumnsRenamed({"number": "general", "place": "above"}), "general")
        .join(place.withColumnsRenamed({"number": "special", "place": "below"}), "special")
        .where(f.col("above") != f.col("below"))
        .select("above", "below")
        .dropDuplicates()
    )
    return moved, place


def reduce(order: DataFrame) -> DataFrame:
    """(above, below, rank): the Hasse diagram of an order, with how many lie above the lower end."""
    from pyspark.sql import functions as f

    counts = order.groupBy("below").agg(f.count("*").alias("rank"))
    ranked = order.join(counts.withColumnsRenamed({"below": "above", "rank": "above_rank"}), "above", "left")
    ranked = ranked.select("above", "below", f.coalesce("above_rank", f.lit(0)).alias("above_rank"))
    nearest = ranked.groupBy("below").agg(
        f.max(f.struct("above_rank", "above")).alias("nearest"), f.count("*").alias("rank")
    )
    # The nearest has all others above it, and so nothing else is a parent.
    alone = f.col("nearest.above_rank") == f.col("rank") - 1
    chains = nearest.where(alone).select(f.col("nearest.above").alias("above"), "below", "rank")
    rest = nearest.where(~alone).select("below", "rank")
    open_pairs = order.join(rest, "below")
    through = open_pairs.select(f.col("above").alias("middle"), "below").join(
        order.select(f.col("above"), f.col("below").alias("middle")), "middle"
    )
    reached = through.select("above", "below").dropDuplicates()
    direct = open_pairs.join(reached, ["above", "below"], "left_anti").select("above", "below", "rank")
    return chains.unionByName(direct)


def _features(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for number, form in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            normal = load(form).normal_form
            rest = dump(Held(NormalForm(normal.primes, normal.primes, normal.exact)))
            for part, prime in enumerate(normal.primes):
                required, offered = sorted(set(required_by(prime))), sorted(set(offered_by(prime)))
                words = {f"r{i}": word for i, word in enumerate((*_signature(required), *_bounds_required(prime)))}
                words |= {f"o{i}": word for i, word in enumerate((*_signature(offered), *_bounds_offered(prime)))}
                row = {"number": number, "part": part, "required": required, "offered": offered, **words}
                rows.append(row | {"rest": rest if part == 0 else b""})
        yield pa.RecordBatch.from_pylist(rows, schema=_FEATURES)


def _signature(features: list[int]) -> list[int]:
    words = [0] * WORDS
    for feature in features:
        # The top bit is the sign, and stays free.
        words[feature % WORDS] |= 1 << (feature // WORDS % 63)
    return words


def _bounds_required(disjunct: Disjunct) -> tuple[int, int]:
    """The bounds that whatever implies the disjunct keeps: it starts no lower, and ends no higher."""
    low = high = 0
    for slots in disjunct.slots.values():
        for slot in slots:
            if slot.region.integer is not None:
                one, other = _kept(slot.region.integer)
                low, high = low | one, high | other
    return low, high


def _bounds_offered(disjunct: Disjunct) -> tuple[int, int]:
    low = high = 0
    for slots in disjunct.slots.values():
        for slot in slots:
            region = slot.region
            if region.exact is not None or region.date is not None or region.decimal is not None:
                return ALL_BOUNDS, ALL_BOUNDS
            if region.integer is not None:
                one, other = _kept(region.integer)
                low, high = low | one, high | other
    return low, high


def _kept(integers: Any) -> tuple[int, int]:
    low, high = integers
    below = 0 if low is None else sum(1 << i for i, bound in enumerate(BOUNDS) if bound <= low)
    above = 0 if high is None else sum(1 << i for i, bound in enumerate(BOUNDS) if bound >= high)
    return below, above


def _write_forms(forms: DataFrame, directory: str) -> None:
    """All forms in one file, in the order of numbers, so that tasks can look one up without reading the others."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        Path(directory).mkdir(parents=True, exist_ok=True)
        rows = 0
        schema = pa.schema([("rest", pa.large_binary())])
        with pa.OSFile(f"{directory}/forms.arrow", "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for batch in batches:
                numbers = batch.column(0).to_pylist()
                assert numbers == list(range(rows, rows + len(numbers))), "numbers have no gaps"
                rows += len(numbers)
                writer.write_batch(pa.record_batch([batch.column(1).cast(pa.large_binary())], schema=schema))
        yield pa.RecordBatch.from_arrays([pa.array([rows])], names=["rows"])

    forms.repartition(1).sortWithinPartitions("number").mapInArrow(write, "rows long").collect()


class _Forms:
    """Forms by number, decoded when they are first asked for; the last ones are kept."""

    def __init__(self, path: str) -> None:
        table = pa.ipc.open_file(pa.memory_map(path)).read_all()
        self._forms = table.column(0)
        self.get = lru_cache(maxsize=HELD_FORMS)(self._load)

    def _load(self, number: int) -> Query:
        # All that `subsumes` asks of a query is its normal form.
        return cast(Query, load(self._forms[number].as_py()))


@lru_cache(maxsize=1)
def _forms(path: str, written_at: int) -> _Forms:
    """Of one writing of the file: a worker outlives a job, and the next one may write under the same name."""
    del written_at
    return _Forms(path)


def _check(batches: Iterator[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    get = _forms(path, Path(path).stat().st_mtime_ns).get
    for batch in batches:
        general, special = batch.column(0), batch.column(1)
        kept = [
            qel.subsumes(get(one), get(other))
            for one, other in zip(general.to_pylist(), special.to_pylist(), strict=True)
        ]
        yield batch.filter(pa.array(kept, pa.bool_()))
