"""Links of many places at once, compiled: who covers whom is known, and who is nearest is found.

What covers a place covers everything that this one covers. So the nearest of those above a place are those that are not
nearest above another of them, and of two that cover each other both have equally many above them, while in any other
case the lower one has more.
"""

from __future__ import annotations

from superpeer.matching.arrays import Int32s, Int64s
from superpeer.matching.compiling import compiled


@compiled
def common(
    numbers: Int32s, rows_at: Int64s, places_at: Int64s, own: Int32s, counts: Int32s, found: Int32s, found_at: Int64s
) -> None:
    """For each place what all its rows found, itself left out. A place has one row for each of its disjuncts."""
    count = 0
    for place in range(len(own)):
        first, last = places_at[place], places_at[place + 1]
        found_at[place] = count
        for i in range(rows_at[first], rows_at[last]):
            counts[numbers[i]] += 1
        for i in range(rows_at[first], rows_at[last]):
            if counts[numbers[i]] == last - first and numbers[i] != own[place]:
                found[count] = numbers[i]
                count += 1
            counts[numbers[i]] = 0
    found_at[len(own)] = count


@compiled
def renumber(numbers: Int32s, places: Int32s) -> None:
    """Puts places for the numbers of their subscriptions."""
    for i in range(len(numbers)):
        numbers[i] = places[numbers[i]]


@compiled
def find_twins(above: Int32s, above_at: Int64s, twins: Int32s) -> None:
    """For each place the first one that means the same, which may be itself."""
    for place in range(len(twins)):
        twins[place] = place
        count = above_at[place + 1] - above_at[place]
        for i in range(above_at[place], above_at[place + 1]):
            other = above[i]
            if other < twins[place] and above_at[other + 1] - above_at[other] == count:
                twins[place] = other


@compiled
def find_nearest(
    above: Int32s, above_at: Int64s, order: Int64s, twins: Int32s, stamps: Int32s, nearest: Int32s
) -> None:
    """Brings the nearest above each place to the front of those above it, and notes how many there are. Places come in
    the order of how many are above them, so that the nearest above those are known."""
    for place in order:
        if twins[place] != place:
            continue
        first, last = above_at[place], above_at[place + 1]
        for i in range(first, last):
            other = above[i]
            if twins[other] == other:
                for j in range(above_at[other], above_at[other] + nearest[other]):
                    stamps[above[j]] = place + 1
        to = first
        for i in range(first, last):
            other = above[i]
            if stamps[other] != place + 1 and twins[other] == other:
                above[i] = above[to]
                above[to] = other
                to += 1
        nearest[place] = to - first
