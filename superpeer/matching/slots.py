"""Interned tests: every distinct test of a property once, with a number, found from the values of notifications.

Many subscriptions ask the same of a value. What they ask is held here once and is decided once a notification, by a
look-up; subscriptions then only compare numbers (see `superpeer.matching.records`). Number 0 is the test that is
always met. A test that its key does not decide alone keeps its region, which is asked for the values that have the
key.
"""

from __future__ import annotations

import sys

from qel.regions import Region
from superpeer.matching.conditions import Key, KeyedTest, KeyKind, RangeTest, encoded, exact_region, test_of
from superpeer.matching.numbers import flat_integers
from superpeer.matching.property_index import TRIE_KINDS, PropertyIndex
from superpeer.matching.records import FlatRange
from superpeer.matching.trie import ConstantTrie, Holder
from superpeer.matching.words import AskedWords, WordLists, asks_for_words_alone

ALWAYS = 0
SUBJECT = ""
"""The name under which a subject counts as the value of a property of its own."""

_LEAST_PRIOR = 1e-6
_KEYED_PRIOR = 0.09
_VIEW_KINDS = (KeyKind.LITERAL, KeyKind.INTEGER, KeyKind.WORD, KeyKind.LANGUAGE)


class SlotIndex:
    """All interned tests. Who reads values by them is `superpeer.matching.meeting`."""

    def __init__(self, *, compiled: bool) -> None:
        self.compiled = compiled
        self.trie = ConstantTrie()
        self.words = WordLists()
        self.properties: dict[str, PropertyIndex] = {}
        self._free_properties: list[int] = []
        self._views: list[tuple[str, str]] = []
        self._view_uses: list[int] = []
        self._free_views: list[int] = []
        self.regions: dict[int, Region] = {}
        self._checked: dict[tuple[str, Region], int] = {}
        self.asked_words: dict[int, AskedWords] = {}
        self._names: list[tuple[str, KeyedTest, Region | None] | None] = [None]
        self._uses: list[int] = [1]
        self._free: list[int] = []

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
            del self.regions[slot]
            self.asked_words.pop(slot, None)
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
        if key.kind in TRIE_KINDS:
            assert isinstance(key.constant, bytes)
            # Nothing says how many constants a property has but their length: each byte halves the chance.
            return max(_LEAST_PRIOR, _KEYED_PRIOR / (1 << min(len(key.constant), 13)))
        return max(_LEAST_PRIOR, _KEYED_PRIOR / len(index.keyed[key.kind]))

    def region(self, slot: int) -> Region | None:
        """What a test asks for beyond its key, if it is not exact."""
        return self.regions.get(slot)

    def region_of(self, slot: int) -> Region:
        """What a test asks for, whether its key says so alone or not."""
        found = self.regions.get(slot)
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
        return total + tests + 900 * len(self.regions) + 600 * len(self.asked_words)

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
        return next((slot for slot in holder or () if slot not in self.regions), None)

    def _enter(self, name: str, test: KeyedTest, region: Region) -> int:
        slot = self._free.pop() if self._free else len(self._names)
        if slot == len(self._names):
            self._names.append(None)
            self._uses.append(0)
        self._names[slot] = (name, test, None if test.exact else region)
        if not test.exact:
            self.regions[slot] = region
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
        if self.compiled and asks_for_words_alone(region) and self.words.add(index.word_numbers, region, key, slot):
            return
        if not test.exact:
            self.asked_words[slot] = AskedWords(region)
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
        if key.kind in TRIE_KINDS and not exact:
            index.checked[key.kind] += 1

    def _drop(self, name: str, key: Key, slot: int) -> None:
        index = self.properties[name]
        if key.kind in TRIE_KINDS and slot in self.regions:
            index.checked[key.kind] -= 1
        holder = self._holder(index, key)
        if isinstance(holder, list):
            holder.remove(slot)
            if key.kind in (KeyKind.EXISTS, KeyKind.LITERAL):
                return
            if len(holder) == 1 and holder[0] not in self.regions:
                self._hold(index, key, holder[0])
            if holder:
                return
        if key.kind in TRIE_KINDS:
            assert isinstance(key.constant, bytes)
            pattern = self.trie.get(index.roots[key.kind], key.constant)
            assert pattern is not None
            self.trie.remove(pattern)
        else:
            del index.keyed[key.kind][key.constant]

    def _hold(self, index: PropertyIndex, key: Key, holder: Holder) -> None:
        if key.kind not in TRIE_KINDS:
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
