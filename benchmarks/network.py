"""The network: publications a second and latency, from publishing to durable to matched to delivered, beside JetStream.

Three super-peers are processes with their disks; publisher and subscriber are clients of the library in this process.
Many other subscriptions are at the publisher's access point, so that every publication is filtered by content. The
subscriber is at the same access point ("one super-peer"), or two hops away ("a chain of three": the way goes through
the third). Beside it, in the same rounds, NATS JetStream with file storage that syncs always, which filters by subject
only; its publisher and subscriber are nats-py in this process. "In flight" is how many publications wait for their
durable acknowledgement at once.

    python -m benchmarks.network [--subscriptions 100000] [--rounds 5] [--publications 2000]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Self

from rich.console import Console
from rich.progress import track
from rich.table import Table

from auth import Identity, save_identity
from benchmarks.workload import Bibliography, subscriptions_of_others
from superpeer.client.engine import KEY_FILE_NAME
from superpeer.client.journal import Journal
from superpeer.client.outcomes import Receipt
from superpeer.client.peer import Peer
from superpeer.client.subscribing import PeerSubscription
from superpeer.daemon.admin import AdminClient
from superpeer.daemon.admin_messages import ExplainNotification, ShowBackbone
from superpeer.daemon.network import ROOT_KEY_FILE, admit, init, install, prepare
from superpeer.net import run
from superpeer.node.records import Subscription

SEED = 20_040_510
READERS = 20
IN_FLIGHT = (1, 256)
BATCHES = 4
"""In so many batches are the publications in flight."""
SUBJECT = "publications"
NO_LIMITS = (
    "--limits-publications-per-second=10000000",
    "--limits-publications-at-once=10000000",
    "--limits-requests-per-second=10000000",
    "--limits-requests-at-once=10000000",
    "--limits-subscriptions-per-peer=1000000",
    # Thousands of subscriptions at once, on a machine that does other things, too, must not look like a failure.
    "--timing-suspect-after-s=120",
)


class Measured:
    """Rounds of one system with one number of publications in flight."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.latencies_s: list[float] = []

    def add(self, seconds: float, latencies_s: list[float]) -> None:
        self.rates.append(len(latencies_s) / seconds)
        self.latencies_s += latencies_s

    @property
    def row(self) -> tuple[str, str]:
        cuts = quantiles(self.latencies_s, n=100)
        rates = f"{median(self.rates):,.0f} ({min(self.rates):,.0f}..{max(self.rates):,.0f})"
        return rates, f"{1000 * cuts[49]:.2f}, {1000 * cuts[98]:.2f}"


System = Callable[[int, int], Awaitable[tuple[float, list[float]]]]
"""Publishes so many with so many in flight: the seconds that it took, and the latency of each."""


async def _process(*arguments: str, ready: str) -> tuple[asyncio.subprocess.Process, re.Match[str]]:
    """A process, once it has said on its standard error that it is ready."""
    process = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    said = []
    async for line in process.stderr:
        said.append(line.decode())
        found = re.search(ready, said[-1])
        if found:
            _drain(process)
            return process, found
    sys.exit("".join(said))


_draining: set[asyncio.Task[None]] = set()


def _drain(process: asyncio.subprocess.Process) -> None:
    """What a process says later is nobody's business, but must not block it."""

    async def read() -> None:
        assert process.stderr is not None
        async for _ in process.stderr:
            pass

    task = asyncio.create_task(read())
    _draining.add(task)
    task.add_done_callback(_draining.discard)


@asynccontextmanager
async def super_peers(directory: Path, count: int) -> AsyncIterator[list[str]]:
    """So many super-peers in a line or a cube; where they are reached."""
    processes = []
    contacts: list[str] = []
    try:
        for number in range(count):
            own = directory / f"sp{number}"
            if number == 0:
                init(own, "sp0")
            else:
                install(own, admit(directory / "sp0" / ROOT_KEY_FILE, prepare(own), own.name))
            join = [f"--join={contacts[0]}"] if contacts else []
            arguments = [f"--data={own}", "--listen=127.0.0.1:0", "--metrics=", *NO_LIMITS, *join]
            process, found = await _process(
                sys.executable, "-m", "superpeer.daemon", *arguments, ready=r"contact=(\S+)"
            )
            processes.append(process)
            contacts.append(found[1])
        yield contacts
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            await process.wait()


