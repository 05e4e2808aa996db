"""Membership: joining, leaving, suspicion, refutation, restarts and partitions, up to what is assumed."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import msgspec
import pytest

from hypercup import (
    Announce,
    Ask,
    Compare,
    CubeKind,
    Effect,
    Entries,
    Entry,
    Faults,
    Heartbeat,
    InvalidTiming,
    Kind,
    Label,
    Membership,
    News,
    Received,
    Send,
    SimulatedNetwork,
    Status,
    Stopped,
    Table,
    Timing,
    Tone,
    UnknownMember,
    UnstructuredKind,
    Verdict,
    ViewChanged,
    Views,
    Vouch,
)
from hypercup.hosts import simulated_identity

KINDS: list[Callable[[], Kind]] = [CubeKind, UnstructuredKind]
TIMING = Timing()
WORST = Faults(min_delay_s=0.0, max_delay_s=TIMING.max_delay_s, clock_drift=TIMING.clock_drift)


def grown(n: int, kind: Callable[[], Kind] = CubeKind, seed: int = 0, faults: Faults | None = None) -> SimulatedNetwork:
    network = SimulatedNetwork(seed, kind=kind, faults=faults or Faults())
    network.populate([f"m{i}" for i in range(n)])
    network.run(3 * network.timing.heartbeat_s)
    assert network.is_settled()
    return network


def statuses(network: SimulatedNetwork, name: str) -> set[Status | None]:
    key = simulated_identity(name).key
    entries = [network.member(other).table.get(key) for other in network.running if other != name]
    return {None if entry is None else entry.status for entry in entries}


def agreed_within(network: SimulatedNetwork, seconds: float) -> bool:
    return network.run_until(network.is_agreed, seconds) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_backbone_grows_from_one_through_any_member(kind: Callable[[], Kind]) -> None:
    network = SimulatedNetwork(1, kind=kind)
    for i in range(20):
        network.join(f"m{i}")
        assert agreed_within(network, 5.0)
    assert len(network.member("m0").view) == 20
    assert network.run_until(network.is_settled, 20.0) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_many_join_at_once_through_one(kind: Callable[[], Kind]) -> None:
    network = grown(3, kind)
    for i in range(12):
        network.join(f"new{i}", "m0")
    assert agreed_within(network, network.timing.convergence_s(15))
    assert network.run_until(network.is_settled, 20.0) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_news_of_a_join_takes_one_message_for_each_other_member(kind: Callable[[], Kind]) -> None:
    network = grown(30, kind)
    network.messages.clear()
    network.join("new", "m3")
    assert agreed_within(network, 5.0)
    assert network.messages["News"] == 29
    assert network.messages["Announce"] == network.messages["Received"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_who_leaves_is_let_go_at_once(kind: Callable[[], Kind]) -> None:
    network = grown(12, kind)
    network.leave("m5")
    assert agreed_within(network, 3.0)
    assert statuses(network, "m5") == {Status.LEFT}
    assert network.hosts["m5"].member is None
    assert network.messages["Ask"] == 0


def test_a_farewell_is_repeated_until_it_is_heard() -> None:
    network = grown(8, faults=Faults(loss=0.4))
    network.leave("m5")
    network.faults = Faults()
    assert agreed_within(network, network.timing.convergence_s(8))
    assert statuses(network, "m5") == {Status.LEFT}


def test_the_last_member_leaves_without_an_audience() -> None:
    network = SimulatedNetwork(0)
    network.join("m0")
    network.leave("m0")
    assert network.running == []
    with pytest.raises(UnknownMember, match="not running"):
        network.leave("m0")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_crash_is_found_in_the_stated_time(kind: Callable[[], Kind], seed: int) -> None:
    network = grown(10, kind, seed, WORST)
    network.crash("m4")
    spreading = 10 * network.timing.max_delay_s
    assert agreed_within(network, network.timing.death_after_s + spreading)
    assert statuses(network, "m4") == {Status.DEAD}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_who_is_back_within_the_grace_is_never_called_dead(kind: Callable[[], Kind], seed: int) -> None:
    network = grown(8, kind, seed, WORST)
    joining = 10 * network.timing.max_delay_s
    network.crash("m4")
    network.run(network.timing.grace_s - joining)
    network.restart("m4")
    network.run(20.0)
    assert network.is_agreed()
    assert all(not network.member(name).table.tombstones for name in network.running)
    assert network.member("m4").entry.incarnation == 2


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_suspected_at_the_worst_delay_and_drift(kind: Callable[[], Kind]) -> None:
    network = grown(16, kind, seed=3, faults=WORST)
    network.run(200.0)
    assert network.messages["Ask"] == 0
    assert all(not network.member(name).table.tombstones for name in network.running)


@pytest.mark.parametrize("extra", [0, 1])
def test_exactly_the_tolerated_losses_are_tolerated(extra: int) -> None:
    """A fast clock watches a slow one; the last heartbeat was fast, the next takes the longest delay."""
    ada, _ = pair()
    losses = TIMING.tolerated_losses + extra
    fast, slow = 1 + TIMING.clock_drift, 1 - TIMING.clock_drift
    arrives = fast * ((losses + 1) * TIMING.heartbeat_s / slow + TIMING.max_delay_s)
    start = ada.next_wakeup
    ben = simulated_identity("ben")
    ada.receive(Heartbeat(ben.key, "ben", 1, ada.table.digest), start)
    effects: list[Effect] = []
    while ada.next_wakeup < start + arrives:
        effects += ada.tick(ada.next_wakeup)
    suspected = any(isinstance(e, Send) and getattr(e.message, "tone", None) is Tone.CALL for e in effects)
    assert suspected == bool(extra)


@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.999])
def test_a_verdict_falls_between_the_stated_times(phase: float) -> None:
    """Ada's clock is as fast, then as slow, as is assumed; Ben's last heartbeat came at some phase of hers."""
    ada, entry = pair()
    heard = ada.next_wakeup + phase
    while ada.next_wakeup <= heard:
        ada.tick(ada.next_wakeup)
    ada.receive(Heartbeat(entry.key, "ben", 1, ada.table.digest), heard)
    while (known := ada.table.get(entry.key)) is not None and known.is_alive:
        now = ada.next_wakeup
        ada.tick(now)
    silence = now - heard
    # Ben may have crashed just before his next heartbeat, and news of his return takes the longest delay.
    unseen = TIMING.heartbeat_s / (1 - TIMING.clock_drift) + TIMING.max_delay_s
    assert silence / (1 + TIMING.clock_drift) >= TIMING.grace_s + unseen - 1e-9
    assert silence / (1 - TIMING.clock_drift) <= TIMING.death_after_s - TIMING.max_delay_s
    assert phase or silence / (1 + TIMING.clock_drift) == pytest.approx(TIMING.grace_s + unseen)


def test_a_slow_member_that_another_hears_is_not_called_dead() -> None:
    """The direct way between two is cut, and the way through others is not."""
    network = grown(8)
    one, other = "m0", network.name_of(network.member("m0").view.position(network.member("m0").key).neighbours[0])
    blocked = {one, other}
    transmit = network._transmit

    def cut(sender, address, message):  # type: ignore[no-untyped-def]
        if {sender.name, address} != blocked:
            transmit(sender, address, message)

    network._transmit = cut  # type: ignore[method-assign]
    network.run(60.0)
    assert network.messages["Vouch"] > 0
    assert network.is_agreed()
    assert all(not network.member(name).table.tombstones for name in network.running)


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_called_dead_by_mistake_refutes_it(kind: Callable[[], Kind]) -> None:
    network = grown(10, kind)
    network.stand_still("m6")
    network.run(network.timing.death_after_s + 3.0)
    assert statuses(network, "m6") == {Status.DEAD}
    network.go_on("m6")
    assert agreed_within(network, 5.0)
    assert network.member("m6").entry.incarnation == 2
    assert statuses(network, "m6") == {Status.ALIVE}
    # Who slept has not listened, and accuses nobody for it.
    assert all(not network.member(name).table.tombstones for name in network.running)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [1, 5, 10])
def test_a_partition_heals_without_help(kind: Callable[[], Kind], cut: int) -> None:
    network = grown(20, kind, seed=cut)
    names = list(network.hosts)
    network.partition([names[:cut], names[cut:]])
    limit = network.timing.convergence_s(20) * 2
    assert network.run_until(network.is_agreed_by_sides, limit) is not None
    network.join("late", names[-1])
    network.partition([names[:cut], [*names[cut:], "late"]])
    network.run(20.0)
    network.heal()
    assert agreed_within(network, network.timing.convergence_s(21))
    assert len(network.member("m0").view) == 21


def pair() -> tuple[Membership, Entry]:
    """Ada's membership, and the entry of Ben, whom she knows."""
    ada, ben = simulated_identity("ada"), simulated_identity("ben")
    entry = ben.signed(Entry(ben.key, "ben", 1, claim=Label("1")))
    table = Table([entry])
    member = Membership.start(ada, "ada", 1, 0.0, views=Views(CubeKind()), known=table, timing=TIMING)
    return member, entry


