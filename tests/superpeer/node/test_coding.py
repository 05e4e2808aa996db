"""Everything that is said in a lively network can be written and read again, and nonsense is refused."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from superpeer.node.coding import EVENTS, RECORDS, REPLIES, REQUESTS, decode_message, encode_message
from superpeer.node.errors import Malformed
from superpeer.node.requests import Bring
from tests.superpeer.sim.test_network import Life


def emitted(seed: int) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]:
    life = Life(6, seed, "cube")
    messages: list[Any] = []
    requests: list[Any] = []
    replies: list[Any] = []
    events: list[Any] = []

    def listen(sender: str, receiver: str, what: Any) -> None:
        if sender.startswith("sp") and receiver.startswith("sp"):
            messages.append(what)
        elif isinstance(what, tuple):
            requests.append(what[1])
        elif type(what).__module__ == "superpeer.node.requests":
            tag = type(what).__name__
            (replies if tag in ("Done", "Subscribed", "SubscriptionList", "Logged") else events).append(what)

    life.net.listeners.append(listen)
    for _ in range(120):
        life.step()
    life.end()
    records = [record for one in life.net.super_peers for record in one.disk]
    return messages, requests, replies, events, records


def test_what_is_written_is_read_again() -> None:
    kinds: set[str] = set()
    for seed in range(4):
        messages, requests, replies, events, records = emitted(seed)
        for message in messages:
            assert decode_message(encode_message(message)) == message
        for code, family in ((REQUESTS, requests), (REPLIES, replies), (EVENTS, events), (RECORDS, records)):
            for one in family:
                assert code.decode(code.encode(one)) == one
        kinds |= {type(getattr(one, "content", one)).__name__ for one in [*messages, *records]}
    assert kinds >= {
        "Announced",
        "ElementsChanged",
        "QueriesChanged",
        "Notified",
        "CatchUpAsked",
        "CatchUpAnswered",
        "HandOverGiven",
        "Enqueued",
        "Published",
    }


def test_nonsense_is_refused() -> None:
    messages, requests, _, _, _ = emitted(1)
    random = Random(1)
    read = 0
    for _ in range(3000):
        data = bytearray(encode_message(random.choice(messages)))
        for _ in range(random.choice([1, 1, 3])):
            data[random.randrange(len(data))] = random.randrange(256)
        if random.random() < 0.3:
            del data[random.randrange(len(data)) :]
        for decode in (decode_message, REQUESTS.decode):
            try:
                decode(bytes(data))
                read += 1
            except Malformed:
                pass
    assert read, "some changes are harmless"
    for place in ((-1, 0), (0, 2**63), (0, 1, 2)):
        with pytest.raises(Malformed):
            REQUESTS.decode(msgspec.msgpack.encode(["bring", [], None, [[bytes(32), place]], []]))
    with pytest.raises(Malformed):
        REQUESTS.decode(msgspec.msgpack.encode(["bring", [], None, [[bytes(31), (1, 1)]], []]))
    assert isinstance(REQUESTS.decode(msgspec.msgpack.encode(["bring", [], None, [[bytes(32), (1, 1)]], []])), Bring)
    for bad in (b"", b"\xc1", b"\x93", REQUESTS.encode(requests[0]) + b"\0", b"\x91\xa8announced"):
        with pytest.raises(Malformed):
            decode_message(bad)
