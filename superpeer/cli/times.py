"""Times and durations as people type them: `2004-05-10`, `2004-05-10T09:00`, `36h` ago; `30d`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from superpeer.errors import SuperpeerError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
LONGEST_S = 100 * 366 * 24 * 3600


class BadTime(SuperpeerError):
    """Not a time, or not a duration."""


def read_duration(text: str) -> float:
    """Seconds: a number with s, m, h, d or w."""
    found = re.fullmatch(r"(\d{1,10}(?:\.\d{1,3})?)([smhdw])", text.strip())
    if found is None:
        raise BadTime(f"{text!r} is no duration; write a number with s, m, h, d or w, as in 36h or 30d")
    seconds = float(found[1]) * SECONDS[found[2]]
    if not 0 < seconds <= LONGEST_S:
        raise BadTime(f"{text!r} is not between a moment and a hundred years; choose another duration")
    return seconds


def read_moment(text: str, now: float) -> float:
    """Seconds since the epoch: a date, a date with a time, or a duration before now. UTC unless it says otherwise."""
    if text.strip()[-1:] in SECONDS:
        return now - read_duration(text)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadTime(
            f"{text!r} is no time; write a date as 2004-05-10 or 2004-05-10T09:00, or 36h for so long ago"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
