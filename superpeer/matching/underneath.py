"""What lies below a query among the subscriptions of a matcher: those for sure, and those in doubt."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from typing import Generic, TypeVar

import numpy as np

from qel.normal import Disjunct
from superpeer.matching.arrays import Int64s
from superpeer.matching.clusters import grown
from superpeer.matching.descending import MOST_TESTS, Kinds, Wanted, find_implying
from superpeer.matching.implication import slots_in
from superpeer.matching.matcher import Matcher
from superpeer.matching.postings import Postings
from superpeer.matching.records import FlatRange

Key = TypeVar("Key", bound=Hashable)


class Underneath(Generic[Key]):
    """The postings of a matcher's subscriptions, and the search in them."""

    def __init__(self, matcher: Matcher[Key]) -> None:
        self._matcher = matcher
        self._postings = Postings(matcher.slots)
        self._marks: Int64s = np.zeros(16, dtype=np.int64)

    def add(self, key: Key) -> None:
        """Enters a subscription that has been added to the matcher."""
        for record in self._matcher.records(key):
            self._postings.add(record)

    def remove(self, key: Key) -> None:
        """Takes out a subscription before it is removed from the matcher."""
        for record in self._matcher.records(key):
            self._postings.remove(record)

    def find(self, disjunct: Disjunct) -> tuple[set[Key], set[Key]]:
        """The subscriptions that imply a disjunct whose tests are interned, and those that may."""
        asked, implying = [], []
        for name, region in islice(slots_in(disjunct), MOST_TESTS):
            test = self._matcher.slots.known(name, region)
            assert test is not None, "the tests are interned"
            asked.append(test)
            implying.append(self._postings.implying(name, region, test))
        wanted = Wanted(
            *_flat([(slot, 1 << i) for i, each in enumerate(implying) for slot in each.listed], 2),
            *_flat([each[:1] + each[2:] for each in implying], 3),
            *_flat([test if isinstance(test, FlatRange) else (-1, 0, 0) for test in asked], 3),
        )
        candidates = self._postings.users(implying)
        if candidates is None:
            candidates = np.arange(self._matcher.numbers, dtype=np.int32)
        if len(self._marks) < len(self._matcher.slots):
            self._marks = grown(self._marks, len(self._matcher.slots))
        postings = self._postings
        kinds = Kinds(postings.properties, postings.kinds, postings.view_properties)
        found = np.empty(len(candidates), dtype=np.int32)
        count = find_implying(self._matcher.places(), kinds, wanted, self._marks, candidates, found)
        sure: set[Key] = set()
        doubted: set[Key] = set()
        for number in found[:count].tolist():
            if number >= 0:
                sure.add(self._matcher.owner(number))
            else:
                doubted.add(self._matcher.owner(~number))
        # What was asked for beyond the most that the kernel looks at is in doubt.
        return (set(), sure | doubted) if len(asked) == MOST_TESTS else (sure, doubted)


def _flat(rows: list[tuple[int, ...]], columns: int) -> list[Int64s]:
    return list(np.array(rows, dtype=np.int64).reshape(-1, columns).T.copy())
