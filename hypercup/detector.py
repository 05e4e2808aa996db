"""Who is silent: the failure detector of one member.

It watches the neighbours of the present view. Any sign of life counts, also one that another member vouches
for. A silence makes a suspect; a suspect is asked about, through others, before it is pronounced dead. All
neighbours of a dead member notice its silence at about the same time. They suspect it one after the other,
in the order of their keys, so that the first verdict usually reaches the others before they speak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf

from hypercup.timing import Timing


@dataclass(slots=True)
class Watch:
    """One neighbour: since when it is silent, and when the next step against it is due."""

    incarnation: int
    heard: float
    ask_at: float = inf
    condemn_at: float = inf

    def clear(self, now: float) -> None:
        self.heard = now
        self.ask_at = self.condemn_at = inf


class Detector:
    """Suspicions about neighbours. It says whom to ask about and whom to condemn; others do it."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._watches: dict[bytes, Watch] = {}
        self._steps_due = inf

    def __contains__(self, member: bytes) -> bool:
        return member in self._watches

    @property
    def neighbours(self) -> Iterable[bytes]:
        return self._watches.keys()

    @property
    def wakeup(self) -> float:
        """When the next step against a suspect is due."""
        return self._steps_due

    def follow(self, neighbours: Mapping[bytes, int], now: float) -> None:
        """Watch the neighbours of a new view. A newcomer, or a new incarnation, starts with a clean slate."""
        watches = {}
        for key, incarnation in neighbours.items():
            known = self._watches.get(key)
            keep = known is not None and known.incarnation == incarnation
            watches[key] = known if keep and known is not None else Watch(incarnation, now)
        self._watches = watches
        self._schedule()

    def heard(self, member: bytes, now: float) -> None:
        """A sign of life."""
        watch = self._watches.get(member)
        if watch is not None:
            was_suspect = watch.ask_at < inf or watch.condemn_at < inf
            watch.clear(now)
            if was_suspect:
                self._schedule()

    def forgive_all(self, now: float) -> None:
        """Start every silence anew: who was asleep itself has not listened."""
        for watch in self._watches.values():
            watch.clear(now)
        self._schedule()

    def suspect_the_silent(self, now: float, rank: Callable[[bytes], int]) -> None:
        """Open a suspicion against each neighbour that was silent for too long."""
        for member, watch in self._watches.items():
            unsuspected = watch.ask_at == watch.condemn_at == inf
            if unsuspected and now - watch.heard >= self._timing.suspect_after_s:
                turn = min(rank(member), self._timing.staggered)
                watch.ask_at = now + turn * self._timing.stagger_s
                self._steps_due = min(self._steps_due, watch.ask_at)

    def due(self, now: float) -> tuple[list[bytes], list[bytes]]:
        """Those to ask about now, and those whose time is up."""
        if now < self._steps_due:
            return [], []
        ask, condemn = [], []
        for member, watch in self._watches.items():
            if watch.condemn_at <= now:
                condemn.append(member)
                watch.condemn_at = inf
            if watch.ask_at <= now:
                ask.append(member)
                watch.ask_at, watch.condemn_at = inf, now + self._timing.verdict_after_s
        self._schedule()
        return ask, condemn

    def _schedule(self) -> None:
        self._steps_due = min((min(watch.ask_at, watch.condemn_at) for watch in self._watches.values()), default=inf)
