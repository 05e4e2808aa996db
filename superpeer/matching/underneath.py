"""What lies below a query among the subscriptions of a matcher: those for sure, and those in doubt."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Generic, TypeVar

import numpy as np

from qel.normal import Disjunct
from superpeer.matching.arrays import Int32s, Int64s
from superpeer.matching.clusters import grown
from superpeer.matching.descending import MOST_TESTS, Kinds, Wanted, find_implying
from superpeer.matching.implication import slots_in
from superpeer.matching.matcher import Matcher
from superpeer.matching.postings import Postings
from superpeer.matching.records import FlatRange, Record

Key = TypeVar("Key", bound=Hashable)

_NO_RANGE = (-1, 0, 0)


class Underneath(Generic[Key]):
    """The postings of a matcher's subscriptions, and the search in them."""

    def __init__(self, matcher: Matcher[Key]) -> None:
        self._matcher = matcher
        self._postings = Postings(matcher.slots)
        self._marks: Int64s = np.zeros(16, dtype=np.int64)

    def add(self, records: Iterable[Record]) -> None:
        """Enters what has been added to the matcher."""
        for record in records:
            self._postings.add(record)

    def remove(self, key: Key) -> None:
        """Takes out a subscription before it is removed from the matcher."""
        for record in self._matcher.records(key):
            self._postings.remove(record)

    def find(self, disjuncts: Iterable[Disjunct]) -> tuple[set[Key], set[Key]]:
        """The subscriptions that imply a query, given by its prime disjuncts whose tests are interned, and those that
        may. Those with several alternatives do so only with all of them."""
        implied: dict[Key, set[int]] = {}
        doubted: dict[Key, set[int]] = {}
        for disjunct in disjuncts:
            found, is_sure = self._implying(disjunct)
            signed = found.tolist()
            numbers = [~number if number < 0 else number for number in signed]
            for key, number, sign in zip(self._matcher.owners(numbers), numbers, signed, strict=True):
                (implied if is_sure and sign >= 0 else doubted).setdefault(key, set()).add(number)
        sure: set[Key] = set()
        maybe: set[Key] = set()
        for key, mine in implied.items():
            if len(mine) == self._matcher.alternatives(key):
                sure.add(key)
        for key, mine in doubted.items():
            if key not in sure and len(mine | implied.get(key, mine)) == self._matcher.alternatives(key):
                maybe.add(key)
        return sure, maybe

    def _implying(self, disjunct: Disjunct) -> tuple[Int32s, bool]:
        """The numbers of the records that imply a disjunct, or complements of them, and whether those are sure."""
        asked, implying = [], []
        for name, region in islice(slots_in(disjunct), MOST_TESTS):
            test = self._matcher.slots.known(name, region)
            assert test is not None, "the tests are interned"
            asked.append(test)
            implying.append(self._postings.implying(name, region, test))
        listed = [(slot, 1 << i) for i, each in enumerate(implying) for slot in each.listed]
        tests = [
            (each.property, each.sure, each.maybe, *(test if isinstance(test, FlatRange) else _NO_RANGE))
            for each, test in zip(implying, asked, strict=True)
        ]
        wanted = Wanted(np.array(listed, dtype=np.int64).reshape(-1, 2), np.array(tests, dtype=np.int64).reshape(-1, 6))
        candidates = self._postings.users(implying)
        if candidates is None:
            candidates = np.arange(self._matcher.numbers, dtype=np.int32)
        if len(self._marks) < len(self._matcher.slots):
            self._marks = grown(self._marks, len(self._matcher.slots))
        postings = self._postings
        kinds = Kinds(postings.properties, postings.kinds, postings.view_properties)
        found = np.empty(len(candidates), dtype=np.int32)
        count = find_implying(self._matcher.places(), kinds, wanted, self._marks, candidates, found)
        # What is asked for beyond the most that the kernel looks at is in doubt.
        return found[:count], len(asked) < MOST_TESTS
