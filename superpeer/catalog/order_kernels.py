"""Loops over an order, compiled: depths, components, and the largest matching behind its width.

An order is given by two arrays: those above place i are `above[at[i] : at[i + 1]]`.
"""

from __future__ import annotations

from superpeer.matching.arrays import Int32s, Int64s
from superpeer.matching.compiling import compiled

UNREACHED = 1 << 30


@compiled
def compact(
    above: Int32s, starts: Int64s, counts: Int32s, nearest: Int32s, twins: Int32s, kept: Int32s, parents: Int32s
) -> tuple[int, int]:
    """Leaves out of an order what is only another name of a place. What is above each comes with the nearest in
    front; it is written sorted, and so are the nearest, the parents. Counts of both become those of what is left."""
    count = linked = 0
    for place in range(len(starts)):
        first, first_parent = count, linked
        if twins[place] == place:
            for i in range(starts[place], starts[place] + counts[place]):
                if twins[above[i]] == above[i]:
                    kept[count] = above[i]
                    count += 1
                    if i < starts[place] + nearest[place]:
                        parents[linked] = above[i]
                        linked += 1
            kept[first:count].sort()
            parents[first_parent:linked].sort()
        counts[place] = count - first
        nearest[place] = linked - first_parent
    return count, linked


@compiled
def walk(parents: Int32s, at: Int64s, order: Int64s, depth: Int32s, longest: Int32s, component: Int32s) -> None:
    """The depth of each place, the parent on a longest chain down to it, and the first place of its component. Places
    come in an order in which whatever is above one comes before it."""
    for place in order:
        for i in range(at[place], at[place + 1]):
            parent = parents[i]
            if depth[parent] >= depth[place]:
                depth[place] = depth[parent] + 1
                longest[place] = parent
            one, other = _first(component, parent), _first(component, place)
            component[max(one, other)] = min(one, other)
    for place in range(len(component)):
        component[place] = _first(component, place)


@compiled
def _first(component: Int32s, place: int) -> int:
    first = place
    while component[first] != first:
        first = component[first]
    while component[place] != first:
        component[place], place = first, component[place]
    return first


@compiled
def match_places(above: Int32s, at: Int64s, upper: Int32s, lower: Int32s) -> int:
    """The size of a largest matching of places with places above them, after Hopcroft and Karp: in each round all ways
    to improve it that are shortest are taken, as far as they do not cross. `upper` has the partner above each place
    and `lower` the one below it, or -1."""
    places = len(at) - 1
    matched = 0
    for place in range(places):
        for i in range(at[place], at[place + 1]):
            if lower[above[i]] < 0:
                lower[above[i]] = place
                upper[place] = above[i]
                matched += 1
                break
    level, queue = upper.copy(), upper.copy()
    following, way = at[:-1].copy(), upper.copy()
    while True:
        found = _set_levels(above, at, upper, lower, level, queue)
        if found == UNREACHED:
            return matched
        following[:] = at[:-1]
        for place in range(places):
            if upper[place] < 0 and level[place] == 0:
                matched += _improve(above, at, upper, lower, level, following, way, place)


@compiled
def _set_levels(above: Int32s, at: Int64s, upper: Int32s, lower: Int32s, level: Int32s, queue: Int32s) -> int:
    """How many steps each place is away from one without a partner above it. Gives how many a shortest way to improve
    the matching has."""
    ends = 0
    for place in range(len(level)):
        level[place] = UNREACHED
        if upper[place] < 0:
            level[place] = 0
            queue[ends] = place
            ends += 1
    found, first = UNREACHED, 0
    while first < ends:
        place = queue[first]
        first += 1
        if level[place] >= found:
            break
        for i in range(at[place], at[place + 1]):
            partner = lower[above[i]]
            if partner < 0:
                found = level[place]
            elif level[partner] == UNREACHED:
                level[partner] = level[place] + 1
                queue[ends] = partner
                ends += 1
    return found


@compiled
def _improve(
    above: Int32s,
    at: Int64s,
    upper: Int32s,
    lower: Int32s,
    level: Int32s,
    following: Int64s,
    way: Int32s,
    start: int,
) -> int:
    """Takes a way that rises by one level with each step, if there is one, depth first."""
    length = 0
    way[0] = start
    while length >= 0:
        place = way[length]
        if following[place] == at[place + 1]:
            # Nothing leads on from here, and nobody need come again.
            level[place] = UNREACHED
            length -= 1
            continue
        here = above[following[place]]
        following[place] += 1
        partner = lower[here]
        if partner < 0:
            while length >= 0:
                place = way[length]
                before = upper[place]
                upper[place], lower[here] = here, place
                here = before
                length -= 1
            return 1
        if level[partner] == level[place] + 1:
            length += 1
            way[length] = partner
    return 0
