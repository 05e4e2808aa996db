"""The poset of subscriptions, ordered by subsumption, as in Section 4.2 of the chapter and in SIENA.

A subscription is held once, however many ask for it: those that mean the same share a place, whose *sources* say where
it came from. A place lies below every more general one; only neighbours are linked (the Hasse diagram), so that the
roots are the places that nothing covers. A notification that a place does not match is matched by nothing below
it, which is why matching starts at the roots and descends only where it succeeds.

The order is the one `qel.subsumes` decides. It is sound, and where it is not exact it is still reflexive and
transitive; places that cover each other are one place.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

from qel import Query, Topics, canonical_id, subsumes
from qel.matching import is_met
from qel.topics import NO_TOPICS
from qel.values import Description

Source = TypeVar("Source", bound=Hashable)


class Change(NamedTuple):
    """How the roots changed: the queries that became roots, and those that are no longer."""

    added: tuple[Query, ...] = ()
    removed: tuple[Query, ...] = ()


class Place(Generic[Source]):
    """One meaning in the poset, with the query that stands for it and where it was asked for."""

    __slots__ = ("children", "ids", "parents", "query", "sources")

    def __init__(self, query: Query) -> None:
        self.query = query
        self.ids = {canonical_id(query)}
        self.sources: set[Source] = set()
        self.parents: set[Place[Source]] = set()
        self.children: set[Place[Source]] = set()

    def __repr__(self) -> str:
        return f"Place({self.query})"


class Poset(Generic[Source]):
    """Subscriptions by generality. Each (query, source) is held once."""

    def __init__(self) -> None:
        self._by_id: dict[str, Place[Source]] = {}
        self._roots: dict[Place[Source], None] = {}
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
        place = Place(query)
        parents = self._smallest_above(query)
        twin = next((parent for parent in parents if subsumes(query, parent.query)), None)
        if twin is not None:
            twin.sources.add(source)
            twin.ids.add(canonical_id(query))
            self._by_id[canonical_id(query)] = twin
            return Change()
        place.sources.add(source)
        self._by_id[canonical_id(query)] = place
        self._size += 1
        return self._link(place, parents, self._largest_below(query, parents))

    def remove(self, query: Query, source: Source) -> Change:
        """Takes away one who asked. A place that nobody asks for any more goes, and what it hid comes out."""
        place = self.find(query)
        if place is None or source not in place.sources:
            return Change()
        place.sources.remove(source)
        return Change() if place.sources else self._unlink(place)

    def match(self, description: Description, topics: Topics = NO_TOPICS) -> Iterator[Place[Source]]:
        """The places that what is said of one subject matches."""
        seen: set[Place[Source]] = set(self._roots)
        pending = list(self._roots)
        while pending:
            place = pending.pop()
            if is_met(place.query, description, topics):
                yield place
                fresh = place.children - seen
                seen |= fresh
                pending.extend(fresh)

    def _smallest_above(self, query: Query) -> set[Place[Source]]:
        """The places that cover a query and have none below them that does."""
        smallest: set[Place[Source]] = set()
        pending = [root for root in self._roots if subsumes(root.query, query)]
        seen = set(pending)
        while pending:
            place = pending.pop()
            closer = [child for child in place.children if child in seen or subsumes(child.query, query)]
            if not closer:
                smallest.add(place)
            for child in closer:
                if child not in seen:
                    seen.add(child)
                    pending.append(child)
        return smallest

    def _largest_below(self, query: Query, parents: set[Place[Source]]) -> list[Place[Source]]:
        """The places that a query covers and that have none above them that it covers. They lie below all its
        parents, so it is enough to look below one."""
        pending = list(min([parent.children for parent in parents], key=len) if parents else self._roots)
        covered: list[Place[Source]] = []
        seen = set(pending)
        while pending:
            place = pending.pop()
            if subsumes(query, place.query):
                covered.append(place)
                continue
            fresh = place.children - seen
            seen |= fresh
            pending.extend(fresh)
        return [
            place
            for place in covered
            if not any(other is not place and subsumes(other.query, place.query) for other in covered)
        ]

    def _link(self, place: Place[Source], parents: set[Place[Source]], children: list[Place[Source]]) -> Change:
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
        for identity in place.ids:
            del self._by_id[identity]
        self._size -= 1
        for parent in place.parents:
            parent.children.remove(place)
        uncovered = []
        for child in place.children:
            child.parents.remove(place)
            for parent in place.parents:
                if not any(subsumes(other.query, child.query) for other in parent.children):
                    parent.children.add(child)
                    child.parents.add(parent)
            if not child.parents:
                self._roots[child] = None
                uncovered.append(child.query)
        if place not in self._roots:
            return Change()
        del self._roots[place]
        return Change(tuple(uncovered), (place.query,))
