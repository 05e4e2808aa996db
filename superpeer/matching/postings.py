"""Which places may lie below a query: those that have, for one of its slots, a slot that may imply it.

The other direction of covering. An equality is implied by the same equality alone; a constant within a text only by
constants that contain it, found by their runs of three characters; everything else by whatever is said of the
property. Of the slots of a disjunct the one with the fewest candidates is taken, and `qel.subsumes` decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Generic, NamedTuple, TypeVar

from qel.normal import Disjunct
from qel.regions import ANY, Region
from superpeer.matching.slots import SUBJECT

Item = TypeVar("Item")

_RUN = 3


class Candidates(NamedTuple, Generic[Item]):
    """At most how many there are, and the sets that they are in."""

    most: int
    sets: list[Collection[Item]]


class Postings(Generic[Item]):
    """Items by what the slots of their disjuncts say."""

    def __init__(self) -> None:
        self._by_property: dict[str, dict[Item, int]] = {}
        self._by_uri: dict[tuple[str, str], dict[Item, int]] = {}
        self._by_text: dict[tuple[str, str], dict[Item, int]] = {}
        self._by_constant: dict[tuple[str, str], dict[Item, int]] = {}
        self._runs: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, item: Item, disjuncts: Collection[Disjunct]) -> None:
        for name, region in _slots(disjuncts):
            _count(self._by_property, name, item)
            if region.uri is not None:
                _count(self._by_uri, (name, region.uri), item)
            if region.exact is not None:
                _count(self._by_text, (name, region.exact), item)
            for constant in _constants(region):
                if _count(self._by_constant, (name, constant), item):
                    for run in _runs(constant):
                        self._runs.setdefault((name, run), {})[constant] = None

    def remove(self, item: Item, disjuncts: Collection[Disjunct]) -> None:
        for name, region in _slots(disjuncts):
            _discount(self._by_property, name, item)
            if region.uri is not None:
                _discount(self._by_uri, (name, region.uri), item)
            if region.exact is not None:
                _discount(self._by_text, (name, region.exact), item)
            for constant in _constants(region):
                if _discount(self._by_constant, (name, constant), item):
                    for run in _runs(constant):
                        del self._runs[name, run][constant]
                        if not self._runs[name, run]:
                            del self._runs[name, run]

    def below(self, disjunct: Disjunct) -> Candidates[Item]:
        """Those who may have a disjunct that implies this one."""
        found = [self._implying(name, region) for name, region in _slots((disjunct,))]
        return min(found, key=lambda candidates: candidates.most)

    def _implying(self, name: str, region: Region) -> Candidates[Item]:
        if region.uri is not None:
            return _candidates([self._by_uri.get((name, region.uri), {})])
        if region.exact is not None:
            return _candidates([self._by_text.get((name, region.exact), {})])
        constant = max(_constants(region), key=len, default="")
        # Numbers imply their digits and signs, whatever their constants are.
        if len(constant) >= _RUN and not constant.isdigit():
            runs = [self._runs.get((name, run), {}) for run in _runs(constant)]
            longer = [other for other in min(runs, key=len) if constant in other]
            return _candidates([self._by_constant[name, other] for other in longer])
        return _candidates([self._by_property.get(name, {})])


def _candidates(sets: list[Collection[Item]]) -> Candidates[Item]:
    return Candidates(sum(map(len, sets)), sets)


def _slots(disjuncts: Collection[Disjunct]) -> Iterator[tuple[str, Region]]:
    for disjunct in disjuncts:
        if disjunct.subject is not ANY:
            yield SUBJECT, disjunct.subject
        for name, slots in disjunct.slots.items():
            for slot in slots:
                yield name, slot.region


def _constants(region: Region) -> Iterator[str]:
    for constant in (region.exact, *region.parts, region.prefix, region.suffix):
        if constant:
            yield constant


def _runs(constant: str) -> set[str]:
    return {constant[i : i + _RUN] for i in range(len(constant) - _RUN + 1)}


Key = TypeVar("Key")


def _count(counts: dict[Key, dict[Item, int]], key: Key, item: Item) -> bool:
    """Counts an item under a key once more. Says whether the key is new."""
    known = counts.get(key)
    if known is None:
        counts[key] = {item: 1}
        return True
    known[item] = known.get(item, 0) + 1
    return False


def _discount(counts: dict[Key, dict[Item, int]], key: Key, item: Item) -> bool:
    """Counts an item under a key once less. Says whether the key is gone."""
    known = counts[key]
    known[item] -= 1
    if not known[item]:
        del known[item]
    if known:
        return False
    del counts[key]
    return True
