"""The store: the disk of one super-peer, a directory with a database and some files.

`commit` is one transaction, and durable when it returns: SQLite has written it to its write-ahead log and forced that
to the disk (`synchronous=FULL`). After the loss of power, everything that was committed is there and a commit that was
broken off is not there at all, as far as the disk keeps its word about what it has written. Whatever goes wrong in a
commit ends the use of this object: the positions in memory would no longer be those on disk. A new one finds what was
committed.

It belongs to one thread at a time; `writer` runs it in one of its own.
"""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from hypercup import Entry
from superpeer.node.state import State
from superpeer.store.changes import Change, EntryDropped, Setting
from superpeer.store.coding import ENTRY, BrokenSeal, read, unseal
from superpeer.store.errors import StoreClosed, StoreDamaged, StoreExists, StoreFailed, StoreUnusable
from superpeer.store.files import FILE_MODE, Files, force_to_disk
from superpeer.store.opening import DATABASE, FILES, connect, explained, lock, open_database, prepare_directory
from superpeer.store.positions import Positions
from superpeer.store.reading import Finding, Reading, rows_of
from superpeer.store.schema import STEPS, Step
from superpeer.store.writing import Batch

BACKUP_PAGES = 256
"""So many are copied before commits that wait get their turn."""


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Millions of objects are made here and none is given up: looking for garbage among them would double the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Store:
    """Opens a directory, or makes it. Whoever opens it has it alone."""

    def __init__(self, directory: Path | str, *, steps: Sequence[Step] = STEPS) -> None:
        self.directory = Path(directory)
        self.path = self.directory / DATABASE
        self._positions: Positions | None = None
        self._failure = ""
        self._removes_files = True
        self._dropped_files: set[bytes] = set()
        self._files = Files(self.directory / FILES)
        prepare_directory(self.directory)
        self._lock: int | None = lock(self.directory)
        try:
            self._connection = open_database(self.directory, steps)
            self._files.make()
        except BaseException as error:
            self._unlock()
            if isinstance(error, OSError):
                raise StoreUnusable(self.directory, error.strerror or type(error).__name__) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.directory}{', closed' if self._lock is None else ''}>"

    def load(self) -> State:
        """What all that was ever committed adds up to. The caller may do with it what it likes."""
        self._require_open()
        reading = Reading(rows_of(self._connection), self._files)
        try:
            with _no_garbage():
                reading.run()
            self._connection.executemany("DELETE FROM publications WHERE id = ?", [(one,) for one in reading.orphans])
        except Finding as finding:
            raise StoreDamaged(self.path, str(finding)) from finding
        except sqlite3.Error as error:
            raise explained(self.path, error) from error
        self._files.sweep(reading.positions.file_users)
        self._positions = reading.positions
        return reading.state

    def commit(self, changes: Sequence[Change]) -> None:
        """Makes everything durable together, or nothing of it and raises `StoreFailed`."""
        if changes:
            self.transact(lambda batch: batch.apply(changes))
        else:
            self._require_open()

    def transact(self, prepare: Callable[[Batch], None]) -> None:
        """Makes durable what somebody puts into a batch."""
        self._require_open()
        if self._positions is None:
            self.load()
            assert self._positions is not None
        connection, batch = self._connection, Batch(self._connection, self._positions)
        # Until the end is reached: what is in memory and what is on disk may differ.
        self._failure = "a commit was broken off"
        try:
            connection.execute("BEGIN IMMEDIATE")
            prepare(batch)
            batch.write()
            self._files.put(batch.contents)
            connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._failure = str(error)
            raise StoreFailed(self.path, self._failure) from error
        finally:
            if connection.in_transaction:
                self._roll_back()
        self._failure = ""
        self._dropped_files |= batch.dropped_contents
        self._remove_files()

    def keep_entry(self, entry: Entry) -> None:
        """Remembers what is known of a member: this super-peer itself, with its incarnation, or an acquaintance."""
        self.commit([entry])

    def drop_entry(self, key: bytes) -> None:
        self.commit([EntryDropped(key)])

    def entries(self) -> list[Entry]:
        """All members that were kept, in the order of their keys."""
        self._require_open()
        try:
            rows = self._connection.execute("SELECT key, value FROM members ORDER BY key").fetchall()
            return [read(ENTRY, key, value) for key, value in rows]
        except BrokenSeal as error:
            raise StoreDamaged(self.path, "a row does not hold what was written (in members)") from error
        except sqlite3.Error as error:
            raise explained(self.path, error) from error

    def keep_setting(self, name: str, value: bytes | None) -> None:
        """Remembers something small under a name; None takes it away."""
        self.commit([Setting(name, value)])

    def settings(self) -> dict[str, bytes]:
        self._require_open()
        try:
            rows = self._connection.execute("SELECT name, value FROM settings ORDER BY name").fetchall()
            return {name: unseal(name, value) for name, value in rows}
        except BrokenSeal as error:
            raise StoreDamaged(self.path, "a row does not hold what was written (in settings)") from error
        except sqlite3.Error as error:
            raise explained(self.path, error) from error

    def backup(self, target: Path | str) -> None:
        """A copy of the store as it is now, as a directory that can be opened as a store."""
        finish_backup(self.begin_backup(target), target)

    def begin_backup(self, target: Path | str, between: Callable[[], None] = lambda: None) -> Path:
        """Copies the store, in small steps, into a directory beside the target; `finish_backup` makes it the target.
        What `between` commits between the steps is in the copy or is not, all up to some moment."""
        self._require_open()
        target = Path(target)
        if target.exists():
            raise StoreExists(target)
        try:
            begun = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=".new", dir=target.parent))
        except OSError as error:
            raise StoreUnusable(target, error.strerror or type(error).__name__) from error
        try:
            self._removes_files = False
            self._copy_into(begun, between)
        except BaseException as error:
            shutil.rmtree(begun, ignore_errors=True)
            if isinstance(error, sqlite3.Error | OSError):
                raise StoreUnusable(target, str(error)) from error
            raise
        finally:
            self._removes_files = True
            self._remove_files()
        return begun

    def close(self) -> None:
        """Ends the use of the store. Closing twice is harmless."""
        if self._lock is not None:
            try:
                self._connection.close()
            finally:
                self._unlock()

    def _copy_into(self, directory: Path, between: Callable[[], None]) -> None:
        path = directory / DATABASE
        path.touch(FILE_MODE)
        copy = connect(path)
        try:
            copy.execute("PRAGMA synchronous = OFF")  # It is forced to disk at the end.
            # What this connection commits meanwhile, SQLite also writes to the part that is copied already.
            self._connection.backup(copy, pages=BACKUP_PAGES, progress=lambda *_: between())
        finally:
            copy.close()
        Files(directory / FILES).make()
        for digest in self._contents():
            source = self._files.path(digest)
            shutil.copy2(source, directory / FILES / source.name)
            between()

    def _remove_files(self) -> None:
        """Those that nobody needs any more; a copy that is being made may need them."""
        if self._removes_files:
            assert self._positions is not None or not self._dropped_files
            needed = self._positions.file_users.keys() if self._positions is not None else set()
            self._files.remove(self._dropped_files - needed)
            self._dropped_files.clear()

    def _contents(self) -> list[bytes]:
        if self._positions is None:
            self.load()
            assert self._positions is not None
        return list(self._positions.file_users)

    def _roll_back(self) -> None:
        try:
            self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            # The error that led here is the one to tell; without a commit the next opening rolls back as well.
            self._failure = self._failure or str(error)

    def _require_open(self) -> None:
        if self._lock is None:
            raise StoreClosed(self.directory)
        if self._failure:
            raise StoreFailed(self.path, self._failure)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def finish_backup(begun: Path, target: Path | str) -> None:
    """Forces a copy to disk, and gives it its name. This needs no store."""
    target = Path(target)
    try:
        for one in (*(begun / FILES).iterdir(), begun / DATABASE):
            with one.open("rb") as file:
                os.fsync(file.fileno())
        force_to_disk(begun / FILES)
        force_to_disk(begun)
        begun.rename(target)
        force_to_disk(target.parent)
    except OSError as error:
        raise StoreUnusable(target, str(error)) from error
    finally:
        shutil.rmtree(begun, ignore_errors=True)
