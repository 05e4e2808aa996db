"""Peers of two super-peers that are processes of their own: they are killed, come back, stop, and lose nothing."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from rdflib import DC, Literal, URIRef

from superpeer.client.peer import Peer
from superpeer.net import Backoff
from tests.superpeer.daemon.helpers import backbone, live

QUERY = 'X : t(X, dc:title, T) & T contains "P2P"'
QUICK = Backoff(0.05, 0.3)


def paper(number: int) -> list[Any]:
    return [(URIRef(f"http://example.org/paper/{number}"), DC.title, Literal(f"P2P {number}"))]


async def take(peer: Peer, count: int) -> list[int]:
    taken: list[int] = []
    async for notification in peer.notifications():
        await notification.acknowledge()
        taken.append(int(str(notification.subject).rpartition("/")[2]))
        if len(taken) == count:
            break
    return taken


def test_two_super_peers_that_are_killed(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            backbone(tmp_path, 2) as (first, second),
            Peer.open(tmp_path / "anna", first.contact, backoff=QUICK) as anna,
            Peer.open(tmp_path / "bert", second.contact, backoff=QUICK) as bert,
        ):
            await (await anna.subscribe(QUERY)).active()
            await bert.advertise(["dc"])
            receipt = await bert.publish([triple for number in range(500) for triple in paper(number)])
            await receipt.acknowledged()
            assert await take(anna, 500) == list(range(500))
            assert len(await anna.query(QUERY)) == 500
            # The publisher's access point is killed with publications in hand.
            await bert.publish(paper(500), wait=False)
            await second.stop(signal.SIGKILL)
            await bert.publish(paper(501), wait=False)
            await second.start(f"--join={first.contact}")
            assert await take(anna, 2) == [500, 501]
            # Then the subscriber's.
            await first.stop(signal.SIGKILL)
            await bert.publish(paper(502))
            await first.start(f"--join={second.contact}")
            assert await take(anna, 1) == [502]
            # It stops for good, and the peer goes on at the other one.
            await bert.publish(paper(503))
            await first.stop(signal.SIGTERM)
            await anna.migrate(second.contact)
            await bert.publish(paper(504))
            assert await take(anna, 2) == [503, 504]
            while bert.outbox:
                await asyncio.sleep(0.01)

    live(main())
