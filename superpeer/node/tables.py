"""What each link of a super-peer should hold: the routing tables, kept up to date change by change and view by view.

As in BGP, each link has tables for what came in and what went out. With `relays(w, k)` telling whether what comes in on
in-link w may go out on out-link k (in the cube: the dimension rises):

    adverts_out[w] = local ∪ adverts_in[k] for the k that w relays to, as a set of elements
    subs_out[k]    = roots(local ∪ subs_in[w] for the w that relay to k, kept where adverts_in[k] covers)

Subscriptions and queries go out over out-links, advertisements and notifications come back over the same links. A local
peer is a source like any in-link, and its advertisements support elements like those of any out-link.

`unsaid` is what changed on each link since it was last told. The cost goes with the change: an element is compared with
the subscriptions that mention it, a subscription with those that it may cover or be covered by, and another view with
the one before: only where links come and go, or relay to each other where they did not, is anything done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, TypeVar

from qel import Query, Topics, canonical_id
from qel.topics import NO_TOPICS
from qel.values import Description
from superpeer.node.advertisements import AdvertisementIndex, Element
from superpeer.node.beyond import Beyond
from superpeer.node.difference import Difference
from superpeer.node.growing import grown
from superpeer.node.poset import Place, Poset

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


class Tables(Generic[InLink, OutLink]):
    """The tables of all links of one super-peer."""

    def __init__(self) -> None:
        self.poset: Poset[LocalSubscription | InLink] = Poset()
        self.local: AdvertisementIndex[LocalPeer] = AdvertisementIndex()
        self.unsaid: Difference[InLink, OutLink] = Difference()
        self.relayed: dict[InLink, tuple[OutLink, ...]] = {}
        """The out-links that an in-link relays to."""
        self.relaying: dict[OutLink, tuple[InLink, ...]] = {}
        """The in-links that relay to an out-link."""
        self._asked: dict[LocalSubscription | InLink, dict[str, Query]] = {}
        self._beyond: dict[OutLink, Beyond[LocalSubscription | InLink]] = {}
        self._adverts_out: dict[InLink, AdvertisementIndex[LocalPeer | OutLink]] = {}

    @property
    def in_links(self) -> Collection[InLink]:
        return self.relayed.keys()

    @property
    def out_links(self) -> Collection[OutLink]:
        return self.relaying.keys()

    def adverts_in(self, link: OutLink) -> Collection[Element]:
        return self._beyond[link].adverts

    def adverts_out(self, link: InLink) -> Collection[Element]:
        return self._adverts_out[link]

    def subs_in(self, link: InLink) -> Mapping[str, Query]:
        """The subscriptions that are asked for over a link, by their identity."""
        return self._asked.get(link, {})

    def subs_out(self, link: OutLink) -> dict[str, Query]:
        """The subscriptions that were asked beyond a link, by their identity."""
        roots = self._beyond[link].poset.roots
        return dict(sorted(((canonical_id(place.query), place.query) for place in roots), key=itemgetter(0)))

    def covering(self, query: Query) -> Iterator[OutLink]:
        """The links beyond which somebody may publish what a query asks for."""
        return (k for k, beyond in self._beyond.items() if beyond.adverts.covers(query))

    def update_subscriptions(
        self, source: LocalSubscription | InLink, added: Iterable[Query] = (), removed: Iterable[str] = ()
    ) -> None:
        """Somebody asks for queries, and for others, which go by identity, no longer. What replaces a query comes
        before it goes."""
        ways_out = self._ways_out(source)
        asked = self._asked.setdefault(source, {})
        new = {canonical_id(query): query for query in added}
        for identity, query in new.items():
            if identity not in asked:
                asked[identity] = query
                self.poset.insert(query, source)
                for k in ways_out:
                    self.unsaid.note_roots(k, self._beyond[k].ask(query, source))
        for identity in removed:
            if identity in asked and identity not in new:
                self.poset.remove(asked.pop(identity), source)
                for k in ways_out:
                    self.unsaid.note_roots(k, self._beyond[k].forget(identity, source))
        if not asked:
            del self._asked[source]
        self.poset = grown(self.poset)

    def update_advertisements(
        self, supporter: LocalPeer | OutLink, added: Iterable[Element] = (), removed: Iterable[Element] = ()
    ) -> None:
        """A local peer, or somebody beyond an out-link, advertises elements, and others no longer."""
        added, removed = list(added), list(removed)
        if isinstance(supporter, LocalPeer):
            for element in added:
                self.local.add(element, supporter)
            for element in removed:
                self.local.remove(element, supporter)
            ways_in: Iterable[InLink] = self.in_links
        else:
            for change in self._beyond[supporter].advertise(added, removed):
                self.unsaid.note_roots(supporter, change)
            ways_in = self.relaying[supporter]
        for w in ways_in:
            self._support(w, supporter, added)
            self._withdraw(w, supporter, removed)

    def enter(
        self,
        in_links: Mapping[InLink, InLink | None],
        out_links: Mapping[OutLink, OutLink | None],
        relays: Callable[[InLink, OutLink], bool],
    ) -> None:
        """Goes over to other links, each given with the former one that it continues, perhaps under a new name. What
        came in over that is kept; a link that continues none has nothing yet, and was told nothing."""
        self._rename(in_links, out_links)
        before = self.relayed
        gone_in = [w for w in before if w not in in_links or in_links[w] is None]
        gone_out = [k for k in self.relaying if k not in out_links or out_links[k] is None]
        for w in gone_in:
            self._drop_in_link(w)
        for k in gone_out:
            self._drop_out_link(k)
        before = {w: tuple(k for k in before[w] if k in self._beyond) for w in self._adverts_out}
        self.relayed = {w: tuple(k for k in out_links if relays(w, k)) for w in in_links}
        self.relaying = {k: tuple(w for w in in_links if relays(w, k)) for k in out_links}
        for w in in_links:
            if w not in self._adverts_out:
                self._begin_in_link(w)
        for k in out_links:
            if k not in self._beyond:
                self._begin_out_link(k)
        for w, now in self.relayed.items():
            for k in now:
                if k not in before.get(w, ()):
                    self._connect(w, k)
        for w, then in before.items():
            for k in then:
                if k not in self.relayed[w]:
                    self._disconnect(w, k)

    def recipients(
        self, description: Description, arrived: OutLink | None = None, topics: Topics = NO_TOPICS
    ) -> tuple[set[LocalSubscription], set[InLink]]:
        """Whom a notification goes to that came back on an out-link (or from a local peer): the subscriptions of local
        peers that it matches, and the in-links with one that does, each once."""
        (found,) = self.recipients_of_all([((description, topics), arrived)])
        return found

    def recipients_of_all(
        self, batch: Sequence[tuple[tuple[Description, Topics], OutLink | None]]
    ) -> list[tuple[set[LocalSubscription], set[InLink]]]:
        """The same for several notifications, which is cheaper than one by one."""
        found = self.poset.match_all([said for said, _ in batch])
        return [self._sources(places, arrived) for places, (_, arrived) in zip(found, batch, strict=True)]

    def _sources(
        self, places: Iterable[Place[LocalSubscription | InLink]], arrived: OutLink | None
    ) -> tuple[set[LocalSubscription], set[InLink]]:
        local: set[LocalSubscription] = set()
        links: set[InLink] = set()
        for place in places:
            for source in place.sources:
                if isinstance(source, LocalSubscription):
                    local.add(source)
                elif arrived is None or arrived in self.relayed[source]:
                    links.add(source)
        return local, links

    def _ways_out(self, source: LocalSubscription | InLink) -> Collection[OutLink]:
        return self.out_links if isinstance(source, LocalSubscription) else self.relayed[source]

    def _support(self, w: InLink, supporter: LocalPeer | OutLink, elements: Iterable[Element]) -> None:
        index = self._adverts_out[w]
        for element in elements:
            if index.add(element, supporter):
                self.unsaid.add_element(w, element)

    def _withdraw(self, w: InLink, supporter: LocalPeer | OutLink, elements: Iterable[Element]) -> None:
        index = self._adverts_out[w]
        for element in elements:
            if index.remove(element, supporter):
                self.unsaid.remove_element(w, element)

    def _connect(self, w: InLink, k: OutLink) -> None:
        """An in-link relays to an out-link from now on."""
        for query in self.subs_in(w).values():
            self.unsaid.note_roots(k, self._beyond[k].ask(query, w))
        self._support(w, k, self.adverts_in(k))

    def _disconnect(self, w: InLink, k: OutLink) -> None:
        for identity in self.subs_in(w):
            self.unsaid.note_roots(k, self._beyond[k].forget(identity, w))
        self._withdraw(w, k, self.adverts_in(k))

    def _begin_in_link(self, w: InLink) -> None:
        index = self._adverts_out[w] = AdvertisementIndex()
        for element in self.local:
            for peer in self.local.supporters(element):
                index.add(element, peer)
        self.unsaid.replace_elements(w, index)

    def _begin_out_link(self, k: OutLink) -> None:
        """Nothing is known beyond it yet, so nothing is asked there."""
        beyond = self._beyond[k] = Beyond()
        for source, asked in self._asked.items():
            if isinstance(source, LocalSubscription):
                for query in asked.values():
                    self.unsaid.note_roots(k, beyond.ask(query, source))

    def _drop_in_link(self, w: InLink) -> None:
        self.update_subscriptions(w, removed=list(self.subs_in(w)))
        self.unsaid.take_elements(w)
        del self._adverts_out[w]

    def _drop_out_link(self, k: OutLink) -> None:
        for w in self.relaying[k]:
            if w in self._adverts_out:
                self._withdraw(w, k, self.adverts_in(k))
        self.unsaid.take_queries(k)
        del self._beyond[k]

    def _rename(self, in_links: Mapping[InLink, InLink | None], out_links: Mapping[OutLink, OutLink | None]) -> None:
        """Gives links that go on their new names. Nothing that they hold changes."""
        names_in = {old: new for new, old in in_links.items() if old is not None and old != new}
        names_out = {old: new for new, old in out_links.items() if old is not None and old != new}
        assert self.relayed.keys().isdisjoint(names_in.values()), "a link's new name is not another's"
        assert self.relaying.keys().isdisjoint(names_out.values()), "a link's new name is not another's"
        for old, new in names_in.items():
            asked = self._asked.pop(old, None)
            if asked is not None:
                self._asked[new] = asked
                for query in asked.values():
                    self.poset.insert(query, new)
                    self.poset.remove(query, old)
                for k in self.relayed[old]:
                    self._beyond[k].rename(asked, old, new)
            self._adverts_out[new] = self._adverts_out.pop(old)
            self.unsaid.rename_in_link(old, new)
        for old_out, new_out in names_out.items():
            beyond = self._beyond[new_out] = self._beyond.pop(old_out)
            for w in self.relaying[old_out]:
                index = self._adverts_out[names_in.get(w, w)]
                for element in beyond.adverts:
                    index.add(element, new_out)
                    index.remove(element, old_out)
            self.unsaid.rename_out_link(old_out, new_out)
        self.relayed = {
            names_in.get(w, w): tuple(names_out.get(k, k) for k in ways) for w, ways in self.relayed.items()
        }
        self.relaying = {
            names_out.get(k, k): tuple(names_in.get(w, w) for w in ways) for k, ways in self.relaying.items()
        }
