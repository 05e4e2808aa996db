"""The intersection rule for the placements of Lo's Table 1, and the table's formulas where they are exact."""

from __future__ import annotations

from random import Random

import pytest

from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.hashing import Domain
from superpeer.dht.placements import Baldoni, EFerry, Ferry, Meghdoot, Placement
from superpeer.dht.table import HashTable

SCHEMA = {name: Domain(0, 19) for name in "abcd"}


def placements(table: HashTable) -> list[Placement]:
    return [Ferry(table, SCHEMA), EFerry(table, SCHEMA), Baldoni(table, SCHEMA), Meghdoot(len(table.nodes), SCHEMA)]


@pytest.mark.parametrize("table", [Chord(range(40)), CubeTable(range(40))])
@pytest.mark.parametrize("number", range(4))
def test_events_meet_the_subscriptions_that_they_match(table: HashTable, number: int) -> None:
    placement = placements(table)[number]
    random = Random(number)
    met = 0
    for _ in range(600):
        names = random.sample(sorted(SCHEMA), random.randint(1, 3))
        ranges = {name: (low := random.randrange(20), random.randint(low, 19)) for name in names}
        values = {name: random.randrange(20) for name in random.sample(sorted(SCHEMA), random.randint(1, 4))}
        stored = placement.subscription(random.randrange(40), ranges)
        assert stored <= placement.brokers()
        if all(name in values and low <= values[name] <= high for name, (low, high) in ranges.items()):
            assert stored & placement.event(values)
            met += 1
    assert met > 20


def test_formulas() -> None:
    table = Chord(range(4_000))
    ranges, values = {"a": (3, 9), "b": (0, 4)}, {"a": 3, "b": 4, "c": 5}
    ferry, eferry, baldoni = Ferry(table, SCHEMA), EFerry(table, SCHEMA), Baldoni(table, SCHEMA)
    meghdoot = Meghdoot(256, SCHEMA)
    assert len(ferry.subscription(1, ranges)) == len(eferry.subscription(1, ranges)) == 1
    assert len(meghdoot.subscription(1, ranges)) == 1
    assert ferry.event(values) == ferry.brokers()
    assert len(ferry.brokers()) == len(SCHEMA)
    assert len(eferry.event(values)) == 2**3 - 1
    assert len(baldoni.subscription(1, {"a": (3, 9)})) == 7
    assert len(baldoni.event(values)) == 3


def test_meghdoots_zones_are_a_partition() -> None:
    meghdoot = Meghdoot(37, {"a": Domain(0, 4), "b": Domain(0, 4)})
    points = [(a, b, c, d) for a in range(5) for b in range(5) for c in range(5) for d in range(5)]
    for point in points:
        holding = [
            zone
            for zone in meghdoot._zones
            if all(low <= x <= high for x, (low, high) in zip(point, zone, strict=True))
        ]
        assert len(holding) == 1
