"""Ranges of integers, decimals and dates: what comparisons leave of a view, and how ranges relate.

Integers are discrete: `D > 2003` and `D >= 2004` are one range. Decimals are dense and have open and closed ends.
A range of dates bounds the start and the end of the span that a date names.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from qel.syntax import Date, Operator

IntegerRange = tuple[int | None, int | None]
"""Both ends included; None is no end."""
DecimalRange = tuple[Decimal | None, bool, Decimal | None, bool]
"""Each end with whether it is left out."""
DateRange = tuple[int | None, int | None]
"""The span of the date starts no earlier than the first, and ends no later than the second."""

_MAX_ENUMERATED = 1_000


def integer_range(operator: Operator, n: int) -> IntegerRange:
    match operator:
        case Operator.EQUAL:
            return n, n
        case Operator.LESS:
            return None, n - 1
        case Operator.AT_MOST:
            return None, n
        case Operator.MORE:
            return n + 1, None
        case Operator.AT_LEAST:
            return n, None


def decimal_range(operator: Operator, number: Decimal) -> DecimalRange:
    match operator:
        case Operator.EQUAL:
            return number, False, number, False
        case Operator.LESS | Operator.AT_MOST:
            return None, False, number, operator is Operator.LESS
        case Operator.MORE | Operator.AT_LEAST:
            return number, operator is Operator.MORE, None, False


def date_range(operator: Operator, date: Date) -> DateRange:
    start, end = date.span.start, date.span.end
    match operator:
        case Operator.EQUAL:
            return start, end
        case Operator.LESS:
            return None, start
        case Operator.AT_MOST:
            return None, end
        case Operator.MORE:
            return end, None
        case Operator.AT_LEAST:
            return start, None


def in_integers(n: int | None, limits: IntegerRange) -> bool:
    if n is None:
        return False
    low, high = limits
    return (low is None or low <= n) and (high is None or n <= high)


def in_decimals(number: Decimal | None, limits: DecimalRange) -> bool:
    return number is not None and decimals_within((number, False, number, False), limits)


def within(inner: tuple[int | None, int | None], outer: tuple[int | None, int | None]) -> bool:
    low, high = outer
    if low is not None and (inner[0] is None or inner[0] < low):
        return False
    return high is None or (inner[1] is not None and inner[1] <= high)


def decimals_within(inner: DecimalRange, outer: DecimalRange) -> bool:
    low, low_open, high, high_open = outer
    if low is not None and (inner[0] is None or inner[0] < low or (inner[0] == low and low_open and not inner[1])):
        return False
    return high is None or (
        inner[2] is not None and (inner[2] < high or (inner[2] == high and (inner[3] or not high_open)))
    )


def meet_ranges(
    a: tuple[int | None, int | None] | None, b: tuple[int | None, int | None] | None
) -> tuple[int | None, int | None] | None:
    if a is None or b is None:
        return a if b is None else b
    lows = [end for end in (a[0], b[0]) if end is not None]
    highs = [end for end in (a[1], b[1]) if end is not None]
    return max(lows, default=None), min(highs, default=None)


def is_empty(limits: tuple[int | None, int | None] | None, room: int) -> bool:
    """Whether less than `room` lies between the ends."""
    return limits is not None and limits[0] is not None and limits[1] is not None and limits[1] - limits[0] < room


def meet_decimals(a: DecimalRange | None, b: DecimalRange | None) -> DecimalRange | None:
    if a is None or b is None:
        return a if b is None else b
    low, low_open = max(((end, is_open) for end, is_open in (a[:2], b[:2]) if end is not None), default=(None, False))
    highs = ((end, not is_open) for end, is_open in (a[2:], b[2:]) if end is not None)
    high, closed = min(highs, default=(None, True))
    return low, low_open, high, not closed


def no_decimals(limits: DecimalRange | None) -> bool:
    if limits is None or limits[0] is None or limits[2] is None:
        return False
    low, low_open, high, high_open = limits
    assert low is not None
    assert high is not None
    return low > high or (low == high and (low_open or high_open))


def integer_hull(a: IntegerRange, b: IntegerRange) -> IntegerRange | None:
    """Both ranges as one, where they overlap or follow each other and neither contains the other."""
    if within(a, b) or within(b, a):
        return None
    lower, upper = (a, b) if a[0] is None or (b[0] is not None and a[0] < b[0]) else (b, a)
    assert lower[1] is not None
    assert upper[0] is not None
    return (lower[0], upper[1]) if upper[0] <= lower[1] + 1 else None


def decimal_hull(a: DecimalRange, b: DecimalRange) -> DecimalRange | None:
    if decimals_within(a, b) or decimals_within(b, a):
        return None
    a_first = a[0] is None or (b[0] is not None and (a[0], a[1]) < (b[0], b[1]))
    lower, upper = (a, b) if a_first else (b, a)
    assert lower[2] is not None
    assert upper[0] is not None
    if upper[0] < lower[2] or (upper[0] == lower[2] and not (upper[1] and lower[3])):
        return lower[0], lower[1], upper[2], upper[3]
    return None


def all_contain(limits: IntegerRange, part: str) -> bool:
    """Whether every way to write every integer of a range contains a string. Signs, zeros before the number and
    the rest of a date may be written or not, so that only the digits count, and the minus of what is negative."""
    low, high = limits
    if not part:
        return True
    if high is not None and high < 0 and part == "-":
        return True
    if low is None or high is None or high - low >= _MAX_ENUMERATED or not part.isdigit() or len(part) > 5_000:
        return False
    return all(part in str(abs(n)) for n in range(low, high + 1))


def fewest_characters(limits: IntegerRange) -> int:
    """How many characters every way to write every integer of a range has at least."""
    low, high = limits
    if low is not None and low > 0:
        return _digits(low)
    if high is not None and high < 0:
        return 1 + _digits(-high)
    return 1


def _digits(n: int) -> int:
    """How many digits a positive integer has, or a few less where it is enormous."""
    return len(str(n)) if n < 10**30 else int((n.bit_length() - 1) * 0.30102)


def decimals_to_data(limits: DecimalRange) -> list[Any]:
    low, low_open, high, high_open = limits
    return [_canonical(low), low_open, _canonical(high), high_open]


def _canonical(number: Decimal | None) -> str | None:
    """One text for one number: its digits without zeros at the end, and the exponent."""
    if number is None:
        return None
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    return f"{'-' if sign else ''}{stripped}e{exponent + len(text) - len(stripped)}" if stripped else "0"
