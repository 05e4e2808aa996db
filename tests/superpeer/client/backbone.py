"""Real super-peer nodes behind real listeners, in this process; only what they say to each other goes by memory.

Their disks are lists of records, as in the simulator. A super-peer can crash, begin a new life with its disk or
without, cut the connections of its peers, and cut them in the middle of something.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import auth
from auth import Admissions, AuthError, Identity, PublicId, PublicKey, admit
from hypercup import CubeKind, View, make_view
from hypercup.entry import Entry
from hypercup.table import Table
from qel import QelError
from superpeer.client.peer import Peer
from superpeer.net import Backoff, Connection, ConnectionClosed, Endpoint, Limits, Listener, Party, Reason, run
from superpeer.net.peer_messages import (
    FROM_PEER,
    TO_PEER,
    Answered,
    Asking,
    Attached,
    Attaching,
    Connecting,
    Refused,
    Told,
    Welcomed,
)
from superpeer.node import errors
from superpeer.node.coding import RECORDS, decode_message, encode_message
from superpeer.node.limits import Limits as NodeLimits
from superpeer.node.node import Node
from superpeer.node.records import Record
from superpeer.node.state import State
from superpeer.node.workspace import Effects

HOST = "127.0.0.1"
ROOT = Identity(b"r" * 32)
TIME_LIMIT_S = 30.0
QUICK = Backoff(0.01, 0.1)
Result = TypeVar("Result")


def live(main: Coroutine[Any, Any, Result], time_limit_s: float = TIME_LIMIT_S) -> Result:
    """Run on an event loop, and fail rather than hang."""

    async def limited() -> Result:
        async with asyncio.timeout(time_limit_s):
            return await main

    return run(limited())


async def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something that other tasks bring about; the time limit of the test is the time limit."""
    while not condition():
        await asyncio.sleep(0.002)


class SuperPeer:
    """One super-peer with its disk."""

    def __init__(self, backbone: Backbone, number: int, limits: NodeLimits | None, lenient: bool) -> None:
        self.identity = Identity(bytes([number + 1]) * 32)
        self.key = self.identity.public.raw
        self.disk: list[bytes] = []
        self.node: Node | None = None
        self.port = 0
        self.asked: Counter[str] = Counter()
        self.swallow: Callable[[object], bool] = lambda _request: False
        """After which request the connection is cut instead of the answer being given."""
        self._backbone = backbone
        self._limits = limits
        self._lenient = lenient
        self._connections: dict[str, Connection] = {}
        now = int(time.time())
        certificate = admit(ROOT, self.identity.public, now - 60, now + 3600, f"super-peer {number}")
        self._endpoint = Endpoint(
            self.identity,
            Party.SUPER_PEER,
            Admissions(ROOT.public),
            certificate,
            limits=Limits(max_frame_bytes=16 * 1024 * 1024, max_outgoing_bytes=32 * 1024 * 1024, linger_s=0.2),
        )
        self._listener: Listener | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}#{PublicKey(self.key)}"

    @property
    def running(self) -> Node:
        assert self.node is not None
        return self.node

    async def start(self) -> None:
        """A new life, with what is on disk."""
        state = State()
        for data in self.disk:
            state.apply(RECORDS.decode(data))
        self.node = Node(
            self.identity,
            f"{HOST}:{self.port}",
            state,
            now=time.time(),
            random=os.urandom,
            limits=self._limits,
            accepts_nonconforming=self._lenient,
        )
        self._backbone.renew_view(self)
        self._listener = await Listener(self._endpoint, self._serve).start(HOST, self.port)
        self.port = self._listener.port

    async def crash(self, *, disk: bool = True) -> None:
        self.node = None
        if not disk:
            self.disk.clear()
        assert self._listener is not None
        self.cut()
        await self._listener.close()
        self._listener = None
        self._backbone.renew_view()

    def cut(self) -> None:
        """Every connection breaks without a word."""
        assert self._listener is not None
        for connection in self._listener.connections:
            connection.abort()

    def carry_out(self, effects: Effects) -> None:
        self.disk += [RECORDS.encode(record) for record in effects.records]
        for receiver, message in effects.messages:
            self._backbone.send(self, receiver, encode_message(message))
        for peer, event in effects.events:
            connection = self._connections.get(peer)
            if connection is not None and connection.ended is None:
                connection.send(TO_PEER.encode(Told(event)))
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wakeup = self.node.next_wakeup if self.node else None
        if wakeup is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(3600.0, max(0.001, wakeup - time.time())), self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self.node is not None:
            self.carry_out(self.node.tick(time.time()))

    async def _serve(self, connection: Connection) -> None:
        exchange = self.running.welcome(connection.other.channel)
        peer: PublicId | None = None
        try:
            while True:
                for data in await connection.receive():
                    message = FROM_PEER.decode(data)
                    if self.node is None:
                        return
                    number = message.number if isinstance(message, Asking) else 0
                    try:
                        peer = self._take(connection, exchange, peer, message)
                    except (errors.Refused, AuthError, QelError) as error:
                        details = error.missing if isinstance(error, errors.Nonconforming) else ()
                        if isinstance(message, Asking) and self.swallow(message.request):
                            connection.abort()
                            return
                        serial = error.serial if isinstance(error, errors.Refused) else 0
                        refused = Refused(number, type(error).__name__, str(error), details, serial)
                        connection.send(TO_PEER.encode(refused))
                    except ConnectionClosed:
                        return
        finally:
            if peer is not None and self.node is not None and self._connections.get(str(peer)) is connection:
                del self._connections[str(peer)]
                self.carry_out(self.node.disconnect(peer, time.time()))

    def _take(
        self,
        connection: Connection,
        exchange: auth.SuperPeerExchange,
        peer: PublicId | None,
        message: Attaching | Connecting | Asking,
    ) -> PublicId | None:
        node, now = self.running, time.time()
        self.asked[type(message).__name__] += 1
        match message:
            case Attaching(data):
                reply, effects = node.exchange(exchange, auth.decode_message(data), now)
                self._answer(connection, message, Attached(auth.encode(reply)), effects)
                return peer
            case Connecting(public_id, private_id, address):
                welcome, effects = node.connect(public_id, private_id, address, now)
                before = self._connections.pop(str(public_id), None)
                if before is not None:
                    before.close(Reason.SUPERSEDED)
                self._connections[str(public_id)] = connection
                self._answer(connection, message, Welcomed(welcome, now), effects)
                return public_id
            case Asking(number, private_id, request):
                self.asked[type(request).__name__] += 1
                if peer is None:
                    raise errors.NotHere("connect first")
                answer, effects = node.request(peer, private_id, request, now)
                self._answer(connection, request, Answered(number, answer), effects)
                return peer

    def _answer(self, connection: Connection, what: object, answer: Any, effects: Effects) -> None:
        is_swallowed = self.swallow(what)
        if is_swallowed:
            connection.abort()
        elif connection.ended is None:
            connection.send(TO_PEER.encode(answer))
        self.carry_out(effects)
        if is_swallowed:
            raise ConnectionClosed(Reason.LOST)


