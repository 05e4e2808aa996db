"""Reading: the state that all records add up to, and the positions that writing goes on from, out of the rows.

Whatever does not fit together is a *finding*: a broken seal, a gap, a row that refers to nothing. When a store is
loaded the first one ends it, as `Finding`; when a store is recovered they are counted, and reading goes on without that
row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from superpeer.node.errors import Refused
from superpeer.node.forms import read_elements
from superpeer.node.publications import Publication
from superpeer.node.state import Entry, File, Log, PeerState, State
from superpeer.store.coding import (
    DELIVERY,
    ELEMENTS,
    FILE,
    LOG,
    ORDER,
    PEER,
    PUBLICATION,
    REGISTERED,
    RENDEZVOUS,
    SUBSCRIPTION,
    BrokenSeal,
    Decoded,
    DeliveryRow,
    Key,
    LogStatus,
    decode,
    digest_of,
    log_seal,
    named_key,
    read,
    read_place,
    unseal,
)
from superpeer.store.files import Files
from superpeer.store.positions import Body, Delivery, PeerRow, Positions

Rows = Callable[[str, str], Iterator[tuple[Any, ...]]]
"""The rows of a table, in the order of one of its columns."""


class Finding(Exception):
    """Something does not fit. Never leaves this package."""

    def __init__(self, table: str, what: str) -> None:
        self.table = table
        super().__init__(f"{what} (in {table})")


def rows_of(connection: sqlite3.Connection) -> Rows:
    return lambda table, order: connection.execute(f"SELECT * FROM {table} ORDER BY {order}")


def stop(finding: Finding) -> None:
    raise finding


class Reading:
    """One pass over all tables."""

    def __init__(self, rows: Rows, files: Files, report: Callable[[Finding], None] = stop) -> None:
        self.state = State()
        self.positions = Positions()
        self.orphans: list[int] = []
        """Publications that nobody needs."""
        self.lost_contents: list[tuple[str, File]] = []
        """Peers, with files whose content is gone."""
        self.last_number = 0
        """The highest number of the log that was seen."""
        self._rows = rows
        self._files = files
        self._report = report
        self._publications: dict[int, tuple[Publication, Body]] = {}
        self._peers: dict[int, PeerRow] = {}

    def run(self) -> None:
        self._read_publications()
        self._read_log()
        self._read_peers()
        self._read_what_peers_have()
        self._read_marks()
        self._read_deliveries()
        self._read_registry()
        for body in [body for body in self.positions.bodies.values() if not body.references]:
            self.orphans.append(body.id)
            del self.positions.bodies[body.digest]

    def _find(self, table: str, what: str) -> None:
        self._report(Finding(table, what))

    def _read(self, table: str, decoder: msgspec.msgpack.Decoder[Decoded], key: Key, sealed: object) -> Decoded | None:
        try:
            return read(decoder, key, sealed)
        except BrokenSeal:
            self._find(table, "a row does not hold what was written")
            return None

    def _read_publications(self) -> None:
        for identity, data, digest in self._rows("publications", "id"):
            try:
                if not isinstance(data, bytes) or digest_of(data) != digest or digest in self.positions.bodies:
                    raise BrokenSeal
                publication = decode(PUBLICATION, data)
            except BrokenSeal:
                self._find("publications", "a publication is not what was written")
                continue
            self.positions.last_body = identity - 1
            body = self.positions.body(digest, publication.origin, publication.place)
            self._publications[identity] = (publication, body)

    def _read_log(self) -> None:
        status: LogStatus | None = LogStatus(0, 0)
        for _, value in self._rows("log_status", "id"):
            status = self._read("log_status", LOG, "log", value)
        if status is None:
            status = LogStatus(0, 0)
        log, positions = Log(status.generation), self.positions
        log.trimmed = positions.trimmed = status.trimmed
        positions.generation = status.generation
        for number, identity, is_acknowledged, sealed in self._rows("log", "number"):
            self.last_number = number
            if not all(isinstance(one, int) for one in (identity, is_acknowledged, sealed)) or sealed != log_seal(
                number, identity, is_acknowledged
            ):
                self._find("log", "a row does not hold what was written")
                continue
            publication, body = self._publications.get(identity, (None, None))
            if publication is None or body is None:
                self._find("log", "a publication is missing")
                continue
            if publication.place != (status.generation, number) or publication.place[1] != log.end[1] + 1:
                self._find("log", "a log has no gaps, and here is one")
                self._append_anyway(log, publication, is_acknowledged=bool(is_acknowledged))
                continue
            log.append(publication)
            if is_acknowledged:
                del log.unacknowledged[number]
            body.references += 1
            positions.log.append(body)
        self.state.log = log

    def _append_anyway(self, log: Log, publication: Publication, *, is_acknowledged: bool) -> None:
        """For a recovery, which makes a new log of what is left: the number is not the one it had."""
        number = log.end[1] + 1
        log.append(msgspec.structs.replace(publication, place=(log.generation, number)))
        if is_acknowledged:
            del log.unacknowledged[number]

    def _read_peers(self) -> None:
        for identity, value in self._rows("peers", "id"):
            status = self._read("peers", PEER, identity, value)
            if status is None:
                continue
            if status.name in self.state.peers:
                self._find("peers", "a peer is there twice")
                continue
            peer = self._peers[identity] = self.positions.peers[status.name] = PeerRow(identity, status.name)
            peer.taken, peer.lost, peer.last_serial = status.taken, int(status.lost), status.last_serial
            peer.is_leaving, peer.is_arriving, peer.came_from = status.is_leaving, status.is_arriving, status.came_from
            kept = self.state.peer(status.name)
            kept.has_caught_up_here = peer.has_caught_up_here = status.has_caught_up_here
            kept.is_leaving, kept.is_arriving, kept.came_from = status.is_leaving, status.is_arriving, status.came_from
            kept.last_serial = status.last_serial
            kept.queue.lost, kept.queue.position = peer.lost, peer.taken
            self.positions.last_peer = identity

    def _read_what_peers_have(self) -> None:
        for _, kept, name, subscription in self._keyed("subscriptions", SUBSCRIPTION):
            kept.subscriptions[name] = subscription
        for _, kept, old, order in self._keyed("orders", ORDER):
            kept.orders[old] = order
        for _, kept, name, rendezvous in self._keyed("rendezvous", RENDEZVOUS):
            kept.rendezvous[name] = rendezvous
        for peer, kept, name, row in self._keyed("files", FILE):
            content = self._files.get(row.content)
            file = File(row.rendezvous, row.digest, content or b"", row.at)
            if content is None:
                self._find("files", f"the file {row.content.hex()} is missing or another one")
                self.lost_contents.append((peer.name, file))
                continue
            kept.files[name] = file
            peer.files[name] = row.content
            self.positions.file_users[row.content] += 1
        for identity, value in self._rows("advertisements", "peer"):
            peer, kept = self._peer("advertisements", identity)
            elements = self._read("advertisements", ELEMENTS, peer.name, value)
            if elements is not None:
                try:
                    kept.elements, peer.advertises = read_elements(elements), True
                except Refused:
                    self._find("advertisements", "there is no such element")
        for identity, value in self._rows("handovers", "peer"):
            _, kept = self._peer("handovers", identity)
            kept.handing_over = self._read("handovers", ORDER, identity, value)

    def _keyed(
        self, table: str, decoder: msgspec.msgpack.Decoder[Decoded]
    ) -> Iterator[tuple[PeerRow, PeerState, Any, Decoded]]:
        for _, identity, name, value in self._rows(table, "id"):
            peer, kept = self._peer(table, identity)
            found = self._read(table, decoder, named_key(identity, name), value)
            if found is not None:
                yield peer, kept, name, found

    def _peer(self, table: str, identity: int) -> tuple[PeerRow, PeerState]:
        """The peer of a row; if there is none, one that nobody will see."""
        peer = self._peers.get(identity)
        if peer is None:
            self._find(table, "a row belongs to no peer")
            return PeerRow(identity, ""), PeerState()
        return peer, self.state.peers[peer.name]

    def _read_marks(self) -> None:
        for identity, origin, sealed in self._rows("marks", "peer, origin"):
            _, kept = self._peer("marks", identity)
            try:
                kept.queue.marks[origin] = read_place(unseal(named_key(identity, origin), sealed))
            except BrokenSeal:
                self._find("marks", "a row does not hold what was written")

    def _read_deliveries(self) -> None:
        for identity, value in self._rows("deliveries", "id"):
            self.positions.last_delivery = identity
            row = self._read("deliveries", DELIVERY, identity, value)
            if row is None:
                continue
            publication, body = self._publications.get(row.publication, (None, None))
            if publication is None or body is None:
                self._find("deliveries", "a publication is missing")
                continue
            delivery = Delivery(identity, body, row.is_history)
            self._deliver(row, publication, delivery)
            if delivery.references:
                body.references += 1
            else:
                self._find("deliveries", "a row belongs to no peer")

    def _deliver(self, row: DeliveryRow, publication: Publication, delivery: Delivery) -> None:
        for identity, position, subscriptions in row.recipients:
            self.positions.last_peer = max(self.positions.last_peer, identity)
            peer = self._peers.get(identity)
            if peer is None or position <= peer.taken:
                continue
            queue = self.state.peers[peer.name].queue
            queue.position += 1
            if position != queue.position:
                self._find("deliveries", "a queue has no gaps, and here is one")
            entry = Entry(queue.position, publication, subscriptions, row.at, row.is_history)
            queue.entries.append(entry)
            queue.size_bytes += publication.size_bytes
            if not row.is_history:
                queue.mark(publication.origin, publication.place)
            peer.entries.append(delivery)
            delivery.references += 1

    def _read_registry(self) -> None:
        for _, kind, key, value in self._rows("registry", "id"):
            record = self._read("registry", REGISTERED, named_key(kind, key), value)
            if record is not None:
                self.state.registry[kind, key] = record
        for _, peer, value in self._rows("moved", "id"):
            try:
                self.state.moved[peer] = unseal(peer, value)
                self.positions.moved[peer] = None
            except BrokenSeal:
                self._find("moved", "a row does not hold what was written")
