"""Admins: a socket on this machine for whoever may read the data directory, connections for those with an admin's key.

The socket has mode 0600: the system tells who may use it, and a super-peer's own user need not handle keys. From
elsewhere, an admin connects like a peer, but in its own role, with a key that the configuration names. Requests and
reports are the same over both. Over the socket each message is preceded by its length, 4 bytes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from auth import AuthError, Identity
from qel import QelError
from superpeer.daemon import reports
from superpeer.daemon.admin_messages import (
    MAX_REQUEST_BYTES,
    AdminRequest,
    Asked,
    ExplainNotification,
    ExplainSubscription,
    Reported,
    Request,
    ShowBackbone,
    ShowIndices,
    ShowPeers,
    ShowPoset,
    ShowQueues,
    ShowStatus,
    Shutdown,
    TryQuery,
    read_asked,
    read_reported,
    write,
)
from superpeer.daemon.config import Contact
from superpeer.daemon.errors import AdminError, CannotServe
from superpeer.daemon.logs import note
from superpeer.daemon.reports import Report
from superpeer.errors import SuperpeerError
from superpeer.net import Connection, ConnectionClosed, Endpoint, Limits, Party, dial
from superpeer.net.limits import MEBIBYTE

if TYPE_CHECKING:
    from superpeer.daemon.daemon import Daemon

LENGTH_BYTES = 4
MAX_REPORT_BYTES = 64 * MEBIBYTE
SOCKET_MODE = 0o600
REPORT_S = 30.0
MAX_ADDRESS_BYTES = 100
OPEN_FILES = Path("/proc/self/fd")
log = logging.getLogger(__name__)


class AdminDesk:
    """Answers admins."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, path: Path) -> None:
        """Open the socket on this machine."""
        try:
            made = _bind(path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotServe(f"the admin socket {path} cannot be made: {reason}; choose another path") from error
        self._path = path
        self._server = await asyncio.start_unix_server(self._serve_local, sock=made)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    async def serve(self, connection: Connection) -> None:
        """An admin has connected from elsewhere; that it is one was checked in the handshake."""
        note(log, "an admin is connected", key=connection.other.key.id, address=connection.address[0])
        while True:
            for data in await connection.receive():
                connection.send(await self._answer(data))
                await connection.drain()

    async def _serve_local(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                writer.write(_framed(await self._answer(await _read_framed(reader, MAX_REQUEST_BYTES))))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        except AdminError as error:
            note(log, "a local admin was refused", logging.WARNING, reason=error)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, data: bytes) -> bytes:
        number = 0
        try:
            asked = read_asked(data)
            number = asked.number
            report = Reported(number, await self.report(asked.request))
        except (SuperpeerError, AuthError, QelError) as error:
            report = Reported(number, error=str(error))
        return write(report)

    async def report(self, request: Request) -> Report:
        daemon = self._daemon
        match request:
            case ShowStatus():
                return reports.status(daemon)
            case ShowBackbone():
                return reports.backbone(daemon)
            case ShowPoset():
                return await reports.poset(daemon, request)
            case ShowIndices():
                return await reports.indices(daemon, request)
            case ShowPeers():
                return await reports.peers(daemon, request)
            case ShowQueues():
                return reports.queues(daemon, request)
            case ExplainSubscription():
                return reports.subscription(daemon, request)
            case ExplainNotification(publication, peer):
                found = await daemon.tracing.explain(publication, peer)
                if found is None:
                    raise AdminError(f"no log that can be asked has a publication {publication}; check the id")
                return found
            case TryQuery():
                return await reports.trial(daemon, request)
            case Shutdown():
                note(log, "an admin tells the super-peer to leave")
                daemon.stop()
                return {"is_leaving": True}


class AdminClient:
    """An admin's end. `local` and `remote` make one; `ask` gives the report as plain values."""

    def __init__(self, exchange: Callable[[bytes], Awaitable[bytes]], close: Callable[[], Awaitable[None]]) -> None:
        self._exchange = exchange
        self._close = close
        self._number = 0

    @classmethod
    async def local(cls, path: Path | str) -> Self:
        """Over the socket in the data directory of a super-peer on this machine."""
        try:
            with _addressed(Path(path)) as address:
                reader, writer = await asyncio.open_unix_connection(address)
        except OSError as error:
            reason = error.strerror or str(error)
            raise AdminError(f"no super-peer answers at {path} ({reason}); check that it runs, and the path") from error

        async def exchange(data: bytes) -> bytes:
            try:
                writer.write(_framed(data))
                await writer.drain()
                return await _read_framed(reader, MAX_REPORT_BYTES)
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                raise AdminError("the super-peer went away before it answered; look at its log") from error

        async def close() -> None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

        return cls(exchange, close)

    @classmethod
    async def remote(cls, identity: Identity, contact: Contact) -> Self:
        """Over the network, with a key that the super-peer has among its admins."""
        endpoint = Endpoint(identity, Party.ADMIN, limits=Limits(max_frame_bytes=MAX_REPORT_BYTES))
        connection = await dial(endpoint, contact.address.host, contact.address.port, contact.key)

        async def exchange(data: bytes) -> bytes:
            try:
                connection.send(data)
                [answer] = await connection.receive()
            except ConnectionClosed as error:
                raise AdminError(f"the super-peer did not answer: {error}") from error
            return answer

        async def close() -> None:
            connection.close()
            await connection.wait_closed()

        return cls(exchange, close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def ask(self, request: AdminRequest) -> Any:
        """The report, as it can be written as JSON. Raises an `AdminError` that says why there is none."""
        assert isinstance(request, Request)
        self._number += 1
        try:
            async with asyncio.timeout(REPORT_S):
                reported = read_reported(await self._exchange(write(Asked(self._number, request))))
        except TimeoutError as error:
            raise AdminError("the super-peer did not answer in time; look at its log") from error
        if reported.error:
            raise AdminError(reported.error)
        if reported.number != self._number:
            raise AdminError("the super-peer answered something else; check the version")
        return reported.report


def _bind(path: Path) -> socket.socket:
    """A listening socket that nobody else can use at any moment. What a former life left is replaced: the store's lock
    has made sure that it is over."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with _addressed(path) as address:
            made.bind(address)
    except OSError:
        made.close()
        raise
    finally:
        os.umask(before)
    path.chmod(SOCKET_MODE)
    return made


@contextmanager
def _addressed(path: Path) -> Iterator[str]:
    """The path as an address of a socket, which has room for about a hundred bytes. A longer one goes through its
    directory, opened, where the system shows open files as files."""
    if len(os.fsencode(path)) <= MAX_ADDRESS_BYTES or not OPEN_FILES.is_dir():
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield str(OPEN_FILES / str(directory) / path.name)
    finally:
        os.close(directory)


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


async def _read_framed(reader: asyncio.StreamReader, most: int) -> bytes:
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
    if length > most:
        raise AdminError(f"a message of {length} bytes is larger than any that makes sense; ask for less")
    return await reader.readexactly(length)
