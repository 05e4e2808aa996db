"""The normal form of a query: alternatives, each a set of slots.

Constraints name one variable each, and object variables are distinct. So a disjunct of the disjunctive normal
form is a set of *slots*, a property with a region for one of its values, and a region for the subject. It matches
what a set of triples says of one subject iff each slot is met by some value of its property; two slots of one
property may be met by two values or by one.

Disjuncts are ordered by implication: D2 implies D1 iff each slot of D1 is implied by one slot of D2 (an adversary
picks the values of D2's slots independently), and D1's subject region by D2's. Slots that another slot of the same
disjunct implies are dropped, and so are disjuncts that imply another: what is left of a disjunct is unique.

A disjunct may be covered by several together, 1..10 by 1..5 and 4..10. The *prime* disjuncts of a query are the most
general ones that imply it, whether written or not: here 1..10. They are found by consensus: where slots of two
disjuncts have ranges that touch, the disjunct with the range of both, and all other slots of both, implies the two
together. Closed under this, the following holds, and makes comparing queries a matter of comparing disjuncts:

    a disjunct implies a query iff it implies one prime disjunct of it.

(Suppose D implies the query and no single prime. Split one of its ranges in two: if both halves implied single primes,
their consensus would be implied by D. So some half does not, and splitting goes on down to points. But then all of D
is a most general model, which matches some prime as a whole.) The primes of a query are a property of its meaning, so
they identify it: see `canonical_id`. Queries with an extreme number of primes keep their disjuncts as they are; all
answers about them stay sound.

Where answers matter and not only matches (Definition 3 of the chapter), a slot carries as *tags* the positions in the
head at which its variable stands, and is implied only by a slot that carries them too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from qel.parser import ONE_TEST, NormalSize, chain_size, normal_size
from qel.regions import ANY, Region, region_of
from qel.syntax import And, Constraint, Query, Test, Words

MAX_PRIMES = 256
MAX_CONSENSUS_STEPS = 2_000

_NO_TAGS: frozenset[int] = frozenset()


class Slot(NamedTuple):
    """One value of a property that has to exist, and the positions of the head that it fills."""

    region: Region
    tags: frozenset[int] = _NO_TAGS

    def implies(self, other: Slot) -> bool:
        return self.region.implies(other.region) and other.tags <= self.tags


class Disjunct:
    """One alternative: a region for the subject, and slots by property, none of which implies another."""

    __slots__ = ("has_ranges", "properties", "slots", "subject")

    def __init__(self, subject: Region, slots: dict[str, tuple[Slot, ...]]) -> None:
        self.subject = subject
        self.slots = slots
        self.properties = frozenset(slots)
        self.has_ranges = any(
            slot.region.integer is not None or slot.region.decimal is not None
            for slots_of_one in slots.values()
            for slot in slots_of_one
        )

    def implies(self, other: Disjunct) -> bool:
        """Whether whatever matches this disjunct matches the other."""
        if not other.properties <= self.properties:
            return False
        if other.subject is not ANY and not self.subject.implies(other.subject):
            return False
        mine = self.slots
        for name, wanted in other.slots.items():
            offered = mine[name]
            for region, tags in wanted:
                for my_region, my_tags in offered:
                    if (region is ANY or my_region.implies(region)) and tags <= my_tags:
                        break
                else:
                    return False
        return True

    def to_data(self) -> list[Any]:
        slots = [
            [name, sorted(slot.tags), slot.region.to_data()] for name, found in self.slots.items() for slot in found
        ]
        return [self.subject.to_data(), sorted(slots, key=json.dumps)]


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The disjuncts of a query, its prime disjuncts, and whether these are all."""

    disjuncts: tuple[Disjunct, ...]
    primes: tuple[Disjunct, ...]
    exact: bool


def normalise(query: Query, tagged: tuple[str, ...] = ()) -> NormalForm:
    """The normal form, with the positions of variables in `tagged` as tags. `Query` keeps what this gives."""
    tags: dict[str, frozenset[int]] = {}
    for position, variable in enumerate(tagged):
        tags[variable] = tags.get(variable, _NO_TAGS) | {position}
    fixed: dict[int, Region] = {}
    names: dict[str, int] = {query.subject: 0}
    for i, pattern in enumerate(query.triples, start=1):
        if isinstance(pattern.object, str):
            names[pattern.object] = i
        else:
            fixed[i] = region_of(pattern.object)
    slot_tags = [_NO_TAGS] * (len(query.triples) + 1)
    for name, i in names.items():
        slot_tags[i] = tags.get(name, _NO_TAGS)
    found: list[Disjunct] = []
    for regions in _conjunctions(query.constraint, names):
        regions.update(fixed)
        slots = [
            (pattern.property, Slot(regions.get(i, ANY), slot_tags[i]))
            for i, pattern in enumerate(query.triples, start=1)
        ]
        found = _absorb(found, Disjunct(regions.get(0, ANY), _reduce(slots)))
    primes = _close(found)
    disjuncts = tuple(found)
    return NormalForm(disjuncts, disjuncts if primes is None else tuple(primes), primes is not None)


def alternatives(query: Query) -> Iterator[tuple[Test, ...]]:
    """The tests of each disjunct as written, before anything is simplified."""
    if query.constraint is None:
        yield ()
        return
    _check_size(query.constraint)
    for tests in _expand(query.constraint):
        yield tuple(tests)


