"""Seeded workloads for the matcher: what libraries publish, and what their readers ask for.

`Bibliographic`  authors, subjects, words of titles and years. Interests follow Zipf's law with exponent 1.0, so that
thousands ask
                 for the same; publications are spread more evenly over authors (exponent 0.5, which gives the most
                 prolific one in two hundred papers, as in real catalogues), and words of titles follow Zipf with
                 exponent 1.0, of which the hundred most common are in nobody's interest.
`Ranges`         integer ranges on some of twenty attributes, each range as wide as a given part of the domain.
`Mixed`          all operators of the language, unions, languages, dates at any precision, several slots on one
property.
"""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox

from qel.dates import read_date
from qel.names import PREFIXES, RDF_TYPE
from qel.normal import Disjunct, Slot
from qel.regions import ANY, integers
from qel.syntax import (
    And,
    Atom,
    Compare,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Operator,
    Or,
    Query,
    Similar,
    StringIs,
    Test,
    TriplePattern,
    UriIs,
    Within,
    Words,
)
from qel.text import Chain, Gap
from qel.values import View

DC = PREFIXES["dc"]
CREATOR, SUBJECT, TITLE, DATE = DC + "creator", DC + "subject", DC + "title", DC + "date"
PART_OF = PREFIXES["dcterms"] + "isPartOf"
EXTENT, ISSUED = DC + "format", "http://purl.org/dc/terms/issued"
CLASSES = [DC + name for name in ("article", "book", "report", "thesis", "dataset")]
CLASS_WEIGHTS = [0.5, 0.75, 0.87, 0.95, 1.0]
STOP_WORDS = 100

_SYLLABLES = [
    "ba",
    "ko",
    "ne",
    "ri",
    "sta",
    "mu",
    "lin",
    "der",
    "os",
    "fa",
    "ju",
    "per",
    "wol",
    "chi",
    "ta",
    "gor",
    "hel",
    "ik",
    "lu",
    "men",
    "nor",
    "pa",
    "qua",
    "ros",
    "sil",
    "tur",
    "ul",
    "ven",
    "wa",
    "zan",
]

Publication = list[Any]


class Zipf:
    """Ranks drawn with a probability that falls with a power of the rank."""

    def __init__(self, size: int, exponent: float) -> None:
        self._ranks = range(size)
        self._weights = list(accumulate((rank + 1) ** -exponent for rank in range(size)))

    def draw(self, source: random.Random, count: int = 1) -> list[int]:
        return source.choices(self._ranks, cum_weights=self._weights, k=count)


