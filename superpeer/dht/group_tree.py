"""Virtual binary group trees: who of a group stores what (Lo, Section 3.2, after Karger and Ruhl's Diminished Chord).

The identifier space is halved level by level into regions; the owner of a region's end is its *region server*.
Members register at the servers of their own regions at every level down to the depth of the tree. Data goes from the
leaf server of its key upwards to the first one with registered members, and is stored at the member that follows its
key. Each level is *rotated* by a distance, so that one node does not serve regions of all levels. Data that found
nobody at the leaf is *remapped*, shifted into the other half of the region, whose members would otherwise not share
it.

Regions are computed, so there are no links to maintain. Only the registrations of members are state, and they are
a function of who the members are. A group without members leaves its data with the root's server.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from superpeer.dht.errors import DhtError
from superpeer.dht.hashing import hash_text
from superpeer.dht.table import HashTable

USUAL_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Shape:
    """How deep a tree is, and by how much of the space each level is rotated (Lo's r, at most size / log2 size)."""

    depth: int = USUAL_DEPTH
    rotation: float = 250 / 4096

    def __post_init__(self) -> None:
        if self.depth < 0 or not 0 <= self.rotation < 1:
            raise DhtError(
                "a group tree has a depth of at least 0 and a rotation of at least 0 and less than 1, "
                f"not {self.depth} and {self.rotation}"
            )

    def distance(self, size: int) -> int:
        return int(self.rotation * size)


class GroupTree:
    """The tree of one group on a hash table."""

    def __init__(self, table: HashTable, group: str, shape: Shape) -> None:
        self.group = group
        self.shape = shape
        self._table = table
        self._bits = table.bits
        self._start = hash_text(f"group {group}", table.bits)
        self._depth = min(shape.depth, table.bits)
        self._registered: dict[tuple[int, int], list[int]] = {}
        self._members: set[int] = set()
        self._places: dict[int, tuple[int, int, int]] = {}

    @property
    def levels(self) -> range:
        """From the root down."""
        return range(self._depth + 1)

    def region_server(self, level: int, key: int) -> int:
        """Lo's get_RegionServer: the key whose owner serves the region of a level that a key lies in. A region ends
        with its server's key, as in Lo's figures; as printed, the function has it in the next one."""
        size = 1 << self._bits
        start = (self._start - level * self.shape.distance(size)) % size
        region = size >> level
        return (((key - start - 1) % size // region + 1) * region + start) % size

    def remap(self, level: int, key: int) -> int:
        """Lo's ReMap: the same place in the other half of the region. Halves are counted as `region_server` does on the
        next level; with the sign of the rotation as printed they would be others than those of the servers."""
        size = 1 << self._bits
        region = size >> (level + 1)
        start = (self._start - (level + 1) * self.shape.distance(size)) % size
        is_even = (key - start - 1) % size // region % 2 == 0
        return (key + region if is_even else key - region) % size

    def register(self, members: Collection[int]) -> None:
        """These are the members now; their registrations are as if each had registered by itself."""
        self._registered = {}
        self._members = set()
        for member in members:
            self.add(member)
        self._places = {}

    def add(self, member: int) -> None:
        """A member registers with the servers of its regions."""
        if member in self._members:
            return
        self._members.add(member)
        self._places = {}
        identifier = self._table.identifier(member)
        for level in self.levels:
            self._registered.setdefault((level, self.region_server(level, identifier)), []).append(member)

    def servers(self, key: int) -> list[int]:
        """The region servers of a key, the leaf first."""
        return [self.region_server(level, key) for level in reversed(self.levels)]

    def locate(self, key: int) -> tuple[int, int, int]:
        """Which member stores data with this key, after how many servers it is found, and the key that it has then."""
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self._locate(key)
        return found

    def members_near(self, key: int) -> list[int]:
        """All members, those first who are registered where data with this key finds somebody, then those who are with
        the servers above."""
        found: dict[int, None] = {}
        for level in reversed(self.levels):
            members = self._registered.get((level, self.region_server(level, key)), ())
            found |= dict.fromkeys(sorted(members, key=lambda member: self._distance(key, member)))
        return list(found)

    def _locate(self, key: int) -> tuple[int, int, int]:
        for passed, level in enumerate(reversed(self.levels)):
            members = self._registered.get((level, self.region_server(level, key)))
            if members:
                final = key if level == self._depth else self.remap(level, key)
                return self._successor(final, members), passed + 1, final
        return self._table.owner(self.region_server(0, key)), len(self.levels), key

    def _successor(self, key: int, members: list[int]) -> int:
        """The member that would own a key if only these were in the network."""
        return min(members, key=lambda member: self._distance(key, member))

    def _distance(self, key: int, member: int) -> int:
        return (self._table.identifier(member) - key) % self._table.size


def similar_groups(
    members: Mapping[str, Collection[int]], at_least_equal: int, at_most_unequal: int
) -> list[frozenset[str]]:
    """Groups of topics whose members are much the same: at least so many are in all of them, and at most so many are
    not. Each root compares with others as it meets them, so this takes topics in order, one by one."""
    merged: list[list[str]] = []
    for topic in sorted(members):
        for topics in merged:
            together = [set(members[one]) for one in (*topics, topic)]
            common, every = set.intersection(*together), set.union(*together)
            if len(common) >= at_least_equal and len(every - common) <= at_most_unequal:
                topics.append(topic)
                break
        else:
            merged.append([topic])
    return [frozenset(topics) for topics in merged if len(topics) > 1]
