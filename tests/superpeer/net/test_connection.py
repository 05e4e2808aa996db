"""Connections over real sockets and real TLS, on both event loops."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import pytest

from superpeer.net import (
    Connection,
    ConnectionClosed,
    Limits,
    ListenerLimits,
    MessageTooLarge,
    Party,
    Reason,
    Unreachable,
    WrongServerKey,
    dial,
)
from superpeer.net.limits import KIBIBYTE, MEBIBYTE, MIN_FRAME_BYTES
from tests.superpeer.net.helpers import (
    ADMIN,
    HOST,
    LOOPS,
    MEMBER,
    PEER,
    SERVER,
    STRANGER,
    connected,
    exactly,
    listening,
    live,
    peer,
    refused,
    super_peer,
    until_closed,
    wait_for,
)

pytestmark = pytest.mark.parametrize("loop", LOOPS)

QUICK = Limits(patience_s=0.4, linger_s=0.3)


def test_messages_go_to_and_fro(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener, connected(listener) as connection:
            assert connection.other.key == SERVER.public
            messages = [os.urandom(size) for size in (0, 1, 200, 70_000, 1_000_000)] + [b"x" * 500_000]
            for message in messages:
                connection.send(message)
            assert await exactly(connection, len(messages)) == messages

    live(main(), loop)


@pytest.mark.parametrize("party", list(Party))
def test_the_listener_knows_who_came(party: Party, loop: str) -> None:
    async def main() -> None:
        seen: list[Connection] = []

        async def serve(connection: Connection) -> None:
            seen.append(connection)
            await until_closed(connection)

        endpoint = {
            Party.SUPER_PEER: super_peer(MEMBER),
            Party.PEER: peer(),
            Party.ADMIN: peer(ADMIN, party=Party.ADMIN),
        }[party]
        async with listening(serve) as listener:
            async with connected(listener, endpoint) as connection:
                await wait_for(lambda: bool(seen))
                assert seen[0].other.party is party
                assert seen[0].other.key == endpoint.identity.public
                assert seen[0].other.channel == connection.other.channel
                assert listener.connections == {seen[0]}
            await wait_for(lambda: not listener.connections)
            assert listener.counters().connections == 1

    live(main(), loop)


def test_what_is_ready_leaves_in_one_frame(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener, connected(listener) as connection:
            before = connection.counters.frames_out
            for number in range(500):
                connection.send(b"%d" % number)
            assert await exactly(connection, 500) == [b"%d" % number for number in range(500)]
            assert connection.counters.frames_out == before + 1
            assert connection.counters.messages_out == 500
            assert listener.counters().messages_in == 500

    live(main(), loop)


def test_large_frames_are_compressed_and_secret_ones_never(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener, connected(listener) as connection:
            connection.send(bytes(100_000))
            await exactly(connection, 1)
            assert connection.counters.bytes_out < 5_000
            connection.send(bytes(100_000), secret=True)
            await exactly(connection, 1)
            assert connection.counters.bytes_out > 100_000
            assert listener.counters().bytes_out < 10_000

    live(main(), loop)


def test_a_message_that_the_other_end_does_not_take_is_not_sent(loop: str) -> None:
    async def main() -> None:
        small = super_peer(limits=Limits(max_frame_bytes=MIN_FRAME_BYTES))
        async with listening(endpoint=small) as listener, connected(listener) as connection:
            largest = b"x" * connection.max_message_bytes
            with pytest.raises(MessageTooLarge):
                connection.send(largest + b"x")
            connection.send(largest)
            assert await exactly(connection, 1) == [largest]

    live(main(), loop)


def test_another_key_gets_nothing_but_the_beginning_of_tls(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener:
            with pytest.raises(WrongServerKey, match="nothing was sent") as found:
                await dial(peer(), HOST, listener.port, STRANGER.public)
            assert SERVER.public.text in str(found.value)
            await wait_for(lambda: listener.unfinished == 0)
            counters = listener.counters()
            # A client hello of TLS has a few hundred bytes; its finish, and a hello of ours, would come after it.
            assert counters.frames_in == 0
            assert 0 < counters.bytes_in < 700

    live(main(), loop)


def test_nobody_at_the_address(loop: str) -> None:
    async def main() -> None:
        with socket.socket() as unused:
            unused.bind((HOST, 0))
            port = unused.getsockname()[1]
            with pytest.raises(Unreachable, match=f"{HOST}:{port}"):
                await dial(peer(), HOST, port, SERVER.public)

    live(main(), loop)


def test_a_server_that_says_nothing(loop: str) -> None:
    async def main() -> None:
        with socket.socket() as mute:
            mute.bind((HOST, 0))
            mute.listen()
            with pytest.raises(ConnectionClosed) as found:
                await dial(peer(limits=Limits(handshake_s=0.2)), HOST, mute.getsockname()[1], SERVER.public)
            assert found.value.reason is Reason.HANDSHAKE_SLOW

    live(main(), loop)


def test_a_refusal_is_told_by_its_reason(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener:
            with pytest.raises(ConnectionClosed, match="ask the operator") as found:
                await dial(peer(STRANGER, party=Party.ADMIN), HOST, listener.port, SERVER.public)
            assert (found.value.reason, found.value.by_other) == (Reason.ROLE_REFUSED, True)
            assert refused(listener.counters()) == {"ROLE_REFUSED": 1}

    live(main(), loop)


def test_closing_comes_after_everything_that_was_sent(loop: str) -> None:
    async def main() -> None:
        messages = [os.urandom(1000) for _ in range(2000)]

        async def serve(connection: Connection) -> None:
            for message in messages:
                connection.send(message)
            connection.close(Reason.GOING_AWAY, "back at noon")

        async with listening(serve) as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
            assert await exactly(connection, len(messages)) == messages
            error = await until_closed(connection)
            assert (error.reason, error.by_other, error.text) == (Reason.GOING_AWAY, True, "back at noon")
            with pytest.raises(ConnectionClosed):
                connection.send(b"too late")
            with pytest.raises(ConnectionClosed):
                await connection.drain()
            await connection.wait_closed()

    live(main(), loop)


def test_heartbeats_keep_an_idle_connection(loop: str) -> None:
    async def main() -> None:
        endpoint = super_peer(limits=QUICK)
        async with listening(endpoint=endpoint) as listener, connected(listener, peer(limits=QUICK)) as connection:
            before = connection.counters.frames_in
            await wait_for(lambda: connection.counters.frames_in >= before + 8)
            assert connection.is_open
            connection.send(b"still there")
            assert await exactly(connection, 1) == [b"still there"]

    live(main(), loop)


def test_the_more_impatient_end_hears_in_time(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener, connected(listener, peer(limits=QUICK)) as connection:
            await wait_for(lambda: connection.counters.frames_in >= 10)
            assert connection.is_open

    live(main(), loop)


def frozen(connection: Connection) -> Callable[[], None]:
    """Let one end stop, as a machine that hangs: it neither reads nor writes. Gives what wakes it."""
    connection._timer.cancel()  # type: ignore[union-attr]
    connection._transport.pause_reading()
    return connection._transport.resume_reading


def test_an_end_that_falls_silent_is_given_up(loop: str) -> None:
    async def main() -> None:
        async with listening(endpoint=super_peer(limits=QUICK)) as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
            wake = frozen(connection)
            await wait_for(lambda: refused(listener.counters()) == {"SILENT": 1})
            await wait_for(lambda: not listener.connections)
            wake()
            error = await until_closed(connection)
            assert (error.reason, error.by_other) == (Reason.SILENT, True)
            await connection.wait_closed()

    live(main(), loop)


def test_a_frame_that_is_not_finished_is_given_up(loop: str) -> None:
    async def main() -> None:
        endpoint = super_peer(limits=Limits(frame_s=0.3, patience_s=0.4))
        async with listening(endpoint=endpoint) as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
            connection._timer.cancel()  # type: ignore[union-attr]

            async def trickle() -> None:
                """A byte of a frame at a time: never silent, never done."""
                for byte in (1000).to_bytes(4, "big") + b"\x01" + bytes(1000):
                    if not connection.is_open:
                        return
                    connection._tls.write(bytes([byte]))
                    connection._write_out()
                    await asyncio.sleep(0.02)

            await asyncio.gather(trickle(), until_closed(connection))
            assert refused(listener.counters()) == {"FRAME_SLOW": 1}
            await connection.wait_closed()

    live(main(), loop)


def test_a_sender_that_waits_is_held_back_and_loses_nothing(loop: str) -> None:
    async def main() -> None:
        gate, total = asyncio.Event(), 64
        received: list[bytes] = []

        async def serve(connection: Connection) -> None:
            await gate.wait()
            while len(received) < total:
                received.extend(await connection.receive())

        async with listening(serve) as listener, connected(listener) as connection:
            sent = 0

            async def produce() -> None:
                nonlocal sent
                for number in range(total):
                    connection.send(bytes([number]) + os.urandom(512 * KIBIBYTE))
                    sent += 1
                    await connection.drain()

            producer = asyncio.create_task(produce())
            stuck = -1
            while stuck != sent:
                stuck = sent
                await asyncio.sleep(0.2)
            assert 0 < sent < total, "the sender waits while nobody reads"
            [taken] = listener.connections
            assert taken._inbox_bytes <= 2 * MEBIBYTE
            gate.set()
            await producer
            await wait_for(lambda: len(received) == total)
            assert [message[0] for message in received] == list(range(total))

    live(main(), loop)


def test_a_consumer_that_is_too_slow_is_cut_off(loop: str) -> None:
    async def main() -> None:
        limits = Limits(max_outgoing_bytes=MEBIBYTE)
        async with listening(hold, endpoint=super_peer(limits=limits)) as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
            frozen(connection)
            await wait_for(lambda: bool(listener.connections))
            [sender] = listener.connections
            with pytest.raises(ConnectionClosed, match="read faster") as found:
                await pour(sender)
            assert found.value.reason is Reason.SLOW_CONSUMER
            assert refused(listener.counters()) == {"SLOW_CONSUMER": 1}
            connection.abort()
            await connection.wait_closed()

    live(main(), loop)


async def hold(connection: Connection) -> None:
    await until_closed(connection)


async def pour(connection: Connection) -> None:
    """Send without ever waiting."""
    for _ in range(1000):
        connection.send(os.urandom(64 * KIBIBYTE))
        await asyncio.sleep(0)


def test_a_consumer_that_takes_nothing_is_given_up(loop: str) -> None:
    """It sends heartbeats, so it is not silent."""

    async def main() -> None:
        limits = Limits(stall_s=0.3, patience_s=0.4, max_outgoing_bytes=100 * MEBIBYTE)
        async with listening(hold, endpoint=super_peer(limits=limits)) as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
            connection._transport.pause_reading()
            await wait_for(lambda: bool(listener.connections))
            [sender] = listener.connections
            for _ in range(300):
                sender.send(os.urandom(64 * KIBIBYTE))
            with pytest.raises(ConnectionClosed) as found:
                await sender.drain()
            assert found.value.reason is Reason.SLOW_CONSUMER
            connection.abort()
            await connection.wait_closed()

    live(main(), loop)


def test_a_connection_that_breaks_is_lost(loop: str) -> None:
    async def main() -> None:
        reasons: list[Reason] = []

        async def serve(connection: Connection) -> None:
            reasons.append((await until_closed(connection)).reason)

        async with listening(serve) as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
            connection.abort()
            assert (await until_closed(connection)).reason is Reason.LOST
            await wait_for(lambda: reasons == [Reason.LOST])
            assert refused(listener.counters()) == {}

    live(main(), loop)


def test_a_fault_in_serving_one_does_not_touch_others(loop: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async def serve(connection: Connection) -> None:
            for message in await connection.receive():
                connection.send(bytes(1 // len(message)))
            await until_closed(connection)

        async with listening(serve) as listener, connected(listener, peer(STRANGER)) as good:
            bad = await dial(peer(PEER), HOST, listener.port, SERVER.public)
            bad.send(b"")
            assert (await until_closed(bad)).reason is Reason.FAULT
            good.send(b"x")
            assert await exactly(good, 1) == [b"\x00"]
            assert refused(listener.counters()) == {"FAULT": 1}
            await bad.wait_closed()

    live(main(), loop)
    assert "ZeroDivisionError" in caplog.text


def test_a_listener_that_stops_says_so(loop: str) -> None:
    async def main() -> None:
        async with listening() as listener:
            connection = await dial(peer(), HOST, listener.port, SERVER.public)
        error = await until_closed(connection)
        assert (error.reason, error.by_other) == (Reason.GOING_AWAY, True)
        await connection.wait_closed()

    live(main(), loop)


def test_connections_are_limited_in_all_and_for_each_address(loop: str) -> None:
    async def main() -> None:
        for limits, reason in (
            (ListenerLimits(max_connections=2), "TOO_MANY_CONNECTIONS"),
            (ListenerLimits(max_per_address=2), "TOO_MANY_FROM_ADDRESS"),
        ):
            async with listening(limits=limits) as listener:
                async with connected(listener), connected(listener):
                    with pytest.raises(ConnectionClosed):
                        await dial(peer(), HOST, listener.port, SERVER.public)
                await wait_for(lambda listener=listener: not listener.connections)  # type: ignore[misc]
                async with connected(listener) as connection:
                    connection.send(b"there is room again")
                    await exactly(connection, 1)
                assert refused(listener.counters()) == {reason: 1}

    live(main(), loop)


def test_unfinished_handshakes_end_and_give_way(loop: str) -> None:
    async def main() -> None:
        limits = ListenerLimits(max_unfinished=3)
        endpoint = super_peer(limits=Limits(handshake_s=0.5))
        async with listening(endpoint=endpoint, limits=limits) as listener:
            mutes = [await asyncio.open_connection(HOST, listener.port) for _ in range(5)]
            await wait_for(lambda: refused(listener.counters()) == {"DISPLACED": 2})
            async with connected(listener) as connection:
                connection.send(b"hello")
                assert await exactly(connection, 1) == [b"hello"]
            await wait_for(lambda: refused(listener.counters()) == {"DISPLACED": 3, "HANDSHAKE_SLOW": 2})
            await wait_for(lambda: listener.unfinished == 0)
            for reader, writer in mutes:
                assert await reader.read() == b""
                writer.close()

    live(main(), loop)


def test_unfinished_handshakes_are_limited_for_each_address(loop: str) -> None:
    async def main() -> None:
        limits = ListenerLimits(max_unfinished_per_address=2)
        async with listening(limits=limits) as listener:
            mutes = [await asyncio.open_connection(HOST, listener.port) for _ in range(3)]
            await wait_for(lambda: refused(listener.counters()) == {"TOO_MANY_FROM_ADDRESS": 1})
            assert listener.unfinished == 2
            for _, writer in mutes:
                writer.close()
            await wait_for(lambda: listener.unfinished == 0)

    live(main(), loop)
