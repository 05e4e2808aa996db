"""One out-link: what is advertised beyond it, who asks for what of it, and what of this is asked for there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from qel import Query, canonical_id
from superpeer.node.advertisements import AdvertisementIndex, Element, mentioned_by, mentions
from superpeer.node.growing import grown
from superpeer.node.poset import Change, Poset

Asker = TypeVar("Asker", bound=Hashable)


class Beyond(Generic[Asker]):
    """What lies beyond one out-link. Every method that changes it says how the roots of what is asked there changed."""

    def __init__(self) -> None:
        self.adverts: AdvertisementIndex[None] = AdvertisementIndex()
        self.poset: Poset[str] = Poset()
        self._askers: dict[str, set[Asker]] = {}
        self._queries: dict[str, Query] = {}
        self._covered: set[str] = set()
        self._mentioning: dict[str, set[str]] = {}

    def ask(self, query: Query, source: Asker) -> Change:
        identity = canonical_id(query)
        if identity in self._askers:
            self._askers[identity].add(source)
            return Change()
        self._askers[identity] = {source}
        self._queries[identity] = query
        for key in mentions(query):
            self._mentioning.setdefault(key, set()).add(identity)
        return self._check(identity)

    def forget(self, identity: str, source: Asker) -> Change:
        askers = self._askers.get(identity)
        if askers is None or source not in askers:
            return Change()
        askers.remove(source)
        if askers:
            return Change()
        del self._askers[identity]
        query = self._queries.pop(identity)
        for key in mentions(query):
            self._mentioning[key].remove(identity)
            if not self._mentioning[key]:
                del self._mentioning[key]
        if identity not in self._covered:
            return Change()
        self._covered.remove(identity)
        return self.poset.remove(query, identity)

    def rename(self, identities: Iterable[str], old: Asker, new: Asker) -> None:
        """Some queries are asked for by somebody under another name."""
        for identity in identities:
            askers = self._askers[identity]
            askers.remove(old)
            askers.add(new)

    def advertise(self, added: Iterable[Element], removed: Iterable[Element]) -> Iterator[Change]:
        changed = [element for element in added if self.adverts.add(element, None)]
        changed += [element for element in removed if self.adverts.remove(element, None)]
        concerned: set[str] = set()
        for key in {key for element in changed for key in mentioned_by(element)}:
            concerned |= self._mentioning.get(key, set())
        return map(self._check, sorted(concerned))

    def _check(self, identity: str) -> Change:
        """Enters a subscription that is covered, and takes out one that is not any more."""
        query = self._queries[identity]
        covered = self.adverts.covers(query)
        if covered == (identity in self._covered):
            return Change()
        if covered:
            self._covered.add(identity)
            change = self.poset.insert(query, identity)
            self.poset = grown(self.poset)
            return change
        self._covered.remove(identity)
        return self.poset.remove(query, identity)
