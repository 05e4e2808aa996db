"""Which heartbeats show that two members know different things, and not only that news is on its way.

While news spreads, the digests of neighbours differ for a moment. Comparing tables then would cost more than
the news itself. A difference counts when the same two digests are seen again, one heartbeat later; or when
there has been a difference with every heartbeat for a while, as when changes never cease.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple


class Difference(NamedTuple):
    theirs: bytes
    mine: bytes
    repeated: int
    lasted: int


# Both ends of a link see a difference. The smaller key acts at once, the other if that led to nothing.
REPEATED, LASTED, SECOND_TURN = 1, 6, 2


class Differences:
    """The differences of one member from its neighbours."""

    def __init__(self) -> None:
        self._open: dict[bytes, Difference] = {}

    def persists(self, neighbour: bytes, theirs: bytes, mine: bytes, is_first: bool) -> bool:
        """Take note of a heartbeat; whether it is time to compare tables with the neighbour."""
        last = self._open.pop(neighbour, None)
        if theirs == mine:
            return False
        repeated = lasted = 0
        if last is not None:
            repeated = last.repeated + 1 if (last.theirs, last.mine) == (theirs, mine) else 0
            lasted = last.lasted + 1
        patience = 0 if is_first else SECOND_TURN
        if repeated >= REPEATED + patience or lasted >= LASTED + patience:
            return True
        self._open[neighbour] = Difference(theirs, mine, repeated, lasted)
        return False

    def keep(self, members: Container[bytes]) -> None:
        """Forget those who are not in the view any more."""
        self._open = {key: difference for key, difference in self._open.items() if key in members}
