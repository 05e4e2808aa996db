"""What one member knows, and what it makes of an entry that somebody tells it.

An entry is taken in when it is greater than the known one, keeps the limits and is signed by those whose
words it carries. Two are special. One about the member itself comes from an earlier life, or is a verdict:
it must be answered. And a verdict at second hand, on somebody who is alive as far as this member knows, is
held back until the accused had time to refute it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from math import inf
from typing import NamedTuple

import msgspec

from hypercup.entry import Entry, Identity, Status, check_limits
from hypercup.errors import InvalidEntry
from hypercup.table import BUCKETS, Table, bucket_of
from hypercup.timing import Timing


class Lesson(Enum):
    """What became of an entry."""

    KNOWN = auto()
    NEW = auto()
    REFUSED = auto()
    HELD = auto()
    ABOUT_ME = auto()


class Held(NamedTuple):
    entry: Entry
    believe_at: float


class Knowledge:
    """The table of one member, its own entry in it, and the verdicts it does not believe yet."""

    def __init__(self, identity: Identity, table: Table, timing: Timing) -> None:
        entry = table.get(identity.key)
        assert entry is not None, "a member has an entry of its own"
        self.identity = identity
        self.entry = entry
        self.table = table
        self.refused = 0
        self.believe_at = inf
        self._timing = timing
        self._held: dict[bytes, Held] = {}

    def learn(self, entry: Entry, now: float, *, is_news: bool) -> Lesson:
        """Take in an entry, if it is to be taken in."""
        known = self.table.get(entry.key)
        if known is not None and known.rank >= entry.rank:
            return Lesson.KNOWN
        if not self._is_acceptable(entry, known):
            self.refused += 1
            return Lesson.REFUSED
        if entry.key == self.identity.key:
            return Lesson.ABOUT_ME
        if entry.status is Status.DEAD and known is not None and known.is_alive and not is_news:
            if entry.key in self._held:
                return Lesson.KNOWN
            self._held[entry.key] = Held(entry, now + self._timing.refute_s)
            self.believe_at = min(self.believe_at, now + self._timing.refute_s)
            return Lesson.HELD
        self.put(entry, now)
        return Lesson.NEW

    def put(self, entry: Entry, now: float) -> None:
        """Take in an entry without asking; one of its own, say."""
        held = self._held.get(entry.key)
        if held is not None and held.entry.incarnation < entry.incarnation:
            del self._held[entry.key]
        self.table.put(entry, now)

    def restate(self, now: float, **changes: object) -> None:
        """Say something else of oneself."""
        changes.setdefault("version", self.entry.version + 1)
        self.entry = self.identity.signed(msgspec.structs.replace(self.entry, **changes))
        self.put(self.entry, now)

    def believe_held(self, now: float) -> None:
        """Believe the verdicts that nobody refuted in time."""
        if now >= self.believe_at:
            due = [held.entry for held in self._held.values() if held.believe_at <= now]
            for entry in due:
                del self._held[entry.key]
                self.put(entry, now)
            self.believe_at = min((held.believe_at for held in self._held.values()), default=inf)

    def differing(self, digests: tuple[bytes, ...]) -> Iterator[list[int]]:
        """The buckets in which another table differs, in groups whose entries fit into one message."""
        sizes = [0] * BUCKETS
        for entry in self.table:
            sizes[bucket_of(entry.key)] += 1
        group: list[int] = []
        filled = 0
        for bucket, (mine, theirs) in enumerate(zip(self.table.bucket_digests, digests, strict=True)):
            if mine == theirs:
                continue
            if group and filled + sizes[bucket] > self._timing.entries_per_message:
                yield group
                group, filled = [], 0
            group.append(bucket)
            filled += sizes[bucket]
        if group:
            yield group

    def better_than(self, entries: Iterable[Entry], buckets: Iterable[int]) -> Iterator[list[Entry]]:
        """What is known beyond all the entries that another has in some buckets, a message at a time."""
        theirs = {entry.key: entry for entry in entries}
        better = [
            entry
            for entry in self.table.in_buckets(buckets)
            if entry.key not in theirs or entry.rank > theirs[entry.key].rank
        ]
        size = self._timing.entries_per_message
        return (better[start : start + size] for start in range(0, len(better), size))

    def _is_acceptable(self, entry: Entry, known: Entry | None) -> bool:
        try:
            check_limits(entry)
        except InvalidEntry:
            return False
        most = 2 * (self._timing.max_members + self._timing.max_tombstones)
        return (known is not None or len(self.table) < most) and self.identity.is_genuine(entry)