class Backbone:
    """Some super-peers in one view, and peers in directories of their own."""

    def __init__(self, directory: Path) -> None:
        self.super_peers: list[SuperPeer] = []
        self._directory = directory
        self._by_key: dict[bytes, SuperPeer] = {}
        self._incarnations: Counter[bytes] = Counter()
        self._epoch = 0
        self._under_way: deque[tuple[SuperPeer, bytes, bytes]] = deque()

    def __getitem__(self, number: int) -> SuperPeer:
        return self.super_peers[number]

    async def add(self, limits: NodeLimits | None = None, lenient: bool = False) -> SuperPeer:
        super_peer = SuperPeer(self, len(self.super_peers), limits, lenient)
        self.super_peers.append(super_peer)
        self._by_key[super_peer.key] = super_peer
        await super_peer.start()
        return super_peer

    def renew_view(self, begun: SuperPeer | None = None) -> None:
        """Who runs is in the view, and who has begun a life in a new incarnation."""
        if begun is not None:
            self._incarnations[begun.key] += 1
        self._epoch += 1
        running = [one for one in self.super_peers if one.node is not None]
        entries = [
            Entry(one.key, f"{HOST}:{one.port}", self._incarnations[one.key], epoch=self._epoch) for one in running
        ]
        if entries:
            view: View = make_view(CubeKind(), Table(entries))
            for one in running:
                one.carry_out(one.running.enter_view(view, time.time()))

    def send(self, sender: SuperPeer, receiver: bytes, message: bytes) -> None:
        self._under_way.append((sender, receiver, message))
        asyncio.get_running_loop().call_soon(self._arrive)

    def _arrive(self) -> None:
        sender, key, message = self._under_way.popleft()
        receiver = self._by_key[key]
        if sender.node is not None and receiver.node is not None:
            receiver.carry_out(receiver.node.receive(sender.key, decode_message(message), time.time()))

    def peer(self, name: str, at: int = 0, **options: Any) -> Peer:
        options.setdefault("backoff", QUICK)
        options.setdefault("root", str(ROOT.public))
        return Peer.open(self._directory / name, self[at].address, **options)

    async def stop(self) -> None:
        for one in self.super_peers:
            if one.node is not None:
                await one.crash()


@asynccontextmanager
async def running(directory: Path, count: int = 1, **options: Any) -> AsyncIterator[Backbone]:
    backbone = Backbone(directory)
    for _ in range(count):
        await backbone.add(**options)
    try:
        yield backbone
    finally:
        await backbone.stop()


def records_of(super_peer: SuperPeer) -> list[Record]:
    return [RECORDS.decode(data) for data in super_peer.disk]
