"""Hostile peers against a super-peer that runs: it refuses, counts, and serves the others all the while.

Whoever is hostile here has made a proper handshake. Some say bytes that are no messages; some, messages that are nearly
right, with one value replaced; some know the protocol well and sign what they send. During every case an honest peer
publishes something and gets it. `FUZZ_CASES` says how many cases there are, `FUZZ_SEED` which; a failure names both.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from auth import Identity, PrivateId
from auth.migration import order_migration
from superpeer.net import Endpoint, Limits, Party, dial
from superpeer.net.peer_messages import FROM_PEER, Answered, Asking, Attaching, Connecting, Refused
from superpeer.node.publications import Kind
from superpeer.node.records import Subscription
from superpeer.node.requests import (
    Advertise,
    Answer,
    Bring,
    Fetch,
    FileTaken,
    Leave,
    ListSubscriptions,
    Pause,
    Query,
    Received,
    Renew,
    Request,
    Resume,
    Subscribe,
    Unsubscribe,
    Upload,
)
from tests.superpeer.daemon.helpers import QUERY, Running, backbone, body, live
from tests.superpeer.daemon.raw_peer import DC, PLACE, RawPeer
from tests.superpeer.daemon.test_admin import get

CASES = int(os.environ.get("FUZZ_CASES", "300"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
LAST_NUMBER = 1 << 40
"""What is asked last in each case, to know that all before it is dealt with."""
MAX_GROWTH_MIB = 64
SMALL = (
    "--limits-new-peers-per-minute=100000",
    "--limits-requests-at-once=300",
    "--limits-publications-at-once=500",
    "--limits-file-bytes=100000",
    "--limits-body-bytes=20000",
    "--limits-query-characters=2000",
    "--limits-subscriptions-per-peer=20",
    "--limits-elements-per-peer=50",
    "--limits-marks-per-peer=50",
)
LITERALS = ["9" * 5_000, "1e999999999", "-1E-999999999", "NaN", "٣٤", "2004-13-45", "9999999999-01-01", "\0", "1_0", ""]
DATES = [f"X : t(X, <{DC}date>, D) & D {test}" for test in ("> 2003", "< 2004.5", ">= 2004-05-01", '= "2004"')]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)),
    *(0.0, -0.0, 1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324),
    *("", "\0", "x" * 300, "\U0010ffff" * 10, QUERY, "spi-", "range", "new", "u", "ub", "l"),
    *(b"", bytes(16), bytes(32), b"\xff" * 32, bytes(33), bytes(64), bytes(5_000)),
    *([], [[]], [None], ["subscribe"], ["leave"], [0, 0], [2**62, 2**62], [["range", "p", "9" * 4_300, ""]]),
    *({}, {"a": 1}, msgspec.Raw(b"\xc1"), msgspec.Raw(b"\x91" * 2_000 + b"\xc0"), msgspec.Raw(b"\xdd\xff\xff\xff\xff")),
]


class Hostile(RawPeer):
    """Has whatever it likes to say said, and notes what comes of it."""

    def __init__(self, server: Running, random: Random, outcomes: Counter[str]) -> None:
        super().__init__()
        self.server = server
        self.random = random
        self.outcomes = outcomes
        self._is_done = asyncio.Event()

    async def begin(self) -> None:
        await self.connect(self.server.address, self.server.key)
        await self.advertise()

    async def dial_only(self) -> None:
        """The handshake, and nothing more."""
        address = self.server.address
        endpoint = Endpoint(self.memory.identity, Party.PEER, limits=Limits())
        self.connection = await dial(endpoint, address.host, address.port, self.server.key)
        self.ended = None
        self._reader = asyncio.create_task(self._read())

    def say(self, data: bytes) -> None:
        if self.ended is None and self.connection.is_open:
            self.connection.send(data)

    def asking(self, request: Request, private_id: PrivateId | None = None) -> bytes:
        number = self.random.choice([1, 2, 0, -(2**63), 2**64 - 1])
        return FROM_PEER.encode(Asking(number, private_id or self.memory.attached.private_id, request))

    async def settle(self) -> None:
        """Until the access point has dealt with everything, or has closed."""
        self._is_done.clear()
        private_id = self.memory.credentials.private_id if self.memory.credentials else PrivateId(bytes(32))
        self.say(FROM_PEER.encode(Asking(LAST_NUMBER, private_id, ListSubscriptions())))
        while self.ended is None and not self._is_done.is_set():
            self._change.clear()
            await self._change.wait()
        if self.ended is not None:
            self.outcomes[self.ended.reason.name] += 1

    def _take(self, message: Any) -> None:
        if isinstance(message, (Answered, Refused)):
            self.outcomes[message.error if isinstance(message, Refused) else "answered"] += 1
            if message.number == LAST_NUMBER:
                self._is_done.set()
                return
            if message.number in self._answers:
                super()._take(message)


def real_requests(peer: Hostile) -> list[Request]:
    """One of each, right in every way."""
    memory, key = peer.memory, peer.server.key.raw
    asked = Subscription("kept", QUERY, 0.0, 1e12, since=0.0, answered=(key,))
    order = order_migration(
        memory.identity, memory.attached.public_id, Identity(bytes([9]) * 32).public, peer.server.key, 1, 1e9, 60
    )
    return [
        Subscribe("one", QUERY, 0.0, 60.0),
        Subscribe("dates", peer.random.choice(DATES)),
        Unsubscribe("one"),
        Pause("one"),
        Resume("one"),
        Renew("one", 60.0),
        ListSubscriptions(),
        Advertise((("schema", DC), ("property", f"{DC}x"), ("uri", "p", "u"), ("range", "p", "1", ""))),
        memory.handing_in([memory.post(Kind.UPDATED, body(memory.serial)) for _ in range(2)]),
        Received(0),
        Query(1, QUERY, 0.1),
        Answer(b"question", (body(1),)),
        Fetch("id", "resource", peer.id, key),
        Upload("id", b"content"),
        Upload("id", None),
        FileTaken("id"),
        Bring((asked,), (("schema", DC),), ((key, (1, 1)),), (order,)),
        Leave(),
    ]


def real_messages(peer: Hostile) -> list[bytes]:
    attached = peer.memory.attached
    return [
        *map(peer.asking, real_requests(peer)),
        FROM_PEER.encode(Connecting(attached.public_id, attached.private_id, PLACE)),
        FROM_PEER.encode(Attaching(os.urandom(100))),
    ]


# Cases: each says something, and may leave the peer connected or not.


async def random_bytes(peer: Hostile) -> None:
    peer.say(peer.random.randbytes(peer.random.choice([0, 1, 7, 100, 5_000])))


async def mutated(peer: Hostile) -> None:
    """Bytes of a real message that were changed, put in, left out or cut off."""
    data = bytearray(peer.random.choice(real_messages(peer)))
    for _ in range(peer.random.randint(1, 3)):
        at = peer.random.randrange(len(data) + 1)
        match peer.random.randrange(4):
            case 0:
                data[at : at + 1] = peer.random.randbytes(1)
            case 1:
                data[at:at] = peer.random.randbytes(peer.random.randint(1, 4))
            case 2:
                del data[at : at + peer.random.randint(1, 8)]
            case _:
                del data[at:]
    peer.say(bytes(data))


async def nearly_right(peer: Hostile) -> None:
    """A real message in which one value, wherever it stands, is another one."""
    for _ in range(3):
        plain = msgspec.msgpack.decode(peer.random.choice(real_messages(peer)))
        where = peer.random.choice([path for path in paths(plain) if path])
        inner = plain
        for step in where[:-1]:
            inner = inner[step]
        inner[where[-1]] = peer.random.choice(VALUES)
        peer.say(msgspec.msgpack.encode(plain))


async def nearly_right_body(peer: Hostile) -> None:
    """Signed as it should be, but what it says is odd."""
    date = [f"{DC}date", ["l", peer.random.choice(LITERALS), "", ""]]
    plain: Any = [["u", "urn:x", "", ""], [date, [f"{DC}title", ["l", "P2P", "en", ""]]]]
    if peer.random.random() < 0.3:
        plain[0][0] = peer.random.choice(["", "ub", "l", "b", "U"])
    elif peer.random.random() < 0.7:
        where = peer.random.choice([path for path in paths(plain) if path])
        inner = plain
        for step in where[:-1]:
            inner = inner[step]
        inner[where[-1]] = peer.random.choice(VALUES)
    content = msgspec.msgpack.encode(plain)
    publish(peer, content)
    peer.say(peer.asking(Answer(b"question", (content,))))


async def out_of_order(peer: Hostile) -> None:
    """Nothing is done for who has not said who it is; nor does it harm to say it twice."""
    messages = real_messages(peer)
    peer.connection.abort()
    await peer.dial_only()
    for data in peer.random.sample(messages, 6):
        peer.say(data)


async def somebody_elses_id(peer: Hostile) -> None:
    wrong = PrivateId(peer.random.randbytes(32))
    for request in real_requests(peer):
        peer.say(peer.asking(request, wrong))
    peer.say(FROM_PEER.encode(Connecting(peer.memory.attached.public_id, wrong, PLACE)))


async def again_and_again(peer: Hostile) -> None:
    """The same bytes many times, some from other times."""
    for data in peer.random.choices(real_messages(peer)[:-3], k=5):
        for _ in range(5):
            peer.say(data)


async def too_large(peer: Hostile) -> None:
    large = "x" * 30_000
    requests: list[Request] = [
        Subscribe("large", QUERY.replace("P2P", large)),
        Subscribe(large, QUERY),
        Query(1, QUERY + " " * 30_000, 1.0),
        Query(2, QUERY, 1e9),
        Subscribe("long", QUERY, None, 1e300),
        Upload("id", bytes(200_000)),
        Fetch(large, "resource", peer.id, peer.server.key.raw),
        Advertise((("schema", DC),) * 51),
        Advertise((("range", "p", "9" * 5_000, ""),)),
        Advertise((("range", "p", "2", "1"),)),
        Bring((), None, ((bytes(32), (1, 1)),) * 51, ()),
    ]
    for request in requests:
        peer.say(peer.asking(request))
    publish(peer, body(1, large))
    peer.say(FROM_PEER.encode(Connecting(peer.memory.attached.public_id, peer.memory.attached.private_id, large)))


async def flood(peer: Hostile) -> None:
    """Far more than the allowance."""
    requests: list[Request] = [ListSubscriptions(), Subscribe("one", QUERY), Unsubscribe("none")]
    data = peer.asking(peer.random.choice(requests))
    for _ in range(600):
        peer.say(data)


async def flood_of_forgeries(peer: Hostile) -> None:
    """Each costs a signature to refuse."""
    genuine = peer.memory.handing_in([peer.memory.post(Kind.NEW, body(1))])
    (posting,) = genuine.postings
    for number in range(100):
        forged = msgspec.structs.replace(posting, serial=posting.serial + number, body=body(2))
        peer.say(peer.asking(msgspec.structs.replace(genuine, postings=(forged,))))


async def in_and_out(peer: Hostile) -> None:
    """Ends in the middle of everything."""
    for data in peer.random.sample(real_messages(peer), 3):
        peer.say(data)
    peer.connection.abort()


Case = Callable[[Hostile], Any]
ORDINARY: list[Case] = [random_bytes, mutated, nearly_right, nearly_right, nearly_right_body, nearly_right_body]
DEAR: list[Case] = [out_of_order, somebody_elses_id, again_and_again, too_large, flood, flood_of_forgeries, in_and_out]


def publish(peer: Hostile, content: bytes) -> None:
    peer.say(peer.asking(peer.memory.handing_in([peer.memory.post(Kind.NEW, content)])))


def paths(value: Any) -> list[tuple[int, ...]]:
    """Where the values within arrays are, at every depth."""
    if not isinstance(value, list):
        return [()]
    return [(), *((index, *path) for index, inner in enumerate(value) for path in paths(inner))]


def resident_mib(pid: int) -> float:
    """Where the system tells it; 0 elsewhere."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else 0.0


