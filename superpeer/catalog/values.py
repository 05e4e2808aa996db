"""Values: how many are distinct, and which occur most.

A bucket has all values with certain hashes, as often as each piece has them. Only the texts of top values and of
properties with few values are fetched afterwards, by where they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from superpeer.catalog.columns import TRIPLES
from superpeer.catalog.grouping import together
from superpeer.catalog.pieces import Piece, Values, names_of, read_values
from superpeer.catalog.tasks import prepare
from superpeer.catalog.units import read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOP_VALUES = 20
LEAST_COUNT = 2
"""A value that occurs once is no top value."""
FEW_VALUES = 256
"""Of properties with no more distinct values than this all are known, for advertising."""

_NODE = TRIPLES.names[3:]


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
class Found:
    """By the number of a property: how many distinct values there are, and which ones."""

    distinct: Mapping[int, int]
    top: tuple[Text, ...]
    few: tuple[Text, ...]


@dataclass(frozen=True)
class _Sorted:
    """The values of a bucket that may be asked for, each once, the files in which they stand, and by property how many
    there are."""

    values: Values
    files: list[str]
    distinct: Any


def find_values(
    spark: SparkSession,
    pieces: Sequence[Piece],
    names: Sequence[str],
    buckets: int,
    many: Iterable[str] = (),
) -> Found:
    """Looks at all values of the pieces but those of properties that have many."""
    from pyspark import StorageLevel

    numbers = {name: i for i, name in enumerate(names)}
    left_out = np.array([numbers[name] for name in many], np.int64)
    tasks = spark.sparkContext.parallelize(range(buckets), buckets)
    kept = tasks.map(lambda bucket: _sort(pieces, bucket, buckets, numbers, left_out)).persist(
        StorageLevel.MEMORY_AND_DISK
    )
    summaries = kept.map(lambda one: (one.distinct, _top_counts(one.values))).collect()
    distinct = sum(one for one, _ in summaries)
    thresholds = _thresholds([one for _, one in summaries], len(numbers))
    few = distinct <= FEW_VALUES
    wanted = kept.flatMap(lambda one: _asked_for(one, thresholds, few))
    texts = wanted.groupByKey(buckets).flatMap(lambda pair: _fetch(pair[0], list(pair[1]), thresholds, few))
    found = texts.collect()
    kept.unpersist()
    top = [text for text in found if text.count >= thresholds[text.property]]
    listed = sorted((text for text in found if few[text.property]), key=lambda text: (text.property, text.sort_key()))
    return Found(dict(enumerate(distinct.tolist())), tuple(_first(top)), tuple(listed))


def _sort(pieces: Sequence[Piece], bucket: int, buckets: int, numbers: dict[str, int], left_out: Any) -> _Sorted:
    """Runs in a task, for one bucket: the same values together."""
    prepare()
    files: list[str] = []
    held = [Values(*(np.zeros(0, kind) for kind in ("u8", "u8", "i8", "u1", "i8", "u4", "u4")))]
    for piece in pieces:
        properties, mine = names_of(piece)
        mapped = np.array([numbers[name] for name in properties], np.int64)
        for one in read_values(piece, bucket, buckets):
            place = one.file + np.uint32(len(files))
            held.append(Values(one.a, one.b, mapped[one.property], one.blank, one.count, place, one.row))
        files += mine
    rows = Values.joined(held)
    if len(left_out):
        rows = rows.where(~np.isin(rows.property, left_out))
    order, bounds = together(rows.a, rows.b)
    rows, starts = rows.where(order), bounds[:-1]
    values = rows.where(starts)
    if len(starts):
        # Where all of them stand first: values that are frequent, or few, then stand together, and little is read.
        first = np.minimum.reduceat(rows.file.astype(np.int64) << 32 | rows.row, starts)
        values = replace(
            values,
            count=np.add.reduceat(rows.count, starts),
            file=(first >> 32).astype(np.uint32),
            row=first.astype(np.uint32),
        )
    distinct = np.bincount(values.property, minlength=len(numbers))
    named = values.where(values.blank == 0)
    # Whatever is among the top values of all buckets, or of few, is so in its bucket.
    least = _thresholds([_top_counts(named)], len(numbers))[named.property]
    return _Sorted(named.where((named.count >= least) | (distinct[named.property] <= FEW_VALUES)), files, distinct)


def _top_counts(values: Values) -> tuple[Any, Any]:
    """Properties and counts of no more than the top values of each."""
    often = values.where(values.count >= LEAST_COUNT)
    often = often.where(np.lexsort((-often.count, often.property)))
    starts = np.flatnonzero(np.diff(often.property, prepend=-1))
    place = np.arange(len(often.count)) - np.repeat(starts, np.diff(np.append(starts, len(often.count))))
    return often.property[place < TOP_VALUES], often.count[place < TOP_VALUES]


def _thresholds(found: list[tuple[Any, Any]], properties: int) -> Any:
    """How often a value must occur to be among the top values of its property."""
    thresholds = np.full(properties, LEAST_COUNT, np.int64)
    named, counts = (np.concatenate(some) for some in zip(*found, strict=True))
    order = np.lexsort((-counts, named))
    named, counts = named[order], counts[order]
    starts = np.flatnonzero(np.diff(named, prepend=-1))
    ends = np.append(starts[1:], len(named))
    full = ends - starts >= TOP_VALUES
    thresholds[named[starts[full]]] = counts[starts[full] + TOP_VALUES - 1]
    return thresholds


def _asked_for(found: _Sorted, thresholds: Any, few: Any) -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    """For each file the properties, counts and rows of values that are wanted of it."""
    values = found.values
    chosen = values.where((values.count >= thresholds[values.property]) | few[values.property])
    for file in np.unique(chosen.file).tolist():
        mine = chosen.where(chosen.file == file)
        yield found.files[file], (mine.property, mine.count, mine.row)


def _fetch(uri: str, wanted: list[tuple[Any, Any, Any]], thresholds: Any, few: Any) -> list[Text]:
    """The texts of values that stand in one file; of ties no more than may be needed."""
    properties, counts, rows = (np.concatenate(some) for some in zip(*wanted, strict=True))
    held = read_rows(uri, rows.astype(np.int64), _NODE)
    columns = (held.column(name).to_pylist() for name in _NODE)
    texts = [Text(*row) for row in zip(properties.tolist(), counts.tolist(), *columns, strict=True)]
    top = [text for text in texts if text.count >= thresholds[text.property] and not few[text.property]]
    return [*(text for text in texts if few[text.property]), *_first(top)]


def _first(texts: list[Text]) -> Iterator[Text]:
    """The top values of each property, in the order of properties. Ties are broken by the values themselves."""
    taken: Counter[int] = Counter()
    for text in sorted(texts, key=lambda text: (text.property, -text.count, text.sort_key())):
        taken[text.property] += 1
        if taken[text.property] <= TOP_VALUES:
            yield text
