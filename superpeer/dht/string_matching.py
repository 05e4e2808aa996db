"""The three ways in which DHTStrings finds out which subscriptions an event matches (Aekaterinidis, Triantafillou).

A SubID names a subscription by the node it belongs to, its key there, and the attributes on which it declares
constraints. For an event, every attribute has a *local list*: the SubIDs whose constraints on that attribute the event
meets. A subscription matches iff it is in the local list of each attribute that it declares.

*Coordinated*: all lists go to the origin, the node of the publisher, which counts. *Distributed*: attributes are
visited one after the other, those with short lists first; each visit filters the list that came and adds to it
(`visit`), and the last one sends what is left to the origin. *Hybrid*: a visit also sends home at once what matches
already, the SubIDs whose attributes have all been checked.

An attribute that must be there with any value has no list. A SubID names such attributes, too, and whoever decides
compares them with those of the event.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum


class Matching(Enum):
    COORDINATED = "coordinated"
    DISTRIBUTED = "distributed"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class SubId:
    """A disjunct of a subscription."""

    node: int
    key: str
    number: int
    declared: frozenset[str]
    present: frozenset[str] = frozenset()
    """Attributes that an event needs to have, with whatever value."""


SUBID_BYTES = 16
"""A node, a key, and a bit for each attribute of the schema."""


def count(local: Mapping[str, AbstractSet[SubId]], attributes: Collection[str]) -> set[SubId]:
    """The SubIDs that are in as many lists as they declare attributes."""
    found: dict[SubId, int] = {}
    for listed in local.values():
        for sub in listed:
            found[sub] = found.get(sub, 0) + 1
    return {sub for sub, lists in found.items() if lists == len(sub.declared) and sub.present <= set(attributes)}


def visit(
    attribute: str, checked: AbstractSet[str], local: AbstractSet[SubId], received: AbstractSet[SubId]
) -> set[SubId]:
    """What one visit of distributed matching makes of the list that came: those that declare this attribute and are
    not in its local list go, and so do those of the local list that declare an attribute checked before and did not
    come."""
    kept = {sub for sub in received if attribute not in sub.declared or sub in local}
    kept |= {sub for sub in local if sub in received or not sub.declared & checked}
    return kept


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a matching sends: the list that each visit passes on, and what it sends to the origin."""

    passed: Sequence[int]
    home: Sequence[int]
    matched: frozenset[SubId]

    @property
    def sent(self) -> int:
        """SubIDs sent; one that is sent r times counts r times."""
        return sum(self.passed) + sum(self.home)


def run(
    matching: Matching, order: Sequence[str], local: Mapping[str, AbstractSet[SubId]], attributes: Collection[str]
) -> Outcome:
    """All visits of a matching, in order. `attributes` are those that the event has. SubIDs that declare others are
    carried along, as published, and dropped at the end; see `without_hopeless`."""
    if matching is Matching.COORDINATED:
        return Outcome((), [len(local[name]) for name in order], frozenset(count(local, attributes)))
    received: set[SubId] = set()
    checked: set[str] = set()
    known = set(attributes)
    matched: set[SubId] = set()
    passed, home = [], []
    for position, name in enumerate(order):
        received = visit(name, checked, local[name], received)
        checked.add(name)
        remaining = set(order[position + 1 :])
        if matching is Matching.HYBRID:
            leaving = {sub for sub in received if sub.declared <= checked}
            received -= leaving
        else:
            leaving = {sub for sub in received if sub.declared <= checked} if not remaining else set()
        leaving = {sub for sub in leaving if sub.present <= known}
        matched |= leaving
        home.append(len(leaving))
        passed.append(len(received) if remaining else 0)
    return Outcome(passed, home, frozenset(matched))


def without_hopeless(local: Mapping[str, AbstractSet[SubId]], attributes: Collection[str]) -> dict[str, set[SubId]]:
    """The local lists without the SubIDs that declare attributes the event does not have. The papers do not drop them
    there, though whoever has the event and the SubID could."""
    known = set(attributes)
    return {name: {sub for sub in listed if sub.declared <= known} for name, listed in local.items()}
