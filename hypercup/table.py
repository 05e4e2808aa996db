"""The table of entries: everything one member knows of the others, with digests that follow each change.

Two members have the same view when they know the same *living* entries, so the digest covers these only. It
is the sum of the entries' fingerprints: a change costs one addition, whatever the size of the table. Keys are
dealt into buckets with a digest each, so that two members find out in one message where they differ.

*Tombstones*, the entries of those who left or died, are outside the digest. They matter only when an old
living entry turns up again, and to find dead members after a partition. They are kept for a stated time and
number, then forgotten. Should somebody still remember a forgotten member as living, its neighbours find it
silent and pronounce it dead again.

A table can be shared: a fork keeps its own changes above a common base, so that a simulation of thousands of
members holds the entries once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypercup.entry import FINGERPRINT_BYTES, Entry, merge

BUCKETS = 256
BUCKET_DIGEST_BYTES = 8
MODULUS = 1 << (8 * FINGERPRINT_BYTES)


def bucket_of(key: bytes) -> int:
    """The bucket of a key. Keys are public keys, so any byte of them is as good as a hash."""
    return key[-1]


class Table:
    """Entries by key, merged as they come."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._base: dict[bytes, Entry] = {}
        self._changes: dict[bytes, Entry] = {}
        self._sums = [0] * BUCKETS
        self._total = 0
        self._digest = b""
        self._buried: dict[bytes, float] = {}
        self._living = 0
        for entry in entries:
            self.put(entry, now=0.0)

    def fork(self) -> Table:
        """A table of the same entries that shares them with this one until either changes."""
        self._fold()
        table = Table()
        table._base = self._base
        table._sums, table._total, table._digest = self._sums[:], self._total, self._digest
        table._buried, table._living = dict(self._buried), self._living
        return table

    def __len__(self) -> int:
        return self._living + len(self._buried)

    def __iter__(self) -> Iterator[Entry]:
        changes = self._changes
        yield from (entry for key, entry in self._base.items() if key not in changes)
        yield from changes.values()

    def get(self, key: bytes) -> Entry | None:
        entry = self._changes.get(key)
        return entry if entry is not None else self._base.get(key)

    @property
    def living_count(self) -> int:
        return self._living

    @property
    def living(self) -> Iterator[Entry]:
        return (entry for entry in self if entry.is_alive)

    @property
    def tombstones(self) -> list[Entry]:
        """Those who left or died, the longest known first."""
        return [entry for key in self._buried if (entry := self.get(key)) is not None]

    @property
    def digest(self) -> bytes:
        """Equal for two tables exactly when they have the same living entries."""
        if not self._digest:
            self._digest = self._total.to_bytes(FINGERPRINT_BYTES, "big")
        return self._digest

    @property
    def bucket_digests(self) -> tuple[bytes, ...]:
        mask = (1 << 8 * BUCKET_DIGEST_BYTES) - 1
        return tuple((total & mask).to_bytes(BUCKET_DIGEST_BYTES, "big") for total in self._sums)

    def put(self, entry: Entry, now: float) -> bool:
        """Merge an entry; whether it was news."""
        known = self.get(entry.key)
        if known is not None and merge(known, entry) is known:
            return False
        if known is not None:
            self._count(known, -1)
        self._buried.pop(entry.key, None)
        self._count(entry, 1)
        if not entry.is_alive:
            self._buried[entry.key] = now
        self._changes[entry.key] = entry
        if len(self._changes) > 64 + len(self._base):
            self._fold()
        return True

    def forget(self, before: float, keep: int) -> None:
        """Drop the tombstones that were set before a time, and the oldest beyond a number."""
        surplus = len(self._buried) - keep
        gone: list[bytes] = []
        for key, since in self._buried.items():
            if since >= before and len(gone) >= surplus:
                break
            gone.append(key)
        if gone:
            self._fold()
            self._base = dict(self._base)
            for key in gone:
                del self._base[key], self._buried[key]

    def in_buckets(self, buckets: Iterable[int]) -> list[Entry]:
        """All entries of some buckets, tombstones too."""
        wanted = set(buckets)
        return [entry for entry in self if bucket_of(entry.key) in wanted]

    def _count(self, entry: Entry, times: int) -> None:
        if entry.is_alive:
            self._living += times
            self._total = (self._total + times * entry.fingerprint) % MODULUS
            bucket = bucket_of(entry.key)
            self._sums[bucket] = (self._sums[bucket] + times * entry.fingerprint) % MODULUS
            self._digest = b""

    def _fold(self) -> None:
        if self._changes:
            self._base = {**self._base, **self._changes}
            self._changes = {}
