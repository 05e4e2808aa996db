"""Opening: who may use a directory, and whether the file in it is a store that can be trusted.

A lock on a file of its own keeps two super-peers apart from the first moment. SQLite's own lock is held as well, for
good, so that no other program reads or writes the database while a super-peer runs; it also lets SQLite keep the index
of its write-ahead log in memory instead of a third file.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path

from superpeer.store.errors import (
    StoreDamaged,
    StoreExposed,
    StoreForeign,
    StoreLocked,
    StoreNewer,
    StoreUnusable,
)
from superpeer.store.files import DIRECTORY_MODE, FILE_MODE, force_to_disk
from superpeer.store.schema import STEPS, Step, is_blank, is_ours, migrate, version_of
from superpeer.store.wal import unreachable_commits

DATABASE = "superpeer.db"
LOCK = "lock"
FILES = "files"
MAGIC = b"SQLite format 3\0"

CACHE_KIB = 32 * 1024
CHECKPOINT_PAGES = 4_000
"""A commit that finds the write-ahead log longer moves it into the database: larger means fewer of these pauses."""


def prepare_directory(directory: Path) -> None:
    """The directory is there, is ours and is closed to others."""
    try:
        directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        _check_mode(directory, "700")
    except OSError as error:
        raise StoreUnusable(directory, error.strerror or type(error).__name__) from error


def lock(directory: Path) -> int:
    """An open file that holds the lock; closing it, or the end of the process, lets go."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, FILE_MODE)
    except OSError as error:
        raise StoreUnusable(directory, error.strerror or type(error).__name__) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreLocked(directory) from error
    except OSError as error:
        os.close(descriptor)
        raise StoreUnusable(directory, error.strerror or type(error).__name__) from error
    return descriptor


def open_database(directory: Path, steps: Sequence[Step] = STEPS) -> sqlite3.Connection:
    """The database, new if there is none, at the present version, and found sound."""
    path = directory / DATABASE
    _prepare_file(directory, path)
    unreachable = unreachable_commits(log_of(path))
    if unreachable > 1:
        raise StoreDamaged(path, f"{unreachable} commits in its write-ahead log cannot be read")
    connection = connect(path)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        is_new = is_blank(connection)
        if is_new:
            _require_unused(directory, path)
        if not is_new and not is_ours(connection):
            raise StoreForeign(path)
        if version_of(connection) > len(steps):
            raise StoreNewer(path, version_of(connection), len(steps))
        _configure(connection)
        check(connection, path)
        if migrate(connection, steps):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            force_to_disk(directory)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise explained(path, error) from error
        raise
    return connection


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def connect(path: Path) -> sqlite3.Connection:
    """Transactions are begun and ended by those who make them; one thread at a time."""
    return sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False, cached_statements=256)


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Reads every page. Not `quick_check`: that leaves out whether indices fit their tables, and ours are small."""
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreDamaged(path, " ".join(str(found).replace("*** in database main ***", "").split()))


def explained(path: Path, error: sqlite3.Error) -> Exception:
    """An error of SQLite while a store is opened or read, as one of ours."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked(path)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM):
        return StoreUnusable(path, str(error))
    # The text of this one quotes what was found.
    reason = "what should be text is none" if str(error).startswith("Could not decode") else str(error)
    return StoreDamaged(path, reason)


def _configure(connection: sqlite3.Connection) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"cache_size = -{CACHE_KIB}",
        "cell_size_check = ON",
        "trusted_schema = OFF",
        "temp_store = MEMORY",
        # Overwriting what is deleted would write every publication twice.
        "secure_delete = OFF",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _prepare_file(directory: Path, path: Path) -> None:
    try:
        if not path.exists():
            _require_unused(directory, path)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
            force_to_disk(directory)
        _check_mode(path, "600")
        with path.open("r+b") as file:
            beginning = file.read(len(MAGIC))
        if beginning and beginning != MAGIC:
            raise StoreDamaged(path, "it does not begin like a database")
    except OSError as error:
        raise StoreUnusable(path, error.strerror or type(error).__name__) from error


def _require_unused(directory: Path, path: Path) -> None:
    """A directory for files is made after the database, so with one there was a database."""
    if (directory / FILES).exists():
        raise StoreDamaged(path, "the database is missing or empty, and its files are there")


def _check_mode(path: Path, mode: str) -> None:
    status = path.stat()
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise StoreExposed(path, mode)
