"""Peers over real connections: order, one connection each, refusals, and consumers that are too slow."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from rdflib import DC, Literal, URIRef

from superpeer.daemon.peers import MAX_UNREAD_ANSWERS
from superpeer.net import ConnectionClosed, Endpoint, Limits, Party, Reason, dial
from superpeer.net.peer_messages import FROM_PEER, Asking, Connecting
from superpeer.node.body import write_body
from superpeer.node.publications import Kind
from superpeer.node.requests import (
    Done,
    Leave,
    ListSubscriptions,
    Logged,
    Subscribe,
    SubscriptionList,
    Unsubscribe,
)
from tests.superpeer.daemon.helpers import QUERY, body, contact, daemons, live, until
from tests.superpeer.daemon.raw_peer import PLACE, RawPeer, WasRefused, thief


def test_answers_come_in_the_order_of_asking(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = await RawPeer().connect(*contact(one))
            await peer.advertise()
            order: list[int] = []
            answers = []
            for number in range(300):
                # Some have records, some have none, some are refused.
                request = [
                    lambda: peer.publish_later(body(number)),  # noqa: B023
                    lambda: peer.ask_later(ListSubscriptions()),
                    lambda: peer.ask_later(Unsubscribe("none")),
                ][number % 3]()
                request.add_done_callback(lambda _, number=number: order.append(number))  # type: ignore[misc]
                answers.append(request)
            found = await asyncio.gather(*answers, return_exceptions=True)
            assert order == list(range(300))
            assert all(isinstance(one, Logged) for one in found[::3])
            assert all(isinstance(one, SubscriptionList) for one in found[1::3])
            assert all(isinstance(one, WasRefused) and one.refused.error == "BadRequest" for one in found[2::3])
            assert one.pump.commits < 100, "many publications share a commit"

    live(main())


def test_a_newer_connection_takes_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            older = await RawPeer().connect(*contact(one))
            await older.advertise()
            await older.subscribe("mine", QUERY)
            newer = await RawPeer(older.memory).connect(*contact(one))
            await older.until_closed()
            assert older.ended is not None
            assert older.ended.reason is Reason.SUPERSEDED
            await newer.publish(body(1))
            await newer.until(lambda: len(newer.notices) == 1)
            assert one.core.node.connected == {newer.id}
            await newer.close()
            await until(lambda: not one.core.node.connected)
            assert not one.desk.connected

    live(main())


def test_who_is_not_the_peer_gets_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = await RawPeer().connect(*contact(one))
            with pytest.raises(WasRefused) as refused:
                await RawPeer(thief(peer)).connect(*contact(one))
            assert refused.value.refused.error == "WrongPrivateId"
            # Ids that were found out are worth nothing without the key.
            other = await RawPeer().connect(*contact(one))
            stolen = peer.memory.attached
            other.connection.send(FROM_PEER.encode(Connecting(stolen.public_id, stolen.private_id, PLACE)))
            other._answers[0] = asyncio.get_running_loop().create_future()
            with pytest.raises(WasRefused) as refused:
                await other._answers[0]
            assert refused.value.refused.error == "WrongKey"
            other.connection.send(FROM_PEER.encode(Asking(5, stolen.private_id, ListSubscriptions())))
            other._answers[5] = asyncio.get_running_loop().create_future()
            with pytest.raises(WasRefused) as refused:
                await other._answers[5]
            assert refused.value.refused.error == "WrongPrivateId"
            assert one.core.node.connected == {peer.id, other.id}
            assert isinstance(await peer.ask(ListSubscriptions()), SubscriptionList)

    live(main())


def test_a_peer_leaves_for_good(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = await RawPeer().connect(*contact(one))
            await peer.subscribe("mine", QUERY)
            assert await peer.ask(Leave()) == Done()
            with pytest.raises(WasRefused) as refused:
                await peer.ask(ListSubscriptions())
            assert refused.value.refused.error == "NotHere"
            assert not one.core.node.state.peers
            assert not one.desk.connected

    live(main())


def test_a_large_backlog_comes_piece_by_piece(tmp_path: Path) -> None:
    """Far more than a connection may hold at once waits for a peer that was away."""

    async def main() -> None:
        async with daemons(tmp_path, 1, connections={"max_outgoing_bytes": 1 << 20}) as (one,):
            writer = await RawPeer().connect(*contact(one))
            reader = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            await reader.close()
            large = [large_body(number) for number in range(40)]
            for start in range(0, len(large), 20):
                await asyncio.gather(*map(writer.publish_later, large[start : start + 20]))
            assert sum(map(len, large)) > 3 << 20
            await reader.connect(*contact(one))
            await reader.until(lambda: len(reader.notices) == 40)
            assert [notice.publication.draft.body for notice in reader.notices] == large

    live(main())


def test_who_takes_nothing_is_let_go_and_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1, connections={"stall_s": 0.3, "patience_s": 2.0}) as (one,):
            writer = await RawPeer().connect(*contact(one))
            reader = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            reader.connection._transport.pause_reading()
            large = [large_body(number) for number in range(100)]
            for start in range(0, len(large), 20):
                await asyncio.gather(*map(writer.publish_later, large[start : start + 20]))
            await until(lambda: reader.id not in one.desk.connected)
            assert one.listener.counters().refused[Reason.SLOW_CONSUMER] == 1
            reader.connection.abort()
            await reader.connect(*contact(one))
            await reader.until(lambda: len(reader.notices) == 100)

    live(main())


def test_who_does_not_read_its_answers_is_not_read_from(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1, limits={"requests_at_once": 10**9}) as (one,):
            peer = await RawPeer().connect(*contact(one))
            await peer.ask(Subscribe("long", QUERY.replace("P2P", os.urandom(8_000).hex())))
            service = one.desk.connected[peer.id]
            peer.connection._transport.pause_reading()
            asked = 8 * MAX_UNREAD_ANSWERS
            for _ in range(asked):
                peer.ask_later(ListSubscriptions())
                if not peer.connection.is_drained:
                    await asyncio.sleep(0)
            before = -1
            while service.waiting != before or not before:
                before = service.waiting
                await asyncio.sleep(0.3)
            assert MAX_UNREAD_ANSWERS < service.waiting < asked / 2
            peer.connection._transport.resume_reading()
            await peer.ask(ListSubscriptions())

    live(main())


def test_frames_beyond_what_a_peer_takes_do_not_end_its_connection(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = await RawPeer().connect(*contact(one), Limits(max_frame_bytes=64 * 1024))
            for number in range(20):
                await peer.ask(Subscribe(f"{number}", QUERY + " " * 10_000))
            unanswered = peer.ask_later(ListSubscriptions())
            await peer.ask(Unsubscribe("1"))
            assert not unanswered.done()
            assert one.desk.counts["oversize"] == 1

    live(main())


def test_who_only_registers_is_refused_after_a_while(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = RawPeer()
            address, key = contact(one)
            peer.connection = await dial(Endpoint(peer.memory.identity, Party.PEER), address.host, address.port, key)

            async def attach_again_and_again() -> None:
                while True:
                    peer.memory.credentials = None
                    await peer.attach(key)

            with pytest.raises(ConnectionClosed) as refused:
                await attach_again_and_again()
            assert refused.value.reason is Reason.OUT_OF_ORDER

    live(main())


def test_nonsense_ends_the_connection(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            peer = await RawPeer().connect(*contact(one))
            peer.connection.send(b"nonsense")
            await peer.until_closed()
            assert peer.ended is not None
            assert peer.ended.reason is Reason.MALFORMED_MESSAGE
            await until(lambda: not one.core.node.connected)
            with pytest.raises(ConnectionClosed):
                peer.ask_later(peer.memory.handing_in([peer.memory.post(Kind.NEW, body(1))]))

    live(main())


def large_body(number: int) -> bytes:
    return write_body([(URIRef(f"http://example.org/{number}"), DC.title, Literal(f"P2P {os.urandom(50_000).hex()}"))])
