"""What subscriptions ask for, as columns of Arrow, and from there into the matcher.

A subscription is a list of alternatives, its prime disjuncts; an alternative is a list of tests, each a property and a
region, written as bytes. Thousands of subscriptions have a test in common. Within a task it is written once, and
whoever reads the column decodes it once and interns it once: what is left of each subscription is numbers.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset

from qel import Query
from qel.regions import ANY, Region
from superpeer.matching.arrays import Int64s
from superpeer.matching.implication import slots_in
from superpeer.matching.matcher import Matcher
from superpeer.matching.records import FlatRange, Tests

TESTS = pa.list_(pa.list_(pa.binary()))

_COMPONENTS = tuple(name for name in Region.__slots__ if name not in ("key", "kind", "plain"))


class Writer:
    """Writes what queries ask for, each test once."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, Region], bytes] = {}

    def write(self, query: Query) -> list[list[bytes]]:
        return [[self._write(name, region) for name, region in slots_in(prime)] for prime in query.normal_form.primes]

    def _write(self, name: str, region: Region) -> bytes:
        written = self._written.get((name, region))
        if written is None:
            components = {one: getattr(region, one) for one in _COMPONENTS}
            asked = {one: value for one, value in components.items() if value != getattr(ANY, one)}
            written = self._written[name, region] = pickle.dumps((name, region.kind, asked), 5)
        return written


def read_test(written: bytes) -> tuple[str, Region]:
    """A property and a region. Only ever of a table that this job wrote itself."""
    name, kind, components = pickle.loads(written)
    return name, ANY if kind is None else Region(kind, **components)


@dataclass(frozen=True)
class Asked:
    """What many subscriptions ask for. Alternative i has the tests `which[tests_at[i] : tests_at[i + 1]]`, and
    subscription i the alternatives from `alternatives_at[i]` to `alternatives_at[i + 1]`."""

    tests: list[tuple[str, Region]]
    which: Int64s
    tests_at: Int64s
    alternatives_at: Int64s

    def __len__(self) -> int:
        return len(self.alternatives_at) - 1

    @staticmethod
    def of(column: pa.ChunkedArray) -> Asked:
        alternatives, alternatives_at = _flat(column.combine_chunks())
        tests, tests_at = _flat(alternatives)
        distinct = tests.dictionary_encode()
        return Asked(
            [read_test(written) for written in distinct.dictionary.to_pylist()],
            distinct.indices.to_numpy(zero_copy_only=False).astype(np.int64),
            tests_at,
            alternatives_at,
        )


class Entered:
    """Subscriptions in a matcher of their own, by their place in the column, and how it holds their tests."""

    def __init__(self, asked: Asked) -> None:
        self.matcher: Matcher[int] = Matcher()
        tests = [self.matcher.intern_test(name, region) for name, region in asked.tests]
        which, at = asked.which.tolist(), asked.tests_at.tolist()
        alternatives = [_tests([tests[i] for i in which[at[j] : at[j + 1]]]) for j in range(len(at) - 1)]
        starts = asked.alternatives_at.tolist()
        self.matcher.add_many_tests((i, alternatives[starts[i] : starts[i + 1]]) for i in range(len(asked)))
        self.numbers = np.array([self.matcher.number(i) for i in range(len(asked))], np.int32)
        self.tests = tests


def read_table(path: str, columns: Sequence[str]) -> pa.Table:
    """Columns of a table of subscriptions, in the order of their numbers."""
    return pa.dataset.dataset(path).to_table(columns=["at", *columns]).sort_by("at").drop_columns(["at"])


def _tests(found: Sequence[int | FlatRange]) -> Tests:
    slots = dict.fromkeys(test for test in found if isinstance(test, int))
    return Tests(tuple(slots), tuple(test for test in found if isinstance(test, FlatRange)))


def _flat(lists: Any) -> tuple[Any, Int64s]:
    """The entries of lists, and where those of each begin."""
    starts = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False))]).astype(np.int64)
    return lists.flatten(), starts
