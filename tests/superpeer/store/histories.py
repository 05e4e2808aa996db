"""Histories of records, and what a state is when it is compared to another."""

from __future__ import annotations

from random import Random
from typing import Any

import auth
from auth import Attachment, MigrationOrder, Proof, PublicId, PublicKey
from superpeer.node.publications import Draft, Kind, Place, Publication
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
    Record,
    Registered,
    Rendezvous,
    RendezvousDropped,
    RendezvousKept,
    Subscribed,
    Subscription,
    Unregistered,
    Unsubscribed,
    Withdrawn,
)
from superpeer.node.state import State

GENERATION = 1_750_000_000_000
HUGE = 2**62
HERE = b"here".ljust(32, b".")
ELEMENTS = (
    ("schema", "http://a/"),
    ("property", "http://b/p"),
    ("uri", "http://b/q", "http://c"),
    ("string", "p", "s"),
)


def normal(state: State) -> dict[str, Any]:
    """All of a state as plain values, with what the classes compute or hide."""
    log = state.log
    return {
        "log": (log.generation, log.trimmed, log.size_bytes, list(log), list(log.unacknowledged.items()), log.end),
        "peers": [(name, vars(kept)) for name, kept in state.peers.items()],
        "registry": list(state.registry.items()),
        "moved": list(state.moved.items()),
    }


def applied(records: list[Record]) -> State:
    state = State()
    for record in records:
        state.apply(record)
    return state


