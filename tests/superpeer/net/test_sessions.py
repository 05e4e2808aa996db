"""Sessions, against the obvious oracle: every message once, in order, however connections break."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from random import Random

import msgspec
import pytest

from superpeer.net.errors import MessageTooLarge, Reason, SessionFull, Violation
from superpeer.net.limits import SessionLimits
from superpeer.net.sessions import Acknowledgement, Batch, Received, Resume, Session

SEEDS = range(int(os.environ.get("SESSION_SEEDS", "200")))
encode = msgspec.msgpack.encode


@dataclass
class Life:
    """One life of one end. Messages are named after it, after how often the other restarted before, and numbered."""

    name: str
    session: Session
    era: int = 0
    sent: dict[int, list[bytes]] = field(default_factory=dict)
    delivered: list[bytes] = field(default_factory=list)

    def send(self) -> None:
        messages = self.sent.setdefault(self.era, [])
        message = f"{self.name}/{self.era}/{len(messages)}".encode()
        self.session.send(message)
        messages.append(message)

    def take(self, received: Received) -> None:
        if received.restarted:
            self.era += 1
            self.delivered.append(b"restarted")
        self.delivered += received.messages


class Pipe:
    """A connection: two queues of messages in flight. Cutting it loses what is in them."""

    def __init__(self, ends: tuple[Life, Life]) -> None:
        self.ends = ends
        self.queues: tuple[deque[bytes], deque[bytes]] = (deque(), deque())
        for side in (0, 1):
            self.queues[1 - side].append(ends[side].session.attach(self))

    def step(self, side: int, random: Random) -> None:
        """One end reads some of what is in flight."""
        life = self.ends[side]
        for _ in range(random.randint(1, 4)):
            if self.queues[side]:
                life.take(life.session.receive(self, self.queues[side].popleft()))


class World:
    """Two ends and their connections, under a random history."""

    def __init__(self, seed: int, restarts: bool) -> None:
        self.random = Random(seed)
        self.restarts = restarts
        self.count = 0
        self.lives = [self.birth("a"), self.birth("b")]
        self.past: list[Life] = []
        self.pipes: list[Pipe] = []

    def birth(self, end: str) -> Life:
        self.count += 1
        limits = SessionLimits(batch_bytes=self.random.choice([1, 30, 1000]))
        return Life(f"{end}{self.count}", Session(self.random.randbytes(16), limits))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
        self.settle()

    def step(self) -> None:
        random = self.random
        roll = random.random()
        if roll < 0.3:
            random.choice(self.lives).send()
        elif roll < 0.36 and len(self.pipes) < 3:
            self.connect()
        elif roll < 0.42 and self.pipes:
            self.cut(random.choice(self.pipes), random.random() < 0.5)
        elif roll < 0.43 and self.restarts:
            self.restart(random.randrange(2))
        elif roll < 0.7:
            self.flush(random.choice(self.lives), random.randint(1, 3))
        elif self.pipes:
            self.read(random.choice(self.pipes), random.randrange(2))

    def connect(self) -> None:
        self.pipes.append(Pipe((self.lives[0], self.lives[1])))

    def cut(self, pipe: Pipe, one_end_reads_on: bool = False) -> None:
        """What is in flight is lost in at least one direction; one end may still read what reached it."""
        side = self.random.randrange(2)
        if one_end_reads_on:
            while pipe in self.pipes and pipe.queues[side]:
                self.read(pipe, side)
        if pipe not in self.pipes:
            return
        self.pipes.remove(pipe)
        for life in pipe.ends:
            life.session.detach(pipe)

    def read(self, pipe: Pipe, side: int) -> None:
        try:
            pipe.step(side, self.random)
        except Violation:
            assert pipe.ends[1 - side] in self.past, "only a past life is refused, and the connection with it"
            self.cut(pipe)

    def restart(self, end: int) -> None:
        """The dead end's messages may still be in flight; the other end may read them after it met the new life."""
        dead = self.lives[end]
        self.past.append(dead)
        self.lives[end] = self.birth("ab"[end])

    def flush(self, life: Life, most: int) -> bool:
        """Whether there was anything to send."""
        for sent in range(most):
            current = life.session.current
            outgoing = life.session.next_outgoing()
            if outgoing is None:
                return sent > 0
            assert isinstance(current, Pipe)
            if life in self.lives and current in self.pipes:
                current.queues[1 - current.ends.index(life)].append(outgoing)
        return True

    def settle(self) -> None:
        for pipe in list(self.pipes):
            self.cut(pipe)
        self.connect()
        for _ in range(10_000):
            flushed = [self.flush(life, 100) for life in self.lives]
            if not any(flushed) and not any(self.pipes[-1].queues):
                return
            for side in (0, 1):
                self.read(self.pipes[-1], side)
        raise AssertionError("two ends with a connection come to rest")


