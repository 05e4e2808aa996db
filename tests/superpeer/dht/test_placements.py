"""The intersection rule for the placements of Lo's Table 1, and the table's formulas where they are exact."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.errors import DhtError
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
        assert placement.event(values) <= placement.brokers()
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


def test_ferry_takes_the_next_broker() -> None:
    table = Chord(range(40), 12)
    ferry = Ferry(table, SCHEMA)
    for subscriber in range(40):
        (broker,) = ferry.subscription(subscriber, {})
        node = subscriber
        while node not in ferry.brokers():
            node = table.next_along(node)
        assert broker == node


@pytest.mark.parametrize("nodes", [1, 9, 37])
def test_meghdoots_zones_are_a_partition(nodes: int) -> None:
    """And events go to the zones in which a subscription that they match can be a point."""
    meghdoot = Meghdoot(nodes, {"a": Domain(0, 4), "b": Domain(0, 4)})
    brokers = set()
    reached: dict[tuple[int, int], set[int]] = {}
    for low_a, high_a, low_b, high_b in product(range(5), repeat=4):
        point = low_a, high_a, low_b, high_b
        (zone,) = (
            number
            for number, zone in enumerate(meghdoot._zones)
            if all(low <= x <= high for x, (low, high) in zip(point, zone, strict=True))
        )
        if low_a <= high_a and low_b <= high_b:
            brokers.add(zone)
            assert meghdoot.subscription(0, {"a": (low_a, high_a), "b": (low_b, high_b)}) == {zone}
        for a, b in product(range(low_a, high_a + 1), range(low_b, high_b + 1)):
            reached.setdefault((a, b), set()).add(zone)
    assert meghdoot.brokers() == brokers
    for (a, b), zones in reached.items():
        assert meghdoot.event({"a": a, "b": b}) == zones
        assert meghdoot.event({"a": a}) == set().union(*(reached[a, other] for other in range(5)))


def test_zones_go_down_to_points() -> None:
    meghdoot = Meghdoot(4, {"a": Domain(0, 1)})
    assert sorted(meghdoot._zones) == [((a, a), (b, b)) for a in (0, 1) for b in (0, 1)]
    for nodes in (0, 5):
        with pytest.raises(DhtError, match=f"1 to 4 nodes, not for {nodes}"):
            Meghdoot(nodes, {"a": Domain(0, 1)})
