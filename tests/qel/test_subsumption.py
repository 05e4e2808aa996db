"""Subsumption: never claimed wrongly, exact in the chapter's language, and a preorder."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, given, settings
from rdflib import BNode, Literal, URIRef

import qel
from qel.normal import MAX_PRIMES
from tests.qel.oracle import oracle_answers, oracle_matches
from tests.qel.strategies import LINK, NUMBER, SUBJECTS, TEXT, URIS, chapter_queries, queries, triple_sets

# Every integer that a generated constant can tell from its neighbours, and one beyond at either end; every string
# that a conjunction of the generated substrings can describe, its parts held apart; each URI, and one that is new.
DOMAINS: dict[str, list[Any]] = {
    NUMBER: [Literal(n) for n in range(-4, 8)] + [BNode("b")],
    TEXT: [
        Literal("~".join(chosen))
        for size in range(4)
        for chosen in itertools.combinations(["a", "b", "ab", "ba", "aa", "1"], size)
    ]
    + [Literal("~".join(["ab", "ba", "aa", "1"])), BNode("b")],
    LINK: [*(URIRef(uri) for uri in URIS), URIRef("http://example.org/new"), BNode("b")],
}
SUBJECT_DOMAIN = [*(URIRef(uri) for uri in SUBJECTS), URIRef("http://example.org/other")]


def smallest_models(query: qel.Query) -> list[list[Any]]:
    """All ways to give each slot of a query one value and the subject a name, if the query then matches."""
    found = []
    for subject in SUBJECT_DOMAIN:
        for values in itertools.product(*(DOMAINS[pattern.property] for pattern in query.triples)):
            triples = [(subject, URIRef(p.property), v) for p, v in zip(query.triples, values, strict=True)]
            if oracle_matches(query, triples):
                found.append(triples)
    return found


def is_small(query: qel.Query) -> bool:
    size = 1
    for pattern in query.triples:
        size *= len(DOMAINS[pattern.property])
    return size <= 400


@settings(max_examples=150)
@given(chapter_queries(leaves=6), chapter_queries(leaves=4))
def test_in_the_chapters_language_subsumption_is_exact(q1: qel.Query, q2: qel.Query) -> None:
    assume(is_small(q2))
    truth = all(oracle_matches(q1, model) for model in smallest_models(q2))
    assert qel.subsumes(q1, q2) == truth


@settings(max_examples=150)
@given(chapter_queries(leaves=7))
def test_in_the_chapters_language_subsumption_of_a_part_is_exact(whole: qel.Query) -> None:
    """Random pairs rarely cover each other; a query and one of its alternatives, widened, often do."""
    assume(is_small(whole) and whole.constraint is not None)
    parts = getattr(whole.constraint, "parts", (whole.constraint,))
    models = smallest_models(whole)
    for part in parts:
        other = qel.Query(whole.heads, whole.subject, whole.triples, part)
        assert qel.subsumes(other, whole) == all(oracle_matches(other, model) for model in models)
        assert qel.subsumes(whole, other) == all(oracle_matches(whole, model) for model in smallest_models(other))


@settings(max_examples=150)
@given(chapter_queries(leaves=5), chapter_queries(leaves=3))
def test_in_the_chapters_language_subsumption_of_answers_is_exact(q1: qel.Query, q2: qel.Query) -> None:
    assume(is_small(q2) and len(q1.heads) == len(q2.heads))
    truth = all(oracle_answers(q2, model) <= oracle_answers(q1, model) for model in smallest_models(q2))
    assert qel.subsumes_answers(q1, q2) == truth


@settings(max_examples=100)
@given(chapter_queries(leaves=6))
def test_in_the_chapters_language_satisfiability_is_exact(query: qel.Query) -> None:
    assume(is_small(query))
    assert qel.is_satisfiable(query) == bool(smallest_models(query))


@settings(max_examples=400)
@given(queries(), queries(), triple_sets())
def test_with_all_operators_subsumption_is_never_claimed_wrongly(
    q1: qel.Query, q2: qel.Query, triples: list[Any]
) -> None:
    if oracle_matches(q2, triples):
        assert qel.is_satisfiable(q2)
        if qel.subsumes(q1, q2):
            assert oracle_matches(q1, triples)
    found = oracle_answers(q2, triples)
    if found and qel.subsumes_answers(q1, q2):
        assert found <= oracle_answers(q1, triples)


@given(queries(leaves=7), triple_sets())
def test_a_part_with_all_operators_is_never_claimed_wrongly(whole: qel.Query, triples: list[Any]) -> None:
    """As above, for pairs that do cover each other often."""
    for part in getattr(whole.constraint, "parts", ()):
        other = qel.Query(whole.heads, whole.subject, whole.triples, part)
        for q1, q2 in ((whole, other), (other, whole)):
            if qel.subsumes(q1, q2) and oracle_matches(q2, triples):
                assert oracle_matches(q1, triples)


@given(queries(leaves=8))
def test_subsumption_is_reflexive(query: qel.Query) -> None:
    same = qel.Query(query.heads, query.subject, query.triples, query.constraint)
    assert qel.subsumes(query, same)
    assert qel.subsumes_answers(query, same)


@settings(max_examples=300)
@given(queries(leaves=3), queries(leaves=3), queries(leaves=3))
def test_subsumption_is_transitive(q1: qel.Query, q2: qel.Query, q3: qel.Query) -> None:
    for a, b, c in itertools.permutations((q1, q2, q3)):
        if qel.subsumes(a, b) and qel.subsumes(b, c):
            assert qel.subsumes(a, c)


@given(chapter_queries(leaves=6), chapter_queries(leaves=6))
def test_equivalent_queries_of_the_chapters_language_have_one_id(q1: qel.Query, q2: qel.Query) -> None:
    assert qel.equivalent(q1, q2) == (qel.canonical_id(q1) == qel.canonical_id(q2))


@settings(max_examples=200)
@given(chapter_queries(leaves=7))
def test_a_query_rewritten_keeps_its_id(query: qel.Query) -> None:
    """Its own disjuncts in another order, one of them cut in two, and other names for its variables."""
    assume(query.constraint is not None and qel.is_satisfiable(query))
    renamed = {variable: f"W{i}" for i, variable in enumerate(reversed(query.variables))}
    text = str(query)
    for old, new in renamed.items():
        text = text.replace(old, new.lower() + "_") if old != "X" else text
    for old, new in renamed.items():
        text = text.replace(new.lower() + "_", new) if old != "X" else text
    assert qel.canonical_id(qel.parse(text)) == qel.canonical_id(query)


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("D >= 1 & D <= 5 | D >= 4 & D <= 10", "D >= 1 & D <= 10"),
        ("D >= 1 & D <= 5 | D >= 6 & D <= 10", "D >= 1 & D <= 10"),
        ("D <= 5 | D > 5", "D = 99999999999999999999999999"),
        ("D > 2003", "D >= 2004"),
        ("D >= 2004", "D > 2003"),
        ("D >= 2004", "D >= 2004-05-01"),
        ("D >= 2004", "D > 2003-12-31"),
        ("D <= 2004", "D < 2005-01-01"),
        ("D = 2004", "D = 2004-05"),
        ("D >= 2004-05", "D = 2004-05-01"),
        ("D < 2.5 | D >= 2.5", "D = 7.25"),
        ('Y contains "ejd"', 'Y contains "Nejdl"'),
        ('Y contains "ejd"', 'Y = "W. Nejdl"'),
        ('Y contains "ejd"', 'Y like "Nejdl*"'),
        ('Y like "N*"', 'Y like "Nej*dl"'),
        ('Y like "Ne*dl"', 'Y like "Nej*dl"'),
        ('Y like "ab*bc"', 'Y like "abx*bc"'),
        ('Y like "20*04"', 'Y = 2004 & Y like "20*" & Y like "*04"'),
        ('Y contains ""', "Y = 5"),
        ('Y contains "2004"', "Y = 2004"),
        ('Y contains "200"', "Y >= 2000 & Y <= 2009"),
        ('Y words ("information" before[0,2] "alert")', 'Y words ("Information Alert")'),
        ('Y words ("a" before[0,3] "c")', 'Y words ("a" before[0,1] "b" before[0,1] "c")'),
        ('Y words ("alert")', 'Y words ("information" before[0,*] "ALERT")'),
        ('Y similar[0.5] "a b"', 'Y similar[0.7] "b a"'),
        ('Y similar[0.5] "a b"', 'Y similar[0.5] "b a A B"'),
        ('Y similar[0.5] "a b"', 'Y = "a B c"'),
        ("Y within <http://a/t>", "Y = <http://a/t>"),
        ('lang(Y) = "en"', 'lang(Y) = "EN" & Y contains "x"'),
        ("Y = <http://a/1> | Y = <http://a/2>", "Y = <http://a/2>"),
    ],
)
def test_covered(general: str, special: str) -> None:
    assert qel.subsumes(query_with(general), query_with(special))


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("D >= 1 & D <= 5 | D >= 7 & D <= 10", "D >= 1 & D <= 10"),
        ("D < 2.5 | D > 2.5", "D >= 2.5"),
        ("D >= 2004-05-01", "D >= 2004"),
        ("D = 2004-05-01", "D = 2004-05"),
        ('Y contains "Nejdl"', 'Y contains "ejd"'),
        ('Y contains "ab"', 'Y contains "a" & Y contains "b"'),
        ('Y like "ab*bc"', 'Y like "ab*" & Y like "*bc"'),
        ('Y = "5"', "Y = 5"),
        ("Y = 5", 'Y contains "5"'),
        ('Y contains "-5"', "Y = -5"),
        ('Y words ("alert")', 'Y contains "alert"'),
        ('Y contains "alert"', 'Y words ("alert")'),
        ('Y words ("a" before[0,0] "b")', 'Y words ("a") & Y words ("b")'),
        ('Y words ("a" before[0,1] "c")', 'Y words ("a" before[0,1] "b" before[0,1] "c")'),
        ('Y similar[0.7] "a b"', 'Y similar[0.5] "a b"'),
        ("Y = <http://a/t>", "Y within <http://a/t>"),
        ("Y within <http://a/t>", "Y within <http://a/u>"),
        ('lang(Y) = "en"', 'Y contains "en"'),
        ('Y contains ""', "Y = <http://a/t>"),
        ("D < 5 | D >= 5", 'Y contains "a"'),
    ],
)
def test_not_covered(general: str, special: str) -> None:
    assert not qel.subsumes(query_with(general), query_with(special))


def query_with(constraint: str) -> qel.Query:
    """A query on dc:title, which D and Y stand for alike."""
    variable = "D" if "D " in constraint else "Y"
    return qel.parse(f"X : t(X, dc:title, {variable}) & ({constraint})")


def test_a_slot_is_not_covered_by_two_slots_together() -> None:
    one = qel.parse('X : t(X, dc:creator, Y) & Y contains "a" & Y contains "b"')
    two = qel.parse('X : t(X, dc:creator, Y) & t(X, dc:creator, Z) & Y contains "a" & Z contains "b"')
    assert qel.subsumes(two, one)
    assert not qel.subsumes(one, two)


def test_several_alternatives_cover_together_across_slots() -> None:
    general = qel.parse(
        "X : t(X, dc:date, D) & t(X, dc:creator, Y)"
        ' & (D >= 1 & D <= 5 & Y contains "a" | D >= 4 & D <= 10 & Y contains "b")'
    )
    special = qel.parse('X : t(X, dc:date, D) & t(X, dc:creator, Y) & D >= 2 & D <= 9 & Y contains "ab"')
    assert qel.subsumes(general, special)
    assert not any(
        disjunct.implies(alternative)
        for disjunct in special.normal_form.disjuncts
        for alternative in general.normal_form.disjuncts
    )


def test_heads_matter_for_answers_only() -> None:
    by_subject = qel.parse("X : t(X, dc:creator, Y) & t(X, dc:contributor, Z)")
    by_creator = qel.parse("Y : t(X, dc:creator, Y) & t(X, dc:contributor, Z)")
    by_contributor = qel.parse("Z : t(X, dc:creator, Y) & t(X, dc:contributor, Z)")
    assert qel.equivalent(by_subject, by_creator)
    assert not qel.subsumes_answers(by_subject, by_creator)
    assert not qel.subsumes_answers(by_creator, by_contributor)
    assert qel.subsumes_answers(qel.parse("Y : t(X, dc:creator, Y)"), by_creator)


def test_nothing_is_covered_by_everything() -> None:
    impossible = qel.parse("X : t(X, dc:date, D) & D < 5 & D > 5")
    assert not qel.is_satisfiable(impossible)
    assert qel.subsumes(qel.parse("X : t(X, dc:title, Y)"), impossible)
    assert qel.subsumes_answers(qel.parse("X, Y : t(X, dc:title, Y)"), impossible)


@pytest.mark.parametrize(
    ("constraint", "clash"),
    [
        ("Y < 5 & Y > 5", "Y < 5 and Y > 5"),
        ("Y > 4 & Y < 5 & Y > 1", "Y > 4 and Y < 5"),
        ("Y = <http://a/1> & Y = <http://a/2>", "Y = <http://a/1> and Y = <http://a/2>"),
        ('Y = <http://a/1> & Y contains "a"', 'Y = <http://a/1> and Y contains "a"'),
        ('Y = "abc" & Y contains "d"', 'Y = "abc" and Y contains "d"'),
        ('Y like "a*" & Y like "b*"', 'Y like "a*" and Y like "b*"'),
        ("Y >= 2004-05-01 & Y < 2004", "Y >= 2004-05-01 and Y < 2004"),
        ("Y > 2004-05-01 & Y < 2004-05-02", "Y > 2004-05-01 and Y < 2004-05-02"),
        ("Y > 1.5 & Y < 1.5", "Y > 1.5 and Y < 1.5"),
        ('Y >= 2004 & Y contains "ca."', 'Y >= 2004 and Y contains "ca."'),
        ('lang(Y) = "en" & lang(Y) = "de"', 'lang(Y) = "en" and lang(Y) = "de"'),
    ],
)
def test_an_unsatisfiable_query_names_what_contradicts(constraint: str, clash: str) -> None:
    with pytest.raises(qel.Unsatisfiable) as caught:
        qel.require_satisfiable(qel.parse(f"X : t(X, dc:title, Y) & t(X, dc:date, D) & D = 7 & {constraint}"))
    assert str(caught.value) == f"nothing can match this query: no value can meet {clash}"


def test_ids_are_the_same_on_every_machine() -> None:
    query = qel.parse('X : t(X, dc:creator, Y) & t(X, dc:date, D) & Y contains "Nejdl" & D > 2003')
    assert qel.canonical_id(query) == "6473fa0fae566f43087b84b8463d8fef"


def test_a_query_with_very_many_primes_stays_sound() -> None:
    """Ranges that overlap in a chain, each with its own creator: their prime disjuncts are all the sub-chains."""
    alternatives = " | ".join(f'D >= {i} & D <= {i + 1} & Y contains "c{i:02}"' for i in range(60))
    query = qel.parse(f"X : t(X, dc:date, D) & t(X, dc:creator, Y) & ({alternatives})")
    form = query.normal_form
    assert not form.exact
    assert len(form.primes) == 60 <= MAX_PRIMES
    assert qel.subsumes(query, qel.parse('X : t(X, dc:date, D) & t(X, dc:creator, Y) & D = 7 & Y contains "c07"'))
    assert not qel.subsumes(query, qel.parse('X : t(X, dc:date, D) & t(X, dc:creator, Y) & D = 9 & Y contains "c07"'))
