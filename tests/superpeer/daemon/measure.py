"""Measures a super-peer as a process: publications a second from end to end, and what idle peers cost.

    PYTHONPATH=. python -m tests.superpeer.daemon.measure [idle peers]

End to end: a peer publishes, the super-peer has it on disk and answers, and a subscriber of the same super-peer has it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from superpeer.node.publications import Kind
from tests.superpeer.daemon.helpers import QUERY, Running, backbone, body, live
from tests.superpeer.daemon.raw_peer import RawPeer

UNLIMITED = (
    "--limits-publications-per-second=1000000",
    "--limits-publications-at-once=1000000",
    "--listener-max-per-address=30000",
    "--listener-max-unfinished-per-address=1000",
    "--listener-max-connections=30000",
    "--limits-new-peers-per-minute=100000",
    "--connections-patience-s=600",
)


def resident_mib(process: Running) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS"))) / 1024


async def publications(one: Running, in_flight: int, count: int) -> None:
    reader = await RawPeer().connect(one.address, one.key)
    writer = await RawPeer().connect(one.address, one.key)
    await writer.advertise()
    await reader.subscribe("mine", QUERY)
    postings = [writer.memory.post(Kind.NEW, body(number)) for number in range(count)]
    size = max(1, in_flight // 4)
    # One signature for what is handed over together, as a client makes it.
    requests = [writer.memory.handing_in(postings[start : start + size]) for start in range(0, count, size)]
    room = asyncio.Semaphore(in_flight // size)
    began = time.perf_counter()
    for request in requests:
        await room.acquire()
        writer.ask_later(request).add_done_callback(lambda _: room.release())
        if in_flight == 1:
            await reader.until(lambda: len(reader.notices) > 0)
            reader.notices.clear()
    if in_flight > 1:
        await reader.until(lambda: len(reader.notices) == count)
    seconds = time.perf_counter() - began
    print(f"{in_flight} in flight: {count / seconds:,.0f} publications a second ({1000 * seconds / count:.2f} ms each)")
    await reader.close()
    await writer.close()


async def idle_peers(one: Running, count: int) -> None:
    before = resident_mib(one)
    began = time.perf_counter()
    peers: list[RawPeer] = []
    for start in range(0, count, 20):
        some = [RawPeer() for _ in range(start, min(count, start + 20))]
        await asyncio.gather(*(peer.connect(one.address, one.key) for peer in some))
        peers += some
    seconds = time.perf_counter() - began
    after = resident_mib(one)
    each = 1024 * (after - before) / count
    print(
        f"{count} idle peers, registered and connected in {seconds:.1f} s: {before:.0f} MiB before, {after:.0f} after, "
        f"{each:.0f} KiB each"
    )


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with backbone(Path(directory), 1, *UNLIMITED) as (one,):
            await publications(one, 1, 500)
            await publications(one, 256, 10_000)
            await idle_peers(one, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)


if __name__ == "__main__":
    live(main(), 600)
