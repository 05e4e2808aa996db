"""A profile as a VoID description, the vocabulary in which catalogues describe themselves, in Turtle."""

from __future__ import annotations

from collections.abc import Iterator

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from qel.names import RDF, XSD
from superpeer.catalog.profile import Profile

VOID = "http://rdfs.org/ns/void#"
_INTEGER = NamedNode(XSD + "integer")


def describe(profile: Profile, dataset: str = "urn:superpeer:catalogue") -> str:
    text = serialize(
        _triples(profile, NamedNode(dataset)), format=RdfFormat.TURTLE, prefixes={"void": VOID, "xsd": XSD}
    )
    assert text is not None
    return text.decode()


def _triples(profile: Profile, dataset: NamedNode) -> Iterator[Triple]:
    yield Triple(dataset, NamedNode(RDF + "type"), _void("Dataset"))
    yield _count(dataset, "triples", profile.triples)
    yield _count(dataset, "distinctSubjects", profile.resources)
    yield _count(dataset, "properties", len(profile.properties))
    yield _count(dataset, "classes", len(profile.classes))
    for schema, _, _ in profile.schemas:
        yield Triple(dataset, _void("vocabulary"), NamedNode(schema))
    for number, one in enumerate(profile.properties):
        part = BlankNode(f"property{number}")
        yield Triple(dataset, _void("propertyPartition"), part)
        yield Triple(part, _void("property"), NamedNode(one.property))
        yield _count(part, "triples", one.values)
        yield _count(part, "distinctSubjects", one.resources)
        yield _count(part, "distinctObjects", one.distinct)
    for number, (name, resources) in enumerate(profile.classes):
        part = BlankNode(f"class{number}")
        yield Triple(dataset, _void("classPartition"), part)
        yield Triple(part, _void("class"), NamedNode(name))
        yield _count(part, "entities", resources)


def _void(name: str) -> NamedNode:
    return NamedNode(VOID + name)


def _count(subject: NamedNode | BlankNode, name: str, number: int) -> Triple:
    return Triple(subject, _void(name), Literal(str(number), datatype=_INTEGER))