@pytest.mark.parametrize("seed", SEEDS)
def test_every_message_once_and_in_order(seed: int) -> None:
    world = World(seed, restarts=False)
    world.run(400)
    a, b = world.lives
    assert b.delivered == a.sent.get(0, [])
    assert a.delivered == b.sent.get(0, [])
    assert a.session.unacknowledged == b.session.unacknowledged == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_life_is_never_mistaken_for_the_old_one(seed: int) -> None:
    world = World(seed, restarts=True)
    world.run(600)
    names = {life.name: life for life in [*world.past, *world.lives]}
    for life in names.values():
        for era in eras(life.delivered):
            senders = {message.rsplit(b"/", 1)[0] for message in era}
            assert len(senders) <= 1, "what comes between two restarts comes from one era of one life"
            if era:
                name, number, _ = era[0].decode().split("/")
                assert era == names[name].sent[int(number)][: len(era)], "in order, once, from the first on"
    a, b = world.lives
    assert eras(b.delivered)[-1] == a.sent.get(a.era, [])
    assert eras(a.delivered)[-1] == b.sent.get(b.era, [])


def eras(delivered: list[bytes]) -> list[list[bytes]]:
    found: list[list[bytes]] = [[]]
    for message in delivered:
        if message == b"restarted":
            found.append([])
        else:
            found[-1].append(message)
    return found


def pair() -> tuple[Session, Session]:
    a, b = Session(b"a" * 16), Session(b"b" * 16)
    to_b, to_a = a.attach("c"), b.attach("c")
    assert a.receive("c", to_a) == b.receive("c", to_b) == Received([])
    return a, b


def test_acknowledgements_go_with_messages_of_the_other_direction() -> None:
    a, b = pair()
    a.send(b"one")
    a.send(b"two")
    batch = a.next_outgoing()
    assert batch == encode(Batch(1, 0, [b"one", b"two"]))
    assert b.receive("c", batch).messages == [b"one", b"two"]
    b.send(b"three")
    answer = b.next_outgoing()
    assert answer == encode(Batch(1, 2, [b"three"]))
    assert b.next_outgoing() is None
    assert a.receive("c", answer).messages == [b"three"]
    assert a.unacknowledged == 0
    assert a.next_outgoing() == encode(Acknowledgement(1))
    assert a.next_outgoing() is None


def test_what_is_not_acknowledged_is_bounded() -> None:
    few = Session(b"a" * 16, SessionLimits(max_unacknowledged=2))
    few.send(b"1")
    few.send(b"2")
    with pytest.raises(SessionFull):
        few.send(b"3")
    small = Session(b"a" * 16, SessionLimits(max_unacknowledged_bytes=200, max_message_bytes=150))
    small.send(bytes(100))
    with pytest.raises(SessionFull):
        small.send(bytes(100))
    with pytest.raises(MessageTooLarge):
        small.send(bytes(151))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.MALFORMED_MESSAGE),
        (b"\xc0", Reason.MALFORMED_MESSAGE),
        (b"\x91" * 5000, Reason.MALFORMED_MESSAGE),
        (encode([7, 1]), Reason.MALFORMED_MESSAGE),
        (encode([1, 1, 0, []]), Reason.MALFORMED_MESSAGE),
        (encode([1, -1, 0, [b""]]), Reason.MALFORMED_MESSAGE),
        (encode([2, 0, 0]), Reason.MALFORMED_MESSAGE),
        (encode(Batch(2, 0, [b"gap"])), Reason.OUT_OF_ORDER),
        (encode(Batch(0, 0, [b"zero"])), Reason.OUT_OF_ORDER),
        (encode(Batch(1, 1, [b"acknowledges what was not sent"])), Reason.OUT_OF_ORDER),
        (encode(Acknowledgement(1)), Reason.OUT_OF_ORDER),
        (encode(Resume(b"b" * 16, None, 0)), Reason.OUT_OF_ORDER),
    ],
)
def test_violations_are_refused_and_change_nothing(data: bytes, reason: Reason) -> None:
    a, b = pair()
    a.send(b"waits")
    with pytest.raises(Violation) as refused:
        a.receive("c", data)
    assert refused.value.reason is reason
    b.send(b"good")
    good = b.next_outgoing()
    assert good is not None
    assert a.receive("c", good).messages == [b"good"]
    assert a.unacknowledged == 1


def test_a_connection_begins_with_its_resumption() -> None:
    a = Session(b"a" * 16)
    a.attach("c")
    with pytest.raises(Violation, match="begins with its resumption"):
        a.receive("c", encode(Batch(1, 0, [b"early"])))
    assert a.next_outgoing() is None


def test_a_late_word_of_a_past_life_is_refused() -> None:
    a, _ = pair()
    a.attach("d")
    assert a.receive("d", encode(Resume(b"B" * 16, None, 0))).restarted
    assert not a.is_attached("c")
    assert a.receive("c", encode(Batch(1, 0, [b"late"]))) == Received([])
    a.attach("e")
    with pytest.raises(Violation, match="is over"):
        a.receive("e", encode(Resume(b"b" * 16, a.id, 0)))
    with pytest.raises(Violation, match="is over"):
        a.receive("e", encode(Resume(a.id, None, 0)))


def test_a_new_life_is_acknowledged_from_its_first_message_on() -> None:
    a, b = pair()
    for _ in range(3):
        b.send(b"old")
    batch = b.next_outgoing()
    assert batch is not None
    a.receive("c", batch)
    anew = Session(b"B" * 16)
    to_anew, to_a = a.attach("d"), anew.attach("d")
    assert to_anew == encode(Resume(a.id, b.id, 3))
    assert a.receive("d", to_a).restarted
    anew.receive("d", to_anew)
    anew.send(b"new")
    batch = anew.next_outgoing()
    assert batch is not None
    assert a.receive("d", batch).messages == [b"new"]
    assert a.next_outgoing() == encode(Acknowledgement(1))
