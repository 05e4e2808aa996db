"""Views: what of a literal can be compared with what, on what real catalogues write."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, URIRef
from rdflib.namespace import XSD

from qel.dates import read_date, write_instant, year_of, year_start
from qel.values import (
    MAX_NUMBER_CHARACTERS,
    Kind,
    date_view,
    decimal_view,
    describe,
    integer_view,
    value_of,
)

BEYOND_64_BITS = "123456789012345678901234567890"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2004", 2004),
        ("-44", -44),
        ("+7", 7),
        ("007", 7),
        ("-0", 0),
        (" 2004\n", 2004),
        (BEYOND_64_BITS, int(BEYOND_64_BITS)),
        ("2004-05", 2004),
        ("2004-05-01", 2004),
        ("2021-11-09T04:26:17Z", 2021),
        ("2021-11-09T04:26:17.123+01:00", 2021),
        ("2021-11-09 04:26", 2021),
        ("2004Z", 2004),
        ("2004+01:00", 2004),
        ("-0044-03-15", -44),
        ("12004-01-01", 12004),
        ("0000", 0),
    ],
)
def test_integer_view(text: str, expected: int) -> None:
    assert integer_view(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "-",
            "+",
            "abc",
            "2004.0",
            "1e3",
            "1860/1880",
            "[199-]",
            "[ca. 1942]",
            "Unknown",
            "1-12-31",
            "12-31",
        ),
        *("2004-13", "2004-02-30", "2004-5-1", "2004-05-01T24:00:00", "2004-05-01T25:00", "2004-05-01T10:61"),
        *(
            "20-04",
            "2004-W05-1",
            "2004-05-01x",
            "٢٠٠٤",
            "２００４",
            "2 004",
            "2,004",
            "--2004",
            "1" * (MAX_NUMBER_CHARACTERS + 1),
        ),
    ],
)
def test_no_integer_view(text: str) -> None:
    assert integer_view(text) is None


def test_invalid_typed_literals_keep_their_string_view() -> None:
    for literal in (Literal("1-12-31", datatype=XSD.gYear), Literal("", datatype=XSD.hexBinary)):
        value = value_of(literal)
        assert value.kind is Kind.LITERAL
        assert value.text == str(literal)
        assert (value.integer, value.decimal, value.date) == (None, None, None)


def test_datatype_and_language_do_not_matter_to_views() -> None:
    for literal in (Literal("1984", lang="xx"), Literal("1984"), Literal("1984", datatype=XSD.gYear, normalize=False)):
        assert value_of(literal).integer == 1984


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.50", Decimal("2.5")),
        ("-.5", Decimal("-0.5")),
        ("5.", Decimal(5)),
        ("1e3", Decimal(1000)),
        ("1E-3", Decimal("0.001")),
        ("2004", Decimal(2004)),
        (" 1.5 ", Decimal("1.5")),
        ("0.1000000000000000055511151231257827", Decimal("0.1000000000000000055511151231257827")),
    ],
)
def test_decimal_view(text: str, expected: Decimal) -> None:
    assert decimal_view(text) == expected


@pytest.mark.parametrize(
    "text", ["", ".", "e3", "1e", "INF", "NaN", "2004-05-01", "1.5.2", "0x10", "1_000", "1e9999999999"]
)
def test_no_decimal_view(text: str) -> None:
    assert decimal_view(text) is None


def test_enormous_exponents_cost_nothing() -> None:
    huge = decimal_view("1e999999999")
    assert huge is not None
    assert huge > Decimal(5)


def test_uris_and_blank_nodes_have_no_views() -> None:
    value = value_of(URIRef("2004"))
    assert (value.kind, value.integer, value.decimal, value.date, value.words) == (Kind.URI, None, None, None, ())


@given(st.dates())
def test_a_day_is_a_span_of_one_day_in_its_month_and_year(day: dt.date) -> None:
    span = date_view(day.isoformat())
    following = day + dt.timedelta(days=1) if day < dt.date.max else None
    assert span is not None
    if following:
        after = date_view(following.isoformat())
        assert after is not None
        assert after.start == span.end
    for coarser in (day.isoformat()[:7], day.isoformat()[:4]):
        around = date_view(coarser)
        assert around is not None
        assert around.start <= span.start < span.end <= around.end
    assert (span.start - year_start(day.year)) // (86_400 * 10**9) == day.timetuple().tm_yday - 1
    assert year_of(span.start) == year_of(span.end - 1) == day.year


@given(st.datetimes(), st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]))
def test_times_are_spans_of_their_precision(moment: dt.datetime, precision: str) -> None:
    span = date_view(moment.isoformat(timespec=precision))
    assert span is not None
    lengths = {"minutes": 60 * 10**9, "seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3}
    assert span.end - span.start == lengths[precision]


@given(st.integers(-(10**9) + 1, 10**9 - 2), st.integers(0, 366 * 86_400 * 10**9))
def test_instants_are_written_so_that_they_read_back(year: int, offset: int) -> None:
    instant = year_start(year) + offset
    text = write_instant(instant)
    found = read_date(text)
    if found is None:
        assert len(text.lstrip("-")) != 4  # a year of more digits is a number when it stands alone
    else:
        assert found[1].start == instant
        assert found[0] == year_of(instant)


def test_language_tags_are_compared_without_case() -> None:
    assert value_of(Literal("a", lang="EN-gb")).language == "en-gb"


def test_repeated_triples_count_once() -> None:
    triple = (URIRef("http://a.org/s"), URIRef("http://a.org/p"), Literal("x"))
    (description,) = describe([triple, triple])
    assert len(description.values["http://a.org/p"]) == 1
