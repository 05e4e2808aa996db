"""Placing: from the claims of the living to the cube, as a pure function.

A member's label is a *claim*: the label it last settled on. `place` turns any claims, however
contradictory, into a complete cube of exactly the living members. Two members that know the same entries
have the same cube, so simultaneous joins, crashes, false suspicions and healed partitions need no protocol
of their own.

With N members whose label lengths differ by at most one, all lengths are f = floor(log2 N) or f + 1. So the
cube consists of 2^f *cells*, the labels of f bits: each is held whole by one member, or split into its two
halves between two. Exactly N - 2^f cells are split. Placing is seating members in cells:

1. *Read the claims.* A claim longer than f + 1 bits is cut, and asks for half a cell. A claim of at most f
   bits is padded with zeros, and asks for a whole cell. No claim asks for nothing.
2. *Keep what does not clash*; the order of keys decides. In each cell, the first who asks for a half gets
   it. Who asks for the whole gets it if it is the first in an empty cell, else a half that is free.
3. *Fill.* Who has no seat takes an empty cell, in the order of keys and of cells.
4. *Move up.* While a cell stays empty, a split cell (the last one first) gives up one of its two: the one
   with the greater key moves to the empty cell, the other takes its own cell whole.
5. *Split.* Who still has no seat takes the free half of a cell whose only member asked for a half, else
   splits a cell, the first one first: its member keeps half 0, the newcomer gets half 1.
6. Whoever is alone in a cell has it whole: a sibling takes its parent's label.

Nothing can go wrong: the seated, less the split cells, are as many as the occupied cells, so either step 4
or step 5 has exactly the members that it needs. The result, claimed, is kept whole by step 2, so placing is
stable. One entry that comes, goes or changes touches one cell and moves at most two other members, whatever
it claims. And when one member joins or leaves, a cube in which only some of the moved have claimed their
new labels is the same cube: the greater key moves in step 4 so that the old claim of one never takes the
seat that the other was given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from typing import NamedTuple, Protocol

from hypercup.cube import Cube
from hypercup.errors import HypercupError, NoMembers
from hypercup.label import Label


class Claimant(Protocol):
    """What placing needs to know of an entry."""

    @property
    def key(self) -> bytes: ...

    @property
    def claim(self) -> Label | None: ...

    @property
    def is_alive(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class Placement:
    """A cube with the owner of each of its labels."""

    cube: Cube
    labels: Mapping[bytes, Label]
    owners: Mapping[Label, bytes]

    def __eq__(self, other: object) -> bool:
        return self.labels == other.labels if isinstance(other, Placement) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.cube)


def place(entries: Iterable[Claimant]) -> Placement:
    """The cube of the living among the entries, and who owns which label."""
    living = sorted((entry for entry in entries if entry.is_alive), key=lambda entry: entry.key)
    depth = depth_of(len(living))
    wishes: dict[int, list[Wish]] = {}
    unseated = []
    for entry in living:
        if entry.claim is None:
            unseated.append(entry.key)
        else:
            cell, half = read_claim(entry.claim, depth)
            wishes.setdefault(cell, []).append(Wish(entry.key, half))
    cells = {}
    for cell, wished in wishes.items():
        cells[cell], refused = seat(wished)
        unseated.extend(refused)
    empty = [cell for cell in range(1 << depth) if cell not in cells]
    split = [cell for cell, seating in cells.items() if seating.is_split]
    half_free = [cell for cell, seating in cells.items() if seating.has_free_half]
    whole = [cell for cell, seating in cells.items() if seating.is_whole]
    cells.update(arrange(cells, sorted(unseated), empty, sorted(split), sorted(half_free), sorted(whole)))
    labels = {key: label for cell, seating in cells.items() for key, label in seating.labels(cell, depth)}
    if len(labels) != len(living):
        raise HypercupError("two entries have the same key; merge entries before placing them")
    return Placement(Cube(labels.values()), labels, {label: key for key, label in labels.items()})


class Wish(NamedTuple):
    """What one member asks of a cell: half 0, half 1, or the whole (None)."""

    key: bytes
    half: int | None


class Seating(NamedTuple):
    """Who sits in a cell: `low` in half 0, `high` in half 1, or `alone` in the whole. Never nobody."""

    low: bytes | None = None
    high: bytes | None = None
    alone: bytes | None = None

    @property
    def is_split(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def is_whole(self) -> bool:
        return self.alone is not None

    @property
    def has_free_half(self) -> bool:
        return self.alone is None and (self.low is None or self.high is None)

    def joined_by(self, key: bytes) -> Seating:
        """The seating when one more member sits down here."""
        if self.alone is not None:
            return Seating(low=self.alone, high=key)
        return Seating(low=key, high=self.high) if self.low is None else Seating(low=self.low, high=key)

    def labels(self, cell: int, depth: int) -> tuple[tuple[bytes, Label], ...]:
        """The label of each who sits here."""
        label = Label.of(cell, depth)
        if self.low is not None and self.high is not None:
            return ((self.low, label.child(0)), (self.high, label.child(1)))
        sole = self.alone if self.alone is not None else self.low if self.low is not None else self.high
        assert sole is not None, "a cell without members has no seating"
        return ((sole, label),)


def depth_of(members: int) -> int:
    """The length of the cells' labels, floor(log2 N)."""
    if members < 1:
        raise NoMembers("nobody is alive, so there is no cube")
    return members.bit_length() - 1


def read_claim(claim: Label, depth: int) -> tuple[int, int | None]:
    """The cell, and the half of it (None: the whole), that a claim asks for."""
    if claim.length <= depth:
        return claim.bits << (depth - claim.length), None
    half = claim.bits >> (claim.length - depth - 1)
    return half >> 1, half & 1


def seat(wishes: Collection[Wish]) -> tuple[Seating, list[bytes]]:
    """Who sits in a cell, and who asked for it and found no seat. The wishes come in the order of keys."""
    halves: list[bytes | None] = [None, None]
    refused = []
    for key, half in wishes:
        if half is None:
            continue
        if halves[half] is None:
            halves[half] = key
        else:
            refused.append(key)
    seating = Seating(*halves)
    taken = 2 - halves.count(None)
    for key, half in wishes:
        if half is not None:
            continue
        if taken == 2:
            refused.append(key)
        else:
            seating = seating.joined_by(key) if taken else Seating(alone=key)
            taken += 1
    return seating, refused


def arrange(
    cells: Mapping[int, Seating],
    unseated: list[bytes],
    empty: list[int],
    split: list[int],
    half_free: list[int],
    whole: list[int],
) -> dict[int, Seating]:
    """Steps 3 to 5: the cells whose seating changes so that every cell and every member is served.

    All lists come sorted. The cost goes with the numbers of unseated members and empty cells.
    """
    changed = {cell: Seating(alone=key) for cell, key in zip(empty, unseated, strict=False)}
    vacant = empty[len(unseated) :]
    for cell, giving in zip(vacant, reversed(split), strict=False):
        low, high, _ = cells[giving]
        assert low is not None, "only a split cell gives up a member"
        assert high is not None, "only a split cell gives up a member"
        changed[cell] = Seating(alone=max(low, high))
        changed[giving] = Seating(alone=min(low, high))
    for key, cell in zip(unseated[len(empty) :], chain(half_free, merge(whole, empty)), strict=False):
        changed[cell] = (changed[cell] if cell in changed else cells[cell]).joined_by(key)
    return changed
