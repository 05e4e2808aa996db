"""What each link of a super-peer should hold: the routing tables of one view, kept up to date change by change.

As in BGP, each link has tables for what came in and what went out. With `relays(w, k)` telling whether what comes in on
in-link w may go out on out-link k (in the cube: the dimension rises):

    adverts_out[w] = local ∪ adverts_in[k] for the k that w relays to, as a set of elements
    subs_out[k]    = roots(local ∪ subs_in[w] for the w that relay to k, kept where adverts_in[k] covers)

Subscriptions and queries go out over out-links, advertisements and notifications come back over the same links. A local
peer is a source like any in-link, and its advertisements support elements like those of any out-link.

Every method returns what changed on which link, and the cost goes with the change: an element is compared with the
subscriptions that mention it, a subscription with those that it may cover or be covered by.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Generic, TypeVar

from qel import Query, Topics, canonical_id
from qel.topics import NO_TOPICS
from qel.values import Description
from superpeer.node.advertisements import AdvertisementIndex, Element, mentioned_by, mentions
from superpeer.node.poset import Change, Poset

InLink = TypeVar("InLink", bound=Hashable)
OutLink = TypeVar("OutLink", bound=Hashable)


@dataclass(frozen=True, slots=True)
class LocalSubscription:
    """A subscription of one of the super-peer's own peers."""

    peer: str
    subscription: str


@dataclass(frozen=True, slots=True)
class LocalPeer:
    """One of the super-peer's own peers, as a supporter of what it advertises."""

    peer: str


@dataclass
class Difference(Generic[InLink, OutLink]):
    """What has to be told to the neighbours: elements to those before, subscriptions to those beyond."""

    elements_added: dict[InLink, set[Element]] = field(default_factory=dict)
    elements_removed: dict[InLink, set[Element]] = field(default_factory=dict)
    queries_added: dict[OutLink, dict[str, Query]] = field(default_factory=dict)
    queries_removed: dict[OutLink, set[str]] = field(default_factory=dict)

    def note_element(self, link: InLink, element: Element, *, added: bool) -> None:
        mine, other = self.elements_added, self.elements_removed
        if not added:
            mine, other = other, mine
        if element in other.get(link, ()):
            _discard(other, link, element)
        else:
            mine.setdefault(link, set()).add(element)

    def note_roots(self, link: OutLink, change: Change) -> None:
        """First what goes, then what comes: a root that goes and comes again is no difference."""
        for query in change.removed:
            identity = canonical_id(query)
            if identity in self.queries_added.get(link, ()):
                del self.queries_added[link][identity]
                if not self.queries_added[link]:
                    del self.queries_added[link]
            else:
                self.queries_removed.setdefault(link, set()).add(identity)
        for query in change.added:
            identity = canonical_id(query)
            if identity in self.queries_removed.get(link, ()):
                _discard(self.queries_removed, link, identity)
            else:
                self.queries_added.setdefault(link, {})[identity] = query

    def __bool__(self) -> bool:
        return bool(self.elements_added or self.elements_removed or self.queries_added or self.queries_removed)


