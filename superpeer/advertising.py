"""Advertisements as people and programs write them: as JSON, and value by value.

    {"schemas": [IRI], "properties": [IRI], "values": {IRI: ["<uri>", "low..high", "number", "\"text\""]}}

Either end of a range may be open. Where a person writes a value, a text that looks like none of the others needs no
quotes.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from qel import Advertisement, Range, Uri
from qel.advertisements import AdvertisedValue
from superpeer.errors import SuperpeerError

_URI = re.compile(r"<(.*)>")
_TEXT = re.compile(r'"(.*)"', re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,38}")
_RANGE = re.compile(r"(?!\.\.$)(-?[0-9]{1,38})?\.\.(-?[0-9]{1,38})?")


class BadAdvertisement(SuperpeerError):
    """A file that should hold an advertisement does not."""


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An advertisement as it is written in JSON."""

    schemas: list[str] = []
    properties: list[str] = []
    values: dict[str, list[str]] = {}


def write_advertisement(advertisement: Advertisement) -> Written:
    return Written(
        sorted(advertisement.schemas),
        sorted(advertisement.properties),
        {name: sorted(map(write_value, some)) for name, some in sorted(advertisement.values.items())},
    )


def read_advertisement(written: Written) -> Advertisement:
    values = {name: [read_value(one) for one in some] for name, some in written.values.items()}
    return Advertisement(written.schemas, written.properties, values)


def load_advertisement(path: Path) -> Advertisement:
    """The advertisement that a file holds."""
    try:
        return read_advertisement(msgspec.json.decode(path.read_bytes(), type=Written))
    except OSError as error:
        raise BadAdvertisement(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadAdvertisement(f"{path} is no advertisement in JSON: {error}") from None


def write_value(value: AdvertisedValue) -> str:
    match value:
        case Uri(uri):
            return f"<{uri}>"
        case Range(low, high):
            if low == high:
                return str(low)
            return f"{'' if low is None else low}..{'' if high is None else high}"
    return f'"{value}"'


def read_value(written: str) -> AdvertisedValue:
    if uri := _URI.fullmatch(written):
        return Uri(uri[1])
    if text := _TEXT.fullmatch(written):
        return text[1]
    if _NUMBER.fullmatch(written):
        return Range(int(written), int(written))
    if ends := _RANGE.fullmatch(written):
        low, high = (int(end) if end else None for end in ends.groups())
        return Range(low, high)
    return written
