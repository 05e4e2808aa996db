"""The poset of subscriptions, ordered by subsumption, as in Section 4.2 of the chapter and in SIENA.

A subscription is held once, however many ask for it: those that mean the same share a place, whose *sources* say where
it came from. A place lies below every more general one; only neighbours are linked (the Hasse diagram), so that the
roots are the places that nothing covers. A notification that a place does not match is matched by nothing below
it, which is why matching starts at the roots and descends only where it succeeds.

Places are found by features (see `features.py`), so that a query is compared with those that it has something in
common with, and not with all roots.

The order is the one `qel.subsumes` decides. It is sound, and where it is not exact it is still reflexive and
transitive; places that cover each other are one place.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import qel
from qel import Query, Topics, canonical_id
from qel.matching import is_met
from qel.topics import NO_TOPICS
from qel.values import Description
from superpeer.node.features import IMPOSSIBLE, Features, features_in, features_of

Source = TypeVar("Source", bound=Hashable)


@lru_cache(maxsize=1 << 17)
def subsumes(general: Query, special: Query) -> bool:
    """As `qel.subsumes`. The same pairs meet again in the poset of every link, and in each at every change."""
    return qel.subsumes(general, special)


class Change(NamedTuple):
    """How the roots changed: the queries that became roots, and those that are no longer."""

    added: tuple[Query, ...] = ()
    removed: tuple[Query, ...] = ()


class Place(Generic[Source]):
    """One meaning in the poset, with the query that stands for it and where it was asked for."""

    __slots__ = ("children", "features", "keys", "other_ids", "parents", "query", "sources")

    features: Features
    """What the query has in common with others; only a poset that finds places by features sets it."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.other_ids: tuple[str, ...] = ()
        self.keys: tuple[int, ...] = ()
        self.sources: set[Source] = set()
        self.parents: set[Place[Source]] = set()
        self.children: set[Place[Source]] = set()

    def __repr__(self) -> str:
        return f"Place({self.query})"

    @property
    def ids(self) -> set[str]:
        """The identities of the queries that share the place."""
        return {canonical_id(self.query), *self.other_ids}


