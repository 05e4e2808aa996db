"""Links to the other super-peers with whom there is something to say: dialled on demand, kept while they are needed.

A link has one session for as long as the other is a member. Connections come and go: those to neighbours in the
backbone are kept, others are closed when nothing went over them for a while, and the session waits for the next one.

A session promises to lose nothing while both ends live, and nodes rely on that within a view. So a new session is
begun only by who has entered a new view before: a new life; who has forgotten the other because it is no member any
more; and who had to give up a session because too much was under way (`overflowed`: that one states a new incarnation,
which makes a new view, and says nothing to the other until then).

When the *other* end began a new session, what it had not acknowledged is sent again. What belongs to old views is
dropped there; but we may have entered the view with its new life, and said so, before we met it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from random import Random

from auth import PublicKey
from superpeer.daemon.config import Address
from superpeer.daemon.envelopes import Assembly, Topic, read_aside, write_aside, write_parts
from superpeer.daemon.logs import note
from superpeer.net import (
    Backoff,
    Connection,
    ConnectionClosed,
    Counters,
    Endpoint,
    Link,
    Reason,
    Session,
    SessionFull,
    SessionLimits,
    dial,
)
from superpeer.net.links import Room
from superpeer.net.sessions import ID_BYTES

MAX_HELD = 32
log = logging.getLogger(__name__)


@dataclass(eq=False)
class Neighbour:
    """Another super-peer, and how things stand with it."""

    key: bytes
    link: Link
    used_at: float
    is_mute: bool = False
    """Its session was given up, and the next has not begun."""
    assembly: Assembly = field(default_factory=Assembly)
    held: deque[tuple[float, bytes]] = field(default_factory=partial(deque, maxlen=MAX_HELD))
    """Said aside while there was no connection; worth sending for a moment."""
    attempts: int = 0
    failure: str = ""
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None


class Neighbours:
    """All links of one super-peer. `receive` gets what another node says, `hear` what was said aside, `overflowed` the
    key of one whose session had to be given up."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        limits: SessionLimits,
        address_of: Callable[[bytes], Address | None],
        receive: Callable[[bytes, bytes], None],
        hear: Callable[[bytes, Topic, bytes], None],
        overflowed: Callable[[bytes], None],
        random: Random,
        idle_s: float,
        hold_s: float,
        room: Room | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._address_of = address_of
        self._receive = receive
        self._hear = hear
        self._overflowed = overflowed
        self._random = random
        self._idle_s = idle_s
        self._hold_s = hold_s
        self._room = room
        self._backoff = backoff or Backoff(0.1, 5.0)
        self._loop = asyncio.get_running_loop()
        self._neighbours: dict[bytes, Neighbour] = {}
        self._members: Collection[bytes] = ()
        self._linked: frozenset[bytes] = frozenset()
        self._is_closed = False
        self._dialled: set[Connection] = set()
        self._past = Counters()
        self.overflows = 0

    def all(self) -> list[Neighbour]:
        return list(self._neighbours.values())

    def counters(self) -> Counters:
        """Of the connections that we made."""
        total = Counters()
        total.add(self._past)
        for connection in self._dialled:
            total.add(connection.counters)
        return total

    def follow(self, members: Collection[bytes], linked: Collection[bytes]) -> None:
        """Another view: who is a member, and with whom there is a link of the backbone."""
        self._members, self._linked = members, frozenset(linked)
        for key in linked:
            self._dial(self._neighbour(key))

    def send(self, key: bytes, data: bytes) -> None:
        """What one node says to another."""
        neighbour = self._neighbour(key)
        if neighbour.is_mute or self._is_closed:
            return
        neighbour.used_at = self._loop.time()
        try:
            for part in write_parts(data):
                neighbour.link.send(part)
        except SessionFull as error:
            self.overflows += 1
            note(
                log,
                "too much is under way to a super-peer; its link begins anew",
                logging.WARNING,
                to=_name(key),
                reason=str(error),
            )
            self.give_up(key)
            return
        self._dial(neighbour)

    def send_aside(self, key: bytes, topic: Topic, data: bytes) -> None:
        """Something that may be lost; without a connection it is held for a moment, while one is made."""
        neighbour = self._neighbour(key)
        if self._is_closed:
            return
        neighbour.used_at = self._loop.time()
        message = write_aside(topic, data)
        if not neighbour.link.send_aside(message):
            neighbour.held.append((neighbour.used_at, message))
            self._dial(neighbour)

    def give_up(self, key: bytes) -> None:
        """The session with another super-peer cannot go on; nothing is said to it until `begin_anew`."""
        neighbour = self._neighbour(key)
        if not neighbour.is_mute:
            neighbour.is_mute = True
            neighbour.link.close(Reason.GOING_AWAY)
            self._loop.call_soon(self._overflowed, key)

    def begin_anew(self, key: bytes) -> None:
        """We are in a view that is new to both: a new session may begin."""
        self._forget(self._neighbour(key))
        self._dial(self._neighbour(key))

    async def serve(self, connection: Connection) -> None:
        """Another super-peer has connected."""
        neighbour = self._neighbour(connection.other.key.raw)
        if neighbour.is_mute or self._is_closed:
            connection.close(Reason.GOING_AWAY)
            return
        await self._use(neighbour, connection, dialled=False)

    async def close(self) -> None:
        """Close all connections that we made, and dial no more."""
        self._is_closed = True
        tasks = [each.task for each in self._neighbours.values() if each.task is not None]
        for neighbour in self.all():
            self._forget(neighbour, Reason.GOING_AWAY)
        if self._dialled:
            await asyncio.wait([asyncio.ensure_future(each.wait_closed()) for each in self._dialled])
        if tasks:
            await asyncio.wait(tasks)

    def _neighbour(self, key: bytes) -> Neighbour:
        neighbour = self._neighbours.get(key)
        if neighbour is None:
            other = PublicKey(key)
            session = Session(os.urandom(ID_BYTES), self._limits)
            link = Link(
                self._endpoint.identity.public,
                other,
                session,
                lambda messages: self._on_messages(key, link, messages),
                lambda lost: self._on_restarted(key, link, lost),
                lambda message: self._on_aside(key, link, message),
                lambda: self._on_connected(key, link),
                self._room,
            )
            neighbour = self._neighbours[key] = Neighbour(key, link, self._loop.time())
        return neighbour

    def _current(self, key: bytes, link: Link) -> Neighbour | None:
        """The neighbour that a link belongs to; None for a link that was given up."""
        neighbour = self._neighbours.get(key)
        return neighbour if neighbour is not None and neighbour.link is link and not neighbour.is_mute else None

    def _on_messages(self, key: bytes, link: Link, messages: list[bytes]) -> None:
        neighbour = self._current(key, link)
        if neighbour is None:
            return
        neighbour.used_at = self._loop.time()
        for part in messages:
            whole = neighbour.assembly.add(part)
            if whole is not None:
                self._receive(key, whole)
                if neighbour.is_mute:
                    return

    def _on_restarted(self, key: bytes, link: Link, lost: tuple[bytes, ...]) -> None:
        neighbour = self._current(key, link)
        if neighbour is not None:
            note(log, "a super-peer lives anew", logging.DEBUG, key=_name(key), sent_again=len(lost))
            neighbour.assembly.clear()
            for part in lost:
                link.send(part)

    def _on_aside(self, key: bytes, link: Link, message: bytes) -> None:
        neighbour = self._current(key, link)
        if neighbour is not None:
            neighbour.used_at = self._loop.time()
            self._hear(key, *read_aside(message))

    def _on_connected(self, key: bytes, link: Link) -> None:
        neighbour = self._current(key, link)
        if neighbour is not None:
            note(log, "a link is connected", logging.DEBUG, key=_name(key))
            neighbour.attempts, neighbour.failure = 0, ""
            now = self._loop.time()
            for since, message in neighbour.held:
                if now - since <= self._hold_s:
                    link.send_aside(message)
            neighbour.held.clear()
            self._watch(neighbour)

    def _watch(self, neighbour: Neighbour) -> None:
        """Look again when the link may have become idle."""
        if neighbour.timer is None:
            wait_s = max(self._idle_s / 10, neighbour.used_at + self._idle_s - self._loop.time())
            neighbour.timer = self._loop.call_later(wait_s, self._look_at, neighbour)

    def _look_at(self, neighbour: Neighbour) -> None:
        neighbour.timer = None
        if self._neighbours.get(neighbour.key) is not neighbour:
            return
        is_idle = self._loop.time() >= neighbour.used_at + self._idle_s
        if is_idle and neighbour.key not in self._members:
            self._forget(neighbour)
            return
        if is_idle and neighbour.key not in self._linked and not neighbour.link.session.unacknowledged:
            neighbour.link.close()
            return
        self._watch(neighbour)

    def _forget(self, neighbour: Neighbour, reason: Reason = Reason.DONE) -> None:
        self._neighbours.pop(neighbour.key, None)
        neighbour.is_mute = True
        neighbour.link.close(reason)
        if neighbour.task is not None:
            neighbour.task.cancel()
        if neighbour.timer is not None:
            neighbour.timer.cancel()

    def _dial(self, neighbour: Neighbour) -> None:
        if neighbour.task is None and not neighbour.link.is_connected and not self._is_closed:
            neighbour.task = self._loop.create_task(self._keep_connected(neighbour))
            self._watch(neighbour)

    def _is_wanted(self, neighbour: Neighbour) -> bool:
        """Whether a connection should be there, even if it failed once."""
        key = neighbour.key
        return key in self._members and (key in self._linked or bool(neighbour.link.session.unacknowledged))

    async def _keep_connected(self, neighbour: Neighbour) -> None:
        """One attempt in any case: somebody wants to say something. More for members that are needed."""
        try:
            while True:
                await self._connect(neighbour)
                await neighbour.link.wait_disconnected()
                if not self._is_wanted(neighbour):
                    return
                neighbour.attempts += 1
                await asyncio.sleep(self._backoff.wait_s(neighbour.attempts, self._random))
                if neighbour.link.is_connected:
                    await neighbour.link.wait_disconnected()
        finally:
            neighbour.task = None

    async def _connect(self, neighbour: Neighbour) -> None:
        address = self._address_of(neighbour.key)
        if address is None or neighbour.is_mute:
            return
        try:
            connection = await dial(self._endpoint, address.host, address.port, PublicKey(neighbour.key))
        except ConnectionClosed as error:
            if str(error) != neighbour.failure:
                neighbour.failure = str(error)
                note(
                    log,
                    "a super-peer cannot be reached",
                    logging.WARNING,
                    key=_name(neighbour.key),
                    address=address,
                    reason=error,
                )
            return
        self._dialled.add(connection)
        try:
            await self._use(neighbour, connection, dialled=True)
        finally:
            self._past.add(connection.counters)
            self._dialled.discard(connection)

    async def _use(self, neighbour: Neighbour, connection: Connection, *, dialled: bool) -> None:
        try:
            await neighbour.link.use(connection, dialled=dialled)
        except asyncio.CancelledError:
            connection.close(Reason.GOING_AWAY)
            raise
        except Exception:
            # The node, or membership, did not expect this. Whatever was half done is done again in a new view.
            log.exception("what %s said could not be taken in", _name(neighbour.key))
            connection.refuse(Reason.FAULT, "taking in what it said failed")
            self.give_up(neighbour.key)


def _name(key: bytes) -> str:
    return str(PublicKey(key).id)
