"""Placing again after a small change, at a cost that goes with the change.

`Placer` keeps the seating of `place` between calls: which wishes each cell has, and sorted lists of the
cells by kind. An entry that changed unseats and seats again the one or two cells it names; the final steps
cost as much as there are members without a seat. Its result is by definition that of `place`. When the
number of members passes a power of two the cells themselves change, and it starts afresh.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TypeVar

from hypercup.cube import Cube
from hypercup.label import Label
from hypercup.placement import Claimant, Placement, Seating, Wish, arrange, depth_of, read_claim, seat

Item = TypeVar("Item", int, bytes)

# Beyond this share of changed members, seating everyone afresh is cheaper than one by one.
REBUILD_SHARE = 4


class Placer:
    """Gives exactly what `place` gives, faster when it is asked again about nearly the same entries."""

    def __init__(self) -> None:
        self._claims: dict[bytes, Label | None] = {}
        self._placement: Placement | None = None
        self._clear(0)

    def place(self, entries: Iterable[Claimant]) -> Placement:
        """The placement of the living among the entries. Says the same as the function of that name."""
        claims = {entry.key: entry.claim for entry in entries if entry.is_alive}
        depth = depth_of(len(claims))
        gone = [key for key in self._claims if key not in claims]
        known = self._claims
        changed = [key for key, claim in claims.items() if key not in known or known[key] != claim]
        if depth != self._depth or REBUILD_SHARE * (len(gone) + len(changed)) > len(claims):
            self._clear(depth)
            gone, changed = [], list(claims)
        elif not gone and not changed and self._placement is not None:
            return self._placement
        touched: set[int | None] = {self._withdraw(key) for key in (*gone, *changed)}
        touched.update(self._enter(key, claims[key]) for key in changed)
        cells = {cell for cell in touched if cell is not None}
        for cell in cells:
            self._seat_again(cell)
        self._claims = claims
        self._placement = self._arranged(cells)
        return self._placement

    def _clear(self, depth: int) -> None:
        self._depth = depth
        self._wishes: dict[int, list[Wish]] = {}
        self._cells: dict[int, Seating] = {}
        self._refused: dict[int, list[bytes]] = {}
        self._unseated: list[bytes] = []
        self._empty: list[int] = list(range(1 << depth))
        self._split: list[int] = []
        self._half_free: list[int] = []
        self._whole: list[int] = []
        self._wished_cell: dict[bytes, int] = {}
        self._rearranged: dict[int, Seating] = {}
        self._final: dict[int, Seating] = {}
        self._claims = {}
        self._placement = None

    def _arranged(self, touched: set[int]) -> Placement:
        """The placement after steps 3 to 6, from the last one and the cells that may differ from it."""
        rearranged = arrange(self._cells, self._unseated, self._empty, self._split, self._half_free, self._whole)
        affected = touched | self._rearranged.keys() | rearranged.keys()
        before = {key: label for cell in affected for key, label in self._labels(cell)}
        for cell in affected:
            self._final[cell] = rearranged[cell] if cell in rearranged else self._cells[cell]
        after = {key: label for cell in affected for key, label in self._labels(cell)}
        self._rearranged = rearranged
        return _updated(self._placement, before, after)

    def _labels(self, cell: int) -> tuple[tuple[bytes, Label], ...]:
        return self._final[cell].labels(cell, self._depth) if cell in self._final else ()

    def _withdraw(self, key: bytes) -> int | None:
        """Forget what a member asked for; the cell that has to be seated again, if any."""
        cell = self._wished_cell.pop(key, None)
        if cell is not None:
            self._wishes[cell] = [wish for wish in self._wishes[cell] if wish.key != key]
        elif key in self._claims:
            _discard(self._unseated, key)
        return cell

    def _enter(self, key: bytes, claim: Label | None) -> int | None:
        if claim is None:
            insort(self._unseated, key)
            return None
        cell, half = read_claim(claim, self._depth)
        self._wished_cell[key] = cell
        insort(self._wishes.setdefault(cell, []), Wish(key, half), key=lambda wish: wish.key)
        return cell

    def _seat_again(self, cell: int) -> None:
        for key in self._refused.pop(cell, ()):
            _discard(self._unseated, key)
        _discard(self._kind(self._cells.pop(cell, None)), cell)
        wishes = self._wishes.get(cell)
        if wishes:
            self._cells[cell], refused = seat(wishes)
            if refused:
                self._refused[cell] = refused
            for key in refused:
                insort(self._unseated, key)
        else:
            self._wishes.pop(cell, None)
        insort(self._kind(self._cells.get(cell)), cell)

    def _kind(self, seating: Seating | None) -> list[int]:
        if seating is None:
            return self._empty
        if seating.is_split:
            return self._split
        return self._whole if seating.is_whole else self._half_free


def _updated(last: Placement | None, before: dict[bytes, Label], after: dict[bytes, Label]) -> Placement:
    if last is None:
        return Placement(Cube(after.values()), after, {label: key for key, label in after.items()})
    labels, owners = dict(last.labels), dict(last.owners)
    for key, label in before.items():
        del labels[key], owners[label]
    for key, label in after.items():
        labels[key], owners[label] = label, key
    old, new = set(before.values()), set(after.values())
    return Placement(last.cube.replace(old - new, new - old), labels, owners)


def _discard(items: list[Item], item: Item) -> None:
    position = bisect_left(items, item)
    assert items[position] == item, "a sorted list lost one of its items"
    del items[position]
