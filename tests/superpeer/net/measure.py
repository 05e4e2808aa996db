"""Measures connections on this machine: `python -m tests.superpeer.net.measure`. No test; it prints figures.

Throughput: messages of 200 bytes over one connection, TLS on loopback, both ends in one process, so that one core does
the work of two. Idle connections: listener and clients in two processes, the listener's memory divided by their number.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

from superpeer.net import Connection, Limits, ListenerLimits, dial
from superpeer.net.loops import run
from tests.superpeer.net.helpers import HOST, LOOPS, SERVER, connected, listening, live, peer, super_peer, until_closed

MESSAGES = 500_000
CONNECTIONS = int(os.environ.get("CONNECTIONS", "1000"))


async def throughput(messages: list[bytes]) -> float:
    done = asyncio.Event()
    received = 0

    async def serve(connection: Connection) -> None:
        nonlocal received
        while received < MESSAGES:
            received += len(await connection.receive())
        done.set()

    async with listening(serve) as listener, connected(listener) as connection:
        started = time.perf_counter()
        for number in range(MESSAGES):
            connection.send(messages[number % len(messages)])
            if not connection.is_drained:
                await connection.drain()
        await done.wait()
        return MESSAGES / (time.perf_counter() - started)


async def round_trips(count: int) -> float:
    async with listening() as listener, connected(listener) as connection:
        started = time.perf_counter()
        for _ in range(count):
            connection.send(bytes(200))
            await connection.receive()
        return (time.perf_counter() - started) / count


async def handshakes(count: int) -> float:
    async with listening() as listener:
        started = time.perf_counter()
        for _ in range(count):
            async with connected(listener):
                pass
        return count / (time.perf_counter() - started)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve_idle(pipe: Pipe) -> None:
    async def main() -> None:
        async def serve(connection: Connection) -> None:
            await until_closed(connection)

        limits = ListenerLimits(max_per_address=20_000, max_unfinished_per_address=256)
        async with listening(serve, super_peer(limits=Limits(patience_s=600)), limits) as listener:
            pipe.send((listener.port, resident_bytes()))
            while len(listener.connections) < CONNECTIONS:
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)
            pipe.send(resident_bytes())
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    live(main(), time_limit_s=600)


def idle() -> float:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve_idle, args=(theirs,))
    process.start()
    port, before = ours.recv()

    async def main() -> float:
        endpoint = peer(limits=Limits(patience_s=600))
        connections = [await dial(endpoint, HOST, port, SERVER.public) for _ in range(CONNECTIONS)]
        after = await asyncio.get_running_loop().run_in_executor(None, ours.recv)
        for connection in connections:
            connection.abort()
        return float(after - before) / CONNECTIONS

    each = run(main())
    ours.send(None)
    process.join()
    return each


def main() -> None:
    dense = [os.urandom(200) for _ in range(1000)]
    line = b'<urn:isbn:%013d> <http://purl.org/dc/elements/1.1/creator> "Somebody" . '
    text = [(line % number * 3)[:200] for number in range(1000)]
    for loop in LOOPS:
        for name, messages in (("random", dense), ("N-Triples", text)):
            print(f"{loop:8} {name:10} {live(throughput(messages), loop, 300):12,.0f} messages a second")
        print(f"{loop:8} {'one by one':10} {live(round_trips(5000), loop, 300) * 1e6:12,.0f} microseconds a round trip")
        print(f"{loop:8} {'handshakes':10} {live(handshakes(300), loop, 300):12,.0f} a second, both ends")
    print(f"{CONNECTIONS} idle connections: {idle() / 1024:.1f} KiB each")


if __name__ == "__main__":
    main()