def sent(effects: list[Effect]) -> list[object]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_a_member_answers_a_verdict_on_itself_with_a_higher_incarnation() -> None:
    ada, _ = pair()
    ben = simulated_identity("ben")
    dead = ben.pronounced_dead(ada.entry)
    effects = ada.receive(Entries(ben.key, "ben", (dead,)), 1.0)
    assert ada.entry.incarnation == 2
    assert ada.entry.is_alive
    assert {type(message) for message in sent(effects)} == {News, Announce}
    assert ada.receive(Entries(ben.key, "ben", (dead,)), 1.1) == []


def test_a_forgotten_life_is_outlived() -> None:
    ada, _ = pair()
    identity = simulated_identity("ada")
    former = identity.signed(Entry(identity.key, "old", 7, status=Status.LEFT))
    ada.receive(Entries(simulated_identity("ben").key, "ben", (former,)), 1.0)
    assert ada.entry.incarnation == 8


def test_a_restart_with_remembered_entries_is_a_new_incarnation_with_the_old_claim() -> None:
    identity = simulated_identity("ada")
    former = identity.signed(Entry(identity.key, "ada", 5, claim=Label("01")))
    ada = Membership.start(identity, "ada", 1, 0.0, views=Views(CubeKind()), known=Table([former]))
    assert (ada.entry.incarnation, ada.entry.claim) == (6, Label("01"))


