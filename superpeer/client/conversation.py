"""A conversation: one connection between a peer and its access point, from the first word to the end.

`attach` registers if need be and connects; from then on requests are numbered and answered in any number, and events
are heard. See `superpeer.net.peer_messages` for who may say what.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from os import urandom

import auth
from auth import AuthError, Credentials, PeerExchange, PublicKey, UnknownPeer, WrongPrivateId
from superpeer.client.journal import Journal
from superpeer.client.refusals import refusal_of
from superpeer.net import Connection, ConnectionClosed, Reason, Violation
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
from superpeer.node.errors import Malformed, NotHere
from superpeer.node.requests import Event, Reply, Request

FromAccessPoint = Attached | Welcomed | Answered | Refused | Told
Heard = Callable[[Reply | Exception], None]
"""Gets the reply, the refusal, or why none will come."""

ATTACH_S = 20.0


class Conversation:
    """What is said over one connection."""

    def __init__(self, connection: Connection, journal: Journal, address: str) -> None:
        self._connection = connection
        self._journal = journal
        self._address = address
        self._messages: list[bytes] = []
        self._asked: dict[int, Heard] = {}
        self._number = 0
        self._credentials: Credentials | None = None
        self._clock_difference_s = 0.0
        self.problem: Exception | None = None
        """Why this end closed it, if something was wrong."""

    @property
    def max_message_bytes(self) -> int:
        return self._connection.max_message_bytes

    @property
    def now(self) -> float:
        """The time of day, as the access point has it."""
        return time.time() + self._clock_difference_s

    async def attach(self) -> Welcomed:
        """Be known and connected here; registers or arrives if that is needed."""
        memory = self._journal.memory
        here = self._connection.other.key
        async with asyncio.timeout(ATTACH_S):
            known = memory.credentials
            # A request to attach that was not answered may have been granted, here or elsewhere.
            is_certain = known is not None and known.serial == memory.attachment_serial
            if known is None or known.access_point != here or not is_certain:
                await self._register(here, None if known is None or known.access_point == here else known)
            try:
                return await self._connect()
            except (UnknownPeer, NotHere, WrongPrivateId):
                # It lost its disk, or what it granted never came here. The key says who we are.
                await self._register(here, None)
                return await self._connect()

    async def _register(self, here: PublicKey, past: Credentials | None) -> None:
        journal = self._journal
        exchange = PeerExchange(
            journal.memory.identity,
            here,
            self._address,
            self._connection.other.channel,
            urandom,
            past=past,
            last_serial=journal.memory.attachment_serial,
        )
        message: auth.Challenge | auth.RegistrationRequest | auth.ArrivalRequest | None = exchange.begin(time.time())
        while message is not None:
            if exchange.serial > journal.memory.attachment_serial:
                journal.attaching(exchange.serial)
                await journal.sync()
            self._connection.send(FROM_PEER.encode(Attaching(auth.encode(message))), secret=True)
            answer = await self._next()
            if not isinstance(answer, Attached):
                raise _out_of_order(answer)
            try:
                message = exchange.receive(auth.decode_message(answer.message), time.time())
            except AuthError as error:
                raise Violation(Reason.NOT_PROVED, f"the super-peer did not prove itself: {error}") from error
        assert exchange.credentials is not None
        journal.attach(exchange.credentials)
        await journal.sync()

    async def _connect(self) -> Welcomed:
        attached = self._journal.memory.attached
        connecting = Connecting(attached.public_id, attached.private_id, self._address)
        self._connection.send(FROM_PEER.encode(connecting), secret=True)
        answer = await self._next()
        if not isinstance(answer, Welcomed):
            raise _out_of_order(answer)
        self._credentials = attached
        self._clock_difference_s = answer.at - time.time()
        return answer

    async def _next(self) -> FromAccessPoint:
        if not self._messages:
            self._messages = await self._connection.receive()
        message = _read(self._messages.pop(0))
        if isinstance(message, Refused):
            raise refusal_of(message)
        return message

    # Once attached.

    def close(self, error: Exception | None = None) -> None:
        """End it; `error` is why, if there is something wrong."""
        self.problem = error
        self._connection.close()

    def say(self, request: Request, heard: Heard) -> None:
        """Ask without waiting. Raises `ConnectionClosed` if that is not possible any more."""
        assert self._credentials is not None, "who asks is connected"
        self._number += 1
        asking = Asking(self._number, self._credentials.private_id, request)
        self._connection.send(FROM_PEER.encode(asking), secret=True)
        self._asked[self._number] = heard

    async def ask(self, request: Request) -> Reply:
        """Raises the refusal, or `ConnectionClosed`."""
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def heard(reply: Reply | Exception) -> None:
            if answer.done():
                return
            if isinstance(reply, Exception):
                answer.set_exception(reply)
            else:
                answer.set_result(reply)

        self.say(request, heard)
        return await answer

    async def listen(self, hear: Callable[[Event], None]) -> None:
        """Hear answers and events until the connection ends, which it tells by `ConnectionClosed`."""
        try:
            while True:
                messages, self._messages = self._messages or await self._connection.receive(), []
                with self._journal.transaction():
                    for data in messages:
                        self._on_message(_read(data), hear)
        finally:
            self._end()

    def _on_message(self, message: FromAccessPoint, hear: Callable[[Event], None]) -> None:
        match message:
            case Told(event):
                hear(event)
            case Answered(number, reply):
                self._heard(number)(reply)
            case Refused(number):
                self._heard(number)(refusal_of(message))
            case _:
                raise _out_of_order(message)

    def _heard(self, number: int) -> Heard:
        heard = self._asked.pop(number, None)
        if heard is None:
            raise Violation(Reason.OUT_OF_ORDER, "the super-peer answered what it was not asked")
        return heard

    def _end(self) -> None:
        asked, self._asked = self._asked, {}
        error = self._connection.ended or ConnectionClosed(Reason.LOST)
        for heard in asked.values():
            heard(error)


def _read(data: bytes) -> FromAccessPoint:
    try:
        return TO_PEER.decode(data)
    except Malformed as error:
        raise Violation(Reason.MALFORMED_MESSAGE, str(error)) from error


def _out_of_order(message: FromAccessPoint) -> Violation:
    return Violation(Reason.OUT_OF_ORDER, f"the super-peer said {type(message).__name__}, which has no place here")
