"""The tables against their definition, and a whole network of them against the meaning of publish and subscribe."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from hypercup import Cube, CubeLink, Label
from qel.values import describe
from superpeer.node.advertisements import Element, advertisement_of, elements_of
from superpeer.node.difference import Difference
from superpeer.node.tables import LocalPeer, LocalSubscription, Tables
from tests.qel.strategies import chapter_queries, queries, triple_sets
from tests.qel.test_advertisements import advertisements, conforming
from tests.superpeer.node.test_router import ADVERTISEMENTS, QUERIES

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

    def follow(self, tables: Tables[str, str]) -> None:
        difference, tables.unsaid = tables.unsaid, Difference()
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
    tables: Tables[str, str] = Tables()
    tables.enter(dict.fromkeys(IN_LINKS), dict.fromkeys(OUT_LINKS), relays)
    mirror = Mirror()
    sources: list[LocalSubscription | str] = [*IN_LINKS, *(LocalSubscription("p", str(i)) for i in range(3))]
    supporters: list[LocalPeer | str] = [*OUT_LINKS, *(LocalPeer(str(i)) for i in range(3))]
    asking: set[tuple[str, LocalSubscription | str]] = set()
    supporting: set[tuple[Element, LocalPeer | str]] = set()
    by_id = {qel.canonical_id(query): query for query in asked}
    for subscribing, what, who, adding in history:
        if subscribing:
            query, source = asked[what % len(asked)], sources[who]
            if adding:
                tables.update_subscriptions(source, [query])
            else:
                tables.update_subscriptions(source, removed=[qel.canonical_id(query)])
            (asking.add if adding else asking.discard)((qel.canonical_id(query), source))
        else:
            elements, supporter = elements_of(advertised[what % len(advertised)]), supporters[who]
            tables.update_advertisements(supporter, **{"added" if adding else "removed": elements})
            for element in elements:
                (supporting.add if adding else supporting.discard)((element, supporter))
        mirror.follow(tables)
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


def test_a_subscription_replaced_by_one_that_means_the_same_stays() -> None:
    tables: Tables[str, str] = Tables()
    tables.enter({}, {"out 0": None}, relays)
    tables.update_advertisements("out 0", elements_of(qel.Advertisement(schemas=["dc:"])))
    first, second = qel.parse("X : t(X, dc:date, D) & D > 3"), qel.parse("Y : t(Y, dc:date, E) & E >= 4")
    subscription = LocalSubscription("p", "1")
    tables.update_subscriptions(subscription, [first])
    tables.update_subscriptions(subscription, [second], [qel.canonical_id(first)])
    assert len(tables.subs_out("out 0")) == len(tables.poset) == 1


@pytest.mark.parametrize("seed", range(40))
def test_tables_go_over_to_other_links(seed: int) -> None:
    """Links come, go, go on under other names, or lose what they held, and relay to others than before."""
    random = Random(seed)
    tables: Tables[str, str] = Tables()
    peers = [LocalPeer(str(i)) for i in range(2)]
    local = [LocalSubscription("p", str(i)) for i in range(2)]
    asked: dict[LocalSubscription | str, dict[str, qel.Query]] = {source: {} for source in local}
    supported: dict[LocalPeer | str, set[Element]] = {peer: set() for peer in peers}
    told: dict[str, set[Any]] = {}
    serial = 0
    for _ in range(80):
        if random.random() < 0.25:
            names: list[dict[str, str | None]] = []
            for direction, held in (("in", asked), ("out", supported)):
                former: list[str | None] = [link for link in held if isinstance(link, str)]
                links: dict[str, str | None] = {}
                for was in [*former, None, None]:
                    serial += 1
                    match random.choice(["goes on", "goes on", "is renamed", "starts again", "goes"]):
                        case "goes on" if was:
                            links[was] = was
                        case "is renamed" if was:
                            links[f"{direction} {serial}"] = was
                        case "starts again" if was:
                            links[was] = None
                        case "starts again" | "goes on":
                            links[f"{direction} {serial}"] = None
                names.append(links)
            related = {(w, k): random.random() < 0.5 for w in names[0] for k in names[1]}
            tables.enter(names[0], names[1], lambda w, k: related[w, k])  # noqa: B023
            told = {new: told[old] if old else set() for links in names for new, old in links.items()}
            for w, continued in names[0].items():
                asked[w] = dict(asked[continued]) if continued else {}
            for k, continued in names[1].items():
                supported[k] = set(supported[continued]) if continued else set()
            for gone in [one for one in asked if isinstance(one, str) and one not in names[0]]:
                del asked[gone]
            for gone in [one for one in supported if isinstance(one, str) and one not in names[1]]:
                del supported[gone]
        elif random.random() < 0.6:
            source, query = random.choice(list(asked)), random.choice(QUERIES)
            if random.random() < 0.6:
                tables.update_subscriptions(source, [query])
                asked[source][qel.canonical_id(query)] = query
            else:
                tables.update_subscriptions(source, removed=[qel.canonical_id(query)])
                asked[source].pop(qel.canonical_id(query), None)
        else:
            supporter, elements = random.choice(list(supported)), elements_of(random.choice(ADVERTISEMENTS))
            if random.random() < 0.6:
                tables.update_advertisements(supporter, elements)
                supported[supporter] |= elements
            else:
                tables.update_advertisements(supporter, removed=elements)
                supported[supporter] -= elements
        for w in tables.in_links:
            supporters: list[LocalPeer | str] = [*peers, *tables.relayed[w]]
            assert set(tables.adverts_out(w)) == set().union(*(supported[one] for one in supporters))
        for k in tables.out_links:
            beyond = advertisement_of(supported[k])
            sources: list[LocalSubscription | str] = [*local, *tables.relaying[k]]
            eligible = [query for one in sources for query in asked[one].values() if qel.covers(beyond, query)]
            assert tables.subs_out(k).keys() == roots(eligible)
        known = {identity: place.sources for place in tables.poset for identity in place.ids}
        assert known == {
            identity: {source for source, queries in asked.items() if identity in queries}
            for identity in {identity for queries in asked.values() for identity in queries}
        }
        if random.random() < 0.5:  # some links are told; what is unsaid on the others waits
            for w in [w for w in tables.in_links if random.random() < 0.5]:
                added, removed = tables.unsaid.take_elements(w)
                assert removed <= told[w]
                assert not added & told[w]
                told[w] = (told[w] - removed) | added
                assert told[w] == set(tables.adverts_out(w))
            for k in [k for k in tables.out_links if random.random() < 0.5]:
                new, old = tables.unsaid.take_queries(k)
                assert set(old) <= told[k]
                assert not set(map(qel.canonical_id, new)) & told[k]
                told[k] = (told[k] - set(old)) | set(map(qel.canonical_id, new))
                assert told[k] == tables.subs_out(k).keys()


class Backbone:
    """Super-peers in a cube, each with its tables; differences travel in the order in which they were made."""

    def __init__(self, cube: Cube) -> None:
        self.cube = cube
        self.tables: dict[Label, Tables[CubeLink, CubeLink]] = {}
        for label in cube.labels:
            tables = self.tables[label] = Tables()
            in_links, out_links = cube.in_links(label), cube.out_links(label)
            tables.enter(dict.fromkeys(in_links), dict.fromkeys(out_links), lambda w, k: w.dimension < k.dimension)
        self.messages = 0

    def spread(self, origin: Label) -> None:
        pending = deque([origin])
        while pending:
            label = pending.popleft()
            unsaid = self.tables[label].unsaid
            for back in unsaid.in_links:
                arrived = CubeLink(label, back.dimension)
                self.tables[back.label].update_advertisements(arrived, *unsaid.take_elements(back))
                pending.append(back.label)
                self.messages += 1
            for out in unsaid.out_links:
                arrived = CubeLink(label, out.dimension)
                self.tables[out.label].update_subscriptions(arrived, *unsaid.take_queries(out))
                pending.append(out.label)
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
                tables.update_subscriptions(subscription, [query])
                backbone.spread(label)
            elif subscription in asking:
                del asking[subscription]
                tables.update_subscriptions(subscription, removed=[qel.canonical_id(query)])
                backbone.spread(label)
        else:
            number = what % len(advertised)
            offers[label].add(number) if adding else offers[label].discard(number)
            elements = elements_of(advertised[number])
            peer = LocalPeer(str(number))
            changed = (elements, ()) if adding else ((), elements)
            tables.update_advertisements(peer, *changed)
            backbone.spread(label)
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

    backbone.tables[publisher].update_advertisements(LocalPeer("library"), dates)
    backbone.spread(publisher)
    assert backbone.messages == len(cube) - 1  # an advertisement is told to every other super-peer once
    tables.update_subscriptions(first, [general])
    backbone.spread(reader)
    assert backbone.messages == len(cube) - 1 + hops
    tables.update_subscriptions(second, [special])
    tables.update_subscriptions(third, [unserved])
    backbone.spread(reader)
    assert backbone.messages == len(cube) - 1 + hops
    tables.update_subscriptions(first, removed=[qel.canonical_id(general)])
    backbone.spread(reader)
    assert backbone.messages == len(cube) - 1 + 2 * hops  # what comes out goes with what goes
