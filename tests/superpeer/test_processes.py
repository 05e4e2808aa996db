"""The oracle of the simulator again, with real processes: nothing is lost and nothing comes twice.

Super-peers are processes that are killed, stopped, continued, told to leave, started again and joined by others; peers
are clients that subscribe, publish, go away, come back and migrate. Everybody reaches a super-peer through a proxy of
its own, which severs connections while both ends live: cut, or half-open until one end has heard nothing for too long.
In the end everything runs, and every peer has each publication that a subscription of its own, active when it was
published, matches.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

import qel
from superpeer.client.peer import Peer
from superpeer.net import Backoff, ConnectionClosed
from tests.superpeer.daemon.helpers import Running, admitted, live, new_network
from tests.superpeer.daemon.proxy import Proxy
from tests.superpeer.node.test_router import QUERIES, random_publication

SEEDS = range(int(os.environ.get("PROCESS_SEEDS", "1")))  # `make soak` has more of them
STEPS = 40
SETTLED_S = 90.0
BRISKLY = Backoff(first_s=0.05, longest_s=0.5)
SILENCE_S = 1.5
NERVOUS = (f"--connections-patience-s={SILENCE_S}", f"--connections-handshake-s={SILENCE_S}")


@dataclass
class Client:
    """A peer of this test: opened and closed again and again, while its directory stays."""

    directory: Path
    at: Running
    peer: Peer | None = None
    got: list[tuple[str, frozenset[str], tuple[bytes, Any]]] = field(default_factory=list)
    active: dict[str, qel.Query] = field(default_factory=dict)
    due: list[tuple[str, str]] = field(default_factory=list)
    reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self.peer = Peer.open(self.directory, self.at.contact, backoff=BRISKLY, patience_s=30.0, silence_s=SILENCE_S)
        await self.peer.__aenter__()
        self.reading = asyncio.create_task(self.read(self.peer))

    async def close(self) -> None:
        assert self.peer is not None
        assert self.reading is not None
        await self.peer.close()
        await self.reading
        self.peer = None

    async def read(self, peer: Peer) -> None:
        """What the application sees. It has dealt with a notification when it is in the list."""
        async for note in peer.notifications(acknowledge=False):
            self.got.append((note.id, note.subscriptions, (note.access_point.raw, note.place)))
            await note.acknowledge()


class World:
    """A network of processes, and a random life of it."""

    def __init__(self, directory: Path, size: int, seed: int) -> None:
        self.random = Random(seed)
        self.directory = directory
        self.super_peers = [
            Running(new_network(directory), *NERVOUS, proxy=Proxy()),
            *(Running(admitted(directory, number), *NERVOUS, proxy=Proxy()) for number in range(1, size)),
        ]
        self.stopped: set[int] = set()
        self.readers = [Client(directory / f"reader{i}", self.any_super_peer()) for i in range(3)]
        self.libraries = [Client(directory / f"library{i}", self.any_super_peer()) for i in range(2)]
        self.published = 0
        self.severed = 0
        self.dark: list[Proxy] = []

    def any_super_peer(self) -> Running:
        return self.random.choice(self.super_peers)

    @property
    def running(self) -> list[Running]:
        return [one for one in self.super_peers if one.is_running and one.pid not in self.stopped]

    @property
    def clients(self) -> list[Client]:
        return [*self.readers, *self.libraries]

    @property
    def proxies(self) -> list[Proxy]:
        return [one.proxy for one in self.super_peers if one.proxy is not None]

    async def begin(self) -> None:
        for proxy in self.proxies:
            await proxy.start()
        first, *others = self.super_peers
        await first.start()
        await asyncio.gather(*(one.start(f"--join={first.contact}") for one in others))
        await asyncio.gather(*(client.open() for client in self.clients))
        for library in self.libraries:
            assert library.peer is not None
            await library.peer.advertise(schemas=["dc:"])
        for reader in self.readers:
            await self.subscribe(reader)

    async def step(self) -> None:
        action = self.random.random()
        if action < 0.5:
            await self.publish()
        elif action < 0.65:
            await asyncio.sleep(self.random.choice([0.05, 0.3, 1.0]))
        elif action < 0.72:
            await self.subscribe(self.random.choice(self.readers))
        elif action < 0.78:
            await self.go_away_and_come_back(self.random.choice(self.clients))
        elif action < 0.84:
            await self.migrate(self.random.choice(self.clients))
        elif action < 0.92:
            self.sever()
        else:
            await self.disturb()

    async def publish(self) -> None:
        library = self.random.choice(self.libraries)
        assert library.peer is not None
        triples = random_publication(self.random)
        receipt = await library.peer.publish(triples, wait=False)
        (identity,) = receipt.ids
        self.published += 1
        for reader in self.readers:
            for name, query in reader.active.items():
                if qel.matches(query, triples):
                    reader.due.append((name, identity))

    async def subscribe(self, reader: Client) -> None:
        """What is not active within a moment may be so later; then nothing is due."""
        assert reader.peer is not None
        if not reader.at.is_running or reader.at not in self.running:
            return
        query = self.random.choice(QUERIES)
        try:
            async with asyncio.timeout(3.0):
                subscription = await reader.peer.subscribe(str(query))
                await subscription.active()
        except TimeoutError:
            return
        reader.active[subscription.name] = query

    async def go_away_and_come_back(self, client: Client) -> None:
        await client.close()
        await asyncio.sleep(self.random.choice([0.0, 0.2]))
        await client.open()

    async def migrate(self, client: Client) -> None:
        others = [one for one in self.running if one is not client.at]
        if others and client.peer is not None:
            before, client.at = client.at, self.random.choice(others)
            try:
                await client.peer.migrate(client.at.contact)
            except ConnectionClosed:
                client.at = before  # It is in the dark, and the peer stays where it is.

    def sever(self) -> None:
        """Connections of one super-peer, with others and with peers, dialled by either."""
        proxy, share = self.random.choice(self.proxies), self.random.choice([0.3, 1.0])
        action = self.random.choice(["cut", "cut", "deafen", "deafen", "darken", "light"])
        if action == "cut":
            self.severed += proxy.cut(self.random, share)
        elif action == "deafen":
            self.severed += proxy.deafen(self.random, share)
        elif action == "darken" and not self.dark:
            self.severed += proxy.hearing
            proxy.go_dark()
            self.dark.append(proxy)
        elif action == "light" and self.dark:
            self.dark.pop().light()

    async def sever_all_of_one(self, *, is_noticed: bool) -> None:
        """Of the one with the most, so that every life has some."""
        while not (most := max(self.proxies, key=lambda proxy: proxy.hearing)).hearing:
            await asyncio.sleep(0.05)
        self.severed += most.cut(self.random, 1.0) if is_noticed else most.deafen(self.random, 1.0)

    async def disturb(self) -> None:
        running = self.running
        down = [one for one in self.super_peers if not one.is_running]
        action = self.random.choice(["kill", "kill", "leave", "start", "start", "stop", "continue", "join"])
        if action in ("kill", "leave") and len(running) > 1:
            await self.random.choice(running).stop(signal.SIGKILL if action == "kill" else signal.SIGTERM)
        elif action == "start" and down:
            await self.random.choice(down).start()
        elif action == "stop" and len(running) > 2:
            pid = self.random.choice(running).pid
            os.kill(pid, signal.SIGSTOP)
            self.stopped.add(pid)
        elif action == "continue" and self.stopped:
            os.kill(self.stopped.pop(), signal.SIGCONT)
        elif action == "join" and len(self.super_peers) < 6 and running:
            new = Running(admitted(self.directory, len(self.super_peers)), *NERVOUS, proxy=Proxy())
            assert new.proxy is not None
            await new.proxy.start()
            await new.start(f"--join={running[0].contact}")
            self.super_peers.append(new)

    async def end(self) -> None:
        """Everything runs again; then nothing may be missing for long."""
        for pid in self.stopped:
            os.kill(pid, signal.SIGCONT)
        self.stopped.clear()
        for proxy in self.dark:
            proxy.light()
        for one in self.super_peers:
            if not one.is_running:
                await one.start()
        try:
            async with asyncio.timeout(SETTLED_S):
                while any(self.missing(reader) for reader in self.readers):
                    await asyncio.sleep(0.1)
                while any(client.peer is not None and client.peer.outbox for client in self.libraries):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            return  # What is missing is reported by `faults`.
        await asyncio.sleep(0.5)  # What comes twice comes soon.

    def missing(self, reader: Client) -> list[tuple[str, str]]:
        names = {identity: subscriptions for identity, subscriptions, _ in reader.got}
        return [(name, identity) for name, identity in reader.due if name not in names.get(identity, ())]

    def faults(self) -> list[str]:
        found = []
        for number, reader in enumerate(self.readers):
            found += [f"reader {number} missed {identity} of {name}" for name, identity in self.missing(reader)]
            got = [identity for identity, _, _ in reader.got]
            found += [f"reader {number} got {identity} twice" for identity in set(got) if got.count(identity) > 1]
        waiting = [one.peer.outbox for one in self.libraries if one.peer is not None]
        found += [f"a library has {count} in its outbox" for count in waiting if count]
        return found

    async def close(self) -> None:
        for client in self.clients:
            if client.peer is not None:
                await client.close()
        for pid in self.stopped:
            os.kill(pid, signal.SIGCONT)
        for one in self.super_peers:
            if one.is_running:
                await one.stop(signal.SIGKILL)
        for proxy in self.proxies:
            await proxy.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path, seed: int) -> None:
    async def main() -> None:
        world = World(tmp_path, 4, seed)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(world.close)
            await world.begin()
            for number in range(STEPS):
                if number in (STEPS // 3, 2 * STEPS // 3):
                    await world.sever_all_of_one(is_noticed=number == STEPS // 3)
                await world.step()
            await world.end()
            assert not world.faults(), f"seed {seed}: {world.faults()}"
            assert world.published > 10
            assert world.severed > 1
            assert sum(len(reader.due) for reader in world.readers) > 5, "a test in which nothing is due shows nothing"

    live(main(), time_limit_s=240.0)