def test_an_old_verdict_is_put_to_the_accused_before_it_is_believed() -> None:
    ada, entry = pair()
    eve = simulated_identity("eve")
    dead = eve.pronounced_dead(entry)
    effects = ada.receive(Entries(eve.key, "eve", (dead,)), 1.0)
    assert effects == [Send("ben", Entries(ada.key, "ada", (dead,)))]
    assert ada.table.get(entry.key) == entry
    ada.tick(1.0 + TIMING.refute_s)
    assert ada.table.get(entry.key) == dead


def test_a_refutation_in_time_undoes_an_old_verdict() -> None:
    ada, entry = pair()
    ben, eve = simulated_identity("ben"), simulated_identity("eve")
    ada.receive(Entries(eve.key, "eve", (eve.pronounced_dead(entry),)), 1.0)
    answer = ben.signed(msgspec.structs.replace(entry, incarnation=2))
    ada.receive(Announce(ben.key, "ben", answer, b""), 1.5)
    ada.tick(1.0 + TIMING.refute_s)
    assert ada.table.get(entry.key) == answer


def test_a_verdict_that_comes_as_news_is_believed() -> None:
    ada, entry = pair()
    eve = simulated_identity("eve")
    effects = ada.receive(News(eve.key, "eve", (eve.pronounced_dead(entry),), 0), 1.0)
    assert any(isinstance(effect, ViewChanged) and len(effect.view) == 1 for effect in effects)


@pytest.mark.parametrize("tampering", ["address", "signature", "accuser", "limit"])
def test_what_is_not_signed_by_the_right_one_changes_nothing(tampering: str) -> None:
    ada, entry = pair()
    ben, eve = simulated_identity("ben"), simulated_identity("eve")
    newer = ben.signed(msgspec.structs.replace(entry, incarnation=5))
    forged = {
        "address": msgspec.structs.replace(newer, address="eve"),
        "signature": msgspec.structs.replace(newer, signature=eve.sign(newer.statement)),
        "accuser": msgspec.structs.replace(
            entry, status=Status.DEAD, verdict=Verdict(ben.key, eve.sign(entry.accusation + ben.key))
        ),
        "limit": ben.signed(msgspec.structs.replace(newer, claim=Label("0" * 65))),
    }[tampering]
    digest = ada.table.digest
    for message in (
        News(ben.key, "ben", (forged,), 0),
        Entries(ben.key, "ben", (forged,)),
        Announce(ben.key, "ben", forged, b""),
    ):
        ada.receive(message, 1.0)
    assert ada.table.digest == digest
    assert ada.refused == 3


def test_nobody_announces_another() -> None:
    ada, entry = pair()
    newer = simulated_identity("ben").signed(msgspec.structs.replace(entry, incarnation=2))
    assert ada.receive(Announce(simulated_identity("eve").key, "eve", newer, b""), 1.0) == []
    assert ada.table.get(entry.key) == entry


def test_a_full_backbone_takes_nobody_in() -> None:
    ada = Membership.start(
        simulated_identity("ada"), "ada", 1, 0.0, views=Views(CubeKind()), timing=Timing(max_members=1)
    )
    ben = simulated_identity("ben")
    assert ada.receive(Announce(ben.key, "ben", ben.signed(Entry(ben.key, "ben", 1)), b""), 1.0) == []
    assert ada.refused == 1


