"""The connections of peers: what they ask for is answered in order, and what comes for them is pushed.

Answers wait for the disk and keep their order; what a peer is told follows the answer of the step that led to it. A
peer that does not take what it is sent is not waited for by others: what it has to be told waits in its queue at the
node, which sends no more than a window of it. Here that waits as references, and is written when the connection takes
it. A peer that asks without reading the answers is not read from either; one that takes nothing for too long is let go.

A peer has one connection: a newer one takes over, as the peer made it because it had lost the older.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque

from auth import AuthError, PublicId, SuperPeerExchange, SuperPeerState, WrongKey, decode_message
from auth.messages import ArrivalReply, Greeting, RegistrationReply
from auth.wire import encode
from qel import QelError
from superpeer.daemon.core import Core
from superpeer.daemon.logs import note
from superpeer.net import Connection, ConnectionClosed, MessageTooLarge, Reason, Violation
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
from superpeer.node.requests import Event, Leave, Notice, Notified, Reply, Welcome

SLICE_S = 0.005
"""So long one peer's requests are served before others get their turn."""
MAX_ATTEMPTS = 32
"""Messages of exchanges, which cost signatures, before a peer says who it is."""
MAX_UNREAD_ANSWERS = 2_000
MAX_WAITING = 20_000
"""The node's window and what peers ask for is far less; beyond it a peer is too slow."""
NOTICE_BATCH_BYTES = 64 * 1024

ToPeer = Attached | Welcomed | Answered | Refused | Told
log = logging.getLogger(__name__)


