"""Resources: which triples come again, and which sets of properties resources have.

A bucket has all triples of its subjects, in runs as they stood in the files, each triple as the number of its property
and a hash of property and value. A subject with very many triples is a longer walk, and nothing else.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from superpeer.catalog.grouping import together, walk_subjects
from superpeer.catalog.pieces import Piece, names_of, read_runs
from superpeer.catalog.repeats import write_repeats
from superpeer.catalog.session import cores
from superpeer.catalog.tasks import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMON_SHAPES = 30
MAX_PROPERTIES_IN_PAIRS = 200

Shape = tuple[int, ...]
"""A set of properties, by their numbers, which rise."""


@dataclass(frozen=True)
class Found:
    """What tasks found: `repeated` are triples that came before; the arrays are by property."""

    resources: int
    repeated: int
    most: Any
    having: Any

    def __add__(self, other: Found) -> Found:
        return Found(
            self.resources + other.resources,
            self.repeated + other.repeated,
            np.maximum(self.most, other.most),
            self.having + other.having,
        )


@dataclass(frozen=True)
class Records:
    """What is known of the resources of a catalogue, with how many of them have both of two properties, and with the
    sets of properties that most of them have."""

    found: Found
    pairs: dict[tuple[int, int], int]
    shapes: list[tuple[Shape, int]]


def find_records(
    spark: SparkSession, pieces: Sequence[Piece], directory: str, names: Sequence[str], buckets: int
) -> Records:
    """Looks at all triples of the pieces. What comes again is noted in a directory."""
    from pyspark import StorageLevel

    numbers = {name: i for i, name in enumerate(names)}
    tasks = spark.sparkContext.parallelize(range(buckets), buckets)
    # Two things are asked of it, and walking again would cost more than keeping it.
    kept = tasks.map(lambda bucket: _walk(pieces, directory, bucket, buckets, numbers)).persist(
        StorageLevel.MEMORY_AND_DISK
    )
    found = kept.map(lambda pair: pair[0]).reduce(add)
    common = np.argsort(-found.having, kind="stable")[:MAX_PROPERTIES_IN_PAIRS]
    in_pairs = frozenset(common[found.having[common] > 0].tolist())
    shapes = kept.flatMap(lambda pair: pair[1]).reduceByKey(add, cores(spark))
    parts = shapes.mapPartitions(lambda some: [_summarise(some, in_pairs)]).collect()
    kept.unpersist()
    pairs: Counter[tuple[int, int]] = Counter()
    for part, _ in parts:
        pairs.update(part)
    return Records(found, dict(sorted(pairs.items())), _commonest(shape for _, part in parts for shape in part))


class _Bucket:
    """The runs of one bucket, of all pieces, with numbers that mean the same in all."""

    def __init__(self, pieces: Sequence[Piece], bucket: int, buckets: int, numbers: dict[str, int]) -> None:
        self.files: list[str] = []
        held: list[tuple[Any, ...]] = []
        sizes = [np.zeros(1, np.int64)]
        for piece in pieces:
            properties, files = names_of(piece)
            mapped = np.array([numbers[name] for name in properties], np.uint32)
            for runs in read_runs(piece, bucket, buckets):
                file = runs.file + np.uint32(len(self.files))
                held.append((runs.a, runs.b, file, runs.row, mapped[runs.properties], runs.triples))
                sizes.append(np.diff(runs.bounds))
            self.files += files
        empty = [np.zeros(0, kind) for kind in ("u8", "u8", "u4", "u4", "u4", "u8")]
        columns = [np.concatenate(column) for column in zip(empty, *held, strict=True)]
        self.a, self.b, self.file, self.row, self.properties, self.triples = columns
        self.starts = np.cumsum(np.concatenate(sizes))


def _walk(
    pieces: Sequence[Piece], directory: str, number: int, buckets: int, numbers: dict[str, int]
) -> tuple[Found, list[tuple[Shape, int]]]:
    """Runs in a task, for one bucket: its triples by subject."""
    prepare()
    bucket = _Bucket(pieces, number, buckets, numbers)
    order, bounds = together(bucket.a, bucket.b)
    resources = len(bounds) - 1
    most, having = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
    shapes, again = np.empty(resources, np.uint64), np.empty((len(bucket.triples), 2), np.int64)
    repeated = walk_subjects(
        order, bounds, bucket.starts, bucket.properties, bucket.triples, most, having, shapes, again
    )
    runs, places = again[:repeated].T
    write_repeats(directory, number, bucket.files, bucket.file[runs], bucket.row[runs] + places)
    found = Found(resources, repeated, most, having)
    _, example, counts = np.unique(shapes, return_index=True, return_counts=True)
    sets = [
        (_shape(bucket, order[bounds[i] : bounds[i + 1]]), n)
        for i, n in zip(example.tolist(), counts.tolist(), strict=True)
    ]
    return found, sets


def _shape(bucket: _Bucket, runs: Any) -> Shape:
    parts = [bucket.properties[bucket.starts[run] : bucket.starts[run + 1]] for run in runs.tolist()]
    return tuple(np.unique(np.concatenate(parts)).tolist())


def _summarise(
    shapes: Iterable[tuple[Shape, int]], in_pairs: frozenset[int]
) -> tuple[Counter[tuple[int, int]], list[tuple[Shape, int]]]:
    """Of some sets of properties: how many resources have both of two, and the most common sets."""
    listed = list(shapes)
    pairs: Counter[tuple[int, int]] = Counter()
    for shape, resources in listed:
        for pair in combinations([name for name in shape if name in in_pairs], 2):
            pairs[pair] += resources
    return pairs, _commonest(listed)


def _commonest(shapes: Iterable[tuple[Shape, int]]) -> list[tuple[Shape, int]]:
    return heapq.nsmallest(COMMON_SHAPES, shapes, key=lambda pair: (-pair[1], pair[0]))
