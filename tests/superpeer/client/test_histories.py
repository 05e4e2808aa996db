"""Random lives of peers and super-peers over real connections: everything published arrives, and once.

A failing history prints its seed. The course of a history depends on the clock as well, so a seed repeats what is done,
and not always what comes of it; `SOAK_SEEDS` runs more of them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

from superpeer.client.peer import Peer
from tests.superpeer.client.backbone import Backbone, live, running, wait_for

SEEDS = min(int(os.environ.get("SOAK_SEEDS", "4")), 200)
STEPS = 60
QUERY = "X : t(X, dc:title, T)"


class Participant:
    """A peer that is opened, closed and moved; and what it published or saw."""

    def __init__(self, backbone: Backbone, name: str, at: int) -> None:
        self.name = name
        self.seen: Counter[str] = Counter()
        self.published: list[str] = []
        self.peer: Peer | None = None
        self._backbone = backbone
        self._at = at
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> Peer:
        if self.peer is None:
            self.peer = await self._backbone.peer(self.name, self._at).__aenter__()
            self._reading = asyncio.get_running_loop().create_task(self._read(self.peer))
        return self.peer

    async def close(self) -> None:
        if self.peer is not None:
            peer, self.peer = self.peer, None
            await peer.close()
            assert self._reading is not None
            await self._reading

    async def publish(self, count: int) -> None:
        peer = await self.open()
        triples: list[Any] = []
        for _ in range(count):
            name = f"{self.name}/{len(self.published)}"
            self.published.append(name)
            triples.append((URIRef(f"http://example.org/{name}"), DC.title, Literal(name)))
        await peer.publish(triples, wait=False)

    async def _read(self, peer: Peer) -> None:
        async for notification in peer.notifications():
            ((_, _, title),) = notification.triples
            self.seen[str(title)] += 1
            await notification.acknowledge()


async def step(chance: random.Random, backbone: Backbone, participants: list[Participant]) -> None:
    one = chance.choice(participants)
    down = [each for each in backbone.super_peers if each.node is None]
    up = [each for each in backbone.super_peers if each.node is not None]
    match chance.choice(
        ["publish", "publish", "publish", "cut", "crash", "restart", "migrate", "close", "open", "wait"]
    ):
        case "publish":
            await one.publish(chance.randrange(1, 5))
        case "cut":
            chance.choice(up).cut()
        case "crash" if len(up) > 1:
            await chance.choice(up).crash()
        case "restart" if down:
            await chance.choice(down).start()
        case "migrate" if one.peer is not None and one.peer.access_point not in [each.address for each in down]:
            await one.peer.migrate(chance.choice(up).address)
        case "close":
            await one.close()
        case "open":
            await one.open()
        case "wait":
            await asyncio.sleep(chance.uniform(0.0, 0.05))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_everything_arrives_once(tmp_path: Path, seed: int) -> None:
    async def main() -> None:
        chance = random.Random(seed)
        async with running(tmp_path, 3) as backbone:
            participants = [Participant(backbone, f"peer{i}", i % 3) for i in range(4)]
            for one in participants:
                peer = await one.open()
                await peer.advertise(["dc"])
                await (await peer.subscribe(QUERY)).active()
            for _ in range(STEPS):
                await step(chance, backbone, participants)
            for each in backbone.super_peers:
                if each.node is None:
                    await each.start()
            published = Counter(name for one in participants for name in one.published)
            for one in participants:
                await one.open()
            await wait_for(lambda: all(one.peer is not None and one.peer.outbox == 0 for one in participants))
            await wait_for(lambda: all(len(one.seen) >= len(published) for one in participants))
            for one in participants:
                await one.close()
                assert one.seen == published, f"seed {seed}"

    live(main(), 60.0)
