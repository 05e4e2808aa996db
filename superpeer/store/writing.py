"""Writing: what each record does to the rows, many records at a time.

A batch first applies records to the positions in memory, one function for each kind, and thereby finds out which rows
to write; then it writes them, table by table. What comes and goes within a batch is never written. Rows that are
only appended and counted (publications, the log, deliveries, marks, the small change of peers) are collected for the
whole batch; everything else is a list of statements in order, and runs of the same one go together.

The statements come first and the collected rows after them, so whoever takes a peer's rows away also takes away what
was collected for it.

A mark is not written when a publication is put into a queue: the delivery tells it. It is written when the delivery
goes. So a publication for a hundred peers is two rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any

from hypercup import Entry
from superpeer.node.publications import NOWHERE, Place, Publication
from superpeer.node.records import (
    Acknowledged,
    Advertised,
    Arriving,
    Brought,
    CaughtUpHere,
    Dequeued,
    Enqueued,
    FileDropped,
    FileKept,
    Forgotten,
    HandingOver,
    Leaving,
    LogBegun,
    LogTrimmed,
    LossTold,
    Marked,
    Missed,
    OrderDropped,
    OrderKept,
    Published,
    QueueTrimmed,
    Registered,
    RendezvousDropped,
    RendezvousKept,
    Subscribed,
    Unregistered,
    Unsubscribed,
    Withdrawn,
)
from superpeer.node.state import MAX_MOVED
from superpeer.store.changes import Change, EntryDropped, Setting
from superpeer.store.coding import (
    DeliveryRow,
    FileRow,
    Key,
    LogStatus,
    PeerStatus,
    digest_of,
    encode,
    log_seal,
    named_key,
    seal,
    write,
    write_place,
)
from superpeer.store.files import CONTENT_DIGEST_BYTES
from superpeer.store.positions import Body, Delivery, PeerRow, Positions
from superpeer.store.schema import KEYED

OF_A_PEER = (*KEYED, "marks", "advertisements", "handovers")


class Batch:
    """Some records on their way into one transaction of a connection that has begun it."""

    def __init__(self, connection: sqlite3.Connection, positions: Positions) -> None:
        self.contents: dict[bytes, bytes] = {}
        """Files that have to be on disk before the transaction is committed."""
        self.dropped_contents: set[bytes] = set()
        """Files that may go after it."""
        self._connection = connection
        self._positions = positions
        self._statements: list[tuple[str, tuple[Any, ...]]] = []
        self._same: dict[int, tuple[Publication, Body]] = {}
        self._bodies: dict[int, tuple[bytes, bytes]] = {}
        self._gone_bodies: list[tuple[int]] = []
        self._log: dict[int, tuple[int, bool]] = {}
        self._acknowledged: list[int] = []
        self._is_log_changed = False
        self._deliveries: dict[int, bytes] = {}
        self._gone_deliveries: list[tuple[int]] = []
        self._peers: dict[int, PeerRow] = {}
        self._marks: dict[int, dict[bytes, Place]] = {}
        self._functions: dict[type, Callable[[Any], None]] = {
            Published: self._published,
            Acknowledged: self._on_acknowledged,
            Enqueued: self._enqueued,
            Dequeued: self._dequeued,
            Marked: self._marked,
            Registered: self._registered,
            LogBegun: self._log_begun,
            LogTrimmed: self._log_trimmed,
            QueueTrimmed: self._queue_trimmed,
            Missed: self._missed,
            LossTold: self._loss_told,
            Subscribed: self._subscribed,
            Unsubscribed: self._unsubscribed,
            Advertised: self._advertised,
            Leaving: self._leaving,
            Withdrawn: self._withdrawn,
            Forgotten: self._forgotten,
            Unregistered: self._unregistered,
            OrderKept: self._order_kept,
            OrderDropped: self._order_dropped,
            HandingOver: self._handing_over,
            Arriving: self._arriving,
            Brought: self._brought,
            CaughtUpHere: self._caught_up_here,
            RendezvousKept: self._rendezvous_kept,
            RendezvousDropped: self._rendezvous_dropped,
            FileKept: self._file_kept,
            FileDropped: self._file_dropped,
            Entry: self._entry,
            EntryDropped: self._entry_dropped,
            Setting: self._setting,
        }

    def apply(self, changes: Iterable[Change]) -> None:
        functions = self._functions
        for change in changes:
            functions[type(change)](change)

    def begin_log(self, generation: int, trimmed: int = 0) -> None:
        """A log without entries."""
        assert not self._positions.log, "a log is begun once"
        self.write()
        self._positions.generation, self._positions.trimmed = generation, trimmed
        self._is_log_changed = True

    def set_last_serial(self, peer: str, serial: int) -> None:
        self._changed_peer(peer).last_serial = serial

    def write(self) -> None:
        """Writes what has been collected."""
        self._write_statements()
        many = self._connection.executemany
        if self._bodies:
            rows = ((identity, data, digest) for identity, (data, digest) in self._bodies.items())
            many("INSERT INTO publications VALUES (?, ?, ?)", rows)
        self._write_log()
        if self._deliveries:
            many("INSERT INTO deliveries VALUES (?, ?)", self._deliveries.items())
        if self._peers:
            many("INSERT OR REPLACE INTO peers VALUES (?, ?)", map(_peer_row, self._peers.values()))
        if self._marks:
            many(
                "INSERT INTO marks VALUES (?, ?, ?)"
                " ON CONFLICT (peer, origin) DO UPDATE SET place = max(place, excluded.place)",
                (mark_row(peer, *mark) for peer, marks in self._marks.items() for mark in marks.items()),
            )
        if self._gone_deliveries:
            many("DELETE FROM deliveries WHERE id = ?", self._gone_deliveries)
        if self._gone_bodies:
            many("DELETE FROM publications WHERE id = ?", self._gone_bodies)
        for collected in (self._bodies, self._deliveries, self._peers, self._marks):
            collected.clear()
        for gone in (self._gone_deliveries, self._gone_bodies):
            gone.clear()

    def _write_statements(self) -> None:
        for sql, run in groupby(self._statements, itemgetter(0)):
            self._connection.executemany(sql, (values for _, values in run))
        self._statements.clear()

    def _write_log(self) -> None:
        positions, many = self._positions, self._connection.executemany
        if self._log:
            rows = ((number, *row, log_seal(number, *row)) for number, row in self._log.items())
            many("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
            self._log.clear()
        numbers = [number for number in self._acknowledged if number > positions.trimmed]
        if numbers:
            found = ((number, positions.log[number - positions.trimmed - 1].id) for number in numbers)
            seals = ((log_seal(number, body, True), number) for number, body in found)
            many("UPDATE log SET is_acknowledged = 1, seal = ? WHERE number = ?", seals)
        self._acknowledged.clear()
        if self._is_log_changed:
            status = LogStatus(positions.generation, positions.trimmed)
            self._connection.execute("DELETE FROM log WHERE number <= ?", (positions.trimmed,))
            self._connection.execute("INSERT OR REPLACE INTO log_status VALUES (1, ?)", (write("log", status),))
            self._is_log_changed = False

    def _log_begun(self, record: LogBegun) -> None:
        self.begin_log(record.generation)

    def _published(self, record: Published) -> None:
        publication, positions = record.publication, self._positions
        number = publication.place[1]
        assert publication.place == (positions.generation, positions.trimmed + len(positions.log) + 1), "no gaps"
        body = self._body(publication)
        body.references += 1
        positions.log.append(body)
        self._log[number] = (body.id, False)
        peer = self._changed_peer(publication.publisher)
        peer.last_serial = max(peer.last_serial, publication.draft.serial)

    def _on_acknowledged(self, record: Acknowledged) -> None:
        number = record.number
        if number in self._log:
            self._log[number] = (self._log[number][0], True)
        else:
            self._acknowledged.append(number)

    def _log_trimmed(self, record: LogTrimmed) -> None:
        positions = self._positions
        while positions.trimmed < record.through:
            positions.trimmed += 1
            self._log.pop(positions.trimmed, None)
            self._release(positions.log.popleft())
            self._is_log_changed = True

    def _enqueued(self, record: Enqueued) -> None:
        body, positions = self._body(record.publication), self._positions
        positions.last_delivery += 1
        delivery = Delivery(positions.last_delivery, body, record.is_history)
        body.references += 1
        peers, recipients = positions.peers, []
        for name, subscriptions in record.recipients:
            peer = peers.get(name) or self._peer(name)
            entries = peer.entries
            entries.append(delivery)
            recipients.append((peer.id, peer.taken + len(entries), subscriptions))
        delivery.references = len(recipients)
        row = DeliveryRow(body.id, record.at, record.is_history, recipients)
        self._deliveries[delivery.id] = write(delivery.id, row)
        if not recipients:
            self._drop(delivery)

    def _marked(self, record: Marked) -> None:
        self._mark(self._peer(record.peer), record.origin, record.place)

    def _dequeued(self, record: Dequeued) -> None:
        peer = self._changed_peer(record.peer)
        self._take(peer, record.through)

    def _queue_trimmed(self, record: QueueTrimmed) -> None:
        peer = self._changed_peer(record.peer)
        peer.lost += self._take(peer, record.through)

    def _missed(self, record: Missed) -> None:
        self._changed_peer(record.peer).lost += record.count

    def _loss_told(self, record: LossTold) -> None:
        self._changed_peer(record.peer).lost = 0

    def _subscribed(self, record: Subscribed) -> None:
        self._put("subscriptions", record.peer, record.subscription.name, record.subscription)

    def _unsubscribed(self, record: Unsubscribed) -> None:
        self._take_away("subscriptions", record.peer, record.name)

    def _advertised(self, record: Advertised) -> None:
        peer = self._changed_peer(record.peer)
        peer.advertises, peer.is_leaving = True, False
        # Sealed with the name, as the elements may outlast the number of the peer.
        self._add("INSERT OR REPLACE INTO advertisements VALUES (?, ?)", peer.id, write(peer.name, record.elements))

    def _leaving(self, record: Leaving) -> None:
        self._changed_peer(record.peer).is_leaving = True

    def _withdrawn(self, record: Withdrawn) -> None:
        peer = self._changed_peer(record.peer)
        peer.advertises, peer.is_leaving = False, False
        self._add("DELETE FROM advertisements WHERE peer = ?", peer.id)
        if self._is_empty(peer):
            del self._positions.peers[peer.name]
            self._peers.pop(peer.id, None)
            self._add("DELETE FROM peers WHERE id = ?", peer.id)

    def _forgotten(self, record: Forgotten) -> None:
        gone = self._positions.peers.pop(record.peer, None)
        if record.moved_to is not None:
            self._moved(record.peer, record.moved_to)
        if gone is None:
            return
        for delivery in gone.entries:
            delivery.references -= 1
            if not delivery.references:
                self._drop(delivery)
        for digest in gone.files.values():
            self._release_file(digest)
        self._peers.pop(gone.id, None)
        self._marks.pop(gone.id, None)
        if gone.advertises:
            peer = self._changed_peer(record.peer)
            peer.advertises = peer.is_leaving = True
            self._add("UPDATE advertisements SET peer = ? WHERE peer = ?", peer.id, gone.id)
        for table in OF_A_PEER:
            self._add(f"DELETE FROM {table} WHERE peer = ?", gone.id)
        self._add("DELETE FROM peers WHERE id = ?", gone.id)

    def _moved(self, peer: str, access_point: bytes) -> None:
        moved = self._positions.moved
        self._add(
            "INSERT INTO moved (peer, value) VALUES (?, ?) ON CONFLICT (peer) DO UPDATE SET value = excluded.value",
            peer,
            seal(peer, access_point),
        )
        moved.setdefault(peer)
        if len(moved) > MAX_MOVED:
            oldest = next(iter(moved))
            del moved[oldest]
            self._add("DELETE FROM moved WHERE peer = ?", oldest)

    def _registered(self, record: Registered) -> None:
        kept = record.record
        kind, key = type(kept).__name__, kept.key.raw
        self._add(
            "INSERT INTO registry (kind, key, value) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
            kind,
            key,
            write(named_key(kind, key), kept),
        )

    def _unregistered(self, record: Unregistered) -> None:
        self._add("DELETE FROM registry WHERE kind = 'Registration' AND key = ?", record.key)

    def _order_kept(self, record: OrderKept) -> None:
        self._put("orders", record.peer, record.order.old.raw, record.order)

    def _order_dropped(self, record: OrderDropped) -> None:
        self._take_away("orders", record.peer, record.old)

    def _handing_over(self, record: HandingOver) -> None:
        peer = self._peer(record.peer)
        self._add("INSERT OR REPLACE INTO handovers VALUES (?, ?)", peer.id, write(peer.id, record.order))

    def _arriving(self, record: Arriving) -> None:
        peer = self._changed_peer(record.peer)
        peer.is_arriving, peer.came_from = True, record.came_from
        self._add("DELETE FROM handovers WHERE peer = ?", peer.id)

    def _brought(self, record: Brought) -> None:
        peer = self._changed_peer(record.peer)
        peer.is_arriving = peer.has_caught_up_here = False
        self._take(peer, peer.taken + len(peer.entries))
        self._marks.pop(peer.id, None)
        self._add("DELETE FROM marks WHERE peer = ?", peer.id)
        for origin, place in record.marks:
            self._add("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", *mark_row(peer.id, origin, place))

    def _caught_up_here(self, record: CaughtUpHere) -> None:
        self._changed_peer(record.peer).has_caught_up_here = True

    def _rendezvous_kept(self, record: RendezvousKept) -> None:
        self._put("rendezvous", record.peer, record.rendezvous.id, record.rendezvous)

    def _rendezvous_dropped(self, record: RendezvousDropped) -> None:
        self._take_away("rendezvous", record.peer, record.id)

    def _file_kept(self, record: FileKept) -> None:
        peer, name = self._peer(record.peer), record.rendezvous.id
        digest = blake2b(record.content, digest_size=CONTENT_DIGEST_BYTES).digest()
        before = peer.files.get(name)
        peer.files[name] = digest
        self._positions.file_users[digest] += 1
        self.contents[digest] = record.content
        if before is not None:
            self._release_file(before)
        self._put("files", record.peer, name, FileRow(record.rendezvous, record.digest, digest, record.at))

    def _file_dropped(self, record: FileDropped) -> None:
        self._release_file(self._peer(record.peer).files.pop(record.id))
        self._take_away("files", record.peer, record.id)

    def _entry(self, entry: Entry) -> None:
        self._add("INSERT OR REPLACE INTO members VALUES (?, ?)", entry.key, write(entry.key, entry))

    def _entry_dropped(self, change: EntryDropped) -> None:
        self._add("DELETE FROM members WHERE key = ?", change.key)

    def _setting(self, change: Setting) -> None:
        if change.value is None:
            self._add("DELETE FROM settings WHERE name = ?", change.name)
        else:
            self._add("INSERT OR REPLACE INTO settings VALUES (?, ?)", change.name, seal(change.name, change.value))

    def _add(self, sql: str, *values: Any) -> None:
        self._statements.append((sql, values))

    def _put(self, table: str, peer: str, name: Key, value: object) -> None:
        identity = self._peer(peer).id
        self._add(
            f"INSERT INTO {table} (peer, name, value) VALUES (?, ?, ?)"
            " ON CONFLICT (peer, name) DO UPDATE SET value = excluded.value",
            identity,
            name,
            write(named_key(identity, name), value),
        )

    def _take_away(self, table: str, peer: str, name: Key) -> None:
        self._add(f"DELETE FROM {table} WHERE peer = ? AND name = ?", self._peer(peer).id, name)

    def _peer(self, name: str) -> PeerRow:
        """The row of a peer, a new one if there was none."""
        peer = self._positions.peers.get(name)
        if peer is None:
            self._positions.last_peer += 1
            peer = self._positions.peers[name] = PeerRow(self._positions.last_peer, name)
            self._peers[peer.id] = peer
        return peer

    def _changed_peer(self, name: str) -> PeerRow:
        peer = self._peer(name)
        self._peers[peer.id] = peer
        return peer

    def _mark(self, peer: PeerRow, origin: bytes, place: Place) -> None:
        marks = self._marks.setdefault(peer.id, {})
        marks[origin] = max(place, marks.get(origin, NOWHERE))

    def _body(self, publication: Publication) -> Body:
        """The publication on disk. In one step, the log and the queues get the very same object."""
        known = self._same.get(id(publication))
        if known is not None and known[1].references:
            return known[1]
        data = encode(publication)
        digest = digest_of(data)
        body = self._positions.bodies.get(digest)
        if body is None:
            body = self._positions.body(digest, publication.origin, publication.place)
            self._bodies[body.id] = (data, digest)
        # With the publication itself: an id is its own only as long as it lives.
        self._same[id(publication)] = (publication, body)
        return body

    def _take(self, peer: PeerRow, through: int) -> int:
        """Takes away what a queue has up to a position; how much that was."""
        entries = peer.entries
        count = max(0, min(len(entries), through - peer.taken))
        peer.taken += count
        places: dict[bytes, Place] = {}
        for _ in range(count):
            delivery = entries.popleft()
            if not delivery.is_history:
                body = delivery.body
                known = places.get(body.origin)
                if known is None or body.place > known:
                    places[body.origin] = body.place
            delivery.references -= 1
            if not delivery.references:
                self._drop(delivery)
        for origin, place in places.items():
            self._mark(peer, origin, place)
        return count

    def _drop(self, delivery: Delivery) -> None:
        """Nobody waits for it any more."""
        if self._deliveries.pop(delivery.id, None) is None:
            self._gone_deliveries.append((delivery.id,))
        self._release(delivery.body)

    def _release(self, body: Body) -> None:
        body.references -= 1
        if not body.references:
            del self._positions.bodies[body.digest]
            if self._bodies.pop(body.id, None) is None:
                self._gone_bodies.append((body.id,))

    def _release_file(self, digest: bytes) -> None:
        users = self._positions.file_users
        users[digest] -= 1
        if not users[digest]:
            del users[digest]
        self.dropped_contents.add(digest)

    def _is_empty(self, peer: PeerRow) -> bool:
        """Whether nothing at all is kept of a peer."""
        numbers = (peer.taken, peer.lost, peer.last_serial, len(peer.entries), len(peer.files))
        if any(numbers) or peer.is_arriving or peer.came_from is not None or not peer.has_caught_up_here:
            return False
        self.write()
        return not any(
            self._connection.execute(f"SELECT 1 FROM {table} WHERE peer = ? LIMIT 1", (peer.id,)).fetchone()
            for table in OF_A_PEER
        )


def mark_row(peer: int, origin: bytes, place: Place) -> tuple[int, bytes, bytes]:
    return peer, origin, seal(named_key(peer, origin), write_place(place))


def _peer_row(peer: PeerRow) -> tuple[int, bytes]:
    status = PeerStatus(
        peer.name,
        peer.taken,
        str(peer.lost),
        peer.last_serial,
        peer.is_leaving,
        peer.is_arriving,
        peer.came_from,
        peer.has_caught_up_here,
    )
    return peer.id, write(peer.id, status)
