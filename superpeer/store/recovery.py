"""Recovery: a new store with what can be read of a damaged one, and a report of what cannot.

Nothing is changed where the damage is: a copy is read. What does not fit together is left out, and what is left is
written as if it had happened just so. Two things are not as before:

- The log gets a new generation unless all was found sound, and always if it is that of a backup. Numbers whose
  publications are unknown must not be given again, since subscribers hold what is not above their marks for old.
  All that is left of the log is offered anew, and those who had it are protected by what their clients remember.
- Positions in queues begin again. They have a meaning within a connection only.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from superpeer.node.forms import write_elements
from superpeer.node.records import (
    Acknowledged,
    Advertised,
    Arriving,
    Brought,
    CaughtUpHere,
    Enqueued,
    FileKept,
    Forgotten,
    HandingOver,
    Leaving,
    Missed,
    OrderKept,
    Published,
    Record,
    Registered,
    RendezvousKept,
    Subscribed,
)
from superpeer.node.state import PeerState, State
from superpeer.store.changes import Change, Setting
from superpeer.store.coding import ENTRY, BrokenSeal, read, unseal
from superpeer.store.errors import StoreDamaged, StoreExists, StoreNewer, StoreUnusable
from superpeer.store.files import Files
from superpeer.store.opening import DATABASE, FILES, check, connect, explained, lock, log_of
from superpeer.store.reading import Finding, Reading
from superpeer.store.salvage import Salvage, mend_header
from superpeer.store.schema import STEPS, migrate, version_of
from superpeer.store.store import Store
from superpeer.store.wal import unreachable_commits
from superpeer.store.writing import Batch

LOST_FILE = "its file was lost on a damaged disk; ask for it again"


@dataclass(frozen=True)
class Recovery:
    """What became of a damaged store."""

    lost: Counter[str]
    """By what was wrong, how often."""
    peers: int
    publications: int
    """In the log."""
    waiting: int
    """Notifications in queues."""
    is_new_log: bool

    def __str__(self) -> str:
        kept = f"kept {self.peers:,} peers, {self.publications:,} publications, {self.waiting:,} waiting notifications"
        if not self.lost:
            return f"{kept}; nothing was lost"
        findings = (f"{what}: {count:,} times" for what, count in sorted(self.lost.items()))
        return "\n".join([kept, "lost or doubtful:", *findings])


def recover(directory: Path | str, target: Path | str, *, is_backup: bool = False) -> Recovery:
    """Copies what can be read of a store into a new one. The old one must not be in use, and is left as it is.

    A backup does not know which numbers its log gave after it was made, so it gets a new log in any case.
    """
    directory, target = Path(directory), Path(target)
    if target.exists():
        raise StoreExists(target)
    if not (directory / DATABASE).is_file():
        raise StoreUnusable(directory / DATABASE, "there is no such file")
    held = lock(directory)
    try:
        workshop = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=".recovery", dir=target.parent))
    except OSError as error:
        os.close(held)
        raise StoreUnusable(target, error.strerror or type(error).__name__) from error
    try:
        with Store(workshop / "new") as new:
            result = _Recovering(directory, workshop, new).run(is_backup=is_backup)
        (workshop / "new").rename(target)
        return result
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(target, str(error)) from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
        os.close(held)


class _Recovering:
    def __init__(self, directory: Path, workshop: Path, new: Store) -> None:
        self._path = directory / DATABASE
        self._files = Files(directory / FILES)
        self._workshop = workshop
        self._new = new
        self._lost: Counter[str] = Counter()

    def run(self, *, is_backup: bool) -> Recovery:
        connection = self._copy()
        try:
            salvage = Salvage(connection, lambda table: self._note(Finding(table, "rows cannot be read")))
            reading = Reading(salvage.rows, self._files, self._note)
            reading.run()
            others = list(self._others(salvage))
        finally:
            connection.close()
        state = reading.state
        for peer, file in reading.lost_contents:
            if file.rendezvous.requester == peer and peer in state.peers:
                failed = msgspec.structs.replace(file.rendezvous, failure=LOST_FILE)
                state.peers[peer].rendezvous[failed.id] = failed
        generation, trimmed = state.log.generation, state.log.trimmed
        is_new_log = bool(generation) and (is_backup or bool(self._lost))
        if is_new_log:
            generation = max(generation + 1, int(time.time() * 1000))
            trimmed = max(0, reading.last_number - trimmed - len(state.log))
        self._new.transact(partial(rebuild, state, generation, trimmed))
        self._new.commit(others)
        waiting = sum(len(kept.queue.entries) for kept in state.peers.values())
        return Recovery(self._lost, len(state.peers), len(state.log), waiting, is_new_log)

    def _note(self, finding: Finding) -> None:
        self._lost[str(finding)] += 1

    def _copy(self) -> sqlite3.Connection:
        """A copy of the database, with its write-ahead log if that lets it be read."""
        copy = self._workshop / DATABASE
        for with_log in (True, False):
            shutil.copyfile(self._path, copy)
            mend_header(copy, self._new.path)
            for suffix in ("-wal", "-shm"):
                copy.with_name(copy.name + suffix).unlink(missing_ok=True)
            log = log_of(self._path)
            if with_log and unreachable_commits(log) > 1:
                self._note(Finding(log.name, "the last commits cannot be read"))
            if with_log and log.exists():
                shutil.copyfile(log, copy.with_name(log.name))
            connection = connect(copy)
            try:
                version = version_of(connection)
                if version > len(STEPS):
                    raise StoreNewer(self._path, version, len(STEPS))
                migrate(connection)
                self._check(connection)
                return connection
            except sqlite3.DatabaseError as error:
                connection.close()
                if not with_log:
                    raise explained(self._path, error) from error
                self._note(Finding(log.name, "the last commits cannot be read"))
        raise AssertionError("one of the two returns or raises")

    def _check(self, connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        try:
            check(connection, self._path)
        except (StoreDamaged, sqlite3.DatabaseError):
            self._note(Finding(DATABASE, "its structure is damaged"))

    def _others(self, salvage: Salvage) -> Iterator[Change]:
        for key, value in salvage.rows("members", "key"):
            try:
                yield read(ENTRY, key, value)
            except BrokenSeal:
                self._note(Finding("members", "a row does not hold what was written"))
        for name, value in salvage.rows("settings", "name"):
            try:
                yield Setting(name, unseal(name, value))
            except BrokenSeal:
                self._note(Finding("settings", "a row does not hold what was written"))


def rebuild(state: State, generation: int, trimmed: int, batch: Batch) -> None:
    """Puts into the batch of a new store what makes it have a state, with its log under these numbers."""
    if generation:
        batch.begin_log(generation, trimmed)
    batch.apply(_log(state, generation, trimmed))
    batch.apply(Forgotten(publisher) for publisher in {one.publisher for one in state.log})
    batch.apply(Forgotten(peer, moved_to) for peer, moved_to in state.moved.items())
    batch.apply(Registered(record) for record in state.registry.values())
    for name, kept in state.peers.items():
        batch.apply(_peer(name, kept))
        batch.set_last_serial(name, kept.last_serial)


def _log(state: State, generation: int, trimmed: int) -> Iterator[Record]:
    for number, publication in enumerate(state.log, trimmed + 1):
        yield Published(msgspec.structs.replace(publication, place=(generation, number)))
        if publication.place[1] not in state.log.unacknowledged:
            yield Acknowledged(number)


def _peer(name: str, kept: PeerState) -> Iterator[Record]:
    yield Missed(name, kept.queue.lost)
    yield Arriving(name, kept.came_from)
    yield Brought(name, tuple(kept.queue.marks.items()))
    if kept.has_caught_up_here:
        yield CaughtUpHere(name)
    if kept.is_arriving:
        yield Arriving(name, kept.came_from)
    for subscription in kept.subscriptions.values():
        yield Subscribed(name, subscription)
    if kept.elements is not None:
        yield Advertised(name, write_elements(kept.elements))
    if kept.is_leaving:
        yield Leaving(name)
    for order in kept.orders.values():
        yield OrderKept(name, order)
    if kept.handing_over is not None:
        yield HandingOver(name, kept.handing_over)
    for rendezvous in kept.rendezvous.values():
        yield RendezvousKept(name, rendezvous)
    for file in kept.files.values():
        yield FileKept(name, file.rendezvous, file.digest, file.content, file.at)
    for entry in kept.queue.entries:
        yield Enqueued(entry.publication, ((name, entry.subscriptions),), entry.at, entry.is_history)
