"""Generated queries, triples and advertisements, small enough to collide often."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.namespace import RDF as RDF_NAMESPACE
from rdflib.namespace import XSD

from qel import Query
from qel.dates import read_date
from qel.names import RDF_TYPE
from qel.syntax import (
    And,
    Compare,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Operator,
    Or,
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

SUBJECTS = ["http://example.org/s1", "http://example.org/s2"]
NUMBER, TEXT, LINK, MIXED, OTHER = (
    "http://example.org/terms/number",
    "http://example.org/terms/text",
    "http://example.org/terms/link",
    "http://example.net/mixed",
    "http://purl.org/dc/elements/1.1/other",
)
PROPERTIES = [NUMBER, TEXT, LINK, MIXED, OTHER]
URIS = ["http://example.org/u1", "http://example.org/u2", "http://example.org/u3"]
CLASSES = ["http://example.org/terms/Book", "http://example.net/Article"]

operators = st.sampled_from(list(Operator))
small_integers = st.integers(-2, 5)
small_strings = st.sampled_from(["a", "b", "ab", "ba", "aa", "", "1"])
date_texts = st.sampled_from(["2003-12", "2004-02", "2004-02-29", "2004-05-01", "2004-12-31", "2005-01-01", "2004-04"])


def dates() -> st.SearchStrategy[Date]:
    return date_texts.map(lambda text: Date(text, read_date(text)[1]))  # type: ignore[index]


integer_atoms = st.builds(Compare, operators, st.just(View.INTEGER), small_integers)
contains_atoms = st.builds(Contains, small_strings)
uri_atoms = st.builds(UriIs, st.sampled_from(URIS))


def atoms() -> st.SearchStrategy[Any]:
    """Any operator of the language."""
    gaps = st.builds(
        lambda least, more: Gap(least, None if more == 3 else least + more), st.integers(0, 1), st.integers(0, 3)
    )
    word = st.sampled_from(["a", "B", "ab", "1"])
    chains = st.lists(word, min_size=1, max_size=3).flatmap(
        lambda words: st.builds(
            lambda chosen: Chain(tuple(words), tuple(chosen)),
            st.lists(gaps, min_size=len(words) - 1, max_size=len(words) - 1),
        )
    )
    return st.one_of(
        integer_atoms,
        st.builds(Compare, operators, st.just(View.INTEGER), st.sampled_from([2003, 2004, 2005])),
        contains_atoms,
        uri_atoms,
        st.builds(StringIs, st.sampled_from(["a", "ab", "1", "2004", "2004-05-01", "a b", ""])),
        st.builds(lambda p, s: Like(p, s) if p or s else Contains(""), small_strings, small_strings),
        st.builds(
            Compare, operators, st.just(View.DECIMAL), st.sampled_from([Decimal("1.5"), Decimal("2.0"), Decimal(-1)])
        ),
        st.builds(Compare, operators, st.just(View.DATE), dates()),
        st.builds(Words, chains),
        st.builds(
            Similar,
            st.sampled_from([Decimal("0.5"), Decimal("0.8"), Decimal(1)]),
            st.sampled_from(["a", "a b", "ab b b"]),
        ),
        st.builds(LanguageIs, st.sampled_from(["en", "de", ""])),
        st.builds(Within, st.sampled_from(URIS)),
    )


def formulas(tests: st.SearchStrategy[Test], leaves: int = 5) -> st.SearchStrategy[Constraint]:
    def combine(inner: st.SearchStrategy[Constraint]) -> st.SearchStrategy[Constraint]:
        parts = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(parts.map(lambda found: flat(And, found)), parts.map(lambda found: flat(Or, found)))

    return st.recursive(tests, combine, max_leaves=leaves)


def flat(node: type[And] | type[Or], parts: list[Constraint]) -> Constraint:
    flattened: list[Constraint] = []
    for part in parts:
        flattened.extend(part.parts if isinstance(part, node) else (part,))
    return node(tuple(flattened))


def _query(draw: st.DrawFn, names: list[str], atoms_for: dict[str, st.SearchStrategy[Any]], leaves: int) -> Query:
    variables = [f"V{i}" for i in range(len(names))]
    patterns = []
    free = []
    for variable, name in zip(variables, names, strict=True):
        if name == RDF_TYPE and draw(st.booleans()):
            patterns.append(TriplePattern(name, UriIs(draw(st.sampled_from(CLASSES)))))
        else:
            patterns.append(TriplePattern(name, variable))
            free.append((variable, name))
    tests: list[st.SearchStrategy[Test]] = [
        st.builds(Test, st.just(variable), atoms_for[name]) for variable, name in free
    ]
    if draw(st.integers(0, 5)) == 0:
        tests.append(st.builds(Test, st.just("X"), st.builds(UriIs, st.sampled_from(SUBJECTS))))
    constrained = bool(tests) and draw(st.integers(0, 9)) > 0
    constraint = draw(formulas(st.one_of(tests), leaves)) if constrained else None
    known = ["X", *(variable for variable, _ in free)]
    heads = tuple(draw(st.lists(st.sampled_from(known), min_size=1, max_size=2)))
    return Query(heads, "X", tuple(patterns), constraint)


@st.composite
def chapter_queries(draw: st.DrawFn, leaves: int = 5) -> Query:
    """Queries of the chapter's language: each property is tested in one way."""
    names = draw(st.lists(st.sampled_from([NUMBER, NUMBER, TEXT, LINK]), min_size=1, max_size=3))
    return _query(draw, names, {NUMBER: integer_atoms, TEXT: contains_atoms, LINK: uri_atoms}, leaves)


@st.composite
def queries(draw: st.DrawFn, leaves: int = 5) -> Query:
    """Queries with all operators on all properties."""
    names = draw(st.lists(st.sampled_from([*PROPERTIES[:4], RDF_TYPE]), min_size=1, max_size=3))
    any_atom = atoms()
    classes = st.one_of(st.builds(UriIs, st.sampled_from(CLASSES)), st.builds(Within, st.sampled_from(URIS)))
    return _query(draw, names, {**dict.fromkeys(PROPERTIES, any_atom), RDF_TYPE: classes}, leaves)


def terms() -> st.SearchStrategy[Any]:
    plain = ["a", "b", "ab", "ba", "aa b", "b ab", "a b ab 1", "", "x\na\nb", "A-B_1"]
    numbers = ["1", "-1", "+2", "03", "1.5", "2.0", " 4 ", "1e0"]
    years = ["2004", "2004-05-01", "2004-02", "2003-12-31", "2005Z", "2004-02-30"]
    lexical = st.sampled_from([*plain, *numbers, *years])
    return st.one_of(
        st.sampled_from(URIS).map(URIRef),
        st.just(BNode("b")),
        lexical.map(Literal),
        st.builds(lambda text, tag: Literal(text, lang=tag), lexical, st.sampled_from(["en", "DE"])),
        lexical.map(lambda text: Literal(text, datatype=XSD.date, normalize=False)),
        small_integers.map(Literal),
    )


def triple_sets(subjects: int = 1) -> st.SearchStrategy[list[tuple[object, object, object]]]:
    subject = st.sampled_from(SUBJECTS[:subjects]).map(URIRef)
    plain = st.tuples(subject, st.sampled_from(PROPERTIES[:4]).map(URIRef), terms())
    typed = st.tuples(subject, st.just(RDF_NAMESPACE.type), st.sampled_from(CLASSES).map(URIRef))
    return st.lists(st.one_of(plain, plain, plain, typed), max_size=7)
