"""What is drawn of a poset: of its largest component the place with the most neighbours, and what is around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from superpeer.catalog.order import Order

DRAWN = 28
BRANCHES = 8
"""So many neighbours of a place are drawn for its sake, so that there is room for theirs."""


@dataclass(frozen=True)
class Drawn:
    """Places (number, layer, how many it covers, text), the links between them, and how many places there are in the
    component. A place stands in a layer below all that is drawn above it."""

    places: list[tuple[int, int, int, str]]
    links: list[tuple[int, int]]
    whole: int


def choose(places: pa.Table, order: Order) -> Drawn:
    """Chooses from the table of places."""
    component = places.column("component").to_numpy()
    sizes = np.bincount(component)
    largest = int(sizes.argmax())
    if sizes[largest] < 2:
        return Drawn([], [], 0)
    mine = places.filter(pa.array(component == largest))
    neighbours = pc.add(mine.column("parents"), mine.column("children")).to_numpy()
    start = mine.column("place")[int(neighbours.argmax())].as_py()
    covers = dict(zip(mine.column("place").to_pylist(), mine.column("below").to_pylist(), strict=True))
    chosen = [start]
    # It grows as it is walked through: what was reached first is looked around first.
    for place in chosen:
        near = {*order.parents_of(place), *order.children_of(place)}.difference(chosen)
        chosen += sorted(near, key=lambda one: (-covers[one], one))[: min(BRANCHES, DRAWN - len(chosen))]
    links = sorted((parent, place) for place in chosen for parent in order.parents_of(place) if parent in chosen)
    shown = mine.filter(pc.is_in(mine.column("place"), pa.array(chosen)))
    texts = dict(zip(shown.column("place").to_pylist(), shown.column("text").to_pylist(), strict=True))
    layers: dict[int, int] = {}
    for place in sorted(chosen, key=lambda one: (int(order.depth[one]), one)):
        layers[place] = max((layers[above] + 1 for above, below in links if below == place), default=0)
    # What nothing covers stands right above what it covers.
    for place in {above for above, _ in links}.difference(below for _, below in links):
        layers[place] = min(layers[below] for above, below in links if above == place) - 1
    return Drawn(
        [(place, layer, covers[place], texts[place]) for place, layer in layers.items()], links, int(sizes[largest])
    )
