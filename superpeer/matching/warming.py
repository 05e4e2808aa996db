"""Compiling ahead of time."""

from __future__ import annotations

import qel
from superpeer.matching.matcher import Matcher
from superpeer.matching.poset import IndexedPoset

_ASKED = (
    't(X, dc:title, T) & t(X, dc:date, D) & T contains "a" & D >= 1 & D <= 2',
    't(X, dc:title, T) & T like "a*b"',
    "t(X, dc:date, D) & D >= 1 & D <= 2",
    't(X, dc:title, T) & T contains "b"',
)


def warm_up() -> None:
    """Compiles, or loads what was compiled before, so that no notification and no subscription has to wait for it."""
    queries = [qel.parse(f"X : {asked}") for asked in _ASKED]
    matcher: Matcher[int] = Matcher(segment_members=1)
    matcher.add_many((key, query.normal_form.disjuncts, None) for key, query in enumerate(queries))
    title, date = (qel.names.PREFIXES["dc"] + name for name in ("title", "date"))
    description = qel.values.Description(qel.values.Value(qel.values.Kind.URI, title))
    for name, text in ((title, "ab"), (date, "1"), (date, "2")):
        description.values.setdefault(name, []).append(qel.values.Value(qel.values.Kind.LITERAL, text))
    assert sorted(matcher.match(description)) == [0, 1, 2, 3]
    matcher.remove(0)
    poset: IndexedPoset[int] = IndexedPoset()
    poset.insert_many([(query, 0) for query in 256 * queries])
    poset.insert(qel.parse("X : t(X, dc:title, T)"), 0)
    assert sorted(len(place.children) for place in poset.roots) == [1, 2]
