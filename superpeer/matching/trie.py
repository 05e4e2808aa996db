"""The constants of `contains` and `like`, in a trie over bytes.

The trie grows by an edge at a time, so that adding a constant costs its length, unlike an automaton of Aho and
Corasick, which has to be built anew. For that, a text is walked from each of its positions; constants are cut to a
bounded length, so that a walk stays linear in the text. Constants that are taken out leave their nodes; once most are
gone, all is built anew.
"""

from __future__ import annotations

import numpy as np

from superpeer.matching.arrays import Trie
from superpeer.matching.conditions import KeyKind
from superpeer.matching.trie_kernels import PREFIX, SUBSTRING, SUFFIX, trie_copy, trie_insert, walk

_ROOT_KINDS = {KeyKind.PART: SUBSTRING, KeyKind.PREFIX: PREFIX, KeyKind.SUFFIX: SUFFIX}
_ROOTS_STEP = 4
_LEAST_EDGES = 1 << 10
_LEAST_DEAD = 1 << 12

Holder = int | list[int]
"""One exact test, or several tests of which some have to be asked."""


class ConstantTrie:
    """Patterns by number. A pattern belongs to a root, which stands for a property and a kind of key."""

    def __init__(self) -> None:
        self.holders: list[Holder] = []
        self._constants: list[tuple[int, bytes] | None] = []
        self._free: list[int] = []
        self._by_constant: dict[tuple[int, bytes], int] = {}
        self._last_root = 0
        self._reserve()

    def _reserve(self) -> None:
        """Empties the arrays. Nodes up to the last root are kept for roots, whose numbers are known outside."""
        self._edge_count = 0
        self._dead = 0
        self._next_node = self._last_root + _ROOTS_STEP - self._last_root % _ROOTS_STEP
        self.arrays = Trie(
            np.full(_LEAST_EDGES, -1, dtype=np.int64),
            np.zeros(_LEAST_EDGES, dtype=np.int32),
            np.full(2 * self._next_node + _LEAST_EDGES, -1, dtype=np.int32),
            np.full(max(16, len(self.holders)), -1, dtype=np.int32),
        )

    def new_root(self, kind: KeyKind) -> int:
        """A node to enter patterns below. Its number says its kind by its remainder."""
        first = -(-self._next_node // _ROOTS_STEP) * _ROOTS_STEP
        self._next_node = first + _ROOTS_STEP
        self._last_root = first + _ROOT_KINDS[kind]
        return self._last_root

    def get(self, root: int, constant: bytes) -> int | None:
        return self._by_constant.get((root, constant))

    def add(self, root: int, constant: bytes, holder: Holder) -> int:
        """Enters a pattern that is not there yet."""
        number = self._free.pop() if self._free else len(self.holders)
        if number == len(self.holders):
            self.holders.append(holder)
            self._constants.append(None)
        self._constants[number] = (root, constant)
        self._by_constant[root, constant] = number
        if number >= len(self.arrays.slots):
            grown = np.full(2 * len(self.arrays.slots), -1, dtype=np.int32)
            grown[: len(self.arrays.slots)] = self.arrays.slots
            self.arrays = self.arrays._replace(slots=grown)
        self._enter(number, root, constant)
        self.hold(number, holder)
        return number

    def hold(self, number: int, holder: Holder) -> None:
        """Sets who is found with a pattern."""
        self.holders[number] = holder
        self.arrays.slots[number] = holder if isinstance(holder, int) else -1

    def remove(self, number: int) -> None:
        entry = self._constants[number]
        assert entry is not None
        root, constant = entry
        node, _ = trie_insert(self.arrays, root, np.frombuffer(_read(root, constant), np.uint8), 0)
        self.arrays.patterns[node] = -1
        self._constants[number] = None
        del self._by_constant[entry]
        self._free.append(number)
        self._dead += 1
        if self._dead > max(_LEAST_DEAD, len(self._by_constant)):
            self._build_anew()

    def find(self, root: int, text: bytes) -> set[int]:
        """The patterns below a root that occur in one text."""
        written = np.frombuffer(text, np.uint8)
        found = np.empty(256, dtype=np.int32)
        count = walk(self.arrays, root, written, 0, len(written), found)
        if count > len(found):
            found = np.empty(count, dtype=np.int32)
            count = walk(self.arrays, root, written, 0, len(written), found)
        return set(found[:count].tolist())

    def memory_bytes(self) -> int:
        arrays = sum(array.nbytes for array in self.arrays)
        # A pattern's bytes, its tuple, its entry in the dictionary and its places in the lists.
        return arrays + sum(len(entry[1]) + 33 + 56 + 100 + 16 for entry in self._constants if entry is not None)

    def _enter(self, number: int, root: int, constant: bytes) -> None:
        arrays = self.arrays
        if 2 * (self._edge_count + len(constant)) > len(arrays.edges):
            edges = np.full(2 * len(arrays.edges), -1, dtype=np.int64)
            targets = np.zeros(len(edges), dtype=np.int32)
            trie_copy(arrays.edges, arrays.targets, edges, targets)
            arrays = self.arrays = arrays._replace(edges=edges, targets=targets)
        if self._next_node + len(constant) >= len(arrays.patterns):
            patterns = np.full(2 * len(arrays.patterns), -1, dtype=np.int32)
            patterns[: len(arrays.patterns)] = arrays.patterns
            arrays = self.arrays = arrays._replace(patterns=patterns)
        written = np.frombuffer(_read(root, constant), np.uint8)
        node, next_node = trie_insert(arrays, root, written, self._next_node)
        self._edge_count += next_node - self._next_node
        self._next_node = next_node
        arrays.patterns[node] = number

    def _build_anew(self) -> None:
        self._reserve()
        for number, entry in enumerate(self._constants):
            if entry is not None:
                self._enter(number, *entry)
                self.hold(number, self.holders[number])


def _read(root: int, constant: bytes) -> bytes:
    """A constant in the order in which its bytes are read: suffixes from the end."""
    return constant[::-1] if root % _ROOTS_STEP == SUFFIX else constant
