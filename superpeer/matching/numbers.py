"""Numbers and dates as 64-bit integers, so that ranges are held and compared in flat arrays, exactly.

A value of a view becomes a pair (least, most), and a range (low, high) admits it iff `low <= least and most <= high`:

    integer   n as (n, n); what lies beyond the limit is moved to it
    decimal   in millionths, doubled, odd between two of them: with x between C and C + 1 millionths it is 2C + 1. So
              x >= c is "at least 2C", x > c "at least 2C + 1", and an end that is left out costs nothing
    date      whole seconds: the start rounded down, the end rounded up

Rounding values is exact as long as the ends of ranges are whole millionths and seconds within the limit. A range with
other ends has no flat form; whoever asks is told so with None, and keeps the region itself.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from qel.dates import SECOND, Span
from qel.ranges import DateRange, DecimalRange, IntegerRange

LIMIT = 2**61
"""Ends of flat ranges lie strictly within plus and minus this; values beyond it are moved to it."""
NO_LOW = -(2**63) + 1
NO_HIGH = 2**63 - 1

_DIGITS_OF_MILLIONTH = 6
_LIMIT_DIGITS = 11
"""Decimals of more digits than this before the point are moved to the limit, without writing out 1e999999999."""


class Flat(NamedTuple):
    """The two ends of a range, or what a value says of both."""

    low: int
    high: int


def flat_integer(n: int) -> Flat:
    n = max(-LIMIT, min(LIMIT, n))
    return Flat(n, n)


def flat_decimal(number: Decimal) -> Flat:
    n = _halves(number)
    return Flat(n, n)


def flat_date(span: Span) -> Flat:
    return Flat(span.start // SECOND, -(-span.end // SECOND))


def flat_integers(limits: IntegerRange) -> Flat | None:
    low, high = limits
    if low is None:
        low = NO_LOW
    elif not -LIMIT < low < LIMIT:
        return None
    if high is None:
        high = NO_HIGH
    elif not -LIMIT < high < LIMIT:
        return None
    return Flat(low, high)


def flat_decimals(limits: DecimalRange) -> Flat | None:
    low, low_open, high, high_open = limits
    ends = [end for end in (low, high) if end is not None]
    if not all(_is_whole(end) for end in ends):
        return None
    return Flat(
        NO_LOW if low is None else _halves(low) + low_open,
        NO_HIGH if high is None else _halves(high) - high_open,
    )


def flat_dates(limits: DateRange) -> Flat | None:
    low, high = limits
    if not all(end is None or end % SECOND == 0 for end in limits):
        return None
    return Flat(NO_LOW if low is None else low // SECOND, NO_HIGH if high is None else high // SECOND)


def flat_instants(limits: DateRange) -> Flat:
    """A range of dates as one value: from the second in which it starts to the one in which it ends."""
    low, high = limits
    return Flat(NO_LOW if low is None else low // SECOND, NO_HIGH if high is None else -(-high // SECOND))


def _is_whole(number: Decimal) -> bool:
    """Whether a number is a whole count of millionths, and within the limit."""
    return number == 0 or (number.adjusted() < _LIMIT_DIGITS and _halves(number) % 2 == 0)


def _halves(number: Decimal) -> int:
    if number == 0:
        return 0
    if number.adjusted() >= _LIMIT_DIGITS:
        return LIMIT if number > 0 else -LIMIT
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + _DIGITS_OF_MILLIONTH
    if shift >= 0:
        doubled = 2 * int("".join(map(str, digits))) * 10**shift
    elif -shift > len(digits):
        doubled = 1
    else:
        whole, rest = divmod(int("".join(map(str, digits))), 10**-shift)
        doubled = 2 * whole + (rest != 0)
    return -int(doubled) if sign else int(doubled)
