"""A peer over a real connection, as small as it can be: what an access point says is noted, and nothing is hidden."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

from auth import Credentials, Identity, PeerExchange, PrivateId, PublicKey, decode_message
from auth.wire import encode
from superpeer.client.memory import Memory
from superpeer.daemon.config import Address
from superpeer.net import Connection, ConnectionClosed, Endpoint, Limits, Party, dial
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
from superpeer.node.publications import Kind
from superpeer.node.requests import (
    Advertise,
    Event,
    Notice,
    Notified,
    Received,
    Reply,
    Request,
    Subscribe,
    Welcome,
)

DC = "http://purl.org/dc/elements/1.1/"
PLACE = "peer.example.org:4000"


class WasRefused(Exception):
    def __init__(self, refused: Refused) -> None:
        super().__init__(f"{refused.error}: {refused.text}")
        self.refused = refused


class RawPeer:
    """Use as: connect, then ask."""

    def __init__(self, memory: Memory | None = None, *, takes: bool = True) -> None:
        self.memory = memory or Memory(Identity.generate(os.urandom))
        self.notices: list[Notice] = []
        self.events: list[Event] = []
        self.welcome: Welcome | None = None
        self.ended: ConnectionClosed | None = None
        self.connection: Connection
        self._takes = takes
        self._answers: dict[int, asyncio.Future[Reply]] = {}
        self._number = 0
        self._inbox: list[bytes] = []
        self._change = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        return str(self.memory.attached.public_id)

    async def connect(self, address: Address, key: PublicKey, limits: Limits | None = None) -> RawPeer:
        """Dial, register if need be, and say who is there."""
        endpoint = Endpoint(self.memory.identity, Party.PEER, limits=limits or Limits())
        self.connection = await dial(endpoint, address.host, address.port, key)
        if self.memory.credentials is None or self.memory.attached.access_point != key:
            await self.attach(key)
        attached = self.memory.attached
        self._say(Connecting(attached.public_id, attached.private_id, PLACE))
        reply = await self._next()
        if isinstance(reply, Refused):
            raise WasRefused(reply)
        assert isinstance(reply, Welcomed)
        self.welcome = reply.welcome
        self.ended = None
        self._reader = asyncio.create_task(self._read())
        if not self.memory.has_brought:
            await self.ask(self.memory.bring(reply.at))
            self.memory.has_brought = True
        return self

    async def attach(self, key: PublicKey) -> None:
        exchange = PeerExchange(
            self.memory.identity,
            key,
            PLACE,
            self.connection.other.channel,
            os.urandom,
            past=self.memory.credentials,
            last_serial=self.memory.attachment_serial,
        )
        message: Any = exchange.begin(time.time())
        while message is not None:
            self._say(Attaching(encode(message)))
            reply = await self._next()
            if isinstance(reply, Refused):
                raise WasRefused(reply)
            assert isinstance(reply, Attached)
            message = exchange.receive(decode_message(reply.message), time.time())
        assert exchange.credentials is not None
        self.memory.attach(exchange.credentials)

    def ask_later(self, request: Request) -> asyncio.Future[Reply]:
        """Ask without waiting for the answer."""
        self._number += 1
        self._answers[self._number] = answer = asyncio.get_running_loop().create_future()
        self._say(Asking(self._number, self.memory.attached.private_id, request))
        return answer

    async def ask(self, request: Request) -> Reply:
        return await self.ask_later(request)

    async def subscribe(self, name: str, text: str) -> None:
        await self.ask(Subscribe(name, text))
        await self.until(lambda: any(getattr(event, "name", "") == name for event in self.events))

    async def advertise(self, *schemas: str) -> None:
        await self.ask(Advertise(tuple(("schema", schema) for schema in schemas or (DC,))))

    def publish_later(self, body: bytes) -> asyncio.Future[Reply]:
        posting = self.memory.post(Kind.NEW, body)
        return self.ask_later(self.memory.handing_in([posting]))

    async def publish(self, body: bytes) -> Reply:
        return await self.publish_later(body)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Until something that the access point says makes it true."""
        while not condition():
            if self.ended is not None:
                raise self.ended
            self._change.clear()
            await self._change.wait()

    async def until_closed(self) -> None:
        while self.ended is None:
            self._change.clear()
            await self._change.wait()

    async def close(self) -> None:
        self.connection.close()
        await self.connection.wait_closed()
        if self._reader is not None:
            await self._reader

    def _say(self, message: Attaching | Connecting | Asking) -> None:
        self.connection.send(FROM_PEER.encode(message), secret=True)

    async def _next(self) -> Any:
        if not self._inbox:
            self._inbox += await self.connection.receive()
        return TO_PEER.decode(self._inbox.pop(0))

    async def _read(self) -> None:
        try:
            while True:
                for data in self._inbox or await self.connection.receive():
                    self._take(TO_PEER.decode(data))
                self._inbox = []
                self._change.set()
        except ConnectionClosed as error:
            self.ended = error
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(error)
                    answer.exception()
            self._change.set()

    def _take(self, message: Any) -> None:
        match message:
            case Answered(number, reply):
                self._answers.pop(number).set_result(reply)
            case Refused(number):
                self._answers.pop(number).set_exception(WasRefused(message))
            case Told(Notified(notices)):
                self.notices += [notice for notice in notices if self.memory.is_new(notice)]
                if self._takes:
                    self.ask_later(Received(notices[-1].position))
            case Told(event):
                self.events.append(event)


def thief(reader: RawPeer) -> Memory:
    """Has the key, but not the private id."""
    known = reader.memory.attached
    memory = Memory(reader.memory.identity)
    memory.attach(Credentials(known.peer, known.access_point, known.serial, known.salt, PrivateId(bytes(32))))
    return memory
