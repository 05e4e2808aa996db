"""Word patterns and similarities in flat arrays, for the kernel in `superpeer.matching.word_kernels`.

Words are interned by property. Each has a list of entries, one for each test that it leads to:

    SINGLE    the word is all that is asked for
    CHAINS    word patterns, under one of their words; the entry names another word that has to be there, too, which
              most texts do not have. The patterns themselves are verified
    LIKENESS  a similarity, under each of its words, with how often it has it. What a text shares with it is added up

What does not fit into 64 bits, or asks for more than one of these, is not held here: `add` says so, and the test is
left to its region.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from qel.regions import Region
from qel.text import Chain, Likeness
from superpeer.matching.arrays import Int32s, Int64s, Words
from superpeer.matching.clusters import Pool, grown
from superpeer.matching.word_kernels import CHAINS, EXTRA_SHIFT, LIKENESS, MAX_WORDS, NO_LIMIT, SINGLE, TEST_SHIFT

_MAX_GAP = 1 << 30
_MAX_DENOMINATOR = 1 << 12
_MAX_SQUARES = 1 << 12
"""With these, and texts of at most `MAX_WORDS` words, what is compared is below 2 to the power of 62."""
_LEAST_ROOM = 2


class WordLists:
    """Tests of words by number, and lists of those that a word leads to."""

    def __init__(self) -> None:
        self._pool = Pool()
        self._starts, self._sizes, self._rooms = (np.zeros(16, dtype=np.int64) for _ in range(3))
        self._word_uses: list[int] = []
        self._free_words: list[int] = []
        self._test_slots: Int32s = np.zeros(16, dtype=np.int32)
        self._test_at, self._least, self._scale = (np.zeros(16, dtype=np.int64) for _ in range(3))
        self._tests = 0
        self._free_tests: list[int] = []
        self._by_slot: dict[int, int] = {}
        self._stamps = self._new_stamps(16, 16)

    def add(self, words: dict[str, int], region: Region, key: str, slot: int) -> bool:
        """Enters a test of a property, whose words are interned in a dictionary of its own. Says whether it could."""
        if not _is_flat(region):
            return False
        test = self._free_tests.pop() if self._free_tests else self._tests
        if test == self._tests:
            self._tests += 1
            if test >= len(self._test_slots):
                self._test_slots = grown(self._test_slots, test + 1)
                self._test_at, self._least, self._scale = (
                    grown(array, test + 1) for array in (self._test_at, self._least, self._scale)
                )
        self._by_slot[slot] = test
        self._test_slots[test] = slot
        for word in _words(region):
            self._use(words, word)
        for number, entry in self._entries(words, region, key, test):
            self._append(number, entry)
        if region.likenesses:
            likeness = region.likenesses[0]
            self._least[test] = likeness.threshold.numerator**2 * _squares(likeness)
            self._scale[test] = likeness.threshold.denominator**2
        else:
            written = _written(words, region.chains)
            at = self._test_at[test] = self._pool.allocate(len(written))
            self._pool.words[at : at + len(written)] = written
        return True

    def remove(self, words: dict[str, int], region: Region, key: str, slot: int) -> None:
        """Takes a test out that could be entered."""
        test = self._by_slot.pop(slot)
        for number, entry in self._entries(words, region, key, test):
            self._discard(number, entry)
        if region.chains:
            self._pool.free(int(self._test_at[test]), len(_written(words, region.chains)))
        for word in _words(region):
            self._release(words, word)
        self._free_tests.append(test)

    def __contains__(self, slot: int) -> bool:
        return slot in self._by_slot

    def read(self, words: dict[str, int], text: Sequence[str]) -> tuple[list[int], int]:
        """The words of a text by number, -1 where nobody asks for one, and the square of its length as a vector."""
        known = words.get
        distinct = len(set(text))
        squares = distinct if distinct == len(text) else sum(n * n for n in Counter(text).values())
        return [known(word, -1) for word in text], squares

    def arrays(self) -> Words:
        if len(self._stamps.word_stamps) < len(self._starts) or len(self._stamps.test_stamps) < len(self._test_slots):
            self._stamps = self._new_stamps(len(self._starts), len(self._test_slots))
        return self._stamps._replace(
            starts=self._starts,
            sizes=self._sizes,
            pool=self._pool.words,
            test_slots=self._test_slots,
            test_at=self._test_at,
            least=self._least,
            scale=self._scale,
        )

    def memory_bytes(self) -> int:
        arrays = (self._starts, self._sizes, self._rooms, self._pool.words, self._test_slots, self._test_at)
        own = sum(array.nbytes for array in (*arrays, self._least, self._scale, *self._stamps))
        return own + 8 * len(self._word_uses) + 100 * len(self._by_slot)

    def _new_stamps(self, words: int, tests: int) -> Words:
        """Arrays that the kernel writes in; nothing in them outlives a call."""
        return Words(
            clock=np.zeros(1, dtype=np.int64),
            starts=self._starts,
            sizes=self._sizes,
            pool=self._pool.words,
            test_slots=self._test_slots,
            test_at=self._test_at,
            least=self._least,
            scale=self._scale,
            word_stamps=np.zeros(words, dtype=np.int64),
            word_counts=np.zeros(words, dtype=np.int32),
            word_first=np.zeros(words, dtype=np.int32),
            test_stamps=np.zeros(tests, dtype=np.int64),
            products=np.zeros(tests, dtype=np.int64),
            touched=np.zeros(tests, dtype=np.int32),
            following=np.zeros(MAX_WORDS, dtype=np.int32),
            reached=np.zeros(2 * MAX_WORDS, dtype=np.int32),
        )

    def _entries(self, words: dict[str, int], region: Region, key: str, test: int) -> list[tuple[int, int]]:
        """The entries of a test, each with the word that it stands under."""
        if region.likenesses:
            return [
                (words[word], LIKENESS | count << EXTRA_SHIFT | test << TEST_SHIFT)
                for word, count in region.likenesses[0].counts
            ]
        others = sorted({word for one in region.chains for word in one.words} - {key})
        if not others and len(region.chains) == 1 and not region.chains[0].gaps:
            return [(words[key], SINGLE | test << TEST_SHIFT)]
        other = words[max(others, key=len) if others else key]
        return [(words[key], CHAINS | other << EXTRA_SHIFT | test << TEST_SHIFT)]

    def _use(self, words: dict[str, int], word: str) -> None:
        number = words.get(word)
        if number is None:
            number = words[word] = self._free_words.pop() if self._free_words else len(self._word_uses)
            if number == len(self._word_uses):
                self._word_uses.append(0)
            if number >= len(self._starts):
                self._starts, self._sizes, self._rooms = (
                    grown(array, number + 1) for array in (self._starts, self._sizes, self._rooms)
                )
        self._word_uses[number] += 1

    def _release(self, words: dict[str, int], word: str) -> None:
        number = words[word]
        self._word_uses[number] -= 1
        if self._word_uses[number]:
            return
        assert not self._sizes[number], "a word that leads to a test is used by it"
        if self._rooms[number]:
            self._pool.free(int(self._starts[number]), int(self._rooms[number]))
            self._rooms[number] = 0
        self._free_words.append(number)
        del words[word]

    def _append(self, word: int, entry: int) -> None:
        size = int(self._sizes[word])
        room = int(self._rooms[word])
        if size == room:
            larger = max(_LEAST_ROOM, 2 * room)
            start = self._pool.allocate(larger)
            old = int(self._starts[word])
            self._pool.words[start : start + size] = self._pool.words[old : old + size]
            if room:
                self._pool.free(old, room)
            self._starts[word], self._rooms[word] = start, larger
        self._pool.words[self._starts[word] + size] = entry
        self._sizes[word] = size + 1

    def _discard(self, word: int, entry: int) -> None:
        start, size = int(self._starts[word]), int(self._sizes[word])
        entries = self._pool.words[start : start + size]
        entries[np.flatnonzero(entries == entry)[0]] = entries[size - 1]
        self._sizes[word] = size - 1


def _is_flat(region: Region) -> bool:
    """Whether a region, which asks for nothing but words, asks for chains only or for one similarity only, in numbers
    that fit."""
    if region.likenesses:
        likeness = region.likenesses[0]
        is_single = len(region.likenesses) == 1 and not region.chains
        return is_single and likeness.threshold.denominator <= _MAX_DENOMINATOR and _squares(likeness) <= _MAX_SQUARES
    gaps = [gap for one in region.chains for gap in one.gaps]
    return all(gap.least < _MAX_GAP and (gap.most or 0) < _MAX_GAP for gap in gaps)


def _words(region: Region) -> set[str]:
    found = {word for one in region.chains for word in one.words}
    return found | {word for likeness in region.likenesses for word, _ in likeness.counts}


def _squares(likeness: Likeness) -> int:
    return sum(count * count for _, count in likeness.counts)


def _written(words: dict[str, int], chains: Sequence[Chain]) -> Int64s:
    """Chains as numbers: how many there are; of each how many words it has, the first, and for each other one the least
    and the most that may lie before it, and the word."""
    found = [len(chains)]
    for one in chains:
        found += [len(one.words), words[one.words[0]]]
        found += chain.from_iterable(
            (gap.least, NO_LIMIT if gap.most is None else gap.most, words[word])
            for gap, word in zip(one.gaps, one.words[1:], strict=True)
        )
    return np.array(found, dtype=np.int64)
