"""A peer of the network, as a program has it:

    async with Peer.open("~/.superpeer/anna", super_peer="sp.example.org:7400#spk-...") as peer:
        await peer.advertise(schemas=["dc"])
        await peer.subscribe('X : t(X, dc:creator, Y) & Y contains "Nejdl"')
        await peer.publish("papers.ttl")
        async for notification in peer.notifications():
            print(notification.subject, notification.bindings)

Everything that the peer has to remember is in its directory: its key, its subscriptions, its outbox and how far it got.
The connection is kept in the background; whatever is asked for waits for it. A notification is acknowledged when the
next one is asked for, or by its own `acknowledge`; until then it comes again after a restart.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self, Unpack

import qel
from qel.topics import NO_TOPICS
from superpeer.client.address import Address
from superpeer.client.downloads import Download, KeptDownload, Owner
from superpeer.client.engine import Engine, Options
from superpeer.client.errors import OutboxFull
from superpeer.client.inbox import CURSORS
from superpeer.client.notifications import Notification
from superpeer.client.outcomes import Receipt
from superpeer.client.queries import QueryResult
from superpeer.client.refusals import REFUSALS
from superpeer.client.sources import Source, bodies_of, read_source, triples_in
from superpeer.client.subscribing import PeerSubscription
from superpeer.net import ConnectionClosed, dial
from superpeer.node.publications import Kind
from superpeer.node.requests import (
    Fetch,
    Leave,
    Query,
    SubscriptionStatus,
)
from superpeer.rdf import Problem
from superpeer.rdf.publishing import LEVELS, Publications, advertisement_of_catalogue

MAX_OUTBOX = 100_000
CHUNK = 256
"""So many publications go into the outbox together."""
MAX_UNLOGGED = 4 * CHUNK
"""So many wait for the access point before more are read."""
SMALL = 1_000
"""So many triples are read at once; more, and files, in a thread."""
QUERY_S = 10.0
LEAST_QUERY_S = 1.0
"""So long a query may take that is asked again as its time runs out."""
IN_OUTBOX = "what is in the outbox stays there, and is handed in when it does"


class Peer(Engine):
    """One peer. Make it with `Peer.open`, in an `async with`."""

    @classmethod
    def open(
        cls,
        directory: str | Path,
        super_peer: str | None = None,
        passphrase: str | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """The peer whose key and memory are in a directory, which is made, with a new key, if it is not there.

        `super_peer` is where a new peer attaches, HOST:PORT#KEY. Later the peer knows, also where it migrated to, and
        only a new address of the same super-peer counts. `passphrase` is that of the key file, if it has one.

        A peer that is registered opens at once, also if its access point is down; a new one when it is registered.
        """
        return cls(directory, super_peer, passphrase, options)

    # Subscriptions.

    async def subscribe(
        self,
        text: str,
        name: str | None = None,
        *,
        since: float | datetime | None = None,
        lasts: float | None = None,
    ) -> PeerSubscription:
        """Ask for everything that matches a query from now on: with `since` (seconds since the epoch, or a datetime)
        also for what was published before, as far as logs reach back; for `lasts` seconds.

        A subscription stays until it is taken back, over restarts and migrations. Asking again for the same, by the
        same name or without one, changes nothing but how long it lasts.
        """
        began = since.timestamp() if isinstance(since, datetime) else since
        return await self._subscribing.subscribe(text, name, began, lasts)

    async def unsubscribe(self, name: str) -> None:
        await self._subscribing.unsubscribe(name)

    async def pause(self, name: str) -> None:
        """Keep a subscription, and let nothing come of it."""
        await self._subscribing.pause(name)

    async def resume(self, name: str) -> None:
        await self._subscribing.resume(name)

    async def renew(self, name: str, lasts: float | None = None) -> None:
        """Let a subscription last so many seconds from now, or for ever."""
        await self._subscribing.renew(name, lasts)

    async def subscriptions(self) -> list[SubscriptionStatus]:
        """What it asks for, and how that stands."""
        return await self._subscribing.list()

    # Notifications.

    async def notifications(
        self, *, after: bytes | None = None, timeout: float | None = None, acknowledge: bool = True
    ) -> AsyncIterator[Notification]:
        """What comes, in order, each once, until the peer is closed; or until nothing came for `timeout` seconds.

        Each is acknowledged when the next is asked for; with `acknowledge=False` only by its own method. Whoever leaves
        the loop has not acknowledged the last one, which comes again. `after` is the cursor of the last notification
        that the application has dealt with, stored by itself together with what it made of it: what is not above it is
        skipped. There is one reader; a new one ends the one before.
        """
        cursor = None if after is None else CURSORS.decode(after)
        self._reader = reader = object()
        self._inbox.hand_out_again()
        while True:
            arrival = await self._next_arrival(reader, timeout)
            if arrival is None:
                return
            if cursor is not None and cursor.has(arrival.notice):
                self._acknowledge(arrival)
                continue
            yield self._notification(arrival)
            if acknowledge and self._is_open:
                self._acknowledge(arrival)

    # Advertising and publishing.

    async def advertise(
        self, schemas: Iterable[Any] = (), properties: Iterable[Any] = (), values: Mapping[Any, Any] | None = None
    ) -> None:
        """Say what will be published, in place of what was said before."""
        await self._advertise(qel.Advertisement(schemas, properties, values))

    async def advertise_file(self, path: str | Path, levels: Iterable[str] = LEVELS) -> qel.Advertisement:
        """Say that what is in a catalogue will be published; see `advertisement_of_catalogue` for the levels."""
        triples, _ = triples_in(path)
        advertisement = await asyncio.to_thread(advertisement_of_catalogue, triples, levels)
        await self._advertise(advertisement)
        return advertisement

    async def publish(
        self, source: Source, kind: str = "new", *, topics: qel.Topics = NO_TOPICS, wait: bool = True
    ) -> Receipt:
        """Publish an rdflib graph, triples, or a file of them, which are new, updated or deleted: one publication for
        each subject, with named blank nodes replaced by their names (see `superpeer.rdf.publishing`). Its topics go
        with what is broader, by `topics` and by the source itself, so that those who asked for these hear of it, too.

        Returns when the access point has all on disk, and raises the first refusal; without `wait`, as soon as all is
        in the outbox. The outbox is handed in also after a restart, until the network has acknowledged it.
        """
        return await self.publish_many([source], kind, topics=topics, wait=wait)

    async def publish_many(
        self,
        sources: Iterable[Source] | AsyncIterable[Source],
        kind: str = "new",
        *,
        topics: qel.Topics = NO_TOPICS,
        wait: bool = True,
    ) -> Receipt:
        """Publish many graphs, sets of triples or files, one after the other, with hundreds under way. What comes from
        an asynchronous source is published as it comes; the rest goes into the outbox together."""
        self._require_open()
        which, receipt = Kind(kind), Receipt(lambda: self.id)
        comes_slowly = isinstance(sources, AsyncIterable)
        bodies: list[bytes] = []
        async for source in _each(sources):
            publications, problems = await _read(source)
            receipt.skipped += publications.skipped
            receipt.problems += problems
            for body in bodies_of(publications, topics):
                bodies.append(body)
                if len(bodies) == CHUNK:
                    await self._post(which, bodies, receipt, wait=wait)
                    bodies = []
            if comes_slowly and bodies:
                await self._post(which, bodies, receipt, wait=wait)
                bodies = []
        if bodies:
            await self._post(which, bodies, receipt, wait=wait)
        if wait:
            await self._within_patience(receipt.logged(), IN_OUTBOX)
        return receipt

    async def _post(self, kind: Kind, bodies: list[bytes], receipt: Receipt, *, wait: bool) -> None:
        """Puts publications into the outbox, on disk, from where they are handed in."""
        if self.outbox + len(bodies) > MAX_OUTBOX:
            raise OutboxFull(MAX_OUTBOX)
        postings = self._journal.post(kind, bodies)
        receipt.add(self._sender.put(postings))
        await self._journal.sync()
        self._sender.synced(postings[-1].serial)
        if wait:
            await self._within_patience(receipt.logged_but(MAX_UNLOGGED), IN_OUTBOX)

    # Queries and files.

    async def query(self, text: str, seconds: float = QUERY_S) -> QueryResult:
        """Ask once what others hold now, and wait until all have answered, or so many seconds."""
        qel.require_satisfiable(qel.parse(text))
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while True:
            self._last_query += 1
            number = self._last_query
            answer = self._queries[number] = loop.create_future()
            try:
                await self._ask(Query(number, text, max(LEAST_QUERY_S, ends - loop.time())))
                async with asyncio.timeout_at(max(loop.time(), ends) + self._patience_s):
                    return QueryResult.of(await answer)
            except ConnectionClosed:
                continue  # It is asked again over the next connection.
            except TimeoutError:
                raise self._no_answer("ask again") from None
            finally:
                del self._queries[number]
                answer.cancel()

    async def offer(self, resource: Any, path: str | Path) -> None:
        """Have a file for whoever asks for a resource, until `withhold`."""
        self._files.offer(str(resource), Path(path).expanduser())

    async def offer_directory(self, base: Any, directory: str | Path) -> None:
        """Have the files of a directory for whoever asks for resources whose names begin with `base` and go on with the
        path of a file in it."""
        self._files.offer_directory(str(base), Path(directory).expanduser())

    async def withhold(self, resource: Any) -> None:
        """Take back what was offered under this name."""
        self._files.withhold(str(resource))

    async def fetch(self, resource: Any, owner: Owner | Any) -> Download:
        """Ask for a resource of another peer: `owner` is that of a notification or an answer, or one of these itself.
        It comes when the owner has been online."""
        found = owner if isinstance(owner, Owner) else owner.owner
        kept = KeptDownload(secrets.token_hex(16), str(resource), found.public_id, found.access_point)
        self._journal.keep_download(kept)
        download = self._downloads[kept.id] = Download(kept, self._drop_download)
        try:
            await self._ask(Fetch(kept.id, kept.resource, kept.owner, kept.owner_at))
        except REFUSALS:
            self._drop_download(kept.id)
            raise
        self._unasked.discard(kept.id)
        return download

    def downloads(self) -> list[Download]:
        """What was asked for, also before a restart, and whose content nobody has taken yet."""
        return list(self._downloads.values())

    # Where it is.

    async def migrate(self, super_peer: str) -> None:
        """Go to another access point, with all that this peer has and all that waits for it; also if the old one is
        down. If the new one does not answer, nothing changes."""
        target = Address.parse(super_peer)
        connection = await dial(self._endpoint, target.host, target.port, target.key)
        connection.close()
        await connection.wait_closed()
        await self._line.switch(target)
        await self._within_patience(self._line.ready(), "it goes on trying; migrate elsewhere, or wait")

    async def leave(self) -> None:
        """Leave the network for good: registration, subscriptions, outbox and what waits are gone. The key stays. The
        peer is closed."""
        await self._ask(Leave())
        self._journal.leave()
        await self.close()


async def _read(source: Source) -> tuple[Publications, list[Problem]]:
    """The publications that a source makes."""
    if isinstance(source, list | tuple) and len(source) <= SMALL:
        return read_source(source)
    return await asyncio.to_thread(read_source, source)


async def _each(sources: Iterable[Source] | AsyncIterable[Source]) -> AsyncIterator[Source]:
    if isinstance(sources, AsyncIterable):
        async for source in sources:
            yield source
    else:
        for source in sources:
            yield source
