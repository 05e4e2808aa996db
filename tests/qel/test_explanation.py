"""Explanations: what they say is so, and a counterexample is one."""

from __future__ import annotations

from hypothesis import given, settings

import qel
from qel.explanation import Verdict, counterexample, disjunct_in_words, explain_subsumption
from qel.matching import meets
from qel.topics import NO_TOPICS
from qel.values import Description
from tests.qel.strategies import chapter_queries, queries


def query(constraint: str) -> qel.Query:
    return qel.parse(f"X : t(X, dc:creator, Y) & t(X, dc:date, D) & ({constraint})")


def is_met(query: qel.Query, description: Description) -> bool:
    return any(meets(disjunct, description, NO_TOPICS) for disjunct in query.normal_form.disjuncts)


@settings(max_examples=200)
@given(chapter_queries(leaves=4), chapter_queries(leaves=3))
def test_in_the_chapters_language_every_no_is_shown(q1: qel.Query, q2: qel.Query) -> None:
    found = counterexample(q1, q2)
    assert (found is not None) == (not qel.subsumes(q1, q2))
    if found is not None:
        assert is_met(q2, found)
        assert not is_met(q1, found)


@given(queries(), queries())
def test_what_is_shown_matches_the_one_and_not_the_other(q1: qel.Query, q2: qel.Query) -> None:
    verdict = explain_subsumption(q1, q2)
    assert verdict.covers == qel.subsumes(q1, q2)
    assert verdict.reasons
    if verdict.shown_by is not None:
        assert not verdict.covers
        assert is_met(q2, verdict.shown_by)
        assert not is_met(q1, verdict.shown_by)


def test_a_yes_says_by_what() -> None:
    verdict = explain_subsumption(query("D >= 2000"), query('D = 2004 & Y contains "N"'))
    assert verdict == Verdict(
        True,
        ('what has dc:creator containing "N" and dc:date 2004 has dc:creator (any value) and dc:date 2000 or more',),
    )


def test_a_no_shows_the_gap_between_two_ranges() -> None:
    verdict = explain_subsumption(query("D <= 5 | D >= 7"), query("D >= 1 & D <= 9"))
    assert verdict.shown_by is not None
    assert [value.text for value in verdict.shown_by.values["http://purl.org/dc/elements/1.1/date"]] == ["6"]


def test_regions_in_words() -> None:
    said = [
        disjunct_in_words(disjunct)
        for text in (
            'Y like "N*l" & lang(Y) = "de" & D >= 2004-05 & D < 2006',
            'Y words ("a" before[0,3] "b") & D > 1.5 & D <= 2.5',
            'Y similar[0.5] "a b" & D = <http://a.org/x> & X = <http://a.org/s>',
            "Y within skos:Concept & D = 7.5",
        )
        for disjunct in query(text).normal_form.disjuncts
    ]
    assert said == [
        'dc:creator starting with "N" and ending with "l" and in language "de"'
        " and dc:date not before 2004-05 and from 2004 to 2005",
        'dc:creator with the words "a" before[0,3] "b" and dc:date above 1.5 and at most 2.5',
        'the subject <http://a.org/s> and dc:creator similar to "a b" by at least 0.5 and dc:date <http://a.org/x>',
        "dc:creator within skos:Concept and dc:date 7.5",
    ]
