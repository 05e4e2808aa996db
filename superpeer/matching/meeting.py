"""Which tests the values of a notification meet, as far as look-ups and regions decide it.

What is asked of many values at once, the constants of texts and the words, is left to the kernels, and so are ranges:
a row has the texts, the words and the spans that they need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from qel.topics import Topics
from qel.values import Kind, Value, integer_view
from superpeer.matching.conditions import KeyKind, encoded
from superpeer.matching.numbers import Flat, flat_date, flat_decimal, flat_integer
from superpeer.matching.property_index import PropertyIndex
from superpeer.matching.slots import SlotIndex
from superpeer.matching.trie import Holder
from superpeer.matching.word_kernels import MAX_WORDS

_MAX_KEPT_VIEWS = 1 << 16


class Row:
    """What is said of one subject, as the kernels take it."""

    __slots__ = ("slots", "spans", "texts", "words")

    def __init__(self) -> None:
        self.words: list[tuple[list[int], int]] = []
        self.slots: list[int] = []
        self.texts: list[tuple[int, bytes]] = []
        self.spans: dict[int, list[Flat]] = {}

    def add_span(self, view: int, span: Flat) -> None:
        self.spans.setdefault(view, []).append(span)


class Reader:
    """Reads values by the tests of an index."""

    def __init__(self, index: SlotIndex) -> None:
        self._index = index
        self._regions = index.regions
        self._asked_words = index.asked_words
        self._integers: dict[str, int | None] = {}

    def asks_for(self, name: str) -> bool:
        """Whether anything is asked of a property."""
        return name in self._index.properties

    def read(self, row: Row, name: str, values: Iterable[Value], topics: Topics) -> None:
        """Notes in a row what the values of one property meet."""
        index = self._index.properties.get(name)
        if index is None:
            return
        met = row.slots
        if index.exists:
            met += index.exists
        for value in values:
            if value.kind is Kind.LITERAL:
                found = index.texts.get(value.text)
                if found is not None:
                    self._meet(met, found, value, topics)
                if index.roots:
                    self._read_text(row, index, value, topics)
                if index.asks_views:
                    self._read_views(row, index, value, topics)
            elif value.kind is Kind.URI:
                found = index.uris.get(value.text)
                if found is not None:
                    self._meet(met, found, value, topics)
                if index.topics:
                    for topic in chain((value.text,), topics.ancestors(value.text)):
                        self._meet(met, index.topics.get(topic), value, topics)

    def _read_views(self, row: Row, index: PropertyIndex, value: Value, topics: Topics) -> None:
        """All but texts: words, languages, numbers and dates. Spans of one view have to stand together in a row, so
        that each view has a list of its own."""
        keyed = index.keyed
        if index.literals:
            self._meet(row.slots, index.literals, value, topics)
        if index.integer >= 0 or keyed[KeyKind.INTEGER]:
            n = self._integer(value.text)
            if n is not None:
                self._meet(row.slots, keyed[KeyKind.INTEGER].get(n), value, topics)
                if index.integer >= 0:
                    row.add_span(index.integer, flat_integer(n))
        if index.decimal >= 0 and value.decimal is not None:
            row.add_span(index.decimal, flat_decimal(value.decimal))
        if index.date >= 0 and value.date is not None:
            row.add_span(index.date, flat_date(value.date))
        if keyed[KeyKind.WORD]:
            if not self._index.compiled or len(value.words) > MAX_WORDS:
                self._read_words(row, keyed[KeyKind.WORD], value, topics)
            else:
                row.words.append(self._index.words.read(index.word_numbers, value.words))
                if index.words_left:
                    self._read_words(row, index.words_left, value, topics)
        if keyed[KeyKind.LANGUAGE]:
            self._meet(row.slots, keyed[KeyKind.LANGUAGE].get(value.language), value, topics)

    def _read_words(self, row: Row, keyed: Mapping[str, Holder], value: Value, topics: Topics) -> None:
        """The tests of words without the kernel. They find many that are not met. What can be seen from the counts of
        words alone, that a word is missing or the vectors are too far apart, is seen here, and regions are asked for
        the rest."""
        counts = Counter(value.words)
        squares = sum(count * count for count in counts.values())
        found: dict[int, None] = {}
        for word in counts:
            holder = keyed.get(word)
            if isinstance(holder, int):
                row.slots.append(holder)
            elif holder is not None:
                found.update(dict.fromkeys(holder))
        for slot in found:
            asked = self._asked_words.get(slot)
            if asked is None or asked.may_be_met(counts, squares):
                region = self._regions.get(slot)
                if region is None or region.admits(value, topics):
                    row.slots.append(slot)

    def _read_text(self, row: Row, index: PropertyIndex, value: Value, topics: Topics) -> None:
        written = encoded(value.text)
        for kind, root in index.roots.items():
            row.texts.append((root, written))
            if index.checked[kind]:
                for pattern in self._index.trie.find(root, written):
                    holder = self._index.trie.holders[pattern]
                    if not isinstance(holder, int):
                        self._meet(row.slots, holder, value, topics)

    def _meet(self, met: list[int], holder: Holder | None, value: Value, topics: Topics) -> None:
        if holder is None:
            return
        if isinstance(holder, int):
            met.append(holder)
            return
        for slot in holder:
            region = self._regions.get(slot)
            if region is None or region.admits(value, topics):
                met.append(slot)

    def _integer(self, text: str) -> int | None:
        """The integer view; years and the like come again and again, so that views are kept for a while."""
        try:
            return self._integers[text]
        except KeyError:
            if len(self._integers) >= _MAX_KEPT_VIEWS:
                self._integers.clear()
            n = integer_view(text)
            if len(text) < 32:
                self._integers[text] = n
            return n
