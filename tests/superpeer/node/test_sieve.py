"""A sieve finds what `qel.matches` finds, whether it holds few subscriptions or many."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from superpeer.node.body import write_body
from superpeer.node.publications import Draft, Kind, Publication
from superpeer.node.sieve import FEW, sieve_of
from superpeer.node.tables import LocalPeer
from tests.superpeer.node.test_broker import SALT, UNSIGNED, key_of
from tests.superpeer.node.test_router import random_publication


def publication(triples: list[Any]) -> Publication:
    return Publication(
        bytes(32), (1, 1), 0.0, Draft(key_of(LocalPeer("library")), SALT, 1, Kind.NEW, write_body(triples), UNSIGNED)
    )


def random_query(random: Random) -> str:
    low = random.randrange(10)
    return random.choice(
        [
            f"X : t(X, dc:date, D) & D >= {low} & D <= {low + random.randrange(4)}",
            f"X : t(X, dc:date, D) & (D = {low} | D = {random.randrange(10)})",
            f'X : t(X, dc:title, T) & T contains "{random.choice("abxy")}"',
            f'X : t(X, dc:title, T) & t(X, dc:date, D) & T contains "a" & D <= {low}',
        ]
    )


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, 300])
def test_it_finds_what_matches(count: int) -> None:
    random = Random(count)
    texts = [random_query(random) for _ in range(count)]
    sieve = sieve_of(texts)
    found = 0
    for _ in range(50):
        triples = random_publication(random)
        expected = [i for i, text in enumerate(texts) if qel.matches(qel.parse(text), triples)]
        assert list(sieve.matching(publication(triples))) == expected
        found += len(expected)
    assert found or count <= 1


def test_many_are_kept_for_the_next_page() -> None:
    texts = [f"X : t(X, dc:date, {i})" for i in range(FEW + 1)]
    assert sieve_of(texts) is sieve_of(list(texts))
    assert sieve_of(texts[:FEW]) is not sieve_of(texts[:FEW])
    dated = [(URIRef("http://example.org/r"), DC.date, Literal("7"))]
    assert list(sieve_of(texts).matching(publication(dated))) == [7]
