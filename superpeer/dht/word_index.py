"""The second level of DHTrie: how one node indexes the queries that it is responsible for.

By attribute there are three structures, one for each kind of atomic query: a hash table of the texts in equalities, a
trie of word patterns, and an inverted index of the significant words of texts to be similar to. A pattern's different
words, sorted, are a path of the trie, so that patterns with common words share their beginning and a publication walks
down only along words that it has. A disjunct is a candidate when all its atoms that are indexed are met; proximity,
exact similarity and everything else is then verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from qel.regions import Region
from qel.text import Likeness
from qel.values import Description, Kind, Value
from superpeer.dht.strategy import Item, Store

Mark = tuple[tuple[str, int], int]
"""An atom: the id of its item, and which of its atoms it is."""


@dataclass(slots=True)
class TrieNode:
    """A node of the trie: the patterns that end here, and what follows."""

    marks: dict[Mark, None] = field(default_factory=dict)
    following: dict[str, TrieNode] = field(default_factory=dict)

    def enter(self, words: tuple[str, ...], mark: Mark) -> None:
        node = self
        for word in words:
            node = node.following.setdefault(word, TrieNode())
        node.marks[mark] = None

    def withdraw(self, words: tuple[str, ...], mark: Mark) -> None:
        if not words:
            del self.marks[mark]
            return
        below = self.following[words[0]]
        below.withdraw(words[1:], mark)
        if not below.marks and not below.following:
            del self.following[words[0]]

    def found(self, words: frozenset[str]) -> Iterator[Mark]:
        """The patterns all of whose words are there."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield from node.marks
            # Whichever is smaller is walked through: long texts meet small nodes, and short texts large ones.
            if len(node.following) <= len(words):
                pending += [below for word, below in node.following.items() if word in words]
            else:
                pending += [node.following[word] for word in words if word in node.following]

    def size(self) -> int:
        return 1 + sum(below.size() for below in self.following.values())


@dataclass(frozen=True, slots=True)
class Atom:
    """An indexed atomic query on one attribute: a text, a pattern's words, or words one of which has to occur."""

    attribute: str
    text: str | None = None
    pattern: tuple[str, ...] = ()
    significant: tuple[str, ...] = ()


class WordIndex(Store[tuple[str, ...]]):
    """The queries of one node. The content of an item is the words under which it was sent here."""

    def __init__(self) -> None:
        super().__init__()
        self._equalities: dict[tuple[str, str], dict[Mark, None]] = {}
        self._tries: dict[str, TrieNode] = {}
        self._inverted: dict[tuple[str, str], dict[Mark, None]] = {}
        self._atoms: dict[tuple[str, int], tuple[Atom, ...]] = {}

    def candidates(self, description: Description) -> Iterator[Item[tuple[str, ...]]]:
        """The items whose indexed atoms are all met, each once."""
        met: dict[tuple[str, int], set[int]] = {}
        for name, values in description.values.items():
            for value in values:
                for identity, number in self._met(name, value):
                    met.setdefault(identity, set()).add(number)
        for identity, numbers in met.items():
            if len(numbers) == len(self._atoms[identity]):
                yield self.held[identity]

    def trie_nodes(self) -> int:
        return sum(trie.size() for trie in self._tries.values())

    def _met(self, name: str, value: Value) -> Iterator[Mark]:
        if value.kind is not Kind.LITERAL:
            return
        yield from self._equalities.get((name, value.text), ())
        words = frozenset(value.words)
        if name in self._tries:
            yield from self._tries[name].found(words)
        for word in words:
            yield from self._inverted.get((name, word), ())

    def _enter(self, item: Item[tuple[str, ...]]) -> None:
        atoms = self._atoms[item.id] = tuple(atoms_of(item))
        for number, atom in enumerate(atoms):
            mark = item.id, number
            if atom.text is not None:
                self._equalities.setdefault((atom.attribute, atom.text), {})[mark] = None
            if atom.pattern:
                self._tries.setdefault(atom.attribute, TrieNode()).enter(atom.pattern, mark)
            for word in atom.significant:
                self._inverted.setdefault((atom.attribute, word), {})[mark] = None

    def _withdraw(self, item: Item[tuple[str, ...]]) -> None:
        for number, atom in enumerate(self._atoms.pop(item.id)):
            mark = item.id, number
            if atom.text is not None:
                _discard(self._equalities, (atom.attribute, atom.text), mark)
            if atom.pattern:
                self._tries[atom.attribute].withdraw(atom.pattern, mark)
            for word in atom.significant:
                _discard(self._inverted, (atom.attribute, word), mark)


def atoms_of(item: Item[tuple[str, ...]]) -> Iterator[Atom]:
    for name, slots in item.disjunct.slots.items():
        for slot in slots:
            yield from _atoms(name, slot.region)


def significant_words(likeness: Likeness) -> tuple[str, ...]:
    """The fewest words of a text such that every text similar to it has one of them.

    A text without the words W has at most the similarity sqrt(1 - |W|²/|q|²), where |W|² sums the squared counts of
    W. So the most frequent words are taken until what is left is not enough for the threshold; all words, where that
    is zero.
    """
    ordered = sorted(likeness.counts, key=lambda entry: (-entry[1], entry[0]))
    total = sum(count * count for _, count in ordered)
    left = total
    chosen = []
    for word, count in ordered:
        if left < likeness.threshold**2 * total:
            break
        chosen.append(word)
        left -= count * count
    return tuple(chosen)


def _atoms(name: str, region: Region) -> Iterator[Atom]:
    if region.exact is not None:
        yield Atom(name, text=region.exact)
    for chain in region.chains:
        yield Atom(name, pattern=tuple(sorted(set(chain.words))))
    for likeness in region.likenesses:
        yield Atom(name, significant=significant_words(likeness))


def _discard(index: dict[tuple[str, str], dict[Mark, None]], place: tuple[str, str], mark: Mark) -> None:
    del index[place][mark]
    if not index[place]:
        del index[place]
