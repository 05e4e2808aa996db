"""Links and dialers over real connections that break: every message once, in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from auth import Identity
from superpeer.net import (
    Backoff,
    Connection,
    ConnectionClosed,
    Dialer,
    Endpoint,
    Limits,
    Link,
    Listener,
    NetError,
    Reason,
    Session,
    SessionLimits,
    Unreachable,
    links,
)
from superpeer.net.limits import MIN_FRAME_BYTES
from tests.superpeer.net.helpers import (
    HOST,
    LOOPS,
    MEMBER,
    SERVER,
    connected,
    exactly,
    listening,
    live,
    peer,
    refused,
    super_peer,
    wait_for,
)

pytestmark = pytest.mark.parametrize("loop", LOOPS)

BRISK = Backoff(first_s=0.01, longest_s=0.05)
SMALLER, GREATER = sorted((SERVER, MEMBER), key=lambda identity: identity.public)


class SlowDisk:
    """Has room, until it is told that it has none."""

    def __init__(self) -> None:
        self.has_room = True
        self._freed = asyncio.Event()

    async def room(self) -> None:
        while not self.has_room:
            self._freed.clear()
            await self._freed.wait()

    def free(self) -> None:
        self.has_room = True
        self._freed.set()


class Node:
    """A super-peer that does nothing but keep a link with one other."""

    def __init__(self, identity: Identity, other: Identity, seed: int) -> None:
        self.endpoint: Endpoint = super_peer(identity)
        self.other = other.public
        self.received: list[bytes] = []
        self.restarts = 0
        self.lost: list[bytes] = []
        self.asides: list[bytes] = []
        self.connections = 0
        self.random = Random(seed)
        self.disk = SlowDisk()
        self.listener = Listener(self.endpoint, self.accept)
        self.begin()

    def begin(self) -> None:
        """A life starts."""
        session = Session(os.urandom(16), SessionLimits(batch_bytes=2000))
        self.link = Link(
            self.endpoint.identity.public,
            self.other,
            session,
            self.received.extend,
            self.restarted,
            self.asides.append,
            self.connected,
            self.disk,
        )

    def connected(self) -> None:
        self.connections += 1

    def restarted(self, lost: tuple[bytes, ...]) -> None:
        self.restarts += 1
        self.lost += lost
        self.received.append(b"restarted")

    async def accept(self, connection: Connection) -> None:
        await self.link.use(connection, dialled=False)

    async def dialled(self, connection: Connection) -> None:
        await self.link.use(connection, dialled=True)
        await self.link.wait_disconnected()

    def dialer(self, port: int) -> Dialer:
        return Dialer(self.endpoint, HOST, port, self.other, self.dialled, random=self.random, backoff=BRISK)


@asynccontextmanager
async def running(seed: int, dialling: tuple[Identity, ...]) -> AsyncIterator[tuple[Node, Node]]:
    """Two nodes, of which these dial."""
    one, other = Node(SMALLER, GREATER, seed), Node(GREATER, SMALLER, seed + 1)
    for node in (one, other):
        await node.listener.start(HOST, 0)
    tasks = [
        asyncio.create_task(node.dialer(peer.listener.port).run())
        for node, peer in ((one, other), (other, one))
        if node.endpoint.identity in dialling
    ]
    try:
        yield one, other
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for node in (one, other):
            await node.listener.close()


@pytest.mark.parametrize("dialling", [(SMALLER,), (GREATER,), (SMALLER, GREATER)], ids=["smaller", "greater", "both"])
def test_connections_that_break_lose_nothing(dialling: tuple[Identity, ...], loop: str) -> None:
    async def main() -> None:
        random = Random(len(dialling))
        async with running(1, dialling) as (one, other):
            sent: dict[Node, list[bytes]] = {one: [], other: []}
            for step in range(150):
                node = random.choice((one, other))
                for _ in range(random.randint(1, 30)):
                    message = b"%d " % len(sent[node]) * random.randint(0, 200)
                    node.link.send(message)
                    sent[node].append(message)
                await asyncio.sleep(random.choice((0, 0, 0.001, 0.01)))
                if step % 5 == 0:
                    for connection in list(node.link._connections):
                        connection.abort()
            await wait_for(lambda: len(one.received) >= len(sent[other]) and len(other.received) >= len(sent[one]))
            assert one.received == sent[other]
            assert other.received == sent[one]
            assert one.listener.counters().connections + other.listener.counters().connections > 3

    live(main(), loop)


def test_who_has_no_room_gets_nothing_but_what_is_said_aside(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither over this connection nor over the next; nothing is lost; and the sender keeps what is not read."""
    monkeypatch.setattr(links, "MAX_WAITING_BYTES", 10_000)

    async def main() -> None:
        async with running(7, (SMALLER,)) as (one, other):
            one.link.send(b"first")
            await wait_for(lambda: other.received == [b"first"])
            other.disk.has_room = False
            sent = [b"%d " % number * 100 for number in range(20)]
            for message in sent[:10]:
                one.link.send(message)
            one.link.send_aside(b"alive")
            await wait_for(lambda: other.asides == [b"alive"])
            for connection in other.listener.connections:
                connection.abort()
            await wait_for(lambda: other.connections == 2)
            one.link.send_aside(b"still alive")
            await wait_for(lambda: other.asides == [b"alive", b"still alive"])
            for message in sent[10:]:
                one.link.send(message)
            assert other.received == [b"first"]
            assert one.link.session.unacknowledged == 20
            other.disk.free()
            await wait_for(lambda: len(other.received) == 21)
            assert other.received == [b"first", *sent]
            await wait_for(lambda: not one.link.session.unacknowledged)

    live(main(), loop)


