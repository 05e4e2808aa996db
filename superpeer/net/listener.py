"""Listening: takes connections, within limits, and hands those on whose key is proved.

Whoever connects costs memory and a signature before it is known who that is, so handshakes under way are limited, in
all and for each address. When there are too many in all, the oldest gives way: those that are slow on purpose cannot
shut out the quick.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Self

from cryptography.hazmat.primitives.serialization import Encoding

from superpeer.net.certificates import certificate_of
from superpeer.net.connection import Connection
from superpeer.net.counters import Counters
from superpeer.net.endpoint import Endpoint, Party
from superpeer.net.errors import ConnectionClosed, Reason, Violation
from superpeer.net.handshake import ServerHandshake
from superpeer.net.limits import ListenerLimits
from superpeer.net.tls import Tls

BACKLOG = 1024
log = logging.getLogger(__name__)


class Listener:
    """One listening socket of a super-peer. `serve` has each connection until it returns."""

    def __init__(
        self,
        endpoint: Endpoint,
        serve: Callable[[Connection], Awaitable[None]],
        limits: ListenerLimits | None = None,
    ) -> None:
        assert endpoint.party is Party.SUPER_PEER, "super-peers listen, others connect"
        self._endpoint = endpoint
        self._serve = serve
        self._limits = limits or ListenerLimits()
        self._certificate = certificate_of(endpoint.identity).public_bytes(Encoding.DER)
        self._connections: set[Connection] = set()
        self._unfinished: dict[Connection, None] = {}
        self._by_network: Counter[str] = Counter()
        self._unfinished_by_network: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._past = Counters()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._make_connection, host, port, backlog=BACKLOG)
        return self

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> frozenset[Connection]:
        """Those whose handshake is complete."""
        return frozenset(connection for connection in self._connections if connection not in self._unfinished)

    @property
    def unfinished(self) -> int:
        """Handshakes under way."""
        return len(self._unfinished)

    def counters(self) -> Counters:
        """Of all connections, past and present."""
        total = Counters()
        total.add(self._past)
        for connection in self._connections:
            total.add(connection.counters)
        return total

    async def close(self, reason: Reason = Reason.GOING_AWAY) -> None:
        """Take no more connections, close those there are, and wait until all are closed and served."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.close(reason)
        if self._connections:
            await asyncio.wait([connection.closed for connection in self._connections])
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _make_connection(self) -> Connection:
        tls = Tls(self._endpoint.server_context, server_side=True)
        return _Accepted(self, self._endpoint, tls, lambda _none: ServerHandshake(self._endpoint, self._certificate))

    def admit(self, connection: Connection) -> Reason | None:
        """Make room for a new connection; or why there is none."""
        network = network_of(connection.address[0])
        if len(self._connections) >= self._limits.max_connections:
            return Reason.TOO_MANY_CONNECTIONS
        if (
            self._by_network[network] >= self._limits.max_per_address
            or self._unfinished_by_network[network] >= self._limits.max_unfinished_per_address
        ):
            return Reason.TOO_MANY_FROM_ADDRESS
        if len(self._unfinished) >= self._limits.max_unfinished:
            oldest = next(iter(self._unfinished))
            self._finish(oldest)
            oldest.refuse(Reason.DISPLACED, "too many handshakes were under way")
        self._connections.add(connection)
        self._unfinished[connection] = None
        self._by_network[network] += 1
        self._unfinished_by_network[network] += 1
        return None

    def hand_over(self, connection: Connection) -> None:
        self._finish(connection)
        task = asyncio.get_running_loop().create_task(self._run(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def forget(self, connection: Connection) -> None:
        self._past.add(connection.counters)
        if connection in self._connections:
            self._finish(connection)
            self._connections.discard(connection)
            _count_down(self._by_network, network_of(connection.address[0]))

    def _finish(self, connection: Connection) -> None:
        if connection in self._unfinished:
            del self._unfinished[connection]
            _count_down(self._unfinished_by_network, network_of(connection.address[0]))

    async def _run(self, connection: Connection) -> None:
        try:
            await self._serve(connection)
        except ConnectionClosed:
            log.debug("connection with %s ended: %s", connection.other.key.id, connection.ended)
        except Violation as violation:
            connection.refuse(violation.reason, str(violation))
        except Exception:
            # One connection's fault must not take the others with it.
            log.exception("serving %s failed", connection.other.key.id)
            connection.refuse(Reason.FAULT, "serving it failed")
        finally:
            connection.close()


class _Accepted(Connection):
    """A connection that reports to its listener."""

    __slots__ = ("_listener",)

    def __init__(
        self,
        listener: Listener,
        endpoint: Endpoint,
        tls: Tls,
        make_handshake: Callable[[bytes | None], ServerHandshake],
    ) -> None:
        super().__init__(endpoint, tls, make_handshake, listener.hand_over, listener.forget)
        self._listener = listener

    def begin(self) -> None:
        reason = self._listener.admit(self)
        if reason is None:
            super().begin()
        else:
            self.abandon(ConnectionClosed(reason))


def network_of(host: str) -> str:
    """What counts as one address: an IPv4 address, or the 64 bits of an IPv6 network that one customer gets."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def _count_down(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    assert counter[key] >= 0
    if not counter[key]:
        del counter[key]
