"""The poset at scale: the same places, links and roots as those of `superpeer.node.poset`, found without comparing with
everything.

What covers a query is found by the matcher, which takes the query as a notification that meets all it implies; what a
query covers is found from its most selective slot (`superpeer.matching.postings`). Both give a few candidates more
than there are, which `qel.subsumes` decides. So all places above and below are known, not only the nearest, and the
nearest are those that no other one of them lies between: above, those that are nobody's parent among them; below,
those without a parent among them.

Where the most selective slot leaves many candidates (a query for a range alone), the places below the parents are
searched instead, from the top, if these are fewer. Taking a place away compares nothing: its children are linked to
its parents unless another way leads there.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import TypeVar

from qel import Query, Topics
from qel.topics import NO_TOPICS
from qel.values import Description
from superpeer.matching.matcher import Matcher
from superpeer.matching.postings import Postings
from superpeer.node.poset import Place, Poset, above, subsumes

Source = TypeVar("Source", bound=Hashable)


class IndexedPoset(Poset[Source]):
    """A poset that finds places with a matcher. It can take over the places of one that has grown too large."""

    def __init__(self, former: Poset[Source] | None = None, *, compiled: bool = True) -> None:
        super().__init__()
        self._matcher: Matcher[Place[Source]] = Matcher(compiled=compiled)
        self._postings: Postings[Place[Source]] = Postings()
        self._nothing: Place[Source] | None = None
        """The place of what nothing can match, which lies below everything."""
        if former is not None:
            self._take_over(former)

    def match(self, description: Description, topics: Topics = NO_TOPICS) -> Iterator[Place[Source]]:
        """The places that what is said of one subject matches."""
        return iter(self._matcher.match(description, topics))

    def match_all(self, batch: Sequence[tuple[Description, Topics]]) -> list[Collection[Place[Source]]]:
        """The same for several, each with its topics. The kernels take those together that have none."""
        without = iter(self._matcher.match_many([description for description, topics in batch if topics is NO_TOPICS]))
        return [
            list(next(without) if topics is NO_TOPICS else self._matcher.match(description, topics))
            for description, topics in batch
        ]

    def memory_bytes(self) -> int:
        """What the matcher within holds. Places, links and postings are Python's objects and not counted."""
        return self._matcher.memory_bytes()

    def _smallest_above(self, query: Query) -> set[Place[Source]]:
        above = self._above(query)
        return above - {parent for place in above for parent in place.parents}

    def _above(self, query: Query) -> set[Place[Source]]:
        """All places that cover a query."""
        primes = query.normal_form.primes
        if not primes:
            return set(self)
        found: set[Place[Source]] | None = None
        for prime in primes:
            mine = set(self._matcher.implied_by(prime))
            found = mine if found is None else found & mine
            if not found:
                break
        assert found is not None
        return {place for place in found if subsumes(place.query, query)}

    def _largest_below(self, query: Query, parents: set[Place[Source]]) -> list[Place[Source]]:
        tops = min((parent.children for parent in parents), key=len) if parents else self._roots.keys()
        candidates = [self._postings.below(prime) for prime in query.normal_form.primes]
        if len(tops) < sum(found.most for found in candidates):
            return self._search(query, tops)
        listed = {place for found in candidates for places in found.sets for place in places}
        covered = {place for place in listed if subsumes(query, place.query)}
        if self._nothing is not None:
            covered.add(self._nothing)
        return [place for place in covered if place.parents.isdisjoint(covered)]

    def _search(self, query: Query, tops: Collection[Place[Source]]) -> list[Place[Source]]:
        """The same, from places below which all that the query covers lies."""
        pending = list(tops)
        seen = set(pending)
        covered: set[Place[Source]] = set()
        while pending:
            place = pending.pop()
            if subsumes(query, place.query):
                covered.add(place)
            else:
                fresh = place.children - seen
                seen |= fresh
                pending.extend(fresh)
        return [place for place in covered if not self._is_below(place, covered)]

    def _is_below(self, place: Place[Source], others: set[Place[Source]]) -> bool:
        return not others.isdisjoint(above(place))

    def _index(self, place: Place[Source]) -> None:
        primes = place.query.normal_form.primes
        if not primes:
            self._nothing = place
        self._matcher.add_disjuncts(place, primes)
        self._postings.add(place, primes)

    def _unindex(self, place: Place[Source]) -> None:
        self._matcher.remove(place)
        self._postings.remove(place, place.query.normal_form.primes)
        if place is self._nothing:
            self._nothing = None