def _conjunctions(constraint: Constraint | None, names: dict[str, int]) -> list[dict[int, Region]]:
    """The satisfiable conjunctions, each as regions by the number of the slot; 0 is the subject."""
    if constraint is None:
        return [{}]
    _check_size(constraint)
    return _regions(constraint, names, {})


def _regions(constraint: Constraint, names: dict[str, int], known: dict[Any, Region]) -> list[dict[int, Region]]:
    if isinstance(constraint, Test):
        region = known.get(constraint.atom)
        if region is None:
            region = known[constraint.atom] = region_of(constraint.atom)
        return [{names[constraint.variable]: region}]
    if not isinstance(constraint, And):
        found: list[dict[int, Region]] = []
        for part in constraint.parts:
            found.extend(_regions(part, names, known))
        return found
    found = [{}]
    for part in constraint.parts:
        factor = _regions(part, names, known)
        found = [met for one in found for other in factor if (met := _meet(one, other)) is not None]
    return found


def _meet(one: dict[int, Region], other: dict[int, Region]) -> dict[int, Region] | None:
    met = dict(one)
    for i, region in other.items():
        mine = met.get(i)
        both = region if mine is None else mine.meet(region)
        if both is None:
            return None
        met[i] = both
    return met


def _expand(constraint: Constraint) -> list[list[Test]]:
    if isinstance(constraint, Test):
        return [[constraint]]
    if not isinstance(constraint, And):
        expanded: list[list[Test]] = []
        for part in constraint.parts:
            expanded.extend(_expand(part))
        return expanded
    expanded = [[]]
    for part in constraint.parts:
        factor = _expand(part)
        expanded = [one + other for one in expanded for other in factor]
    return expanded


def _check_size(constraint: Constraint) -> NormalSize:
    """Refuses a constraint whose normal form is too large: one that was built by hand has not been counted yet."""
    if isinstance(constraint, Test):
        return chain_size(len(constraint.atom.chain.words)) if isinstance(constraint.atom, Words) else ONE_TEST
    return normal_size(isinstance(constraint, And), map(_check_size, constraint.parts))


def _reduce(slots: Iterable[tuple[str, Slot]]) -> dict[str, tuple[Slot, ...]]:
    """Slots by property, without those that another implies."""
    reduced: dict[str, list[Slot]] = {}
    for name, slot in slots:
        kept = reduced.setdefault(name, [])
        if not any(other.implies(slot) for other in kept):
            kept[:] = [other for other in kept if not slot.implies(other)]
            kept.append(slot)
    return {name: tuple(kept) for name, kept in reduced.items()}


def _absorb(found: list[Disjunct], new: Disjunct) -> list[Disjunct]:
    """The disjuncts with a new one, without those that imply another."""
    if any(new.implies(other) for other in found):
        return found
    return [*(other for other in found if not other.implies(new)), new]


def _close(disjuncts: Sequence[Disjunct]) -> list[Disjunct] | None:
    """All prime disjuncts, or None where there are too many."""
    if len(disjuncts) < 2 or sum(disjunct.has_ranges for disjunct in disjuncts) < 2:
        return list(disjuncts)
    members: list[Disjunct] = []
    pending = list(reversed(disjuncts))
    steps = 0
    while pending:
        steps += 1
        new = pending.pop()
        if steps > MAX_CONSENSUS_STEPS + len(disjuncts) or len(members) > MAX_PRIMES:
            return None
        if any(new.implies(other) for other in members):
            continue
        members = [other for other in members if not other.implies(new)]
        for other in members:
            pending.extend(_consensus(other, new))
        members.append(new)
    return members


def _consensus(a: Disjunct, b: Disjunct) -> Iterator[Disjunct]:
    """Disjuncts that imply the two together, but neither: one range spans a range of each."""
    if not a.has_ranges or not b.has_ranges:
        return
    subject = a.subject.meet(b.subject)
    if subject is None:
        return
    for name in a.properties & b.properties:
        for one in a.slots[name]:
            for other in b.slots[name]:
                for region in one.region.bridges(other.region):
                    spanning = Slot(region, one.tags | other.tags)
                    slots = [(name, spanning), *_all_but(a, one), *_all_but(b, other)]
                    merged = _merge_tagged(slots)
                    if merged is not None:
                        yield Disjunct(subject, _reduce(merged))


def _all_but(disjunct: Disjunct, left_out: Slot) -> Iterator[tuple[str, Slot]]:
    for name, slots in disjunct.slots.items():
        for slot in slots:
            if slot is not left_out:
                yield name, slot


def _merge_tagged(slots: list[tuple[str, Slot]]) -> list[tuple[str, Slot]] | None:
    """Slots that fill the same position of the head are one value: their regions meet. None where they cannot."""
    merged: list[tuple[str, Slot]] = []
    for name, slot in slots:
        region, tags = slot
        same = [(other_name, other) for other_name, other in merged if other.tags & tags]
        for other_name, other in same:
            assert other_name == name
            met = other.region.meet(region)
            if met is None:
                return None
            region, tags = met, tags | other.tags
        merged = [entry for entry in merged if entry not in same]
        merged.append((name, Slot(region, tags)))
    return merged
