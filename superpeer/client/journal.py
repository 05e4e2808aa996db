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
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from auth import Credentials, Identity
from superpeer.client.downloads import KeptDownload
from superpeer.client.errors import DirectoryInUse, DirectoryUnusable
from superpeer.client.journal_file import make_file, prepare
from superpeer.client.memory import Memory
from superpeer.node.body import read_body
from superpeer.node.coding import Code
from superpeer.node.forms import ElementForm
from superpeer.node.publications import NOWHERE, Kind, Place, Posting, Publication
from superpeer.node.records import Subscription

FILE_NAME = "memory.db"
MAX_TAKEN = 4_096
"""Of the rows that wait to be folded into `seen` and `marks`."""
PAGE_ROWS = 500
BUSY_S = 0.5

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
        self._taken = 0
        self._forgotten: list[tuple[bytes, int]] = []
        self._syncing: asyncio.Task[None] | None = None
        self._next_sync: asyncio.Task[None] | None = None
        make_file(self.path)
        self._database = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            prepare(self._database, self.path)
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
            rows = ((one.serial, one.kind.value, one.body) for one in postings)
            self._execute_many("INSERT INTO outbox VALUES (?, ?, ?, 0)", rows)
            self._keep("serial", _numbers.encode(self.memory.serial))
        return postings

    def raise_serial(self, last: int) -> None:
        """An access point has a publication of this serial: the disk here is older than that, and the next is above."""
        if last > self.memory.serial:
            self.memory.serial = last
            self._keep("serial", _numbers.encode(last))

    def are_logged(self, postings: Iterable[Posting]) -> None:
        """The access point has them in its log: they are what the peer says of their subjects from now on."""
        new = [one for one in postings if one.serial not in self.logged]
        if not new:
            return
        self.logged.update(one.serial for one in new)
        with self.transaction():
            self._execute_many("UPDATE outbox SET is_logged = 1 WHERE serial = ?", ((one.serial,) for one in new))
            for is_deleted, run in groupby(new, lambda one: one.kind is Kind.DELETED):
                if is_deleted:
                    subjects = ((subject_of(one.body),) for one in run)
                    self._execute_many("DELETE FROM holdings WHERE subject = ?", subjects)
                else:
                    rows = ((subject_of(one.body), one.body) for one in run)
                    self._execute_many("INSERT OR REPLACE INTO holdings VALUES (?, ?)", rows)

    def acknowledged(self, serials: Iterable[int]) -> None:
        """The network has them."""
        outbox = self.memory.outbox
        known = [serial for serial in serials if serial in outbox]
        with self.transaction():
            self.are_logged(outbox[serial] for serial in known)
            self.withdraw(known)

    def withdraw(self, serials: Collection[int]) -> None:
        """They leave the outbox."""
        for serial in serials:
            self.memory.acknowledged(serial)
        self.logged.difference_update(serials)
        self._execute_many("DELETE FROM outbox WHERE serial = ?", ((serial,) for serial in serials))

    def holdings(self, after: str = "") -> list[tuple[str, bytes]]:
        """A page of what the peer published and did not delete, by subject."""
        rows = self._database.execute(
            "SELECT subject, body FROM holdings WHERE subject > ? ORDER BY subject LIMIT ?", (after, PAGE_ROWS)
        )
        return rows.fetchall()

    # What the application has seen.

    def take(self, publication: Publication, passed: Iterable[Publication] = ()) -> None:
        """The application has it, and everything of some logs up to others. As every notification costs this, it is one
        row that is appended; `seen` and `marks` are brought up to date for thousands at once."""
        publisher, serial = publication.draft.publisher.raw, publication.draft.serial
        self._note(publisher, serial)
        self._append((publisher, serial), self._marks_of(passed))

    def mark(self, passed: Iterable[Publication]) -> None:
        """The application has everything of some logs up to these."""
        self._append((None, None), self._marks_of(passed))

    def _marks_of(self, passed: Iterable[Publication]) -> dict[bytes, Place]:
        return {one.origin: one.place for one in passed if self.memory.mark(one)}

    def _append(self, name: tuple[bytes, int] | tuple[None, None], marks: dict[bytes, Place]) -> None:
        rows = [(*name, origin, *place) for origin, place in marks.items()]
        if not rows and name[0] is not None:
            rows = [(*name, None, None, None)]
        statement = "INSERT INTO taken VALUES (NULL, ?, ?, ?, ?, ?)"
        if len(rows) == 1:
            self._execute(statement, *rows[0])
        elif rows:
            with self.transaction():
                self._execute_many(statement, rows)
        self._taken += len(rows)
        if self._taken >= MAX_TAKEN:
            self._fold()

    def _fold(self) -> None:
        with self.transaction():
            self._execute(
                "INSERT OR IGNORE INTO seen (publisher, serial)"
                " SELECT publisher, serial FROM taken WHERE publisher IS NOT NULL ORDER BY position"
            )
            self._execute_many("DELETE FROM seen WHERE publisher = ? AND serial = ?", self._forgotten)
            marks = ((origin, *place) for origin, place in self.memory.marks.items())
            self._execute_many("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", marks)
            self._execute("DELETE FROM taken")
        self._forgotten.clear()
        self._taken = 0

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

    def _note(self, publisher: bytes, serial: int) -> None:
        forgotten = self.memory.note_name(publisher, serial)
        if forgotten is not None:
            self._forgotten.append((publisher, forgotten))

    # The file.

    def _execute(self, statement: str, *values: object) -> None:
        try:
            self._database.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise DirectoryUnusable(self.path.parent, f"{error}; make room, and open the peer again") from error

    def _execute_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            self._database.executemany(statement, rows)
        except sqlite3.OperationalError as error:
            raise DirectoryUnusable(self.path.parent, f"{error}; make room, and open the peer again") from error

    def _keep(self, name: str, value: bytes) -> None:
        self._execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)

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
            self._note(publisher, serial)
        for _, publisher, serial, origin, *place in database.execute("SELECT * FROM taken ORDER BY position"):
            self._taken += 1
            if publisher is not None and not memory.knows(publisher, serial):
                self._note(publisher, serial)
            if origin is not None:
                memory.marks[origin] = max(memory.marks.get(origin, NOWHERE), (place[0], place[1]))
        assert not memory.outbox or max(memory.outbox) <= memory.serial, "a serial is kept with what it numbers"


def subject_of(body: bytes) -> str:
    """What a body speaks of, as text, in which a blank node is none of the URIs."""
    subject = read_body(body).subject
    return subject.text if subject.kind == "u" else f"_:{subject.text}"
