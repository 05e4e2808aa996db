"""Examples 1 to 5 of the chapter, by number, in its own notation."""

from __future__ import annotations

import re
from typing import Any

from rdflib import Literal, URIRef

import qel
from qel.names import expand

PREFIXES = """
@prefix dc: <http://purl.org/dc/elements/1.1/>
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
@prefix isl: <http://www.intelligence.tuc.gr/publications/>
"""
DC = "http://purl.org/dc/elements/1.1/"
LOM = "http://ltsc.ieee.org/xsd/LOM/"
NAMES = {**qel.PREFIXES, "isl": "http://www.intelligence.tuc.gr/publications/", "lom": LOM}

EXAMPLE_1 = """
    X: t(X, ⟨rdf:type⟩, ⟨dc:article⟩) ∧ t(X, ⟨dc:creator⟩, Y) ∧
       t(X, ⟨dc:date⟩, D) ∧ (Y ⊒ "Nejdl" ∨ Y ⊒ "Koubarakis") ∧ D=2004
"""
SUBSCRIPTION = qel.parse(PREFIXES + EXAMPLE_1)


def name(text: str) -> str:
    return expand(text.strip("⟨⟩<>"), NAMES)


def notification(text: str) -> list[tuple[Any, Any, Any]]:
    """The triples of a notification as the chapter writes it: ({t(s, p, o), ...}, client)."""
    body = re.fullmatch(r"\s*\(\{(.*)\},\s*\w+\)\s*", text, re.DOTALL)
    assert body is not None
    triples = []
    for subject, predicate, node in re.findall(r't\((⟨[^⟩]*⟩),\s*(⟨[^⟩]*⟩),\s*(⟨[^⟩]*⟩|"[^"]*"|\d+)\)', body[1]):
        value = URIRef(name(node)) if node[0] == "⟨" else Literal(node.strip('"') if node[0] == '"' else int(node))
        triples.append((URIRef(name(subject)), URIRef(name(predicate)), value))
    return triples


def test_example_1() -> None:
    assert SUBSCRIPTION.heads == ("X",)
    assert str(SUBSCRIPTION) == (
        "X : t(X, rdf:type, dc:article) & t(X, dc:creator, Y) & t(X, dc:date, D)"
        ' & (Y contains "Nejdl" | Y contains "Koubarakis") & D = 2004'
    )
    assert qel.schemas(SUBSCRIPTION) == {DC}
    assert qel.properties(SUBSCRIPTION) == {DC + "article", DC + "creator", DC + "date"}


def test_example_1_in_brackets_and_curly_quotes() -> None:
    printed = """X: t(X, <rdf:type>, <dc:article>) ∧ t(X, <dc:creator>, Y) ∧ t(X, <dc:date>, D)
        ∧ (Y ⊇ “Nejdl” ∨ Y ⊒ “Koubarakis”) ∧ D ≤ 2004 ∧ D ≥ 2004"""
    assert qel.canonical_id(qel.parse(printed)) == qel.canonical_id(SUBSCRIPTION)


def test_example_2() -> None:
    triples = notification(
        """({t(⟨isl:esws04.pdf⟩, ⟨rdf:type⟩, ⟨dc:article⟩),
             t(⟨isl:esws04.pdf⟩, ⟨dc:creator⟩, "Koubarakis"),
             t(⟨isl:esws04.pdf⟩, ⟨dc:date⟩, 2004)}, C3)"""
    )
    assert len(triples) == 3
    assert qel.matches(SUBSCRIPTION, triples)
    assert qel.answers(SUBSCRIPTION, triples) == {(URIRef("http://www.intelligence.tuc.gr/publications/esws04.pdf"),)}
    for i in range(3):
        assert not qel.matches(SUBSCRIPTION, triples[:i] + triples[i + 1 :])


def test_example_3() -> None:
    advertisement = qel.Advertisement(schemas=[DC, LOM])
    assert qel.covers_by_schemas(advertisement, SUBSCRIPTION)
    assert qel.covers(advertisement, SUBSCRIPTION)
    assert not qel.covers(qel.Advertisement(schemas=[LOM]), SUBSCRIPTION)


def test_example_4() -> None:
    printed = "⟨dc:article⟩, ⟨dc:creator⟩, ⟨dc:date⟩, ⟨dc:subject⟩, ⟨lom:context⟩"
    names = [name(word) for word in printed.split(", ")]
    advertisement = qel.Advertisement(properties=names)
    assert qel.covers_by_properties(advertisement, SUBSCRIPTION)
    assert qel.covers(advertisement, SUBSCRIPTION)
    for i in range(3):
        assert not qel.covers(qel.Advertisement(properties=names[:i] + names[i + 1 :]), SUBSCRIPTION)


def test_example_5() -> None:
    advertisement = qel.Advertisement(
        values={
            name("⟨dc:creator⟩"): ["W. Nejdl", "P. Chirita"],
            name("⟨dc:title⟩"): ["Algorithms", "Data Structures"],
            name("⟨dc:year⟩"): qel.Range(2002, None),
        }
    )
    assert qel.covers_by_values(advertisement, SUBSCRIPTION)
    assert qel.covers(advertisement, SUBSCRIPTION)
    without_them = qel.Advertisement(values={name("⟨dc:creator⟩"): ["P. Chirita"]})
    assert not qel.covers(without_them, SUBSCRIPTION)
    nothing_shared = qel.Advertisement(values={name("⟨dc:title⟩"): ["Algorithms"]})
    assert not qel.covers(nothing_shared, SUBSCRIPTION)
