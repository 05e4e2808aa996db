"""Who covers whom among all subscriptions, in arrays: one task does this.

The matcher that super-peers run finds all that covers each subscription, exactly (`superpeer.matching.building`).
Queries that cover each other are one *place*, named by the smallest number. From that: the Hasse diagram, depths,
components, and the width, which by Dilworth's theorem is the number of places less the largest matching of places with
places above them.

Four bytes are held for each pair, and about three kilobytes for each subscription.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superpeer.catalog.asking import Asked, Entered
from superpeer.catalog.order_kernels import compact, match_places, walk
from superpeer.matching.arrays import Int32s, Int64s
from superpeer.matching.building import Parts, find_covering, find_links
from superpeer.matching.implication import imply
from superpeer.matching.meeting import Row
from superpeer.matching.reading import batch_of


@dataclass(frozen=True)
class Order:
    """The order of subscriptions 0 to n - 1. `place` names the place of each; all else is empty, or nought, for those
    that are not the first of their place.

    `above` and `parents` are lists one behind the other, which `above_at` and `parents_at` cut. `longest` is the parent
    on a longest chain down to a place, or -1, and `component` the first place of its component."""

    place: Int32s
    above: Int32s
    above_at: Int64s
    parents: Int32s
    parents_at: Int64s
    depth: Int32s
    longest: Int32s
    component: Int32s

    @property
    def places(self) -> Int64s:
        return np.flatnonzero(self.place == np.arange(len(self.place)))

    def parents_of(self, place: int) -> list[int]:
        found: list[int] = self.parents[self.parents_at[place] : self.parents_at[place + 1]].tolist()
        return found

    def children_of(self, place: int) -> list[int]:
        found: list[int] = (
            np.searchsorted(self.parents_at, np.flatnonzero(self.parents == place), "right") - 1
        ).tolist()
        return found

    def chain(self) -> list[int]:
        """A longest chain, from the most general down; none where nothing covers anything."""
        place = int(self.depth.argmax())
        if not self.depth[place]:
            return []
        found = [place]
        while (above := int(self.longest[found[-1]])) >= 0:
            found.append(above)
        return found[::-1]

    def width(self) -> int:
        """The size of the largest set of places of which none covers another."""
        partners = np.full((2, len(self.place)), -1, np.int32)
        return len(self.places) - int(match_places(self.above, self.above_at, partners[0], partners[1]))


def order_of(asked: Asked) -> Order:
    above, starts, counts, nearest, twins = _links(asked)
    kept, parents = np.empty(len(above), np.int32), np.empty(int(nearest.sum()), np.int32)
    pairs, links = compact(above, starts, counts, nearest, twins, kept, parents)
    above, parents = kept[:pairs].copy(), parents[:links].copy()
    above_at, parents_at = _starts(counts), _starts(nearest)
    depth = np.zeros(len(asked), np.int32)
    longest = np.full(len(asked), -1, np.int32)
    component = np.arange(len(asked), dtype=np.int32)
    # Whatever is above a place has fewer above it.
    walk(parents, parents_at, np.argsort(counts, kind="stable"), depth, longest, component)
    return Order(twins, above, above_at, parents, parents_at, depth, longest, component)


def _links(asked: Asked) -> tuple[Int32s, Int64s, Int32s, Int32s, Int32s]:
    """For each subscription all above it, the nearest in front: where they begin, how many they are, and how many the
    nearest; and its place."""
    entered = Entered(asked)
    fragments = []
    for name, region in asked.tests:
        fragments.append(Row())
        imply(entered.matcher.slots, fragments[-1], name, region)
    parts = Parts(batch_of(fragments), asked.which, asked.tests_at, asked.alternatives_at)
    above, above_at = find_covering(entered.matcher, entered.numbers, parts)
    links = find_links(above, above_at)
    return above, links.starts, np.diff(above_at).astype(np.int32), links.counts, links.twins


def _starts(counts: Int32s) -> Int64s:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
