"""A network of fixed keys, and loops to run real connections on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import uvloop

from auth import Admissions, Certificate, Identity, PublicKey, admit
from superpeer.net import (
    Connection,
    ConnectionClosed,
    Counters,
    Endpoint,
    Limits,
    Listener,
    ListenerLimits,
    Party,
    dial,
)

NOW = 1_800_000_000
HOST = "127.0.0.1"
TIME_LIMIT_S = 30.0

ROOT, OTHER_ROOT, SERVER, MEMBER, PEER, ADMIN, STRANGER = (Identity(bytes([number]) * 32) for number in range(1, 8))
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

Result = TypeVar("Result")


def live(main: Coroutine[Any, Any, Result], loop: str = "uvloop", time_limit_s: float = TIME_LIMIT_S) -> Result:
    """Run on an event loop, and fail rather than hang."""

    async def limited() -> Result:
        async with asyncio.timeout(time_limit_s):
            return await main

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(limited())


def certificate(key: PublicKey, root: Identity = ROOT, until: int = NOW + 100) -> Certificate:
    return admit(root, key, NOW - 100, until, "a super-peer")


def super_peer(
    identity: Identity = SERVER, *, limits: Limits | None = None, root: Identity = ROOT, **changes: Any
) -> Endpoint:
    endpoint = Endpoint(
        identity,
        Party.SUPER_PEER,
        Admissions(root.public),
        certificate(identity.public, root),
        admins=frozenset({ADMIN.public}),
        limits=limits or Limits(),
        clock=lambda: NOW,
    )
    return replace(endpoint, **changes)


def peer(identity: Identity = PEER, *, limits: Limits | None = None, party: Party = Party.PEER) -> Endpoint:
    return Endpoint(identity, party, limits=limits or Limits(), clock=lambda: NOW)


async def echo(connection: Connection) -> None:
    while True:
        for message in await connection.receive():
            connection.send(message)
        await connection.drain()


@asynccontextmanager
async def listening(
    serve: Callable[[Connection], Awaitable[None]] = echo,
    endpoint: Endpoint | None = None,
    limits: ListenerLimits | None = None,
) -> AsyncIterator[Listener]:
    listener = await Listener(endpoint or super_peer(), serve, limits).start(HOST, 0)
    try:
        yield listener
    finally:
        await listener.close()


@asynccontextmanager
async def connected(
    listener: Listener, endpoint: Endpoint | None = None, key: PublicKey = SERVER.public
) -> AsyncIterator[Connection]:
    connection = await dial(endpoint or peer(), HOST, listener.port, key)
    try:
        yield connection
    finally:
        connection.close()
        await connection.wait_closed()


async def exactly(connection: Connection, count: int) -> list[bytes]:
    """This many messages, and no more."""
    messages: list[bytes] = []
    while len(messages) < count:
        messages += await connection.receive()
    assert len(messages) == count
    return messages


async def until_closed(connection: Connection) -> ConnectionClosed:
    """Read on to the end, and give the reason for it."""
    try:
        while True:
            await connection.receive()
    except ConnectionClosed as error:
        return error


async def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something that other tasks bring about; the time limit of the test is the time limit."""
    while not condition():
        await asyncio.sleep(0.005)


def refused(counters: Counters) -> dict[str, int]:
    return {reason.name: count for reason, count in counters.refused.items()}


def identity() -> Identity:
    return Identity.generate(os.urandom)
