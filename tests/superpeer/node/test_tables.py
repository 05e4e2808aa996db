"""The tables against their definition, and a whole network of them against the meaning of publish and subscribe."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from hypercup import Cube, CubeLink, Label
from qel.values import describe
from superpeer.node.advertisements import Element, advertisement_of, elements_of
from superpeer.node.tables import Difference, LocalPeer, LocalSubscription, Tables
from tests.qel.strategies import chapter_queries, queries, triple_sets
from tests.qel.test_advertisements import advertisements, conforming

IN_LINKS = ("in 0", "in 1", "in 2")
OUT_LINKS = ("out 0", "out 1", "out 2")


def relays(in_link: str, out_link: str) -> bool:
    return in_link[-1] < out_link[-1]


def roots(asked: list[qel.Query]) -> set[str]:
    """One id for each meaning that no other covers."""
    distinct: list[qel.Query] = []
    for query in asked:
        if not any(qel.equivalent(query, other) for other in distinct):
            distinct.append(query)
    return {
        qel.canonical_id(query)
        for query in distinct
        if not any(other is not query and qel.subsumes(other, query) for other in distinct)
    }


class Mirror:
    """What the neighbours of one super-peer know from the differences that they were told."""

    def __init__(self) -> None:
        self.elements: dict[str, set[Element]] = {w: set() for w in IN_LINKS}
        self.queries: dict[str, set[str]] = {k: set() for k in OUT_LINKS}

    def follow(self, difference: Difference[str, str]) -> None:
        for link, elements in difference.elements_removed.items():
            assert elements <= self.elements[link]
            self.elements[link] -= elements
        for link, elements in difference.elements_added.items():
            assert not elements & self.elements[link]
            self.elements[link] |= elements
        for link, removed in difference.queries_removed.items():
            assert removed <= self.queries[link]
            self.queries[link] -= removed
        for link, added in difference.queries_added.items():
            assert not added.keys() & self.queries[link]
            self.queries[link] |= added.keys()


step = st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5), st.booleans())


@settings(max_examples=120)
@given(
    st.lists(chapter_queries(leaves=2), min_size=1, max_size=4),
    st.lists(advertisements(), min_size=1, max_size=3),
    st.lists(step, max_size=25),
)
def test_tables_hold_what_they_should(
    asked: list[qel.Query], advertised: list[qel.Advertisement], history: list[tuple[bool, int, int, bool]]
) -> None:
    tables: Tables[str, str] = Tables(IN_LINKS, OUT_LINKS, relays)
    mirror = Mirror()
    sources: list[LocalSubscription | str] = [*IN_LINKS, *(LocalSubscription("p", str(i)) for i in range(3))]
    supporters: list[LocalPeer | str] = [*OUT_LINKS, *(LocalPeer(str(i)) for i in range(3))]
    asking: set[tuple[str, LocalSubscription | str]] = set()
    supporting: set[tuple[Element, LocalPeer | str]] = set()
    by_id = {qel.canonical_id(query): query for query in asked}
    for subscribing, what, who, adding in history:
        if subscribing:
            query, source = asked[what % len(asked)], sources[who]
            changed = {"added": [query]} if adding else {"removed": [query]}
            mirror.follow(tables.update_subscriptions(source, **changed))
            (asking.add if adding else asking.discard)((qel.canonical_id(query), source))
        else:
            elements, supporter = elements_of(advertised[what % len(advertised)]), supporters[who]
            mirror.follow(tables.update_advertisements(supporter, **{"added" if adding else "removed": elements}))
            for element in elements:
                (supporting.add if adding else supporting.discard)((element, supporter))
    for w in IN_LINKS:
        expected = {e for e, by in supporting if isinstance(by, LocalPeer) or relays(w, by)}
        assert set(tables.adverts_out(w)) == mirror.elements[w] == expected
    for k in OUT_LINKS:
        beyond = advertisement_of({element for element, by in supporting if by == k})
        eligible = [
            by_id[identity]
            for identity, source in sorted(asking, key=str)
            if (isinstance(source, LocalSubscription) or relays(source, k)) and qel.covers(beyond, by_id[identity])
        ]
        assert tables.subs_out(k).keys() == mirror.queries[k] == roots(eligible)


class Backbone:
    """Super-peers in a cube, each with its tables; differences travel in the order in which they were made."""

    def __init__(self, cube: Cube) -> None:
        self.cube = cube
        self.tables = {
            label: Tables(cube.in_links(label), cube.out_links(label), lambda w, k: w.dimension < k.dimension)
            for label in cube.labels
        }
        self.queries: dict[str, qel.Query] = {}
        self.messages = 0

    def spread(self, origin: Label, difference: Difference[CubeLink, CubeLink]) -> None:
        pending = deque([(origin, difference)])
        while pending:
            label, told = pending.popleft()
            for back in {*told.elements_added, *told.elements_removed}:
                there = self.tables[back.label]
                added, removed = told.elements_added.get(back, ()), told.elements_removed.get(back, ())
                arrived = CubeLink(label, back.dimension)
                pending.append((back.label, there.update_advertisements(arrived, added, removed)))
                self.messages += 1
            for out in {*told.queries_added, *told.queries_removed}:
                there = self.tables[out.label]
                self.queries.update(told.queries_added.get(out, {}))
                asked = told.queries_added.get(out, {}).values()
                dropped = [self.queries[identity] for identity in told.queries_removed.get(out, ())]
                arrived = CubeLink(label, out.dimension)
                pending.append((out.label, there.update_subscriptions(arrived, asked, dropped)))
                self.messages += 1

    def publish(self, origin: Label, triples: list[Any]) -> list[LocalSubscription]:
        """Whom a publication reaches, once for each time that it does."""
        (description,) = describe(triples)
        reached: list[LocalSubscription] = []
        pending: list[tuple[Label, CubeLink | None]] = [(origin, None)]
        while pending:
            label, arrived = pending.pop()
            local, links = self.tables[label].recipients(description, arrived)
            reached.extend(local)
            pending.extend((in_link.label, CubeLink(label, in_link.dimension)) for in_link in links)
        return reached


@settings(max_examples=80)
@given(
    st.integers(1, 13),
    st.booleans(),
    st.lists(queries(leaves=2), min_size=1, max_size=4),
    st.lists(advertisements(), min_size=1, max_size=3),
    st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(0, 3), st.booleans()), max_size=20),
    st.lists(st.tuples(st.integers(0, 12), triple_sets()), min_size=1, max_size=6),
)
def test_a_publication_reaches_exactly_those_that_it_matches(
    size: int,
    balanced: bool,
    asked: list[qel.Query],
    advertised: list[qel.Advertisement],
    history: list[tuple[bool, int, int, bool]],
    published: list[tuple[int, list[Any]]],
) -> None:
    cube = Cube.grow(size, 1) if balanced else Cube.random(size, 1)
    backbone = Backbone(cube)
    asking: dict[LocalSubscription, tuple[Label, qel.Query]] = {}
    offers: dict[Label, set[int]] = {label: set() for label in cube.labels}
    for subscribing, where, what, adding in history:
        label = cube.labels[where % size]
        tables = backbone.tables[label]
        if subscribing:
            query = asked[what % len(asked)]
            subscription = LocalSubscription(str(label), str(what % len(asked)))
            if adding:
                asking[subscription] = (label, query)
                backbone.spread(label, tables.update_subscriptions(subscription, [query]))
            elif subscription in asking:
                del asking[subscription]
                backbone.spread(label, tables.update_subscriptions(subscription, removed=[query]))
        else:
            number = what % len(advertised)
            offers[label].add(number) if adding else offers[label].discard(number)
            elements = elements_of(advertised[number])
            peer = LocalPeer(str(number))
            changed = (elements, ()) if adding else ((), elements)
            backbone.spread(label, tables.update_advertisements(peer, *changed))
    for where, triples in published:
        label = cube.labels[where % size]
        for number in offers[label]:
            allowed = conforming(advertised[number], triples)
            if allowed:
                reached = backbone.publish(label, allowed)
                wanted = [sub for sub, (_, query) in asking.items() if qel.matches(query, allowed)]
                assert sorted(map(str, reached)) == sorted(map(str, wanted))


def test_covering_and_advertisements_save_messages() -> None:
    cube = Cube.grow(16, 1)
    publisher, reader = cube.labels[0], cube.labels[-1]
    general = qel.parse("X : t(X, dc:date, D) & D >= 2000")
    special = qel.parse("X : t(X, dc:date, D) & D = 2004")
    unserved = qel.parse("X : t(X, foaf:name, N)")
    backbone = Backbone(cube)
    dates = elements_of(qel.Advertisement(schemas=["dc:"]))
    hops = len(cube.path(reader, publisher)) - 1
    tables = backbone.tables[reader]
    first, second, third = (LocalSubscription("r", name) for name in ("1", "2", "3"))

    backbone.spread(publisher, backbone.tables[publisher].update_advertisements(LocalPeer("library"), dates))
    assert backbone.messages == len(cube) - 1  # an advertisement is told to every other super-peer once
    backbone.spread(reader, tables.update_subscriptions(first, [general]))
    assert backbone.messages == len(cube) - 1 + hops
    backbone.spread(reader, tables.update_subscriptions(second, [special]))
    backbone.spread(reader, tables.update_subscriptions(third, [unserved]))
    assert backbone.messages == len(cube) - 1 + hops
    backbone.spread(reader, tables.update_subscriptions(first, removed=[general]))
    assert backbone.messages == len(cube) - 1 + 2 * hops  # what comes out goes with what goes
