"""What is counted of the values of a property where they stand, without an exchange: forms, ranges, languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from superpeer.catalog import views
from superpeer.catalog.columns import BLANK, LITERAL, URI

if TYPE_CHECKING:
    from superpeer.catalog.scanning import Batch, Tag

Name = TypeVar("Name", int, str)


@dataclass
class Counts:
    """What is counted of one property."""

    values: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    invalid: int = 0
    lowest: int | None = None
    highest: int | None = None
    beyond: int = 0
    longest: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    datatypes: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.values + other.values,
            self.forms + other.forms,
            self.invalid + other.invalid,
            _either(min, self.lowest, other.lowest),
            _either(max, self.highest, other.highest),
            self.beyond + other.beyond,
            max(self.longest, other.longest),
            self.languages + other.languages,
            self.datatypes + other.datatypes,
        )

    def without(self, repeated: Counts) -> Counts:
        """Less what was counted again. What is repeated is still there once, so that no range changes."""
        return Counts(
            self.values - repeated.values,
            self.forms - repeated.forms,
            self.invalid - repeated.invalid,
            self.lowest,
            self.highest,
            self.beyond - repeated.beyond,
            self.longest,
            self.languages - repeated.languages,
            self.datatypes - repeated.datatypes,
        )


def merged(one: Mapping[Name, Counts], other: Mapping[Name, Counts]) -> dict[Name, Counts]:
    together = dict(one)
    for name, counts in other.items():
        together[name] = together[name] + counts if name in together else counts
    return together


def count_values(batch: Batch, firsts: Any, often: Any) -> dict[int, Counts]:
    """Counts of one batch by the numbers of properties, from the values that it has, each once, and how often."""
    found: dict[int, Counts] = {}
    properties, tag_of = batch.properties[firsts].astype(np.int64), batch.tag_of[firsts]
    texts = batch.columns.column("object").take(pa.array(firsts))
    literal = np.array([tag.kind == LITERAL for tag in batch.tags], bool)[tag_of]
    forms = np.array([views.FORMS.index(tag.kind) if tag.kind in (URI, BLANK) else -1 for tag in batch.tags])[tag_of]
    places = np.flatnonzero(literal)
    forms[places], integers = views.forms_of(texts.take(pa.array(places)))
    grouped = (properties * len(batch.tags) + tag_of) * len(views.FORMS) + forms
    cells, inverse = np.unique(grouped, return_inverse=True)
    totals = np.bincount(inverse, often).astype(np.int64)
    for cell, total in zip(cells.tolist(), totals.tolist(), strict=True):
        rest, form = divmod(cell, len(views.FORMS))
        name, tag = divmod(rest, len(batch.tags))
        _add_cell(found.setdefault(name, Counts()), batch.tags[tag], views.FORMS[form], total)
    lengths = np.asarray(pc.utf8_length(texts))
    for name, longest in _by_property(properties, lengths, np.maximum):
        found[name].longest = longest
    short = properties[places[integers.short]]
    for name, lowest in _by_property(short, integers.numbers, np.minimum):
        found[name].lowest = lowest
    for name, highest in _by_property(short, integers.numbers, np.maximum):
        found[name].highest = highest
    for place, number in zip(integers.long, integers.long_numbers, strict=True):
        one = found[int(properties[places[place]])]
        if abs(number) >= views.BEYOND:
            one.beyond += int(often[places[place]])
        else:
            one.lowest, one.highest = _either(min, one.lowest, number), _either(max, one.highest, number)
    return found


def _add_cell(counts: Counts, tag: Tag, form: str, total: int) -> None:
    counts.values += total
    counts.forms[form] += total
    if tag.language:
        counts.languages[tag.language] += total
    if tag.datatype:
        counts.datatypes[tag.datatype] += total
    if form not in views.PROMISES.get(tag.datatype, views.FORMS):
        counts.invalid += total


def _by_property(properties: Any, numbers: Any, choose: Any) -> Iterator[tuple[int, int]]:
    """The least or the greatest number of each property."""
    order = np.argsort(properties, kind="stable")
    starts = np.flatnonzero(np.diff(properties[order], prepend=-1))
    if len(starts):
        yield from zip(
            properties[order][starts].tolist(), choose.reduceat(numbers[order], starts).tolist(), strict=True
        )


def _either(choose: Any, one: int | None, other: int | None) -> int | None:
    known = [number for number in (one, other) if number is not None]
    return choose(known) if known else None