@asynccontextmanager
async def superpeer_systems(subscriptions: int) -> AsyncIterator[tuple[System, System]]:
    """One super-peer, and a chain of three."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with super_peers(directory, 3) as contacts, AsyncExitStack() as stack:
            near, far = await _ends_of_chain(directory, contacts)
            fast: dict[str, Any] = {"publications_per_second": 1e9, "patience_s": 600.0}
            publisher = await stack.enter_async_context(Peer.open(directory / "publisher", near, **fast))
            await publisher.advertise(schemas=["dc:", "rdf:"])
            texts = subscriptions_of_others(SEED, subscriptions)
            for number in track(range(READERS), "subscribing", transient=True):
                reader = directory / f"reader{number}"
                _prepare(reader, islice(texts, -(-subscriptions // READERS)))
                await stack.enter_async_context(Peer.open(reader, near, **fast))
            ends = [
                await stack.enter_async_context(Peer.open(directory / which, contact, **fast))
                for which, contact in (("near", near), ("far", far))
            ]
            one, three = await _Run.make(publisher, ends[0]), await _Run.make(publisher, ends[1])
            for run_over, hops in ((one, 1), (three, 3)):
                found = await _hops_of(directory, await run_over.note(), ends[hops > 1])
                assert found == hops, f"the way has {found} super-peers, not {hops}"
            yield one, three


async def _hops_of(directory: Path, publication: str, subscriber: Peer) -> int:
    async with await AdminClient.local(directory / "sp0" / "admin.socket") as admin:
        return len((await admin.ask(ExplainNotification(publication, subscriber.id)))["hops"])


async def _ends_of_chain(directory: Path, contacts: list[str]) -> tuple[str, str]:
    """Where to publish and where to subscribe, so that the way goes over all three. Of three labels one is short; what
    is asked for there goes to the first of the other two, and from there to the second."""
    labels: dict[str, str] = {}
    while len(labels) < len(contacts):
        async with await AdminClient.local(directory / "sp0" / "admin.socket") as admin:
            members = (await admin.ask(ShowBackbone()))["members"]
        labels = {member["label"]: member["key"] for member in members if member["label"]}
        await asyncio.sleep(0.1)
    (short,) = (label for label in labels if len(label) == 1)
    second = {"0": "1", "1": "0"}[short] + "1"
    found = {key: contact for contact in contacts for key in labels.values() if contact.endswith(f"#{key}")}
    return found[labels[second]], found[labels[short]]


def _prepare(directory: Path, texts: Iterable[str]) -> None:
    """A peer that asks for all this when it first connects."""
    directory.mkdir()
    identity = Identity.generate(os.urandom)
    save_identity(directory / KEY_FILE_NAME, identity, None)
    journal = Journal(directory, identity)
    with journal.transaction():
        for number, text in enumerate(texts):
            journal.subscribe(Subscription(str(number), text, time.time()))
    journal.close()


class _Run:
    """One round after the other over the same clients."""

    def __init__(self, publisher: Peer, subscriber: Peer, subscription: PeerSubscription) -> None:
        self._publisher = publisher
        self._subscriber = subscriber
        self._subscription = subscription
        self._notes = subscriber.notifications().__aiter__()
        self._made = Bibliography(SEED + 1)

    @classmethod
    async def make(cls, publisher: Peer, subscriber: Peer) -> Self:
        subscription = await subscriber.subscribe("X : t(X, dc:title, T)", "all")
        await subscription.active()
        await subscriber.pause("all")
        return cls(publisher, subscriber, subscription)

    async def note(self) -> str:
        """Publishes something; its id, when it has come."""
        await self._subscriber.resume("all")
        await self._subscription.active()
        receipt = await self._publisher.publish_many(self._made.publications(1))
        await anext(self._notes)
        await self._subscriber.pause("all")
        return receipt.ids[0]

    async def __call__(self, count: int, in_flight: int) -> tuple[float, list[float]]:
        await self._subscriber.resume("all")
        await self._subscription.active()
        publications = list(self._made.publications(count))
        sent: list[float] = []
        latencies: list[float] = []

        async def publish() -> None:
            size = max(1, in_flight // BATCHES)
            waiting: deque[Receipt] = deque()
            for first in range(0, count, size):
                batch = publications[first : first + size]
                sent.extend([time.perf_counter()] * len(batch))
                waiting.append(await self._publisher.publish_many(batch, wait=False))
                while len(waiting) * size >= in_flight:
                    await waiting.popleft().logged()

        began = time.perf_counter()
        publishing = asyncio.create_task(publish())
        while len(latencies) < count:
            await anext(self._notes)  # They come in order.
            latencies.append(time.perf_counter() - sent[len(latencies)])
        await publishing
        seconds = time.perf_counter() - began
        await self._subscriber.pause("all")
        return seconds, latencies


@asynccontextmanager
async def jetstream_system() -> AsyncIterator[System]:
    import nats
    from nats.js.api import ConsumerConfig, DeliverPolicy, StorageType, StreamConfig

    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "nats.conf"
        config.write_text(f'listen: "127.0.0.1:-1"\njetstream {{ store_dir: "{name}/js", sync_interval: always }}\n')
        server = shutil.which("nats-server") or str(Path(sys.executable).parent / "nats-server")
        process, found = await _process(server, "-c", str(config), ready=r"Listening for client connections on (\S+)")
        try:
            client = await nats.connect(f"nats://{found[1]}")
            stream = client.jetstream(publish_async_max_pending=1_000)
            await stream.add_stream(StreamConfig(name="P", subjects=[SUBJECT], storage=StorageType.FILE))
            bodies = [str(triples).encode() for triples in Bibliography(SEED + 1).publications(500)]

            async def once(count: int, in_flight: int) -> tuple[float, list[float]]:
                sent: list[float] = []
                latencies: list[float] = []
                all_there = asyncio.Event()
                room = asyncio.Semaphore(in_flight)

                async def take(message: Any) -> None:
                    latencies.append(time.perf_counter() - sent[len(latencies)])
                    await message.ack()
                    if len(latencies) == count:
                        all_there.set()

                config = ConsumerConfig(deliver_policy=DeliverPolicy.NEW)
                subscription = await stream.subscribe(SUBJECT, cb=take, manual_ack=True, config=config)
                began = time.perf_counter()
                for number in range(count):
                    await room.acquire()
                    sent.append(time.perf_counter())
                    future = await stream.publish_async(SUBJECT, bodies[number % len(bodies)])
                    future.add_done_callback(lambda _: room.release())
                await all_there.wait()
                seconds = time.perf_counter() - began
                await subscription.unsubscribe()
                return seconds, latencies

            yield once
            await client.close()
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()


async def measure(subscriptions: int, publications: int, rounds: int) -> None:
    found: dict[tuple[str, int], Measured] = {}
    async with (
        superpeer_systems(subscriptions) as (one, three),
        jetstream_system() as jetstream,
    ):
        systems = {"one super-peer": one, "a chain of three": three, "NATS JetStream": jetstream}
        for _ in range(rounds):
            for in_flight in IN_FLIGHT:
                for name, system in systems.items():
                    count = publications if in_flight > 1 else max(50, publications // 20)
                    found.setdefault((name, in_flight), Measured()).add(*await system(count, in_flight))
    title = f"Durable publications, {subscriptions:,} other subscriptions, {rounds} rounds"
    table = Table(title=title, title_justify="left")
    for column in ("what", "in flight", "publications a second", "latency ms: p50, p99", "ratio to JetStream"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for (name, in_flight), measured in found.items():
        baseline = found["NATS JetStream", in_flight]
        ratio = median(mine / other for mine, other in zip(measured.rates, baseline.rates, strict=True))
        table.add_row(name, str(in_flight), *measured.row, f"{ratio:.2f}")
    Console(width=120).print(table)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.network", description="Durable publications, beside JetStream.")
    parser.add_argument("--subscriptions", type=int, default=100_000, help="that others have, beside the one measured")
    parser.add_argument("--publications", type=int, default=5_000, help="in a round with many in flight")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments or [])
    run(measure(options.subscriptions, options.publications, options.rounds))


if __name__ == "__main__":
    main(sys.argv[1:])
