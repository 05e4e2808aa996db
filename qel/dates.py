"""Dates at their precision: the date view of a literal, and date constants.

A date is the span of time that its text names: `2004` a year, `2004-05` a month, `2004-05-01` a day,
`2004-05-01T12:30` a minute, and so on down to nanoseconds. A span is a pair of instants, start included
and end excluded, counted in nanoseconds from the start of the year 0 of the proleptic Gregorian calendar.

Comparisons ask where the whole span of the value lies:

    D >= c   the span of D starts no earlier than that of c     D > c   it starts after c has ended
    D <= c   the span of D ends no later than that of c         D < c   it ends before c starts
    D =  c   the span of D lies within that of c (so that D = 2004-05 means "in May 2004")

Spans are those of the calendar as written on the record; a time zone behind it is accepted and not counted.
So the year of a date is always the year that one reads, and a constraint on a date implies one on its year.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SECOND = 1_000_000_000
DAY = 86_400 * SECOND

MAX_YEAR_DIGITS = 9

_WRITTEN = re.compile(
    r"""(?P<sign>[+-]?)(?P<year>\d{4,9})
        (?:-(?P<month>\d\d)
          (?:-(?P<day>\d\d)
            (?:[Tt\x20](?P<hour>\d\d):(?P<minute>\d\d)
              (?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?
            )?
          )?
        )?
        (?P<zone>[Zz]|[+-]\d\d:\d\d)?""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From `start` (included) to `end` (excluded), both in nanoseconds."""

    start: int
    end: int


def read_date(text: str) -> tuple[int, Span] | None:
    """The year as written and the span of an ISO 8601 date or dateTime (the forms that XML Schema has)."""
    if len(text) < 4 or not (text[-1].isdigit() or text[-1] in "Zz"):
        return None
    written = _WRITTEN.fullmatch(text)
    if written is None:
        return None
    year_digits = written["year"]
    if written["month"] is None and (len(year_digits) != 4 or written["sign"] == "+"):
        return None  # a longer run of digits is a number, not a year
    year = -int(year_digits) if written["sign"] == "-" else int(year_digits)
    span = _span(year, written)
    return None if span is None else (year, span)


def year_start(year: int) -> int:
    return _days(year, 1) * DAY


def year_of(instant: int) -> int:
    """The year that contains an instant."""
    year = instant * 400 // (146_097 * DAY)  # 400 years have 146,097 days; the guess is off by one at most
    while year_start(year + 1) <= instant:
        year += 1
    while year_start(year) > instant:
        year -= 1
    return year


def write_instant(instant: int) -> str:
    """The shortest ISO text whose span starts at this instant."""
    year = year_of(instant)
    rest = instant - year_start(year)
    month = 1
    while month < 12 and rest >= _month_days(year, month) * DAY:
        rest -= _month_days(year, month) * DAY
        month += 1
    day, rest = divmod(rest, DAY)
    text = f"{'-' if year < 0 else ''}{abs(year):04d}"
    if month == 1 and day == 0 and rest == 0:
        return text
    text += f"-{month:02d}"
    if day == 0 and rest == 0:
        return text
    text += f"-{day + 1:02d}"
    if rest == 0:
        return text
    seconds, nanoseconds = divmod(rest, SECOND)
    text += f"T{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 == 0 and nanoseconds == 0:
        return text
    text += f":{seconds % 60:02d}"
    return text + (f".{nanoseconds:09d}".rstrip("0") if nanoseconds else "")


def _span(year: int, written: re.Match[str]) -> Span | None:
    if written["month"] is None:
        return Span(year_start(year), year_start(year + 1))
    month = int(written["month"])
    if not 1 <= month <= 12:
        return None
    first = _days(year, month) * DAY
    if written["day"] is None:
        return Span(first, first + _month_days(year, month) * DAY)
    day = int(written["day"])
    if not 1 <= day <= _month_days(year, month):
        return None
    start = first + (day - 1) * DAY
    if written["hour"] is None:
        return Span(start, start + DAY)
    hour, minute = int(written["hour"]), int(written["minute"])
    if hour > 23 or minute > 59:
        return None
    start += (hour * 60 + minute) * 60 * SECOND
    if written["second"] is None:
        return Span(start, start + 60 * SECOND)
    second = int(written["second"])
    if second > 59:
        return None
    start += second * SECOND
    fraction = (written["fraction"] or "")[:9]
    if not fraction:
        return Span(start, start + SECOND)
    unit = 10 ** (9 - len(fraction))
    return Span(start + int(fraction) * unit, start + (int(fraction) + 1) * unit)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_days(year: int, month: int) -> int:
    if month == 2:
        return 29 if _is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days(year: int, month: int) -> int:
    """Days from the start of the year 0 to the first of the month."""
    before = year - 1
    days = 365 * year + before // 4 - before // 100 + before // 400 + 1
    return days + sum(_month_days(year, earlier) for earlier in range(1, month))
