"""The views of values as Spark expressions: the same answers as `qel.values`, without leaving the JVM.

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

from typing import TYPE_CHECKING

from qel.names import XSD
from qel.values import MAX_NUMBER_CHARACTERS
from superpeer.catalog.columns import BLANK, URI

if TYPE_CHECKING:
    from pyspark.sql import Column

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


def trimmed() -> Column:
    """The text of an object without the white space that does not count; null where no number or date can start."""
    from pyspark.sql import functions as f

    first = f.substring("object", 1, 1)
    starts = f.lit(" \t\r\n+-.0123456789").contains(first) & (f.length("object") > 0)
    return f.when((f.col("kind") == "literal") & starts, f.trim(f.col("object"), f.lit(" \t\r\n")))


def form() -> Column:
    """The form of the value in the columns `object`, `kind` and `trimmed`."""
    from pyspark.sql import functions as f

    text = f.col("trimmed")
    short = f.length(text) <= MAX_NUMBER_CHARACTERS
    year = f.regexp_extract(text, r"\A[+-]?([0-9]{4,9})", 1).cast("long")
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return (
        f.when(f.col("kind") != "literal", f.col("kind"))
        .when(text.isNull(), f.lit(STRING))
        .when(text.rlike(YEAR_TEXT), f.lit(YEAR))
        .when(text.rlike(DATE_TEXT) & (~text.rlike(_LEAP_DAY) | leap), f.lit(DATE))
        .when(short & text.rlike(INTEGER_TEXT), f.lit(INTEGER))
        .when(short & text.rlike(NUMBER_TEXT), f.lit(DECIMAL))
        .otherwise(f.lit(STRING))
    )


def integer() -> Column:
    """The integer view, from the columns `form` and `trimmed`: null where there is none, and where it has more than 38
    digits."""
    from pyspark.sql import functions as f

    written = f.regexp_extract("trimmed", r"\A[+-]?[0-9]+", 0)
    return f.when(f.col("form").isin(YEAR, DATE, INTEGER), written.try_cast("decimal(38,0)"))


def invalid() -> Column:
    """Whether the datatype promises what the text does not keep."""
    from pyspark.sql import functions as f

    found = f.lit(False)
    for types, forms in (
        (INTEGER_TYPES, (INTEGER, YEAR)),
        (NUMBER_TYPES, (INTEGER, YEAR, DECIMAL)),
        (DATE_TYPES, (YEAR, DATE)),
    ):
        found = found | (f.col("datatype").isin(*types) & ~f.col("form").isin(*forms))
    return (f.col("datatype") != "") & found
