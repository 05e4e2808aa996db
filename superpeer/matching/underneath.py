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
        key, alternatives = self._matcher.key, self._matcher.alternatives
        sure: set[Key] = set()
        maybe: set[Key] = set()
        of_unions: dict[int, tuple[set[int], set[int]]] = {}
        for disjunct in disjuncts:
            found, is_sure = self._implying(disjunct)
            numbers = np.where(found < 0, ~found, found)
            for number, owner, sign in zip(
                numbers.tolist(), self._matcher.owners(numbers), found.tolist(), strict=True
            ):
                is_implied = is_sure and sign >= 0
                if alternatives(owner) == 1:
                    (sure if is_implied else maybe).add(key(owner))
                else:
                    of_unions.setdefault(owner, (set(), set()))[0 if is_implied else 1].add(number)
        for owner, (implied, doubted) in of_unions.items():
            if len(implied) == alternatives(owner):
                sure.add(key(owner))
            elif len(implied | doubted) == alternatives(owner):
                maybe.add(key(owner))
        return sure, maybe - sure

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
