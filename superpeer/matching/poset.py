"""The poset at scale: the same places, links and roots as those of `superpeer.node.poset`, found without comparing with
everything.

What covers a query is found by the matcher, which takes the query as a notification that meets all it implies
(`superpeer.matching.implication`); what a query covers is found from its most selective test
(`superpeer.matching.postings`). So all places above and below are known, not only the nearest, and the nearest are
those that no other one of them lies between: above, those that are nobody's parent among them; below, those without a
parent among them. Taking a place away compares nothing: its children are linked to its parents unless another way
leads there. Many subscriptions are put in place at once, by finding what covers each (`superpeer.matching.building`).

Places are known by the numbers of the tests that their queries ask for. A query that means the same and asks for
other tests is an *alias*, whose tests stay interned as long as the place is there.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import qel
from qel import Query, Topics, canonical_id
from qel.normal import Disjunct
from qel.topics import NO_TOPICS
from qel.values import Description
from superpeer.matching.building import Asking, Linker
from superpeer.matching.implication import slots_in
from superpeer.matching.matcher import Matcher
from superpeer.matching.records import FlatRange, Tests
from superpeer.matching.underneath import Underneath
from superpeer.node.poset import Change, Place, Poset

Source = TypeVar("Source", bound=Hashable)

_MANY = 256
"""From so many on, and if they are a good part of all, places are linked anew rather than one by one."""


class Alias(NamedTuple):
    """Another query that means the same as that of a place."""

    identity: bytes
    tests: list[Tests]


class IndexedPoset(Poset[Source]):
    """A poset that finds places with a matcher. It can take over the places of one that has grown too large."""

    def __init__(self, former: Poset[Source] | None = None, *, compiled: bool = True) -> None:
        super().__init__()
        self._matcher: Matcher[Place[Source]] = Matcher(compiled=compiled)
        self._underneath: Underneath[Place[Source]] = Underneath(self._matcher)
        self._by_identity: dict[bytes, Place[Source]] = {}
        self._aliases: dict[Place[Source], list[Alias]] = {}
        self._nothing: Place[Source] | None = None
        """The place of what nothing can match, which lies below everything."""
        if former is not None:
            self._take_over(former)

    def find(self, query: Query) -> Place[Source] | None:
        tests = []
        for prime in query.normal_form.primes:
            found = self._known(prime)
            if found is None:
                return self._by_id.get(canonical_id(query)) if self._by_id else None
            tests.append(found)
        return self._at(query, _identity(tests))

    def insert(self, query: Query, source: Source) -> Change:
        primes = query.normal_form.primes
        tests = [self._matcher.intern(prime) for prime in primes]
        identity = _identity(tests)
        place = self._at(query, identity)
        if place is not None:
            self._release(tests)
            place.sources.add(source)
            return Change()
        above = self._above(primes)
        parents = above.difference(*(place.parents for place in above))
        twin = next((parent for parent in parents if qel.subsumes(query, parent.query)), None)
        if twin is not None:
            twin.sources.add(source)
            self._add_alias(twin, query, tests)
            return Change()
        place = Place(query)
        place.sources.add(source)
        change = self._link(place, parents, self._children(query))
        self._by_identity[identity] = place
        self._underneath.add(self._matcher.add_tests(place, tests))
        if not primes:
            self._nothing = place
        return change

    def insert_many(self, asked: Iterable[tuple[Query, Source]]) -> Change:
        """Adds many who ask for queries, which takes less time for each where they are a good part of all."""
        before = set(self._roots)
        new: list[tuple[Place[Source], list[Tests]]] = []
        few: list[tuple[Query, Source]] = []
        asked = list(asked)
        if len(asked) < max(_MANY, self._size // 4):
            few = asked
            asked = []
        for query, source in asked:
            primes = query.normal_form.primes
            if not primes:
                few.append((query, source))
                continue
            tests = [self._matcher.intern(prime) for prime in primes]
            identity = _identity(tests)
            place = self._at(query, identity)
            if place is None:
                place = self._by_identity[identity] = Place(query)
                new.append((place, tests))
            else:
                self._release(tests)
            place.sources.add(source)
        if new:
            self._link_all(new)
        for query, source in few:
            self.insert(query, source)
        added = tuple(place.query for place in self._roots if place not in before)
        return Change(added, tuple(place.query for place in before if place not in self._roots))

    def remove(self, query: Query, source: Source) -> Change:
        place = self.find(query)
        if place is None or source not in place.sources:
            return Change()
        place.sources.remove(source)
        if place.sources:
            return Change()
        self._forget(place)
        return self._unlink(place)

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

    def _take_over(self, former: Poset[Source]) -> None:
        """Goes on with the places and links of another poset, which is not used any more."""
        places = list(former)
        tests = [[self._matcher.intern(prime) for prime in place.query.normal_form.primes] for place in places]
        self._roots, self._size = former._roots, former._size
        self._enter_many(list(zip(places, tests, strict=True)))
        for place, asked in zip(places, tests, strict=True):
            self._by_identity[_identity(asked)] = place
            self._by_id.update(dict.fromkeys(place.other_ids, place))
            if not asked:
                self._nothing = place

    def _enter_many(self, new: Sequence[tuple[Place[Source], list[Tests]]]) -> None:
        self._underneath.add(self._matcher.add_many_tests(new))

    def _link_all(self, new: list[tuple[Place[Source], list[Tests]]]) -> None:
        """Puts new places among those that are there, and makes all links anew."""
        self._enter_many(new)
        old = [place for place in self if place is not self._nothing]
        asking = [Asking(place, place.query.normal_form.primes, self._tests(place)) for place in old]
        asking += [Asking(place, place.query.normal_form.primes, tests) for place, tests in new]
        places = [place for place, _, _ in asking]
        links = Linker(self._matcher).link(asking)
        for place in places:
            place.parents.clear()
            place.children.clear()
        starts, counts, twins = links.starts.tolist(), links.counts.tolist(), links.twins.tolist()
        for i, place in enumerate(places):
            if counts[i]:
                parents = [places[number] for number in links.nearest[starts[i] : starts[i] + counts[i]].tolist()]
                place.parents.update(parents)
                for parent in parents:
                    parent.children.add(place)
        for i in [i for i, twin in enumerate(twins) if twin != i]:
            self._merge(places[i], places[twins[i]])
        kept = [place for i, place in enumerate(places) if twins[i] == i]
        self._roots = {place: None for place in kept if not place.parents}
        self._size = len(kept)
        if self._nothing is not None:
            self._nothing.parents.clear()
            lowest = {place for place in kept if not place.children}
            self._roots.pop(self._nothing, None)
            self._link(self._nothing, lowest, [])

    def _merge(self, place: Place[Source], twin: Place[Source]) -> None:
        """Makes of a place that was entered an alias of another."""
        twin.sources |= place.sources
        tests = [self._matcher.intern(prime) for prime in place.query.normal_form.primes]
        self._forget(place)
        self._add_alias(twin, place.query, tests)
        twin.other_ids += place.other_ids

    def _add_alias(self, place: Place[Source], query: Query, tests: list[Tests]) -> None:
        identity = _identity(tests)
        place.other_ids += (canonical_id(query),)
        self._by_identity[identity] = place
        self._aliases.setdefault(place, []).append(Alias(identity, tests))

    def _forget(self, place: Place[Source]) -> None:
        for known_as in place.other_ids:
            self._by_id.pop(known_as, None)
        for alias in self._aliases.pop(place, ()):
            del self._by_identity[alias.identity]
            self._release(alias.tests)
        del self._by_identity[_identity(self._tests(place))]
        self._underneath.remove(place)
        self._matcher.remove(place)
        if place is self._nothing:
            self._nothing = None

    def _above(self, primes: Sequence[Disjunct]) -> set[Place[Source]]:
        """All places that cover a query."""
        if not primes:
            return set(self)
        found = set(self._matcher.implied_by(primes[0]))
        for prime in primes[1:]:
            if found:
                found.intersection_update(self._matcher.implied_by(prime))
        return found

    def _children(self, query: Query) -> list[Place[Source]]:
        """The places that a query covers and that have none above them that it covers."""
        covered, doubted = self._underneath.find(query.normal_form.primes)
        covered.update(place for place in doubted if qel.subsumes(query, place.query))
        if self._nothing is not None:
            covered.add(self._nothing)
        return [place for place in covered if place.parents.isdisjoint(covered)]

    def _at(self, query: Query, identity: bytes) -> Place[Source] | None:
        found = self._by_identity.get(identity)
        return self._by_id.get(canonical_id(query)) if found is None and self._by_id else found

    def _known(self, disjunct: Disjunct) -> Tests | None:
        """What a disjunct asks for, if others do, too."""
        slots: list[int] = []
        ranges: list[FlatRange] = []
        for name, region in slots_in(disjunct):
            test = self._matcher.slots.known(name, region)
            if test is None:
                return None
            if isinstance(test, FlatRange):
                ranges.append(test)
            elif test not in slots:
                slots.append(test)
        return Tests(tuple(slots), tuple(ranges))

    def _tests(self, place: Place[Source]) -> list[Tests]:
        return [Tests(record.slots, record.ranges) for record in self._matcher.records(place)]

    def _release(self, tests: Iterable[Tests]) -> None:
        for each in tests:
            self._matcher.release(each)


def _identity(asked: Sequence[Tests]) -> bytes:
    """One name for what is asked for: the numbers of tests in order. Disjuncts and tests have no order."""
    if len(asked) == 1:
        return _words(asked[0])
    return b"".join(sorted(len(words).to_bytes(8, "big") + words for words in map(_words, asked)))


def _words(tests: Tests) -> bytes:
    words = array("q", sorted(tests.slots))
    words.append(-1)
    for test in sorted(tests.ranges):
        words.extend(test)
    return words.tobytes()
