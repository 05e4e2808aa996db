"""`matches`, `answers` and `bindings` against a direct reading of the definition."""

from __future__ import annotations

from typing import Any

import pyoxigraph
import pytest
from hypothesis import given
from rdflib import DC, RDF, SKOS, BNode, Literal, Namespace, URIRef
from rdflib.namespace import RDFS

import qel
from tests.qel.oracle import oracle_answers, oracle_matches
from tests.qel.strategies import URIS, queries, triple_sets

EX = Namespace("http://example.org/")
BROADER = {URIS[0]: {URIS[1]}, URIS[1]: {URIS[2]}, URIS[2]: {URIS[1]}}
HIERARCHY = [
    (URIRef(URIS[0]), SKOS.broader, URIRef(URIS[1])),
    (URIRef(URIS[1]), RDFS.subClassOf, URIRef(URIS[2])),
    (URIRef(URIS[2]), SKOS.broader, URIRef(URIS[1])),
]


@given(queries(), triple_sets(subjects=2))
def test_matches_is_what_the_definition_says(query: qel.Query, triples: list[Any]) -> None:
    assert qel.matches(query, triples) == oracle_matches(query, triples)
    assert qel.matches(query, triples, HIERARCHY) == oracle_matches(query, triples, BROADER)


@given(queries(), triple_sets(subjects=2))
def test_answers_are_what_the_definition_says(query: qel.Query, triples: list[Any]) -> None:
    assert qel.answers(query, triples, HIERARCHY) == oracle_answers(query, triples, BROADER)


@given(queries(), triple_sets(subjects=2))
def test_bindings_are_the_answers_column_by_column(query: qel.Query, triples: list[Any]) -> None:
    everything = qel.Query(query.variables, query.subject, query.triples, query.constraint)
    expected: dict[Any, dict[str, set[Any]]] = {}
    for answer in oracle_answers(everything, triples, BROADER):
        columns = expected.setdefault(answer[0], {})
        for variable, term in zip(query.variables, answer, strict=True):
            columns.setdefault(variable, set()).add(term)
    found = qel.bindings(query, triples, HIERARCHY)
    assert {subject: {name: set(terms) for name, terms in row.items()} for subject, row in found.items()} == expected


@given(queries(), triple_sets())
def test_terms_of_pyoxigraph_match_like_those_of_rdflib(query: qel.Query, triples: list[Any]) -> None:
    converted = [pyoxigraph.Triple(*map(_to_pyoxigraph, triple)) for triple in triples]
    assert qel.matches(query, converted) == qel.matches(query, triples)


def _to_pyoxigraph(term: Any) -> Any:
    if isinstance(term, URIRef):
        return pyoxigraph.NamedNode(str(term))
    if isinstance(term, BNode):
        return pyoxigraph.BlankNode(str(term))
    if term.language:
        return pyoxigraph.Literal(str(term), language=term.language)
    datatype = pyoxigraph.NamedNode(str(term.datatype)) if term.datatype else None
    return pyoxigraph.Literal(str(term), datatype=datatype)


def test_two_slots_may_be_met_by_two_values_or_by_one() -> None:
    query = qel.parse('X : t(X, dc:creator, Y) & t(X, dc:creator, Z) & Y contains "Nejdl" & Z contains "Chirita"')
    two = [(EX.a, DC.creator, Literal("W. Nejdl")), (EX.a, DC.creator, Literal("P. Chirita"))]
    assert qel.matches(query, two)
    assert qel.matches(query, [(EX.a, DC.creator, Literal("Nejdl and Chirita"))])
    assert not qel.matches(query, two[:1])


def test_tests_of_one_variable_are_met_by_one_value() -> None:
    query = qel.parse('X : t(X, dc:creator, Y) & Y contains "Nejdl" & Y contains "Chirita"')
    assert not qel.matches(query, [(EX.a, DC.creator, Literal("Nejdl")), (EX.a, DC.creator, Literal("Chirita"))])


def test_a_query_speaks_of_one_subject() -> None:
    query = qel.parse("X : t(X, dc:creator, Y) & t(X, dc:date, D)")
    assert not qel.matches(query, [(EX.a, DC.creator, Literal("a")), (EX.b, DC.date, Literal("b"))])


def test_answers_keep_the_terms_that_were_given() -> None:
    query = qel.parse("X, D : t(X, dc:date, D) & D >= 2004")
    typed = Literal("2004-05-01", datatype=URIRef("http://www.w3.org/2001/XMLSchema#date"), normalize=False)
    plain = Literal("2005")
    triples = [(EX.a, DC.date, typed), (EX.a, DC.date, plain), (EX.a, DC.date, Literal("1999"))]
    assert qel.answers(query, triples) == {(EX.a, typed), (EX.a, plain)}


def test_a_topic_is_within_what_is_broader_over_any_number_of_steps() -> None:
    query = qel.parse("X : t(X, dc:subject, T) & T within <http://example.org/science>")
    topics = qel.Topics([(EX.botany, SKOS.broader, EX.biology), (EX.biology, SKOS.broader, EX.science)])
    assert qel.matches(query, [(EX.a, DC.subject, EX.botany)], topics)
    assert qel.matches(query, [(EX.a, DC.subject, EX.science)])
    assert not qel.matches(query, [(EX.a, DC.subject, EX.botany)])
    assert not qel.matches(query, [(EX.a, DC.subject, EX.music)], topics)
    assert not qel.matches(query, [(EX.a, DC.subject, Literal(str(EX.botany)))], topics)


def test_the_ancestors_of_a_topic_are_all_that_is_broader_even_in_a_circle() -> None:
    up = [
        (EX.botany, SKOS.broader, EX.biology),
        (EX.biology, SKOS.broader, EX.science),
        (EX.science, SKOS.broader, EX.biology),
    ]
    topics = qel.Topics(up)
    assert topics.ancestors(str(EX.botany)) == {str(EX.biology), str(EX.science)}
    assert topics.ancestors(str(EX.science)) == {str(EX.biology), str(EX.science)}
    assert topics.ancestors(str(EX.music)) == set()


def test_a_blank_node_meets_nothing_that_is_asked_of_a_value() -> None:
    triples = [(BNode("x"), RDF.type, BNode("y"))]
    assert qel.matches(qel.parse("X : t(X, rdf:type, C)"), triples)
    assert not qel.matches(qel.parse('X : t(X, rdf:type, C) & C contains ""'), triples)
    assert not qel.matches(qel.parse("X : t(X, rdf:type, C) & X = <http://example.org/x>"), triples)


def test_something_that_is_no_term_is_refused() -> None:
    with pytest.raises(TypeError, match="rdflib or pyoxigraph"):
        qel.matches(qel.parse("X : t(X, dc:date, D)"), [("a", "b", "c")])