class Bibliographic:
    name = "bibliographic"
    subject_property = SUBJECT

    def __init__(self, seed: int, authors: int = 100_000, subjects: int = 20_000, words: int = 30_000) -> None:
        self._random = random.Random(seed)
        last_names = _names(self._random, authors // 5, 3)
        first_names = _names(self._random, 500, 2)
        self.authors = [(self._random.choice(first_names), last_names[i % len(last_names)]) for i in range(authors)]
        self._random.shuffle(self.authors)
        self.subjects = [f"http://example.org/subjects/{i}" for i in range(subjects)]
        self.words = [name.lower() for name in _names(self._random, words, 3)]
        self._interest_in_authors = Zipf(authors, 1.0)
        self._interest_in_subjects = Zipf(subjects, 1.0)
        self._interest_in_words = Zipf(words - STOP_WORDS, 1.0)
        self._writing = Zipf(authors, 0.5)
        self._cataloguing = Zipf(subjects, 0.7)
        self._wording = Zipf(words, 1.0)

    def queries(self, number: int) -> Iterator[Query]:
        for _ in range(number):
            yield self._query(self._random.random())

    def disjuncts(self, number: int) -> Iterator[Sequence[Disjunct]]:
        return (query.normal_form.disjuncts for query in self.queries(number))

    def publications(self, number: int) -> Iterator[Publication]:
        source = self._random
        for i in range(number):
            resource = ox.NamedNode(f"http://example.org/publications/{i}")
            about: list[tuple[str, Any]] = [
                (RDF_TYPE, ox.NamedNode(source.choices(CLASSES, cum_weights=CLASS_WEIGHTS)[0])),
                (TITLE, ox.Literal(" ".join(self.words[w] for w in self._wording.draw(source, source.randint(5, 12))))),
                (DATE, ox.Literal(str(self._year()))),
            ]
            authors = self._writing.draw(source, source.randint(1, 5))
            about += [(CREATOR, ox.Literal(" ".join(self.authors[author]))) for author in authors]
            subjects = self._cataloguing.draw(source, source.randint(1, 3))
            about += [(SUBJECT, ox.NamedNode(self.subjects[subject])) for subject in subjects]
            yield [ox.Triple(resource, _node(name), value) for name, value in about]

    def _query(self, kind: float) -> Query:
        source = self._random
        if kind < 0.20:
            return conjunction((CREATOR, StringIs(self._author())))
        if kind < 0.28:
            return conjunction((CREATOR, Contains(self._last_name())))
        if kind < 0.48:
            return conjunction((CREATOR, StringIs(self._author())), (DATE, _at_least(self._year())))
        if kind < 0.63:
            year = self._year()
            return conjunction(
                (self.subject_property, UriIs(self._subject())),
                (DATE, _at_least(year)),
                (DATE, Compare(Operator.AT_MOST, View.INTEGER, year + source.randint(1, 20))),
            )
        if kind < 0.73:
            return conjunction((self.subject_property, UriIs(self._subject())), (TITLE, Contains(self._word())))
        if kind < 0.85:
            return conjunction(
                (RDF_TYPE, UriIs(source.choice(CLASSES))),
                (TITLE, Contains(self._word())),
                (DATE, _at_least(self._year())),
            )
        if kind < 0.92:
            return conjunction((TITLE, Contains(self._word())), (TITLE, Contains(self._word())))
        if kind < 0.99:
            either = [Test("V0", StringIs(self._author())) for _ in range(2)]
            return Query(("X",), "X", (TriplePattern(CREATOR, "V0"),), Or(tuple(either)))
        year = self._year()
        return conjunction(
            (RDF_TYPE, UriIs(source.choice(CLASSES))),
            (DATE, _at_least(year)),
            (DATE, Compare(Operator.AT_MOST, View.INTEGER, year + source.randint(0, 3))),
        )

    def _author(self) -> str:
        return " ".join(self.authors[self._interest_in_authors.draw(self._random)[0]])

    def _last_name(self) -> str:
        return self.authors[self._interest_in_authors.draw(self._random)[0]][1]

    def _subject(self) -> str:
        return self.subjects[self._interest_in_subjects.draw(self._random)[0]]

    def _word(self) -> str:
        return self.words[STOP_WORDS + self._interest_in_words.draw(self._random)[0]]

    def _year(self) -> int:
        return 2025 - min(int(self._random.expovariate(1 / 15)), 75)


class Catalogue(Bibliographic):
    """Publications of a real catalogue in N-Triples, in the order of the file, and interests in what it has: its
    authors, the words of its titles and what its publications are part of, each ranked by how often it occurs."""

    def __init__(self, seed: int, path: str, most: int = 2_000_000) -> None:
        super().__init__(seed, authors=10, subjects=10, words=STOP_WORDS + 10)
        self.name = Path(path).name.partition(".")[0]
        found: dict[Any, Publication] = {}
        counts: dict[str, Counter[str]] = {CREATOR: Counter(), TITLE: Counter(), PART_OF: Counter()}
        with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as stream:
            for quad in islice(ox.parse(cast(Any, stream), format=ox.RdfFormat.N_TRIPLES, lenient=True), most):
                found.setdefault(quad.subject, []).append(quad.triple)
                counter = counts.get(quad.predicate.value)
                if counter is not None:
                    text = quad.object.value
                    counter.update(text.lower().split() if counter is counts[TITLE] else [text])
        self._published = [triples for triples in found.values() if len(triples) > 2]
        self._random.shuffle(self._published)
        names = [name.rpartition(" ") for name, _ in counts[CREATOR].most_common()]
        self.authors = [(first, last) for first, _, last in names]
        self.subjects = [part for part, _ in counts[PART_OF].most_common()]
        self.words = [word for word, _ in counts[TITLE].most_common() if len(word) > 2]
        self._interest_in_authors = Zipf(len(self.authors), 1.0)
        self._interest_in_subjects = Zipf(len(self.subjects), 1.0)
        self._interest_in_words = Zipf(len(self.words) - STOP_WORDS, 1.0)
        self.subject_property = PART_OF

    def publications(self, number: int) -> Iterator[Publication]:
        for i in range(number):
            yield self._published[i % len(self._published)]

    def _author(self) -> str:
        return super()._author().strip()


class Ranges:
    def __init__(self, seed: int, attributes: int = 20, asked: int = 5, width: float = 0.5) -> None:
        self._random = random.Random(seed)
        self._names = [f"http://example.org/attributes/{i}" for i in range(attributes)]
        self._asked = asked
        self._width = int(width * 1_000_000)
        self.name = f"ranges on {asked} of {attributes}, width {width:g}"

    def disjuncts(self, number: int) -> Iterator[Sequence[Disjunct]]:
        """The alternatives of queries that are never written: normalising ten comparisons takes longer than all
        else."""
        for _ in range(number):
            slots: dict[str, tuple[Slot, ...]] = {}
            for name in self._random.sample(self._names, self._asked):
                low = self._random.randrange(1_000_000 - self._width)
                slots[name] = (Slot(integers(low, low + self._width)),)
            yield (Disjunct(ANY, slots),)

    def publications(self, number: int) -> Iterator[Publication]:
        for i in range(number):
            resource = ox.NamedNode(f"http://example.org/publications/{i}")
            yield [
                ox.Triple(resource, _node(name), ox.Literal(str(self._random.randrange(1_000_000))))
                for name in self._names
            ]


class Mixed(Bibliographic):
    name = "everything mixed"

    def _query(self, kind: float) -> Query:
        if self._random.random() < 0.4:
            return super()._query(kind)
        source = self._random
        if kind < 0.1:
            return conjunction((TITLE, Contains(self._word())), (TITLE, LanguageIs(source.choice(["en", "de", ""]))))
        if kind < 0.2:
            return conjunction((CREATOR, Like("", self._last_name())), (DATE, _at_least(self._year())))
        if kind < 0.3:
            return conjunction((CREATOR, Like(self._author()[:8], "")), (self.subject_property, UriIs(self._subject())))
        if kind < 0.4:
            return conjunction((TITLE, Words(Chain((self._word(), self._word()), (Gap(0, 3),)))))
        if kind < 0.5:
            return conjunction((TITLE, Words(Chain((self._word(),)))), (ISSUED, self._date()))
        if kind < 0.6:
            return conjunction((TITLE, Similar(Decimal("0.6"), " ".join(self._word() for _ in range(4)))))
        if kind < 0.75:
            low = Decimal(source.randint(0, 40_000)) / 100
            return conjunction(
                (EXTENT, Compare(Operator.MORE, View.DECIMAL, low)),
                (EXTENT, Compare(Operator.AT_MOST, View.DECIMAL, low + source.randint(1, 50))),
                (SUBJECT, Within(self._subject())),
            )
        if kind < 0.9:
            return conjunction((self.subject_property, UriIs(self._subject())), (ISSUED, self._date()))
        parts: list[Constraint] = [
            And((Test("V0", StringIs(self._author())), Test("V1", _at_least(self._year())))),
            And(
                (
                    Test("V0", Contains(self._last_name())),
                    Test("V1", Compare(Operator.LESS, View.INTEGER, self._year())),
                )
            ),
        ]
        return Query(("X",), "X", (TriplePattern(CREATOR, "V0"), TriplePattern(DATE, "V1")), Or(tuple(parts)))

    def publications(self, number: int) -> Iterator[Publication]:
        source = self._random
        for triples in super().publications(number):
            resource = triples[0].subject
            date = f"{self._year()}-{source.randint(1, 12):02d}-{source.randint(1, 28):02d}"
            triples.append(ox.Triple(resource, _node(ISSUED), ox.Literal(date)))
            triples.append(ox.Triple(resource, _node(EXTENT), ox.Literal(f"{source.randint(0, 40_000) / 100}")))
            title = triples[1].object.value
            triples[1] = ox.Triple(resource, _node(TITLE), ox.Literal(title, language=source.choice(["en", "de"])))
            yield triples

    def _date(self) -> Atom:
        text = f"{self._year()}-{self._random.randint(1, 12):02d}"
        date = read_date(text)
        assert date is not None
        return Compare(
            self._random.choice([Operator.AT_LEAST, Operator.LESS, Operator.EQUAL]), View.DATE, Date(text, date[1])
        )


def conjunction(*asked: tuple[str, Atom]) -> Query:
    """A query for one value of each property, which meets all atoms given for it; a second `contains` asks for
    another."""
    variables: dict[tuple[str, type], str] = {}
    patterns: list[TriplePattern] = []
    tests: list[Constraint] = []
    held: set[tuple[str, Atom]] = set()
    for name, atom in asked:
        separate = isinstance(atom, Contains) and any(other == name for other, _ in held)
        variable = f"V{len(patterns)}"
        if separate or (name, str) not in variables:
            patterns.append(TriplePattern(name, variable))
            variables[name, str] = variable
        tests.append(Test(variables[name, str], atom))
        held.add((name, atom))
    return Query(("X",), "X", tuple(patterns), tests[0] if len(tests) == 1 else And(tuple(tests)))


def _at_least(n: int) -> Compare:
    return Compare(Operator.AT_LEAST, View.INTEGER, n)


def _names(source: random.Random, number: int, syllables: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < number:
        found["".join(source.choices(_SYLLABLES, k=syllables)).capitalize()] = None
        if len(found) > 0.8 * len(_SYLLABLES) ** syllables:
            syllables += 1
    return list(found)


@cache
def _node(name: str) -> Any:
    return ox.NamedNode(name)
