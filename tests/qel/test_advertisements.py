"""Advertisements: what covers what, and the law that makes routing exact."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import DC, FOAF, RDF, BNode, Literal, Namespace, URIRef

import qel
from qel.names import RDF_TYPE
from tests.qel.oracle import oracle_matches
from tests.qel.strategies import CLASSES, PROPERTIES, URIS, queries, terms, triple_sets

EX = Namespace("http://example.org/")


@st.composite
def advertisements(draw: st.DrawFn) -> qel.Advertisement:
    """All levels mixed, so that most generated publications nearly conform."""
    schemas = draw(st.sets(st.sampled_from(["http://example.org/terms/", "http://example.net/", "rdf:"]), max_size=2))
    properties = draw(st.sets(st.sampled_from([*PROPERTIES, *CLASSES, RDF_TYPE]), max_size=3))
    value = st.one_of(
        st.sampled_from(URIS).map(qel.Uri),
        st.sampled_from(["a", "ab", "b ab", "1", "2004-05-01", "", " 4 "]),
        st.integers(-2, 5),
        st.sampled_from([(None, 0), (1, 3), (2004, None), (2004, 2004)]),
    )
    values = draw(st.dictionaries(st.sampled_from(PROPERTIES[:4]), st.lists(value, min_size=1, max_size=5), max_size=4))
    if draw(st.booleans()):
        values[RDF_TYPE] = [qel.Uri(draw(st.sampled_from(CLASSES)))]
    return qel.Advertisement(schemas, properties, values)


def conforming(advertisement: qel.Advertisement, triples: list[Any]) -> list[Any]:
    """The part of a publication that its peer may publish."""
    return [triple for triple in triples if qel.conforms(advertisement, [triple])]


@settings(max_examples=300)
@given(advertisements(), queries(), st.data())
def test_what_conforms_and_matches_is_covered(
    advertisement: qel.Advertisement, query: qel.Query, data: st.DataObject
) -> None:
    triples = conforming(advertisement, data.draw(triple_sets()))
    subject = URIRef("http://example.org/s1")
    for pattern in query.triples:
        node = (
            URIRef(pattern.object.uri)
            if pattern.property == RDF_TYPE and isinstance(pattern.object, qel.syntax.UriIs)
            else data.draw(terms())
        )
        triples += conforming(advertisement, [(subject, URIRef(pattern.property), node)])
    assert qel.conforms(advertisement, triples)
    topics = [(URIRef(name), URIRef(qel.names.SKOS + "broader"), URIRef(uri)) for name in CLASSES for uri in URIS]
    broader = {name: set(URIS) for name in CLASSES}
    if qel.matches(query, triples, topics):
        assert oracle_matches(query, triples, broader)
        assert qel.covers_jointly(advertisement, query)
        assert qel.covers(advertisement, query)


@settings(max_examples=150)
@given(advertisements(), advertisements(), queries())
def test_a_merged_index_covers_jointly_what_its_parts_do(
    one: qel.Advertisement, other: qel.Advertisement, query: qel.Query
) -> None:
    if qel.covers_jointly(one, query) or qel.covers_jointly(other, query):
        assert qel.covers_jointly(one | other, query)


@given(advertisements(), queries(), queries())
def test_what_covers_a_query_covers_a_more_general_one_over_the_same_properties(
    advertisement: qel.Advertisement, q1: qel.Query, q2: qel.Query
) -> None:
    general = qel.Query(q2.heads, q2.subject, q2.triples, None)
    if qel.covers_jointly(advertisement, q2):
        assert qel.covers_jointly(advertisement, general)
    if qel.subsumes(q1, q2) and qel.covers_jointly(advertisement, q2):
        assert qel.covers_jointly(advertisement, q1)


def test_levels_taken_one_by_one_lose_what_the_joint_rule_keeps() -> None:
    query = qel.parse('X : t(X, dc:creator, Y) & t(X, foaf:name, N) & Y contains "Nejdl"')
    mixed = qel.Advertisement(schemas=["dc:"], properties=["foaf:name"])
    assert not qel.covers_by_schemas(mixed, query)
    assert not qel.covers_by_properties(mixed, query)
    assert qel.covers_jointly(mixed, query)
    assert qel.covers(mixed, query)
    assert qel.conforms(mixed, [(EX.a, DC.creator, Literal("W. Nejdl")), (EX.a, FOAF.name, Literal("x"))])


def test_classes_may_differ_between_alternatives() -> None:
    query = qel.parse("X : t(X, rdf:type, C) & (C = <http://a.org/Book> | C = <http://b.org/Film>)")
    books = qel.Advertisement(properties=["http://a.org/Book"])
    assert qel.properties(query) == {"http://a.org/Book", "http://b.org/Film"}
    assert not qel.covers_by_properties(books, query)
    assert qel.covers(books, query)
    assert not qel.covers(qel.Advertisement(properties=["http://c.org/Song"]), query)


def test_an_open_class_is_any_class_that_is_advertised() -> None:
    query = qel.parse("X : t(X, rdf:type, C)")
    assert qel.properties(query) == {RDF_TYPE}
    assert qel.schemas(query) == frozenset()
    assert qel.covers(qel.Advertisement(properties=["http://a.org/Book"]), query)
    assert not qel.covers(qel.Advertisement(values={"dc:date": 2004}), query)


@pytest.mark.parametrize(
    ("advertised", "constraint", "expected"),
    [
        ((2002, None), "D >= 2004", True),
        ((2002, 2003), "D >= 2004", False),
        ((2002, 2003), "D >= 2003-05-01", True),
        ((2002, 2002), "D >= 2003-05-01", False),
        (2004, 'D contains "04"', True),
        (2004, 'D contains "x"', False),
        (["2004"], "D = 2004", True),
        (["2004"], "D = 2005", False),
        (["1999", "2004-05-01"], "D > 2004-04", True),
        (["W. Nejdl"], 'D contains "Nejdl"', True),
        (["W. Nejdl"], 'lang(D) = "en"', True),
        (["W. Nejdl"], 'D words ("nejdl")', True),
        (["W. Nejdl"], 'D words ("chirita")', False),
        ([URIRef("http://a.org/1")], "D = <http://a.org/1>", True),
        ([URIRef("http://a.org/1")], "D = <http://a.org/2>", False),
        ([URIRef("http://a.org/1")], "D within <http://a.org/2>", True),
        ([URIRef("http://a.org/1")], 'D contains "a"', False),
        ([Literal(2004)], "D = 2004-05", True),
    ],
)
def test_values_leave_the_constraint_satisfiable_or_not(advertised: Any, constraint: str, expected: bool) -> None:
    query = qel.parse(f"X : t(X, dc:date, D) & {constraint}")
    assert qel.covers(qel.Advertisement(values={"dc:date": advertised}), query) is expected


def test_a_property_with_values_and_its_schema_is_free() -> None:
    query = qel.parse("X : t(X, dc:date, D) & D = 1999")
    only_values = qel.Advertisement(values={"dc:date": (2002, None)})
    assert not qel.covers(only_values, query)
    assert qel.covers(only_values | qel.Advertisement(schemas=["dc"]), query)


def test_ranges_are_given_in_several_ways() -> None:
    expected = {qel.Range(2002, 2004)}
    for ways in ((2002, 2004), [(2002, 2004)], range(2002, 2005), qel.Range(2002, 2004)):
        assert qel.Advertisement(values={"dc:date": ways}).values["http://purl.org/dc/elements/1.1/date"] == expected
    unbounded = qel.Advertisement(values={"dc:date": (2002, math.inf)})
    assert unbounded == qel.Advertisement(values={"dc:date": (2002, None)})


def test_what_cannot_match_is_not_covered() -> None:
    query = qel.parse("X : t(X, dc:date, D) & D < 5 & D > 5")
    assert not qel.covers(qel.Advertisement(schemas=["dc"], properties=["dc:date"], values={"dc:date": 5}), query)


def test_an_empty_advertisement_covers_nothing() -> None:
    assert not qel.covers(qel.Advertisement(), qel.parse("X : t(X, rdf:value, V)"))


def test_conforms_names_what_does_not() -> None:
    advertisement = qel.Advertisement(schemas=["dc"], values={"foaf:name": ["x"]})
    triples = [(EX.a, DC.title, BNode()), (EX.a, FOAF.name, Literal("y")), (EX.a, FOAF.name, Literal("x", lang="en"))]
    assert list(qel.nonconforming(advertisement, triples)) == [(str(FOAF.name), Literal("y"))]
    assert qel.conforms(advertisement, [(EX.a, RDF.type, URIRef("http://purl.org/dc/elements/1.1/article"))])
    assert not qel.conforms(advertisement, [(EX.a, RDF.type, FOAF.Person)])


def test_names_may_be_short_or_terms() -> None:
    spelled = qel.Advertisement(schemas=["dc"], properties=["foaf:name"], values={"dc:date": [1999]})
    written = qel.Advertisement(
        schemas=[Namespace("http://purl.org/dc/elements/1.1/")],
        properties=[FOAF.name],
        values={DC.date: qel.Range(1999, 1999)},
    )
    assert spelled == written
    assert hash(spelled) == hash(written)


@pytest.mark.parametrize(
    "arguments",
    [
        {"schemas": "dc"},
        {"properties": ["no iri"]},
        {"schemas": ["nothing"]},
        {"values": {"dc:date": [3.5]}},
        {"values": {"dc:date": []}},
        {"values": {"dc:date": [BNode()]}},
        {"values": {"dc:date": (5, 4)}},
    ],
)
def test_nonsense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(qel.QelTypeError):
        qel.Advertisement(**arguments)


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        ("http://purl.org/dc/elements/1.1/creator", "http://purl.org/dc/elements/1.1/"),
        ("http://www.w3.org/2004/02/skos/core#broader", "http://www.w3.org/2004/02/skos/core#"),
        ("http://a.org/x#y/z", "http://a.org/x#y/"),
        ("urn:isbn:123", "urn:isbn:"),
        ("http://a.org/", "http://a.org/"),
    ],
)
def test_a_namespace_ends_at_the_last_separator(iri: str, expected: str) -> None:
    assert qel.namespace(iri) == expected
