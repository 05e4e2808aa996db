"""Limits on everything that others can make a super-peer keep or do.

What is beyond a limit is refused with `LimitReached` while somebody can be told. Queues and logs lose their oldest
entries instead, and the peers that miss them are told how many.
"""

from __future__ import annotations

from dataclasses import dataclass

from superpeer.node.errors import LimitReached

DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator of a super-peer allows; for each peer where it says so."""

    peers: int = 100_000
    new_peers_per_minute: int = 600
    absence_s: float = 366 * DAY_S
    subscriptions_per_peer: int = 10_000
    marks_per_peer: int = 100_000
    name_characters: int = 200
    query_characters: int = 20_000
    subscription_lifetime_s: float = 366 * DAY_S
    elements_per_peer: int = 100_000
    body_bytes: int = 256 * 1024
    publications_per_second: float = 2_000.0
    publications_at_once: int = 20_000
    requests_per_second: float = 500.0
    requests_at_once: int = 20_000
    unacknowledged_publications: int = 100_000
    log_entries: int = 1_000_000
    log_bytes: int = 2 * 1024**3
    log_s: float = 30 * DAY_S
    queue_entries: int = 100_000
    queue_bytes: int = 256 * 1024**2
    queue_s: float = 30 * DAY_S
    open_queries_per_peer: int = 16
    query_answers: int = 10_000
    query_s: float = 60.0
    file_bytes: int = 8 * 1024**2
    files_per_peer: int = 100
    meetings_per_peer: int = 1_000
    meeting_s: float = 30 * DAY_S
    handshakes: int = 1_000


class Allowance:
    """A bucket that fills at a steady rate: so much at once, so much a second."""

    __slots__ = ("_at", "_left", "_most", "_rate", "_what")

    def __init__(self, what: str, rate: float, most: float, now: float) -> None:
        self._what = what
        self._rate = rate
        self._most = most
        self._left = most
        self._at = now

    def take(self, now: float, count: int = 1) -> None:
        """Counts one more, or several; `LimitReached` if that comes too soon."""
        self._left = min(self._most, self._left + max(0.0, now - self._at) * self._rate)
        self._at = now
        if self._left < count:
            raise LimitReached(f"{self._what} a second", self._rate, "slow down and try again")
        self._left -= count
