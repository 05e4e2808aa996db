"""What changed on links and has not been told yet. What goes and comes again is no difference."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from qel import Query, canonical_id
from superpeer.node.advertisements import Element
from superpeer.node.poset import Change

InLink = TypeVar("InLink", bound=Hashable)
OutLink = TypeVar("OutLink", bound=Hashable)


@dataclass
class Difference(Generic[InLink, OutLink]):
    """What has to be told to the neighbours: elements to those before, subscriptions to those beyond."""

    elements_added: dict[InLink, set[Element]] = field(default_factory=dict)
    elements_removed: dict[InLink, set[Element]] = field(default_factory=dict)
    queries_added: dict[OutLink, dict[str, Query]] = field(default_factory=dict)
    queries_removed: dict[OutLink, set[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.elements_added or self.elements_removed or self.queries_added or self.queries_removed)

    @property
    def in_links(self) -> set[InLink]:
        """Those that have to be told of elements."""
        return {*self.elements_added, *self.elements_removed}

    @property
    def out_links(self) -> set[OutLink]:
        """Those that have to be told of subscriptions."""
        return {*self.queries_added, *self.queries_removed}

    def add_element(self, link: InLink, element: Element) -> None:
        if not _discard(self.elements_removed, link, element):
            self.elements_added.setdefault(link, set()).add(element)

    def remove_element(self, link: InLink, element: Element) -> None:
        if not _discard(self.elements_added, link, element):
            self.elements_removed.setdefault(link, set()).add(element)

    def add_query(self, link: OutLink, query: Query) -> None:
        identity = canonical_id(query)
        if not _discard(self.queries_removed, link, identity):
            self.queries_added.setdefault(link, {})[identity] = query

    def remove_query(self, link: OutLink, identity: str) -> None:
        if not _discard(self.queries_added, link, identity):
            self.queries_removed.setdefault(link, set()).add(identity)

    def note_roots(self, link: OutLink, change: Change) -> None:
        for query in change.removed:
            self.remove_query(link, canonical_id(query))
        for query in change.added:
            self.add_query(link, query)

    def take_elements(self, link: InLink) -> tuple[frozenset[Element], frozenset[Element]]:
        """The elements that came and went on a link, which is about to be told."""
        return frozenset(self.elements_added.pop(link, ())), frozenset(self.elements_removed.pop(link, ()))

    def take_queries(self, link: OutLink) -> tuple[tuple[Query, ...], tuple[str, ...]]:
        """The subscriptions that came and went on a link, which is about to be told; in the order of their ids."""
        added = sorted(self.queries_added.pop(link, {}).items())
        return tuple(query for _, query in added), tuple(sorted(self.queries_removed.pop(link, ())))

    def replace_elements(self, link: InLink, table: Iterable[Element]) -> None:
        """The link has to be told all there is, from nothing."""
        self.take_elements(link)
        whole = set(table)
        if whole:
            self.elements_added[link] = whole

    def replace_queries(self, link: OutLink, table: dict[str, Query]) -> None:
        """The link has to be told all there is, from nothing."""
        self.take_queries(link)
        if table:
            self.queries_added[link] = dict(table)

    def rename_in_link(self, old: InLink, new: InLink) -> None:
        _rename(old, new, self.elements_added, self.elements_removed)

    def rename_out_link(self, old: OutLink, new: OutLink) -> None:
        _rename(old, new, self.queries_added, self.queries_removed)


def _discard(held: dict[Any, Any], link: Hashable, item: Hashable) -> bool:
    """Takes an item out of what is held for a link, and the link away with its last item; whether it was there."""
    items = held.get(link)
    if items is None or item not in items:
        return False
    if isinstance(items, dict):
        del items[item]
    else:
        items.remove(item)
    if not items:
        del held[link]
    return True


def _rename(old: Hashable, new: Hashable, *held: dict[Any, Any]) -> None:
    for items in held:
        if old in items:
            items[new] = items.pop(old)
