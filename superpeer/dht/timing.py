"""How long things take: a trace of messages and work, replayed with brokers that do one thing after another.

Lo measures with a discrete event simulation. Here the strategies run first and say what happens (`Fabric.trace`), and
this replays it in virtual time: an operation begins at its time; each hop takes a random time, and a lookup at the node
that sends it; a node that stores or examines subscriptions is busy for a time that goes with their number. Nodes serve
in the order of arrival, so busy ones let others wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from superpeer.dht.simulation import Leg, Work

HOP_S = 2.0


@dataclass(frozen=True, slots=True)
class Environment:
    """Lo's Table 2."""

    name: str
    event_interval_s: float
    examination_s: float
    lookup_s: float


BUSY = Environment("busy", 1.0, 0.01, 0.01)
FREE = Environment("free", 2.0, 0.001, 0.001)


@dataclass(frozen=True, slots=True)
class Operation:
    """What one subscription or event made happen, from its time on."""

    start_s: float
    trace: tuple[Leg | Work, ...]


def management_s(trace: Sequence[Leg | Work], environment: Environment) -> float:
    """The time that brokers spend: a lookup for every hop, and what they store and examine."""
    examined = sum(entry.subscriptions for entry in trace if isinstance(entry, Work))
    return environment.lookup_s * hops_of(trace) + environment.examination_s * examined


def hops_of(trace: Iterable[Leg | Work]) -> int:
    return sum(len(entry.path) - 1 for entry in trace if isinstance(entry, Leg))


def elapsed_s(trace: Sequence[Leg | Work], environment: Environment) -> float:
    """The same, where those who examine for the same visit of an event do so side by side, and only the longest
    counts."""
    examined = longest = 0
    for entry in trace:
        if isinstance(entry, Work):
            longest = max(longest, entry.subscriptions)
        elif entry.kind == "publish":
            examined, longest = examined + longest, 0
    return environment.lookup_s * hops_of(trace) + environment.examination_s * (examined + longest)


def busiest_share(operations: Sequence[Operation], environment: Environment) -> float:
    """Which part of the time the busiest node is busy; above 1 it falls behind."""
    busy: dict[int, float] = {}
    for operation in operations:
        for entry in operation.trace:
            if isinstance(entry, Work):
                busy[entry.node] = busy.get(entry.node, 0.0) + environment.examination_s * entry.subscriptions
            else:
                for node in entry.path[:-1]:
                    busy[node] = busy.get(node, 0.0) + environment.lookup_s
    return max(busy.values(), default=0.0) / (operations[-1].start_s or 1.0) if operations else 0.0


def match_latency_s(operations: Sequence[Operation], environment: Environment, seed: int) -> float:
    """The time from an event to each examination that finds a match, on average."""
    random = Random(seed)
    followers = [_followers(operation.trace) for operation in operations]
    free_at: dict[int, float] = {}
    waiting: list[tuple[float, int, int, int, int]] = []
    serial = 0
    total, found = 0.0, 0
    for number, operation in enumerate(operations):
        for entry in followers[number][-1]:
            heappush(waiting, (operation.start_s, serial, number, entry, 0))
            serial += 1
    while waiting:
        now, _, number, entry, step = heappop(waiting)
        happening = operations[number].trace[entry]
        if isinstance(happening, Work):
            done = max(now, free_at.get(happening.node, 0.0)) + environment.examination_s * happening.subscriptions
            free_at[happening.node] = done
            total += happening.matched * (done - operations[number].start_s)
            found += happening.matched
            continue
        if step < len(happening.path) - 1:
            node = happening.path[step]
            done = max(now, free_at.get(node, 0.0)) + environment.lookup_s
            free_at[node] = done
            heappush(waiting, (done + random.expovariate(1 / HOP_S), serial, number, entry, step + 1))
            serial += 1
            continue
        for following in followers[number][entry]:
            heappush(waiting, (now, serial, number, following, 0))
            serial += 1
    return total / found if found else 0.0


def _followers(trace: Sequence[Leg | Work]) -> dict[int, list[int]]:
    """What begins when a message has arrived: what comes next at the node it came to. Under -1: what begins at once."""
    followers: dict[int, list[int]] = {-1: []}
    arrived: dict[int, int] = {}
    for number, entry in enumerate(trace):
        followers[number] = []
        start = entry.path[0] if isinstance(entry, Leg) else entry.node
        followers[arrived.get(start, -1)].append(number)
        if isinstance(entry, Leg):
            arrived[entry.path[-1]] = number
    return followers