def test_whoever_speaks_though_it_is_dead_is_told() -> None:
    ada, entry = pair()
    eve, ben = simulated_identity("eve"), simulated_identity("ben")
    dead = eve.pronounced_dead(entry)
    ada.receive(News(eve.key, "eve", (dead,), 0), 1.0)
    effects = ada.receive(Heartbeat(ben.key, "ben", 1, b""), 2.0)
    assert effects == [Send("ben", Entries(ada.key, "ada", (dead,)))]
    effects = ada.receive(Heartbeat(ben.key, "ben", 2, b""), 2.0)
    assert [type(message) for message in sent(effects)] == [Compare]


def test_a_question_about_a_member_is_answered_when_it_is_heard() -> None:
    ada, entry = pair()
    eve, ben = simulated_identity("eve"), simulated_identity("ben")
    ada.receive(Announce(eve.key, "eve", eve.signed(Entry(eve.key, "eve", 1)), b""), 1.0)
    effects = ada.receive(Ask(eve.key, "eve", ben.key), 2.0)
    assert [(e.address, type(e.message)) for e in effects if isinstance(e, Send)] == [("ben", Heartbeat)]
    effects = ada.receive(Heartbeat(ben.key, "ben", 1, ada.table.digest, Tone.ANSWER), 2.2)
    assert effects == [Send("eve", Vouch(ada.key, "ada", ben.key, entry.incarnation))]


def test_a_stopped_member_does_nothing_more() -> None:
    ada, _ = pair()
    effects = ada.leave(1.0)
    assert [type(message) for message in sent(effects)] == [Announce]
    done = ada.receive(Received(simulated_identity("ben").key, "ben", ada.entry.incarnation, ada.entry.version), 1.1)
    assert done == [Stopped(heard=True)]
    assert ada.is_stopped
    assert ada.next_wakeup == inf
    assert ada.tick(9.0) == ada.leave(9.0) == []


def test_a_farewell_that_nobody_hears_ends_too() -> None:
    ada, _ = pair()
    ada.leave(1.0)
    effects: list[Effect] = []
    while not ada.is_stopped:
        effects += ada.tick(ada.next_wakeup)
    assert effects[-1] == Stopped(heard=False)


@pytest.mark.parametrize(
    "change",
    [
        {"heartbeat_s": 0.0},
        {"suspect_after_s": 2.0},
        {"verdict_after_s": 0.9},
        {"clock_drift": 0.6},
        {"max_delay_s": -1.0},
        {"asked": 0},
    ],
)
def test_times_that_contradict_each_other_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(InvalidTiming):
        Timing(**change)  # type: ignore[arg-type]


def test_thousands_of_entries_are_exchanged_in_messages_of_a_stated_size() -> None:
    network = SimulatedNetwork(0, timing=Timing(entries_per_message=50))
    network.populate([f"m{i}" for i in range(300)])
    sizes: list[int] = []
    transmit = network._transmit

    def watch(sender, address, message):  # type: ignore[no-untyped-def]
        if isinstance(message, Entries):
            sizes.append(len(message.entries))
        transmit(sender, address, message)

    network._transmit = watch  # type: ignore[method-assign]
    network.join("new")
    assert agreed_within(network, 10.0)
    assert sum(sizes) >= 300
    assert max(sizes) <= 50


def test_a_view_that_comes_again_is_another_one() -> None:
    """Somebody joins and dies, and all is as it was before."""
    network = SimulatedNetwork(1)
    network.join("ada")
    network.run(5.0)
    network.join("ben")
    network.run(5.0)
    together = network.member("ada").view.id
    network.join("eve")
    network.run(5.0)
    network.crash("eve")
    network.run(60.0)
    assert network.is_agreed()
    assert set(network.member("ada").view.incarnations) == {network.member(name).key for name in ("ada", "ben")}
    assert network.member("ada").view.id != together


def test_a_new_life_is_higher_than_all_that_the_former_said() -> None:
    network = SimulatedNetwork(1)
    for name in ("ada", "ben", "eve"):
        network.join(name)
        network.run(5.0)
    network.stand_still("eve")
    network.run(60.0)
    network.go_on("eve")
    network.run(60.0)
    refuted = network.member("eve").entry.incarnation
    assert refuted > 1
    network.crash("eve")
    network.restart("eve")
    assert network.member("eve").entry.incarnation > refuted


def test_who_is_answered_has_joined_also_when_there_is_nothing_to_compare() -> None:
    """Two know each other, and one of them has not been told that it is in: then it never stated its place."""
    network = SimulatedNetwork(1, kind=UnstructuredKind)
    network.join("ada")
    network.join("ben", "ada")
    network.run(20.0)
    ada = network.member("ada")
    ada.contacts, ada._joined = ("ben",), False
    ada.receive(Received(network.member("ben").key, "ben", ada.entry.incarnation, ada.entry.version), 20.0)
    assert ada._joined
