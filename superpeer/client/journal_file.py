"""The file of a peer's memory: who may read it, and its tables, version by version."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

from superpeer.client.errors import DirectoryUnusable

MODE = 0o600
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO
APPLICATION_ID = 0x53505252

FIRST = """\
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE subscriptions (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE marks (origin BLOB PRIMARY KEY, generation INTEGER NOT NULL, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (serial INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, is_logged INTEGER NOT NULL);
CREATE TABLE formers (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE seen (position INTEGER PRIMARY KEY, publisher BLOB NOT NULL, serial INTEGER NOT NULL);
CREATE UNIQUE INDEX seen_names ON seen (publisher, serial);
CREATE TABLE holdings (subject TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE downloads (id TEXT PRIMARY KEY, resource TEXT NOT NULL, owner TEXT NOT NULL, owner_at BLOB NOT NULL,
                        content BLOB, failure TEXT NOT NULL);
CREATE TABLE offers (resource TEXT PRIMARY KEY, path TEXT NOT NULL, is_base INTEGER NOT NULL) WITHOUT ROWID;
"""

TAKEN = """\
CREATE TABLE taken (position INTEGER PRIMARY KEY, publisher BLOB, serial INTEGER, origin BLOB, generation INTEGER,
                    number INTEGER);
"""

VERSIONS = (FIRST, TAKEN)
"""What each version adds to the one before."""


def make_file(path: Path) -> None:
    """The file, empty, if it is not there; nobody else can read it at any moment."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
        status = os.fstat(descriptor)
        os.close(descriptor)
    except OSError as error:
        raise DirectoryUnusable(path.parent, error.strerror or str(error)) from error
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & OPEN_TO_OTHERS:
        raise DirectoryUnusable(
            path.parent, f"{path.name} has to be a file of yours that others cannot read; chmod 600"
        )


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Bring the tables up to the present version."""
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA secure_delete = ON")
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    database.execute("BEGIN IMMEDIATE")
    is_ours = application == APPLICATION_ID if version else application == 0
    if is_ours and version < len(VERSIONS):
        for added in VERSIONS[version:]:
            for statement in filter(str.strip, added.split(";")):
                database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {len(VERSIONS)}")
    database.execute("COMMIT")
    if not is_ours or version > len(VERSIONS):
        why = f"{path.name} is of another program or a later version; use the version that wrote it"
        raise DirectoryUnusable(path.parent, why)
