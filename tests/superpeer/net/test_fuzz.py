"""A fuzzer against a live listener: whatever comes, others are served, memory stays flat, and every refusal is counted.

`FUZZ_CASES` sets the number of hostile connections. A failure prints the seed of the case.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import zstandard

from auth import Admissions
from superpeer.net import Connection, Limits, Listener, ListenerLimits, Party, Reason
from superpeer.net.certificates import client_context
from superpeer.net.frames import MAX_MESSAGES, Kind, write_frame, write_messages
from superpeer.net.handshake import hello_of, write
from superpeer.net.limits import MEBIBYTE
from superpeer.net.tls import Tls
from tests.superpeer.net.attacker import Attacker, recorded_handshake
from tests.superpeer.net.helpers import (
    MEMBER,
    NOW,
    OTHER_ROOT,
    PEER,
    STRANGER,
    certificate,
    connected,
    exactly,
    listening,
    live,
    peer,
    super_peer,
    wait_for,
)

CASES = int(os.environ.get("FUZZ_CASES", "384"))
AT_A_TIME = 64
LIMITS = Limits(handshake_s=1.0, linger_s=0.3)
GROWTH_BYTES = 24 * MEBIBYTE

Outcome = set[Reason | None]
"""What the listener may count for a case: one of these. None: nothing, as the attacker went away before it did harm."""


class Fuzzer:
    def __init__(self, port: int, recorded: list[bytes]) -> None:
        self.port = port
        self.recorded = recorded

    async def case(self, seed: int) -> tuple[Outcome, Reason | None]:
        """Play one hostile client; what may be counted for it, and what it was told."""
        random = Random(seed)
        attacker = Attacker(random)
        expected = await random.choice(PLAYS)(self, attacker)
        return expected, await attacker.finish()

    async def noise(self, attacker: Attacker) -> Outcome:
        await attacker.connect(self.port)
        attacker.raw(attacker.random.randbytes(attacker.random.randint(1, 3000)))
        return {Reason.TLS_FAILED, None}

    async def another_protocol(self, attacker: Attacker) -> Outcome:
        await attacker.connect(self.port)
        attacker.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return {Reason.TLS_FAILED}

    async def damaged_tls(self, attacker: Attacker) -> Outcome:
        await attacker.connect(self.port)
        attacker.tls.handshake()
        attacker.raw(attacker.mutated(attacker.tls.outgoing()))
        return {Reason.TLS_FAILED, None}

    async def half_of_tls(self, attacker: Attacker) -> Outcome:
        await attacker.connect(self.port)
        attacker.tls.handshake()
        hello = attacker.tls.outgoing()
        attacker.raw(hello[: attacker.random.randrange(len(hello))])
        return {None}

    async def tls_without_our_name(self, attacker: Attacker) -> Outcome:
        context = client_context()
        context.set_alpn_protocols(["h2"])
        attacker.tls = Tls(context, server_side=False)
        await attacker.connect(self.port)
        attacker.tls.handshake()
        attacker.raw(attacker.tls.outgoing())
        attacker.tls.feed(await attacker.reader.read(65536))
        return {Reason.TLS_FAILED, None}

    async def damaged_records(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        attacker.tls.write(write_messages([b"hello"], None))
        data = bytearray(attacker.tls.outgoing())
        data[attacker.random.randrange(5, len(data))] ^= 1
        attacker.raw(bytes(data))
        return {Reason.TLS_FAILED}

    async def slow_loris(self, attacker: Attacker) -> Outcome:
        if attacker.random.random() < 0.5:
            await attacker.connect(self.port)
        else:
            await attacker.encrypt(self.port)
            attacker.plain(b"\x00\x00")
        await attacker.reader.read(65536)
        return {Reason.HANDSHAKE_SLOW}

    async def garbage_for_a_hello(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.say(attacker.random.randbytes(attacker.random.randint(0, 1000)))
        return {Reason.MALFORMED_MESSAGE}

    async def random_bytes_inside_tls(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.plain(bytes([attacker.random.randint(1, 255)]) + attacker.random.randbytes(50))
        return {Reason.OVERSIZE, Reason.UNKNOWN_KIND}

    async def mutated_hello(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.say(attacker.mutated(self.recorded[0]))
        # A hello with another nonce or key is as good as any; it is the answer that never comes.
        return {Reason.MALFORMED_MESSAGE, Reason.VERSION, Reason.ROLE_REFUSED, Reason.NOT_ADMITTED, None}

    async def truncated_hello(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        frame = write_frame(Kind.HANDSHAKE, self.recorded[0])
        attacker.plain(frame[: attacker.random.randrange(1, len(frame))])
        return {None}

    async def replayed_handshake(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        for message in self.recorded:
            attacker.say(message)
        return {Reason.NOT_PROVED}

    async def replayed_answer(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.say(write(hello_of(peer())))
        await attacker.next_message()
        await attacker.next_message()
        attacker.say(self.recorded[1])
        return {Reason.NOT_PROVED}

    async def answer_before_the_question(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.say(self.recorded[1])
        return {Reason.OUT_OF_ORDER}

    async def wrong_key(self, attacker: Attacker) -> Outcome:
        await attacker.answer_falsely(self.port, PEER, STRANGER)
        return {Reason.NOT_PROVED}

    async def no_admin(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.say(write(hello_of(peer(STRANGER, party=Party.ADMIN))))
        return {Reason.ROLE_REFUSED}

    async def not_admitted(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        shown = attacker.random.choice(
            [
                certificate(STRANGER.public),
                certificate(MEMBER.public, OTHER_ROOT),
                certificate(MEMBER.public, until=NOW),
            ]
        )
        attacker.say(write(hello_of(super_peer(MEMBER, certificate=shown))))
        return {Reason.NOT_ADMITTED}

    async def another_network(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.say(write(hello_of(replace(peer(), admissions=Admissions(OTHER_ROOT.public)))))
        return {Reason.WRONG_NETWORK}

    async def oversize_before_the_handshake(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.plain(attacker.random.randint(2049, 2**32 - 1).to_bytes(4, "big") + b"\x00" + bytes(5000))
        return {Reason.OVERSIZE}

    async def messages_before_the_handshake(self, attacker: Attacker) -> Outcome:
        await attacker.encrypt(self.port)
        attacker.plain(write_messages([b"x" * 3000], attacker.random.choice([None, 1]))[:1000])
        return {Reason.OUT_OF_ORDER, Reason.OVERSIZE}

    async def oversize(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        attacker.plain(attacker.random.randint(MEBIBYTE + 1, 2**32 - 1).to_bytes(4, "big") + b"\x01" + bytes(500))
        return {Reason.OVERSIZE}

    async def bomb(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        attacker.plain(write_frame(Kind.COMPRESSED, BOMB))
        return {Reason.OVERSIZE}

    async def random_frame(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        kind = attacker.random.choice([Kind.MESSAGES, Kind.COMPRESSED, Kind.HEARTBEAT, Kind.HANDSHAKE])
        # 0xc1 begins nothing in MessagePack, nor a zstd frame.
        attacker.plain(write_frame(kind, b"\xc1" + attacker.random.randbytes(attacker.random.randint(0, 500))))
        return {Reason.MALFORMED_FRAME, Reason.BAD_COMPRESSION, Reason.OUT_OF_ORDER}

    async def unknown_kind(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        attacker.plain(b"\x00\x00\x00\x00" + bytes([attacker.random.randint(5, 255)]))
        return {Reason.UNKNOWN_KIND}

    async def mutated_frames(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        frame = write_messages([attacker.random.randbytes(20), b"text " * 50], attacker.random.choice([None, 1]))
        attacker.plain(attacker.mutated(frame))
        return {
            *(
                Reason.MALFORMED_FRAME,
                Reason.BAD_COMPRESSION,
                Reason.OUT_OF_ORDER,
                Reason.OVERSIZE,
                Reason.UNKNOWN_KIND,
            ),
            None,
        }

    async def truncated_frame(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        frame = write_messages([b"x" * 1000], None)
        attacker.plain(frame[: attacker.random.randrange(1, len(frame))])
        return {None}

    async def broken_off(self, attacker: Attacker) -> Outcome:
        await attacker.authenticate(self.port)
        attacker.plain(write_messages([b"x" * 1000], None))
        attacker.vanish()
        return {None}


PLAYS: list[Callable[[Fuzzer, Attacker], Awaitable[Outcome]]] = [
    play
    for name, play in vars(Fuzzer).items()
    if asyncio.iscoroutinefunction(play) and name not in ("case", "__init__")
]
BOMB = zstandard.compress(bytes(500 * MEBIBYTE))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def attack(listener: Listener, fuzzer: Fuzzer, honest: Connection, seeds: range) -> None:
    """Play these cases, many at a time; an honest client is served after each of them."""
    for start in range(seeds.start, seeds.stop, AT_A_TIME):
        group = range(start, min(start + AT_A_TIME, seeds.stop))
        before = listener.counters().refused
        tasks = [asyncio.create_task(fuzzer.case(seed)) for seed in group]
        for task in asyncio.as_completed(tasks):
            await task
            honest.send(b"still there?")
            assert await exactly(honest, 1) == [b"still there?"]
        await wait_for(lambda: len(listener.connections) == 1 and listener.unfinished == 0)
        counted = listener.counters().refused - before
        outcomes = [task.result() for task in tasks]
        told = Counter(told for _, told in outcomes if told is not None)
        assert not told - counted, f"whatever is refused is counted: seeds {group}"
        for (expected, reason), seed in zip(outcomes, group, strict=True):
            assert reason is None or reason in expected, f"seed {seed}: {reason} is not among {expected}"
        assert_explained(counted, [expected for expected, _ in outcomes], group)


def assert_explained(counted: Counter[Reason], outcomes: list[Outcome], group: range) -> None:
    """Each case counts once, for a reason that is expected of it; none counts twice."""
    certain = Counter(next(iter(outcome)) for outcome in outcomes if len(outcome) == 1)
    for reason in Reason:
        possible = sum(reason in outcome for outcome in outcomes)
        assert certain[reason] <= counted[reason] <= possible, f"{reason.name}: seeds {group}"
    must = sum(None not in outcome for outcome in outcomes)
    assert must <= counted.total() <= sum(outcome != {None} for outcome in outcomes), f"seeds {group}"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_whatever_comes_others_are_served() -> None:
    async def main() -> None:
        limits = ListenerLimits(max_unfinished=128, max_unfinished_per_address=128)
        async with listening(endpoint=super_peer(limits=LIMITS), limits=limits) as listener:
            fuzzer = Fuzzer(listener.port, await recorded_handshake(listener.port))
            assert len(fuzzer.recorded) == 2
            async with connected(listener, peer(STRANGER, limits=Limits(patience_s=60))) as honest:
                await attack(listener, fuzzer, honest, range(CASES // 4))
                gc.collect()
                before = resident_bytes()
                await attack(listener, fuzzer, honest, range(CASES // 4, CASES))
                gc.collect()
                assert resident_bytes() - before < GROWTH_BYTES
                assert sum(isinstance(each, Connection) for each in gc.get_objects()) <= 4
                counted = listener.counters().refused
                assert CASES < 200 or len(counted) >= 12, "many kinds were seen"
                async with connected(listener) as newcomer:
                    newcomer.send(b"hello")
                    assert await exactly(newcomer, 1) == [b"hello"]

    live(main(), time_limit_s=60 + CASES / 5)


@pytest.mark.parametrize("kind", ["large", "empty"])
def test_small_bombs_for_a_reader_that_does_not_read_stay_small(kind: str) -> None:
    """A few bytes for a megabyte, a hundred times: only what the reader has room for is unpacked, and none is lost."""
    messages = {"large": [bytes(MEBIBYTE - 100)], "empty": [b""] * MAX_MESSAGES}[kind]

    async def main() -> None:
        release, times = asyncio.Event(), 100
        received = 0

        async def serve(connection: Connection) -> None:
            nonlocal received
            await release.wait()
            while received < times * len(messages):
                received += len(await connection.receive())

        async with listening(serve) as listener:
            attacker = Attacker(Random(1))
            await attacker.authenticate(listener.port)
            frame = write_messages(messages, 1)
            assert len(frame) < 200
            for _ in range(times):
                attacker.plain(frame)
            await wait_for(lambda: any(connection._is_full for connection in listener.connections))
            [taken] = listener.connections
            await asyncio.sleep(0.1)
            assert taken.counters.frames_in <= 2 + 2, "two of the handshake, and two that fill the reader"
            release.set()
            turns = 0
            while received < times * len(messages):
                await asyncio.sleep(0)
                turns += 1
            assert turns >= times / 2, "others have their turns in between"
            await attacker.finish()

    live(main())
