"""Which records imply a disjunct, compiled: for each of its tests they need one that implies it."""

from __future__ import annotations

from typing import NamedTuple

from superpeer.matching.arrays import Int32s, Int64s, Integer
from superpeer.matching.compiling import compiled
from superpeer.matching.records import COUNT_MASK, DEAD, NUMBER_MASK, RANGES_SHIFT, SLOTS_SHIFT, WORDS_OF_RANGE

MOST_TESTS = 62
"""Tests are bits of a word."""
RANGE = 1 << 8
"""The kind of ranges."""
PROPERTY, SURE, MAYBE, VIEW, LOW, HIGH = range(6)


class Places(NamedTuple):
    """Where records stand: see `superpeer.matching.clusters` and `segments`."""

    pool: Int64s
    starts: Int64s
    homes: Int32s
    places: Int32s
    members: Int64s
    first_members: Int64s


class Kinds(NamedTuple):
    """The property and the kind of each interned test, the property of each view."""

    properties: Int32s
    kinds: Int32s
    view_properties: Int32s


class Wanted(NamedTuple):
    """What implies the tests of a disjunct. `listed` has pairs of an interned test and the bit of what it implies.
    `tests` has for each a property with the kinds that do so on it for sure and those that may, and a range with its
    view (or -1) and both ends."""

    listed: Int64s
    tests: Int64s


@compiled
def position_of(places: Places, number: Integer) -> Integer:
    home = places.homes[number]
    within: Integer = places.places[number]
    if home < 0:
        first: Integer = places.members[places.first_members[-2 - home] + within]
        return first
    start: Integer = places.starts[home]
    return start + within


@compiled
def find_implying(
    places: Places, kinds: Kinds, wanted: Wanted, marks: Int64s, candidates: Int32s, found: Int32s
) -> int:
    """Of some records those that imply all that is wanted, as numbers; where that is in doubt, as complements of
    them."""
    tests = len(wanted.tests)
    everything = (1 << tests) - 1
    for i in range(len(wanted.listed)):
        marks[wanted.listed[i, 0]] |= wanted.listed[i, 1]
    count = 0
    pool = places.pool
    for number in candidates:
        home = places.homes[number]
        if home == -1:
            continue
        at = position_of(places, number)
        header = pool[at]
        if header & DEAD or header & NUMBER_MASK != number:
            continue
        sure, maybe = 0, 0
        slot = home >> 1 if home > 1 else 0
        slots = header >> SLOTS_SHIFT & COUNT_MASK
        for i in range(-1, slots):
            if i >= 0:
                at += 1
                slot = pool[at]
            elif slot == 0:
                continue
            sure |= marks[slot]
            for j in range(tests):
                if kinds.properties[slot] == wanted.tests[j, PROPERTY]:
                    if kinds.kinds[slot] & wanted.tests[j, SURE]:
                        sure |= 1 << j
                    elif kinds.kinds[slot] & wanted.tests[j, MAYBE]:
                        maybe |= 1 << j
        at += 1
        for _ in range(header >> RANGES_SHIFT & COUNT_MASK):
            view = pool[at]
            for j in range(tests):
                if view == wanted.tests[j, VIEW]:
                    if wanted.tests[j, LOW] <= pool[at + 1] and pool[at + 2] <= wanted.tests[j, HIGH]:
                        sure |= 1 << j
                elif kinds.view_properties[view] == wanted.tests[j, PROPERTY]:
                    if wanted.tests[j, SURE] & RANGE:
                        sure |= 1 << j
                    elif wanted.tests[j, MAYBE] & RANGE:
                        maybe |= 1 << j
            at += WORDS_OF_RANGE
        if sure | maybe == everything:
            found[count] = number if sure == everything else ~number
            count += 1
    for i in range(len(wanted.listed)):
        marks[wanted.listed[i, 0]] = 0
    return count
