"""Hash tables: who owns a key, and how to get there.

All that the hash-placed systems ask of a network. Keys and the identifiers of nodes are points of one circular space
of `size` points. A node owns the keys from behind the node before it up to its own identifier, which holds for the cube
as well when a node's identifier is the last key that starts with its label. So `owner(key)` is Chord's successor(key)
in both.

Routing goes hop by hop with what each node knows itself. Nodes are known by their numbers, which stay the same when
they leave and come back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import hash_text


@dataclass(frozen=True, slots=True)
class Change:
    """What a join, departure or crash did: who may hold keys that are no longer its own, and what it took."""

    donors: tuple[int, ...]
    messages: int


class Step(NamedTuple):
    """One message of a message to all: who sends, who gets it, and how many hops it has come then."""

    sender: int
    receiver: int
    depth: int


class HashTable(ABC):
    """A structured network of nodes as a hash table."""

    def __init__(self, bits: int) -> None:
        if not 1 <= bits <= 64:
            raise DhtError(f"identifiers have 1 to 64 bits, not {bits}")
        self.bits = bits
        self.size = 1 << bits

    @property
    @abstractmethod
    def nodes(self) -> Collection[int]:
        """The numbers of the nodes that are there."""

    @abstractmethod
    def owner(self, key: int) -> int: ...

    @abstractmethod
    def identifier(self, node: int) -> int:
        """Where in the space a node stands: the last of the keys that it owns."""

    @abstractmethod
    def next_hop(self, node: int, key: int) -> int:
        """Where a message for a key goes next, by what the node itself knows; the node, if it is the owner."""

    @abstractmethod
    def neighbours(self, node: int) -> Sequence[int]:
        """The other nodes that a node knows, the closest first."""

    @abstractmethod
    def next_along(self, node: int) -> int:
        """The node whose keys follow."""

    @abstractmethod
    def split(self, node: int, keys: Iterable[int]) -> tuple[list[int], list[tuple[int, list[int]]]]:
        """One step of the multi-send: the keys that the node owns, and which others go on to whom."""

    @abstractmethod
    def circle(self, node: int) -> list[Step]:
        """A message to all nodes, each once."""

    @abstractmethod
    def join(self, node: int) -> Change: ...

    @abstractmethod
    def leave(self, node: int) -> Change:
        """A node leaves in peace; it is the first of the donors."""

    @abstractmethod
    def crash(self, node: int) -> Change:
        """A node is gone without a word."""

    def key(self, text: str) -> int:
        return hash_text(text, self.bits)

    def mail_key(self, node: int) -> int:
        """Where to leave what is for a node, whether it is there or not."""
        return self.key(f"node {node}")

    def route(self, node: int, key: int) -> list[int]:
        """The way of a message, both ends included. The last node is the owner."""
        path = [node]
        while (following := self.next_hop(path[-1], key)) != path[-1]:
            assert len(path) <= len(self.nodes), "a route visits no node twice"
            path.append(following)
        return path

    def owners(self, low: int, high: int) -> list[int]:
        """The owners of a range of keys, in order."""
        assert 0 <= low <= high < self.size
        found = [self.owner(low)]
        last = self.owner(high)
        if found[0] == last and self._passes(found[0], low, high):
            return found
        following = self.next_along(found[0])
        while following != found[0]:
            found.append(following)
            if following == last:
                break
            following = self.next_along(following)
        return found

    def require(self, node: int) -> None:
        if node not in self.nodes:
            raise DhtError(f"node {node} is not in the network; let it join first")

    def _passes(self, node: int, low: int, high: int) -> bool:
        """Whether one node owns all of a range both of whose ends it owns: it may own all but its middle."""
        end = self.identifier(node)
        return not low <= end < high or len(self.nodes) == 1
