"""Terms of rdflib, made of what a publication says."""

from __future__ import annotations

from rdflib import BNode, Literal, URIRef
from rdflib.term import Node

from superpeer.node.body import Body, Term


def triples_of(body: Body) -> tuple[tuple[Node, Node, Node], ...]:
    """The triples of a body. Literals keep the form in which they were written, valid or not."""
    subject = _node(body.subject)
    return tuple((subject, URIRef(name), _node(term)) for name, term in body.statements)


def _node(term: Term) -> Node:
    match term.kind:
        case "u":
            return URIRef(term.text)
        case "b":
            return BNode(term.text)
    if term.language:
        return Literal(term.text, lang=term.language)
    return Literal(term.text, datatype=URIRef(term.datatype) if term.datatype else None, normalize=False)
