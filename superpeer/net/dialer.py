"""Connecting: to an address, where somebody with a known key is expected, and again whenever that breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from auth import PublicKey
from superpeer.net.certificates import key_in, same_key
from superpeer.net.connection import Connection
from superpeer.net.endpoint import Endpoint
from superpeer.net.errors import ConnectionClosed, NetError, Reason, Unreachable, WrongServerKey
from superpeer.net.handshake import ClientHandshake
from superpeer.net.tls import Tls


async def dial(endpoint: Endpoint, host: str, port: int, expected: PublicKey) -> Connection:
    """Connect to the holder of this key, and to nobody else. Raises a `ConnectionClosed` that says why it failed."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[Connection] = loop.create_future()
    address = f"{host}:{port}"

    def make_handshake(certificate: bytes | None) -> ClientHandshake:
        found = key_in(certificate)
        if certificate is None or found is None or not same_key(found, expected):
            raise WrongServerKey(address, expected.text, found.text if found else None)
        return ClientHandshake(endpoint, expected, certificate)

    def open_(connection: Connection) -> None:
        if opened.cancelled():
            connection.close()
        else:
            opened.set_result(connection)

    def closed(connection: Connection) -> None:
        if not opened.done():
            assert connection.ended is not None
            opened.set_exception(connection.ended)

    tls = Tls(endpoint.client_context, server_side=False)
    connection = Connection(endpoint, tls, make_handshake, open_, closed)
    try:
        async with asyncio.timeout(endpoint.limits.handshake_s):
            await loop.create_connection(lambda: connection, host, port)
    except TimeoutError as error:
        raise Unreachable(address, "it did not answer in time") from error
    except OSError as error:
        raise Unreachable(address, error.strerror or str(error)) from error
    try:
        return await opened
    except asyncio.CancelledError:
        connection.abort()
        raise


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait between attempts: twice as long each time, and a random part of that, so that many who lost the
    same super-peer do not come back all at once."""

    first_s: float = 0.2
    longest_s: float = 30.0

    def wait_s(self, attempt: int, random: Random) -> float:
        """Before the attempt of this number, counted from 1; between half and all of the doubled time."""
        assert attempt >= 1
        full = min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 60))
        return full * random.uniform(0.5, 1.0)


class Dialer:
    """Keeps a connection to one super-peer: connects, serves, and connects again when it ends."""

    def __init__(
        self,
        endpoint: Endpoint,
        host: str,
        port: int,
        expected: PublicKey,
        serve: Callable[[Connection], Awaitable[None]],
        *,
        random: Random,
        backoff: Backoff | None = None,
        failed: Callable[[NetError, float], None] | None = None,
    ) -> None:
        """`serve` has the connection until it returns. `failed` is told why there is none, and how long we wait."""
        self._endpoint = endpoint
        self._host = host
        self._port = port
        self._expected = expected
        self._serve = serve
        self._random = random
        self._backoff = backoff or Backoff()
        self._failed = failed
        self.attempts = 0
        """Since the last connection."""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                connection = await dial(self._endpoint, self._host, self._port, self._expected)
                self.attempts = 0
                await self._use(connection)
                error = connection.ended or ConnectionClosed(Reason.DONE)
            except ConnectionClosed as problem:
                error = problem
            self.attempts += 1
            wait_s = self._backoff.wait_s(self.attempts, self._random)
            if self._failed is not None:
                self._failed(error, wait_s)
            await asyncio.sleep(wait_s)

    async def _use(self, connection: Connection) -> None:
        try:
            await self._serve(connection)
        except asyncio.CancelledError:
            connection.close(Reason.GOING_AWAY)
            # A loop that is closed with a transport still open complains, and the last word may not get out.
            await connection.wait_closed()
            raise
        connection.close()
        await connection.wait_closed()
