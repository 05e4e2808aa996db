"""Links between super-peers that break, overflow and begin anew, and lives that end: nothing is lost or comes twice."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random

import pytest

from auth import Identity
from superpeer.daemon.config import Address
from superpeer.daemon.daemon import Daemon
from superpeer.daemon.envelopes import PART_BYTES, Assembly, Topic, read_aside, write_aside, write_parts
from superpeer.daemon.neighbours import Neighbours
from superpeer.net import Connection, ConnectionClosed, Listener, SessionLimits, Violation
from tests.superpeer.daemon.helpers import QUERY, body, config_of, contact, daemons, live, until
from tests.superpeer.daemon.raw_peer import RawPeer
from tests.superpeer.net.helpers import MEMBER, super_peer


@pytest.mark.parametrize("size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 7])
def test_what_is_large_is_divided_and_put_together(size: int) -> None:
    whole = Random(size).randbytes(size)
    assembly = Assembly()
    parts = write_parts(whole)
    assert all(len(part) <= PART_BYTES + 1 for part in parts)
    assert [assembly.add(part) for part in parts] == [None] * (len(parts) - 1) + [whole]
    if len(parts) > 1:
        assert [assembly.add(part) for part in parts[1:]] == [None] * (len(parts) - 1), "a rest is dropped"
        assembly.add(parts[0])
        assert assembly.add(b"\3another") == b"another", "what an old life began is dropped"
    with pytest.raises(Violation):
        assembly.add(b"")
    with pytest.raises(Violation):
        assembly.add(b"\4")


def test_what_is_said_aside_has_a_topic() -> None:
    assert read_aside(write_aside(Topic.QUESTION, b"what")) == (Topic.QUESTION, b"what")
    for wrong in (b"", b"\x09what"):
        with pytest.raises(Violation):
            read_aside(wrong)


def test_a_session_that_is_full_is_given_up_and_says_nothing_until_it_begins_anew() -> None:
    async def main() -> None:
        overflowed: list[bytes] = []
        other = Identity(bytes([9]) * 32).public.raw
        neighbours = Neighbours(
            super_peer(MEMBER),
            limits=SessionLimits(max_unacknowledged=3),
            address_of=lambda _: None,
            receive=lambda *_: None,
            hear=lambda *_: None,
            overflowed=overflowed.append,
            random=Random(1),
            idle_s=60.0,
            hold_s=0.1,
        )
        neighbours.follow({other: 1}, [other])
        for _ in range(5):
            neighbours.send(other, b"message")
        await asyncio.sleep(0)
        assert overflowed == [other]
        assert neighbours.overflows == 1
        neighbours.begin_anew(other)
        [begun] = neighbours.all()
        assert begun.link.session.unacknowledged == 0
        neighbours.send(other, b"message")
        assert begun.link.session.unacknowledged == 1
        await neighbours.close()

    live(main())


def test_a_link_that_begins_anew_brings_another_view_and_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 2) as (one, other):
            reader = await RawPeer().connect(*contact(other))
            writer = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            before = one.backbone.membership.entry.incarnation
            for number in range(200):
                writer.publish_later(body(number))
                if number % 50 == 25:
                    one.backbone.neighbours.give_up(other.backbone.key)
                if number % 50 == 45:
                    other.backbone.neighbours.give_up(one.backbone.key)
                await asyncio.sleep(0.002)
            await reader.until(lambda: len(reader.notices) == 200)
            assert [notice.publication.draft.body for notice in reader.notices] == [body(n) for n in range(200)]
            assert one.backbone.membership.entry.incarnation >= before + 4
            await until(lambda: one.backbone.view == other.backbone.view)

    live(main())


@pytest.mark.parametrize("seed", range(int(os.environ.get("DAEMON_SEEDS", "2"))))
def test_random_mishaps_lose_nothing(tmp_path: Path, seed: int) -> None:
    """Connections break, sessions are given up, and super-peers live anew, while peers publish and listen."""

    async def main() -> None:
        random = Random(seed)
        async with daemons(tmp_path, 3) as everybody:
            reader = await RawPeer().connect(*contact(everybody[0]))
            writer = await RawPeer().connect(*contact(everybody[1]))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            count = 0
            for _ in range(12):
                for _ in range(random.randint(5, 20)):
                    await writer.publish(body(count))
                    count += 1
                mishap = random.choice(["break", "break", "give up", "restart a relay", "restart the reader's"])
                if mishap == "break":
                    for connection in random.choice(everybody).listener.connections:
                        if connection.other.party.value == "super-peer":
                            connection.abort()
                elif mishap == "give up":
                    one, other = random.sample(everybody, 2)
                    one.backbone.neighbours.give_up(other.backbone.key)
                else:
                    which = 2 if mishap == "restart a relay" else 0
                    everybody[which] = await live_anew(everybody[which])
                if reader.connection.ended is not None:
                    await reader.connect(*contact(everybody[0]))
                await asyncio.sleep(random.choice([0, 0.05, 0.3]))
            await patiently(reader, everybody[0], count)
            assert [notice.publication.draft.body for notice in reader.notices] == [body(n) for n in range(count)]
            await until(lambda: len({daemon.backbone.view.id for daemon in everybody}) == 1)

    live(main())


async def patiently(reader: RawPeer, access_point: Daemon, count: int) -> None:
    while len(reader.notices) < count:
        try:
            await reader.until(lambda: len(reader.notices) >= count)
        except ConnectionClosed:
            await reader.connect(*contact(access_point))


async def live_anew(daemon: Daemon) -> Daemon:
    """Ends without a farewell, and starts again with its disk."""
    await daemon.end()
    again = Daemon(config_of(daemon.config.directory, listen=str(daemon.address)))
    await again.start()
    return again


class Pair:
    """Two super-peers with nothing above their links; the first dials the second."""

    def __init__(self) -> None:
        self.identities = (MEMBER, Identity(bytes([9]) * 32))
        self.keys = [identity.public.raw for identity in self.identities]
        self.heard: list[bytes] = []
        self.ends = [self.begin(0), self.begin(1)]
        self.listener = Listener(super_peer(self.identities[1]), self.serve)

    def begin(self, number: int) -> Neighbours:
        """A life starts."""
        neighbours = Neighbours(
            super_peer(self.identities[number]),
            limits=SessionLimits(),
            address_of=lambda key: Address("127.0.0.1", self.listener.port) if key == self.keys[1] else None,
            receive=lambda _, data: self.heard.append(data),
            hear=lambda _key, _topic, data: self.heard.append(data),
            overflowed=lambda _: None,
            random=Random(1),
            idle_s=0.2,
            hold_s=1.0,
        )
        neighbours.follow(dict.fromkeys(self.keys, 1), ())
        return neighbours

    async def serve(self, connection: Connection) -> None:
        await self.ends[1].serve(connection)

    async def close(self) -> None:
        for end in self.ends:
            await end.close()
        await self.listener.close()


def test_what_an_old_life_did_not_get_the_new_one_gets() -> None:
    """The view with the new life may be known, and spoken of, before that life is met."""

    async def main() -> None:
        pair = Pair()
        await pair.listener.start("127.0.0.1", 0)
        one, old = pair.ends
        one.send(pair.keys[1], b"to the old life")
        await until(lambda: pair.heard == [b"to the old life"] and not one.all()[0].link.session.unacknowledged)
        pair.ends[1] = pair.begin(1)
        large = b"said before the new life was met" * 50_000
        one.send(pair.keys[1], large)
        for connection in pair.listener.connections:
            connection.abort()
        await until(lambda: pair.heard[1:] == [large])
        await old.close()
        await pair.close()

    live(main())


def test_idle_links_to_those_who_are_no_neighbours_are_closed() -> None:
    async def main() -> None:
        pair = Pair()
        await pair.listener.start("127.0.0.1", 0)
        one, key = pair.ends[0], pair.keys[1]
        one.send(key, b"numbered" * 100_000)
        one.send_aside(key, Topic.MEMBERSHIP, b"held until there is a connection")
        await until(lambda: len(pair.heard) == 2)
        assert set(pair.heard) == {b"numbered" * 100_000, b"held until there is a connection"}
        await until(lambda: not one.all()[0].link.is_connected)
        one.send(key, b"again")
        await until(lambda: b"again" in pair.heard)
        await pair.close()

    live(main())
