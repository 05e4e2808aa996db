"""Resources: which triples come again, and which sets of properties resources have.

One exchange brings the triples of a subject together, each as 32 bytes: two hashes of the subject, the number of the
property, a hash of property and value, and where the triple stands. A skewed subject is a longer run in a sorted array.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from superpeer.catalog.hashing import add_to_sketches, hash_texts, mixed, order_of, starts_of, walk_subjects
from superpeer.catalog.scanning import Unit, buckets_for, exchange, into_buckets, read_batches
from superpeer.catalog.session import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SKETCH_BITS = 12
"""4,096 registers: a standard error of 1.6 %."""

LITTLE = 100_000
"""Up to so many repeated triples are listed; more are only counted."""
COMMON_SHAPES = 30
MAX_PROPERTIES_IN_PAIRS = 200

SAID = np.dtype([("a", "u8"), ("b", "u4"), ("property", "u4"), ("triple", "u8"), ("unit", "u4"), ("row", "u4")])

Shape = tuple[int, ...]
"""A set of properties, by their numbers, which rise."""


@dataclass(frozen=True)
class Found:
    """What tasks found: `repeats` are rows of triples that came before; the arrays are by property."""

    triples: int
    resources: int
    repeated: int
    repeats: Any
    most: Any
    having: Any
    registers: dict[int, Any]

    def __add__(self, other: Found) -> Found:
        registers = dict(self.registers)
        for name, more in other.registers.items():
            registers[name] = np.maximum(registers[name], more) if name in registers else more
        repeated = self.repeated + other.repeated
        return Found(
            self.triples + other.triples,
            self.resources + other.resources,
            repeated,
            np.concatenate([self.repeats, other.repeats]) if repeated <= LITTLE else np.zeros(0, SAID),
            np.maximum(self.most, other.most),
            self.having + other.having,
            registers,
        )


@dataclass(frozen=True)
class Records:
    """What is known of the resources of a catalogue, with how many of them have both of two properties, and with the
    sets of properties that most of them have."""

    found: Found
    pairs: dict[tuple[int, int], int]
    shapes: list[tuple[Shape, int]]


def find_records(spark: SparkSession, units: Sequence[Unit], names: Sequence[str], rows: int) -> Records:
    """Looks at all triples of the units."""
    from pyspark import StorageLevel

    numbers = {name: i for i, name in enumerate(names)}
    buckets = buckets_for(rows, cores(spark))
    said = exchange(spark, units, lambda mine: _scan(mine, numbers, buckets), buckets)
    # Two things are asked of it, and sorting again would cost more than keeping it.
    kept = said.mapPartitions(lambda items: _sort(items, len(numbers))).persist(StorageLevel.MEMORY_AND_DISK)
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


def estimate(registers: Any) -> int:
    """How many distinct hashes HyperLogLog has seen."""
    count = len(registers)
    raw = 0.7213 / (1 + 1.079 / count) * count**2 / float(np.sum(np.ldexp(1.0, -registers.astype(np.int64))))
    empty = int(np.count_nonzero(registers == 0))
    return round(count * log(count / empty) if raw <= 2.5 * count and empty else raw)


def _scan(units: Iterable[Unit], numbers: dict[str, int], buckets: int) -> Iterator[tuple[int, Any]]:
    for unit in units:
        registers: dict[int, Any] = {}
        for batch in read_batches(unit, numbers, None):
            texts, subjects = batch.columns.column("object"), batch.columns.column("subject")
            first, second = hash_texts(texts, batch.seeds)
            rows = np.empty(len(texts), SAID)
            rows["a"], rows["b"] = hash_texts(subjects, np.zeros(len(subjects), np.uint64))
            rows["property"], rows["triple"] = batch.properties, mixed(first) + second
            rows["unit"], rows["row"] = unit.number, batch.rows
            _sketch(registers, batch.properties, first)
            yield from into_buckets(rows, rows["a"], buckets)
        yield unit.number % buckets, registers


def _sketch(registers: dict[int, Any], properties: Any, hashes: Any) -> None:
    names, which = np.unique(properties, return_inverse=True)
    held = np.zeros((len(names), 1 << SKETCH_BITS), np.uint8)
    add_to_sketches(held, which, hashes, SKETCH_BITS)
    for i, name in enumerate(names.tolist()):
        registers[name] = np.maximum(registers[name], held[i]) if name in registers else held[i]


def _sort(items: Iterable[tuple[int, Any]], properties: int) -> Iterator[tuple[Found, list[tuple[Shape, int]]]]:
    """Runs in a task, for one bucket: its triples by subject."""
    pieces: list[Any] = [np.zeros(0, SAID)]
    registers: list[dict[int, Any]] = []
    for _, one in items:
        (registers if isinstance(one, dict) else pieces).append(one)
    rows = np.concatenate(pieces)
    pieces.clear()
    order = order_of(rows["a"], rows["b"])
    starts = starts_of(rows["a"][order], rows["b"][order])
    bounds = np.append(starts, len(rows))
    most, having = np.zeros(properties, np.int64), np.zeros(properties, np.int64)
    shapes, again = np.empty(len(starts), np.uint64), np.empty(len(rows), np.int64)
    named, triples = np.ascontiguousarray(rows["property"]), np.ascontiguousarray(rows["triple"])
    repeated = walk_subjects(order, bounds, named, triples, most, having, shapes, again)
    none = Found(0, 0, 0, np.zeros(0, SAID), np.zeros_like(most), np.zeros_like(having), {})
    found = none + Found(len(rows), len(starts), repeated, rows[again[:repeated]], most, having, {})
    for one in registers:
        found += replace(none, registers=one)
    _, example, counts = np.unique(shapes, return_index=True, return_counts=True)
    sets = [
        (tuple(np.unique(named[order[bounds[i] : bounds[i + 1]]]).tolist()), n)
        for i, n in zip(example.tolist(), counts.tolist(), strict=True)
    ]
    yield found, sets


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
