"""The line to the access point: connected whenever that is possible, by itself, with growing pauses.

A line leads to one super-peer, by its key. It leads to another one when the peer migrates: because it was told to, or
because the access point could not be reached for long, others are known, and the caller allowed it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random

from superpeer.client.address import Address
from superpeer.client.conversation import Conversation
from superpeer.client.errors import PeerClosed
from superpeer.client.journal import Journal
from superpeer.client.refusals import REFUSALS
from superpeer.net import Backoff, Connection, ConnectionClosed, Dialer, Endpoint, NetError, Reason, Violation, dial
from superpeer.net.peer_messages import Welcomed
from superpeer.node.requests import Event

log = logging.getLogger(__name__)

LASTING = frozenset(
    {
        Reason.VERSION,
        Reason.WRONG_NETWORK,
        Reason.WRONG_KEY,
        Reason.ROLE_REFUSED,
        Reason.NOT_PROVED,
        Reason.NOT_ADMITTED,
    }
)
"""Why a connection failed that will not be made before somebody does something about it."""


class Line:
    """`meet` is called with each conversation that begins, before anything is heard in it, and `settle` then, which has
    to end before others may use it. `hear` gets all that is heard, and `ended` is called at the end."""

    def __init__(
        self,
        endpoint: Endpoint,
        journal: Journal,
        own_address: str,
        meet: Callable[[Conversation], None],
        settle: Callable[[Conversation, Welcomed], Awaitable[None]],
        hear: Callable[[Conversation, Event], None],
        ended: Callable[[], None],
        *,
        backoff: Backoff,
        others: Sequence[Address] = (),
        gives_up_after_s: float = 60.0,
    ) -> None:
        self.target = Address.parse(journal.access_point)
        self.problem: Exception | None = None
        """Why there is no connection, if there is none."""
        self._endpoint = endpoint
        self._journal = journal
        self._own_address = own_address
        self._meet = meet
        self._settle = settle
        self._hear = hear
        self._ended = ended
        self._backoff = backoff
        self._others = others
        self._gives_up_after_s = gives_up_after_s
        self._random = Random()
        self._conversation: Conversation | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._search: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._switching = asyncio.Lock()
        self._is_closed = False
        self._refusals = 0
        self._last_heard = 0.0

    @property
    def conversation(self) -> Conversation | None:
        """The present one, if there is one that may be used."""
        return self._conversation

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._last_heard = loop.time()
        target = self.target
        dialer = Dialer(
            self._endpoint,
            target.host,
            target.port,
            target.key,
            self._serve,
            random=self._random,
            backoff=self._backoff,
            failed=self._failed,
        )
        self._keeper = loop.create_task(dialer.run())
        self._keeper.add_done_callback(self._stopped)

    async def close(self) -> None:
        self._is_closed = True
        self._wake()
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait([self._search])
        await self._stop()

    async def switch(self, target: Address) -> None:
        """Lead to another super-peer from now on."""
        async with self._switching:
            await self._stop()
            self._journal.choose(str(target))
            await self._journal.sync()
            self.target = target
            self.problem = None
            if not self._is_closed:
                self.start()

    async def ready(self) -> Conversation:
        """Wait for a conversation that may be used. Raises what the access point has against this peer."""
        while True:
            if self._is_closed:
                raise PeerClosed
            if self._conversation is not None:
                return self._conversation
            if self.problem is not None and _is_lasting(self.problem):
                raise self.problem
            await self._wait()

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    async def _stop(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])

    def _stopped(self, keeper: asyncio.Task[None]) -> None:
        """The keeper ends only with the line, or because the disk fails or the program does."""
        if not keeper.cancelled() and keeper.exception() is not None:
            error = keeper.exception()
            log.error("the line to %s is given up", self.target, exc_info=error)
            self._note(error if isinstance(error, Exception) else PeerClosed())

    async def _serve(self, connection: Connection) -> None:
        conversation = Conversation(connection, self._journal, self._own_address)
        try:
            await self._talk(conversation)
        except REFUSALS as error:
            await self._refused(connection, error)
        except TimeoutError as error:
            connection.close()
            raise ConnectionClosed(Reason.SILENT) from error
        except Violation as violation:
            self._note(violation)
            connection.refuse(violation.reason, str(violation))
            raise ConnectionClosed(violation.reason, text=str(violation)) from violation
        except Exception:
            connection.close()
            raise

    async def _talk(self, conversation: Conversation) -> None:
        welcomed = await conversation.attach()
        self._meet(conversation)
        settling = asyncio.get_running_loop().create_task(self._begin(conversation, welcomed))
        try:
            await conversation.listen(partial(self._hear, conversation))
        except ConnectionClosed:
            if settling.done() and not settling.cancelled() and settling.exception() is not None:
                settling.result()
            if conversation.problem is not None:
                raise conversation.problem from None
            raise
        finally:
            self._conversation = None
            self._ended()
            settling.cancel()
            await asyncio.wait([settling])

    async def _begin(self, conversation: Conversation, welcomed: Welcomed) -> None:
        try:
            await self._settle(conversation, welcomed)
        except ConnectionClosed:
            return  # Whoever listens says why.
        except Exception as error:
            conversation.close(error)
            raise
        self._conversation = conversation
        self.problem, self._refusals = None, 0
        self._last_heard = asyncio.get_running_loop().time()
        self._wake()

    async def _refused(self, connection: Connection, error: Exception) -> None:
        """The access point will not have us. It may, later."""
        connection.close()
        self._refusals += 1
        self._note(error)
        log.warning("%s refuses this peer: %s", self.target, error)
        await asyncio.sleep(self._backoff.wait_s(self._refusals, self._random))

    def _failed(self, error: NetError, wait_s: float) -> None:
        if not isinstance(self.problem, REFUSALS):
            self._note(error)
        log.info("no connection to %s, the next attempt is in %.1f seconds: %s", self.target, wait_s, error)
        overdue = asyncio.get_running_loop().time() - self._last_heard > self._gives_up_after_s
        if overdue and self._others and (self._search is None or self._search.done()):
            self._search = asyncio.get_running_loop().create_task(self._look_elsewhere())

    async def _look_elsewhere(self) -> None:
        """Migrate to the first of the others that answers."""
        for other in self._others:
            if other.key == self.target.key:
                continue
            try:
                connection = await dial(self._endpoint, other.host, other.port, other.key)
            except ConnectionClosed:
                continue
            connection.close()
            await connection.wait_closed()
            log.warning("%s cannot be reached; migrating to %s", self.target, other)
            await self.switch(other)
            return

    def _note(self, problem: Exception) -> None:
        self.problem = problem
        self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def _is_lasting(problem: Exception) -> bool:
    """Whether whoever waits for a connection has to be told, as waiting is of little use."""
    if isinstance(problem, ConnectionClosed):
        return problem.reason in LASTING
    return not isinstance(problem, NetError)
