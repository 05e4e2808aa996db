"""Links: a session with one other super-peer, over whatever connections there are between the two.

Both may connect to each other, even at the same time. A session takes messages from all its connections, so this is
never wrong, only wasteful, and two rules let one connection remain, the same for both ends:

    Of several connections that the same end made, the newest stays: it made that one because it had lost the others.
    Of connections that both ends made, that of the end with the smaller key stays. The end with the greater key
    closes its own, and only when it has the other one; so it cannot close the last one there is.

While whoever gets the messages has no room, because its disk is slow say, they are neither handed up nor acknowledged.
What is said aside is heard all the same, so that nobody takes us for dead; and no more than a limit is read, so that
the other end keeps what it has to say, which its session bounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from auth import PublicKey
from superpeer.net.connection import Connection
from superpeer.net.errors import ConnectionClosed, Reason, Violation
from superpeer.net.limits import MEBIBYTE
from superpeer.net.sessions import (
    BATCH_OVERHEAD_BYTES,
    MESSAGE_OVERHEAD_BYTES,
    Batch,
    Session,
    read,
    write_aside,
)

MAX_WAITING_BYTES = 4 * MEBIBYTE
"""So much is read of messages that there is no room for, before what is said aside has to wait, too."""


class Room(Protocol):
    """Whoever gets the messages, or its disk."""

    @property
    def has_room(self) -> bool: ...

    async def room(self) -> None:
        """Returns when it has."""


class Link:
    """Our end of what connects us with another super-peer. `received` gets messages in order; `restarted` is called
    when the other end began a new life, before anything from it, with what the old life had not acknowledged: who
    wants the new one to have it sends it again. `heard` gets what was said aside; `connected` is called when something
    can be sent from now on.
    """

    def __init__(
        self,
        own: PublicKey,
        other: PublicKey,
        session: Session,
        received: Callable[[list[bytes]], None],
        restarted: Callable[[tuple[bytes, ...]], None],
        heard: Callable[[bytes], None] | None = None,
        connected: Callable[[], None] | None = None,
        room: Room | None = None,
    ) -> None:
        assert own != other
        self._room = room
        self.other = other
        self.session = session
        self._dialling_end_stays = own < other
        self._received = received
        self._restarted = restarted
        self._heard = heard
        self._connected = connected
        self._connections: dict[Connection, bool] = {}
        self._flush_scheduled = False
        self._waiting: dict[Connection, asyncio.Task[None]] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_connected(self) -> bool:
        """Whether what is sent now goes out now."""
        return self.session.current is not None

    def send(self, message: bytes) -> None:
        """Number a message and send it with all that is ready. Raises `SessionFull` if too much is unacknowledged."""
        self.session.send(message)
        self._schedule_flush()

    def send_aside(self, message: bytes) -> bool:
        """Send a message at once, without a number, if there is a connection; whether there is. It may be lost."""
        connection = self.session.current
        if connection is None:
            return False
        assert isinstance(connection, Connection)
        try:
            connection.send(write_aside(message))
        except ConnectionClosed:
            return False
        return True

    def close(self, reason: Reason = Reason.DONE) -> None:
        """Close the connections there are. The session stays, and goes on over the next one."""
        for connection in list(self._connections):
            connection.close(reason)

    async def use(self, connection: Connection, *, dialled: bool) -> None:
        """Run the session over a connection, which we or the other end dialled, for as long as it lasts."""
        assert connection.other.key == self.other
        needed = self.session.limits.max_message_bytes + BATCH_OVERHEAD_BYTES + MESSAGE_OVERHEAD_BYTES
        if connection.max_message_bytes < needed:
            connection.refuse(Reason.OVERSIZE, "the other end takes smaller frames than our messages may need")
            return
        connection.send(self.session.attach(connection))
        self._connections[connection] = dialled
        self._idle.clear()
        self._close_spare(connection)
        try:
            while True:
                self._take(connection, await self._next(connection))
        except ConnectionClosed:
            return
        except Violation as violation:
            connection.refuse(violation.reason, str(violation))
        finally:
            del self._connections[connection]
            self.session.detach(connection)
            connection.close()
            self._schedule_flush()
            if not self._connections:
                self._idle.set()

    async def wait_disconnected(self) -> None:
        """Wait until there is no connection: before that nobody has to dial."""
        await self._idle.wait()

    async def _next(self, connection: Connection) -> list[bytes]:
        """What has come, when there is room for it."""
        data = await connection.receive()
        if self._room is None or self._room.has_room:
            return data
        waiting = self._take_without_messages(connection, data)
        loop = asyncio.get_running_loop()
        room = loop.create_task(self._room.room())
        receiving: asyncio.Task[list[bytes]] | None = None
        try:
            while not room.done():
                if receiving is None and sum(map(len, waiting)) < MAX_WAITING_BYTES:
                    receiving = loop.create_task(connection.receive())
                await asyncio.wait({room} | ({receiving} if receiving else set()), return_when=asyncio.FIRST_COMPLETED)
                if receiving is not None and receiving.done():
                    # If the connection has ended: what is not acknowledged comes again over the next.
                    waiting += self._take_without_messages(connection, receiving.result())
                    receiving = None
            return waiting if self.session.is_attached(connection) else []
        finally:
            for task in (room, receiving):
                if task is not None:
                    task.cancel()

    def _take_without_messages(self, connection: Connection, data: list[bytes]) -> list[bytes]:
        """Takes what has no messages for whoever has no room; the rest, in order."""
        batches = [each for each in data if isinstance(read(each), Batch)]
        if len(batches) < len(data):
            self._take(connection, [each for each in data if each not in batches])
        return batches

    def _take(self, connection: Connection, data: list[bytes]) -> None:
        messages: list[bytes] = []
        was_connected = self.is_connected
        try:
            for each in data:
                taken = self.session.receive(connection, each)
                if taken.restarted:
                    # What was gathered before belongs to the life before.
                    self._hand_up(messages)
                    messages = []
                    self._restarted(taken.lost)
                messages += taken.messages
                if taken.aside is not None and self._heard is not None:
                    self._heard(taken.aside)
        finally:
            # Also when something later violates the protocol: these are numbered as received.
            self._hand_up(messages)
            self._schedule_flush()
        for stale in [each for each in self._connections if not self.session.is_attached(each)]:
            stale.close(Reason.SUPERSEDED)
        if not was_connected and self.is_connected and self._connected is not None:
            self._connected()

    def _hand_up(self, messages: list[bytes]) -> None:
        if messages:
            self._received(messages)

    def _close_spare(self, newest: Connection) -> None:
        dialled = self._connections[newest]
        spare = [each for each, by_us in self._connections.items() if by_us is dialled and each is not newest]
        if not self._dialling_end_stays and not all(self._connections.values()):
            spare += [each for each, by_us in self._connections.items() if by_us and each not in spare]
        for each in spare:
            each.close(Reason.SUPERSEDED)

    def _schedule_flush(self) -> None:
        if not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Hand the session's messages to the current connection for as long as it takes them at once."""
        self._flush_scheduled = False
        while True:
            connection = self.session.current
            if connection is None:
                return
            assert isinstance(connection, Connection)
            if not connection.is_open:
                # Its task is about to notice, and detaches it.
                return
            if not connection.is_drained:
                self._wait_for(connection)
                return
            outgoing = self.session.next_outgoing()
            if outgoing is None:
                return
            connection.send(outgoing)

    def _wait_for(self, connection: Connection) -> None:
        if connection not in self._waiting:
            task = asyncio.get_running_loop().create_task(self._flush_when_drained(connection))
            self._waiting[connection] = task

    async def _flush_when_drained(self, connection: Connection) -> None:
        try:
            await connection.drain()
        except ConnectionClosed:
            return
        finally:
            del self._waiting[connection]
            self._schedule_flush()
