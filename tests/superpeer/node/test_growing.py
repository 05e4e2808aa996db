"""A poset that has become large is indexed, but not while that would mean to wait for a compiler."""

from __future__ import annotations

import pytest

import qel
from superpeer.matching import readiness
from superpeer.matching.poset import IndexedPoset
from superpeer.node.growing import grown
from superpeer.node.poset import Poset


def poset_of(count: int) -> Poset[int]:
    poset: Poset[int] = Poset()
    for number in range(count):
        poset.insert(qel.parse(f"X : t(X, dc:date, {number})"), number)
    return poset


def test_it_grows_when_it_is_large_and_nobody_is_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("superpeer.node.growing.LARGE", 4)
    small, large = poset_of(3), poset_of(4)
    assert grown(small) is small
    with monkeypatch.context() as patch:
        patch.setattr("superpeer.node.growing.is_warming_up", lambda: True)
        assert grown(large) is large
    assert isinstance(grown(large), IndexedPoset)
    assert {place.query for place in grown(large)} == {place.query for place in large}


def test_warming_up_ends() -> None:
    readiness.begin_warm_up()
    readiness.begin_warm_up()
    assert readiness._thread is not None
    readiness._thread.join(timeout=200)
    assert not readiness.is_warming_up()
