"""The matcher against the definition: random histories of adding, removing and matching, all operators, both paths."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import DC, RDF, SKOS, Literal, URIRef

import qel
from qel.syntax import Compare, Contains, Operator, Query, StringIs, Test, TriplePattern
from qel.values import View, describe
from superpeer.matching import arranging, descending, kernels, linking
from superpeer.matching.matcher import Matcher
from superpeer.matching.warming import warm_up
from tests.qel.strategies import TEXT, URIS, chapter_queries, queries, triple_sets

TOPICS = qel.Topics(
    [
        (URIRef(URIS[0]), SKOS.broader, URIRef(URIS[1])),
        (URIRef(URIS[1]), SKOS.broader, URIRef(URIS[2])),
    ]
)

steps = st.lists(
    st.tuples(st.integers(0, 11), st.sampled_from(["add", "add", "remove", "match", "improve"])), max_size=40
)


def play(
    asked: list[Query], history: list[tuple[int, str]], said: list[list[Any]], compiled: bool, topics: qel.Topics
) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=3)
    for which, step in history:
        key = which % len(asked)
        if step == "add" and key not in matcher:
            matcher.add(key, asked[key], destination=key % 3)
        elif step == "remove" and key in matcher:
            matcher.remove(key)
        elif step == "match":
            check(matcher, asked, said, topics)
        elif step == "improve":
            matcher.reorganise()
    check(matcher, asked, said, topics)


def check(matcher: Matcher[int], asked: list[Query], said: list[list[Any]], topics: qel.Topics) -> None:
    expected = [
        {key for key, query in enumerate(asked) if key in matcher and qel.matches(query, triples, topics)}
        for triples in said
    ]
    found = matcher.match_many(said, topics)
    for matches, keys in zip(found, expected, strict=True):
        assert len(matches) == len(keys)
        assert set(matches) == keys
        by_destination = {
            destination: {matcher.key(number) for number in numbers.tolist()}
            for destination, numbers in matches.by_destination()
        }
        assert by_destination == {
            destination: {key for key in keys if key % 3 == destination} for destination in {key % 3 for key in keys}
        }
    for triples in said:
        for description in describe(triples):
            mine = [triple for triple in triples if str(triple[0]) == description.subject.text]
            expected_keys = {
                key for key in range(len(asked)) if key in matcher and qel.matches(asked[key], mine, topics)
            }
            assert set(matcher.match(description, topics)) == expected_keys


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=50, deadline=None)
@given(
    asked=st.lists(queries(leaves=4), min_size=1, max_size=12),
    history=steps,
    said=st.lists(triple_sets(subjects=2), min_size=1, max_size=3),
    hierarchical=st.booleans(),
)
def test_histories_with_all_operators(
    compiled: bool, asked: list[Query], history: list[tuple[int, str]], said: list[list[Any]], hierarchical: bool
) -> None:
    play(asked, history, said, compiled, TOPICS if hierarchical else qel.Topics())


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=50, deadline=None)
@given(
    asked=st.lists(chapter_queries(), min_size=1, max_size=12),
    history=steps,
    said=st.lists(triple_sets(), min_size=1, max_size=3),
)
def test_histories_in_the_chapters_language(
    compiled: bool, asked: list[Query], history: list[tuple[int, str]], said: list[list[Any]]
) -> None:
    play(asked, history, said, compiled, qel.Topics())


SUBJECT = URIRef("http://example.org/s")


def number(operator: Operator, view: View, constant: Any) -> Query:
    return Query(("X",), "X", (TriplePattern(TEXT, "V"),), Test("V", Compare(operator, view, constant)))


def of_text(atom: Any) -> Query:
    return Query(("X",), "X", (TriplePattern(TEXT, "V"),), Test("V", atom))


NUMBERS = [
    *(
        str(sign * (2**power + more))
        for power in (31, 60, 61, 62, 63, 64, 200)
        for more in (-1, 0, 1)
        for sign in (1, -1)
    ),
    *("0", "1", "-1", "0.0000005", "-0.0000005", "1e-400", "-1e-999999999", "1e999999999", "-1e999999999"),
    *("0.000001", "99999999999.999999", "100000000000", "99999999999.9999995", "2004.5", "1.0000001"),
]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("operator", list(Operator))
def test_numbers_of_any_size_are_compared_exactly(compiled: bool, operator: Operator) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=5)
    asked = [number(operator, View.INTEGER, int(text)) for text in NUMBERS if text.lstrip("-").isdigit()]
    asked += [number(operator, View.DECIMAL, Decimal(text)) for text in NUMBERS]
    for key, query in enumerate(asked):
        matcher.add(key, query)
    for text in NUMBERS:
        triples = [(SUBJECT, URIRef(TEXT), Literal(text))]
        assert set(matcher.match(triples)) == {key for key, query in enumerate(asked) if qel.matches(query, triples)}


DATES = ["2004", "2004-02", "2004-02-29", "2004-02-29T12:30:01.5", "2004-02-29T12:30:01", "-0044-03-15", "999999999-01"]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("sign", ["=", "<", "<=", ">", ">="])
def test_dates_are_compared_at_their_precision(compiled: bool, sign: str) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=2)
    constants = ["2004-02", "2004-02-29", "2004-02-29T12:30:01", "2004-02-29T12:30:01.5", "2003-12", "2005-01-01"]
    asked = [qel.parse(f"X : t(X, dc:date, D) & D {sign} {text}") for text in constants]
    asked += [qel.parse(f"X : t(X, dc:date, D) & D {sign} {text} & D >= 2004") for text in constants[:4]]
    for key, query in enumerate(asked):
        matcher.add(key, query)
    for one in DATES:
        for other in DATES:
            triples = [(SUBJECT, DC.date, Literal(text)) for text in (one, other)]
            expected = {key for key, query in enumerate(asked) if qel.matches(query, triples)}
            assert set(matcher.match(triples)) == expected


@pytest.mark.parametrize("compiled", [True, False])
def test_texts_may_be_empty_enormous_and_in_any_script(compiled: bool) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled)
    long = "ab" * 5_000
    constants = ["", "a", "b" + long, long, long + "c", "é", "e\u0301", "日本", "\ud800", "\0", "x" * 64, "x" * 65]
    asked = [of_text(atom(text)) for text in constants for atom in (Contains, StringIs)]
    asked += [
        qel.syntax.Query(("X",), "X", (TriplePattern(TEXT, "V"),), Test("V", qel.syntax.Like(prefix, suffix)))
        for prefix, suffix in [
            (long, ""),
            ("", long),
            ("日", ""),
            ("", "本"),
            ("日", "本"),
            ("x" * 64, "x"),
            ("", "x" * 70),
        ]
    ]
    for key, query in enumerate(asked):
        matcher.add(key, query)
    for text in [*constants, "caf\u00e9", "a日本b", "x" * 63, "x" * 200, "c" + long + "c", long[1:], "\udc00\ud800"]:
        triples = [(SUBJECT, URIRef(TEXT), Literal(text))]
        assert set(matcher.match(triples)) == {key for key, query in enumerate(asked) if qel.matches(query, triples)}
    for key in range(0, len(asked), 2):
        matcher.remove(key)
    triples = [(SUBJECT, URIRef(TEXT), Literal(long + "x" * 100))]
    assert set(matcher.match(triples)) == {
        key for key, query in enumerate(asked) if key % 2 and qel.matches(query, triples)
    }


@pytest.mark.parametrize("compiled", [True, False])
def test_what_everything_meets_moves_to_segments(compiled: bool) -> None:
    """Tests that are met by all notifications are found out, and answers stay the same while records move."""
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=16)
    asked = [
        qel.parse(f"X : t(X, rdf:type, dc:article) & t(X, dc:date, D) & D >= {1900 + key} & D <= {1910 + key}")
        for key in range(100)
    ]
    asked += [
        qel.parse(f'X : t(X, rdf:type, dc:article) & t(X, dc:title, T) & T contains "word{key}"') for key in range(100)
    ]
    for key, query in enumerate(asked):
        matcher.add(key, query)
    said = [
        [
            (SUBJECT, RDF.type, URIRef(str(DC) + "article")),
            (SUBJECT, DC.date, Literal(1900 + i)),
            (SUBJECT, DC.title, Literal(f"word{i} word{i + 1}")),
        ]
        for i in range(60)
    ]
    expected = [{key for key, query in enumerate(asked) if qel.matches(query, triples)} for triples in said]
    assert [set(matches) for matches in matcher.match_many(said)] == expected
    assert matcher.reorganise() == 100
    assert [set(matches) for matches in matcher.match_many(said)] == expected
    for key in range(0, 200, 3):
        matcher.remove(key)
    remaining = [{key for key in keys if key % 3} for keys in expected]
    assert [set(matches) for matches in matcher.match_many(said)] == remaining


def test_both_libraries_terms_are_read() -> None:
    import pyoxigraph as ox

    matcher: Matcher[str] = Matcher()
    matcher.add("a", qel.parse('X : t(X, dc:title, T) & T contains "x" & lang(T) = "en"'))
    quad = ox.Quad(ox.NamedNode("http://e/s"), ox.NamedNode(str(DC.title)), ox.Literal("xy", language="en"))
    assert matcher.match([quad]) == ["a"]
    assert matcher.match([quad.triple]) == ["a"]
    assert matcher.match([(SUBJECT, DC.title, Literal("xy", lang="EN"))]) == ["a"]
    assert matcher.match([(SUBJECT, DC.title, Literal("xy"))]) == []
    assert matcher.match([]) == []


def test_a_key_is_held_once_and_may_come_again() -> None:
    matcher: Matcher[str] = Matcher()
    query = qel.parse("X : t(X, dc:title, T)")
    matcher.add("a", query)
    with pytest.raises(ValueError, match="remove it before"):
        matcher.add("a", query)
    matcher.remove("a")
    with pytest.raises(KeyError):
        matcher.remove("a")
    matcher.add("a", query)
    assert len(matcher) == 1
    assert "a" in matcher


def test_properties_come_and_go_without_number() -> None:
    """Nothing stays of properties that nobody asks for any more, and any number of them may be asked for."""
    matcher: Matcher[int] = Matcher()
    for some in range(3):
        asked = [
            qel.parse(
                f"X : t(X, <http://example.org/{some}/{key}>, V) & t(X, <http://example.org/n/{some}/{key}>, N)"
                f' & (V contains "a{key}" | V like "b*" | V like "*c") & N > 3'
            )
            for key in range(300)
        ]
        for key, query in enumerate(asked):
            matcher.add(key, query)
        for key in (0, 7, 299):
            for text in (f"xa{key}", "bx", "xc", "x"):
                triples = [
                    (SUBJECT, URIRef(f"http://example.org/{some}/{key}"), Literal(text)),
                    (SUBJECT, URIRef(f"http://example.org/n/{some}/{key}"), Literal(5)),
                ]
                assert matcher.match(triples) == ([key] if text != "x" else [])
        for key in range(300):
            matcher.remove(key)
        assert not matcher._slots.properties
    assert matcher._slots.views == 300


@pytest.mark.parametrize("compiled", [True, False])
def test_the_clock_of_stamps_starts_anew_in_time(compiled: bool) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=2)
    asked = [qel.parse(f'X : t(X, dc:title, T) & t(X, dc:date, D) & T contains "{c}" & D > 3') for c in "abc"]
    asked += [qel.parse('X : t(X, dc:title, T) & (T contains "a" | T contains "b")')]
    asked += [qel.parse(f"X : t(X, dc:date, D) & D > {n}") for n in range(5)]
    for key, query in enumerate(asked):
        matcher.add(key, query)
    said = [[(SUBJECT, DC.title, Literal(text)), (SUBJECT, DC.date, Literal(4))] for text in "abcd"]
    expected = [{key for key, query in enumerate(asked) if qel.matches(query, triples)} for triples in said]
    matcher._clock[0] = 2**31 - 1_030
    for _ in range(600):
        assert [set(found) for found in matcher.match_many(said)] == expected
    assert matcher._clock[0] < 2**31 - 1


def test_warming_up_compiles_what_matching_needs() -> None:
    numba = pytest.importorskip("numba")
    warm_up()
    for kernel in (kernels.match_rows, arranging.write, descending.find_implying, linking.find_nearest):
        assert isinstance(kernel, numba.core.dispatcher.Dispatcher)
        assert len(kernel.signatures) == 1


def test_an_unsatisfiable_subscription_matches_nothing() -> None:
    matcher: Matcher[str] = Matcher()
    matcher.add("a", qel.parse("X : t(X, dc:date, D) & D > 5 & D < 5"))
    assert matcher.match([(SUBJECT, DC.date, Literal(5))]) == []
    matcher.remove("a")
    assert len(matcher) == 0


@pytest.mark.parametrize("segment_members", [1_000, 4])
def test_memory_follows_what_is_held(segment_members: int) -> None:
    matcher: Matcher[int] = Matcher(segment_members=segment_members)
    sizes = []
    for some in range(4):
        for key in range(200 * some, 200 * some + 200):
            matcher.add(key, qel.parse(f'X : t(X, dc:title, T) & t(X, dc:date, D) & T = "title {key}" & D > {key}'))
            matcher.add(-1 - key, qel.parse(f"X : t(X, dc:date, D) & D > {key}"))
        sizes.append(matcher.memory_bytes())
    assert sizes == sorted(set(sizes))
    for key in list(range(-800, 800)):
        matcher.remove(key)
    # Emptied, it keeps its arrays for what comes next, and uses them again.
    for key in range(200):
        matcher.add(key, qel.parse(f"X : t(X, dc:date, D) & D > {key}"))
    assert matcher.memory_bytes() <= 1.2 * sizes[-1]


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=30, deadline=None)
@given(st.lists(queries(leaves=3), min_size=1, max_size=20), st.lists(triple_sets(), min_size=1, max_size=3))
def test_many_at_once_match_as_one_by_one(compiled: bool, asked: list[Query], said: list[list[Any]]) -> None:
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=3)
    half = len(asked) // 2
    matcher.add_many((key, query.normal_form.disjuncts, key % 3) for key, query in enumerate(asked[:half]))
    check(matcher, asked, said, TOPICS)
    matcher.add_many((half + i, query.normal_form.disjuncts, (half + i) % 3) for i, query in enumerate(asked[half:]))
    check(matcher, asked, said, TOPICS)
    for key in range(0, len(asked), 2):
        matcher.remove(key)
    check(matcher, asked, said, TOPICS)


def test_what_is_refused_among_many_leaves_those_before_it() -> None:
    matcher: Matcher[str] = Matcher()
    query = qel.parse('X : t(X, dc:title, T) & T = "a"')
    with pytest.raises(ValueError, match="already"):
        matcher.add_many((key, query.normal_form.disjuncts, None) for key in "aba")
    assert set(matcher.match([(SUBJECT, DC.title, Literal("a"))])) == {"a", "b"}


@pytest.mark.parametrize("compiled", [True, False])
def test_thousands_match_one_notification(compiled: bool) -> None:
    """Among them an empty constant, a class that all ask for, unions that match by both sides, many destinations."""
    matcher: Matcher[int] = Matcher(compiled=compiled, segment_members=64)
    asked = [
        'X : t(X, dc:title, T) & T contains ""',
        "X : t(X, rdf:type, dc:article)",
        'X : t(X, dc:title, T) & (T contains "a" | T contains "b")',
        'X : t(X, dc:title, T) & t(X, rdf:type, dc:article) & T contains ""',
        "X : t(X, rdf:type, dc:book)",
        'X : t(X, dc:title, T) & T contains "c"',
    ]
    forms = [qel.parse(text).normal_form.disjuncts for text in asked]
    matcher.add_many((key, forms[key % len(forms)], key % 700) for key in range(6_000))
    said = [(SUBJECT, DC.title, Literal("ab")), (SUBJECT, RDF.type, URIRef(str(DC) + "article"))]
    expected = {key for key in range(6_000) if key % len(forms) < 4}
    for _ in range(2):
        (found,) = matcher.match_many([said])
        assert len(found) == len(expected)
        assert set(found) == expected
        destinations = {destination: len(numbers) for destination, numbers in found.by_destination()}
        assert sum(destinations.values()) == len(expected)
        assert set(destinations) == {key % 700 for key in expected}
        matcher.match_many([said] * 50)
        matcher.reorganise()