class Tables(Generic[InLink, OutLink]):
    """The tables of all links of one super-peer in one view."""

    def __init__(
        self,
        in_links: Iterable[InLink],
        out_links: Iterable[OutLink],
        relays: Callable[[InLink, OutLink], bool],
    ) -> None:
        self.in_links = tuple(in_links)
        self.out_links = tuple(out_links)
        self.poset: Poset[LocalSubscription | InLink] = Poset()
        self.local: AdvertisementIndex[LocalPeer] = AdvertisementIndex()
        self._beyond = {k: _Beyond[InLink, OutLink](k) for k in self.out_links}
        self._adverts_out: dict[InLink, AdvertisementIndex[LocalPeer | OutLink]] = {
            w: AdvertisementIndex() for w in self.in_links
        }
        self.relayed = {w: tuple(k for k in self.out_links if relays(w, k)) for w in self.in_links}
        self.relaying = {k: tuple(w for w in self.in_links if relays(w, k)) for k in self.out_links}

    def adverts_in(self, link: OutLink) -> Collection[Element]:
        return self._beyond[link].adverts

    def adverts_out(self, link: InLink) -> Collection[Element]:
        return self._adverts_out[link]

    def subs_out(self, link: OutLink) -> dict[str, Query]:
        """The subscriptions that were asked beyond a link, by their identity."""
        roots = self._beyond[link].poset.roots
        return dict(sorted(((canonical_id(place.query), place.query) for place in roots), key=itemgetter(0)))

    def covering(self, query: Query) -> Iterator[OutLink]:
        """The links beyond which somebody may publish what a query asks for."""
        return (k for k, beyond in self._beyond.items() if beyond.adverts.covers(query))

    def update_subscriptions(
        self, source: LocalSubscription | InLink, added: Iterable[Query] = (), removed: Iterable[Query] = ()
    ) -> Difference[InLink, OutLink]:
        """Somebody asks for queries, and for others no longer. Taken together, so that only what differs in the end is
        told: what replaces a query comes before it goes."""
        difference: Difference[InLink, OutLink] = Difference()
        ways_out = self.out_links if isinstance(source, LocalSubscription) else self.relayed[source]
        for query in added:
            self.poset.insert(query, source)
            for k in ways_out:
                difference.note_roots(k, self._beyond[k].ask(query, source))
        for query in removed:
            self.poset.remove(query, source)
            for k in ways_out:
                difference.note_roots(k, self._beyond[k].forget(query, source))
        return difference

    def update_advertisements(
        self, supporter: LocalPeer | OutLink, added: Iterable[Element] = (), removed: Iterable[Element] = ()
    ) -> Difference[InLink, OutLink]:
        """A local peer, or somebody beyond an out-link, advertises elements, and others no longer."""
        difference: Difference[InLink, OutLink] = Difference()
        changes = [*((element, True) for element in added), *((element, False) for element in removed)]
        if isinstance(supporter, LocalPeer):
            for element, is_added in changes:
                _change(self.local, element, supporter, is_added)
            ways_in: Iterable[InLink] = self.in_links
        else:
            for change in self._beyond[supporter].advertise(changes):
                difference.note_roots(supporter, change)
            ways_in = self.relaying[supporter]
        for w in ways_in:
            for element, is_added in changes:
                if _change(self._adverts_out[w], element, supporter, is_added):
                    difference.note_element(w, element, added=is_added)
        return difference

    def recipients(
        self, description: Description, arrived: OutLink | None = None, topics: Topics = NO_TOPICS
    ) -> tuple[set[LocalSubscription], set[InLink]]:
        """Whom a notification goes to that came back on an out-link (or from a local peer): the subscriptions of local
        peers that it matches, and the in-links with one that does, each once."""
        local: set[LocalSubscription] = set()
        links: set[InLink] = set()
        for place in self.poset.match(description, topics):
            for source in place.sources:
                if isinstance(source, LocalSubscription):
                    local.add(source)
                elif arrived is None or arrived in self.relayed[source]:
                    links.add(source)
        return local, links


class _Beyond(Generic[InLink, OutLink]):
    """One out-link: what is advertised beyond it, who asks for what of it, and what of this is asked for there."""

    def __init__(self, link: OutLink) -> None:
        self.adverts: AdvertisementIndex[OutLink] = AdvertisementIndex()
        self.poset: Poset[str] = Poset()
        self._link = link
        self._askers: dict[str, set[LocalSubscription | InLink]] = {}
        self._queries: dict[str, Query] = {}
        self._covered: set[str] = set()
        self._mentioning: dict[str, set[str]] = {}

    def ask(self, query: Query, source: LocalSubscription | InLink) -> Change:
        identity = canonical_id(query)
        if identity in self._askers:
            self._askers[identity].add(source)
            return Change()
        self._askers[identity] = {source}
        self._queries[identity] = query
        for key in mentions(query):
            self._mentioning.setdefault(key, set()).add(identity)
        return self._check(identity)

    def forget(self, query: Query, source: LocalSubscription | InLink) -> Change:
        identity = canonical_id(query)
        askers = self._askers.get(identity)
        if askers is None or source not in askers:
            return Change()
        askers.remove(source)
        if askers:
            return Change()
        del self._askers[identity]
        known = self._queries.pop(identity)
        for key in mentions(known):
            self._mentioning[key].remove(identity)
            if not self._mentioning[key]:
                del self._mentioning[key]
        if identity not in self._covered:
            return Change()
        self._covered.remove(identity)
        return self.poset.remove(known, identity)

    def advertise(self, changes: Iterable[tuple[Element, bool]]) -> Iterator[Change]:
        concerned: set[str] = set()
        for element, is_added in changes:
            if _change(self.adverts, element, self._link, is_added):
                for key in mentioned_by(element):
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
            return self.poset.insert(query, identity)
        self._covered.remove(identity)
        return self.poset.remove(query, identity)


Supporter = TypeVar("Supporter", bound=Hashable)


def _change(index: AdvertisementIndex[Supporter], element: Element, by: Supporter, is_added: bool) -> bool:
    return index.add(element, by) if is_added else index.remove(element, by)


Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def _discard(sets: dict[Key, set[Item]], key: Key, item: Item) -> None:
    """Takes an item out of one of several sets, and the set away with its last item."""
    sets[key].remove(item)
    if not sets[key]:
        del sets[key]
