"""IIM: keys, group trees, topics, partial match, ranges in events, helpers, merging."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pytest
from rdflib import RDF, Literal, URIRef

import qel
from qel.topics import Topics
from superpeer.dht.chord import Chord
from superpeer.dht.clusters import Clusters
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.delegation import Policy, Relief
from superpeer.dht.errors import DhtError
from superpeer.dht.group_tree import GroupTree, Shape, similar_groups
from superpeer.dht.hashing import Domain, hash_text
from superpeer.dht.interval_keys import Attribute, IntervalKeys
from superpeer.dht.intervals import Intervals, Match, Selection
from superpeer.dht.publication import Publication
from superpeer.dht.simulation import Fabric
from superpeer.dht.table import HashTable

EX = "http://example.org/"
KINDS = pytest.mark.parametrize("kind", [Intervals, Clusters])


def event(number: int = 1, topic: str | None = None, **values: int) -> Publication:
    resource = URIRef(f"{EX}events/{number}")
    triples: list[Any] = [(resource, URIRef(EX + name), Literal(value)) for name, value in values.items()]
    if topic:
        triples.append((resource, RDF.type, URIRef(EX + topic)))
    return Publication.of(str(number), triples or [(resource, URIRef(EX + "nothing"), Literal("x"))])


def query(topic: str | None = None, within: str | None = None, **ranges: tuple[int, int]) -> qel.Query:
    parts = [f"t(X, <{EX}{name}>, {name.upper()})" for name in ranges]
    parts += [f"{name.upper()} >= {low} & {name.upper()} <= {high}" for name, (low, high) in ranges.items()]
    if topic:
        parts.append(f"t(X, rdf:type, <{EX}{topic}>)")
    if within:
        parts.append(f"t(X, rdf:type, T) & T within <{EX}{within}>")
    return qel.parse("X : " + " & ".join(parts))


def make(kind: type[Intervals], nodes: int = 20, **options: Any) -> Intervals:
    attributes = {EX + name: Attribute(Domain(0, 99), 10) for name in "abc"}
    return kind(Fabric(Chord(range(nodes))), attributes=attributes, **options)


def test_the_papers_intervals() -> None:
    """[0, 500] in 100 intervals; [2, 8] is in the intervals that begin with 0 and 5."""
    attribute = Attribute(Domain(0, 499), 100)
    assert list(attribute.indices((2, 8))) == [0, 1]
    assert list(attribute.indices((5, 9))) == [1]
    assert list(attribute.indices((490, None))) == [98, 99]
    assert list(attribute.indices((None, -7))) == [0]
    assert attribute.index(10_000) == 99
    nanoseconds = Attribute(Domain(0, 10**18 - 1), 10)
    assert nanoseconds.index(10**17 - 1) == nanoseconds.index(Decimal(10**17 - 1)) == 0
    assert nanoseconds.index(10**17) == nanoseconds.index(Decimal("1e17")) == 1
    keys = IntervalKeys(12, {"price": attribute})
    assert IntervalKeys(12, {"year": Attribute(Domain(1900, 1999), 10)}).key("year", "T", 3) == (
        (3 * 409 + 1900 + hash_text("year T", 12)) % 4096
    )
    gaps = {(keys.key("price", "T", i + 1) - keys.key("price", "T", i)) % 4096 for i in range(99)}
    assert gaps == {40}
    assert keys.key("price", "T", 0) != keys.key("price", "U", 0) != keys.key("volume", "U", 0)


def test_a_subscription_is_stored_once_for_each_interval() -> None:
    strategy = make(Intervals)
    strategy.subscribe(0, "sub", query(a=(15, 44)))
    assert [item.content.index for item in strategy.subscriptions["sub"].items] == [1, 2, 3, 4]


def test_narrow_ranges_are_preferred() -> None:
    stored = {}
    for selection in Selection:
        strategy = make(Intervals, selection=selection)
        for number in range(200):
            strategy.subscribe(0, str(number), query(a=(0, 99), b=(50, 52)))
        stored[selection] = sum(strategy.stored().values())
    assert stored[Selection.PROPORTIONAL] < 0.5 * stored[Selection.RANDOM]


@KINDS
def test_partial_match(kind: type[Intervals]) -> None:
    strategy = make(kind, match=Match.PARTIAL)
    strategy.subscribe(0, "sub", query(a=(0, 20), b=(5, 99)))
    assert strategy.publish(3, event(a=10)).notified == {"sub"}
    assert strategy.publish(3, event(b=10)).notified == {"sub"}
    assert strategy.publish(3, event(a=10, b=10)).notified == {"sub"}
    assert not strategy.publish(3, event(a=10, b=1)).notified
    assert not strategy.publish(3, event(a=21)).notified
    exact = make(kind)
    exact.subscribe(0, "sub", query(a=(0, 20), b=(5, 99)))
    assert not exact.publish(3, event(a=10)).notified


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_events_with_ranges(kind: type[Intervals], seed: int) -> None:
    random = Random(seed)
    strategy = make(kind)
    asked = {}
    for number in range(40):
        low = random.randrange(90)
        asked[str(number)] = (low, low + random.randrange(30))
        strategy.subscribe(number % 20, str(number), query(a=asked[str(number)]))
    for number in range(20):
        low = random.randrange(90)
        high = low + random.randrange(30)
        told = strategy.publish_ranges(number % 20, event(number), {EX + "a": (low, high)})
        assert told == {name for name, (first, last) in asked.items() if first <= high and low <= last}


@KINDS
def test_an_event_may_have_values_beside_its_ranges(kind: type[Intervals]) -> None:
    """Wherever a subscription is stored, under an attribute that the event has a range for or under another."""
    for seed in range(4):
        strategy = make(kind, nodes=20 + seed, selection=Selection.RANDOM)
        for number in range(6):
            strategy.subscribe(number, str(number), query(a=(10, 20), b=(5, 9)))
        assert len(strategy.publish_ranges(3, event(1, b=7), {EX + "a": (15, 40)})) == 6
        assert not strategy.publish_ranges(3, event(2, b=10), {EX + "a": (15, 40)})
        assert not strategy.publish_ranges(3, event(3, b=7), {EX + "a": (21, 40)})
        assert not strategy.publish_ranges(3, event(4), {EX + "a": (15, 40)}), "nothing is said of b"
        strategy.subscribe(1, "one", qel.parse(f"X : t(X, <{EX}a>, A) & A > 90 & X = <{EX}events/5>"))
        assert strategy.publish_ranges(3, event(5), {EX + "a": (90, 95)}) == {"one"}
        assert not strategy.publish_ranges(3, event(6), {EX + "a": (90, 95)})
    with pytest.raises(DhtError, match="not from 9 to 8 as that of a"):
        strategy.publish_ranges(3, event(4), {"a": (9, 8)})


@KINDS
def test_generalised_topics(kind: type[Intervals]) -> None:
    broader = [("football", "sports"), ("tennis", "sports"), ("sports", "news"), ("weather", "news")]
    predicate = URIRef("http://www.w3.org/2004/02/skos/core#broader")
    topics = Topics([(URIRef(EX + one), predicate, URIRef(EX + other)) for one, other in broader])
    known = [EX + name for pair in broader for name in pair]
    strategy = make(kind, topics=topics, known_topics=known, serves_any_topic=False)
    strategy.subscribe(0, "sports", query(within="sports", a=(0, 50)))
    strategy.subscribe(1, "tennis", query(topic="tennis", a=(0, 50)))
    assert {item.content.topic for item in strategy.subscriptions["sports"].items} == {
        EX + name for name in ("sports", "football", "tennis")
    }
    assert strategy.publish(5, event(topic="football", a=3)).notified == {"sports"}
    assert strategy.publish(5, event(topic="tennis", a=3)).notified == {"sports", "tennis"}
    assert strategy.publish(5, event(topic="sports", a=3)).notified == {"sports"}
    assert not strategy.publish(5, event(topic="weather", a=3)).notified


@KINDS
def test_topics_that_are_not_known_are_found_by_what_is_broader(kind: type[Intervals]) -> None:
    topics = Topics.of({EX + "football": [EX + "sports"], EX + "tennis": [EX + "sports"]})
    strategy = make(kind, topics=topics, known_topics=[EX + "tennis"])
    strategy.subscribe(0, "sub", query(within="sports", a=(0, 50)))
    for topic in ("sports", "tennis", "football"):
        assert strategy.publish(5, event(topic=topic, a=3)).notified == {"sub"}
    assert not strategy.publish(5, event(topic="weather", a=3)).notified


@KINDS
@pytest.mark.parametrize("policy", [Policy.REPLICATION, Policy.PARTITION])
def test_helpers_share_the_load_of_one_broker(kind: type[Intervals], policy: Policy) -> None:
    strategy = make(kind, relief=Relief(policy, threshold=5, brokers=4))
    plain = make(kind)
    for number in range(60):
        for one in (strategy, plain):
            one.subscribe(number % 20, str(number), query(a=(50, 51)))
    assert max(plain.stored().values()) == 60
    stored = sorted(strategy.stored().values())
    if policy is Policy.PARTITION:
        assert sum(stored) == 60
        assert stored[-1] < 40
    else:
        assert stored[-4:] == [60, 60, 60, 60]
    strategy.refresh()
    assert sorted(strategy.stored().values()) == stored, "what a helper holds is there"
    examined = strategy.examined
    for number in range(12):
        assert len(strategy.publish(number, event(number, a=50)).notified) == 60
    assert strategy.examined - examined == 12 * 60
    assert strategy.fabric.messages["redirect"] > 0


@KINDS
@pytest.mark.parametrize("policy", [Policy.REPLICATION, Policy.PARTITION])
def test_what_a_helper_held_is_lost_with_it_where_nobody_has_a_copy(kind: type[Intervals], policy: Policy) -> None:
    strategy = make(kind, relief=Relief(policy, threshold=5, brokers=4))
    for number in range(60):
        strategy.subscribe(number % 20, str(number), query(a=(50, 51)))
    (broker,) = strategy._helpers.brokers
    delegation = strategy._helpers.of(broker)
    assert delegation is not None
    helper = delegation.helpers[0]
    held = {item.subscription.name for item in delegation.held[helper].held.values()}
    assert held
    strategy.crash(helper)
    left = strategy.publish(broker, event(1, a=50)).notified
    assert left == {str(number) for number in range(60)} - (held if policy is Policy.PARTITION else set())
    strategy.refresh()
    strategy.join(helper)
    assert len(strategy.publish(broker, event(2, a=50)).notified) == 60


@pytest.mark.parametrize("table", [Chord(range(50), 12), CubeTable(range(50), 12)])
@pytest.mark.parametrize("shape", [Shape(0, 0.0), Shape(3, 0.0), Shape(6, 250 / 4096)])
def test_group_trees_store_with_members_and_everybody_agrees(table: HashTable, shape: Shape) -> None:
    random = Random(1)
    members = random.sample(range(50), 9)
    tree = GroupTree(table, "T", shape)
    tree.register(members)
    used = set()
    for key in range(0, 4096, 7):
        place, passed, _ = tree.locate(key)
        assert place in members
        assert 1 <= passed <= shape.depth + 1
        assert len(tree.servers(key)) == shape.depth + 1
        used.add(place)
    assert used <= set(members)
    tree.register([])
    assert tree.locate(5)[0] == table.owner(tree.region_server(0, 5))


def test_the_papers_tree() -> None:
    """Figure 2: a space of 8 with the root at 0; peers 1, 2, 5 and 6 are members. Data 3 and 4 find nobody before level
    1, the region (0, 4], and are remapped to 1 and 2."""
    table = Chord(range(8), 3)
    at = {table.identifier(node): node for node in table.nodes}
    group = next(str(i) for i in range(1_000) if GroupTree(table, str(i), Shape(0)).region_server(0, 1) == 0)
    tree = GroupTree(table, group, Shape(3, 0.0))
    tree.register([at[i] for i in (1, 2, 5, 6)])
    assert [tree.region_server(1, key) for key in range(8)] == [0, 4, 4, 4, 4, 0, 0, 0]
    assert [tree.region_server(2, key) for key in range(8)] == [0, 2, 2, 4, 4, 6, 6, 0]
    assert tree.locate(4) == (at[2], 3, 2)
    assert tree.locate(3) == (at[1], 3, 1)
    assert tree.locate(5) == (at[5], 1, 5)


@pytest.mark.parametrize("rotation", [0.0, 250 / 4096, 0.3])
def test_remapping_goes_to_the_other_half_as_the_servers_below_count_halves(rotation: float) -> None:
    tree = GroupTree(Chord(range(8), 8), "T", Shape(5, rotation))
    for level in range(5):
        others: dict[int, set[int]] = {}
        for key in range(256):
            remapped = tree.remap(level, key)
            assert tree.remap(level, remapped) == key
            others.setdefault(tree.region_server(level + 1, key), set()).add(tree.region_server(level + 1, remapped))
        assert len(others) == 1 << (level + 1)
        assert all(len(found) == 1 and server not in found for server, found in others.items())


def test_topics_share_keys_unless_they_are_to_have_their_own() -> None:
    for keyed in (False, True):
        strategy = make(Clusters, topic_in_keys=keyed)
        assert (strategy._key("t0", "a", 1) != strategy._key("t1", "a", 1)) is keyed


def test_a_tree_with_rotation_serves_from_more_nodes() -> None:
    table = Chord(range(128))
    spread = {}
    for rotation in (0.0, 0.06):
        tree = GroupTree(table, "T", Shape(5, rotation))
        spread[rotation] = len(
            {table.owner(server) for key in range(0, 1 << 64, 1 << 58) for server in tree.servers(key)}
        )
    assert spread[0.06] > spread[0.0]


def test_members_only_store_their_own_topic() -> None:
    strategy = make(Clusters)
    for number in range(40):
        strategy.subscribe(
            number % 4 + (10 if number % 2 else 0), str(number), query(topic=f"t{number % 2}", a=(0, 99))
        )
    for node, held in strategy.stored().items():
        assert not held or node in {0, 2, 11, 13}


def test_a_tree_of_another_shape_stores_elsewhere_and_delivers_the_same() -> None:
    strategy = make(Clusters, shape=Shape(3, 0.0))
    assert isinstance(strategy, Clusters)
    for number in range(40):
        low = number % 10 * 10
        strategy.subscribe(number % 8, str(number), query(topic=f"t{number % 2}", a=(low, low + 9)))
    before, counted = strategy.stored(), strategy.fabric.messages.copy()
    strategy.reshape(EX + "t0", Shape(2, 0.3))
    assert strategy.fabric.messages["register"] > counted["register"]
    assert strategy.fabric.messages["transfer"] > counted["transfer"]
    after = strategy.stored()
    assert before != after
    assert sum(before.values()) == sum(after.values())
    assert all(before[node] == after[node] for node in strategy.members(EX + "t1"))
    strategy.leave(2)
    strategy.join(2)
    for value in range(0, 100, 7):
        expected = {str(n) for n in range(40) if n % 2 == 0 and n % 10 == value // 10}
        assert strategy.publish(9, event(topic="t0", a=value)).notified == expected


def test_helpers_within_a_group_are_those_of_the_same_region() -> None:
    table = Chord(range(64))
    tree = GroupTree(table, "T", Shape(3, 0.0))
    members = list(range(0, 64, 3))
    tree.register(members)
    for key in range(0, 1 << 64, 1 << 59):
        near = tree.members_near(key)
        assert sorted(near) == members
        mine = [one for one in members if tree.region_server(3, table.identifier(one)) == tree.region_server(3, key)]
        assert set(near[: len(mine)]) == set(mine)
    strategy = make(Clusters, relief=Relief(Policy.PARTITION, threshold=10, brokers=2), shape=Shape(2, 0.0))
    assert isinstance(strategy, Clusters)
    for number in range(40):
        strategy.subscribe(number % 10, str(number), query(topic="t0", a=(50, 51)))
    (item, *_), tree = strategy.subscriptions["0"].items, strategy._tree(EX + "t0")
    broker = tree.locate(item.low)[0]
    delegation = strategy._helpers.of(broker)
    assert delegation is not None
    assert delegation.helpers == [one for one in tree.members_near(item.low) if one != broker][:1]


def test_a_broker_asks_for_help_until_somebody_is_able() -> None:
    """At first its only neighbour has too much itself."""
    strategy = make(Intervals, nodes=2, relief=Relief(Policy.PARTITION, threshold=6, brokers=2))
    places = {strategy.table.owner(strategy._key("", EX + "a", index)): index * 10 for index in range(10)}
    assert len(places) == 2

    def subscribe(node: int, number: int) -> None:
        strategy.subscribe(0, f"{node} {number}", query(a=(places[node], places[node] + 1)))

    for number in range(30):
        subscribe(1, number)
    assert strategy._load(0) > 6
    for number in range(10):
        subscribe(0, number)
    assert strategy._helpers.of(0) is None
    for number in range(30):
        strategy.unsubscribe(f"1 {number}")
    assert strategy.stored() == {0: 10, 1: 0}
    for number in range(10, 30):
        subscribe(0, number)
    assert strategy.stored()[1] > 0
    assert len(strategy.publish(1, event(a=places[0])).notified) == 30


def test_who_leaves_a_group_stores_nothing_of_it_any_more() -> None:
    strategy = make(Clusters)
    for number in range(40):
        strategy.subscribe(number % 8, str(number), query(topic="t0", a=(number % 10 * 10, number % 10 * 10 + 9)))
    assert strategy.stored()[3] > 0
    for number in range(3, 40, 8):
        strategy.unsubscribe(str(number))
    assert not strategy.stored()[3]
    assert sum(strategy.stored().values()) == 35
    for value in range(0, 100, 7):
        expected = {str(n) for n in range(40) if n % 8 != 3 and n % 10 == value // 10}
        assert strategy.publish(9, event(topic="t0", a=value)).notified == expected


def test_similar_groups_are_merged_and_parted() -> None:
    assert similar_groups({"a": [1, 2, 3], "b": [1, 2, 3, 4], "c": [7]}, 3, 1) == [frozenset("ab")]
    assert similar_groups({"a": [1, 2, 3], "b": [1, 2, 3, 4, 5]}, 3, 1) == []
    strategy = make(Clusters)
    assert isinstance(strategy, Clusters)
    for number in range(6):
        for topic in ("t0", "t1", "t2") if number < 2 else ("t0", "t1"):
            strategy.subscribe(number, f"{topic} {number}", query(topic=topic, a=(0, 99)))

    def check() -> None:
        for topic, homes in (("t0", 6), ("t1", 6), ("t2", 2)):
            expected = {name for name in strategy.subscriptions if name.startswith(topic)}
            assert strategy.publish(9, event(topic=topic, a=3)).notified == expected
            assert homes <= len(expected) + 1

    check()
    assert strategy.merge(4, 1) == [frozenset({EX + "t0", EX + "t1"})]
    assert len(set(strategy.super_topics.values())) == 1
    check()
    strategy.subscribe(8, "t1 8", query(topic="t1", a=(0, 99)))
    check()
    strategy.subscribe(9, "t1 9", query(topic="t1", a=(0, 99)))
    strategy.join(30)
    check()
    assert strategy.merge(4, 1) == []
    assert not strategy.super_topics
    check()
