"""Super-peers as processes: they form a backbone, deliver, and lose nothing when they are killed."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import NoReturn

import pytest

import auth
from auth import PublicKey, load_identity
from superpeer.daemon.config import Contact
from superpeer.daemon.daemon import Daemon, read_papers
from superpeer.daemon.errors import CannotServe
from superpeer.daemon.network import ROOT_KEY_FILE, admit, init, install, prepare
from superpeer.net import ConnectionClosed, Reason
from superpeer.node.records import Subscription
from superpeer.node.requests import Logged
from superpeer.store.errors import StoreFailed, StoreLocked
from tests.superpeer.daemon.helpers import (
    QUERY,
    admitted,
    backbone,
    body,
    config_of,
    contact,
    daemons,
    live,
    new_network,
    until,
)
from tests.superpeer.daemon.raw_peer import RawPeer


def bodies(peer: RawPeer) -> list[bytes]:
    return [notice.publication.draft.body for notice in peer.notices]


def test_four_super_peers_deliver_and_one_leaves(tmp_path: Path) -> None:
    async def main() -> None:
        async with backbone(tmp_path, 4) as everybody:
            one, other, leaving, _ = everybody
            reader = await RawPeer().connect(other.address, other.key)
            writer = await RawPeer().connect(one.address, one.key)
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            for number in range(20):
                assert isinstance(await writer.publish(body(number)), Logged)
            await reader.until(lambda: len(reader.notices) == 20)
            assert await leaving.stop() == 0
            assert "said farewell" in "".join(leaving.output)
            assert "was_heard=True" in "".join(leaving.output)
            for number in range(20, 30):
                await writer.publish(body(number))
            await reader.until(lambda: len(reader.notices) == 30)
            assert bodies(reader) == [body(number) for number in range(30)]

    live(main())


def test_nothing_is_lost_when_super_peers_are_killed(tmp_path: Path) -> None:
    """The subscriber's access point first, then the publisher's, while publications are under way."""

    async def main() -> None:
        async with backbone(tmp_path, 2) as (one, other):
            reader = await RawPeer().connect(other.address, other.key)
            writer = await RawPeer().connect(one.address, one.key)
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            await asyncio.gather(*(writer.publish_later(body(number)) for number in range(10)))

            await other.stop(signal.SIGKILL)
            await asyncio.gather(*(writer.publish_later(body(number)) for number in range(10, 20)))
            # It knows its acquaintances from its disk, and needs nobody to join through.
            await other.start()
            await reader.connect(other.address, other.key)
            await reader.until(lambda: len(reader.notices) == 20)

            answers = [writer.publish_later(body(number)) for number in range(20, 60)]
            await answers[19]
            await one.stop(signal.SIGKILL)
            await one.start()
            await writer.connect(one.address, one.key)
            assert writer.welcome is not None
            assert writer.welcome.last_serial >= 40, "what was answered is on disk"
            for posting in writer.memory.welcomed(writer.welcome):
                await writer.ask(writer.memory.handing_in([posting]))
            await reader.until(lambda: len(reader.notices) >= 60)
            assert bodies(reader) == [body(number) for number in range(60)]

    live(main())


def test_a_peer_moves_from_an_access_point_that_is_down(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 2) as (one, other):
            reader = await RawPeer().connect(*contact(other))
            writer = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            reader.memory.subscriptions["mine"] = Subscription("mine", QUERY, 0.0)
            await writer.publish(body(0))
            await reader.until(lambda: len(reader.notices) == 1)
            await other.end()
            await writer.publish(body(1))
            await reader.connect(*contact(one))
            await writer.publish(body(2))
            await reader.until(lambda: len(reader.notices) == 3)
            assert bodies(reader) == [body(number) for number in range(3)]

    live(main())


def test_who_was_not_admitted_does_not_start(tmp_path: Path) -> None:
    first = new_network(tmp_path)
    stranger, thief, late, lost = (tmp_path / name for name in ("stranger", "thief", "late", "lost"))
    init(stranger, "stranger")
    (stranger / "root.txt").write_text((first / "root.txt").read_text())
    prepare(thief)
    install(thief, admit(first / ROOT_KEY_FILE, prepare(tmp_path / "robbed"), "robbed"))
    root = load_identity(first / ROOT_KEY_FILE)
    install(late, auth.admit(root, prepare(late), 1_000, 2_000, "late"))
    prepare(lost)
    for directory, sentence in {
        stranger: "may not join its network",
        thief: "admits another key",
        late: "may not join its network",
        lost: "let the holder of the root key admit it",
    }.items():
        with pytest.raises(CannotServe, match=sentence):
            read_papers(config_of(directory))


def test_who_does_not_belong_is_refused(tmp_path: Path) -> None:
    """Another network, and the right network with the wrong key at an address."""

    async def main() -> None:
        async with daemons(tmp_path, 1) as (first,):
            foreign = Daemon(config_of(init(tmp_path / "foreign", "foreign").directory, join=[str(contact(first))]))
            wrong = Contact(first.address, PublicKey(bytes(31) + b"\1"))
            mistaken = Daemon(config_of(admitted(tmp_path, 1), join=[str(wrong)]))
            for daemon, sentence in ((foreign, "different networks"), (mistaken, "check the address and the key")):
                await daemon.start()
                await until(lambda daemon=daemon: any(one.failure for one in daemon.backbone.neighbours.all()))  # type: ignore[misc]
                assert sentence in daemon.backbone.neighbours.all()[0].failure
                assert len(daemon.backbone.view) == 1
                await daemon.end()
            assert len(first.backbone.view) == 1
            assert first.listener.counters().refused == {Reason.WRONG_NETWORK: 1}

    live(main())


def test_a_disk_is_used_by_one_super_peer(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            with pytest.raises(StoreLocked):
                await Daemon(one.config).start()
            with pytest.raises(CannotServe, match="cannot listen"):
                await Daemon(config_of(admitted(tmp_path, 1), listen=str(one.address))).start()
            reader = await RawPeer().connect(*contact(one))
            await reader.subscribe("mine", QUERY)

    live(main())


def test_a_disk_that_fails_ends_it_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = await RawPeer().connect(*contact(one))
            await peer.advertise()

            def fail(_changes: object) -> NoReturn:
                raise StoreFailed(one.config.store_path, "disk full")

            monkeypatch.setattr(one.writer, "submit", fail)
            answer = peer.publish_later(body(1))
            with pytest.raises(CannotServe, match="disk full"):
                await one.run()
            await peer.until_closed()
            with pytest.raises(ConnectionClosed):
                await answer
            assert one.health().startswith("failed")

    live(main())


def test_told_twice_it_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 2, leave_s=1000.0) as (one, other):
            writer = await RawPeer().connect(*contact(one))
            reader = await RawPeer().connect(*contact(other))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            one.backbone.neighbours.give_up(other.backbone.key)
            monkeypatch.setattr(one.backbone.neighbours, "begin_anew", lambda _: None)
            await until(lambda: not one.core.node.broker.router.is_settled)
            await writer.publish(body(1))
            one.stop()
            running = asyncio.ensure_future(one.run())
            await writer.until_closed()
            assert not running.done(), "it waits until the network has what was published"
            one.stop()
            await running
            assert not one.backbone.stopped.is_set()

    live(main())
