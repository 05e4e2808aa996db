"""Features never hide a query that covers another, or matches."""

from __future__ import annotations

from random import Random

from hypothesis import given
from rdflib import DC, RDF, Literal, URIRef

import qel
from qel.matching import meets
from qel.topics import NO_TOPICS
from qel.values import describe
from superpeer.node.features import IMPOSSIBLE, features_in, features_of, offered_by, required_by
from tests.qel.strategies import queries

URIS = ["http://example.org/abc", "http://example.org/abd"]


def text(random: Random) -> str:
    alphabet = random.choice(["ab", "ab", "12"])
    return "".join(random.choice(alphabet) for _ in range(random.randrange(1, 7)))


def condition(random: Random, variable: str) -> str:
    low = random.choice([1, 11, 12, 111, 112, 121, 122, 130])
    return random.choice(
        [
            f'{variable} contains "{text(random)}"',
            f'{variable} contains "{text(random)}" & {variable} contains "{text(random)}"',
            f'{variable} = "{text(random)}"',
            f'{variable} like "{text(random)}*"',
            f'{variable} like "*{text(random)}"',
            f'{variable} like "{text(random)}*{text(random)}"',
            f"{variable} >= {low} & {variable} <= {low + random.choice([0, 1, 9])}",
            f"{variable} = <{random.choice(URIS)}>",
            f"{variable} >= {low}",
        ]
    )


def random_query(random: Random) -> qel.Query:
    names = random.sample(["dc:title", "dc:date", "dc:creator", "rdf:type"], random.randrange(1, 3))
    names += names[: random.randrange(2)]
    triples = [f"t(X, {name}, V{i})" for i, name in enumerate(names)]
    alternatives = []
    for _ in range(random.choice([1, 1, 2])):
        some = [condition(random, f"V{i}") for i in range(len(names)) if random.random() < 0.8]
        if some:
            alternatives.append(f"({' & '.join(some)})")
    constraint = [f"({' | '.join(alternatives)})"] if alternatives else []
    return qel.parse(f"X : {' & '.join([*triples, *constraint])}")


def check_pair(general: qel.Query, special: qel.Query) -> int:
    """How many disjuncts imply one of the other query; all of them offer what it requires."""
    implied = 0
    for one in special.normal_form.primes:
        for other in general.normal_form.primes:
            if one.implies(other):
                implied += 1
                assert set(required_by(other)) <= set(offered_by(one)), f"{one.to_data()} implies {other.to_data()}"
    if qel.subsumes(general, special):
        impossible = IMPOSSIBLE in features_of(special).offered[0]
        assert impossible or features_of(general).may_cover(features_of(special))
    return implied


def test_what_implies_a_disjunct_offers_what_it_requires() -> None:
    random = Random(1)
    asked = [random_query(random) for _ in range(700)]
    implied = sum(check_pair(general, special) for general in asked for special in asked if general is not special)
    assert implied > 10_000


def test_a_range_implies_digits_without_a_constant() -> None:
    digits, number = qel.parse('X : t(X, dc:date, D) & D contains "2004"'), qel.parse("X : t(X, dc:date, D) & D = 2004")
    assert check_pair(digits, number) == 1


@given(queries(leaves=3), queries(leaves=3))
def test_what_implies_a_disjunct_offers_what_it_requires_with_all_operators(one: qel.Query, other: qel.Query) -> None:
    check_pair(one, other)
    check_pair(other, one)


def test_what_meets_a_disjunct_offers_what_it_requires() -> None:
    random = Random(2)
    asked = [random_query(random) for _ in range(300)]
    met = 0
    for _ in range(300):
        resource = URIRef("http://example.org/r")
        values = [Literal(text(random)) for _ in range(3)]
        triples = [
            (resource, name, random.choice([*values, URIRef(random.choice(URIS))])) for name in [DC.title, DC.date]
        ]
        triples += [(resource, RDF.type, URIRef(random.choice(URIS))), (resource, DC.creator, Literal(text(random)))]
        (description,) = describe(triples)
        features = features_in(description)
        for query in asked:
            for disjunct in query.normal_form.primes:
                if meets(disjunct, description, NO_TOPICS):
                    met += 1
                    assert set(required_by(disjunct)) <= features
    assert met > 1_000
