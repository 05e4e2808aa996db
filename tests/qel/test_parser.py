"""Texts to queries and back: both notations, limits, and errors that people can act on."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import qel
from qel.dates import Span
from qel.parser import MAX_ALTERNATIVE_TESTS, MAX_CHAIN_WORDS, MAX_CHARACTERS, MAX_DISJUNCTS
from qel.syntax import (
    And,
    Compare,
    Contains,
    LanguageIs,
    Like,
    Operator,
    Or,
    Similar,
    StringIs,
    Test,
    UriIs,
    Within,
    Words,
)
from qel.text import Chain, Gap
from tests.qel.strategies import queries


def constraint(text: str) -> object:
    """The constraint of a query on Y, and on X the subject."""
    return qel.parse(f"X : t(X, dc:title, Y) & {text}").constraint


@given(queries(leaves=10))
def test_what_is_written_parses_back(query: qel.Query) -> None:
    assert qel.parse(str(query)) == query
    assert qel.parse(qel.format_query(query, {"ex": "http://example.org/terms/", "dc": "http://example.net/"})) == query
    assert hash(qel.parse(str(query))) == hash(query)


@given(st.text(), st.text(min_size=1), st.text())
def test_every_character_can_be_written_in_a_string(equal: str, prefix: str, suffix: str) -> None:
    atoms = Or((Test("Y", StringIs(equal)), Test("Y", Contains(suffix)), Test("Y", Like(prefix, suffix))))
    query = qel.Query(("X",), "X", (qel.syntax.TriplePattern("http://example.org/p", "Y"),), atoms)
    try:
        str(query).encode()
    except UnicodeEncodeError:
        with pytest.raises(qel.QelError):
            qel.parse(str(query))
        return
    assert qel.parse(str(query)) == query


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8))
def test_every_iri_can_be_written(rest: str) -> None:
    for iri in (f"http://example.org/{rest}", f"dc:{rest}", f"urn:{rest}", "http://purl.org/dc/terms/" + rest):
        query = qel.Query(("X",), "X", (qel.syntax.TriplePattern("http://example.org/p", UriIs(iri)),))
        assert qel.parse(str(query)) == query


def test_both_notations_are_one_language() -> None:
    symbols = 'X: t(X, ⟨dc:creator⟩, Y) ∧ t(X, <dc:date>, D) ∧ (Y ⊒ "a" ∨ Y ⊇ "b") ∧ D ≥ 1 ∧ D ≤ 9'
    ascii_only = 'X : t(X, dc:creator, Y) & t(X, dc:date, D) & (Y contains "a" | Y contains "b") & D >= 1 & D <= 9'
    words = 'X : t(X,dc:creator,Y) AND t(X,dc:date,D) and (Y CONTAINS "a" or Y contains "b") && D >= 1 and D <= 9'
    assert qel.parse(symbols) == qel.parse(ascii_only) == qel.parse(words)


def test_and_binds_tighter_than_or() -> None:
    assert constraint("(Y = 1 & Y = 2 | Y = 3)") == constraint("((Y = 1 & Y = 2) | Y = 3)")
    assert constraint("(Y = 1 | Y = 2 & Y = 3)") != constraint("((Y = 1 | Y = 2) & Y = 3)")


@pytest.mark.parametrize(
    ("text", "atom"),
    [
        ("Y = <http://a.org/x>", UriIs("http://a.org/x")),
        ("Y = foaf:Person", UriIs("http://xmlns.com/foaf/0.1/Person")),
        ("Y = <urn:isbn:0-395-36341-1>", UriIs("urn:isbn:0-395-36341-1")),
        ("Y within skos:Concept", Within("http://www.w3.org/2004/02/skos/core#Concept")),
        ("Y = -5", Compare(Operator.EQUAL, qel.values.View.INTEGER, -5)),
        ("Y < +5", Compare(Operator.LESS, qel.values.View.INTEGER, 5)),
        ('Y = "2004"', StringIs("2004")),
        (r'Y = "a\"b\\c\n\u00e9\U0001F600"', StringIs('a"b\\c\né😀')),
        ('Y contains ""', Contains("")),
        ('Y like "OT*"', Like("OT", "")),
        ('Y like "*SE"', Like("", "SE")),
        ('Y like "N*E"', Like("N", "E")),
        ('Y like "*NE*"', Contains("NE")),
        ('Y like "*"', Contains("")),
        ('Y like "NE"', StringIs("NE")),
        (r'Y like "a\**\\"', Like("a*", "\\")),
        ('Y words "P2P"', Words(Chain(("P2P",)))),
        ('Y words "information alert"', Words(Chain(("information", "alert"), (Gap(0, 0),)))),
        ('Y words ("a" before[1,*] "b")', Words(Chain(("a", "b"), (Gap(1, None),)))),
        ('lang(Y) = "pt-BR"', LanguageIs("pt-BR")),
        ("X = <http://a.org/x>", UriIs("http://a.org/x")),
    ],
)
def test_atoms(text: str, atom: object) -> None:
    found = constraint(text)
    assert isinstance(found, Test)
    assert found.atom == atom


def test_the_constant_chooses_the_view() -> None:
    views = []
    for text in ("2004", "2004.0", "2004-05", "2004-05-01", "2004-05-01T12:00", "1e3", ".5", "-0044-03-15"):
        found = constraint(f"Y >= {text}")
        assert isinstance(found, Test)
        assert isinstance(found.atom, Compare)
        views.append(found.atom.view.value)
    assert views == ["integer", "decimal", "date", "date", "date", "decimal", "decimal", "date"]
    assert constraint("Y = 2") != constraint("Y = 2.0")


def test_word_patterns_are_conjunctions_of_chains() -> None:
    pattern = constraint('Y words ("P2P" & ("information" before[0,0] "alert" | "news"))')
    assert isinstance(pattern, And)
    assert str(qel.parse('X : t(X, dc:title, Y) & Y words ("P2P" & ("information" before[0,0] "alert" | "news"))')) == (
        'X : t(X, dc:title, Y) & Y words ("P2P") & (Y words ("information" before[0,0] "alert") | Y words ("news"))'
    )


def test_similarity_keeps_its_threshold_exactly() -> None:
    found = constraint('Y similar[0.7] "P2P architectures have been"')
    assert isinstance(found, Test)
    assert isinstance(found.atom, Similar)
    assert str(found.atom.threshold) == "0.7"


def test_a_constant_may_stand_for_an_object() -> None:
    query = qel.parse(
        'X : t(X, dc:title, "a") & t(X, dc:date, 2004) & t(X, dc:type, dc:article) & t(X, dc:date, 2004-05)'
    )
    assert [type(pattern.object).__name__ for pattern in query.triples] == ["StringIs", "Compare", "UriIs", "Compare"]
    date = query.triples[3].object
    assert isinstance(date, Compare)
    assert isinstance(date.constant, qel.syntax.Date)
    assert isinstance(date.constant.span, Span)


def test_prefixes_comments_and_line_breaks() -> None:
    query = qel.parse(
        """# what I follow
        PREFIX dc: <http://example.org/other/>   # hides the built-in one
        @prefix isl: <http://www.intelligence.tuc.gr/publications/> .
        PREFIX : <http://example.org/default#>
        X : t(X, dc:creator, Y)
            & t(X, isl:esws04.pdf, Z) & t(X, :name, N) & t(X, <isl:x>, W) # the end
        """
    )
    assert [pattern.property for pattern in query.triples] == [
        "http://example.org/other/creator",
        "http://www.intelligence.tuc.gr/publications/esws04.pdf",
        "http://example.org/default#name",
        "http://www.intelligence.tuc.gr/publications/x",
    ]


def test_formatting_keeps_the_authors_prefixes() -> None:
    declarations = "PREFIX ex: <http://example.org/> PREFIX no: <http://example.net/>"
    text = f"{declarations} X : t(X, ex:a, Y) & t(X, dc:b, Z) & (Y = 1 | Z = 2)"
    assert qel.format_query(*qel.parse_with_prefixes(text)) == (
        "PREFIX ex: <http://example.org/>\nX : t(X, ex:a, Y)\n    & t(X, dc:b, Z)\n    & (Y = 1 | Z = 2)"
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "found", "expected"),
    [
        ("", 1, 1, "the end of the text", "a variable"),
        ("X", 1, 2, "the end of the text", '":"'),
        ("X :\n  t(X, dc:a Y)", 2, 13, '"Y"', '","'),
        ('X : t(X, dc:a, Y) & Y contians "a"', 1, 23, '"contians"', "contains"),
        ("X : t(X, dc:a, Y) & Y !=", 1, 23, '"!="', ">="),
        ("X : t(X, dc:a, Y) & (Y = 1", 1, 27, "the end of the text", '")"'),
        ("X : t(X, dc:a, Y) Y = 1", 1, 19, '"Y"', '"and"'),
        ("?x : t(X, dc:a, Y)", 1, 1, '"?x"', "a variable"),
    ],
)
def test_syntax_errors_name_place_found_and_expected(
    text: str, line: int, column: int, found: str, expected: str
) -> None:
    with pytest.raises(qel.QelSyntaxError) as caught:
        qel.parse(text)
    error = caught.value
    assert (error.line, error.column, error.found) == (line, column, found)
    assert any(expected in item for item in error.expected)


def test_a_syntax_error_shows_the_line_and_a_caret() -> None:
    with pytest.raises(qel.QelSyntaxError) as caught:
        qel.parse('X : t(X, dc:creator, Y)\n  & Y contains "Nejdl\n')
    assert str(caught.value).splitlines() == [
        "line 2, column 16: " + caught.value.message,
        '    & Y contains "Nejdl',
        "                 ^",
    ]
    assert caught.value.hint == "is a closing quote missing? A line break within a string is written \\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('X : t(X, dc:a, Y) & Y < "a"', '< compares integers, decimals and dates, and "a" is a string'),
        ("X : t(X, dc:a, Y) & Y >= <http://a.org>", ">= compares integers, decimals and dates"),
        ("X : t(X, dc:a, Y) & Y contains 5", "contains compares strings, and 5 is an integer"),
        ("X : t(X, dc:a, Y) & Y like dc:b", "like compares strings, and dc:b is a URI"),
        ('X : t(X, dc:a, Y) & Y within "a"', 'within compares URIs, and "a" is a string'),
        ('X : t(X, dc:a, Y) & Y similar[1.5] "a"', "a similarity is above 0 and at most 1"),
        ('X : t(X, dc:a, Y) & Y similar[0.5] "..."', "a text without words"),
        ('X : t(X, dc:a, Y) & Y words "..."', "there are none here"),
        ('X : t(X, dc:a, Y) & Y words ("a" before[2,1] "b")', "no number of words"),
        ('X : t(X, dc:a, Y) & Y like "a*b*c"', "like takes"),
        ('X : t(X, dc:a, Y) & lang(Y) = "not a tag"', "is not a language tag"),
        ('X : t(X, dc:a, Y) & lang(Y) > "en"', "a language is compared with = only"),
        ("X : t(X, dc:a, Y) & Y = X", "X is a variable"),
        ("X : t(X, foo:a, Y)", "the prefix foo: is unknown; declare it with PREFIX foo: <...>"),
        ("X : t(X, <relative>, Y)", "<relative> is not an absolute URI"),
        ("X : t(X, dc:a, Y) & t(Z, dc:b, W)", "all triples have one subject, which is X here"),
        ("X : t(X, dc:a, Y) & t(X, dc:b, Y)", "Y occurs twice"),
        ("X : t(X, dc:a, X)", "X occurs twice"),
        ("Z : t(X, dc:a, Y)", "the head Z is not among the variables of the triples (X, Y)"),
        ("X : t(X, dc:a, Y) & Z = 5", "Z is not among the variables of the triples (X, Y)"),
        ('X : t(X, dc:a, Y) & X contains "a"', "X is the subject, always a URI"),
        ("X : t(X, dc:a, Y) | Y = 5", "a triple cannot be an alternative"),
        ("X : (t(X, dc:a, Y) | t(X, dc:b, Z))", "a triple cannot be an alternative"),
        ("X : X = <http://a.org>", "at least one triple"),
        ("X : t(<http://a.org>, dc:a, Y)", "the subject of a triple is a variable"),
        ("X : t(X, Y, Z)", "a property is a URI, and Y is a variable"),
        ("X : t(X, dc:a, Y) & Y = 2004-02-30", "there is no date 2004-02-30"),
        ("X : t(X, dc:a, Y) & Y = 2004-02-03T10:00Z", "leave the time zone away"),
    ],
)
def test_type_errors_say_what_does_not_fit(text: str, message: str) -> None:
    with pytest.raises(qel.QelTypeError) as caught:
        qel.parse(text)
    assert message in str(caught.value)


def test_a_variable_may_be_tested_in_several_views() -> None:
    query = qel.parse('X : t(X, dc:date, D) & (D = 2004 | D contains "2004")')
    assert qel.is_satisfiable(query)


@pytest.mark.parametrize(
    "text",
    [
        "X : t(X, dc:a, Y) & " + " & ".join(["(Y = 1 | Y = 2)"] * 9),
        "X : t(X, dc:a, Y) & (" + " | ".join(f"Y = {i}" for i in range(MAX_DISJUNCTS + 1)) + ")",
        "X : t(X, dc:a, Y) & " + "(Y = 1 | (Y = 2 & " * 300 + "Y = 1" + "))" * 300,
        "X : t(X, dc:a, Y) & Y words (" + " & ".join(['("a" | "b")'] * 40) + ")",
        "X : t(X, dc:a, Y) & " + " & ".join(f'Y contains "{i}"' for i in range(MAX_ALTERNATIVE_TESTS)),
        "X : t(X, dc:a, Y) & Y words (" + " & ".join(f'"w{i}"' for i in range(MAX_ALTERNATIVE_TESTS)) + ")",
        "X : " + " & ".join(f"t(X, dc:a, Y{i})" for i in range(MAX_ALTERNATIVE_TESTS + 1)),
        "X : t(X, dc:a, Y) & " + " & ".join(["Y = 1"] * 15) + " & (" + " | ".join(["Y = 1"] * 256) + ")",
        'X : t(X, dc:a, Y) & Y words ("' + " ".join(["w"] * (MAX_CHAIN_WORDS + 1)) + '")',
        "X : t(X, dc:a, Y)" + " " * MAX_CHARACTERS,
        "X : t(X, dc:a, Y) & Y = " + "9" * 5_000,
    ],
)
def test_limits_are_named(text: str) -> None:
    with pytest.raises(qel.QelLimitError) as caught:
        qel.parse(text)
    assert f"{caught.value.limit:,}" in str(caught.value)


def test_a_query_built_by_hand_meets_the_limit_when_it_is_used() -> None:
    alternatives = Or((Test("Y", Contains("a")), Test("Y", Contains("b"))))
    huge = qel.Query(("X",), "X", (qel.syntax.TriplePattern("http://a.org/p", "Y"),), And((alternatives,) * 30))
    with pytest.raises(qel.QelLimitError):
        qel.is_satisfiable(huge)


def test_depth_alone_is_no_limit() -> None:
    assert qel.parse("X : " + "(" * 20_000 + "t(X, dc:a, Y)" + ")" * 20_000) == qel.parse("X : t(X, dc:a, Y)")
    nested = "X : t(X, dc:a, Y) & " + "(Y = 1 | (Y = 2 & " * 60 + "Y = 1" + "))" * 60
    assert qel.parse(str(qel.parse(nested))) == qel.parse(nested)


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(qel.QelError):
        qel.parse(data)


@given(st.text(max_size=300))
def test_random_text_is_refused(text: str) -> None:
    with pytest.raises(qel.QelError):
        qel.parse(text)


TOKENS = [
    *(
        "X",
        "Y",
        "t",
        "(",
        ")",
        ",",
        ":",
        "&",
        "|",
        "=",
        "<",
        "<=",
        "[",
        "]",
        "*",
        "dc:a",
        "<http://a.org>",
        "PREFIX",
        "#",
        "\n",
    ),
    *(
        '"a"',
        '"',
        "5",
        "5.5",
        "2004-05-01",
        "contains",
        "like",
        "words",
        "similar",
        "within",
        "lang",
        "before",
        "and",
        "or",
    ),
    *("t(X, dc:a, Y)", "X :", "Y = 5", "\\", "⟨", "∧", "-", "\x00", "\ufeff", "é"),
]


@given(st.lists(st.sampled_from(TOKENS), max_size=40), st.sampled_from(["", " "]))
def test_token_soups_are_parsed_or_refused(tokens: list[str], between: str) -> None:
    text = between.join(tokens)
    try:
        query = qel.parse(text)
    except qel.QelError:
        return
    assert qel.parse(str(query)) == query


@given(queries(leaves=8), st.data())
def test_truncated_and_mutilated_queries_are_parsed_or_refused(query: qel.Query, data: st.DataObject) -> None:
    text = str(query)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    extra = data.draw(st.sampled_from(["", *TOKENS]))
    for mutilated in (text[:end], text[:start] + extra + text[end:]):
        try:
            qel.parse(mutilated)
        except qel.QelError:
            continue


def test_long_hostile_texts_take_bounded_work() -> None:
    """Each is as long as a query may be; what would be quadratic or worse would not end in a test's time."""
    generator = random.Random(1)
    letters = "".join(generator.choices(string.printable, k=MAX_CHARACTERS - 100))
    for text in (
        letters,
        "X : t(X, dc:a, Y) & Y = " + '"' * 60_000,
        'X : t(X, dc:a, Y) & Y = "' + "\\" * 60_001,
        "X : " + "(" * 60_000,
        "<" * 60_000,
        "X : t(X, dc:a, Y) & Y = " + "1" * 3_000 + "." * 50_000,
        "X" + ",X" * 30_000,
        "# " * 30_000,
        "X : t(X, dc:a, Y)" + " & Y = 1" * 7_000,
    ):
        try:
            qel.is_satisfiable(qel.parse(text))
        except qel.QelError:
            continue