class Poset(Generic[Source]):
    """Subscriptions by generality. Each (query, source) is held once."""

    def __init__(self) -> None:
        self._by_id: dict[str, Place[Source]] = {}
        self._roots: dict[Place[Source], None] = {}
        self._by_key: dict[int, set[Place[Source]]] = {}
        self._by_offer: dict[int, set[Place[Source]]] = {}
        self._size = 0

    def __len__(self) -> int:
        """How many places there are, not how many ask for them."""
        return self._size

    def __iter__(self) -> Iterator[Place[Source]]:
        """Every place, the more general before those that they cover."""
        seen: set[Place[Source]] = set()
        pending = list(self._roots)
        for place in pending:
            if place not in seen and place.parents <= seen:
                seen.add(place)
                yield place
                pending.extend(place.children)

    @property
    def roots(self) -> Collection[Place[Source]]:
        return self._roots.keys()

    def find(self, query: Query) -> Place[Source] | None:
        """The place of a query, if somebody asked for it."""
        return self._by_id.get(canonical_id(query))

    def insert(self, query: Query, source: Source) -> Change:
        """Adds one who asks for a query."""
        place = self.find(query)
        if place is not None:
            place.sources.add(source)
            return Change()
        parents = self._smallest_above(query)
        twin = next((parent for parent in parents if subsumes(query, parent.query)), None)
        if twin is not None:
            twin.sources.add(source)
            twin.other_ids += (canonical_id(query),)
            self._by_id[canonical_id(query)] = twin
            return Change()
        place = Place(query)
        place.sources.add(source)
        self._by_id[canonical_id(query)] = place
        change = self._link(place, parents, self._largest_below(query))
        self._index(place)
        return change

    def remove(self, query: Query, source: Source) -> Change:
        """Takes away one who asked. A place that nobody asks for any more goes, and what it hid comes out."""
        place = self.find(query)
        if place is None or source not in place.sources:
            return Change()
        place.sources.remove(source)
        if place.sources:
            return Change()
        for identity in place.ids:
            del self._by_id[identity]
        self._unindex(place)
        return self._unlink(place)

    def match(self, description: Description, topics: Topics = NO_TOPICS) -> Iterator[Place[Source]]:
        """The places that what is said of one subject matches."""
        candidates = _found(self._by_key, features_in(description))
        pending = [place for place in candidates if not place.parents]
        seen = set(pending)
        while pending:
            place = pending.pop()
            if is_met(place.query, description, topics):
                yield place
                fresh = (place.children & candidates) - seen
                seen |= fresh
                pending.extend(fresh)

    def match_all(self, batch: Sequence[tuple[Description, Topics]]) -> list[Collection[Place[Source]]]:
        """The same for several, each with its topics."""
        return [list(self.match(description, topics)) for description, topics in batch]

    def _smallest_above(self, query: Query) -> set[Place[Source]]:
        """The places that cover a query and have none below them that does."""
        candidates = self._requiring(query)
        smallest: set[Place[Source]] = set()
        pending = [place for place in candidates if not place.parents and subsumes(place.query, query)]
        seen = set(pending)
        while pending:
            place = pending.pop()
            closer = [child for child in place.children & candidates if child in seen or subsumes(child.query, query)]
            if not closer:
                smallest.add(place)
            for child in closer:
                if child not in seen:
                    seen.add(child)
                    pending.append(child)
        return smallest

    def _largest_below(self, query: Query) -> list[Place[Source]]:
        """The places that a query covers and that have none above them that it covers."""
        covered: set[Place[Source]] = set()
        for place in self._offering(query):
            if not place.parents.isdisjoint(covered) or subsumes(query, place.query):
                covered.add(place)
        return [place for place in covered if place.parents.isdisjoint(covered)]

    def _link(self, place: Place[Source], parents: set[Place[Source]], children: list[Place[Source]]) -> Change:
        self._size += 1
        hidden = []
        for child in children:
            for parent in child.parents & parents:
                parent.children.remove(child)
                child.parents.remove(parent)
            if child in self._roots:
                del self._roots[child]
                hidden.append(child.query)
            place.children.add(child)
            child.parents.add(place)
        for parent in parents:
            parent.children.add(place)
            place.parents.add(parent)
        if parents:
            return Change()
        self._roots[place] = None
        return Change((place.query,), tuple(hidden))

    def _unlink(self, place: Place[Source]) -> Change:
        self._size -= 1
        for parent in place.parents:
            parent.children.remove(place)
        uncovered = []
        for child in place.children:
            child.parents.remove(place)
            for parent in place.parents - above(child):
                parent.children.add(child)
                child.parents.add(parent)
            if not child.parents:
                self._roots[child] = None
                uncovered.append(child.query)
        if place not in self._roots:
            return Change()
        del self._roots[place]
        return Change(tuple(uncovered), (place.query,))

    def _requiring(self, query: Query) -> set[Place[Source]]:
        """The places that may cover a query: each of its disjuncts offers what one of theirs requires."""
        first, *others = features_of(query).offered
        if IMPOSSIBLE in first:
            return set(self)
        found = _found(self._by_key, first)
        for offered in others:
            found &= _found(self._by_key, offered)
        return found

    def _offering(self, query: Query) -> set[Place[Source]]:
        """The places that a query may cover: each of their disjuncts offers what one of its own requires."""
        features = features_of(query)
        found = set(self._by_offer.get(IMPOSSIBLE, ()))
        for required in features.required:
            offering = sorted((self._by_offer.get(feature, _NONE) for feature in required), key=len)
            for place in offering[0].intersection(*offering[1:]) if offering[0] else _NONE:
                if len(place.features.offered) == 1 or features.may_cover(place.features):
                    found.add(place)
        return found

    def _index(self, place: Place[Source]) -> None:
        """Enters a place under what its first disjunct offers (whoever covers the place covers that one, too), and for
        each disjunct under the rarest feature that it requires."""
        place.features = features_of(place.query)
        for feature in place.features.offered[0]:
            self._by_offer.setdefault(feature, set()).add(place)
        place.keys = tuple({min(features, key=self._rarity) for features in place.features.required})
        for feature in place.keys:
            self._by_key.setdefault(feature, set()).add(place)

    def _unindex(self, place: Place[Source]) -> None:
        for index, features in ((self._by_key, place.keys), (self._by_offer, place.features.offered[0])):
            for feature in features:
                index[feature].remove(place)
                if not index[feature]:
                    del index[feature]

    def _rarity(self, feature: int) -> int:
        return len(self._by_offer.get(feature, _NONE))


_NONE: frozenset[Any] = frozenset()


def _found(index: dict[int, set[Place[Source]]], features: Iterable[int]) -> set[Place[Source]]:
    """The places with any of some features."""
    return set().union(*(index[feature] for feature in features if feature in index))


def above(place: Place[Source]) -> set[Place[Source]]:
    """All places above one."""
    found = set(place.parents)
    pending = list(found)
    while pending:
        fresh = pending.pop().parents - found
        found |= fresh
        pending.extend(fresh)
    return found
