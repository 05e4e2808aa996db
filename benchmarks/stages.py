"""The stages of a publication: how much processor time each takes, from the application that publishes to the one that
has acknowledged.

The same code as in the processes, called stage by stage in this one, so that nothing else is counted: no event loop, no
waiting for the disk, no switching between processes. One super-peer with many subscriptions; a publisher and a
subscriber with their journals; a store; batches as they are with so many publications in flight.

    python -m benchmarks.stages [--subscriptions 100000] [--batch 64] [--publications 6400]
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from auth import Identity
from benchmarks.workload import Bibliography, subscriptions_of_others
from superpeer.client.inbox import Inbox
from superpeer.client.journal import Journal
from superpeer.client.sources import bodies_of
from superpeer.daemon.__main__ import GARBAGE_THRESHOLDS
from superpeer.net.certificates import client_context, server_context
from superpeer.net.frames import FrameReader, read_messages, write_messages
from superpeer.net.peer_messages import FROM_PEER, TO_PEER, Answered, Asking, Told
from superpeer.net.tls import Tls
from superpeer.node.limits import Limits
from superpeer.node.publications import Kind
from superpeer.node.requests import Notified, PublicationsAcknowledged, Received, Request
from superpeer.node.workspace import Effects
from superpeer.rdf.publishing import Publications
from superpeer.sim import Network, Peer
from superpeer.store.store import Store

SEED = 20_040_510
READERS = 10
FRAME_BYTES = 16 * 1024 * 1024
PLENTY = 1e9
LIMITS = Limits(
    publications_per_second=PLENTY,
    publications_at_once=int(PLENTY),
    requests_per_second=PLENTY,
    requests_at_once=int(PLENTY),
    subscriptions_per_peer=1_000_000,
)
MATCHING, PROVING, NODE = "super-peer: match", "super-peer: verify", "super-peer: node, the rest"


class Clock:
    """Processor time, stage by stage."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.is_running = False

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.process_time()
        try:
            yield
        finally:
            self.add(name, time.process_time() - began)

    def add(self, name: str, seconds: float) -> None:
        if self.is_running:
            self.seconds[name] += seconds

    def part(self, function: Callable[..., Any], name: str, of: str) -> Callable[..., Any]:
        """A function whose time is taken out of the stage that it is part of."""

        def measured(*arguments: Any) -> Any:
            began = time.process_time()
            try:
                return function(*arguments)
            finally:
                seconds = time.process_time() - began
                self.add(name, seconds)
                self.add(of, -seconds)

        return measured


class Line:
    """A connection without sockets: frames and TLS, from one end to the other."""

    def __init__(self, identity: Identity, clock: Clock, who: str) -> None:
        self._client = Tls(client_context(), server_side=False)
        self._server = Tls(server_context(identity), server_side=True)
        self._clock, self._who = clock, who
        while not (self._client.handshake() & self._server.handshake()):
            self._server.feed(self._client.outgoing())
            self._client.feed(self._server.outgoing())
        self._server.feed(self._client.outgoing())
        self._server.read()
        self._client.feed(self._server.outgoing())

    def up(self, message: bytes) -> bytes:
        """From the peer to the super-peer."""
        return self._carry([message], self._client, self._server, None)[0]

    def down(self, messages: list[bytes]) -> list[bytes]:
        return self._carry(messages, self._server, self._client, 1024)

    def _carry(self, messages: list[bytes], source: Tls, target: Tls, compress_from: int | None) -> list[bytes]:
        with self._clock.stage(f"wire, {self._who}: frame, compress, encrypt, and back"):
            source.write(write_messages(messages, compress_from))
            target.feed(source.outgoing())
            reader = FrameReader()
            reader.open(FRAME_BYTES)
            while (frame := reader.next()) is None:
                reader.feed(target.read())
            return read_messages(frame.body)


