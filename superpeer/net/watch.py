"""Watching over time: when to send a heartbeat, and what takes too long. No clock in here.

A watch is told of every tick and counts ticks, not seconds: a process that was held up for a minute gets one tick for
it and does not take that minute for the other end's silence.
"""

from __future__ import annotations

from math import ceil

from superpeer.net.errors import Reason
from superpeer.net.limits import Limits

TICKS_IN_PATIENCE = 4


class Watch:
    """Of one connection. Ticks are `tick_s` apart, so that the more impatient end hears from the other in time."""

    __slots__ = ("_frame", "_limits", "_silent", "_stalled", "has_sent", "tick_s")

    def __init__(self, limits: Limits, other_patience_s: float) -> None:
        self.tick_s = min(limits.patience_s, other_patience_s) / TICKS_IN_PATIENCE
        self._limits = (
            (ceil(limits.patience_s / self.tick_s), Reason.SILENT),
            (ceil(limits.frame_s / self.tick_s), Reason.FRAME_SLOW),
            (ceil(limits.stall_s / self.tick_s), Reason.SLOW_CONSUMER),
        )
        self._silent = self._frame = self._stalled = 0
        self.has_sent = False
        """Whether anything was sent since the last tick; otherwise a heartbeat is due."""

    def heard(self) -> None:
        """Bytes came."""
        self._silent = 0

    def frame_ended(self) -> None:
        self._frame = 0

    def resumed(self) -> None:
        """We read again, after a time in which nothing could be heard because of ourselves."""
        self._silent = self._frame = 0

    def tick(self, *, is_reading: bool, is_within_frame: bool, is_writable: bool) -> Reason | None:
        """Why to give the connection up, if there is a reason now."""
        self.has_sent = False
        self._stalled = 0 if is_writable else self._stalled + 1
        if is_reading:
            self._silent += 1
            self._frame = self._frame + 1 if is_within_frame else 0
        for ticks, (limit, reason) in zip((self._silent, self._frame, self._stalled), self._limits, strict=True):
            if ticks > limit:
                return reason
        return None
