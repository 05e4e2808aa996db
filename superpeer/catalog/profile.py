"""What is in a catalogue: for each property how often, for what, with which values, and together with what.

Four passes over the Parquet table, none of which moves a whole triple between tasks: simple counts need no
exchange; values and subjects are exchanged as hashes of 96 bits, and only the texts of top values are fetched
afterwards. With `approximate`, distinct values are estimated by HyperLogLog, and top values are left out for
properties that have very many.

All results are lists in one order, whatever the partitioning: ties are broken by the values themselves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qel.names import RDF_TYPE, namespace
from superpeer.catalog import views
from superpeer.catalog.columns import BLANK, URI
from superpeer.catalog.ingest import Catalogue
from superpeer.catalog.progress import SILENT, Steps

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TOP_VALUES = 20
LEAST_COUNT = 2
"""A value that occurs once is no top value."""
MANY_VALUES = 100_000
FEW_VALUES = 256
"""Of properties with no more distinct values than this all are known, for advertising."""
MAX_TEXT = 400
MAX_PROPERTIES_IN_PAIRS = 200
WORD_BITS = 62
"""How many properties are a bit each in one word of the set of a subject."""


Breakdown = dict[str, tuple[tuple[str, int], ...]]
"""For each property what its values have, with how many have it, the most common first."""


@dataclass(frozen=True, slots=True)
class Property:
    """One row of the table `properties`. The forms are explained in `superpeer.catalog.views`."""

    property: str
    resources: int
    values: int
    distinct: int
    exact: bool
    most_values: int
    uri: int
    blank: int
    year: int
    date: int
    integer: int
    decimal: int
    string: int
    invalid: int
    lowest: int | None
    highest: int | None
    beyond: int
    longest: int
    languages: tuple[tuple[str, int], ...]
    datatypes: tuple[tuple[str, int], ...]


def has_integers_only(one: Property) -> bool:
    """Whether every value has an integer view."""
    return one.values > 0 and one.year + one.date + one.integer == one.values


@dataclass(frozen=True, slots=True)
class TopValue:
    """One row of `top_values`, and of `few_values`: a value of a property, and how many resources have it."""

    property: str
    object: str
    kind: str
    language: str
    datatype: str
    count: int


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of `pairs`: how many resources have both properties; the first is the smaller in the alphabet."""

    first: str
    second: str
    resources: int


@dataclass(frozen=True)
class Profile:
    """All that `superpeer catalog profile` finds out."""

    triples: int
    resources: int
    properties: tuple[Property, ...]
    classes: tuple[tuple[str, int], ...]
    top_values: tuple[TopValue, ...]
    few_values: tuple[TopValue, ...]
    pairs: tuple[Pair, ...]
    shapes: tuple[tuple[tuple[str, ...], int], ...]
    """The sets of properties that resources have, with how many have exactly this set: the most common."""

    @property
    def schemas(self) -> tuple[tuple[str, int, int], ...]:
        """Each namespace with how many properties and classes of it are used, and how many triples use them."""
        found: dict[str, list[int]] = {}
        for one in self.properties:
            entry = found.setdefault(namespace(one.property), [0, 0])
            entry[0] += 1
            entry[1] += one.values
        for name, _ in self.classes:
            found.setdefault(namespace(name), [0, 0])[0] += 1
        return tuple(sorted((name, used, triples) for name, (used, triples) in found.items()))


def profile(spark: SparkSession, catalogue: Catalogue, approximate: bool = False, steps: Steps = SILENT) -> Profile:
    return profile_of(catalogue.triples(spark), approximate, steps)


def profile_of(triples: DataFrame, approximate: bool = False, steps: Steps = SILENT) -> Profile:
    """The profile of triples that are there once each: (subject, predicate, object, kind, language, datatype)."""
    steps.say("counting values and their views")
    counted = {row["predicate"]: row for row in _counts(triples, approximate).collect()}
    names = sorted(counted)
    steps.say("counting distinct values")
    distinct, top = _values(triples, counted, approximate)
    steps.say("looking at resources")
    shapes = _shapes(triples, names)
    few = _few_values(triples, [name for name in names if distinct[name] <= FEW_VALUES])
    languages, datatypes = _breakdowns(triples)
    most, resources_with, pairs = _of_shapes(shapes, names)
    properties = tuple(
        _property(counted[name], resources_with[name], most[name], distinct[name], approximate, languages, datatypes)
        for name in names
    )
    classes = _classes(triples, few, distinct.get(RDF_TYPE, 0))
    return Profile(
        sum(one.values for one in properties),
        shapes.resources,
        properties,
        classes,
        top,
        few,
        pairs,
        shapes.common,
    )