class World:
    """One super-peer, its store, a publisher and a subscriber."""

    def __init__(self, directory: Path, subscriptions: int) -> None:
        self.clock = Clock()
        self._network = Network(super_peers=1, seed=SEED, limits=LIMITS)
        self._publisher, self._subscriber = self._network.add_peer(at=0), self._network.add_peer(at=0)
        others = [self._network.add_peer(at=0) for _ in range(READERS)]
        self._publisher.advertise(schemas=["dc:", "rdf:"])
        texts = subscriptions_of_others(SEED, subscriptions)
        for number, text in enumerate(track(texts, "subscribing", total=subscriptions, transient=True)):
            others[number % READERS].subscribe(text, str(number))
        self._subscriber.subscribe("X : t(X, dc:title, T)", "all")
        self._network.run()
        super_peer = self._network.super_peers[0]
        self._node = super_peer.running_node
        self._store = Store(directory / "store")
        self._store.load()
        self._store.commit(super_peer.disk)
        self._journals = [self._journal(directory / peer.name, peer) for peer in (self._publisher, self._subscriber)]
        self._inbox = Inbox(self._journals[1])
        self._lines = [Line(super_peer.identity, self.clock, who) for who in ("publisher", "subscriber")]
        self._made = Bibliography(SEED + 1)
        tables, verifier = self._node.broker.router.tables, self._node.peers.verifier
        tables.recipients_of_all = self.clock.part(tables.recipients_of_all, MATCHING, NODE)  # type: ignore[method-assign]
        verifier.prove = self.clock.part(verifier.prove, PROVING, NODE)  # type: ignore[method-assign]

    def close(self) -> None:
        for journal in self._journals:
            journal.close()
        self._store.close()

    def publish(self, count: int) -> None:
        """A batch, from its triples to the subscriber's acknowledgement."""
        stage = self.clock.stage
        journal = self._journals[0]
        graphs = list(self._made.publications(count))
        with stage("publisher: triples to bodies"):
            bodies = [body for graph in graphs for body in bodies_of(Publications(graph))]
        with stage("publisher: journal"):
            postings = journal.post(Kind.NEW, bodies)
        with stage("publisher: sign"):
            request = journal.memory.handing_in(postings)
        reply, effects = self._ask(self._publisher, request, 0)
        told = [event for to, event in effects.events if to == self._publisher.id]
        self._tell([Answered(1, reply), *map(Told, told)], 0)
        with stage("publisher: journal"), journal.transaction():
            journal.are_logged(postings)
            for event in told:
                if isinstance(event, PublicationsAcknowledged):
                    journal.acknowledged(event.serials)
        for each in self._tell([Told(event) for to, event in effects.events if to == self._subscriber.id], 1):
            self._take(each.event)

    def _take(self, event: Notified) -> None:
        with self.clock.stage("subscriber: verify, inbox"):
            self._inbox.arrive(event.notices)
        with self.clock.stage("subscriber: acknowledge, journal"):
            while (arrival := self._inbox.next()) is not None:
                self._inbox.acknowledge(arrival)
        self._ask(self._subscriber, Received(self._inbox.received), 1)

    def _ask(self, peer: Peer, request: Request, which: int) -> tuple[Any, Effects]:
        stage, attached = self.clock.stage, peer.memory.attached
        with stage("messages: write and read"):
            data = FROM_PEER.encode(Asking(1, attached.private_id, request))
        data = self._lines[which].up(data)
        with stage("messages: write and read"):
            asking = FROM_PEER.decode(data)
        assert isinstance(asking, Asking)
        with stage(NODE):
            reply, effects = self._node.request(attached.public_id, asking.private_id, asking.request, time.time())
        with stage("super-peer: store, without waiting"):
            self._store.commit(effects.records)
        return reply, effects

    def _tell(self, messages: list[Any], which: int) -> list[Any]:
        with self.clock.stage("messages: write and read"):
            data = [TO_PEER.encode(message) for message in messages]
        data = self._lines[which].down(data)
        with self.clock.stage("messages: write and read"):
            return [TO_PEER.decode(each) for each in data]

    def _journal(self, directory: Path, peer: Peer) -> Journal:
        directory.mkdir()
        journal = Journal(directory, peer.memory.identity)
        journal.attach(peer.memory.attached)
        return journal


def measure(subscriptions: int, batch: int, publications: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        world = World(Path(name), subscriptions)
        try:
            world.publish(batch)  # The matcher's code is loaded.
            gc.set_threshold(*GARBAGE_THRESHOLDS)  # As in a super-peer, so that no stage pays for another.
            gc.freeze()
            world.clock.is_running = True
            for _ in range(publications // batch):
                world.publish(batch)
        finally:
            world.close()
    count = publications // batch * batch
    title = f"Processor time of a publication, batches of {batch}, {subscriptions:,} subscriptions"
    table = Table(title=title, title_justify="left")
    table.add_column("stage")
    table.add_column("microseconds", justify="right")
    for stage, seconds in world.clock.seconds.items():
        table.add_row(stage, f"{1e6 * seconds / count:.1f}")
    for who in ("publisher", "super-peer", "subscriber"):
        own = sum(seconds for stage, seconds in world.clock.seconds.items() if stage.startswith(who))
        table.add_row(f"{who}, all of its own", f"{1e6 * own / count:.1f}", style="bold")
    table.add_row("all", f"{1e6 * sum(world.clock.seconds.values()) / count:.1f}", style="bold")
    Console(width=120).print(table)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.stages", description="Processor time of each stage.")
    parser.add_argument("--subscriptions", type=int, default=100_000, help="that others have, beside the one measured")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--publications", type=int, default=6_400)
    options = parser.parse_args(arguments or [])
    measure(options.subscriptions, options.batch, options.publications)


if __name__ == "__main__":
    main(sys.argv[1:])
