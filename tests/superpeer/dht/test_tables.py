"""Hash tables against brute force: owners, routes, ranges, multi-sends, joins, departures and crashes."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from random import Random

import pytest

from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import Domain, hash_text
from superpeer.dht.simulation import HEADER_BYTES, KEY_BYTES, Fabric
from superpeer.dht.table import HashTable

Kind = Callable[..., HashTable]
TABLES = pytest.mark.parametrize("kind", [Chord, CubeTable])
SIZES = [1, 2, 3, 5, 16, 37, 64]


def owner_by_definition(table: HashTable, key: int) -> int:
    """The first node at or behind the key, going round."""
    return min(table.nodes, key=lambda node: (table.identifier(node) - key) % table.size)


def keys(table: HashTable, random: Random, number: int = 60) -> list[int]:
    return [random.randrange(table.size) for _ in range(number)] + [
        (table.identifier(node) + step) % table.size for node in table.nodes for step in (-1, 0, 1)
    ]


def check(table: HashTable, random: Random) -> None:
    for key in keys(table, random):
        expected = owner_by_definition(table, key)
        assert table.owner(key) == expected
        start = random.choice(list(table.nodes))
        path = table.route(start, key)
        assert path[0] == start
        assert path[-1] == expected
        assert all(path[i + 1] in table.neighbours(path[i]) for i in range(len(path) - 1))


@TABLES
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [7, 64])
def test_owners_and_routes(kind: Kind, size: int, bits: int) -> None:
    check(kind(range(size), bits), Random(size))


@TABLES
@pytest.mark.parametrize("size", [64, 512])
def test_lookups_take_a_logarithmic_number_of_hops(kind: Kind, size: int) -> None:
    table = kind(range(size))
    random = Random(size)
    hops = [len(table.route(random.randrange(size), random.randrange(table.size))) - 1 for _ in range(2_000)]
    assert sum(hops) / len(hops) <= 0.5 * log2(size) + 1
    assert max(hops) <= 2 * log2(size)


@TABLES
@pytest.mark.parametrize("size", SIZES)
def test_ranges_of_keys(kind: Kind, size: int) -> None:
    table = kind(range(size), 8)
    random = Random(size)
    for _ in range(200):
        low, high = sorted(random.randrange(256) for _ in range(2))
        assert set(table.owners(low, high)) == {owner_by_definition(table, key) for key in range(low, high + 1)}
        assert len(set(table.owners(low, high))) == len(table.owners(low, high))


@TABLES
@pytest.mark.parametrize("size", SIZES)
def test_a_message_to_many_keys_reaches_each_owner_with_its_keys(kind: Kind, size: int) -> None:
    table = kind(range(size))
    random = Random(size)
    for _ in range(20):
        wanted = {random.randrange(table.size) for _ in range(random.randint(1, 30))}
        reached: dict[int, list[int]] = {}
        under_way = [(random.randrange(size), sorted(wanted))]
        messages = -1
        while under_way:
            node, some = under_way.pop()
            messages += 1
            own, further = table.split(node, some)
            if own:
                reached.setdefault(node, []).extend(own)
            under_way += further
        assert {key: node for node, own in reached.items() for key in own} == {key: table.owner(key) for key in wanted}
        assert sum(map(len, reached.values())) == len(wanted)
        assert messages <= len(wanted) * 2 * (1 + log2(size))


@TABLES
@pytest.mark.parametrize("size", SIZES)
def test_a_circle_reaches_everyone_once(kind: Kind, size: int) -> None:
    table = kind(range(size))
    steps = table.circle(size // 2)
    assert sorted(step.receiver for step in steps) == sorted(set(range(size)) - {size // 2})
    reached = {size // 2: 0}
    for step in sorted(steps, key=lambda step: step.depth):
        assert step.depth == reached[step.sender] + 1
        reached[step.receiver] = step.depth


@TABLES
@pytest.mark.parametrize("seed", range(12))
def test_joins_departures_and_crashes(kind: Kind, seed: int) -> None:
    """Whoever loses keys to others is among the donors, and lookups are right before any stabilisation."""
    random = Random(seed)
    table = kind(range(random.randint(1, 20)))
    absent = list(range(20, 40))
    for _ in range(30):
        before = {key: table.owner(key) for key in keys(table, random)}
        happening = random.random()
        if absent and (happening < 0.5 or len(table.nodes) == 1):
            change = table.join(absent.pop(random.randrange(len(absent))))
        else:
            gone = random.choice(list(table.nodes))
            change = table.leave(gone) if happening < 0.8 else table.crash(gone)
            absent.append(gone)
            if happening >= 0.8:
                before = {key: owner for key, owner in before.items() if owner != gone}
        for key, owner in before.items():
            if table.owner(key) != owner:
                assert owner in change.donors
        check(table, random)
        if isinstance(table, Chord) and random.random() < 0.2:
            table.stabilise()


def test_stabilisation_ends_with_the_tables_of_a_new_network() -> None:
    random = Random(7)
    table = Chord(range(10))
    for node in range(10, 40):
        table.join(node, via=random.choice(list(table.nodes)))
    for node in (3, 17, 18, 30):
        table.crash(node)
    stale = [node for node in table.nodes if set(table.fingers(node)) != set(Chord(table.nodes).fingers(node))]
    assert stale, "joins alone leave fingers of others out of date"
    for _ in range(3):
        table.stabilise()
    fresh = Chord(table.nodes)
    for node in table.nodes:
        assert table.fingers(node) == fresh.fingers(node)
        assert table.successors(node) == fresh.successors(node)
        assert table.predecessor(node) == fresh.predecessor(node)


def test_successor_lists_nearby_follow_each_change() -> None:
    """Before any stabilisation."""
    random = Random(3)
    table = Chord(range(20), successors=5)
    absent = list(range(20, 30))
    for _ in range(60):
        if absent and random.random() < 0.5:
            table.join(absent.pop(random.randrange(len(absent))))
        else:
            gone = random.choice(list(table.nodes))
            (table.leave if random.random() < 0.5 else table.crash)(gone)
            absent.append(gone)
        ring = sorted(table.nodes, key=table.identifier)
        for place, node in enumerate(ring):
            assert table.successors(node) == [ring[(place + 1 + i) % len(ring)] for i in range(5)]
            assert table.predecessor(node) == ring[place - 1]


def test_a_message_to_many_keys_carries_each_once() -> None:
    table = Chord(range(2), 8)
    fabric = Fabric(table)
    foreign = table.identifier(1)
    (share,) = fabric.multisend(0, [foreign, foreign], "publish", 100)
    assert (share.node, share.keys, share.hops) == (1, (foreign,), 1)
    assert fabric.bytes["publish"] == HEADER_BYTES + 100 + KEY_BYTES


def test_successor_lists_survive_several_crashes_in_a_row() -> None:
    table = Chord(range(64), successors=4)
    start = next(iter(table.nodes))
    for _ in range(3):
        table.crash(table.next_along(start))
    check(table, Random(1))


def test_a_node_comes_back_under_its_identifier() -> None:
    table = Chord(range(9))
    identifier = table.identifier(4)
    table.leave(4)
    table.join(4)
    assert table.identifier(4) == identifier


def test_nobody_takes_the_identifier_of_a_node_that_is_away() -> None:
    """Mail for it waits there."""
    table = Chord(range(4), 4)
    identifier = table.mail_key(2)
    table.leave(2)
    for node in range(10, 22):
        table.join(node)
    assert identifier not in {table.identifier(node) for node in table.nodes}
    with pytest.raises(DhtError, match="nodes that are away included"):
        table.join(22)
    table.join(2)
    assert table.identifier(2) == identifier


@TABLES
def test_a_join_that_is_refused_changes_nothing(kind: Kind) -> None:
    table = kind(range(8), 3)
    with pytest.raises(DhtError, match="full"):
        table.join(8)
    check(table, Random(1))
    table.leave(3)
    check(table, Random(2))


@TABLES
def test_a_node_that_is_named_twice_is_one(kind: Kind) -> None:
    table = kind([1, 2, 1])
    check(table, Random(1))
    table.leave(1)
    check(table, Random(1))


@TABLES
def test_what_cannot_be_done(kind: Kind) -> None:
    table = kind([1])
    with pytest.raises(DhtError, match="already"):
        table.join(1)
    with pytest.raises(DhtError, match="not in the network"):
        table.leave(2)
    with pytest.raises(DhtError, match="last node"):
        table.crash(1)
    with pytest.raises(DhtError, match="full"):
        kind(range(3), 1)
    with pytest.raises(DhtError, match="1 to 64 bits"):
        kind(range(3), 65)


def test_two_successors_are_the_least() -> None:
    with pytest.raises(DhtError, match="at least two successors, not 1"):
        Chord(range(3), successors=1)
    table = Chord(range(20), successors=2)
    for node in range(0, 20, 2):
        table.crash(node)
    check(table, Random(1))


def test_the_hash_of_numbers_keeps_their_order() -> None:
    domain = Domain(1900, 2030)
    placed = [domain.key(number, 12) for number in (1000, 1900, 1950, 1951, 2004, 2030, 3000)]
    assert placed == sorted(placed)
    assert placed[0] == placed[1] == 0
    assert placed[-1] == placed[-2] == 4095
    assert placed[2] < placed[3]


def test_the_hash_of_texts_is_even() -> None:
    counts = [0] * 16
    for i in range(16_000):
        counts[hash_text(f"text {i}", 4)] += 1
    assert max(counts) < 1.2 * min(counts)
