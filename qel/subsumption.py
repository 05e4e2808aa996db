"""Which queries cover which: subsumption, equivalence, identity and satisfiability.

`subsumes(q1, q2)` means: whatever matches q2 matches q1. This is what routing needs. `subsumes_answers` is
Definition 3 of the chapter: whatever is an answer to q2, heads included, is an answer to q1. Both say yes only when
it is so. Both are exact in the chapter's language (`=` on URIs, comparisons of integers, `contains`, with each property
tested in one of these ways), unions of ranges included; see `qel.regions` for what is exact beyond it.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from qel.errors import Unsatisfiable
from qel.normal import NormalForm, alternatives
from qel.regions import ANY, Region, region_of
from qel.syntax import Query, Test
from qel.writing import write_test


def subsumes(q1: Query, q2: Query) -> bool:
    """Whether whatever matches q2 matches q1."""
    return _covers(q1.normal_form, q2.normal_form)


def subsumes_answers(q1: Query, q2: Query) -> bool:
    """Whether ans(q2, T) is a subset of ans(q1, T) for all T."""
    if not is_satisfiable(q2):
        return True
    if len(q1.heads) != len(q2.heads):
        return False
    same_subject = all(
        (first == q1.subject) == (second == q2.subject) for first, second in zip(q1.heads, q2.heads, strict=True)
    )
    return same_subject and _covers(q1.answer_form, q2.answer_form)


def equivalent(q1: Query, q2: Query) -> bool:
    """Whether the same sets of triples match both."""
    return subsumes(q1, q2) and subsumes(q2, q1)


def is_satisfiable(query: Query) -> bool:
    """Whether some set of triples can match. In doubt, yes."""
    return bool(query.normal_form.disjuncts)


def require_satisfiable(query: Query) -> None:
    """Raises Unsatisfiable, which names the constraints that contradict, where nothing can match."""
    if not is_satisfiable(query):
        raise Unsatisfiable(tuple(_contradiction(tests) for tests in alternatives(query)))


def canonical_id(query: Query) -> str:
    """One name for one meaning: queries that differ in the names of variables, order or spelling share it, and in
    the chapter's language all equivalent queries do. 32 hexadecimal digits, the same on every machine."""
    known = query.__dict__.get("_canonical_id")
    if known is None:
        primes = sorted(json.dumps(prime.to_data()) for prime in query.normal_form.primes)
        digest = blake2b("\n".join(primes).encode(), digest_size=16, person=b"qel-canonical")
        known = query.__dict__["_canonical_id"] = digest.hexdigest()
    assert isinstance(known, str)
    return known


def _covers(general: NormalForm, special: NormalForm) -> bool:
    primes = general.primes
    for disjunct in special.primes:
        for prime in primes:
            if disjunct.implies(prime):
                break
        else:
            return False
    return True


def _contradiction(tests: tuple[Test, ...]) -> tuple[str, ...]:
    """A smallest set of tests of one variable that no value meets, as text."""
    by_variable: dict[str, list[Test]] = {}
    for test in tests:
        by_variable.setdefault(test.variable, []).append(test)
    for group in by_variable.values():
        if _meet_all(group) is not None:
            continue
        clash = list(group)
        for test in group:
            fewer = [other for other in clash if other is not test]
            if _meet_all(fewer) is None:
                clash = fewer
        return tuple(write_test(test) for test in clash)
    raise AssertionError("an alternative without a solution has a variable without one")


def _meet_all(tests: list[Test]) -> Region | None:
    met: Region | None = ANY
    for test in tests:
        if met is not None:
            met = met.meet(region_of(test.atom))
    return met
