"""Random queries and publications, small enough to collide often, for each strategy's part of QEL."""

from __future__ import annotations

from random import Random
from typing import Any

from rdflib import RDF, BNode, Literal, URIRef

EX = "http://example.org/terms/"
TEXTS = ["a", "b", "ab", "ba", "aab", "abab", "a b", "ab ba", "b ab a", "2004", "5", "2004-05-01", "1.5", "-3"]
NUMBERS = ["0", "1", "2", "3", "4", "5", "7", "99", "-3", "1.5", "2.5", "2004", "2004-05-01"]
TEXTS += ["", "é", "日本 ab", "<http://example.org/u0>"]
NUMBERS += ["1e400", "-99999999999999999999"]
URIS = [f"<http://example.org/u{i}>" for i in range(3)]
PROPERTIES = ["text", "title", "number", "link"]


def publication(random: Random, subject: int) -> list[tuple[Any, Any, Any]]:
    resource = URIRef(f"http://example.org/s{subject % 4}")
    triples: list[tuple[Any, Any, Any]] = []
    for name in random.sample(PROPERTIES, random.choice([1, 3, 4, 4])):
        triples += [(resource, URIRef(EX + name), _object(random, name)) for _ in range(random.randint(1, 2))]
    if random.random() < 0.7:
        triples.append((resource, RDF.type, URIRef(f"{EX}C{random.randint(0, 1)}")))
    return triples


def _object(random: Random, name: str) -> Any:
    if name == "link" and random.random() < 0.8:
        return URIRef(random.choice(URIS)[1:-1])
    if random.random() < 0.05:
        return BNode("b")
    if name == "number":
        return Literal(random.choice(NUMBERS))
    return Literal(random.choice(TEXTS), lang=random.choice([None, None, "en"]))


def text_atom(random: Random, variable: str) -> str:
    one, other = (random.choice(["a", "b", "ab", "ba", "2"]) for _ in range(2))
    return random.choice(
        [
            f'{variable} = "{random.choice(TEXTS)}"',
            f'{variable} like "{one}*"',
            f'{variable} like "*{one}"',
            f'{variable} like "{one}*{other}"',
            f'{variable} like "{one}*" & {variable} like "*{other}"',
            f"{variable} = {random.choice(URIS)}",
        ]
    )


def number_atom(random: Random, variable: str) -> str:
    low = random.randint(-4, 6)
    return random.choice(
        [
            f"{variable} >= {low}",
            f"{variable} < {low}",
            f"{variable} >= {low} & {variable} <= {low + random.randint(0, 4)}",
            f"{variable} > {low}.5",
            f"{variable} = {low}",
            f"{variable} >= 2004-04",
            f'{variable} = "2004"',
        ]
    )


def word_atom(random: Random, variable: str) -> str:
    one, other = (random.choice(["a", "b", "ab", "ba"]) for _ in range(2))
    return random.choice(
        [
            f'{variable} words ("{one}")',
            f'{variable} words ("{one}" & "{other}")',
            f'{variable} words ("{one}" before[0,0] "{other}")',
            f'{variable} similar[0.{random.randint(1, 9)}] "{one} {other} {other}"',
            f'{variable} = "{random.choice(TEXTS)}"',
        ]
    )


def other_atom(random: Random, variable: str) -> str:
    return random.choice(
        [
            f'{variable} contains "{random.choice("ab")}"',
            f"{variable} >= 3",
            f"{variable} within {random.choice(URIS)}",
            f'{variable} like "a*"',
            f'{variable} contains "0"',
        ]
    )


NATURAL = {text_atom: ["text", "title", "link"], number_atom: ["number"], word_atom: ["text", "title"]}


def query(random: Random, atom: Any, rest: Any, *, subject: bool) -> str:
    """A query with some alternatives, each with one atom of the first kind and maybe others of the second."""
    triples, alternatives = [], []
    names = [random.choice(NATURAL.get(atom, PROPERTIES))]
    names += [random.choice(NATURAL.get(rest, PROPERTIES)) for _ in range(random.choice([0, 0, 1]))]
    variables = [f"V{i}" for i in range(len(names))]
    triples = [f"t(X, <{EX}{name}>, {variable})" for name, variable in zip(names, variables, strict=True)]
    if random.random() < 0.3:
        triples.append(f"t(X, rdf:type, <{EX}C{random.randint(0, 1)}>)")
    for _ in range(random.choice([1, 2])):
        tests = [atom(random, variables[0])]
        if random.random() < 0.3:
            tests.append(rest(random, variables[-1]))
        if subject and random.random() < 0.15:
            tests.append(f"X {random.choice(['=', 'within'])} <http://example.org/s{random.randint(0, 3)}>")
        alternatives.append(" & ".join(tests))
    return "X : " + " & ".join(triples) + " & (" + " | ".join(f"({tests})" for tests in alternatives) + ")"
