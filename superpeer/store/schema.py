"""The tables of the store, its version, and how an older one becomes a newer one.

A version is a step: a list of statements that brings the version before to it. A new store goes through all of them, so
there is one way to get to a schema and not two. `user_version` counts the steps taken, and `application_id` says that a
file is ours. All steps that are missing are taken in one transaction: a store is at a version, never between two.

    publications     what was published, once, whoever waits for it; gone when neither the log nor a queue needs it
    log              what each number of the log stands for; log_status: its generation, and how far it is trimmed
    deliveries       a publication with all local peers whose queues it was put into in one step, one row for all
    peers            for each peer a number, and its small change: how far its queue is taken, losses, its last serial
    marks            how far into each origin's log a queue has got, apart from what `deliveries` tells
    subscriptions, orders, rendezvous, files, advertisements, handovers    what else there is of a peer
    registry, moved  registrations, departures and bans; where peers went
    members          membership entries: this super-peer's own and its acquaintances
    settings         small things by name
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

APPLICATION_ID = 0x53_50_65_72
"""The letters SPer."""

Step = Sequence[str]

KEYED = ("subscriptions", "orders", "rendezvous", "files")
"""Tables of what a peer has by name. Row ids grow, so that they tell the order in which things came."""

STEPS: tuple[Step, ...] = (
    (
        "CREATE TABLE publications (id INTEGER PRIMARY KEY, data BLOB NOT NULL, digest BLOB NOT NULL)",
        "CREATE TABLE log (number INTEGER PRIMARY KEY, publication INTEGER NOT NULL,"
        " is_acknowledged INTEGER NOT NULL, seal INTEGER NOT NULL)",
        "CREATE TABLE log_status (id INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        "CREATE TABLE deliveries (id INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        "CREATE TABLE peers (id INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        "CREATE TABLE marks (peer INTEGER NOT NULL, origin BLOB NOT NULL, place BLOB NOT NULL,"
        " PRIMARY KEY (peer, origin)) WITHOUT ROWID",
        *(
            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, peer INTEGER NOT NULL, name NOT NULL, value BLOB NOT NULL,"
            " UNIQUE (peer, name))"
            for table in KEYED
        ),
        "CREATE TABLE advertisements (peer INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        "CREATE TABLE handovers (peer INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        "CREATE TABLE registry (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
        " UNIQUE (kind, key))",
        "CREATE TABLE moved (id INTEGER PRIMARY KEY, peer TEXT NOT NULL UNIQUE, value BLOB NOT NULL)",
        "CREATE TABLE members (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    ),
)


def version_of(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert isinstance(version, int)
    return version


def is_ours(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return bool(application == APPLICATION_ID)


def is_blank(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever written: a new file, or one whose making was interrupted."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return application == 0 and version_of(connection) == 0 and tables == 0


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> int:
    """Takes all steps that are missing; how many these were."""
    missing = steps[version_of(connection) :]
    if missing:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for step in missing:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(steps)}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    return len(missing)
