"""How long things take: every time and limit of the membership protocol, and what is assumed of the world.

*Assumptions.* While a link works, a message takes at most `max_delay_s`. Clocks are used only to measure
how long ago something was; their rates differ from true time by a share of at most `clock_drift`. Messages
may be lost, repeated and overtake each other. Members crash and lose their memory, and come back with a
higher incarnation. Members do not lie: keys that are not admitted are refused, but an admitted member that
pronounces verdicts at random disturbs the others (each verdict costs it a signature and the accused one
broadcast; it cannot speak for anybody else).

*What follows.* A neighbour is suspected after `suspect_after_s` without a sign of life, so up to
`tolerated_losses` heartbeats in a row may be lost. A suspect is called directly and through other
neighbours, and pronounced dead only if nobody hears of it for `verdict_after_s` more. So a silence shorter
than `grace_s` is never a death: who restarts within it is met as a new incarnation of itself. A silence of
`death_after_s` always is one, given a living neighbour. Who is called dead by mistake learns it from the
first member it talks to, and refutes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from hypercup.errors import InvalidTiming


@dataclass(frozen=True)
class Timing:
    heartbeat_s: float = 1.0
    """Between two heartbeats on a link; also between two tries to join or to say farewell."""
    suspect_after_s: float = 4.0
    """A silence of this length makes a neighbour suspect."""
    verdict_after_s: float = 2.0
    """From asking others about a suspect to the verdict."""
    stagger_s: float = 0.5
    """Between the suspicions of two neighbours of the same member, so that one verdict usually serves all."""
    staggered: int = 6
    """How many neighbours wait for each other like this; the rest goes with the last of them."""
    asked: int = 3
    """How many others are asked about a suspect."""
    settle_s: float = 1.5
    """When a view has lasted for so long, a member claims the place that it has in it."""
    refute_s: float = 2.0
    """A verdict heard at second hand is put to the accused, and believed after this time."""
    reconnect_s: float = 5.0
    """Between two tries to reach somebody who is dead, or a first contact that is not in the view."""
    tombstone_s: float = 86_400.0
    """How long those who left or died are remembered."""
    max_delay_s: float = 0.25
    clock_drift: float = 0.05
    max_members: int = 16_384
    """A member that knows so many living ones lets nobody else join through it."""
    max_tombstones: int = 16_384
    entries_per_message: int = 256

    def __post_init__(self) -> None:
        if min(self.heartbeat_s, self.verdict_after_s, self.settle_s, self.refute_s, self.reconnect_s) <= 0:
            raise InvalidTiming("all periods are longer than 0 seconds")
        if not 0 <= self.clock_drift < 0.5 or self.max_delay_s < 0 or self.stagger_s < 0:
            raise InvalidTiming("clocks drift by a share of 0 to 0.5, and no delay is negative")
        if self.tolerated_losses < 1:
            raise InvalidTiming("a neighbour would be suspected when one heartbeat is lost: suspect later")
        if self.verdict_after_s < self.asking_s * (1 + self.clock_drift):
            raise InvalidTiming("a verdict would be pronounced before those who were asked can answer")
        if min(self.asked, self.staggered, self.entries_per_message, self.max_members) < 1:
            raise InvalidTiming("all limits are at least 1")

    @property
    def asking_s(self) -> float:
        """The longest way of a question through another member and back, in true time."""
        return 4 * self.max_delay_s

    @property
    def tolerated_losses(self) -> int:
        """How many heartbeats in a row may be lost without a suspicion, at the worst drift and delay."""
        patience = self.suspect_after_s / (1 + self.clock_drift) - self.max_delay_s
        return ceil(patience * (1 - self.clock_drift) / self.heartbeat_s) - 2

    @property
    def grace_s(self) -> float:
        """A member that is back, and known to be back, within this true time is not called dead."""
        silence = (self.suspect_after_s + self.verdict_after_s) / (1 + self.clock_drift)
        return silence - self.heartbeat_s / (1 - self.clock_drift) - self.max_delay_s

    @property
    def death_after_s(self) -> float:
        """The longest true time from a crash to the verdict of a neighbour that lives and stays."""
        waiting = self.heartbeat_s + self.staggered * self.stagger_s + self.verdict_after_s
        return self.max_delay_s + (self.suspect_after_s + waiting) / (1 - self.clock_drift)

    def convergence_s(self, members: int) -> float:
        """A true time in which all are in one view once no member or link fails any more.

        Some may still have to be found dead, with neighbours that turn out dead themselves; those that a
        partition kept apart call each other at the slow rate, one address at a time; what was heard then
        spreads hop by hop with heartbeats, is refuted, and spreads again.
        """
        hops = max(1, members - 1).bit_length()
        searching = self.reconnect_s * (2 + members / 4)
        spreading = 2 * hops * (3 * self.heartbeat_s + 4 * self.max_delay_s) + 2 * self.refute_s
        return (2 * self.death_after_s + searching + spreading + 2 * self.settle_s) / (1 - self.clock_drift)