def _counts(triples: DataFrame, approximate: bool) -> DataFrame:
    """Everything that one pass counts for each property."""
    from pyspark.sql import functions as f

    viewed = triples.withColumn("trimmed", views.trimmed()).withColumn("form", views.form())
    viewed = viewed.withColumn("as_integer", views.integer())

    def count(condition: Column) -> Column:
        return f.count(f.when(condition, 1))

    is_integer = f.col("form").isin(views.YEAR, views.DATE, views.INTEGER)
    columns = [
        f.count("*").alias("values"),
        *(count(f.col("form") == form).alias(form) for form in views.FORMS),
        count(views.invalid()).alias("invalid"),
        f.min("as_integer").alias("lowest"),
        f.max("as_integer").alias("highest"),
        count(is_integer & f.col("as_integer").isNull()).alias("beyond"),
        f.max(f.length("object")).alias("longest"),
    ]
    if approximate:
        value = f.xxhash64("object", "kind", "language", "datatype")
        columns.append(f.approx_count_distinct(value, 0.02).alias("about"))
    return viewed.groupBy("predicate").agg(*columns)


def _values(
    triples: DataFrame, counted: dict[str, Any], approximate: bool
) -> tuple[dict[str, int], tuple[TopValue, ...]]:
    """How many distinct values each property has, and its top values."""
    from pyspark.sql import functions as f
    from pyspark.sql.window import Window

    hashed = _with_hashes(triples)
    about: dict[str, int] = {}
    if approximate:
        about = {name: int(row["about"]) for name, row in counted.items()}
        listed = [name for name, number in about.items() if number <= MANY_VALUES]
        hashed = hashed.where(f.col("predicate").isin(*listed))
    by_value = hashed.groupBy("predicate", "kind", "a", "b").agg(f.count("*").alias("count")).cache()
    try:
        distinct = about or {
            row["predicate"]: row["n"] for row in by_value.groupBy("predicate").agg(f.count("*").alias("n")).collect()
        }
        often = by_value.where((f.col("count") >= LEAST_COUNT) & (f.col("kind") != BLANK))
        ranked = often.withColumn(
            "rank", f.rank().over(Window.partitionBy("predicate").orderBy(f.col("count").desc()))
        ).where(f.col("rank") <= TOP_VALUES)
        # Ties at the last place are all fetched, and broken by the texts.
        texts = (
            _with_hashes(triples)
            .join(f.broadcast(ranked.drop("rank")), ["predicate", "kind", "a", "b"])
            .groupBy("predicate", "kind", "a", "b", "count")
            .agg(*(f.first(name).alias(name) for name in ("object", "language", "datatype")))
        )
        order = Window.partitionBy("predicate").orderBy(f.col("count").desc(), "object", "kind", "language", "datatype")
        rows = (
            texts.withColumn("place", f.row_number().over(order))
            .where(f.col("place") <= TOP_VALUES)
            .orderBy("predicate", "place")
            .collect()
        )
    finally:
        by_value.unpersist()
    return distinct, tuple(_top_value(row) for row in rows)


