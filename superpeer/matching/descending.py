"""Which records imply a disjunct, compiled: for each of its tests they need one that implies it."""

from __future__ import annotations

from typing import NamedTuple

from superpeer.matching.arrays import Int32s, Int64s, Integer
from superpeer.matching.compiling import compiled
from superpeer.matching.records import COUNT_MASK, DEAD, NUMBER_MASK, RANGES_SHIFT, SLOTS_SHIFT, UNION, WORDS_OF_RANGE

MOST_TESTS = 62
"""Tests are bits of a word."""
_RANGE = 1 << 8


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
    """The tests of a disjunct, each with what implies it: listed ones, as pairs of a test and a bit in `marks`; a range
    of a view (or -1); kinds on its property that do for sure, and kinds that may."""

    listed: Int64s
    bits: Int64s
    properties: Int64s
    sure: Int64s
    maybe: Int64s
    views: Int64s
    lows: Int64s
    highs: Int64s


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
    """Of some records those that imply all that is wanted, as numbers; where that is in doubt, or a record is one of a
    union, as complements of them."""
    tests = len(wanted.properties)
    everything = (1 << tests) - 1
    for i in range(len(wanted.listed)):
        marks[wanted.listed[i]] |= wanted.bits[i]
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
                if kinds.properties[slot] == wanted.properties[j]:
                    if kinds.kinds[slot] & wanted.sure[j]:
                        sure |= 1 << j
                    elif kinds.kinds[slot] & wanted.maybe[j]:
                        maybe |= 1 << j
        at += 1
        for _ in range(header >> RANGES_SHIFT & COUNT_MASK):
            view = pool[at]
            for j in range(tests):
                if view == wanted.views[j]:
                    if wanted.lows[j] <= pool[at + 1] and pool[at + 2] <= wanted.highs[j]:
                        sure |= 1 << j
                elif kinds.view_properties[view] == wanted.properties[j]:
                    if wanted.sure[j] & _RANGE:
                        sure |= 1 << j
                    elif wanted.maybe[j] & _RANGE:
                        maybe |= 1 << j
            at += WORDS_OF_RANGE
        if sure | maybe == everything:
            found[count] = number if sure == everything and header & UNION == 0 else ~number
            count += 1
    for i in range(len(wanted.listed)):
        marks[wanted.listed[i]] = 0
    return count
