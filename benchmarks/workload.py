"""A seeded bibliographic workload: subscriptions and publications as a digital library would see them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from rdflib import DC, RDF, Literal, URIRef

_SYLLABLES = ["ba", "ko", "ne", "ri", "sta", "mu", "lin", "der", "os", "fa", "ju", "per", "wol", "chi", "ta"]
_CLASSES = ["article", "book", "report"]


class Bibliography:
    """Names, words and years with Zipf-distributed popularity, all from one seed."""

    def __init__(self, seed: int, authors: int = 2_000, words: int = 3_000, syllables: int = 3) -> None:
        """Names have so many syllables, and words one less: with more of them, fewer names are the same."""
        self._random = random.Random(seed)
        self._authors = [self._name(syllables) for _ in range(authors)]
        self._words = [self._name(syllables - 1).lower() for _ in range(words)]
        self._author_weights = list(accumulate(1 / rank for rank in range(1, authors + 1)))
        self._word_weights = list(accumulate(1 / rank for rank in range(1, words + 1)))

    @property
    def authors(self) -> list[str]:
        """The most popular first."""
        return list(self._authors)

    def subscriptions(self, number: int) -> Iterator[str]:
        """Queries for authors, words of titles and years, some of them unions."""
        for _ in range(number):
            kind = self._random.random()
            year = self._random.randint(1980, 2025)
            if kind < 0.4:
                yield f'X : t(X, dc:creator, Y) & Y contains "{self._author()}"'
            elif kind < 0.6:
                yield f'X : t(X, dc:creator, Y) & t(X, dc:date, D) & Y contains "{self._author()}" & D >= {year}'
            elif kind < 0.8:
                span = self._random.randint(1, 20)
                yield (
                    f"X : t(X, rdf:type, dc:{self._random.choice(_CLASSES)}) & t(X, dc:title, T) & t(X, dc:date, D)"
                    f' & T contains "{self._word()}" & D >= {year} & D <= {year + span}'
                )
            else:
                yield (
                    "X : t(X, dc:creator, Y) & t(X, dc:date, D)"
                    f' & (Y contains "{self._author()}" & D < {year} | Y contains "{self._author()}" & D >= {year})'
                )

    def publications(self, number: int) -> Iterator[list[tuple[Any, Any, Any]]]:
        for i in range(number):
            resource = URIRef(f"http://example.org/publications/{i}")
            triples = [
                (resource, RDF.type, URIRef(str(DC) + self._random.choice(_CLASSES))),
                (resource, DC.title, Literal(" ".join(self._word() for _ in range(8)))),
                (resource, DC.date, Literal(str(self._random.randint(1980, 2025)))),
            ]
            triples += [(resource, DC.creator, Literal(self._author())) for _ in range(self._random.randint(1, 4))]
            yield triples

    def _author(self) -> str:
        return self._random.choices(self._authors, cum_weights=self._author_weights)[0]

    def _word(self) -> str:
        return self._random.choices(self._words, cum_weights=self._word_weights)[0]

    def _name(self, syllables: int) -> str:
        return "".join(self._random.choices(_SYLLABLES, k=syllables)).capitalize()


def subscriptions_of_others(seed: int, count: int) -> Iterator[str]:
    """What many ask for, of which a publication from the usual vocabulary matches one or two: one in a hundred asks in
    that vocabulary, the others for names and words that are rarer."""
    usual = Bibliography(seed).subscriptions(count // 100)
    rare = Bibliography(seed, authors=max(2_000, count // 2), words=30_000, syllables=5).subscriptions(count)
    for number in range(count):
        yield next(usual) if number % 100 == 99 else next(rare)
