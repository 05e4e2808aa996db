"""From triples to publications: names of anonymous nodes in their place, and advertisements derived from data."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import DC, FOAF, RDF, RDFS, BNode, Graph, Literal, URIRef

import qel
from qel import Range, Uri
from superpeer.rdf import Problem, read
from superpeer.rdf.lifting import NAMES, lift
from superpeer.rdf.publishing import LEVELS, advertisement_of_catalogue, publications_of

A, B, C = (URIRef(f"http://example.org/{name}") for name in "abc")
PREFIXES = """
@prefix : <http://example.org/> . @prefix dc: <http://purl.org/dc/elements/1.1/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <http://schema.org/> . @prefix bibo: <http://purl.org/ontology/bibo/> .
"""


def published(turtle: str) -> dict[str, set[tuple[str, str]]]:
    """By subject: property and value of each statement, as text. The same whichever library read the triples."""
    graph = Graph().parse(data=PREFIXES + turtle)
    stored = list(pyoxigraph.parse((PREFIXES + turtle).encode(), pyoxigraph.RdfFormat.TURTLE))
    found = [_as_text(publications_of(triples)) for triples in (graph, stored, [quad.triple for quad in stored])]
    assert found[0] == found[1] == found[2]
    return found[0]


def _as_text(publications: Iterable[Any]) -> dict[str, set[tuple[str, str]]]:
    def text(term: Any) -> str:
        is_blank = type(term).__name__ in ("BNode", "BlankNode")
        return "blank" if is_blank else str(getattr(term, "value", term) if not isinstance(term, Literal) else term)

    return {text(subject): {(text(p), text(o)) for _, p, o in triples} for subject, triples in publications}


@pytest.mark.parametrize(
    "name", ["rdf:value", "rdfs:label", "skos:prefLabel", "foaf:name", "schema:name", "<https://schema.org/name>"]
)
def test_a_named_node_is_replaced_by_its_name(name: str) -> None:
    assert published(f':a dc:creator [ {name} "Nejdl" ; foaf:mbox <mailto:n@example.org> ] .') == {
        str(A): {(str(DC.creator), "Nejdl")}
    }


def test_all_names_count_and_no_statement_comes_twice() -> None:
    turtle = ':a dc:creator [ foaf:name "Wolfgang Nejdl", "W. Nejdl" ; rdfs:label "W. Nejdl" ], "W. Nejdl" .'
    assert published(turtle) == {str(A): {(str(DC.creator), "Wolfgang Nejdl"), (str(DC.creator), "W. Nejdl")}}
    assert len(next(iter(publications_of(Graph().parse(data=PREFIXES + turtle)))).triples) == 2


def test_names_are_found_one_node_further_and_no_further() -> None:
    assert published(':a dc:creator [ foaf:name [ rdf:value "Nejdl" ] ] .') == {str(A): {(str(DC.creator), "Nejdl")}}
    deep = ':a dc:creator [ foaf:name [ rdf:value [ rdf:value "Nejdl" ] ] ] .'
    assert published(deep) == {str(A): {(str(DC.creator), "blank")}}


def test_members_of_a_container_stand_for_it_in_order() -> None:
    turtle = PREFIXES + ':a dc:creator [ a rdf:Seq ; rdf:_2 "Two" ; rdf:_10 "Ten" ; rdf:_1 [ foaf:name "One" ] ] .'
    ((_, triples),) = publications_of(Graph().parse(data=turtle))
    assert [str(node) for _, _, node in triples] == ["One", "Two", "Ten"]


def test_cycles_end() -> None:
    assert published("_:x foaf:name _:y . _:y foaf:name _:x . :a dc:creator _:x .") == {
        str(A): {(str(DC.creator), "blank")}
    }
    assert published('_:x foaf:name _:x, "Nejdl" . :a dc:creator _:x .') == {str(A): {(str(DC.creator), "Nejdl")}}


def test_a_name_that_is_no_literal_is_none() -> None:
    assert published(":a dc:creator [ rdfs:label :b ] .") == {str(A): {(str(DC.creator), "blank")}}


def test_uris_keep_their_own_names() -> None:
    assert published(':a dc:creator :b . :b foaf:name "Nejdl" .') == {
        str(A): {(str(DC.creator), str(B))},
        str(B): {(str(FOAF.name), "Nejdl")},
    }


@pytest.mark.parametrize(
    ("turtle", "skipped"),
    [
        (':a dc:creator [ foaf:name "Nejdl" ] .', 0),
        (':a dc:creator [ foaf:mbox "Nejdl" ] .', 1),
        ('[] dc:title "Nobody refers to it" ; rdfs:label "though it has a name" .', 1),
        (':a dc:creator [ foaf:name [ rdf:value "Nejdl" ] ], [] . [] a :b .', 1),
        (':a dc:subject "none of it" .', 0),
    ],
)
def test_anonymous_subjects_are_skipped_and_counted(turtle: str, skipped: int) -> None:
    publications = publications_of(Graph().parse(data=PREFIXES + turtle))
    assert publications.skipped == skipped
    assert all(isinstance(subject, URIRef) for subject, _ in publications)
    assert len(publications) == len(list(publications))


def test_language_and_datatype_of_a_name_are_kept() -> None:
    graph = Graph().parse(data=PREFIXES + ':a dc:creator [ foaf:name "Nejdl"@de, "Nejdl"@en, "7"^^<http://t> ] .')
    ((_, triples),) = publications_of(graph)
    wanted = {Literal("Nejdl", lang="de"), Literal("Nejdl", lang="en"), Literal("7", datatype=URIRef("http://t"))}
    assert {node for _, _, node in triples} == wanted


nodes = st.sampled_from(["_a", "_b", "_c", "u", "'one", "'two"])
properties = st.sampled_from([str(RDF.value), str(FOAF.name), str(DC.creator), str(RDF) + "_1"])
said = st.dictionaries(st.sampled_from(["_a", "_b", "_c"]), st.lists(st.tuples(properties, nodes), max_size=4))


@given(st.lists(st.tuples(properties, nodes), max_size=5), said)
def test_lifting_is_as_the_rule_says(
    statements: list[tuple[str, str]], known: dict[str, list[tuple[str, str]]]
) -> None:
    """Against all ways of at most two steps over names, written out."""
    named = (*NAMES, str(RDF) + "_1")

    def names(node: str) -> set[str]:
        first = {value for name, value in known.get(node, ()) if node[0] == "_" and name in named}
        second = {
            value for middle in first for name, value in known.get(middle, ()) if middle[0] == "_" and name in named
        }
        return {value for value in first | second if value[0] == "'"}

    wanted = {(name, found) for name, value in statements for found in names(value) or {value}}
    lifted = lift(
        statements,
        lambda node: known.get(node, []) if node[0] == "_" else None,
        lambda node: node[0] == "'",
    )
    assert set(lifted) == wanted
    assert len(lifted) == len(wanted)


CATALOGUE = """
:a a bibo:Article ; dc:title "One" ; dc:language "en" ; dc:date "2003-05" ; dc:creator [ foaf:name "Nejdl" ] .
:b a bibo:Book ; dc:title "Two" ; dc:language "de" ; dc:date "1999" ; dc:relation :a .
"""


def test_the_three_levels_of_a_catalogue() -> None:
    graph = Graph().parse(data=PREFIXES + CATALOGUE)
    bibo = "http://purl.org/ontology/bibo/"
    assert advertisement_of_catalogue(graph, ["schemas"]).schemas == {str(DC), bibo}
    assert advertisement_of_catalogue(graph, ["properties"]).properties == {
        *(str(DC[name]) for name in ("title", "language", "date", "creator", "relation")),
        bibo + "Article",
        bibo + "Book",
    }
    values = advertisement_of_catalogue(graph, ["values"]).values
    assert values[str(DC.language)] == {"en", "de"}
    assert values[str(DC.date)] == {Range(1999, 2003)}
    assert values[str(DC.relation)] == {Uri(str(A))}
    assert values[str(RDF.type)] == {Uri(bibo + "Article"), Uri(bibo + "Book")}
    everything = advertisement_of_catalogue(graph)
    assert everything.schemas
    with pytest.raises(ValueError, match="levels are some of"):
        advertisement_of_catalogue(graph, ["property"])


def test_many_values_are_not_listed() -> None:
    graph = [(URIRef(f"http://example.org/{i}"), DC.title, Literal(f"Title {i}")) for i in range(30)]
    graph += [(A, DC.date, Literal(str(year))) for year in range(1900, 2000)]
    narrow = advertisement_of_catalogue(graph, ["properties", "values"])
    assert narrow.properties == {str(DC.title)}
    assert narrow.values == {str(DC.date): {Range(1900, 1999)}}
    query = qel.parse("X : t(X, dc:date, D) & D > 2004")
    assert not qel.covers(narrow, query)
    assert qel.covers(advertisement_of_catalogue(graph), query)


subjects = st.sampled_from([A, B, C, BNode("x"), BNode("y")])
predicates = st.sampled_from([DC.title, DC.date, RDF.type, RDF.value, RDFS.label, FOAF.name])
objects = st.one_of(
    subjects, st.sampled_from(["2004", "-3", "1999-12-31", "text", "x" * 300]).map(Literal), st.just(FOAF.Person)
)
FREE = [levels for levels in product([False, True], repeat=3) if levels[0] or levels[1]]


@given(st.lists(st.tuples(subjects, predicates, objects), max_size=12), st.sampled_from(FREE))
def test_a_catalogue_conforms_to_what_is_derived_from_it(
    triples: list[tuple[Any, Any, Any]], chosen: tuple[bool, bool, bool]
) -> None:
    levels = [level for level, is_chosen in zip(LEVELS, chosen, strict=True) if is_chosen]
    advertisement = advertisement_of_catalogue(triples, levels)
    for _, described in publications_of(triples):
        assert list(qel.nonconforming(advertisement, described)) == []


def test_a_file_of_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.ttl"
    path.write_text(PREFIXES + CATALOGUE)
    problems: list[Problem] = []
    assert len(publications_of(read(path, problems.append))) == 2
    assert problems == []
