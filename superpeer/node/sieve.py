"""A sieve: which of some subscriptions a publication matches, for those who look through a log.

A few are tried one by one. Many stand in a poset, which takes a while to make and is kept for the next page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from qel import Query
from superpeer.node.forms import read_query
from superpeer.node.growing import grown
from superpeer.node.poset import Poset
from superpeer.node.publications import Publication

FEW = 20


class Sieve(Protocol):
    """Some subscriptions, by their position."""

    tests: int
    """What looking at a publication costs, in tests of one subscription, and hardly more."""

    def matching(self, publication: Publication) -> Iterable[int]: ...


def sieve_of(texts: Sequence[str]) -> Sieve:
    return Few([read_query(text) for text in texts]) if len(texts) <= FEW else _many(tuple(texts))


class Few:
    """Tried one by one."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._queries = queries
        self.tests = max(1, len(queries))

    def matching(self, publication: Publication) -> Iterable[int]:
        return (position for position, query in enumerate(self._queries) if publication.meets(query))


class Many:
    """In a poset."""

    def __init__(self, texts: Iterable[str]) -> None:
        poset: Poset[int] = Poset()
        for position, text in enumerate(texts):
            poset.insert(read_query(text), position)
            poset = grown(poset)
        self._poset = poset
        # One that has grown has an index.
        self.tests = len(poset.roots) if type(poset) is Poset else FEW

    def matching(self, publication: Publication) -> Iterable[int]:
        places = self._poset.match(*publication.said)
        return sorted(position for place in places for position in place.sources)


@lru_cache(maxsize=32)
def _many(texts: tuple[str, ...]) -> Many:
    return Many(texts)