class History:
    """Random records, each of which makes sense after those before it."""

    def __init__(self, seed: int, peers: int = 6) -> None:
        self.random = Random(seed)
        self.state = State()
        self.records: list[Record] = []
        self._keys = [self._key(f"peer {i}") for i in range(peers)]
        self._serial = 0
        self._elsewhere: dict[bytes, int] = {}
        self._known: list[Publication] = []

    def keep(self, record: Record) -> None:
        self.state.apply(record)
        self.records.append(record)

    def grow(self, count: int) -> list[Record]:
        """So many more steps; the records that they made."""
        before = len(self.records)
        if not before:
            self.keep(LogBegun(GENERATION))
        for _ in range(count):
            self.random.choice(self._kinds)(self)
        return self.records[before:]

    def publication(self, origin: bytes, place: Place) -> Publication:
        key, random = self.random.choice(self._keys), self.random
        self._serial += random.choice([1, 1, 1, 5])
        body = random.randbytes(random.choice([0, 1, 40, 40, 300, 5000]))
        proof = Proof(1, 2, random.randbytes(32), random.randbytes(64))
        draft = Draft(key, b"salt".ljust(32), self._serial, random.choice(list(Kind)), body, proof)
        return Publication(origin, place, random.uniform(1e9, 2e9), draft)

    def publish(self) -> None:
        generation, last = self.state.log.end
        publication = self.publication(HERE, (generation, last + 1))
        self.keep(Published(publication))
        self._enqueue(publication)

    def arrive(self) -> None:
        """From elsewhere, or again."""
        random = self.random
        origin = random.choice([b"east".ljust(32), b"west".ljust(32), HERE[::-1]])
        number = self._elsewhere[origin] = self._elsewhere.get(origin, 0) + 1
        place = random.choice([(7, number), (7, number), (7, number), (HUGE, HUGE - 1)])
        publication = self.publication(origin, place)
        if self._known and random.random() < 0.3:
            publication = random.choice(self._known)
        self._known = [*self._known[-20:], publication]
        self._enqueue(publication, is_history=random.random() < 0.3)

    def _enqueue(self, publication: Publication, *, is_history: bool = False) -> None:
        random = self.random
        names = random.sample(self._keys, random.choice([0, 1, 1, 2, 3, len(self._keys)]))
        recipients = tuple((self._name(key), tuple(f"s{i}" for i in range(random.randrange(3)))) for key in names)
        if random.random() < 0.9:
            self.keep(Enqueued(publication, recipients, random.uniform(1e9, 2e9), is_history))

    def acknowledge(self) -> None:
        if self.state.log.unacknowledged:
            self.keep(Acknowledged(self.random.choice(list(self.state.log.unacknowledged)[:3])))

    def trim_log(self) -> None:
        log = self.state.log
        most = next(iter(log.unacknowledged), log.end[1] + 1) - 1
        if most > log.trimmed:
            self.keep(LogTrimmed(self.random.randint(log.trimmed + 1, most)))

    def take(self) -> None:
        name = self._some()
        queue = self.state.peers[name].queue if name in self.state.peers else None
        position = 0 if queue is None else queue.position
        through = self.random.randint(max(0, position - 6), position + 1)
        is_taken = self.random.random() < 0.7
        self.keep(Dequeued(name, through) if is_taken else QueueTrimmed(name, through))

    def mark(self) -> None:
        place = self.random.choice([(7, 3), (7, 9), (0, 1), (0, 0), (HUGE, HUGE)])
        self.keep(Marked(self._some(), self.random.choice([b"east".ljust(32), b"", b"\0x"]), place))

    def miss(self) -> None:
        name = self._some()
        records: list[Record] = [Missed(name, 3), Missed(name, HUGE), LossTold(name)]
        self.keep(self.random.choice(records))

    def subscribe(self) -> None:
        random, name = self.random, self._some()
        text = random.choice(["X : t(X, dc:creator, Y)", "größer \0 als"])
        one = Subscription(f"s{random.randrange(5)}", text, 1.5, random.choice([None, 2.0**60]), answered=(b"a",))
        self.keep(Subscribed(name, one))

    def unsubscribe(self) -> None:
        name = self._some()
        if name in self.state.peers and self.state.peers[name].subscriptions:
            self.keep(Unsubscribed(name, self.random.choice(list(self.state.peers[name].subscriptions))))

    def advertise(self) -> None:
        name = self._some()
        elements = tuple(self.random.sample(ELEMENTS, self.random.randrange(len(ELEMENTS) + 1)))
        records: list[Record] = [Advertised(name, elements), Leaving(name), Withdrawn(name)]
        self.keep(self.random.choice(records))

    def withdraw_stranger(self) -> None:
        """What was kept of a peer for its advertisement only is gone without it."""
        self.keep(Withdrawn(f"stranger {self.random.randrange(3)}"))

    def forget(self) -> None:
        if self.random.random() < 0.5:
            self.keep(Forgotten(self._some(), self.random.choice([None, b"east".ljust(32), b"west".ljust(32)])))

    def register(self) -> None:
        random, key = self.random, self.random.choice(self._keys)
        attachment = Attachment(key, PublicKey(HERE), random.randrange(2**62), random.randbytes(64))
        registration = auth.Registration(key, random.randbytes(32), random.randbytes(32), "a:1", attachment, 1.0, 2.0)
        choices: list[auth.Record] = [registration, registration, auth.Departure(key, 5, 2.0), auth.Ban(key, 3.25)]
        self.keep(Registered(random.choice(choices)))

    def unregister(self) -> None:
        self.keep(Unregistered(self.random.choice(self._keys).raw))

    def order(self) -> None:
        random, name = self.random, self._some()
        old = PublicKey(random.choice([b"east", b"west"]).ljust(32))
        public_id = PublicId(random.randbytes(32))
        order = MigrationOrder(self._keys[0], public_id, old, PublicKey(HERE), 3, 4, 5, random.randbytes(64))
        self.keep(OrderKept(name, order) if random.random() < 0.7 else HandingOver(name, order))
        kept = self.state.peers[name]
        if kept.orders and random.random() < 0.4:
            self.keep(OrderDropped(name, random.choice(list(kept.orders))))

    def move_in(self) -> None:
        name = self._some()
        self.keep(Arriving(name, self.random.choice([None, b"east".ljust(32)])))
        if self.random.random() < 0.8:
            marks = ((b"east".ljust(32), (7, 2)), (b"south", (5, HUGE)), (b"east".ljust(32), (7, 1)))
            self.keep(Brought(name, marks[: self.random.randrange(4)]))
            if self.random.random() < 0.5:
                self.keep(CaughtUpHere(name))

    def meet(self) -> None:
        random, name = self.random, self._some()
        one = Rendezvous(f"r{random.randrange(4)}", "http://r", "owner", HERE, name, HERE, random.random())
        kept = self.state.peers.get(name)
        match random.randrange(4):
            case 0:
                self.keep(RendezvousKept(name, one))
            case 1 if kept and kept.rendezvous:
                self.keep(RendezvousDropped(name, random.choice(list(kept.rendezvous))))
            case 2 if kept and kept.files:
                self.keep(FileDropped(name, random.choice(list(kept.files))))
            case _:
                content = random.choice([b"", b"the same for many", random.randbytes(3000)])
                self.keep(FileKept(name, one, random.randbytes(32), content, random.random()))

    _kinds = (
        *(publish, publish, publish, arrive, arrive, arrive, acknowledge, acknowledge, take, take, take),
        *(trim_log, mark, miss, subscribe, subscribe, unsubscribe, advertise, withdraw_stranger, forget),
        *(register, unregister, order, move_in, meet, meet),
    )

    def _some(self) -> str:
        return self._name(self.random.choice(self._keys))

    def _name(self, key: PublicKey) -> str:
        return str(PublicId.derive(key, b"salt".ljust(32)))

    def _key(self, name: str) -> PublicKey:
        return PublicKey(name.encode().ljust(32))
