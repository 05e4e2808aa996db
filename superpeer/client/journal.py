"""A peer's memory on disk: one SQLite file, of mode 0600, in the peer's directory.

Every change of the `Memory` goes through here and is in the file when the method returns, so a process may be killed at
any moment. It is *forced* to disk, against a loss of power, by `sync`, which many wait for together; a peer does so
before it says anything that rests on it: a publication under a new serial, a request to attach, what it has received.

The file has credentials in it. It is a secret as the key file is.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from auth import Credentials, Identity
from superpeer.client.downloads import KeptDownload
from superpeer.client.errors import DirectoryInUse, DirectoryUnusable
from superpeer.client.memory import Memory, Posting
from superpeer.node.body import read_body
from superpeer.node.coding import Code
from superpeer.node.forms import ElementForm
from superpeer.node.publications import Kind, Publication
from superpeer.node.records import Subscription

FILE_NAME = "memory.db"
MODE = 0o600
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO
APPLICATION_ID = 0x53505252
VERSION = 1
PAGE_ROWS = 500
BUSY_S = 0.5

SCHEMA = """
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

_credentials: Code[Credentials] = Code(Credentials)
_subscriptions: Code[Subscription] = Code(Subscription)
_elements: Code[tuple[ElementForm, ...]] = Code(tuple[ElementForm, ...])
_numbers: Code[int] = Code(int)
_texts: Code[str] = Code(str)


