"""A proxy on this machine between those who dial a super-peer and the super-peer, under the control of a test.

cut        some connections end at once, as if somebody pulled the plug and both ends noticed
deafen     what is sent over some connections is dropped without a word, in both directions, and neither end hears when
           the other gives up: half-open connections, as a firewall that forgot them makes them
go_dark    so are all connections, and whoever dials gets no answer, until the proxy is lit again
"""

from __future__ import annotations

import asyncio
from random import Random

CHUNK_BYTES = 64 * 1024


class Proxy:
    """Takes connections on a port of its own, from when it is started until it is closed."""

    def __init__(self) -> None:
        self.port = 0
        self.target_port = 0
        """Where the super-peer listens; it may be another one after a restart."""
        self._server: asyncio.Server | None = None
        self._pipes: set[_Pipe] = set()
        self._is_dark = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut(Random(0), 1.0)
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    @property
    def hearing(self) -> int:
        """How many connections carry what is sent."""
        return sum(not pipe.is_deaf for pipe in self._pipes)

    def cut(self, random: Random, share: float) -> int:
        """How many were cut."""
        return sum(pipe.cut() for pipe in self._some(random, share))

    def deafen(self, random: Random, share: float) -> int:
        chosen = [pipe for pipe in self._some(random, share) if not pipe.is_deaf]
        for pipe in chosen:
            pipe.is_deaf = True
        return len(chosen)

    def go_dark(self) -> None:
        self._is_dark = True
        self.deafen(Random(0), 1.0)

    def light(self) -> None:
        self._is_dark = False

    def _some(self, random: Random, share: float) -> list[_Pipe]:
        pipes = sorted(self._pipes, key=lambda pipe: pipe.number)
        return [pipe for pipe in pipes if random.random() < share]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        pipe = _Pipe(len(self._tasks), writer, is_deaf=self._is_dark)
        self._pipes.add(pipe)
        try:
            await pipe.run(reader, self.target_port)
        finally:
            self._pipes.discard(pipe)
            self._tasks.discard(task)


class _Pipe:
    """One connection, in its two halves."""

    def __init__(self, number: int, dialler: asyncio.StreamWriter, *, is_deaf: bool) -> None:
        self.number = number
        self.is_deaf = is_deaf
        self._writers = [dialler]

    def cut(self) -> bool:
        for writer in self._writers:
            writer.transport.abort()
        return True

    async def run(self, from_dialler: asyncio.StreamReader, port: int) -> None:
        (to_dialler,) = self._writers
        try:
            from_target, to_target = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            to_dialler.transport.abort()
            return
        self._writers.append(to_target)
        await asyncio.gather(self._carry(from_dialler, to_target), self._carry(from_target, to_dialler))
        self.cut()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                if not self.is_deaf:
                    writer.write(data)
                    await writer.drain()
            if not self.is_deaf:
                writer.write_eof()
        except (ConnectionError, RuntimeError):
            # One end is gone, which the other is told, or is not.
            if not self.is_deaf:
                self.cut()
