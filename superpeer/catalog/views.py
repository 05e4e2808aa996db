"""The views of values, in columns: the same answers as `qel.values`, without a Python object for a value.

Every value is of one *form*, which says which views it has:

    uri       a URI                                        no view
    blank     a blank node                                 no view
    year      an ISO year: four digits                     string, integer, decimal (unless negative or zoned), date
    date      an ISO date with a month at least            string, integer (its year), date
    integer   any other integer                            string, integer, decimal
    decimal   any other number                             string, decimal
    string    anything else                                string

A typed literal is *invalid* when its datatype promises a view that its text does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qel.names import XSD
from qel.values import MAX_NUMBER_CHARACTERS
from superpeer.catalog.columns import BLANK, URI
from superpeer.catalog.hashing import buffers_of

YEAR, DATE, INTEGER, DECIMAL, STRING = "year", "date", "integer", "decimal", "string"
FORMS = (URI, BLANK, YEAR, DATE, INTEGER, DECIMAL, STRING)

_ZONE = r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?"
_DAY = r"(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9])"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?"
YEAR_TEXT = rf"\A-?[0-9]{{4}}{_ZONE}\z"
DATE_TEXT = rf"\A[+-]?[0-9]{{4,9}}-(?:(?:0[1-9]|1[0-2])|(?:{_DAY})(?:[Tt ]{_TIME})?){_ZONE}\z"
INTEGER_TEXT = r"\A[+-]?[0-9]+\z"
NUMBER_TEXT = r"\A[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?\z"
_LEAP_DAY = r"\A[+-]?[0-9]{4,9}-02-29"
_WRITTEN = r"\A\+?(?P<number>-?[0-9]+)"
_SPACE = " \t\r\n"
_STARTS = np.isin(np.arange(256), list(f"{_SPACE}+-.0123456789".encode()))
"""The bytes with which a number or a date can start."""

MOST_DIGITS_AT_ONCE = 18
"""What fits into 64 bits; longer integers are read one by one."""
BEYOND = 10**38
"""Integers from here on are counted, but their size is not kept."""

INTEGER_TYPES = tuple(
    XSD + name
    for name in (
        *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "negativeInteger"),
        *("nonPositiveInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    )
)
NUMBER_TYPES = tuple(XSD + name for name in ("decimal", "double", "float"))
DATE_TYPES = tuple(XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth", "dateTimeStamp"))

PROMISES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(INTEGER_TYPES, (INTEGER, YEAR)),
    **dict.fromkeys(NUMBER_TYPES, (INTEGER, YEAR, DECIMAL)),
    **dict.fromkeys(DATE_TYPES, (YEAR, DATE)),
}
"""The forms that a literal of a datatype may have."""


@dataclass(frozen=True)
class Integers:
    """Integer views: of the literals at `short` as numbers of 64 bits, of those at `long` as Python's."""

    short: Any
    numbers: Any
    long: list[int]
    long_numbers: list[int]


def forms_of(texts: pa.Array) -> tuple[Any, Integers]:
    """The forms of literals, as places in `FORMS`, and their integer views."""
    forms = np.full(len(texts), FORMS.index(STRING), np.int8)
    offsets, data = buffers_of(texts)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    places = filled[_STARTS[data[offsets[:-1][filled]]]]
    trimmed = pc.utf8_trim(texts.take(pa.array(places)), _SPACE)
    forms[places] = _forms_of_trimmed(trimmed)
    whole = np.isin(forms[places], [FORMS.index(form) for form in (YEAR, DATE, INTEGER)])
    return forms, _integers(trimmed.filter(pa.array(whole)), places[whole])


def _forms_of_trimmed(texts: pa.Array) -> Any:
    short = np.asarray(pc.less_equal(pc.utf8_length(texts), MAX_NUMBER_CHARACTERS))
    found = np.full(len(texts), FORMS.index(STRING), np.int8)
    # From the widest form to the narrowest, so that the last word is the right one.
    found[short & _matches(texts, NUMBER_TEXT)] = FORMS.index(DECIMAL)
    found[short & _matches(texts, INTEGER_TEXT)] = FORMS.index(INTEGER)
    found[_matches(texts, DATE_TEXT) & _day_exists(texts)] = FORMS.index(DATE)
    found[_matches(texts, YEAR_TEXT)] = FORMS.index(YEAR)
    return found


def _day_exists(texts: pa.Array) -> Any:
    """Whether the year has a 29th of February, where this is the day."""
    exists = ~_matches(texts, _LEAP_DAY)
    for i in np.flatnonzero(~exists).tolist():
        year = int(texts[i].as_py().lstrip("+-").partition("-")[0])
        exists[i] = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return exists


def _integers(texts: pa.Array, places: Any) -> Integers:
    written = pc.struct_field(pc.extract_regex(texts, _WRITTEN), "number")
    fits = np.asarray(pc.less_equal(pc.binary_length(written), MOST_DIGITS_AT_ONCE))
    numbers = np.asarray(written.filter(pa.array(fits)).cast(pa.int64()))
    rest = written.filter(pa.array(~fits)).to_pylist()
    return Integers(places[fits], numbers, places[~fits].tolist(), [int(text) for text in rest])


def _matches(texts: pa.Array, expression: str) -> Any:
    return pc.match_substring_regex(texts, expression).to_numpy(zero_copy_only=False)
