"""Entries: a total order in which they merge, who may say what, and the limits."""

from __future__ import annotations

from itertools import pairwise, permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypercup import ChosenLink, Entry, InvalidEntry, Label, Status, Table, Verdict, merge
from hypercup.entry import check_limits
from hypercup.hosts import simulated_identity

entries = st.builds(
    Entry,
    st.just(b"k"),
    st.sampled_from(["a", "b"]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(Status),
    st.none() | st.sampled_from([Label("0"), Label("10")]),
).map(
    lambda entry: msgspec.structs.replace(entry, verdict=Verdict(b"x", b"s")) if entry.status is Status.DEAD else entry
)


@given(entries, entries, entries)
def test_merging_is_commutative_associative_and_idempotent(a: Entry, b: Entry, c: Entry) -> None:
    assert merge(a, a) == a
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


def test_the_order_of_entries() -> None:
    ascending = [
        Entry(b"k", incarnation=1, version=9),
        Entry(b"k", incarnation=1, version=3, status=Status.DEAD, verdict=Verdict(b"x", b"s")),
        Entry(b"k", incarnation=1, version=4, status=Status.DEAD, verdict=Verdict(b"x", b"s")),
        Entry(b"k", incarnation=1, version=2, status=Status.LEFT),
        Entry(b"k", incarnation=2, version=0),
        Entry(b"k", incarnation=2, version=1),
    ]
    for lower, higher in pairwise(ascending):
        assert merge(lower, higher) is higher
    for order in permutations(ascending[:4]):
        table = Table(order)
        assert table.get(b"k") == ascending[3]


def test_a_member_signs_its_own_statements_and_an_accuser_the_verdict() -> None:
    ada, ben, eve = (simulated_identity(name) for name in ("ada", "ben", "eve"))
    entry = ada.signed(Entry(ada.key, "a", 3, claim=Label("01")))
    assert ben.is_genuine(entry)
    assert not ben.is_genuine(msgspec.structs.replace(entry, incarnation=4))
    assert not ben.is_genuine(msgspec.structs.replace(entry, status=Status.LEFT))
    assert not ben.is_genuine(msgspec.structs.replace(entry, claim=Label("0")))
    assert not ben.is_genuine(msgspec.structs.replace(entry, address="b"))
    assert not ben.is_genuine(msgspec.structs.replace(entry, links=(ChosenLink(b"x", 1),)))
    dead = ben.pronounced_dead(entry)
    assert dead.status is Status.DEAD
    assert eve.is_genuine(dead)
    assert dead.verdict is not None
    for verdict in (Verdict(eve.key, dead.verdict.signature), Verdict(ben.key, b"")):
        assert not eve.is_genuine(msgspec.structs.replace(dead, verdict=verdict))


def test_a_verdict_is_on_one_incarnation() -> None:
    ada, ben = simulated_identity("ada"), simulated_identity("ben")
    first, second = (ada.signed(Entry(ada.key, "a", incarnation)) for incarnation in (1, 2))
    verdict = ben.pronounced_dead(first).verdict
    forged = msgspec.structs.replace(second, status=Status.DEAD, verdict=verdict)
    assert not ben.is_genuine(forged)


@pytest.mark.parametrize(
    "entry",
    [
        Entry(b""),
        Entry(b"k" * 65),
        Entry(b"k", "a" * 257),
        Entry(b"k", incarnation=-1),
        Entry(b"k", version=2**63),
        Entry(b"k", claim=Label("0" * 65)),
        Entry(b"k", links=tuple(ChosenLink(bytes([i]), 1) for i in range(33))),
        Entry(b"k", links=(ChosenLink(b"x", -1),)),
        Entry(b"k", signature=b"s" * 385),
        Entry(b"k", status=Status.DEAD),
        Entry(b"k", verdict=Verdict(b"x", b"s")),
        Entry(b"k", status=Status.DEAD, verdict=Verdict(b"x" * 65, b"s")),
    ],
)
def test_limits(entry: Entry) -> None:
    with pytest.raises(InvalidEntry):
        check_limits(entry)


@given(st.lists(entries.map(lambda e: msgspec.structs.replace(e, key=e.address.encode())), max_size=8))
def test_a_table_has_the_same_digest_for_the_same_living_in_any_order(known: list[Entry]) -> None:
    forwards, backwards = Table(known), Table(reversed(known))
    assert forwards.digest == backwards.digest
    assert forwards.bucket_digests == backwards.bucket_digests
    assert sorted(entry.rank for entry in forwards) == sorted(entry.rank for entry in backwards)
    assert forwards.living_count == sum(entry.is_alive for entry in forwards)
    assert len(forwards) == len(list(forwards))
    assert Table(forwards.living).digest == forwards.digest


def test_a_fork_shares_nothing_that_changes() -> None:
    table = Table([Entry(b"a"), Entry(b"b")])
    fork = table.fork()
    before = table.digest
    assert fork.put(Entry(b"a", incarnation=1), now=1.0)
    assert not fork.put(Entry(b"a"), now=1.0)
    assert table.digest == before != fork.digest
    table.put(Entry(b"c"), now=1.0)
    assert fork.get(b"c") is None


def test_tombstones_are_forgotten_by_age_and_by_number() -> None:
    table = Table([Entry(b"a")])
    for i, key in enumerate([b"x", b"y", b"z"]):
        table.put(Entry(key, status=Status.LEFT), now=float(i))
    digest = table.digest
    table.forget(before=0.5, keep=10)
    assert [entry.key for entry in table.tombstones] == [b"y", b"z"]
    table.forget(before=0.5, keep=1)
    assert [entry.key for entry in table.tombstones] == [b"z"]
    assert table.digest == digest
    assert len(table) == 2
