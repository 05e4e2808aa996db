"""Values: how many each property has of which form, how many are distinct, and which occur most.

One pass counts everything that needs no exchange, and sends for each value that a batch has, once, 40 bytes: two
hashes of property and value, the property, how often, and where it stands. Only the texts of top values and of
properties with few values are fetched afterwards, by where they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from superpeer.catalog import views
from superpeer.catalog.columns import BLANK, LITERAL, URI
from superpeer.catalog.hashing import hash_texts, order_of, starts_of
from superpeer.catalog.scanning import Batch, Tag, Unit, buckets_for, exchange, into_buckets, read_batches, read_rows
from superpeer.catalog.session import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOP_VALUES = 20
LEAST_COUNT = 2
"""A value that occurs once is no top value."""
FEW_VALUES = 256
"""Of properties with no more distinct values than this all are known, for advertising."""

VALUE = np.dtype(
    [("a", "u8"), ("b", "u8"), ("property", "u4"), ("blank", "u4"), ("count", "i8"), ("unit", "u4"), ("row", "u4")]
)


@dataclass
class Counts:
    """What is counted of one property."""

    values: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    invalid: int = 0
    lowest: int | None = None
    highest: int | None = None
    beyond: int = 0
    longest: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    datatypes: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.values + other.values,
            self.forms + other.forms,
            self.invalid + other.invalid,
            _either(min, self.lowest, other.lowest),
            _either(max, self.highest, other.highest),
            self.beyond + other.beyond,
            max(self.longest, other.longest),
            self.languages + other.languages,
            self.datatypes + other.datatypes,
        )


@dataclass(frozen=True)
class Text:
    """A value of a property, and how many resources have it."""

    property: int
    count: int
    object: str
    kind: str
    language: str
    datatype: str

    def sort_key(self) -> tuple[str, ...]:
        return (self.object, self.kind, self.language, self.datatype)


@dataclass(frozen=True)
class Values:
    """By the number of a property: what was counted, how many distinct values there are, and which ones."""

    counts: Mapping[int, Counts]
    distinct: Mapping[int, int]
    top: tuple[Text, ...]
    few: tuple[Text, ...]


Counted = tuple[dict[int, Counts], Any, Any]
"""Of one bucket: counts of properties, numbers of distinct values, and the values that may be asked for."""


def find_values(
    spark: SparkSession,
    units: Sequence[Unit],
    names: Sequence[str],
    rows: int,
    repeats: str | None,
    many: frozenset[int] = frozenset(),
) -> Values:
    """Looks at all values of the units; those of the properties in `many` are counted, but not told apart."""
    from pyspark import StorageLevel

    numbers = {name: i for i, name in enumerate(names)}
    buckets = buckets_for(rows, cores(spark))
    said = exchange(spark, units, lambda mine: _scan(mine, numbers, repeats, buckets, many), buckets)
    kept = said.mapPartitions(lambda items: _sort(items, len(numbers))).persist(StorageLevel.MEMORY_AND_DISK)
    summaries = kept.map(lambda one: (one[0], one[1], _top_counts(one[2]))).collect()
    counts = reduce(_merge, (one for one, _, _ in summaries))
    distinct = sum(one for _, one, _ in summaries)
    thresholds = _thresholds([one for _, _, one in summaries], len(numbers))
    few = distinct <= FEW_VALUES
    by_number = {unit.number: unit for unit in units}
    wanted = kept.flatMap(lambda one: _asked_for(one[2], thresholds, few))
    texts = wanted.groupByKey(min(buckets, max(1, len(units)))).flatMap(
        lambda pair: _fetch(by_number[pair[0]], list(pair[1]), thresholds, few)
    )
    found = texts.collect()
    kept.unpersist()
    top = [text for text in found if text.count >= thresholds[text.property]]
    listed = sorted((text for text in found if few[text.property]), key=lambda text: (text.property, text.sort_key()))
    return Values(counts, dict(enumerate(distinct.tolist())), tuple(_first(top)), tuple(listed))


def _scan(
    units: Iterable[Unit], numbers: dict[str, int], repeats: str | None, buckets: int, many: frozenset[int]
) -> Iterator[tuple[int, Any]]:
    left_out = np.array(sorted(many), np.uint32)
    for unit in units:
        counts: dict[int, Counts] = {}
        for batch in read_batches(unit, numbers, repeats):
            if not len(batch.rows):
                continue
            a, b = hash_texts(batch.columns.column("object"), batch.seeds)
            order = order_of(a, b)
            starts = starts_of(a[order], b[order])
            firsts, often = order[starts], np.diff(np.append(starts, len(order)))
            counts = _merge(counts, _count(batch, firsts, often))
            rows = np.empty(len(firsts), VALUE)
            rows["a"], rows["b"], rows["property"] = a[firsts], b[firsts], batch.properties[firsts]
            rows["blank"], rows["count"] = batch.blank[firsts], often
            rows["unit"], rows["row"] = unit.number, batch.rows[firsts]
            if len(left_out):
                rows = rows[~np.isin(rows["property"], left_out)]
            yield from into_buckets(rows, rows["a"], buckets)
        yield unit.number % buckets, counts


def _count(batch: Batch, firsts: Any, often: Any) -> dict[int, Counts]:
    """Counts of one batch, from the values that it has, each once, and how often it has them."""
    found: dict[int, Counts] = {}
    properties, tag_of = batch.properties[firsts].astype(np.int64), batch.tag_of[firsts]
    texts = batch.columns.column("object").take(pa.array(firsts))
    literal = np.array([tag.kind == LITERAL for tag in batch.tags], bool)[tag_of]
    forms = np.array([views.FORMS.index(tag.kind) if tag.kind in (URI, BLANK) else -1 for tag in batch.tags])[tag_of]
    places = np.flatnonzero(literal)
    forms[places], integers = views.forms_of(texts.take(pa.array(places)))
    grouped = (properties * len(batch.tags) + tag_of) * len(views.FORMS) + forms
    cells, inverse = np.unique(grouped, return_inverse=True)
    totals = np.bincount(inverse, often).astype(np.int64)
    for cell, total in zip(cells.tolist(), totals.tolist(), strict=True):
        rest, form = divmod(cell, len(views.FORMS))
        name, tag = divmod(rest, len(batch.tags))
        _add_cell(found.setdefault(name, Counts()), batch.tags[tag], views.FORMS[form], total)
    lengths = np.asarray(pc.utf8_length(texts))
    for name, longest in _by_property(properties, lengths, np.maximum):
        found[name].longest = longest
    short = properties[places[integers.short]]
    for name, lowest in _by_property(short, integers.numbers, np.minimum):
        found[name].lowest = lowest
    for name, highest in _by_property(short, integers.numbers, np.maximum):
        found[name].highest = highest
    for place, number in zip(integers.long, integers.long_numbers, strict=True):
        one = found[int(properties[places[place]])]
        if abs(number) >= views.BEYOND:
            one.beyond += int(often[places[place]])
        else:
            one.lowest, one.highest = _either(min, one.lowest, number), _either(max, one.highest, number)
    return found


def _add_cell(counts: Counts, tag: Tag, form: str, total: int) -> None:
    counts.values += total
    counts.forms[form] += total
    if tag.language:
        counts.languages[tag.language] += total
    if tag.datatype:
        counts.datatypes[tag.datatype] += total
    if form not in views.PROMISES.get(tag.datatype, views.FORMS):
        counts.invalid += total


def _by_property(properties: Any, numbers: Any, choose: Any) -> Iterator[tuple[int, int]]:
    """The least or the greatest number of each property."""
    order = np.argsort(properties, kind="stable")
    starts = np.flatnonzero(np.diff(properties[order], prepend=-1))
    if len(starts):
        yield from zip(
            properties[order][starts].tolist(), choose.reduceat(numbers[order], starts).tolist(), strict=True
        )


def _sort(items: Iterable[tuple[int, Any]], properties: int) -> Iterator[Counted]:
    """Runs in a task, for one bucket: the same values together."""
    counts: dict[int, Counts] = {}
    pieces = [np.zeros(0, VALUE)]
    for _, one in items:
        if isinstance(one, dict):
            counts = _merge(counts, one)
        else:
            pieces.append(one)
    rows = np.concatenate(pieces)
    rows = rows[order_of(rows["a"], rows["b"])]
    starts = starts_of(rows["a"], rows["b"])
    values = rows[starts]
    if len(values):
        values["count"] = np.add.reduceat(rows["count"], starts)
    distinct = np.bincount(values["property"], minlength=properties)
    named = values[values["blank"] == 0]
    # Whatever is among the top values of all buckets, or of few, is so in its bucket.
    least = _thresholds([_top_counts(named)], properties)[named["property"]]
    yield counts, distinct, named[(named["count"] >= least) | (distinct[named["property"]] <= FEW_VALUES)]


def _top_counts(values: Any) -> tuple[Any, Any]:
    """Properties and counts of no more than the top values of each."""
    often = values[values["count"] >= LEAST_COUNT]
    often = often[np.lexsort((-often["count"], often["property"]))]
    starts = np.flatnonzero(np.diff(often["property"].astype(np.int64), prepend=-1))
    place = np.arange(len(often)) - np.repeat(starts, np.diff(np.append(starts, len(often))))
    kept = often[place < TOP_VALUES]
    return kept["property"].copy(), kept["count"].copy()


def _thresholds(found: list[tuple[Any, Any]], properties: int) -> Any:
    """How often a value must occur to be among the top values of its property."""
    thresholds = np.full(properties, LEAST_COUNT, np.int64)
    named, counts = (np.concatenate(some) for some in zip(*found, strict=True))
    order = np.lexsort((-counts, named))
    named, counts = named[order], counts[order]
    starts = np.flatnonzero(np.diff(named.astype(np.int64), prepend=-1))
    ends = np.append(starts[1:], len(named))
    full = ends - starts >= TOP_VALUES
    thresholds[named[starts[full]]] = counts[starts[full] + TOP_VALUES - 1]
    return thresholds


def _asked_for(values: Any, thresholds: Any, few: Any) -> Iterator[tuple[int, Any]]:
    chosen = values[(values["count"] >= thresholds[values["property"]]) | few[values["property"]]]
    for unit in np.unique(chosen["unit"]).tolist():
        yield unit, chosen[chosen["unit"] == unit]


def _fetch(unit: Unit, pieces: list[Any], thresholds: Any, few: Any) -> list[Text]:
    """The texts of values that stand in one unit; of ties no more than may be needed."""
    values = np.concatenate(pieces)
    held = read_rows(unit, values["row"].astype(np.int64))
    columns = (held.column(name).to_pylist() for name in ("object", "kind", "language", "datatype"))
    texts = [Text(*row) for row in zip(values["property"].tolist(), values["count"].tolist(), *columns, strict=True)]
    top = [text for text in texts if text.count >= thresholds[text.property] and not few[text.property]]
    return [*(text for text in texts if few[text.property]), *_first(top)]


def _first(texts: list[Text]) -> Iterator[Text]:
    """The top values of each property, in the order of properties. Ties are broken by the values themselves."""
    taken: Counter[int] = Counter()
    for text in sorted(texts, key=lambda text: (text.property, -text.count, text.sort_key())):
        taken[text.property] += 1
        if taken[text.property] <= TOP_VALUES:
            yield text


def _merge(one: dict[int, Counts], other: Mapping[int, Counts]) -> dict[int, Counts]:
    merged = dict(one)
    for name, counts in other.items():
        merged[name] = merged[name] + counts if name in merged else counts
    return merged


def _either(choose: Any, one: int | None, other: int | None) -> int | None:
    known = [number for number in (one, other) if number is not None]
    return choose(known) if known else None