class PeerDesk:
    """All connected peers."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._services: dict[str, Service] = {}
        self.counts: Counter[str] = Counter()
        core.tell = self.tell

    @property
    def connected(self) -> dict[str, Service]:
        """By public id."""
        return self._services

    async def serve(self, connection: Connection) -> None:
        """Everything that a peer says over one connection."""
        service = Service(connection, self._core, self)
        try:
            await service.run()
        except Violation as violation:
            note(log, "a peer broke the protocol", logging.WARNING, key=connection.other.key.id, reason=violation)
            raise
        finally:
            self.disconnect(service)

    def tell(self, peer: str, event: Event) -> None:
        """Push an event to a peer, if it is still there."""
        service = self._services.get(peer)
        # What was to be told over an older connection comes again when the peer has been welcomed, if it matters.
        if service is not None and service.is_welcomed:
            self.counts["events"] += 1
            if isinstance(event, Notified):
                self.counts["notices"] += len(event.notices)
            service.say(Told(event))

    def connect(self, service: Service, public_id: PublicId) -> None:
        """A peer is there, over this connection and no other."""
        peer = str(public_id)
        if service.public_id is not None and service.public_id != public_id:
            self.disconnect(service)
        older = self._services.get(peer)
        if older is not None and older is not service:
            older.public_id = None
            older.connection.close(Reason.SUPERSEDED)
        service.public_id = public_id
        self._services[peer] = service
        note(log, "a peer is connected", peer=peer, address=service.connection.address[0])

    def disconnect(self, service: Service) -> None:
        """A connection has ended. The node is told, unless another one took over."""
        public_id, service.public_id = service.public_id, None
        if public_id is not None and self._services.get(str(public_id)) is service:
            del self._services[str(public_id)]
            self._core.disconnect(public_id)
            note(log, "a peer is gone", peer=public_id, reason=service.connection.ended)

    def forget(self, service: Service) -> None:
        """A peer has left for good."""
        if service.public_id is not None:
            self._services.pop(str(service.public_id), None)
            service.public_id = None


class Service:
    """One connection of one peer."""

    __slots__ = (
        "_attempts",
        "_core",
        "_desk",
        "_drainer",
        "_exchange",
        "_outgoing",
        "_room",
        "connection",
        "is_welcomed",
        "public_id",
    )

    def __init__(self, connection: Connection, core: Core, desk: PeerDesk) -> None:
        self.connection = connection
        self.public_id: PublicId | None = None
        self.is_welcomed = False
        self._core = core
        self._desk = desk
        self._exchange: SuperPeerExchange | None = None
        self._attempts = 0
        self._outgoing: deque[ToPeer] = deque()
        self._drainer: asyncio.Task[None] | None = None
        self._room: asyncio.Future[None] | None = None

    @property
    def waiting(self) -> int:
        """How much the peer has not taken yet."""
        return len(self._outgoing)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                for data in await self.connection.receive():
                    self._take(data)
                    if loop.time() - began > SLICE_S:
                        await self._core.pump.room()
                        await asyncio.sleep(0)
                        began = loop.time()
                await self._core.pump.room()
                await self._until_answers_are_taken()
        finally:
            if self._drainer is not None:
                self._drainer.cancel()

    def dismiss(self) -> None:
        """This super-peer stops. What it has answered by now is sent first."""
        self._core.say(lambda: self.connection.close(Reason.GOING_AWAY))

    def say(self, message: ToPeer) -> None:
        """In order, as fast as the connection takes it."""
        if self.connection.ended is not None:
            return
        if len(self._outgoing) >= MAX_WAITING:
            self._desk.counts["slow"] += 1
            self._outgoing.clear()
            self.connection.refuse(Reason.SLOW_CONSUMER, "it does not take what it is sent")
            return
        self._outgoing.extend(_divided(message))
        if self._drainer is None:
            self._flush()

    def _take(self, data: bytes) -> None:
        try:
            message = FROM_PEER.decode(data)
        except errors.Malformed as error:
            raise Violation(Reason.MALFORMED_MESSAGE, str(error)) from error
        number = message.number if isinstance(message, Asking) else 0
        try:
            match message:
                case Attaching():
                    self._attach(message)
                case Connecting():
                    self._connect(message)
                case Asking():
                    self._ask(message)
        except (errors.Refused, AuthError, QelError) as error:
            self._desk.counts["refusals"] += 1
            note(log, "a request was refused", logging.DEBUG, peer=self.public_id, reason=error)
            details = error.missing if isinstance(error, errors.Nonconforming) else ()
            serial = error.serial if isinstance(error, errors.Refused) else 0
            refused = Refused(number, type(error).__name__, str(error), tuple(details), serial)
            self._core.say(lambda: self.say(refused))

    def _attach(self, message: Attaching) -> None:
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            raise Violation(Reason.OUT_OF_ORDER, "a peer registers, and then says who it is; refuse it")
        if self._exchange is None or self._exchange.state is SuperPeerState.FINISHED:
            self._exchange = self._core.welcome(self.connection.other.channel)

        def answer(reply: Greeting | RegistrationReply | ArrivalReply) -> None:
            self.say(Attached(encode(reply)))

        self._core.exchange(self._exchange, decode_message(message.message), answer)

    def _connect(self, message: Connecting) -> None:
        public_id = message.public_id
        # The key was proved when the connection was made: nobody gets what waits for somebody else.
        if self._core.node.registry.find(public_id).key != self.connection.other.key:
            raise WrongKey
        at = self._core.clock()

        def answer(welcome: Welcome) -> None:
            self.is_welcomed = True
            self.say(Welcomed(welcome, at))

        self._core.connect(public_id, message.private_id, message.address, answer)
        self.is_welcomed = False
        self._exchange, self._attempts = None, 0
        self._desk.connect(self, public_id)

    def _ask(self, message: Asking) -> None:
        number = message.number
        if self.public_id is None:
            raise errors.NotHere("connect first: nothing can be asked for by somebody who is not there")

        def answer(reply: Reply) -> None:
            self.say(Answered(number, reply))

        self._core.request(self.public_id, message.private_id, message.request, answer)
        if isinstance(message.request, Leave):
            note(log, "a peer has left for good", peer=self.public_id)
            self._desk.forget(self)

    async def _until_answers_are_taken(self) -> None:
        while len(self._outgoing) > MAX_UNREAD_ANSWERS and self.connection.is_open:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def _flush(self) -> None:
        """Write what waits, until the connection has enough."""
        connection, outgoing = self.connection, self._outgoing
        try:
            while outgoing and connection.is_open:
                if not connection.is_drained:
                    self._drainer = self._drainer or asyncio.get_running_loop().create_task(self._drain())
                    return
                self._write(outgoing.popleft())
        except ConnectionClosed:
            outgoing.clear()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _write(self, message: ToPeer) -> None:
        try:
            self.connection.send(TO_PEER.encode(message))
        except MessageTooLarge as error:
            # The peer said itself that it takes no more.
            self._desk.counts["oversize"] += 1
            note(log, "something is too large for a peer", logging.WARNING, peer=self.public_id, reason=error)

    async def _drain(self) -> None:
        try:
            while self._outgoing:
                await self.connection.drain()
                self._write(self._outgoing.popleft())
                if len(self._outgoing) <= MAX_UNREAD_ANSWERS and self._room is not None and not self._room.done():
                    self._room.set_result(None)
        except ConnectionClosed:
            self._outgoing.clear()
        finally:
            self._drainer = None
            if self._room is not None and not self._room.done():
                self._room.set_result(None)


def _divided(message: ToPeer) -> list[ToPeer]:
    """Many notices at once may be more than a frame takes."""
    if not isinstance(message, Told) or not isinstance(message.event, Notified):
        return [message]
    batches: list[list[Notice]] = [[]]
    size = 0
    for notice in message.event.notices:
        size += notice.publication.size_bytes
        if batches[-1] and size > NOTICE_BATCH_BYTES:
            batches.append([])
            size = notice.publication.size_bytes
        batches[-1].append(notice)
    return [Told(Notified(tuple(batch))) for batch in batches]
