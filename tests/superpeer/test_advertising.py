"""Advertisements as people and programs write them: whatever is written is read again, and nonsense is one sentence."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qel import Advertisement, Range, Uri
from superpeer.advertising import (
    BadAdvertisement,
    load_advertisement,
    read_advertisement,
    read_value,
    write_advertisement,
    write_value,
)

INTEGERS = st.integers(-(10**38) + 1, 10**38 - 1)
VALUES = st.one_of(
    st.text(),
    st.sampled_from(["5", "1..2", "..", "<x>", '"', '"quoted"', "a\nb"]),
    st.builds(Uri, st.from_regex(r"[a-z]{1,5}:[a-z/]{0,9}", fullmatch=True)),
    st.lists(INTEGERS, min_size=2, max_size=2).map(sorted).map(lambda ends: Range(*ends)),
    INTEGERS.map(lambda low: Range(low, None)),
    INTEGERS.map(lambda high: Range(None, high)),
)


@given(st.lists(VALUES, max_size=5))
def test_what_is_written_is_read_again(values: list[Uri | str | Range]) -> None:
    said = Advertisement(["http://e/"], ["http://e/p"], {"http://e/v": values} if values else {})
    data = msgspec.json.encode(write_advertisement(said))
    assert read_advertisement(msgspec.json.decode(data, type=type(write_advertisement(said)))) == said
    for value in values:
        assert read_value(write_value(value)) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("plain text", "plain text"), ("..", ".."), ("1...2", "1...2"), ("<a:b>", Uri("a:b")),
        ("2004", Range(2004, 2004)), ("-5..", Range(-5, None)), ("..7", Range(None, 7)),
        ('"2004"', "2004"), ("9" * 39, "9" * 39), ("٣", "٣"),
        ("12345678901234567890..", Range(12345678901234567890, None)),
    ],
)  # fmt: skip
def test_what_a_person_writes(written: str, value: Uri | str | Range) -> None:
    assert read_value(written) == value


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"schema": []}', '{"values": {"a": "b"}}', "\xff", '{"schemas": [1]}']
)
def test_what_is_no_advertisement(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadAdvertisement, match="is no advertisement in JSON"):
        load_advertisement(path)
    with pytest.raises(BadAdvertisement, match="cannot be read: No such file"):
        load_advertisement(tmp_path / "missing.json")