class Journal:
    """The memory of the peer in one directory, which is this process's alone while it is open."""

    def __init__(self, directory: Path, identity: Identity) -> None:
        self.path = directory / FILE_NAME
        self.memory = Memory(identity)
        self.logged: set[int] = set()
        """The serials of the outbox that the present access point has in its log."""
        self._depth = 0
        self._syncing: asyncio.Task[None] | None = None
        self._next_sync: asyncio.Task[None] | None = None
        _make(self.path)
        self._database = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            self._prepare()
            # SQLite writes commits to this file and, on its own, forces it to disk only now and then.
            self._log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            self._load()
        except sqlite3.OperationalError as error:
            self._database.close()
            if "locked" in str(error):
                raise DirectoryInUse(directory) from error
            raise DirectoryUnusable(directory, str(error)) from error
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise DirectoryUnusable(directory, f"{self.path.name} is damaged ({error}); restore it") from error
        except DirectoryUnusable:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"<Journal {self.path}>"

    def close(self) -> None:
        os.close(self._log)
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes made inside are on disk together, or none is."""
        if self._depth == 0:
            self._database.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
        finally:
            # What was done in memory was done: a failure of the application's does not undo it on disk.
            self._depth -= 1
            if self._depth == 0 and self._database.in_transaction:
                self._execute("COMMIT")

    async def sync(self) -> None:
        """Wait until everything so far is forced to disk; those who wait at the same time share the work."""
        assert self._depth == 0, "what is not committed cannot be forced to disk"
        if self._next_sync is None:
            self._next_sync = asyncio.get_running_loop().create_task(self._sync_after(self._syncing))
        await asyncio.shield(self._next_sync)

    async def _sync_after(self, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await previous
        self._syncing, self._next_sync = self._next_sync, None
        try:
            await asyncio.get_running_loop().run_in_executor(None, os.fsync, self._log)
        except OSError as error:
            # Whether it is on disk will never be known: all who wait now or later are told.
            raise DirectoryUnusable(self.path.parent, f"{error.strerror}; check the disk, open it again") from error

    # Attachment.

    @property
    def access_point(self) -> str:
        """The address of the super-peer to attach to; empty for a peer that was never told."""
        return self._access_point

    def choose(self, address: str) -> None:
        """Attach there from now on."""
        self._access_point = address
        self._keep("access point", _texts.encode(address))

    def attaching(self, serial: int) -> None:
        """A request to attach is about to go out under this serial."""
        self.memory.attachment_serial = serial
        self._keep("attachment serial", _numbers.encode(serial))

    def attach(self, credentials: Credentials) -> None:
        memory = self.memory
        with self.transaction():
            memory.attach(credentials)
            self._keep("credentials", _credentials.encode(credentials))
            self._keep("attachment serial", _numbers.encode(memory.attachment_serial))
            self._keep("has brought", _numbers.encode(0))
            self._execute("DELETE FROM formers")
            for key, former in memory.formers.items():
                self._execute("INSERT INTO formers VALUES (?, ?)", key, _credentials.encode(former))
            self.logged.clear()
            self._execute("UPDATE outbox SET is_logged = 0")

    def brought(self) -> None:
        self.memory.has_brought = True
        self._keep("has brought", _numbers.encode(1))

    def handed_over(self, old: bytes) -> None:
        self.memory.handed_over(old)
        self._execute("DELETE FROM formers WHERE key = ?", old)

    def leave(self) -> None:
        """The peer is attached nowhere, and asks for nothing. Its key and its serials go on."""
        memory = self.memory
        with self.transaction():
            memory.credentials, memory.has_brought, memory.elements = None, False, None
            for kept in (memory.subscriptions, memory.formers, memory.outbox, self.logged):
                kept.clear()
            self._execute("DELETE FROM facts WHERE name IN ('credentials', 'has brought', 'elements', 'is advertised')")
            for table in ("subscriptions", "formers", "outbox", "downloads"):
                self._execute(f"DELETE FROM {table}")

    # What it asks for and advertises.

    def subscribe(self, subscription: Subscription) -> None:
        self.memory.subscriptions[subscription.name] = subscription
        written = _subscriptions.encode(subscription)
        self._execute("INSERT OR REPLACE INTO subscriptions VALUES (?, ?)", subscription.name, written)

    def unsubscribe(self, name: str) -> None:
        self.memory.subscriptions.pop(name, None)
        self._execute("DELETE FROM subscriptions WHERE name = ?", name)

    def advertise(self, elements: tuple[ElementForm, ...] | None, *, is_known: bool) -> None:
        """`is_known` says whether the access point has said that it knows."""
        self.memory.elements, self.is_advertised = elements, is_known
        with self.transaction():
            if elements is None:
                self._execute("DELETE FROM facts WHERE name = 'elements'")
            else:
                self._keep("elements", _elements.encode(elements))
            self._keep("is advertised", _numbers.encode(int(is_known)))

    # The outbox, and what the peer holds.

    def post(self, kind: Kind, bodies: Iterable[bytes]) -> list[Posting]:
        with self.transaction():
            postings = [self.memory.post(kind, body) for body in bodies]
            for one in postings:
                self._execute("INSERT INTO outbox VALUES (?, ?, ?, 0)", one.serial, one.kind.value, one.body)
            self._keep("serial", _numbers.encode(self.memory.serial))
        return postings

    def raise_serial(self, last: int) -> None:
        """An access point has a publication of this serial: the disk here is older than that, and the next is above."""
        if last > self.memory.serial:
            self.memory.serial = last
            self._keep("serial", _numbers.encode(last))

    def is_logged(self, posting: Posting) -> None:
        """The access point has it in its log: it is what the peer says of its subject from now on."""
        if posting.serial in self.logged:
            return
        self.logged.add(posting.serial)
        with self.transaction():
            self._execute("UPDATE outbox SET is_logged = 1 WHERE serial = ?", posting.serial)
            subject = subject_of(posting.body)
            if posting.kind is Kind.DELETED:
                self._execute("DELETE FROM holdings WHERE subject = ?", subject)
            else:
                self._execute("INSERT OR REPLACE INTO holdings VALUES (?, ?)", subject, posting.body)

    def acknowledged(self, serial: int) -> None:
        """The network has it."""
        posting = self.memory.outbox.get(serial)
        if posting is not None:
            with self.transaction():
                self.is_logged(posting)
                self.withdraw(serial)

    def withdraw(self, serial: int) -> None:
        """It leaves the outbox."""
        self.memory.acknowledged(serial)
        self.logged.discard(serial)
        self._execute("DELETE FROM outbox WHERE serial = ?", serial)

    def post_again(self, posting: Posting) -> Posting:
        """What was refused for now gets a new serial: a super-peer takes a lower one than the last for known."""
        with self.transaction():
            self.withdraw(posting.serial)
            (again,) = self.post(posting.kind, [posting.body])
        return again

    def holdings(self, after: str = "") -> list[tuple[str, bytes]]:
        """A page of what the peer published and did not delete, by subject."""
        rows = self._database.execute(
            "SELECT subject, body FROM holdings WHERE subject > ? ORDER BY subject LIMIT ?", (after, PAGE_ROWS)
        )
        return rows.fetchall()

    # What the application has seen.

    def take(self, publication: Publication) -> None:
        """The application has it."""
        publisher, serial = publication.draft.publisher.raw, publication.draft.serial
        forgotten = self.memory.note(publication)
        with self.transaction():
            self._execute("INSERT OR IGNORE INTO seen (publisher, serial) VALUES (?, ?)", publisher, serial)
            if forgotten is not None:
                self._execute("DELETE FROM seen WHERE publisher = ? AND serial = ?", publisher, forgotten)

    def mark(self, publication: Publication) -> None:
        """The application has everything of a log up to this."""
        if self.memory.mark(publication):
            self._execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", publication.origin, *publication.place)

    # Files.

    def downloads(self) -> list[KeptDownload]:
        rows = self._database.execute("SELECT id, resource, owner, owner_at, content, failure FROM downloads")
        return [KeptDownload(*row) for row in rows]

    def keep_download(self, one: KeptDownload) -> None:
        row = (one.id, one.resource, one.owner, one.owner_at, one.content, one.failure)
        self._execute("INSERT OR REPLACE INTO downloads VALUES (?, ?, ?, ?, ?, ?)", *row)

    def drop_download(self, identity: str) -> None:
        self._execute("DELETE FROM downloads WHERE id = ?", identity)

    def offers(self) -> list[tuple[str, str, bool]]:
        """Resources with the paths of their files, and beginnings of resources with the paths of directories."""
        rows = self._database.execute("SELECT resource, path, is_base FROM offers")
        return [(resource, path, bool(is_base)) for resource, path, is_base in rows]

    def offer(self, resource: str, path: str, *, is_base: bool) -> None:
        self._execute("INSERT OR REPLACE INTO offers VALUES (?, ?, ?)", resource, path, is_base)

    def withhold(self, resource: str) -> None:
        self._execute("DELETE FROM offers WHERE resource = ?", resource)

    # The file.

    def _execute(self, statement: str, *values: object) -> None:
        try:
            self._database.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise DirectoryUnusable(self.path.parent, f"{error}; make room, and open the peer again") from error

    def _keep(self, name: str, value: bytes) -> None:
        self._execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)

    def _prepare(self) -> None:
        database = self._database
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA secure_delete = ON")
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("BEGIN IMMEDIATE")
        if (application, version) == (0, 0):
            for statement in filter(str.strip, SCHEMA.split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")
        if (application, version) not in {(0, 0), (APPLICATION_ID, VERSION)}:
            why = f"{self.path.name} is of another program or a later version; use the version that wrote it"
            raise DirectoryUnusable(self.path.parent, why)

    def _load(self) -> None:
        memory, database = self.memory, self._database
        facts: dict[str, bytes] = dict(database.execute("SELECT name, value FROM facts"))
        if "credentials" in facts:
            memory.credentials = _credentials.decode(facts["credentials"])
            if memory.credentials.peer != memory.identity.public:
                raise DirectoryUnusable(self.path.parent, "its key file belongs to another peer; restore the right one")
        memory.attachment_serial = _numbers.decode(facts.get("attachment serial", b"\0"))
        memory.has_brought = bool(_numbers.decode(facts.get("has brought", b"\0")))
        memory.serial = _numbers.decode(facts.get("serial", b"\0"))
        memory.elements = _elements.decode(facts["elements"]) if "elements" in facts else None
        self.is_advertised = bool(_numbers.decode(facts.get("is advertised", b"\1")))
        self._access_point = _texts.decode(facts["access point"]) if "access point" in facts else ""
        for name, value in database.execute("SELECT name, value FROM subscriptions"):
            memory.subscriptions[name] = _subscriptions.decode(value)
        for origin, generation, number in database.execute("SELECT origin, generation, number FROM marks"):
            memory.marks[origin] = (generation, number)
        for serial, kind, body, is_logged in database.execute("SELECT * FROM outbox ORDER BY serial"):
            memory.outbox[serial] = Posting(serial, Kind(kind), body)
            if is_logged:
                self.logged.add(serial)
        for key, value in database.execute("SELECT key, value FROM formers"):
            memory.formers[key] = _credentials.decode(value)
        for publisher, serial in database.execute("SELECT publisher, serial FROM seen ORDER BY position"):
            memory.note_name(publisher, serial)
        assert not memory.outbox or max(memory.outbox) <= memory.serial, "a serial is kept with what it numbers"


def subject_of(body: bytes) -> str:
    """What a body speaks of, as text, in which a blank node is none of the URIs."""
    subject = read_body(body).subject
    return subject.text if subject.kind == "u" else f"_:{subject.text}"


def _make(path: Path) -> None:
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
