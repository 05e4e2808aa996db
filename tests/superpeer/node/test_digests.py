"""Digests that follow changes are those of the sets, whatever happened before."""

from __future__ import annotations

from random import Random

from qel.advertisements import Range, Uri
from superpeer.node.advertisements import Element, PropertyElement, SchemaElement, ValueElement, written
from superpeer.node.digests import NOTHING, digest_of, total_after


def test_digests_follow_changes() -> None:
    random = Random(1)
    universe = [b"%d" % i for i in range(30)]
    held: set[bytes] = set()
    total = 0
    seen: dict[bytes, frozenset[bytes]] = {NOTHING: frozenset()}
    for _ in range(500):
        some = set(random.sample(universe, random.randrange(4)))
        total = total_after(total, some - held, some & held)
        held ^= some
        assert digest_of(total) == digest_of(total_after(0, held, []))
        assert seen.setdefault(digest_of(total), frozenset(held)) == held
    assert digest_of(total_after(total, [], held)) == NOTHING


def test_elements_are_written_differently() -> None:
    elements: list[Element] = [
        SchemaElement("a"),
        PropertyElement("a"),
        ValueElement("a", "1"),
        ValueElement("a", Uri("1")),
        ValueElement("a", Range(1, 1)),
        ValueElement("a", Range(None, 1)),
        ValueElement("a", Range(1, None)),
        ValueElement('a", "1', ""),
    ]
    assert len(set(map(written, elements))) == len(elements)
