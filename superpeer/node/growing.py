"""Posets that grow: a small one finds places by a few features, a large one with the matcher.

The matcher pays from a few thousand subscriptions on, and costs a moment when it is first used: compiled code is
loaded, or compiled. So it is taken when a poset has become large, and its module imported then. Where there is no
compiler, the small one stays, and so it does while somebody is compiling (`superpeer.matching.readiness`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from superpeer.matching.readiness import is_warming_up
from superpeer.node.poset import Poset

Source = TypeVar("Source", bound=Hashable)

LARGE = 3_000


def grown(poset: Poset[Source]) -> Poset[Source]:
    """The poset to go on with."""
    if type(poset) is not Poset or len(poset) < LARGE or is_warming_up():
        return poset
    from superpeer.matching.compiling import HAS_COMPILER
    from superpeer.matching.poset import IndexedPoset

    return IndexedPoset(poset) if HAS_COMPILER else poset
