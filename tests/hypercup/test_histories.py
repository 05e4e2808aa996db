"""Random histories: whatever happens, once it is quiet all who live are in one view, in bounded time."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from random import Random

import networkx as nx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from hypercup import (
    CubeKind,
    Entry,
    Faults,
    Kind,
    Membership,
    SimulatedNetwork,
    Status,
    UnstructuredKind,
    ViewChanged,
)
from hypercup.effects import Effect
from hypercup.hosts import Host


class Watched(SimulatedNetwork):
    """Sees to it that nobody ever returns to a view in one life."""

    def _begin(self, host: Host) -> None:
        super()._begin(host)
        assert host.member is not None
        self.been = {**getattr(self, "been", {}), host.name: [host.member.view.id]}

    def _carry_out(self, host: Host, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, ViewChanged):
                assert effect.view.id not in self.been[host.name], f"{host.name} returns to a view"
                self.been[host.name].append(effect.view.id)
        super()._carry_out(host, effects)


ROUGH = Faults(max_delay_s=0.25, loss=0.1, duplication=0.1, clock_drift=0.05)
KINDS: list[Callable[[], Kind]] = [CubeKind, UnstructuredKind]
SEEDS = int(os.environ.get("SOAK_SEEDS", "60"))  # `make soak` has more of them


def random_step(network: SimulatedNetwork, random: Random) -> str:
    """Do something to the network; says what."""
    running = network.running
    moving = [name for name in running if not network.hosts[name].is_still]
    down = [name for name, host in network.hosts.items() if host.member is None]
    still = [name for name, host in network.hosts.items() if host.member is not None and host.is_still]
    actions = ["join"] * (len(running) < 12) + ["wait"] * 2
    actions += ["crash", "leave", "still"] * (len(moving) > 1) + ["restart"] * bool(down) + ["go on"] * bool(still)
    actions += ["partition"] * (len(running) > 2) + ["heal"]
    action = random.choice(actions)
    if action == "join":
        network.join(f"m{len(network.hosts)}")
    elif action == "wait":
        network.run(random.choice([1.0, 5.0, 20.0]))
    elif action == "heal":
        network.heal()
    elif action == "partition":
        names = list(network.hosts)
        random.shuffle(names)
        cut = random.randrange(1, len(names))
        network.partition([names[:cut], names[cut:]])
    elif action == "restart":
        network.restart(random.choice(down))
    elif action == "go on":
        network.go_on(random.choice(still))
    elif action == "still":
        network.stand_still(random.choice(moving))
    else:
        getattr(network, action)(random.choice(moving))
    network.run(random.choice([0.0, 0.05, 0.3, 2.0]))
    return action


def make_quiet(network: SimulatedNetwork) -> None:
    network.heal()
    network.faults = Faults(max_delay_s=0.25, clock_drift=0.05)
    for name, host in network.hosts.items():
        if host.member is not None and host.is_still:
            network.go_on(name)


def introduce(network: SimulatedNetwork) -> None:
    """Give an address to those who know nobody that runs and whom nobody knows: no protocol could.

    Who left is not called again, so knowing somebody who left and came back elsewhere does not count.
    """
    members = {name: network.member(name) for name in network.running}
    left = {entry.address for m in members.values() for entry in m.table if entry.status is Status.LEFT}
    graph = nx.Graph()
    graph.add_nodes_from(members)
    for name, member in members.items():
        graph.add_edges_from((name, other) for other in member.acquaintances - left if other in graph)
    for one, other in pairwise(min(component) for component in nx.connected_components(graph)):
        members[one].add_contact(other)


def live(seed: int, kind: Callable[[], Kind], member_class: type[Membership] = Membership, steps: int = 40) -> bool:
    """One history from one seed; whether it ended in one view within the stated time."""
    network = Watched(seed, kind=kind, faults=ROUGH, member_class=member_class)
    random = Random(seed)
    network.join("m0")
    for _ in range(steps):
        random_step(network, random)
    make_quiet(network)
    introduce(network)
    network.run(network.timing.convergence_s(len(network.hosts)))
    return stays_agreed(network)


def stays_agreed(network: SimulatedNetwork) -> bool:
    """Agreement may come by chance while a change is still on its way; this looks for a while."""
    for _ in range(10):
        if not network.is_agreed():
            return False
        network.run(network.timing.heartbeat_s)
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", range(0, SEEDS, 10))
def test_seeded_histories_end_in_one_view(kind: Callable[[], Kind], start: int) -> None:
    failed = [seed for seed in range(start, start + 10) if not live(seed, kind)]
    assert not failed, f"members disagree after the histories of seeds {failed}"


class NeverRefutes(Membership):
    def _refute(self, entry: Entry, now: float, teller: str) -> None:
        pass


class NeverCompares(Membership):
    def _compare(self, address: str) -> None:
        pass


class NeverCallsTheLost(Membership):
    def _call_the_lost(self) -> None:
        pass


class NeverNoticesSilence(Membership):
    def _pursue_suspects(self, now: float) -> None:
        self._detector.due(now)


@pytest.mark.parametrize("broken", [NeverRefutes, NeverCompares, NeverCallsTheLost, NeverNoticesSilence])
def test_histories_can_fail(broken: type[Membership]) -> None:
    assert not all(live(seed, CubeKind, broken) for seed in range(60))


class Histories(RuleBasedStateMachine):
    """The same, with hypothesis choosing what happens so that it can shrink what fails."""

    @initialize(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS))
    def begin(self, seed: int, kind: Callable[[], Kind]) -> None:
        self.network = SimulatedNetwork(seed, kind=kind, faults=ROUGH)
        self.network.join("m0")

    def moving(self) -> list[str]:
        return [name for name in self.network.running if not self.network.hosts[name].is_still]

    @precondition(lambda self: len(self.network.hosts) < 10)
    @rule()
    def join(self) -> None:
        self.network.join(f"m{len(self.network.hosts)}")

    @precondition(lambda self: len(self.moving()) > 1)
    @rule(data=st.data(), action=st.sampled_from(["crash", "leave", "stand_still"]))
    def take_away(self, data: st.DataObject, action: str) -> None:
        getattr(self.network, action)(data.draw(st.sampled_from(self.moving())))

    @precondition(lambda self: any(host.is_still for host in self.network.hosts.values()))
    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        still = [name for name, host in self.network.hosts.items() if host.is_still]
        self.network.go_on(data.draw(st.sampled_from(still)))

    @precondition(lambda self: any(host.member is None for host in self.network.hosts.values()))
    @rule(data=st.data())
    def restart(self, data: st.DataObject) -> None:
        down = [name for name, host in self.network.hosts.items() if host.member is None]
        self.network.restart(data.draw(st.sampled_from(down)))

    @rule(data=st.data())
    def partition(self, data: st.DataObject) -> None:
        side = data.draw(st.sets(st.sampled_from(sorted(self.network.hosts))))
        self.network.partition([side, self.network.hosts.keys() - side])

    @rule()
    def heal(self) -> None:
        self.network.heal()

    @rule(seconds=st.sampled_from([0.05, 0.5, 3.0, 10.0, 30.0]))
    def wait(self, seconds: float) -> None:
        self.network.run(seconds)

    def teardown(self) -> None:
        if hasattr(self, "network"):
            make_quiet(self.network)
            introduce(self.network)
            self.network.run(self.network.timing.convergence_s(len(self.network.hosts)))
            assert stays_agreed(self.network), "members disagree though all is quiet"


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_forty_members_with_a_long_history(kind: Callable[[], Kind], seed: int) -> None:
    network = SimulatedNetwork(seed, kind=kind, faults=ROUGH)
    network.populate([f"m{i}" for i in range(40)])
    random = Random(seed)
    for _ in range(60):
        random_step(network, random)
    make_quiet(network)
    introduce(network)
    network.run(network.timing.convergence_s(len(network.hosts)))
    assert stays_agreed(network), f"members disagree after the history of seed {seed}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_repeatable(kind: Callable[[], Kind]) -> None:
    def outcome() -> tuple[dict[str, int], list[bytes]]:
        network = SimulatedNetwork(5, kind=kind, faults=ROUGH)
        random = Random(5)
        network.join("m0")
        for _ in range(30):
            random_step(network, random)
        return dict(network.messages), [network.member(name).view.id for name in network.running]

    assert outcome() == outcome()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_reached_while_messages_are_still_lost_and_repeated(kind: Callable[[], Kind], seed: int) -> None:
    network = SimulatedNetwork(seed, kind=kind, faults=ROUGH)
    random = Random(seed)
    network.join("m0")
    for _ in range(40):
        random_step(network, random)
    make_quiet(network)
    network.faults = ROUGH
    introduce(network)
    network.run(network.timing.convergence_s(len(network.hosts)))
    patience = network.timing.death_after_s
    assert network.run_until(network.is_agreed, patience) is not None, f"no agreement after seed {seed}"