async def metrics(server: Running) -> Counter[str]:
    """By name, with the label if there is one."""
    port = re.search(r"metrics_port=(\d+)", "".join(server.output))
    assert port
    _, text = await get(int(port[1]), "/metrics")
    found = re.findall(r'^superpeer_(\w+)(?:\{\w+="(\w+)"\})? ([0-9.e+]+)$', text, re.MULTILINE)
    return Counter({f"{name} {label}".strip(): int(float(value)) for name, label, value in found})


@pytest.mark.skipif("FUZZ_CASES" not in os.environ, reason="`make soak` runs it, or set FUZZ_CASES=300")
def test_hostile_peers_change_nothing_for_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        random, outcomes = Random(SEED), Counter[str]()
        async with backbone(tmp_path, 1, "--metrics=127.0.0.1:0", *SMALL) as (server,):
            honest = await RawPeer().connect(server.address, server.key)
            await honest.advertise()
            await honest.subscribe("mine", QUERY.replace("P2P", "honest"))
            for number, text in enumerate(DATES):
                # What the others publish is matched against these.
                await honest.subscribe(f"dates {number}", text)
            before = 0.0
            peer: Hostile | None = None
            for number in range(CASES):
                case = random.choice(DEAR if number % 5 == 0 else ORDINARY)
                try:
                    if peer is None:
                        peer = Hostile(server, random, outcomes)
                        await peer.begin()
                    await asyncio.gather(hostility(peer, case), honesty(honest, number))
                    assert not outcomes["FAULT"], "whatever a peer says, it is not a fault of the super-peer"
                    if peer.ended is not None or random.random() < 0.1:
                        peer.connection.abort()
                        peer = None
                except Exception as error:
                    error.add_note(f"case {number}, FUZZ_SEED={SEED}, {case.__name__}\n{''.join(server.output[-9:])}")
                    raise
                if number == CASES // 3:
                    before = resident_mib(server.pid)
            assert bodies(honest) == [body(number, "honest") for number in range(CASES)]
            assert "Traceback" not in "".join(server.output)
            assert resident_mib(server.pid) <= before + MAX_GROWTH_MIB
            counted = await metrics(server)
            refusals = sum(count for name, count in outcomes.items() if name[0].isupper() and not name.isupper())
            assert counted["connections_refused_total fault"] == 0
            assert counted["requests_refused_total"] >= refusals > CASES
            assert counted["connections_refused_total malformed_message"] >= outcomes["MALFORMED_MESSAGE"] > CASES / 10
            for kind in ("NotHere", "WrongPrivateId", "LimitReached", "BadRequest", "BadPublication", "BadSignature"):
                assert outcomes[kind], f"no case led to {kind}"
            assert outcomes["answered"], "what is right is still answered"
            assert await server.stop() == 0
            # Nor is anything on its disk that its next life could not read.
            await server.start()
            await honest.connect(server.address, server.key)
            await honesty(honest, CASES)
            assert await server.stop() == 0

    live(main(), 40.0 + CASES)


async def hostility(peer: Hostile, case: Case) -> None:
    await case(peer)
    await peer.settle()


async def honesty(peer: RawPeer, number: int) -> None:
    await peer.publish(body(number, "honest"))
    await peer.until(lambda: len(bodies(peer)) > number)


def bodies(peer: RawPeer) -> list[bytes]:
    mine = [notice for notice in peer.notices if "mine" in notice.subscriptions]
    return [notice.publication.draft.body for notice in mine]
