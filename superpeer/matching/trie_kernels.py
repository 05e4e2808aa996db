"""Tries over bytes in flat arrays: adding constants, and finding those that occur in a text."""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Batch, Bytes, Index, Int32s, Int64s, Integer, Trie
from superpeer.matching.compiling import compiled

HASH = 0x9E3779
HASH_SHIFT = 20
"""An edge has 39 bits at most, so that its product with the 24 bits of this factor fits into 63."""
SUBSTRING, PREFIX, SUFFIX = 0, 1, 2
"""The three kinds of roots; a root's number says its kind by its remainder."""


@compiled
def find_edge(edges: Int64s, edge: Integer) -> Integer:
    """Where an edge stands, or the free place where it would."""
    mask = len(edges) - 1
    place = (edge * HASH >> HASH_SHIFT) & mask
    while edges[place] != -1 and edges[place] != edge:
        place = (place + 1) & mask
    return place


@compiled
def trie_insert(trie: Trie, root: int, constant: Bytes, first_free: int) -> tuple[int, int]:
    """Adds a constant below a root. Gives its node, and the first free node afterwards."""
    node = root
    for byte in constant:
        edge = np.int64(node) * 256 + byte
        place = find_edge(trie.edges, edge)
        if trie.edges[place] == -1:
            trie.edges[place] = edge
            trie.targets[place] = first_free
            first_free += 1
        node = trie.targets[place]
    return node, first_free


@compiled
def trie_copy(old_edges: Int64s, old_targets: Int32s, edges: Int64s, targets: Int32s) -> None:
    """Enters the edges of one table into a larger one."""
    for i in range(len(old_edges)):
        if old_edges[i] != -1:
            place = find_edge(edges, old_edges[i])
            edges[place] = old_edges[i]
            targets[place] = old_targets[i]


@compiled
def walk(trie: Trie, root: int, text: Bytes, start: int, end: int, found: Int32s) -> int:
    """The patterns below a root that occur in a text, each as often as it does. Gives how many there would be room
    for."""
    count = 0
    kind = root % 4
    last = start + 1 if kind != SUBSTRING else end
    for first in range(start, last):
        node = root
        step = 0
        while first + step < end:
            byte = text[end - 1 - step] if kind == SUFFIX else text[first + step]
            edge = np.int64(node) * 256 + byte
            place = find_edge(trie.edges, edge)
            if trie.edges[place] == -1:
                break
            node = trie.targets[place]
            step += 1
            if trie.patterns[node] >= 0:
                if count < len(found):
                    found[count] = trie.patterns[node]
                count += 1
    return count


@compiled
def meet_texts(index: Index, batch: Batch, row: int, stamp: Integer, count: int) -> int:
    """Marks the tests of constants that occur in the texts of a row."""
    edges, targets, patterns, slots = index.trie.edges, index.trie.targets, index.trie.patterns, index.trie.slots
    text, stamps, met = batch.text, index.slot_stamps, index.met
    mask = len(edges) - 1
    for i in range(batch.texts_at[row], batch.texts_at[row + 1]):
        root = batch.text_roots[i]
        kind = root % 4
        start = batch.text_starts[i]
        end = batch.text_ends[i]
        last = start + 1 if kind != SUBSTRING else end
        for first in range(start, last):
            node = root
            step = 0
            while first + step < end:
                byte = text[end - 1 - step] if kind == SUFFIX else text[first + step]
                edge = np.int64(node) * 256 + byte
                place = (edge * HASH >> HASH_SHIFT) & mask
                while edges[place] != -1 and edges[place] != edge:
                    place = (place + 1) & mask
                if edges[place] == -1:
                    break
                node = targets[place]
                step += 1
                pattern = patterns[node]
                if pattern >= 0:
                    slot = slots[pattern]
                    if slot >= 0 and stamps[slot] != stamp:
                        stamps[slot] = stamp
                        met[count] = slot
                        count += 1
    return count
