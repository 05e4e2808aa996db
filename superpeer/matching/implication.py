"""A disjunct as if it were a notification: the tests that everything which matches it is sure to meet.

Finding what covers a disjunct is matching. Each of its slots is a value of which only a region is known; such a value
meets a test iff `Region.implies` says so, and a range iff its own range lies within. With that, the kernels of matching
find who covers it, exactly: a disjunct implies another iff each slot of the other is implied by one of its own.

Keys lead to the tests that may be implied. Where a test is exact its key says all, but for the digits of numbers,
which are asked of `qel`; where it is not, its region is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from qel.normal import Disjunct
from qel.ranges import DecimalRange
from qel.regions import ANY, Region
from qel.values import Kind, Value
from superpeer.matching.conditions import KeyKind, encoded
from superpeer.matching.numbers import (
    NO_HIGH,
    NO_LOW,
    Flat,
    flat_date,
    flat_decimal,
    flat_instants,
    flat_integer,
)
from superpeer.matching.slots import SUBJECT, PropertyIndex, Row, SlotIndex
from superpeer.matching.trie import Holder


def slots_in(disjunct: Disjunct) -> Iterator[tuple[str, Region]]:
    """What a disjunct asks for: regions by property, the subject among them under a name of its own."""
    if disjunct.subject is not ANY:
        yield SUBJECT, disjunct.subject
    for name, slots in disjunct.slots.items():
        for slot in slots:
            yield name, slot.region


def implied_row(index: SlotIndex, disjunct: Disjunct) -> Row:
    """What a disjunct implies of the tests of an index."""
    row = Row()
    for name, region in slots_in(disjunct):
        imply(index, row, name, region)
    return row


def imply(index: SlotIndex, row: Row, name: str, region: Region) -> None:
    """Notes in a row what one slot implies."""
    known = index.properties.get(name)
    if known is None:
        return
    row.slots += known.exists
    if region.kind is Kind.URI:
        if region.uri is not None:
            _take(index, row, region, known.uris.get(region.uri))
            _take(index, row, region, known.topics.get(region.uri))
        for topic in region.topics:
            _take(index, row, region, known.topics.get(topic))
    elif region.kind is Kind.LITERAL:
        _take(index, row, region, known.literals)
        if region.language is not None:
            _take(index, row, region, known.keyed[KeyKind.LANGUAGE].get(region.language))
        if region.exact is not None:
            _imply_exact(index, row, known, region, region.exact)
        else:
            _imply_pattern(index, row, known, region)


def _imply_exact(index: SlotIndex, row: Row, known: PropertyIndex, region: Region, text: str) -> None:
    """Whatever is asked of a text is decided, but for the language."""
    _take(index, row, region, known.texts.get(text))
    for kind, root in known.roots.items():
        _find(index, row, known, region, kind, root, text)
    if not known.asks_views:
        return
    value = Value(Kind.LITERAL, text)
    if known.keyed[KeyKind.WORD]:
        for word in set(value.words):
            _take(index, row, region, known.keyed[KeyKind.WORD].get(word))
    if value.integer is not None:
        _take(index, row, region, known.keyed[KeyKind.INTEGER].get(value.integer))
        if known.integer >= 0:
            row.add_span(known.integer, flat_integer(value.integer))
    if known.decimal >= 0 and value.decimal is not None:
        row.add_span(known.decimal, flat_decimal(value.decimal))
    if known.date >= 0 and value.date is not None:
        row.add_span(known.date, flat_date(value.date))


def _imply_pattern(index: SlotIndex, row: Row, known: PropertyIndex, region: Region) -> None:
    if known.roots:
        for kind, text in _constants(region):
            if kind in known.roots:
                _find(index, row, known, region, kind, known.roots[kind], text)
        if region.integer is not None and KeyKind.PART in known.roots:
            _imply_digits(index, row, known, region)
    words = known.keyed[KeyKind.WORD]
    if words:
        for word in {word for chain in region.chains for word in chain.words}:
            _take(index, row, region, words.get(word))
        for word in {word for likeness in region.likenesses for word, _ in likeness.counts}:
            _take_checked(index, row, region, words.get(word))
    if region.integer is not None:
        low, high = region.integer
        if low is not None and low == high:
            _take(index, row, region, known.keyed[KeyKind.INTEGER].get(low))
        if known.integer >= 0:
            row.add_span(
                known.integer,
                Flat(
                    NO_LOW if low is None else flat_integer(low).low,
                    NO_HIGH if high is None else flat_integer(high).low,
                ),
            )
    if region.decimal is not None and known.decimal >= 0:
        row.add_span(known.decimal, _flat_decimals(region.decimal))
    if region.date is not None and known.date >= 0:
        row.add_span(known.date, flat_instants(region.date))


def _constants(region: Region) -> Iterator[tuple[KeyKind, str]]:
    """Texts in which the constants of what a region implies are to be found."""
    for text in (*region.parts, region.prefix, region.suffix):
        if text:
            yield KeyKind.PART, text
    if region.prefix:
        yield KeyKind.PREFIX, region.prefix
    if region.suffix:
        yield KeyKind.SUFFIX, region.suffix


def _imply_digits(index: SlotIndex, row: Row, known: PropertyIndex, region: Region) -> None:
    """Every way to write a number has its digits, and the sign of a negative one. A range implies those that all its
    members share, so they are among those of one end."""
    assert region.integer is not None
    number = next((end for end in region.integer if end is not None), None)
    if number is None:
        return
    for pattern in index.trie.find(known.roots[KeyKind.PART], encoded(f"-{abs(number)}")):
        holder = index.trie.holders[pattern]
        for slot in (holder,) if isinstance(holder, int) else holder:
            if region.implies(index.region_of(slot)):
                row.slots.append(slot)


def _flat_decimals(limits: DecimalRange) -> Flat:
    """A range of decimals as one value. An end between two millionths is odd already, whether it is in or not."""
    low, low_open, high, high_open = limits
    first = NO_LOW if low is None else flat_decimal(low).low
    last = NO_HIGH if high is None else flat_decimal(high).low
    return Flat(
        first + 1 if low is not None and low_open and first % 2 == 0 else first,
        last - 1 if high is not None and high_open and last % 2 == 0 else last,
    )


def _find(
    index: SlotIndex, row: Row, known: PropertyIndex, region: Region, kind: KeyKind, root: int, text: str
) -> None:
    """The constants within a text: those of exact tests are left to the kernels."""
    written = encoded(text)
    row.texts.append((root, written))
    if known.checked[kind]:
        for pattern in index.trie.find(root, written):
            holder = index.trie.holders[pattern]
            if not isinstance(holder, int):
                _take(index, row, region, holder)


def _take(index: SlotIndex, row: Row, region: Region, holder: Holder | None) -> None:
    if holder is None:
        return
    if isinstance(holder, int):
        row.slots.append(holder)
        return
    for slot in holder:
        other = index.region(slot)
        if other is None or region.implies(other):
            row.slots.append(slot)


def _take_checked(index: SlotIndex, row: Row, region: Region, holder: Holder | None) -> None:
    """Only tests whose region is asked, where the key alone says nothing."""
    for slot in holder if isinstance(holder, list) else ():
        other = index.region(slot)
        if other is not None and region.implies(other):
            row.slots.append(slot)