def _with_hashes(triples: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    value = ("object", "kind", "language", "datatype")
    return triples.select("predicate", *value, f.xxhash64(*value).alias("a"), f.hash(*reversed(value)).alias("b"))


def _few_values(triples: DataFrame, names: list[str]) -> tuple[TopValue, ...]:
    """All values of properties that have few."""
    from pyspark.sql import functions as f

    if not names:
        return ()
    columns = ("predicate", "object", "kind", "language", "datatype")
    rows = (
        triples.where(f.col("predicate").isin(*names) & (f.col("kind") != BLANK))
        .groupBy(*columns)
        .agg(f.count("*").alias("count"))
        .orderBy(*columns)
        .collect()
    )
    return tuple(_top_value(row) for row in rows)


def _top_value(row: Any) -> TopValue:
    return TopValue(row["predicate"], row["object"], row["kind"], row["language"], row["datatype"], row["count"])


@dataclass(frozen=True)
class Shapes:
    """Sets of properties as sets of their numbers, with how many resources have them, and how many values at most."""

    resources: int
    by_set: dict[frozenset[int], int]
    most_values: dict[str, int]
    common: tuple[tuple[tuple[str, ...], int], ...]


MOST_SHAPES = 200_000
COMMON_SHAPES = 30


def _shapes(triples: DataFrame, names: list[str]) -> Shapes:
    """The sets of properties that resources have. A set is a few words of bits, so that adding to it is an `or`."""
    from pyspark.sql import functions as f

    if not names:
        return Shapes(0, {}, {}, ())
    words = (len(names) + WORD_BITS - 1) // WORD_BITS
    numbers = triples.sparkSession.createDataFrame(
        [(name, i // WORD_BITS, 1 << i % WORD_BITS) for i, name in enumerate(names)],
        "predicate string, word int, bit long",
    )
    numbered = triples.select(f.xxhash64("subject").alias("a"), f.hash("subject").alias("b"), "predicate").join(
        f.broadcast(numbers), "predicate"
    )
    by_property = (
        numbered.repartition("a", "b").groupBy("a", "b", "predicate", "word", "bit").agg(f.count("*").alias("n"))
    )
    by_property = by_property.cache()
    try:
        most = {
            row["predicate"]: row["most"]
            for row in by_property.groupBy("predicate").agg(f.max("n").alias("most")).collect()
        }
        sets = by_property.groupBy("a", "b").agg(
            *(f.bit_or(f.when(f.col("word") == i, f.col("bit")).otherwise(0)).alias(f"w{i}") for i in range(words))
        )
        columns = [f"w{i}" for i in range(words)]
        rows = sets.groupBy(*columns).agg(f.count("*").alias("n")).orderBy(f.col("n").desc(), *columns)
        found = {_set_of(row): row["n"] for row in rows.limit(MOST_SHAPES).collect()}
    finally:
        by_property.unpersist()
    named = sorted(
        ((tuple(names[i] for i in sorted(one)), n) for one, n in found.items()), key=lambda pair: (-pair[1], pair[0])
    )
    return Shapes(sum(found.values()), found, most, tuple(named[:COMMON_SHAPES]))


def _set_of(row: Any) -> frozenset[int]:
    return frozenset(
        word * WORD_BITS + bit for word in range(len(row) - 1) for bit in range(WORD_BITS) if row[word] >> bit & 1
    )


def _of_shapes(shapes: Shapes, names: list[str]) -> tuple[dict[str, int], dict[str, int], tuple[Pair, ...]]:
    """For each property the most values of one resource and how many resources have it, and how many have two."""
    with_property = [0] * len(names)
    for one, resources in shapes.by_set.items():
        for i in one:
            with_property[i] += resources
    common = sorted(range(len(names)), key=lambda i: (-with_property[i], i))[:MAX_PROPERTIES_IN_PAIRS]
    kept = frozenset(common)
    pairs: dict[tuple[int, int], int] = {}
    for one, resources in shapes.by_set.items():
        ordered = sorted(one & kept)
        for at, i in enumerate(ordered):
            for j in ordered[at + 1 :]:
                pairs[i, j] = pairs.get((i, j), 0) + resources
    found = tuple(Pair(names[i], names[j], resources) for (i, j), resources in sorted(pairs.items()))
    return shapes.most_values, dict(zip(names, with_property, strict=True)), found


def _breakdowns(triples: DataFrame) -> tuple[Breakdown, Breakdown]:
    """How many values of each property have which language, and which datatype."""
    from pyspark.sql import functions as f

    tagged = triples.where((f.col("language") != "") | (f.col("datatype") != ""))
    rows = tagged.groupBy("predicate", "language", "datatype").agg(f.count("*").alias("n")).collect()
    return _breakdown(rows, "language"), _breakdown(rows, "datatype")


def _breakdown(rows: list[Any], column: str) -> Breakdown:
    found: dict[str, Counter[str]] = {}
    for row in rows:
        if row[column]:
            found.setdefault(row["predicate"], Counter())[row[column]] += row["n"]
    return {
        name: tuple(sorted(some.items(), key=lambda pair: (-pair[1], pair[0]))[:TOP_VALUES])
        for name, some in found.items()
    }


def _classes(triples: DataFrame, few: tuple[TopValue, ...], distinct: int) -> tuple[tuple[str, int], ...]:
    from pyspark.sql import functions as f

    if distinct <= FEW_VALUES:
        found = [(one.object, one.count) for one in few if one.property == RDF_TYPE and one.kind == URI]
    else:
        types = triples.where((f.col("predicate") == RDF_TYPE) & (f.col("kind") == URI))
        found = [(row["object"], row["n"]) for row in types.groupBy("object").agg(f.count("*").alias("n")).collect()]
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))


def _property(
    row: Any,
    resources: int,
    most: int,
    distinct: int,
    approximate: bool,
    languages: Breakdown,
    datatypes: Breakdown,
) -> Property:
    name = row["predicate"]
    return Property(
        name,
        resources,
        row["values"],
        distinct,
        not approximate,
        most,
        row["uri"],
        row["blank"],
        row["year"],
        row["date"],
        row["integer"],
        row["decimal"],
        row["string"],
        row["invalid"],
        None if row["lowest"] is None else int(row["lowest"]),
        None if row["highest"] is None else int(row["highest"]),
        row["beyond"],
        row["longest"],
        languages.get(name, ()),
        datatypes.get(name, ()),
    )
