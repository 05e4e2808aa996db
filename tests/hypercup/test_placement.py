"""`place` turns any claims into a complete, balanced cube of exactly the living, and moves few members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypercup import Cube, HypercupError, Label, NoMembers, Placement, Placer, place


@dataclass(frozen=True)
class Claim:
    key: bytes
    claim: Label | None = None
    is_alive: bool = True


def keys(n: int, seed: int) -> list[bytes]:
    return [bytes([i >> 8, i & 255]) for i in Random(seed).sample(range(1 << 16), n)]


def settled(n: int, seed: int) -> list[Claim]:
    """n members that claim the labels of a balanced cube, in no relation to the order of their keys."""
    return [Claim(key, label) for key, label in zip(keys(n, seed), Cube.grow(n, seed).labels, strict=True)]


def claimed(placement: Placement) -> list[Claim]:
    return [Claim(key, label) for key, label in placement.labels.items()]


def moved(before: Placement, after: Placement) -> set[bytes]:
    both = before.labels.keys() & after.labels.keys()
    return {key for key in both if before.labels[key] != after.labels[key]}


any_label = st.text("01", max_size=9).map(Label)
short_label = st.text("01", max_size=3).map(Label)
claims = st.none() | any_label | short_label
populations = st.dictionaries(
    st.binary(min_size=1, max_size=2),
    st.tuples(claims, st.sampled_from([True, True, True, False])),
    max_size=40,
).map(lambda members: [Claim(key, claim, alive) for key, (claim, alive) in members.items()])
living_populations = populations.filter(lambda entries: any(entry.is_alive for entry in entries))


@settings(max_examples=400)
@given(living_populations, st.randoms(use_true_random=False))
def test_any_claims_give_a_complete_balanced_cube_of_the_living(entries: list[Claim], random: Random) -> None:
    placement = place(entries)
    assert placement.labels.keys() == {entry.key for entry in entries if entry.is_alive}
    assert placement.cube == Cube(placement.labels.values())
    assert {label: key for key, label in placement.labels.items()} == placement.owners
    lengths = {len(label) for label in placement.cube.labels}
    assert max(lengths) - min(lengths) <= 1
    shuffled = entries[:]
    random.shuffle(shuffled)
    assert place(shuffled) == placement
    assert place(claimed(placement)) == placement


@settings(max_examples=400)
@given(living_populations)
def test_it_is_what_a_literal_reading_of_the_rules_gives(entries: list[Claim]) -> None:
    assert place(entries).labels == literal_reading(entries)


def literal_reading(entries: list[Claim]) -> dict[bytes, Label]:
    """The six rules with labels, sets and searches only; slow, and written without looking at `place`."""
    living = sorted((entry for entry in entries if entry.is_alive), key=lambda entry: entry.key)
    f = max(k for k in range(20) if 2**k <= len(living))
    cells = [Label.of(bits, f) for bits in range(2**f)]
    wishes = {entry.key: cut(entry.claim, f) for entry in living if entry.claim is not None}
    label: dict[bytes, Label] = {}

    def sitting(cell: Label) -> list[bytes]:
        return [key for key in sorted(label) if cell.is_prefix_of(label[key])]

    for key, wish in sorted(wishes.items()):
        if len(wish) == f + 1 and wish not in label.values():
            label[key] = wish
    for key, wish in sorted(wishes.items()):
        if len(wish) == f and len(sitting(wish)) < 2:
            sit_down(label, key, wish, sitting(wish))
    for cell in cells:
        homeless = [entry.key for entry in living if entry.key not in label]
        if not sitting(cell) and homeless:
            label[homeless[0]] = cell
    for cell in cells:
        if not sitting(cell):
            giving = next(other for other in reversed(cells) if len(sitting(other)) == 2)
            smaller, greater = sitting(giving)
            label[greater], label[smaller] = cell, giving
    for entry in living:
        if entry.key not in label:
            single = [cell for cell in cells if len(sitting(cell)) == 1]
            cell = min(single, key=lambda cell: (label[sitting(cell)[0]] == cell, cell))
            sit_down(label, entry.key, cell, sitting(cell))
    for cell in cells:
        if len(sitting(cell)) == 1:
            label[sitting(cell)[0]] = cell
    return label


def cut(claim: Label, f: int) -> Label:
    return claim.prefix(f + 1) if len(claim) > f else claim.prefix(f)


def sit_down(label: dict[bytes, Label], key: bytes, cell: Label, others: list[bytes]) -> None:
    if not others:
        label[key] = cell
    elif label[others[0]] == cell:
        label[others[0]], label[key] = cell.child(0), cell.child(1)
    else:
        label[key] = label[others[0]].sibling


@given(st.integers(1, 140), st.integers(0, 1000), claims)
def test_one_join_moves_at_most_two_others_whatever_it_claims(n: int, seed: int, claim: Label | None) -> None:
    members = settled(n, seed)
    newcomer = Claim(keys(n + 1, seed)[-1], claim)
    assert newcomer.key not in {member.key for member in members}
    others = moved(place(members), place([*members, newcomer]))
    assert len(others) <= (1 if claim is None else 2)


@given(st.integers(2, 140), st.integers(0, 1000), st.data())
def test_one_departure_moves_at_most_two(n: int, seed: int, data: st.DataObject) -> None:
    members = settled(n, seed)
    gone = data.draw(st.sampled_from(members))
    rest = [member for member in members if member != gone]
    assert len(moved(place(members), place(rest))) <= 2
    assert place([*rest, replace(gone, is_alive=False)]) == place(rest)


@given(st.integers(1, 140), st.integers(0, 1000), st.data())
def test_settled_members_stay_where_they_are(n: int, seed: int, data: st.DataObject) -> None:
    members = settled(n, seed)
    assert place(members).labels == {member.key: member.claim for member in members}
    one = data.draw(st.sampled_from(members))
    forgot = [replace(member, claim=None) if member == one else member for member in members]
    assert place(forgot) == place(members)


@given(st.integers(2, 140), st.integers(0, 1000), st.data())
def test_after_one_change_it_does_not_matter_who_has_claimed_its_new_label(
    n: int, seed: int, data: st.DataObject
) -> None:
    members = settled(n, seed)
    if data.draw(st.booleans()):
        members.remove(data.draw(st.sampled_from(members)))
    else:
        members.append(Claim(keys(n + 1, seed)[-1]))
    after = place(members)
    unsettled = [member for member in members if member.claim != after.labels[member.key]]
    for pattern in range(1 << len(unsettled)):
        done = {member.key for i, member in enumerate(unsettled) if pattern >> i & 1}
        partly = [replace(m, claim=after.labels[m.key]) if m.key in done else m for m in members]
        assert place(partly) == after


def test_contradictory_claims_of_everybody() -> None:
    for claim in (Label(), Label("0"), Label("1" * 60)):
        placement = place(Claim(key, claim) for key in keys(100, seed=1))
        assert len(placement.cube) == 100


def test_nobody_alive_has_no_cube() -> None:
    with pytest.raises(NoMembers, match="nobody is alive"):
        place([Claim(b"a", Label(), is_alive=False)])


def test_entries_must_be_merged_first() -> None:
    with pytest.raises(HypercupError, match="merge entries"):
        place([Claim(b"a", Label("0")), Claim(b"a", Label("1"))])


@settings(max_examples=150)
@given(living_populations, st.data())
def test_the_placer_gives_what_place_gives_over_any_history(entries: list[Claim], data: st.DataObject) -> None:
    placer = Placer()
    table = {entry.key: entry for entry in entries}
    for _ in range(data.draw(st.integers(1, 12))):
        assert_same(placer.place(table.values()), place(table.values()))
        for _ in range(data.draw(st.integers(0, 3))):
            key = data.draw(st.sampled_from(sorted(table)) | st.binary(min_size=1, max_size=2))
            table[key] = Claim(key, data.draw(claims), data.draw(st.booleans()))
        if not any(entry.is_alive for entry in table.values()):
            table[b"z"] = Claim(b"z")


@pytest.mark.parametrize("seed", range(8))
def test_the_placer_gives_what_place_gives_over_long_histories(seed: int) -> None:
    random = Random(seed)
    placer, table = Placer(), {entry.key: entry for entry in settled(random.choice([5, 60, 130]), seed)}
    for _ in range(300):
        key = random.choice([*table, random.randbytes(2)])
        alive = random.random() < (0.8 if len(table) < 140 else 0.4)
        claim = random.choice([None, Label.of(random.getrandbits(6), 6), Label.of(random.getrandbits(7), 7)])
        table[key] = Claim(key, claim, alive)
        if random.random() < 0.3:
            table = {c.key: c for c in claimed(place(table.values()))}
        if not any(entry.is_alive for entry in table.values()):
            table[key] = Claim(key)
        assert_same(placer.place(table.values()), place(table.values()))


def assert_same(placed: Placement, expected: Placement) -> None:
    assert placed == expected
    assert placed.cube == expected.cube
    assert placed.owners == expected.owners
