"""Which word patterns and similarities a text meets, compiled: see `superpeer.matching.words`."""

from __future__ import annotations

from superpeer.matching.arrays import Batch, Index, Integer
from superpeer.matching.compiling import compiled

SINGLE, CHAINS, LIKENESS = 0, 1, 2
EXTRA_SHIFT = 2
TEST_SHIFT = 33
EXTRA_MASK = (1 << (TEST_SHIFT - EXTRA_SHIFT)) - 1
NO_LIMIT = 1 << 40
MAX_WORDS = 1 << 13
"""Longer texts are left to regions."""


@compiled
def note_words(index: Index, batch: Batch, text: int) -> None:
    """Counts the words of a text, and strings together the places where each stands."""
    words = index.words
    clock = words.clock[0]
    start = batch.words_at[text]
    for place in range(batch.words_at[text + 1] - start - 1, -1, -1):
        word = batch.words[start + place]
        if word < 0:
            continue
        if words.word_stamps[word] != clock:
            words.word_stamps[word] = clock
            words.word_counts[word] = 0
            words.word_first[word] = -1
        words.word_counts[word] += 1
        words.following[place] = words.word_first[word]
        words.word_first[word] = place


@compiled
def occurs(index: Index, at: Integer) -> Integer:
    """Whether a chain occurs in the text whose words have been noted. Gives where the next chain is written, or the
    negative of it if it does not occur: the places of each word are those that can be reached from the word before."""
    words = index.words
    pool, reached, following = words.pool, words.reached, words.following
    clock = words.clock[0]
    end: Integer = at + 2 + 3 * (pool[at] - 1)
    word = pool[at + 1]
    if words.word_stamps[word] != clock:
        return -end
    this, other = 0, MAX_WORDS
    found = 0
    place = words.word_first[word]
    while place >= 0:
        reached[this + found] = place
        found += 1
        place = following[place]
    for step in range(at + 2, end, 3):
        least, most, word = pool[step], pool[step + 1], pool[step + 2]
        if words.word_stamps[word] != clock:
            return -end
        first, before = 0, found
        found = 0
        place = words.word_first[word]
        while place >= 0:
            while first < before and reached[this + first] < place - most - 1:
                first += 1
            if first < before and reached[this + first] <= place - least - 1:
                reached[other + found] = place
                found += 1
            place = following[place]
        if found == 0:
            return -end
        this, other = other, this
    return end


@compiled
def meet_words(index: Index, batch: Batch, row: int, stamp: Integer, count: int) -> int:
    """Marks the tests of words that the texts of a row meet."""
    words, slot_stamps, met = index.words, index.slot_stamps, index.met
    pool, touched = words.pool, words.touched
    for text in range(batch.word_texts_at[row], batch.word_texts_at[row + 1]):
        words.clock[0] += 1
        clock = words.clock[0]
        note_words(index, batch, text)
        added_up = 0
        start = batch.words_at[text]
        for place in range(batch.words_at[text + 1] - start):
            word = batch.words[start + place]
            if word < 0 or words.word_first[word] != place:
                continue
            weight = words.word_counts[word]
            first = words.starts[word]
            for entry in pool[first : first + words.sizes[word]]:
                kind = entry & 3
                extra = entry >> EXTRA_SHIFT & EXTRA_MASK
                test = entry >> TEST_SHIFT
                if kind == LIKENESS:
                    if words.test_stamps[test] != clock:
                        words.test_stamps[test] = clock
                        words.products[test] = 0
                        touched[added_up] = test
                        added_up += 1
                    words.products[test] += weight * extra
                    continue
                if kind == CHAINS:
                    if words.word_stamps[extra] != clock:
                        continue
                    at = words.test_at[test]
                    chains = pool[at]
                    at += 1
                    while chains > 0 and at > 0:
                        at = occurs(index, at)
                        chains -= 1
                    if at < 0:
                        continue
                slot = words.test_slots[test]
                if slot_stamps[slot] != stamp:
                    slot_stamps[slot] = stamp
                    met[count] = slot
                    count += 1
        squares = batch.word_squares[text]
        for i in range(added_up):
            test = touched[i]
            product = words.products[test]
            if product * product * words.scale[test] >= words.least[test] * squares:
                slot = words.test_slots[test]
                if slot_stamps[slot] != stamp:
                    slot_stamps[slot] = stamp
                    met[count] = slot
                    count += 1
    return count
