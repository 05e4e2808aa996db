"""The bridge to SPARQL: what is written, what engines make of it, what is read, and what is refused.

The engine of reference is pyoxigraph. rdflib answers alike but for `words`, whose classes of letters it cannot compile.
"""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyoxigraph
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

import qel
from qel.dates import read_date
from qel.sparql_reader import SAFE_DEPTH
from qel.syntax import Compare, Date, Operator, Query, StringIs, Test, TriplePattern, UriIs
from qel.values import View
from tests.qel.sparql_strategies import (
    DATE_SPELLINGS,
    DATES,
    EX,
    HIERARCHY,
    INTEGERS,
    NO_DATES,
    NUMBERS,
    TEXTS,
    queries,
    triple_sets,
)

PREFIXES = """PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX ex: <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
HOSTILE = [
    *(
        '"',
        '""',
        "\\",
        '\\"',
        "\\\\",
        "'",
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\x7f\x85",
        "}",
        '") } #',
        "# not a comment",
        "?X",
    ),
    *(
        "\\u0041",
        "\\U00000041",
        "\\\\u0022",
        "\\\x1f",
        "\\n",
        "\b\f",
        "$1",
        "{0}",
        "^.*$",
        "\U0001f600",
        "\u2028",
        "%s",
        "ſß",
        "a b",
    ),
]
TOKENS = [
    *(
        "SELECT",
        "WHERE",
        "FILTER",
        "EXISTS",
        "VALUES",
        "BIND",
        "AS",
        "IN",
        "UNDEF",
        "PREFIX",
        "CONTAINS",
        "STR",
        "LANG",
    ),
    *(
        "?x",
        "?y",
        "*",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ".",
        ";",
        ",",
        "a",
        "<a:b>",
        "=",
        ">=",
        "&&",
        "||",
        "!",
        "-",
        "^^",
    ),
    *("5", "2.5", '"s"', "@en", "true", "xsd:date", "\\u", "\\u0041", "#", "\n"),
]


def by_pyoxigraph(sparql: str, triples: list[Triple]) -> set[tuple[Any, ...]]:
    store = pyoxigraph.Store()
    store.extend(pyoxigraph.Quad(*triple) for triple in triples)
    found = store.query(sparql)
    assert isinstance(found, pyoxigraph.QuerySolutions)
    return {tuple(row) for row in found}


def by_rdflib(sparql: str, triples: list[Any]) -> set[tuple[Any, ...]]:
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(triple)
    found: Any = graph.query(sparql)
    return {tuple(row) for row in found}


def to_rdflib(term: Any) -> Any:
    if isinstance(term, NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return rdflib.BNode(term.value)
    datatype = None if term.language or term.datatype.value.endswith("#string") else rdflib.URIRef(term.datatype.value)
    return rdflib.Literal(term.value, lang=term.language, datatype=datatype, normalize=False)


def resources(texts: list[str]) -> list[Triple]:
    """One resource for each text."""
    return [Triple(NamedNode(f"{EX}s{i}"), NamedNode(EX + "p"), Literal(text)) for i, text in enumerate(texts)]


def one_test(atom: Any) -> Query:
    return Query(("X",), "X", (TriplePattern(EX + "p", "V"),), Test("V", atom))


class TestWriting:
    def test_alternatives(self) -> None:
        query = qel.parse(
            'X, Y : t(X, rdf:type, dc:article) & t(X, dc:creator, Y) & (Y contains "Nejdl" | Y = <http://example.org/n>)'
        )
        assert qel.to_sparql(query) == (
            "PREFIX dc: <http://purl.org/dc/elements/1.1/>\n"
            "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n"
            "SELECT DISTINCT ?X ?Y WHERE {\n"
            "  ?X rdf:type dc:article .\n"
            "  ?X dc:creator ?Y .\n"
            '  FILTER((isLiteral(?Y) && CONTAINS(STR(?Y), "Nejdl")) || ?Y = <http://example.org/n>)\n'
            "}\n"
        )

    def test_constants_topics_and_languages(self) -> None:
        query = qel.parse(
            'X : t(X, dc:title, "War") & t(X, dc:subject, T) & t(X, dc:description, D) & '
            'T within <http://example.org/t> & D like "The*end" & lang(D) = "EN"'
        )
        assert qel.to_sparql(query) == (
            "PREFIX dc: <http://purl.org/dc/elements/1.1/>\n"
            "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
            "PREFIX skos: <http://www.w3.org/2004/02/skos/core#>\n"
            "SELECT DISTINCT ?X WHERE {\n"
            "  ?X dc:title ?value1 .\n"
            "  ?X dc:subject ?T .\n"
            "  ?X dc:description ?D .\n"
            '  FILTER(isLiteral(?value1) && STR(?value1) = "War")\n'
            "  FILTER(isIRI(?T) && EXISTS { ?T (skos:broader|rdfs:subClassOf)* <http://example.org/t> })\n"
            '  FILTER(isLiteral(?D) && STRSTARTS(STR(?D), "The") && STRENDS(STR(?D), "end") && STRLEN(STR(?D)) >= 6)\n'
            '  FILTER(LCASE(LANG(?D)) = "en")\n'
            "}\n"
        )

    def test_views_are_computed_once_and_compared_plainly(self) -> None:
        query = qel.parse("X : t(X, dc:date, D) & D >= 2004 & (D < 2006-05-01 | D = 2.5 | D <= 2005)")
        lines = qel.to_sparql(query).splitlines()
        assert [line.rpartition(" AS ")[2] for line in lines if line.startswith("  BIND(")] == [
            "?integer_D)",
            "?date_D)",
            "?decimal_D)",
        ]
        assert lines[-3:] == [
            "  FILTER(?integer_D >= 2004)",
            '  FILTER(CONCAT(?date_D, "~") < "2006-05" || ?decimal_D = 2.5E0 || ?integer_D <= 2005)',
            "}",
        ]

    def test_words(self) -> None:
        written = qel.to_sparql(qel.parse('X : t(X, dc:title, T) & T words ("a" before[0,0] "b" before[1,*] "c")'))
        assert (
            r'FILTER(isLiteral(?T) && REGEX(REPLACE(STR(?T), "[^\\p{L}\\p{N}]+", " "), '
            r'"(^| )a b ([^ ]+ ){1,}c( |$)", "i"))'
        ) in written

    def test_names_of_its_own_clash_with_none_of_the_query(self) -> None:
        query = qel.parse("Value1, Integer_D : t(X, dc:date, 2004) & t(X, dc:date, Value1) & t(X, dc:date, Integer_D)")
        triples = [Triple(NamedNode(EX + "s"), NamedNode("http://purl.org/dc/elements/1.1/date"), Literal("2004-05"))]
        assert by_pyoxigraph(qel.to_sparql(query), triples) == {(Literal("2004-05"), Literal("2004-05"))}

    @pytest.mark.parametrize("text", HOSTILE)
    def test_no_string_breaks_out(self, text: str) -> None:
        query = qel.to_sparql(one_test(StringIs(text)))
        triples = resources([text, "other", f"{text} "])
        expected = {(triples[0].subject,)}
        assert by_pyoxigraph(query, triples) == expected
        assert by_rdflib(query, [tuple(map(to_rdflib, triple)) for triple in triples]) == {
            tuple(map(to_rdflib, row)) for row in expected
        }
        assert qel.from_sparql(query).constraint == Test("V", StringIs(text))

    @given(st.text())
    def test_no_generated_string_breaks_out(self, text: str) -> None:
        query = qel.to_sparql(one_test(StringIs(text)))
        triples = resources([text, f"{text} "])
        assert by_pyoxigraph(query, triples) == {(triples[0].subject,)}
        assert qel.from_sparql(query).constraint == Test("V", StringIs(text))

    @pytest.mark.parametrize("uri", ["http://e/a b", "http://e/<", 'http://e/"', "http://e/{}", "http://e/\\", "e", ""])
    def test_a_uri_that_is_no_iri_is_refused(self, uri: str) -> None:
        with pytest.raises(qel.QelUnsupported, match="as an IRI"):
            qel.to_sparql(one_test(UriIs(uri)))
        with pytest.raises(qel.QelUnsupported, match="as an IRI"):
            qel.to_sparql(Query(("X",), "X", (TriplePattern(uri, "V"),)))

    @pytest.mark.parametrize("name", ["X Y", "x", "X}", "X.", "", "É"])
    def test_a_variable_that_is_none_is_refused(self, name: str) -> None:
        with pytest.raises(qel.QelUnsupported, match="name of a variable"):
            qel.to_sparql(Query((name,), name, (TriplePattern(EX + "p", "V"),)))

    @pytest.mark.parametrize(
        ("test", "said"),
        [
            ('V similar[0.5] "a b"', "cannot say `similar`"),
            ("V = -0044-03-15", "between the years 0 and 9999"),
            ("V > 10000-01-01", "between the years 0 and 9999"),
            ("V < 1000000000000000000", "integers of more than 18 digits"),
            ("V < 0.1234567890123456", "decimals .* up to 15 digits"),
            ("V < 1e301", "powers of ten up to 300"),
            ('V words ("a" before[0,101] "b")', "at most 100 words"),
            ('V words ("a" before[60,*] "b" before[60,60] "c")', "at most 100 words"),
        ],
    )
    def test_what_sparql_cannot_say_is_refused(self, test: str, said: str) -> None:
        with pytest.raises(qel.QelUnsupported, match=said):
            qel.to_sparql(qel.parse(f"X : t(X, dc:date, V) & {test}"))

    def test_deep_alternation_does_not_overflow(self) -> None:
        text = "V = 1"
        for i in range(120):
            text = f"(V = {i} {'&|'[i % 2]} {text})"
        query = qel.parse(f"X : t(X, dc:date, V) & {text}")
        assert qel.to_sparql(query).count("?integer_V = ") == 121


class TestEngines:
    @settings(max_examples=400)
    @given(queries(), triple_sets())
    def test_pyoxigraph_answers_as_qel_does(self, query: Query, triples: list[Triple]) -> None:
        everything = [*triples, *HIERARCHY]
        found = by_pyoxigraph(qel.to_sparql(query), everything)
        assert found == qel.answers(query, everything, HIERARCHY)
        assert bool(found) == qel.matches(query, everything, HIERARCHY)

    @settings(max_examples=40)
    @given(queries(words=False), triple_sets())
    def test_rdflib_answers_as_qel_does(self, query: Query, triples: list[Triple]) -> None:
        everything = [tuple(map(to_rdflib, triple)) for triple in [*triples, *HIERARCHY]]
        assert by_rdflib(qel.to_sparql(query), everything) == qel.answers(query, everything, everything)

    @pytest.mark.parametrize("operator", list(Operator))
    def test_every_spelling_has_the_views_that_qel_sees(self, operator: Operator) -> None:
        integers = [-45, -44, -1, 0, 1, 2, 2003, 2004, 2005, 12345, 20040501]
        decimals = ["0.5", "1.5", "1.0", "2.0", "2004.0", "-0.5", "1E+300", "-44.0"]
        dates = [*DATES, "9999-12", "0000-01-01", "2004-05-01T12:30:15.50", "2004-05-01T12:29:59.999999999", "2004-12"]
        atoms: list[Any] = [Compare(operator, View.INTEGER, n) for n in integers]
        atoms += [Compare(operator, View.DECIMAL, Decimal(text)) for text in decimals]
        atoms += [Compare(operator, View.DATE, date(text)) for text in dates]
        triples = resources([*INTEGERS, *NUMBERS, *DATES, *DATE_SPELLINGS, *NO_DATES, *TEXTS])
        for atom in atoms:
            query = one_test(atom)
            assert by_pyoxigraph(qel.to_sparql(query), triples) == qel.answers(query, triples), atom

    def test_a_topic_within_another_may_be_one_of_two_alternatives(self) -> None:
        query = qel.parse(
            'X : t(X, <http://example.org/p>, T) & (T contains "t" | T within <http://example.org/t3>)',
        )
        below = Triple(NamedNode(EX + "s"), NamedNode(EX + "p"), NamedNode(EX + "t1"))
        itself = Triple(NamedNode(EX + "r"), NamedNode(EX + "p"), NamedNode(EX + "t3"))
        assert by_pyoxigraph(qel.to_sparql(query), [below, itself]) == {(itself.subject,)}
        found = by_pyoxigraph(qel.to_sparql(query), [below, itself, *HIERARCHY])
        assert found == {(below.subject,), (itself.subject,)}


def date(text: str) -> Date:
    read = read_date(text)
    assert read is not None
    return Date(text, read[1])


class TestReading:
    @pytest.mark.parametrize(
        ("where", "constraint"),
        [
            ("?s dc:date ?d FILTER(?d >= 2004)", "D >= 2004"),
            ("?s dc:date ?d FILTER(2004 <= ?d && -5 < ?d)", "D >= 2004 & D > -5"),
            ("?s dc:date ?d FILTER(?d < 3.50) FILTER(?d > -2e3)", "D < 3.5 & D > -2000.0"),
            ('?s dc:date ?d FILTER(?d = "2004-05-01"^^xsd:date)', "D = 2004-05-01"),
            ('?s dc:date ?d FILTER(?d > "2004-05-01T12:30:00"^^xsd:dateTime)', "D > 2004-05-01T12:30:00"),
            ('?s dc:date ?d FILTER("2004-05"^^xsd:gYearMonth > ?d)', "D < 2004-05"),
            ('?s dc:date ?d FILTER(?d >= "2004"^^xsd:gYear)', "D >= 2004"),
            ('?s dc:date ?d FILTER(?d = "7"^^xsd:int || ?d = "1.5"^^xsd:float)', "D = 7 | D = 1.5"),
            ('?s dc:title ?t FILTER(?t = "a")', 'T = "a"'),
            ('?s dc:title ?t FILTER(sameTerm("a"@de, ?t))', 'T = "a" & lang(T) = "de"'),
            ('?s dc:title ?t FILTER(STR(?t) = "a"^^xsd:string)', 'T = "a"'),
            ('?s dc:title ?t FILTER(CONTAINS(?t, "a"))', 'T contains "a"'),
            ('?s dc:title ?t FILTER STRSTARTS(STR(?t), "a") FILTER(STRENDS(?t, "b"))', 'T like "a*" & T like "*b"'),
            ('?s dc:title ?t FILTER(STRSTARTS(?t, "a") && STRENDS(?t, "b") && STRLEN(?t) > 1)', 'T like "a*b"'),
            ('?s dc:title ?t FILTER(STRSTARTS(?t, "ab") && STRLEN(?t) >= 2)', 'T like "ab*"'),
            (
                '?s dc:title ?t FILTER(STRLEN(?t) >= 2) FILTER(STRSTARTS(?t, "a") && STRENDS(?t, "b"))'
                'FILTER(STRSTARTS(?t, "a") && STRENDS(?t, "ab") && STRLEN(?t) >= 3)',
                'T like "a*b" & T like "a*ab"',
            ),
            ("?s dc:title ?t FILTER(isLiteral(?t))", 'T contains ""'),
            ('?s dc:title ?t FILTER(LANG(?t) = "en" || "de" = LCASE(LANG(?t)))', 'lang(T) = "en" | lang(T) = "de"'),
            ("?s dc:title ?t FILTER(?t = ex:a && ?s = <a:s>)", "T = <http://example.org/a> & S = <a:s>"),
            ('?s dc:title ?t FILTER(?t IN (ex:a, "b", 5))', 'T = <http://example.org/a> | T = "b" | T = 5'),
            ("?s dc:title ?t VALUES ?t { 1 2 } FILTER(?t = 1)", "T = 1 & (T = 1 | T = 2)"),
            (
                '?s dc:title ?t VALUES (?s ?t) { (<a:s> 1) (<a:r> "a"@en) }',
                '(S = <a:s> & T = 1) | (S = <a:r> & T = "a" & lang(T) = "en")',
            ),
            (
                "?s dc:title ?t FILTER EXISTS { ?t (rdfs:subClassOf|skos:broader)* ex:t }",
                "T within <http://example.org/t>",
            ),
            ("?s dc:title ?t FILTER(isIRI(?t) && ?t = <a:t>)", "T = <a:t>"),
            ("?s dc:title ?t FILTER(isLiteral(?t) && ?t = <a:t>)", 'T = <a:t> & T contains ""'),
            ("FILTER(?t = 1 || ?t = 2 && ?t = 3) ?s dc:title ?t", "T = 1 | (T = 2 & T = 3)"),
            ("?s dc:title ?t FILTER((?t = 1 || (?t = 2)) && ((?t = 3)))", "(T = 1 | T = 2) & T = 3"),
            ('?s dc:title ?t FILTER(?t = "\\\\u0041\\u00410041")', 'T = "\\\\u0041A0041"'),
        ],
    )
    def test_tests(self, where: str, constraint: str) -> None:
        read = qel.from_sparql(f"{PREFIXES}SELECT DISTINCT ?s WHERE {{ {where} }}")
        variable = "D" if "?d" in where else "T"
        name = "dc:date" if variable == "D" else "dc:title"
        assert read == qel.parse(f"S : t(S, {name}, {variable}) & ({constraint})")

    @pytest.mark.parametrize(
        ("sparql", "expected"),
        [
            (
                "SELECT ?x { ?x a ex:Book ; dc:title ?title , ?t . ?x dc:date 2004 }",
                "X : t(X, rdf:type, ex:Book) & t(X, dc:title, Title) & t(X, dc:title, T) & t(X, dc:date, 2004)",
            ),
            (
                'SELECT * { ?x dc:title "War"@en, 5 ; dc:creator ?who, [] }',
                """X, Who : t(X, dc:title, Value) & t(X, dc:title, 5) & t(X, dc:creator, Who) & t(X, dc:creator, Any)
                & Value = "War" & lang(Value) = "en" """,
            ),
            (
                "SELECT REDUCED ?title ?x { ?x dc:title ?title } VALUES ?title { 5 }",
                "Title, X : t(X, dc:title, Title) & Title = 5",
            ),
            (
                "SELECT ?X { ?X dc:title ?x ; dc:date ?_x, ?1 ; dc:creator ?é }",
                "X : t(X, dc:title, X_2) & t(X, dc:date, V_x) & t(X, dc:date, V1) & t(X, dc:creator, V_)",
            ),
            (
                "BASE <http://example.net/> PREFIX net: <b#> SELECT ?x { ?x <p> <#q>, net:a\\-b, <http://e.net/#> }",
                """X : t(X, <http://example.net/p>, <http://example.net/#q>) & t(X, <http://example.net/p>, ex:a-b)
                & t(X, <http://example.net/p>, <http://e.net/#>)""",
            ),
        ],
    )
    def test_stars_and_names(self, sparql: str, expected: str) -> None:
        start = "http://example.net/b#" if "BASE" in sparql else EX
        assert qel.from_sparql(PREFIXES + sparql) == qel.parse(f"PREFIX ex: <{start}> {expected}")

    @settings(max_examples=80)
    @given(queries())
    def test_what_was_written_is_read_back(self, query: Query) -> None:
        read = qel.from_sparql(qel.to_sparql(query))
        assert qel.equivalent(read, query)
        assert qel.subsumes_answers(read, query)
        assert qel.subsumes_answers(query, read)
        assert qel.parse(str(read)) == read

    def test_importing_the_language_does_not_import_rdflib(self) -> None:
        program = "import qel, sys; sys.exit('rdflib' in sys.modules or 'pyparsing' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("sparql", "said"),
        [
            ("ASK { ?x dc:title ?t }", "ASK"),
            ("CONSTRUCT { ?x ?p ?o } WHERE { ?x ?p ?o }", "CONSTRUCT"),
            ("DESCRIBE ?x", "DESCRIBE"),
            ("SELECT (COUNT(?x) AS ?n) { ?x dc:title ?t }", "expressions or aggregates"),
            ("SELECT ?x { ?x dc:title ?t } GROUP BY ?x", "GROUP BY"),
            ("SELECT ?x { ?x dc:title ?t } HAVING (?t > 1)", "HAVING"),
            ("SELECT ?x { ?x dc:title ?t } ORDER BY ?x", "ORDER BY"),
            ("SELECT ?x { ?x dc:title ?t } LIMIT 5", "LIMIT"),
            ("SELECT ?x { ?x dc:title ?t } OFFSET 5", "OFFSET"),
            ("SELECT ?x FROM ex:g { ?x dc:title ?t }", "FROM"),
            ("SELECT ?x { { SELECT ?x { ?x dc:title ?t } } }", "within a group"),
            ("SELECT ?x { SELECT ?x { ?x dc:title ?t } }", "queries within a query"),
            ("SELECT ?x { }", "at least one triple"),
            ("SELECT ?z { ?x dc:title ?t }", r"\?z is in no triple"),
        ],
    )
    def test_forms_of_queries(self, sparql: str, said: str) -> None:
        with pytest.raises(qel.QelUnsupported, match=said):
            qel.from_sparql(PREFIXES + sparql)

    @pytest.mark.parametrize(
        ("where", "said"),
        [
            ("OPTIONAL { ?x dc:date ?d }", "OPTIONAL"),
            ("MINUS { ?x dc:date ?d }", "negation"),
            ("GRAPH ?g { ?x dc:date ?d }", "GRAPH"),
            ("SERVICE ex:s { ?x dc:date ?d }", "SERVICE"),
            ("{ ?x dc:date 1 } UNION { ?x dc:date 2 }", "UNION"),
            ("{ ?x dc:date 1 }", "within a group"),
            ("?t dc:title ?u", "joins"),
            ("?y dc:title ?u", "joins"),
            ("?x dc:date ?t", "joins"),
            ("?x dc:date ?x", "joins"),
            ("?x dc:date [ dc:title 1 ]", "joins"),
            ("?x dc:date ( 1 2 )", "joins"),
            ("ex:s dc:date ?d", "subject of a triple is a variable"),
            ("?x ?p ?o", "in place of a property"),
            ("?x dc:date/dc:title ?o", "property paths"),
            ("?x dc:date* ?o", "property paths"),
            ("?x dc:date|dc:title ?o", "property paths"),
            ("?x ^dc:date ?o", "property paths"),
            ("?x <p> ?o", "not an absolute IRI"),
            ("?x dc:date true", "boolean"),
            ('?x dc:date "x"^^ex:type', "datatype <http://example.org/type>"),
            ('?x dc:date "x"^^xsd:integer', "cannot compare with 'x'"),
            ('?x dc:date "2004-02-30"^^xsd:date', "cannot compare with '2004-02-30'"),
            ('?x dc:date "2004-02-28Z"^^xsd:date', "leave the time zone"),
            ("?x dc:date 1e999", "cannot compare with 'inf'"),
            ("BIND(1 AS ?y)", "BIND"),
            ("BIND(xsd:integer(?t) AS ?y)", "BIND"),
            ("VALUES ?t { UNDEF }", "UNDEF"),
            ("VALUES ?t { }", "VALUES without values"),
            ("VALUES () { () }", "VALUES without variables"),
            ("VALUES ?u { 1 }", r"\?u is in no triple"),
        ],
    )
    def test_patterns(self, where: str, said: str) -> None:
        with pytest.raises(qel.QelUnsupported, match=said):
            qel.from_sparql(f"{PREFIXES}SELECT ?x {{ ?x dc:title ?t . {where} }}")

    @pytest.mark.parametrize(
        ("expression", "said"),
        [
            ("!(?t = 1)", "negation"),
            ("?t != 1", "negation"),
            ("?t NOT IN (1)", "negation"),
            ("NOT EXISTS { ?x dc:date ?d }", "negation"),
            ("EXISTS { ?x dc:date ?d }", "EXISTS but for"),
            ("EXISTS { ?t skos:broader* ex:t }", "EXISTS but for"),
            ("EXISTS { ?t (skos:broader|rdfs:subClassOf)+ ex:t }", "EXISTS but for"),
            ("EXISTS { ?t (skos:broader|rdfs:subClassOf)* ?u }", "EXISTS but for"),
            ("?t", "conditions without a comparison"),
            ("?t = ?x", "one variable or expression with another"),
            ("?t + 1 = 2", "= for arithmetic"),
            ("?t IN ()", "IN without values"),
            ('?t < "a"', "< between strings"),
            ("?t < ex:a", "< between IRIs"),
            ("STR(?t) = 5", "comparison of text with a constant"),
            ('STR(?t) < "a"', r"< for STR\(\)"),
            ('LCASE(?t) = "a"', r"= for LCASE\(\)"),
            ('CONTAINS(LCASE(?t), "a")', r"tests of LCASE\(\)"),
            ('CONTAINS(?t, "a"@en)', "plain string"),
            ("CONTAINS(?t, ?x)", "plain string"),
            ('REGEX(?t, "a.*b")', "regular expressions"),
            ('LANGMATCHES(LANG(?t), "en")', r'use LANG\(\?y\) = "en"'),
            ('LANG(?t) = "no tag"', "not a language tag"),
            ("STRLEN(?t) >= 5", "STRLEN but for"),
            ('STRSTARTS(?t, "a") && STRLEN(?t) >= 5', "STRLEN but for"),
            ("STRLEN(?t) = 5", r"= for STRLEN\(\)"),
            ("isIRI(?t)", r"isIRI\(\) but beside"),
            ("isIRI(?x) && ?t = ex:a", r"isIRI\(\) but beside"),
            ("isBlank(?t)", r"isBLANK\(\)"),
            ("BOUND(?t)", r"BOUND\(\)"),
            ("YEAR(?t) = 2004", r"= for YEAR\(\)"),
            ("xsd:integer(?t) = 2004", "= for functions of IRIs"),
            ('CONTAINS(?x, "a")', "X is the subject"),
            ("?x = 5", "X is the subject"),
            ("?u = 5", r"\?u is in no triple"),
        ],
    )
    def test_expressions(self, expression: str, said: str) -> None:
        with pytest.raises(qel.QelUnsupported, match=said):
            qel.from_sparql(f"{PREFIXES}SELECT ?x {{ ?x dc:title ?t FILTER({expression}) }}")

    def test_a_view_before_its_variable(self) -> None:
        written = qel.to_sparql(qel.parse("X : t(X, dc:date, D) & D > 1"))
        triple = "  ?X dc:date ?D .\n"
        assert triple in written
        moved = written.replace(triple, "  ?X dc:title ?T .\n").replace("  FILTER", f"{triple}  FILTER")
        with pytest.raises(qel.QelUnsupported, match="before a triple binds it"):
            qel.from_sparql(moved)

    @pytest.mark.parametrize("constant", ['"a"', '"a"@en', "2.5", "ex:a", '"2004-05-01"^^xsd:date'])
    def test_a_view_and_a_constant_of_another(self, constant: str) -> None:
        written = qel.to_sparql(qel.parse("X : t(X, dc:date, D) & D = 2004"))
        assert "?integer_D = 2004" in written
        with pytest.raises(qel.QelUnsupported, match="comparison of the integer view"):
            qel.from_sparql("PREFIX ex: <http://example.org/> " + written.replace("= 2004", f"= {constant}"))

    def test_an_unknown_prefix(self) -> None:
        with pytest.raises(qel.QelTypeError, match="the prefix no: is unknown"):
            qel.from_sparql("SELECT ?x { ?x no:p ?y }")

    @pytest.mark.parametrize(
        ("text", "line", "column"),
        [
            ("", 1, 1),
            ("no SPARQL", 1, 1),
            ("SELECT ?x\nWHERE { ?x a ?y }\n}", 3, 1),
            ("SELECT ?x\nWHERE {\n  ?x a ?y .\n  FILTER(?y ~ 5)\n}", 4, 3),
            ("INSERT DATA { <a:a> <a:a> 5 }", 1, 1),
            ("SELECT ?x {\n?x a '\\uD800' }", 2, 7),
            ("SELECT ?x {\n?x a '\ud800' }", 2, 7),
        ],
    )
    def test_text_that_is_no_sparql_is_placed(self, text: str, line: int, column: int) -> None:
        with pytest.raises(qel.QelSyntaxError) as caught:
            qel.from_sparql(text)
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_limits(self) -> None:
        def nested(depth: int) -> str:
            return f"SELECT ?x {{ ?x a ?y FILTER({'(' * depth}?y = 5{')' * depth}) }}"

        assert qel.from_sparql(nested(SAFE_DEPTH)) == qel.parse("X : t(X, rdf:type, Y) & Y = 5")
        for text, said in [
            (" " * 70_000, "65,536"),
            (nested(1_000), "nested too deeply"),
            ("SELECT ?x " + "{" * 5_000, "nested too deeply"),
            (f"SELECT ?x {{ ?x a {'9' * 5_000} }}", "at most 4,000 characters"),
            ("SELECT ?x { ?x a ?y FILTER(?y IN (" + ", ".join(map(str, range(300))) + ")) }", "more than 256"),
        ]:
            with pytest.raises(qel.QelLimitError, match=said):
                qel.from_sparql(text)

    @given(st.lists(st.sampled_from(TOKENS), max_size=25), st.booleans())
    def test_soups_of_tokens_give_a_query_or_an_error(self, tokens: list[str], started: bool) -> None:
        text = " ".join(["SELECT * { ?x a ?y", *tokens, "}"] if started else tokens)
        try:
            read = qel.from_sparql(text)
        except qel.QelError:
            return
        assert qel.parse(str(read)) == read

    @given(st.text())
    def test_random_text_gives_an_error(self, text: str) -> None:
        with pytest.raises(qel.QelError):
            qel.from_sparql(text)
