"""A disjunct as if it were a notification: the tests that everything which matches it is sure to meet.

Finding what covers a disjunct is matching. Each of its slots is a value of which only a region is known; such a value
meets a test if the region implies it, and a range if its own range lies within. With that, the kernels of matching
find who covers it. What is noted here is never too little; it may be too much where a test asks for several things at
once, so that whoever uses it asks `qel.subsumes` in the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from qel.normal import Disjunct
from qel.ranges import DecimalRange
from qel.regions import ANY, Region
from qel.topics import NO_TOPICS
from qel.values import Kind, Value
from superpeer.matching.conditions import KeyKind, encoded
from superpeer.matching.numbers import NO_HIGH, NO_LOW, Flat, flat_decimal, flat_instants, flat_integer
from superpeer.matching.slots import SUBJECT, PropertyIndex, Row, SlotIndex
from superpeer.matching.trie import Holder


def implied_row(index: SlotIndex, disjunct: Disjunct) -> Row:
    """What a disjunct implies of the tests of an index."""
    row = Row()
    _imply(index, row, SUBJECT, disjunct.subject)
    for name, slots in disjunct.slots.items():
        for slot in slots:
            _imply(index, row, name, slot.region)
    return row


def _imply(index: SlotIndex, row: Row, name: str, region: Region) -> None:
    known = index.properties.get(name)
    if known is None:
        return
    row.slots += known.exists
    if region is ANY or region.kind is None:
        return
    if region.kind is Kind.URI:
        topics = region.topics if region.uri is None else (region.uri, *region.topics)
        _take(row, known.uris.get(region.uri))
        for topic in topics:
            _take(row, known.topics.get(topic))
        return
    row.slots += known.literals
    if region.language is not None:
        _take(row, known.keyed[KeyKind.LANGUAGE].get(region.language))
    if region.exact is not None:
        # Whatever a text meets is decided, but for the language, which is in doubt where the region leaves it open.
        value = Value(Kind.LITERAL, region.exact, region.language or "")
        index.read(row, name, (value,), NO_TOPICS)
        _imply_text(index, row, known, region.exact)
        for word in value.words:
            _take(row, known.keyed[KeyKind.WORD].get(word))
        if value.integer is not None:
            _take(row, known.keyed[KeyKind.INTEGER].get(value.integer))
        _take(row, known.texts.get(region.exact))
        return
    for kind, text in _constants(region):
        if kind in known.roots:
            _find(index, row, known.roots[kind], text)
    for word in {word for chain in region.chains for word in chain.words} | {
        word for likeness in region.likenesses for word, _ in likeness.counts
    }:
        _take(row, known.keyed[KeyKind.WORD].get(word))
    _imply_ranges(row, known, region)


def _imply_text(index: SlotIndex, row: Row, known: PropertyIndex, text: str) -> None:
    for root in known.roots.values():
        _find(index, row, root, text)


def _constants(region: Region) -> Iterator[tuple[KeyKind, str]]:
    """Texts in which the constants of what a region implies are to be found."""
    for text in (*region.parts, region.prefix, region.suffix):
        if text:
            yield KeyKind.PART, text
    if region.prefix:
        yield KeyKind.PREFIX, region.prefix
    if region.suffix:
        yield KeyKind.SUFFIX, region.suffix
    if region.integer is not None:
        # Every way to write a number has its digits, and the sign of a negative one.
        number = next((end for end in region.integer if end is not None), None)
        if number is not None:
            yield KeyKind.PART, f"-{abs(number)}"


def _imply_ranges(row: Row, known: PropertyIndex, region: Region) -> None:
    if region.integer is not None:
        low, high = region.integer
        if low is not None and low == high:
            _take(row, known.keyed[KeyKind.INTEGER].get(low))
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


def _flat_decimals(limits: DecimalRange) -> Flat:
    low, low_open, high, high_open = limits
    return Flat(
        NO_LOW if low is None else flat_decimal(low).low + low_open,
        NO_HIGH if high is None else flat_decimal(high).low - high_open,
    )


def _find(index: SlotIndex, row: Row, root: int, text: str) -> None:
    for pattern in index.trie.find(root, encoded(text)):
        _take(row, index.trie.holders[pattern])


def _take(row: Row, holder: Holder | None) -> None:
    if holder is not None:
        row.slots.extend((holder,) if isinstance(holder, int) else holder)