def test_who_has_no_room_for_long_stops_reading(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_WAITING_BYTES", 10_000)

    async def main() -> None:
        async with running(8, (SMALLER,)) as (one, other):
            one.link.send(b"first")
            await wait_for(lambda: other.received == [b"first"])
            other.disk.has_room = False
            for _ in range(20):
                one.link.send(os.urandom(1_500))
            (connection,) = other.listener.connections
            await wait_for(lambda: connection.counters.bytes_in > 20 * 1_500)
            come = connection.counters.messages_in
            one.link.send_aside(b"nobody reads this")
            await wait_for(lambda: connection.counters.messages_in > come)
            for _ in range(10):
                await asyncio.sleep(0)
            assert other.asides == []
            other.disk.free()
            await wait_for(lambda: len(other.received) == 21 and other.asides == [b"nobody reads this"])

    live(main(), loop)


def test_of_two_connections_that_both_ends_made_one_stays(loop: str) -> None:
    async def main() -> None:
        async with running(2, (SMALLER, GREATER)) as (one, other):
            one.link.send(b"to the greater")
            other.link.send(b"to the smaller")
            await wait_for(lambda: bool(one.received) and bool(other.received))
            await wait_for(lambda: len(one.link._connections) == len(other.link._connections) == 1)
            for _ in range(20):
                await asyncio.sleep(0.01)
                assert len(one.link._connections) == len(other.link._connections) == 1
            assert one.link.is_connected
            assert other.link.is_connected

    live(main(), loop)


def test_a_new_life_is_told_and_starts_afresh(loop: str) -> None:
    async def main() -> None:
        async with running(3, (SMALLER,)) as (one, other):
            one.link.send(b"first")
            await wait_for(lambda: other.received == [b"first"])
            one.begin()
            one.link.send(b"second")
            for connection in other.listener.connections:
                connection.abort()
            await wait_for(lambda: other.received == [b"first", b"restarted", b"second"])
            assert (one.restarts, other.restarts) == (0, 1)
            other.link.send(b"answer")
            await wait_for(lambda: one.received == [b"answer"])

    live(main(), loop)


def test_what_the_old_life_did_not_acknowledge_is_handed_back(loop: str) -> None:
    async def main() -> None:
        async with running(9, (SMALLER,)) as (one, other):
            one.link.send(b"first")
            await wait_for(lambda: other.received == [b"first"] and one.link.session.unacknowledged == 0)
            other.begin()
            for connection in other.listener.connections:
                connection.abort()
            await asyncio.wait_for(one.link.wait_disconnected(), 5)
            one.link.send(b"second")
            await wait_for(lambda: one.restarts == 1)
            assert one.lost == [b"second"]
            one.link.send(b"third")
            await wait_for(lambda: other.received == [b"first", b"third"])

    live(main(), loop)


def test_what_is_said_aside_is_sent_at_once_or_not_at_all(loop: str) -> None:
    async def main() -> None:
        async with running(10, (SMALLER,)) as (one, other):
            assert not other.link.send_aside(b"nobody is there")
            await wait_for(lambda: other.link.is_connected)
            assert other.connections == 1
            assert other.link.send_aside(b"alive")
            other.link.send(b"numbered")
            await wait_for(lambda: one.asides == [b"alive"] and one.received == [b"numbered"])

    live(main(), loop)


def test_a_connection_with_a_past_life_is_closed(loop: str) -> None:
    """The other end lives anew and connects before we notice that our own connection leads nowhere."""

    async def main() -> None:
        async with running(8, (SMALLER,)) as (one, other):
            await wait_for(lambda: one.link.is_connected)
            [old] = one.link._connections
            other.begin()
            async with connected(one.listener, other.endpoint, SMALLER.public) as connection:
                using = asyncio.create_task(other.link.use(connection, dialled=True))
                await wait_for(lambda: one.restarts == 1)
                await wait_for(lambda: len(one.link._connections) == 1)
                assert old not in one.link._connections
                assert old.ended is not None
                assert old.ended.reason is Reason.SUPERSEDED
                one.link.send(b"to the new life")
                await wait_for(lambda: other.received == [b"to the new life"])
                connection.close()
                await using

    live(main(), loop)


def test_much_at_once_is_passed_on_as_fast_as_it_is_taken(loop: str) -> None:
    async def main() -> None:
        async with running(4, (SMALLER,)) as (one, other):
            messages = [os.urandom(100_000) for _ in range(200)]
            for message in messages:
                one.link.send(message)
            await wait_for(lambda: len(other.received) == len(messages))
            assert other.received == messages
            await wait_for(lambda: one.link.session.unacknowledged == 0)

    live(main(), loop)


def test_an_end_that_breaks_a_session_is_refused(loop: str) -> None:
    async def main() -> None:
        node = Node(SERVER, MEMBER, 5)
        await node.listener.start(HOST, 0)
        async with connected(node.listener, super_peer(MEMBER)) as connection:
            assert len(await exactly(connection, 1)) == 1
            connection.send(b"no message of a session")
            with pytest.raises(ConnectionClosed) as found:
                await exactly(connection, 1)
            assert (found.value.reason, found.value.by_other) == (Reason.MALFORMED_MESSAGE, True)
        assert refused(node.listener.counters()) == {"MALFORMED_MESSAGE": 1}
        await node.listener.close()

    live(main(), loop)


def test_an_end_that_takes_only_small_frames_is_no_super_peer(loop: str) -> None:
    async def main() -> None:
        node = Node(SERVER, MEMBER, 6)
        await node.listener.start(HOST, 0)
        small = super_peer(MEMBER, limits=Limits(max_frame_bytes=MIN_FRAME_BYTES))
        async with connected(node.listener, small) as connection:
            with pytest.raises(ConnectionClosed) as found:
                await exactly(connection, 1)
            assert found.value.reason is Reason.OVERSIZE
        await node.listener.close()

    live(main(), loop)


def test_a_dialer_tries_again_and_waits_longer_each_time(loop: str) -> None:
    async def main() -> None:
        waits: list[float] = []
        errors: list[NetError] = []
        served = asyncio.Event()

        async def serve(connection: Connection) -> None:
            connection.send(b"hello")
            await exactly(connection, 1)
            served.set()

        def failed(error: NetError, wait_s: float) -> None:
            errors.append(error)
            waits.append(wait_s)

        async with listening() as listener:
            port = listener.port
        dialer = Dialer(peer(), HOST, port, SERVER.public, serve, random=Random(7), backoff=BRISK, failed=failed)
        task = asyncio.create_task(dialer.run())
        await wait_for(lambda: len(errors) >= 4)
        assert all(isinstance(error, Unreachable) for error in errors[:4])
        assert 0.005 <= waits[0] <= 0.01 <= waits[1] <= 0.02 <= waits[2] <= 0.04
        listener = await Listener(super_peer(), echo_once).start(HOST, port)
        await served.wait()
        await wait_for(lambda: waits[-1] <= 0.01)
        assert dialer.attempts == 1, "a connection makes earlier failures forgotten"
        task.cancel()
        await asyncio.wait([task])
        await listener.close()

    live(main(), loop)


async def echo_once(connection: Connection) -> None:
    for message in await connection.receive():
        connection.send(message)
