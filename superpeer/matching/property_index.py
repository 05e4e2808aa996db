"""The interned tests of one property, by key: see `superpeer.matching.slots`."""

from __future__ import annotations

from typing import Any

from superpeer.matching.conditions import KeyKind
from superpeer.matching.trie import Holder

DICTIONARIES = (KeyKind.URI, KeyKind.TOPIC, KeyKind.TEXT, KeyKind.INTEGER, KeyKind.WORD, KeyKind.LANGUAGE)
TRIE_KINDS = (KeyKind.PART, KeyKind.PREFIX, KeyKind.SUFFIX)


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
        self.keyed: dict[KeyKind, dict[Any, Holder]] = {kind: {} for kind in DICTIONARIES}
        self.texts = self.keyed[KeyKind.TEXT]
        self.uris = self.keyed[KeyKind.URI]
        self.topics = self.keyed[KeyKind.TOPIC]
        self.word_numbers: dict[str, int] = {}
        """Interned words of tests that the kernel decides."""
        self.words_left: dict[str, list[int]] = {}
        """By word those that it does not."""
        self.roots: dict[KeyKind, int] = {}
        self.checked: dict[KeyKind, int] = dict.fromkeys(TRIE_KINDS, 0)
        self.integer = self.decimal = self.date = -1
        self.uses = 0
        """How many interned tests and ranges are asked of the property."""
        self.asks_views = False
        """Whether anything but equality and constants of texts was ever asked of literals."""
