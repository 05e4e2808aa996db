"""FCache: which node is responsible for which frequent word, as one publisher remembers it.

It keeps the words that occur most often in what was published here. It is filled from what a publication learns anyway,
and may be out of date: whoever gets a publication for a word that is not its own says so.
"""

from __future__ import annotations

from collections import Counter

FREQUENT_WORDS = 10_000


class FrequencyCache:
    """Addresses by key, for the most frequent keys."""

    def __init__(self, capacity: int = FREQUENT_WORDS) -> None:
        assert capacity > 0
        self._capacity = capacity
        self._uses: Counter[int] = Counter()
        self._addresses: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def address(self, key: int) -> int | None:
        """Counts that the key occurred, and tells what is known of it."""
        self._uses[key] += 1
        return self._addresses.get(key)

    def learn(self, key: int, node: int) -> None:
        """Remembers a node, in place of the least frequent one if there is no more room and that is less frequent."""
        if key not in self._addresses and len(self._addresses) >= self._capacity:
            rarest = min(self._addresses, key=lambda known: (self._uses[known], known))
            if self._uses[rarest] >= self._uses[key]:
                return
            del self._addresses[rarest]
        self._addresses[key] = node
