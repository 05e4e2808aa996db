"""From what may be published to the bodies that are signed."""

from __future__ import annotations

import random

import pyoxigraph
import pytest
from rdflib import DCTERMS, XSD, BNode, Literal, URIRef

from superpeer.client.sources import bodies_of
from superpeer.node.body import write_body
from superpeer.rdf.publishing import Publications

SEEDS = 50
TEXTS = ["", "Nejdl", "nejdl", "2004", "ein Wort", "1.0"]


def random_term(chance: random.Random) -> object:
    text = chance.choice(TEXTS)
    return chance.choice(
        [
            URIRef("http://example.org/" + text.replace(" ", "")),
            BNode("b" + text.replace(" ", "")),
            Literal(text),
            Literal(text, lang=chance.choice(["en", "de-AT", "x-klingon"])),
            Literal(text, datatype=chance.choice([XSD.string, XSD.integer, XSD.gYear])),
            pyoxigraph.NamedNode("http://example.org/" + text.replace(" ", "")),
            pyoxigraph.Literal(text, language="EN"),
            pyoxigraph.Literal(text, datatype=pyoxigraph.NamedNode(str(XSD.integer))),
        ]
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_bodies_are_those_of_the_triples(seed: int) -> None:
    """With repeated statements, languages in any case, and subjects that come again after others."""
    chance = random.Random(seed)
    subjects = [URIRef(f"http://example.org/{number}") for number in range(3)]
    properties = [DCTERMS.title, DCTERMS.creator, pyoxigraph.NamedNode(str(DCTERMS.title))]
    triples = [(chance.choice(subjects), chance.choice(properties), random_term(chance)) for _ in range(20)]
    publications = Publications([*triples, *chance.sample(triples, 5)])
    assert list(bodies_of(publications)) == [write_body(one.triples) for one in publications]
