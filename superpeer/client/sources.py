"""What may be published: a graph, triples, or a file of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from qel.topics import NO_TOPICS, Topics
from superpeer.node.body import write_statements
from superpeer.rdf import Problem, read
from superpeer.rdf.publishing import Publications

Source = str | PathLike[str] | Iterable[Any]
"""The path of a file, an rdflib graph, or triples of rdflib or pyoxigraph."""


def triples_in(source: Source) -> tuple[Iterable[Any], list[Problem]]:
    """The triples, and a list of what a file has that cannot be read, complete when they were read."""
    problems: list[Problem] = []
    if isinstance(source, str | PathLike):
        return read(Path(source).expanduser(), problems.append), problems
    return source, problems


def read_source(source: Source) -> tuple[Publications, list[Problem]]:
    """The publications that a source makes; reads all of it."""
    triples, problems = triples_in(source)
    return Publications(triples), problems


def bodies_of(publications: Publications, topics: Topics = NO_TOPICS) -> Iterator[bytes]:
    """What is signed of each, in their order, with what is broader than its topics."""
    known = topics.joined(publications.topics)
    for subject, statements in publications.statements():
        yield write_statements((subject.kind, subject.text), statements, known)
