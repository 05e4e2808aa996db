"""Who may lie below a query: the records that have, for each of its tests, one that implies it.

The other direction of covering. For each test of a query, `Postings.implying` says which interned tests imply it. Some
are listed, exactly: an equality is implied by the same one, a constant within a text by constants that contain it
(found by their runs of three characters), words by patterns that have them. What cannot be listed is told by kind: any
test of such a kind on the property implies it for sure, or may do so. Ranges are compared by the kernel.

A record has one of its tests on the list of each test of the query, so it is enough to look at those who use what is
on the shortest list. Only where no test has a list, everybody is looked at.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

import numpy as np

from qel.regions import ANY, Region
from qel.values import Kind
from superpeer.matching.arrays import Int32s
from superpeer.matching.clusters import grown
from superpeer.matching.conditions import KeyedTest, KeyKind
from superpeer.matching.descending import RANGE
from superpeer.matching.records import FlatRange, Record
from superpeer.matching.slots import SlotIndex

URI, TEXT, INTEGER, CONSTANT, LITERAL, OTHER, TAGGED, CHECKED = (1 << i for i in range(8))
"""Kinds of tests: equalities of the three sorts, constants within texts, other exact tests that only literals meet, or
that other values may meet, texts of a language, and all others whose region is asked. Ranges are one more."""
LITERALS = TEXT | INTEGER | CONSTANT | LITERAL | TAGGED | RANGE
ALL = LITERALS | URI | OTHER | CHECKED
_KINDS = {
    KeyKind.URI: URI,
    KeyKind.TEXT: TEXT,
    KeyKind.INTEGER: INTEGER,
    KeyKind.PART: CONSTANT,
    KeyKind.PREFIX: CONSTANT,
    KeyKind.SUFFIX: CONSTANT,
    KeyKind.WORD: LITERAL,
    KeyKind.LANGUAGE: LITERAL,
    KeyKind.LITERAL: LITERAL,
    KeyKind.EXISTS: OTHER,
    KeyKind.TOPIC: OTHER,
}
_RUN = 3
_FEW = 64
_INTERSECTED = 4
_NOTHING: frozenset[int] = frozenset()


class Implying(NamedTuple):
    """Which tests imply one on a property: those listed and those of some kinds for sure, those of others maybe."""

    property: int
    listed: list[int]
    sure: int
    maybe: int


class Postings:
    """Interned tests by what they say, and the numbers of the records that use them."""

    def __init__(self, index: SlotIndex) -> None:
        self._index = index
        self._users: dict[int, array[int]] = {}
        self._runs: dict[tuple[str, str], set[int]] = {}
        self._words: dict[tuple[str, str], set[int]] = {}
        self._by_kind: dict[int, dict[int, set[int]]] = {}
        self._ranges: dict[int, int] = {}
        self.properties: Int32s = np.full(16, -1, dtype=np.int32)
        self.kinds: Int32s = np.zeros(16, dtype=np.int32)
        self.view_properties: Int32s = np.full(4, -1, dtype=np.int32)

    def add(self, record: Record) -> None:
        for slot in record.slots:
            users = self._users.get(slot)
            if users is None:
                users = self._users[slot] = array("i")
                self._enter(slot)
            users.append(record.number)
        for view, _, _ in record.ranges:
            number = self._property_of(view)
            self._ranges[number] = self._ranges.get(number, 0) + 1
            if view >= len(self.view_properties):
                self.view_properties = grown(self.view_properties, view + 1, -1)
            self.view_properties[view] = number

    def remove(self, record: Record) -> None:
        """Forgets a record whose tests are still interned."""
        for slot in record.slots:
            users = self._users[slot]
            at = int(np.flatnonzero(np.frombuffer(users, dtype=np.int32) == record.number)[0])
            users[at] = users[-1]
            users.pop()
            if not users:
                del self._users[slot]
                self._leave(slot)
        for view, _, _ in record.ranges:
            number = self._property_of(view)
            self._ranges[number] -= 1
            if not self._ranges[number]:
                del self._ranges[number]

    def implying(self, name: str, region: Region, test: int | FlatRange) -> Implying:
        """What implies the test of a slot."""
        number = self._index.properties[name].number
        if isinstance(test, FlatRange):
            # A range of dates implies years, and a text the number that it is.
            return Implying(number, [], 0, self._there(number, TEXT | INTEGER | TAGGED | CHECKED | RANGE))
        if region is ANY:
            return Implying(number, [test], ALL, 0)
        keyed = self._index.entry(test)[1]
        if region.kind is Kind.URI:
            listed = [test]
            if region.topics:
                same = self._index.properties[name].uris.get(region.topics[0])
                listed += self._those_implying(region, [same] if isinstance(same, int) else same or [])
            return Implying(number, listed, 0, self._there(number, CHECKED))
        if keyed.exact and keyed.keys[0].kind is KeyKind.LITERAL:
            return Implying(number, [test], LITERALS, self._there(number, CHECKED))
        if region.exact is None:
            constant = max(_constants(region), key=len, default="")
            words = {word for chain in region.chains for word in chain.words} or {
                word for likeness in region.likenesses for word, _ in likeness.counts
            }
            if len(constant) >= _RUN:
                found = _fewest(self._runs, name, _runs(constant))
                # Numbers imply their digits, whatever their constants are.
                maybe = INTEGER | RANGE | CHECKED if constant.isdigit() else 0
                return Implying(number, self._those_implying(region, found), 0, self._there(number, maybe))
            if words:
                found = _fewest(self._words, name, words)
                return Implying(number, self._those_implying(region, found), 0, self._there(number, TEXT | TAGGED))
        return Implying(number, [test], 0, self._there(number, _may_imply(region, keyed)))

    def users(self, asked: Iterable[Implying]) -> Int32s | None:
        """The numbers of the records that use what may imply the test that the fewest do, or None where that cannot be
        listed."""
        best: list[array[int]] | None = None
        fewest = 0
        for implying in asked:
            lists = self._lists(implying)
            if lists is not None:
                count = sum(map(len, lists))
                if best is None or count < fewest:
                    best, fewest = lists, count
        if best is None:
            return None
        found = [np.frombuffer(users, dtype=np.int32) for users in best]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int32)

    def _lists(self, implying: Implying) -> list[array[int]] | None:
        number, listed, sure, maybe = implying
        slots = set(listed)
        kinds = sure | maybe
        if kinds & RANGE and number in self._ranges:
            return None
        for kind, found in self._by_kind.get(number, {}).items() if kinds else ():
            if kind & kinds:
                if len(found) > _FEW:
                    return None
                slots |= found
        return [self._users[slot] for slot in slots if slot in self._users]

    def _there(self, number: int, kinds: int) -> int:
        """Of some kinds those of which a property has tests."""
        there = RANGE if number in self._ranges else 0
        for kind in self._by_kind.get(number, ()):
            there |= kind
        return kinds & there

    def _those_implying(self, region: Region, slots: Iterable[int]) -> list[int]:
        return [slot for slot in slots if self._index.region_of(slot).implies(region)]

    def _property_of(self, view: int) -> int:
        return self._index.properties[self._index.property_of_view(view)].number

    def _enter(self, slot: int) -> None:
        name, keyed = self._index.entry(slot)
        number, region = self._index.properties[name].number, self._index.region_of(slot)
        if slot >= len(self.kinds):
            self.properties, self.kinds = grown(self.properties, slot + 1, -1), grown(self.kinds, slot + 1)
        self.properties[slot] = number
        self.kinds[slot] = kind = _kind(keyed, region)
        self._by_kind.setdefault(number, {}).setdefault(kind, set()).add(slot)
        for table, key in self._entries(name, region):
            table.setdefault(key, set()).add(slot)

    def _leave(self, slot: int) -> None:
        name, keyed = self._index.entry(slot)
        number, region = self._index.properties[name].number, self._index.region_of(slot)
        by_kind, kind = self._by_kind[number], _kind(keyed, region)
        by_kind[kind].remove(slot)
        if not by_kind[kind]:
            del by_kind[kind]
            if not by_kind:
                del self._by_kind[number]
        for table, key in self._entries(name, region):
            table[key].remove(slot)
            if not table[key]:
                del table[key]

    def _entries(self, name: str, region: Region) -> Iterator[tuple[dict[tuple[str, str], set[int]], tuple[str, str]]]:
        """Where a test is entered: under the runs of its constants, and under its words."""
        for run in {run for constant in _constants(region) for run in _runs(constant)}:
            yield self._runs, (name, run)
        words = {word for chain in region.chains for word in chain.words}
        for word in words | {word for likeness in region.likenesses for word, _ in likeness.counts}:
            yield self._words, (name, word)


def _kind(keyed: KeyedTest, region: Region) -> int:
    if keyed.exact:
        return _KINDS[keyed.keys[0].kind]
    return CHECKED if region.exact is None else TAGGED


def _may_imply(region: Region, keyed: KeyedTest) -> int:
    """The kinds of tests that may imply one without constants and words to look for."""
    if region.exact is not None:
        return TAGGED
    if keyed.exact and keyed.keys[0].kind is KeyKind.LANGUAGE:
        return TAGGED | CHECKED
    if keyed.exact and keyed.keys[0].kind is KeyKind.INTEGER:
        return TEXT | TAGGED | CHECKED | RANGE
    return LITERALS | CHECKED


def _constants(region: Region) -> Iterator[str]:
    for constant in (region.exact, *region.parts, region.prefix, region.suffix):
        if constant:
            yield constant


def _runs(constant: str) -> set[str]:
    return {constant[i : i + _RUN] for i in range(len(constant) - _RUN + 1)}


def _fewest(table: dict[tuple[str, str], set[int]], name: str, keys: Iterable[str]) -> Set[int]:
    """What is under all of some keys, or hardly more: the smallest sets are intersected."""
    found = sorted((table.get((name, key), _NOTHING) for key in keys), key=len)
    return found[0].intersection(*found[1:_INTERSECTED])
