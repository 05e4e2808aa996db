"""A bibliographic workload: articles with authors, titles, abstracts and years, and subscriptions to them.

Words and authors follow Zipf's law. Words are numbers in letters: what they say does not matter, only how often each
occurs.
"""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate
from random import Random

from qel.names import RDF_TYPE
from qel.values import Description, Kind, Value
from superpeer.dht.publication import Publication, size_of

DC = "http://purl.org/dc/elements/1.1/"
ARTICLE = "http://purl.org/ontology/bibo/Article"
FIRST_YEAR, LAST_YEAR = 1990, 2009
_SYLLABLES = ("ba", "co", "di", "fe", "gu", "ka", "lo", "mi", "ne", "pu", "ra", "so", "ti", "ve", "xu", "zy")


class Bibliography:
    """All of it from one seed."""

    def __init__(self, seed: int, authors: int = 500, words: int = 10_000) -> None:
        self._random = Random(seed)
        self._authors = [
            f"{_word(number * 7 + 3).title()} {_word(number * 13 + 5).title()}" for number in range(authors)
        ]
        self._words = [_word(number) for number in range(words)]
        self._author_weights = list(accumulate(1 / rank for rank in range(1, authors + 1)))
        self._word_weights = list(accumulate(1 / rank for rank in range(1, words + 1)))

    def article(self, serial: int, abstract_words: int = 0) -> Publication:
        description = Description(Value(Kind.URI, f"http://example.org/articles/{serial}"))
        description.values[RDF_TYPE] = [Value(Kind.URI, ARTICLE)]
        authors = dict.fromkeys(self._author() for _ in range(self._random.randint(1, 3)))
        description.values[DC + "creator"] = [Value(Kind.LITERAL, name) for name in authors]
        description.values[DC + "title"] = [Value(Kind.LITERAL, self._text(self._random.randint(4, 10)))]
        description.values[DC + "date"] = [Value(Kind.LITERAL, str(self._year()))]
        if abstract_words:
            description.values[DC + "description"] = [Value(Kind.LITERAL, self._text(abstract_words))]
        return Publication(str(serial), description, size_of(description))

    def author_and_year(self) -> str:
        """A query that every strategy can place: all its tests are equalities, and one is of a number."""
        return f'X : t(X, dc:creator, A) & t(X, dc:date, D) & A = "{self._author()}" & D = "{self._year()}"'

    def two_words(self) -> str:
        """A query for words of a title."""
        one, other = self._word(), self._word()
        return f'X : t(X, dc:title, T) & T words ("{one}" & "{other}")'

    def _author(self) -> str:
        return self._authors[self._rank(self._author_weights)]

    def _word(self) -> str:
        return self._words[self._rank(self._word_weights)]

    def _text(self, words: int) -> str:
        return " ".join(self._word() for _ in range(words))

    def _year(self) -> int:
        return self._random.randint(FIRST_YEAR, LAST_YEAR)

    def _rank(self, weights: list[float]) -> int:
        return min(bisect(weights, self._random.random() * weights[-1]), len(weights) - 1)


def _word(number: int) -> str:
    """Different for different numbers."""
    syllables = []
    number += len(_SYLLABLES)
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    return "".join(syllables)
