"""Playing a script: the membership protocol in the simulator, and what the backbone looks like after each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hypercup.backbone import CubeKind, Kind
from hypercup.label import Label
from hypercup.script import Action, Step
from hypercup.simulation import SimulatedNetwork
from hypercup.timing import Timing


@dataclass(frozen=True)
class Seen:
    """A view and those who are in it and share it: where each stands, and who is linked to whom."""

    id: str
    holders: tuple[str, ...]
    places: dict[str, str]
    neighbours: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Scene:
    """The backbone after one step."""

    step: Step
    time_s: float
    taken_s: float | None
    """How long it took until all who can reach each other had the same view; None if they do not yet."""
    messages: dict[str, int]
    moved: tuple[str, ...]
    """Those who were there before and stand elsewhere now."""
    views: tuple[Seen, ...]


def play(
    steps: Iterable[Step],
    *,
    seed: int = 0,
    kind: Callable[[], Kind] = CubeKind,
    timing: Timing | None = None,
) -> Iterator[Scene]:
    """Run a script, giving the scene after each of its steps."""
    network = SimulatedNetwork(seed, kind=kind, timing=timing)
    before: dict[str, str] = {}
    for step in steps:
        network.messages.clear()
        start = network.time
        _happen(network, step)
        taken = _wait_for_agreement(network, step, start)
        views = tuple(_look(network))
        places = {name: seen.places[name] for seen in views for name in seen.holders}
        moved = tuple(sorted(name for name in places if before.get(name, places[name]) != places[name]))
        yield Scene(step, network.time, taken, dict(network.messages), moved, views)
        before = places


def _happen(network: SimulatedNetwork, step: Step) -> None:
    for name in step.names:
        match step.action:
            case Action.JOIN:
                network.join(name, step.through)
            case Action.LEAVE:
                network.leave(name)
            case Action.CRASH:
                network.crash(name)
            case Action.RESTART:
                network.restart(name)
            case Action.STALL:
                network.stand_still(name)
            case Action.RESUME:
                network.go_on(name)
            case _:
                raise AssertionError(f"{step.action} happens to nobody by name")
    if step.action is Action.PARTITION:
        network.partition(step.groups)
    elif step.action is Action.HEAL:
        network.heal()
    elif step.action is Action.WAIT:
        network.run(step.seconds)


def _wait_for_agreement(network: SimulatedNetwork, step: Step, start: float) -> float | None:
    """Let the members agree, then settle, so that the picture holds still."""
    limit = network.timing.convergence_s(len(network.hosts))
    if network.run_until(network.is_agreed_by_sides, limit) is None:
        return None
    taken = network.time - start
    if step.action is not Action.WAIT:
        network.run_until(network.is_settled_by_sides, limit)
    return taken


def _look(network: SimulatedNetwork) -> Iterator[Seen]:
    holders: dict[bytes, list[str]] = {}
    for name in network.awake:
        holders.setdefault(network.member(name).view.id, []).append(name)
    for view_id, names in holders.items():
        backbone = network.member(names[0]).view.backbone
        called = {member: network.name_of(member) for member in backbone.members}
        places = {name: _written(backbone.place(member), called) for member, name in called.items()}
        yield Seen(
            view_id.hex(),
            tuple(sorted(names)),
            dict(sorted(places.items())),
            {
                called[member]: tuple(sorted(called[key] for key in backbone.position(member).neighbours))
                for member in sorted(called, key=lambda member: called[member])
            },
        )


def _written(place: Label | bytes | None, called: dict[bytes, str]) -> str:
    if isinstance(place, Label):
        return str(place)
    return "root" if place is None else f"below {called[place]}"
