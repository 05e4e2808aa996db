"""Generated queries and data for comparing QEL with SPARQL engines, small enough to collide often.

pyoxigraph's store keeps numbers and dates by value: what goes in as "01"^^xsd:integer comes out as "1"^^xsd:integer,
another lexical form and so another value to QEL. So literals with a datatype are generated in canonical form; all
other spellings occur in plain literals, where views are the same, since they come from the lexical form alone.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from qel import Query
from qel.dates import read_date
from qel.syntax import (
    And,
    Atom,
    Compare,
    Constant,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Operator,
    Or,
    StringIs,
    Test,
    TriplePattern,
    UriIs,
    Within,
    Words,
)
from qel.text import Chain, Gap
from qel.values import View

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
SKOS_BROADER = "http://www.w3.org/2004/02/skos/core#broader"
SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
PROPERTIES = [EX + "p", EX + "q", "http://purl.org/dc/elements/1.1/date"]
TOPICS = [EX + "t1", EX + "t2", EX + "t3"]

HIERARCHY = [
    Triple(NamedNode(TOPICS[0]), NamedNode(SKOS_BROADER), NamedNode(TOPICS[1])),
    Triple(NamedNode(TOPICS[1]), NamedNode(SUBCLASS), NamedNode(TOPICS[2])),
]

INTEGERS = ["1", "01", "+1", "-1", "0", " 2 ", "\n2004\t", "2004", "2005", "-0044", "20040501", "999999999999999999"]
NUMBERS = ["1.5", "1.50", "1.", ".5", "-0.5", "2e0", "20.04E2", "2004.0", "1.5 ", "1e", "1e400", "NaN", "0x1", "1_0"]
DATES = [
    *("2003-12", "2004-01", "2004-02", "2004-02-29", "2004-05-01", "2004-12-31", "2005-01-01", "9999-12-31", "0000-01"),
    *("2004-05-01T12:30", "2004-05-01T12:30:00", "2004-05-01T12:30:15.5", "2004-05-01T12:30:15.123456789"),
]
DATE_SPELLINGS = [
    *("2004Z", "2004+01:00", "2004-05Z", "2004-05-01-05:00", " 2004-05-01 ", "2004-05-01 12:30", "2004-05-01t12:30Z"),
    *("2004-05-01T12:30:15,5", "2004-05-01T12:30:15.50+02:00", "2004-05-01T12:30:15.1234567895", "2004-05-01T23:59:59"),
    *("-0044-03-15", "-0000-05", "02004-05", "+2004-05", "12345-05", "+12345-05-01", "-12345-05", "0000", "-0001"),
]
NO_DATES = [
    *("2003-02-29", "1900-02-29", "-0100-02-29", "2004-00", "2004-13", "2004-04-31", "2004-05-01T24:00", "+2004Z"),
    *(
        "2004-05-01T12:60",
        "2004-05-01T12:30:60",
        "12345Z",
        "2004-5-1",
        "2004-05-01T12",
        "2004--05",
        "04-05-01",
        "2004-05-",
    ),
]
TEXTS = ["", "a", "ab", "ba", "aba", "a b", "b, A-b", "A_b a", "x\na\nb", 'a"b', "a\\u0041", "ä b", "2004 a"]

small_text = st.text('ab1 \\u"\n{}', max_size=4)


def dates() -> st.SearchStrategy[Date]:
    def date(text: str) -> Date:
        read = read_date(text)
        assert read is not None
        return Date(text, read[1])

    return st.sampled_from(DATES).map(date)


def compare_atoms() -> st.SearchStrategy[Compare]:
    operators = st.sampled_from(list(Operator))
    integers = st.one_of(st.integers(-2, 3), st.sampled_from([-44, 2003, 2004, 2005, 999999999999999999]))
    decimals = st.sampled_from(["1.5", "1.50", "0.0", "-1", "2004.0", "1E+3", "0.123456789012345"]).map(Decimal)
    return st.one_of(
        st.builds(Compare, operators, st.just(View.INTEGER), integers),
        st.builds(Compare, operators, st.just(View.DECIMAL), decimals),
        st.builds(Compare, operators, st.just(View.DATE), dates()),
        st.builds(Compare, operators, st.just(View.DATE), dates()),
    )


def chains() -> st.SearchStrategy[Chain]:
    def gap(least: int, more: int) -> Gap:
        return Gap(least, None if more == 3 else least + more)

    gaps = st.builds(gap, st.integers(0, 1), st.integers(0, 3))
    word = st.sampled_from(["a", "B", "ab", "1", "2004", "Ä"])
    steps = st.lists(st.tuples(gaps, word), max_size=2)
    return st.builds(lambda first, rest: Chain((first, *(w for _, w in rest)), tuple(g for g, _ in rest)), word, steps)


def atoms(words: bool) -> st.SearchStrategy[Atom]:
    """Every operator that `to_sparql` takes; `words` only where the engine knows classes of characters."""
    texts = st.one_of(small_text, st.sampled_from([*TEXTS, *INTEGERS, *DATES]))
    without_words: st.SearchStrategy[Atom] = st.one_of(
        compare_atoms(),
        compare_atoms(),
        st.builds(Contains, small_text),
        st.builds(StringIs, texts),
        st.builds(
            lambda a, b: Like(a, b) if a or b else Contains(""), st.text("ab2", max_size=2), st.text("ab4", max_size=2)
        ),
        st.builds(LanguageIs, st.sampled_from(["en", "EN-gb", "de", ""])),
        st.builds(UriIs, st.sampled_from(TOPICS)),
        st.builds(Within, st.sampled_from(TOPICS)),
    )
    return st.one_of(without_words, st.builds(Words, chains())) if words else without_words


def constants() -> st.SearchStrategy[Constant]:
    equalities = compare_atoms().map(lambda atom: Compare(Operator.EQUAL, atom.view, atom.constant))
    return st.one_of(st.builds(UriIs, st.sampled_from(TOPICS)), st.builds(StringIs, st.sampled_from(TEXTS)), equalities)


CONSTANTS = constants()


def constraints(tests: st.SearchStrategy[Test]) -> st.SearchStrategy[Constraint]:
    def combine(inner: st.SearchStrategy[Constraint]) -> st.SearchStrategy[Constraint]:
        parts = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(parts.map(lambda found: _flat(And, found)), parts.map(lambda found: _flat(Or, found)))

    return st.recursive(tests, combine, max_leaves=5)


@st.composite
def queries(draw: st.DrawFn, words: bool = True) -> Query:
    """Stars of up to three triples, two of which may share a property, with constants in place of some objects."""
    names = draw(st.lists(st.sampled_from(PROPERTIES), min_size=1, max_size=3))
    patterns = [
        TriplePattern(name, draw(CONSTANTS) if draw(st.integers(0, 4)) == 0 else f"V{i}")
        for i, name in enumerate(names)
    ]
    free = [pattern.object for pattern in patterns if isinstance(pattern.object, str)]
    constraint = draw(_constraints(tuple(free), words)) if draw(st.integers(0, 9)) else None
    heads = draw(st.lists(st.sampled_from(["X", *free]), min_size=1, max_size=2))
    return Query(tuple(heads), "X", tuple(patterns), constraint)


@cache
def _constraints(free: tuple[str, ...], words: bool) -> st.SearchStrategy[Constraint]:
    of_subject = st.builds(Test, st.just("X"), st.builds(Within, st.sampled_from(TOPICS)))
    of_objects = st.builds(Test, st.sampled_from(free), atoms(words)) if free else of_subject
    return constraints(st.one_of(of_subject, of_objects, of_objects, of_objects, of_objects))


def terms() -> st.SearchStrategy[NamedNode | BlankNode | Literal]:
    numeric = st.sampled_from([*INTEGERS, *NUMBERS, *DATES, *DATE_SPELLINGS, *NO_DATES])
    lexical = st.one_of(numeric, numeric, st.sampled_from(TEXTS), small_text)
    return st.one_of(
        lexical.map(Literal),
        lexical.map(Literal),
        st.builds(lambda text, tag: Literal(text, language=tag), lexical, st.sampled_from(["en", "en-GB", "de"])),
        st.sampled_from(["1", "2", "2004", "-1"]).map(lambda text: _typed(text, "integer")),
        st.sampled_from(["2003", "2004"]).map(lambda text: _typed(text, "gYear")),
        st.sampled_from(["2004-05-01", "2004-02-29"]).map(lambda text: _typed(text, "date")),
        st.just(_typed("2004-05-01T12:30:15", "dateTime")),
        st.sampled_from(["no date", "2004-13-01", "2004"]).map(lambda text: _typed(text, "date")),
        st.sampled_from(TOPICS).map(NamedNode),
        st.just(BlankNode("b")),
    )


def triple_sets() -> st.SearchStrategy[list[Triple]]:
    """What is said of two resources, one of which is a topic itself."""
    subjects = st.sampled_from([EX + "s", TOPICS[0]]).map(NamedNode)
    return st.lists(st.builds(Triple, subjects, st.sampled_from(PROPERTIES).map(NamedNode), terms()), max_size=8)


def _typed(text: str, datatype: str) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + datatype))


def _flat(node: type[And] | type[Or], parts: list[Constraint]) -> Constraint:
    flattened: list[Constraint] = []
    for part in parts:
        flattened.extend(part.parts if isinstance(part, node) else (part,))
    return node(tuple(flattened))
