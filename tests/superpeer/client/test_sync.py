"""The synchronous wrapper, from a plain thread, against a super-peer in another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rdflib import DC, Literal, URIRef

from superpeer.client.errors import PeerClosed
from superpeer.client.sync import SyncPeer
from superpeer.node.errors import Nonconforming
from tests.superpeer.client.backbone import QUICK, running

PAPER = URIRef("http://example.org/paper")


@contextmanager
def super_peer(directory: Path) -> Iterator[str]:
    """The address of one that runs in a thread."""
    started, stop = threading.Event(), asyncio.Event()
    found: list[tuple[str, asyncio.AbstractEventLoop]] = []

    async def main() -> None:
        async with running(directory) as backbone:
            found.append((backbone[0].address, asyncio.get_running_loop()))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert started.wait(20)
    try:
        yield found[0][0]
    finally:
        found[0][1].call_soon_threadsafe(stop.set)
        thread.join()


def test_a_script_subscribes_publishes_asks_and_fetches(tmp_path: Path) -> None:
    with (
        super_peer(tmp_path) as address,
        SyncPeer.open(tmp_path / "anna", address, backoff=QUICK) as anna,
        SyncPeer.open(tmp_path / "bert", address, backoff=QUICK, files=lambda name: name.encode()[-5:]) as bert,
    ):
        subscription = anna.subscribe('X : t(X, dc:title, T) & T contains "P2P"', "titles")
        subscription.active()
        with pytest.raises(Nonconforming):
            bert.publish([(PAPER, DC.title, Literal("P2P"))])
        bert.advertise(properties=["dc:title"])
        receipt = bert.publish_many([(URIRef(f"{PAPER}/{i}"), DC.title, Literal(f"P2P {i}"))] for i in range(5))
        receipt.acknowledged()
        assert len(receipt.ids) == 5
        seen = []
        for notification in anna.notifications(timeout=5):
            seen.append(notification)
            notification.acknowledge()
            if len(seen) == 3:
                break
        rest = list(anna.notifications(timeout=0.2, after=seen[-1].cursor))
        assert [str(one.subject)[-1] for one in [*seen, *rest]] == ["0", "1", "2", "3", "4"]
        assert list(anna.notifications(timeout=0.05)) == []
        assert len(anna.query("X : t(X, dc:title, T)")) == 5
        assert anna.fetch(PAPER, seen[0]).content(timeout=10) == b"paper"
        assert [one.subscription.name for one in anna.subscriptions()] == ["titles"]
        anna.unsubscribe("titles")
    with pytest.raises(PeerClosed):
        anna.subscriptions()
