"""Interned tests: every distinct test of a property once, with a number, found from the values of notifications.

Many subscriptions ask the same of a value. What they ask is held here once and is decided once a notification, by a
look-up; subscriptions then only compare numbers (see `superpeer.matching.records`). Number 0 is the test that is
always met. A test that its key does not decide alone keeps its region, which is asked for the values that have the
key.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from qel.regions import Region
from qel.topics import Topics
from qel.values import Kind, Value, integer_view
from superpeer.matching.conditions import Key, KeyedTest, KeyKind, RangeTest, encoded, exact_region, test_of
from superpeer.matching.numbers import Flat, flat_date, flat_decimal, flat_integer, flat_integers
from superpeer.matching.records import FlatRange
from superpeer.matching.trie import ConstantTrie, Holder
from superpeer.matching.word_kernels import MAX_WORDS
from superpeer.matching.words import WordLists

ALWAYS = 0
SUBJECT = ""
"""The name under which a subject counts as the value of a property of its own."""

_MAX_KEPT_VIEWS = 1 << 16
_LEAST_PRIOR = 1e-6
_KEYED_PRIOR = 0.09
_DICTIONARIES = (KeyKind.URI, KeyKind.TOPIC, KeyKind.TEXT, KeyKind.INTEGER, KeyKind.WORD, KeyKind.LANGUAGE)
_VIEW_KINDS = (KeyKind.LITERAL, KeyKind.INTEGER, KeyKind.WORD, KeyKind.LANGUAGE)
_TRIE_KINDS = (KeyKind.PART, KeyKind.PREFIX, KeyKind.SUFFIX)


class PropertyIndex:
    """The tests of one property by key, and the numbers of its views that ranges ask for (or -1)."""

    __slots__ = (
        "asks_views",
        "checked",
        "date",
        "decimal",
        "exists",
        "integer",
        "keyed",
        "literals",
        "number",
        "roots",
        "texts",
        "topics",
        "uris",
        "uses",
        "word_numbers",
        "words_left",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.exists: list[int] = []
        self.literals: list[int] = []
        self.keyed: dict[KeyKind, dict[Any, Holder]] = {kind: {} for kind in _DICTIONARIES}
        self.texts = self.keyed[KeyKind.TEXT]
        self.uris = self.keyed[KeyKind.URI]
        self.topics = self.keyed[KeyKind.TOPIC]
        self.word_numbers: dict[str, int] = {}
        """Interned words of tests that the kernel decides."""
        self.words_left: dict[str, list[int]] = {}
        """By word those that it does not."""
        self.roots: dict[KeyKind, int] = {}
        self.checked: dict[KeyKind, int] = dict.fromkeys(_TRIE_KINDS, 0)
        self.integer = self.decimal = self.date = -1
        self.uses = 0
        """How many interned tests and ranges are asked of the property."""
        self.asks_views = False
        """Whether anything but equality and constants of texts was ever asked of literals."""


def _asks_for_words_alone(region: Region) -> bool:
    names = ("language", "integer", "decimal", "date", "exact")
    return all(getattr(region, name) is None for name in names) and not region.least


class AskedWords:
    """What a test asks of the words of a text, as far as counting them decides it: `all_of` have to be there, and
    enough of those that it is similar to. Sets are intersected before anything is counted, since most tests fail by
    that."""

    __slots__ = ("all_of", "likenesses")

    def __init__(self, region: Region) -> None:
        self.all_of = frozenset(word for chain in region.chains for word in chain.words)
        self.likenesses = tuple(
            (
                dict(likeness.counts),
                likeness.threshold.numerator**2 * sum(count * count for _, count in likeness.counts),
                likeness.threshold.denominator**2,
            )
            for likeness in region.likenesses
        )

    def may_be_met(self, counts: dict[str, int], squares: int) -> bool:
        if not self.all_of <= counts.keys():
            return False
        for asked, least, scale in self.likenesses:
            product = 0
            for word in asked.keys() & counts.keys():
                product += asked[word] * counts[word]
            if product * product * scale < least * squares:
                return False
        return True


class SlotIndex:
    """All interned tests. What is asked of many values at once, the constants of texts, is left to the kernels."""

    def __init__(self, *, compiled: bool) -> None:
        self._compiled = compiled
        self.trie = ConstantTrie()
        self.words = WordLists()
        self.properties: dict[str, PropertyIndex] = {}
        self._free_properties: list[int] = []
        self._views: list[tuple[str, str]] = []
        self._view_uses: list[int] = []
        self._free_views: list[int] = []
        self._regions: dict[int, Region] = {}
        self._checked: dict[tuple[str, Region], int] = {}
        self._words: dict[int, AskedWords] = {}
        self._names: list[tuple[str, KeyedTest, Region | None] | None] = [None]
        self._uses: list[int] = [1]
        self._free: list[int] = []
        self._integers: dict[str, int | None] = {}

    def __len__(self) -> int:
        """One more than the largest number of a test."""
        return len(self._names)

    def test(self, name: str, region: Region) -> RangeTest | KeyedTest:
        """How a slot is held."""
        index = self.properties.get(name)

        def popularity(word: str) -> int:
            holder = None if index is None else index.keyed[KeyKind.WORD].get(word)
            return len(holder) if isinstance(holder, list) else int(holder is not None)

        return test_of(name, region, popularity)

    def intern_range(self, test: RangeTest) -> FlatRange:
        """The range with the number of its view, which is used once more from now on."""
        index = self._property(test.property)
        view = test.view.value
        number = getattr(index, view)
        if number < 0:
            number = self._free_views.pop() if self._free_views else len(self._views)
            if number == len(self._views):
                self._views.append((test.property, view))
                self._view_uses.append(0)
            self._views[number] = (test.property, view)
            setattr(index, view, number)
            index.asks_views = True
        self._view_uses[number] += 1
        index.uses += 1
        return FlatRange(number, *test.limits)

    def release_range(self, number: int) -> None:
        """Uses a view once less."""
        name, view = self._views[number]
        self._view_uses[number] -= 1
        if not self._view_uses[number]:
            setattr(self.properties[name], view, -1)
            self._free_views.append(number)
        self._unuse(name)

    @property
    def views(self) -> int:
        """One more than the largest number of a view."""
        return len(self._views)

    def intern(self, name: str, region: Region) -> int | FlatRange:
        """The test of a slot, by number or as a range, which is used once more from now on."""
        index = self.properties.get(name)
        found = None if index is None else self._common(index, region)
        if found is None:
            test = self.test(name, region)
            if isinstance(test, RangeTest):
                return self.intern_range(test)
            found = self._find(name, test, region)
            if found is None:
                found = self._enter(name, test, region)
        if isinstance(found, int):
            self._uses[found] += 1
            return found
        assert index is not None
        self._view_uses[found.view] += 1
        index.uses += 1
        return found

    def known(self, name: str, region: Region) -> int | FlatRange | None:
        """The test of a slot, if somebody uses it."""
        index = self.properties.get(name)
        if index is None:
            return None
        found = self._common(index, region)
        if found is not None:
            return found
        test = self.test(name, region)
        if not isinstance(test, RangeTest):
            return self._find(name, test, region)
        view = getattr(index, test.view.value)
        return None if view < 0 else FlatRange(view, *test.limits)

    def _common(self, index: PropertyIndex, region: Region) -> int | FlatRange | None:
        """The same in one step for what most slots are, an equality, a constant or a range of integers, where it is
        there already. None means that it has to be looked for properly."""
        if region.uri is not None:
            holder = None if region.topics else index.uris.get(region.uri)
        elif region.exact is not None:
            holder = None if region.language is not None else index.texts.get(region.exact)
        elif not region.plain:
            return None
        elif region.integer is None:
            root = index.roots.get(KeyKind.PART)
            if root is None or len(region.parts) != 1:
                return None
            pattern = self.trie.get(root, encoded(region.parts[0]))
            holder = None if pattern is None else self.trie.holders[pattern]
        else:
            limits = None if region.parts or index.integer < 0 else flat_integers(region.integer)
            return None if limits is None or limits.low == limits.high else FlatRange(index.integer, *limits)
        return holder if isinstance(holder, int) else None

    def release(self, slot: int) -> bool:
        """Uses a test once less. Says whether it is gone, and its number free."""
        self._uses[slot] -= 1
        if self._uses[slot]:
            return False
        entry = self._names[slot]
        assert entry is not None
        name, test, region = entry
        if test.keys[0].kind is KeyKind.WORD:
            self._leave_words(self.properties[name], test, self.region_of(slot), slot)
        for key in test.keys:
            self._drop(name, key, slot)
        if region is not None:
            del self._regions[slot]
            self._words.pop(slot, None)
            del self._checked[name, region]
        self._names[slot] = None
        self._free.append(slot)
        self._unuse(name)
        return True

    def uses(self, slot: int) -> int:
        """How often a test is used."""
        return self._uses[slot]

    def prior(self, slot: int) -> float:
        """How likely a test is to be met, before anything is known: one of those of its kind on its property is."""
        entry = self._names[slot]
        assert entry is not None
        name, test, _ = entry
        return sum(self._prior(self.properties[name], key) for key in test.keys)

    def _prior(self, index: PropertyIndex, key: Key) -> float:
        if key.kind in (KeyKind.EXISTS, KeyKind.LITERAL):
            return 1.0
        if key.kind in _TRIE_KINDS:
            assert isinstance(key.constant, bytes)
            # Nothing says how many constants a property has but their length: each byte halves the chance.
            return max(_LEAST_PRIOR, _KEYED_PRIOR / (1 << min(len(key.constant), 13)))
        return max(_LEAST_PRIOR, _KEYED_PRIOR / len(index.keyed[key.kind]))

    def region(self, slot: int) -> Region | None:
        """What a test asks for beyond its key, if it is not exact."""
        return self._regions.get(slot)

    def region_of(self, slot: int) -> Region:
        """What a test asks for, whether its key says so alone or not."""
        found = self._regions.get(slot)
        return exact_region(self.entry(slot)[1].keys[0]) if found is None else found

    def entry(self, slot: int) -> tuple[str, KeyedTest]:
        """The property and the keys of a test."""
        entry = self._names[slot]
        assert entry is not None
        return entry[:2]

    def property_of_view(self, view: int) -> str:
        return self._views[view][0]

    def memory_bytes(self) -> int:
        """The arrays of the trie, the dictionaries and lists, the keys in them, and what tests keep."""
        total = (
            self.trie.memory_bytes()
            + self.words.memory_bytes()
            + sys.getsizeof(self._names)
            + sys.getsizeof(self._uses)
        )
        for index in self.properties.values():
            for keyed in index.keyed.values():
                total += sys.getsizeof(keyed) + sum(sys.getsizeof(key) + 32 for key in keyed)
        # A test's entry: two tuples of three and two, its key, and, if not exact, its region and words.
        tests = 260 * sum(entry is not None for entry in self._names)
        return total + tests + 900 * len(self._regions) + 600 * len(self._words)

    def _property(self, name: str) -> PropertyIndex:
        index = self.properties.get(name)
        if index is None:
            if not self._free_properties:
                self._free_properties.append(len(self.properties))
            index = self.properties[name] = PropertyIndex(self._free_properties.pop())
        return index

    def _unuse(self, name: str) -> None:
        """A property that nobody asks for any more is forgotten."""
        index = self.properties[name]
        index.uses -= 1
        if not index.uses:
            self._free_properties.append(index.number)
            del self.properties[name]

    def _find(self, name: str, test: KeyedTest, region: Region) -> int | None:
        if not test.exact:
            return self._checked.get((name, region))
        index = self.properties.get(name)
        holder = None if index is None else self._holder(index, test.keys[0])
        if isinstance(holder, int):
            return holder
        return next((slot for slot in holder or () if slot not in self._regions), None)

    def _enter(self, name: str, test: KeyedTest, region: Region) -> int:
        slot = self._free.pop() if self._free else len(self._names)
        if slot == len(self._names):
            self._names.append(None)
            self._uses.append(0)
        self._names[slot] = (name, test, None if test.exact else region)
        if not test.exact:
            self._regions[slot] = region
            self._checked[name, region] = slot
        for key in test.keys:
            self._put(name, key, slot, test.exact)
        index = self._property(name)
        index.uses += 1
        if test.keys[0].kind is KeyKind.WORD:
            self._enter_words(index, test, region, slot)
        return slot

    def _enter_words(self, index: PropertyIndex, test: KeyedTest, region: Region, slot: int) -> None:
        key = test.keys[0].constant
        assert isinstance(key, str)
        if self._compiled and _asks_for_words_alone(region) and self.words.add(index.word_numbers, region, key, slot):
            return
        if not test.exact:
            self._words[slot] = AskedWords(region)
        for _, word in test.keys:
            index.words_left.setdefault(str(word), []).append(slot)

    def _leave_words(self, index: PropertyIndex, test: KeyedTest, region: Region, slot: int) -> None:
        if slot in self.words:
            key = test.keys[0].constant
            assert isinstance(key, str)
            self.words.remove(index.word_numbers, region, key, slot)
            return
        for _, word in test.keys:
            left = index.words_left[str(word)]
            left.remove(slot)
            if not left:
                del index.words_left[str(word)]

    def _holder(self, index: PropertyIndex, key: Key) -> Holder | None:
        match key.kind:
            case KeyKind.EXISTS:
                return index.exists
            case KeyKind.LITERAL:
                return index.literals
            case KeyKind.PART | KeyKind.PREFIX | KeyKind.SUFFIX:
                assert isinstance(key.constant, bytes)
                root = index.roots.get(key.kind)
                pattern = None if root is None else self.trie.get(root, key.constant)
                return None if pattern is None else self.trie.holders[pattern]
            case _:
                return index.keyed[key.kind].get(key.constant)

    def _put(self, name: str, key: Key, slot: int, exact: bool) -> None:
        index = self._property(name)
        index.asks_views |= key.kind in _VIEW_KINDS
        holder = self._holder(index, key)
        if isinstance(holder, list):
            holder.append(slot)
        elif holder is None and exact:
            self._hold(index, key, slot)
        else:
            self._hold(index, key, [slot] if holder is None else [holder, slot])
        if key.kind in _TRIE_KINDS and not exact:
            index.checked[key.kind] += 1

    def _drop(self, name: str, key: Key, slot: int) -> None:
        index = self.properties[name]
        if key.kind in _TRIE_KINDS and slot in self._regions:
            index.checked[key.kind] -= 1
        holder = self._holder(index, key)
        if isinstance(holder, list):
            holder.remove(slot)
            if key.kind in (KeyKind.EXISTS, KeyKind.LITERAL):
                return
            if len(holder) == 1 and holder[0] not in self._regions:
                self._hold(index, key, holder[0])
            if holder:
                return
        if key.kind in _TRIE_KINDS:
            assert isinstance(key.constant, bytes)
            pattern = self.trie.get(index.roots[key.kind], key.constant)
            assert pattern is not None
            self.trie.remove(pattern)
        else:
            del index.keyed[key.kind][key.constant]

    def _hold(self, index: PropertyIndex, key: Key, holder: Holder) -> None:
        if key.kind not in _TRIE_KINDS:
            index.keyed[key.kind][key.constant] = holder
            return
        assert isinstance(key.constant, bytes)
        root = index.roots.get(key.kind)
        if root is None:
            root = index.roots[key.kind] = self.trie.new_root(key.kind)
        pattern = self.trie.get(root, key.constant)
        if pattern is None:
            self.trie.add(root, key.constant, holder)
        else:
            self.trie.hold(pattern, holder)

    def read(self, row: Row, name: str, values: Iterable[Value], topics: Topics) -> None:
        """Notes in a row what the values of one property meet."""
        index = self.properties.get(name)
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
            if not self._compiled or len(value.words) > MAX_WORDS:
                self._read_words(row, keyed[KeyKind.WORD], value, topics)
            else:
                row.words.append(self.words.read(index.word_numbers, value.words))
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
            asked = self._words.get(slot)
            if asked is None or asked.may_be_met(counts, squares):
                region = self._regions.get(slot)
                if region is None or region.admits(value, topics):
                    row.slots.append(slot)

    def _read_text(self, row: Row, index: PropertyIndex, value: Value, topics: Topics) -> None:
        written = encoded(value.text)
        for kind, root in index.roots.items():
            row.texts.append((root, written))
            if index.checked[kind]:
                for pattern in self.trie.find(root, written):
                    holder = self.trie.holders[pattern]
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
