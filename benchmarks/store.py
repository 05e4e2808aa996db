"""The store: how many publications a second are put into the queues of local subscribers, durably.

Beside a bare loop that appends the same bytes to one table of SQLite, with the same settings and in groups of the same
size. The forced write to the disk decides at small groups, Python at large ones. "Enqueued" is a publication in the
log and in the queues; "for its whole life" it is also acknowledged, received by everybody and trimmed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

from rich.console import Console
from rich.table import Table

from auth import Proof, PublicId, PublicKey
from benchmarks.measuring import Rate, rates
from benchmarks.workload import Bibliography
from superpeer.node.body import write_body
from superpeer.node.publications import Draft, Kind, Publication
from superpeer.node.records import Acknowledged, Dequeued, Enqueued, LogBegun, LogTrimmed, Published, Record
from superpeer.store.coding import encode
from superpeer.store.opening import connect
from superpeer.store.store import Store

SEED = 20_040_510
SUBSCRIBERS = (1, 10, 100)
GROUPS = {1: 100, 16: 1_600, 256: 12_800}
"""By the size of a group, how many publications are written in a round."""
ROUNDS = 5


class Feed:
    """Publications that come one after the other, and the records that a node makes of them."""

    def __init__(self, subscribers: int) -> None:
        self._random = Random(SEED)
        self._bodies = [write_body(triples) for triples in Bibliography(SEED).publications(500)]
        self._key, self._salt = PublicKey(self._random.randbytes(32)), bytes(32)
        self._names = [str(PublicId(self._random.randbytes(32))) for _ in range(subscribers)]
        self._recipients = tuple((name, ("subscription 1",)) for name in self._names)
        self._number = 0

    def publications(self, count: int) -> list[Publication]:
        found = []
        for _ in range(count):
            self._number += 1
            proof = Proof(0, 1, b"", self._random.randbytes(64))
            body = self._bodies[self._number % len(self._bodies)]
            draft = Draft(self._key, self._salt, self._number, Kind.NEW, body, proof)
            found.append(Publication(bytes(32), (1, self._number), 1.75e9 + self._number, draft))
        return found

    def enqueued(self, publications: Sequence[Publication]) -> list[Record]:
        return [
            record
            for one in publications
            for record in (Published(one), Enqueued(one, self._recipients, one.published_at))
        ]

    def ended(self, publications: Sequence[Publication]) -> list[Record]:
        last = publications[-1].place[1]
        acknowledged = [Acknowledged(one.place[1]) for one in publications]
        return [*acknowledged, *(Dequeued(name, last) for name in self._names), LogTrimmed(last)]


def main() -> None:
    table = Table(title="Publications a second, made durable: median (least..most)", title_justify="left")
    columns = ("subscribers", "in a group", "bare append", "enqueued", "ratio", "for its whole life", "ratio")
    for column in columns:
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as scratch:
        for subscribers in SUBSCRIBERS:
            for group, count in GROUPS.items():
                measured = _measure(Path(scratch) / f"{subscribers} {group}", subscribers, group, count)
                bare, enqueued, whole = measured.values()
                ratios = [f"{_ratio(one, bare):.2f}" for one in (enqueued, whole)]
                cells = (str(bare), str(enqueued), ratios[0], str(whole), ratios[1])
                table.add_row(f"{subscribers}", f"{group}", *cells)
    Console(width=140).print(table)


def _ratio(one: Rate, other: Rate) -> float:
    return median(mine / its for mine, its in zip(one.per_round, other.per_round, strict=True))


def _measure(directory: Path, subscribers: int, group: int, count: int) -> dict[str, Rate]:
    directory.mkdir()
    # What the store writes for a publication: itself, and 30 bytes for each queue.
    feed = Feed(subscribers)
    row = encode(feed.publications(1)[0]) + bytes(30 * subscribers)
    bare = connect(directory / "bare.db")
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 4000", "secure_delete = OFF"):
        bare.execute(f"PRAGMA {pragma}").fetchall()
    bare.execute("CREATE TABLE bytes (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")

    def append() -> int:
        for _ in range(0, count, group):
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany("INSERT INTO bytes (data) VALUES (?)", [(row,)] * group)
            bare.execute("COMMIT")
        return count

    with Store(directory / "enqueued") as first, Store(directory / "whole") as second:
        for store in (first, second):
            store.commit([LogBegun(1)])
        enqueued = [_enqueued(feed, group, count) for feed in [Feed(subscribers)] for _ in range(ROUNDS)]
        whole = [_lived(feed, group, count) for feed in [Feed(subscribers)] for _ in range(ROUNDS)]
        work: dict[str, Callable[[], int]] = {
            "bare": append,
            "enqueued": partial(_commit, first, enqueued, count),
            "whole": partial(_commit, second, whole, count),
        }
        measured = rates(work, ROUNDS)
    bare.close()
    return measured


def _commit(store: Store, rounds: list[list[list[Record]]], count: int) -> int:
    for records in rounds.pop(0):
        store.commit(records)
    return count


def _enqueued(feed: Feed, group: int, count: int) -> list[list[Record]]:
    return [feed.enqueued(feed.publications(group)) for _ in range(0, count, group)]


def _lived(feed: Feed, group: int, count: int) -> list[list[Record]]:
    """In each commit some publications begin and those of the one before end, as at a super-peer that is busy."""
    found: list[list[Record]] = []
    before: list[Publication] = []
    for _ in range(0, count, group):
        publications = feed.publications(group)
        found.append([*feed.enqueued(publications), *(feed.ended(before) if before else ())])
        before = publications
    return [*found, feed.ended(before)]


if __name__ == "__main__":
    main()
