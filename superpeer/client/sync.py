"""The same peer for scripts and notebooks: methods return when they are done, and notifications come in a `for` loop.

    with SyncPeer.open("~/.superpeer/anna", super_peer="sp.example.org:7400#spk-...") as peer:
        peer.subscribe('X : t(X, dc:creator, Y) & Y contains "Nejdl"')
        for notification in peer.notifications(timeout=60):
            print(notification.subject)

The peer itself runs in a thread of its own, with its event loop. Methods may be called from any other thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import qel
from auth import PublicKey
from qel.topics import NO_TOPICS
from superpeer.client.downloads import Download, Owner
from superpeer.client.engine import Options
from superpeer.client.errors import PeerClosed
from superpeer.client.notifications import Notification, NotificationContent
from superpeer.client.outcomes import Receipt
from superpeer.client.peer import QUERY_S, Peer
from superpeer.client.queries import QueryResult
from superpeer.client.sources import Source
from superpeer.client.subscribing import PeerSubscription
from superpeer.net.loops import loop_factory
from superpeer.node.requests import SubscriptionStatus
from superpeer.rdf.publishing import LEVELS

Result = TypeVar("Result")
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@dataclass(frozen=True)
class SyncNotification(NotificationContent):
    """One that waits to be acknowledged."""

    acknowledge_it: Callable[[], None] = field(repr=False, compare=False)

    def acknowledge(self) -> None:
        """Says that the application has dealt with it: it will not come again, also if the process is killed now."""
        self.acknowledge_it()


class SyncSubscription:
    """A subscription that the access point has accepted."""

    def __init__(self, inner: PeerSubscription, run: Run) -> None:
        self.name = inner.name
        self.is_servable = inner.is_servable
        self._inner = inner
        self._run = run

    def __repr__(self) -> str:
        return repr(self._inner)

    def active(self) -> None:
        """Wait until everything that is published from then on, anywhere, and matches, will arrive."""
        self._run(self._inner.active())


class SyncReceipt:
    """For what was published at once; see `Receipt`."""

    def __init__(self, inner: Receipt, run: Run) -> None:
        self._inner = inner
        self._run = run

    def __repr__(self) -> str:
        return repr(self._inner)

    def __len__(self) -> int:
        return len(self._inner)

    @property
    def ids(self) -> tuple[str, ...]:
        return self._inner.ids

    @property
    def refusals(self) -> list[Exception]:
        return self._inner.refusals

    @property
    def skipped(self) -> int:
        return self._inner.skipped

    def logged(self) -> None:
        self._run(self._inner.logged())

    def acknowledged(self) -> None:
        self._run(self._inner.acknowledged())


class SyncDownload:
    """A resource on its way; see `Download`."""

    def __init__(self, inner: Download, run: Run) -> None:
        self.id = inner.id
        self.resource = inner.resource
        self._inner = inner
        self._run = run

    def __repr__(self) -> str:
        return repr(self._inner)

    @property
    def has_ended(self) -> bool:
        return self._inner.has_ended

    def content(self, timeout: float | None = None) -> bytes:
        """Waits for it; raises `TimeoutError` after so many seconds, and may be called again."""

        async def content() -> bytes:
            async with asyncio.timeout(timeout):
                return await self._inner.content()

        found: bytes = self._run(content())
        return found


class SyncPeer:
    """One peer. Make it with `SyncPeer.open`, in a `with`; options and methods are those of `Peer`."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @classmethod
    def open(
        cls,
        directory: str | Path,
        super_peer: str | None = None,
        passphrase: str | None = None,
        **options: Unpack[Options],
    ) -> Self:
        return cls(Peer.open(directory, super_peer, passphrase, **options))

    def __enter__(self) -> Self:
        self._loop = (loop_factory() or asyncio.new_event_loop)()
        self._thread = threading.Thread(target=self._loop.run_forever, name="superpeer", daemon=True)
        self._thread.start()
        try:
            self._run(self._peer.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._loop is not None:
            try:
                self._run(self._peer.close())
            finally:
                self._stop()

    def __repr__(self) -> str:
        return f"<SyncPeer in {self._peer.directory}>"

    @property
    def key(self) -> PublicKey:
        return self._peer.key

    @property
    def id(self) -> str:
        return self._peer.id

    @property
    def access_point(self) -> str:
        return self._peer.access_point

    @property
    def is_connected(self) -> bool:
        return self._peer.is_connected

    @property
    def problem(self) -> Exception | None:
        return self._peer.problem

    @property
    def outbox(self) -> int:
        return self._peer.outbox

    def connected(self) -> None:
        self._run(self._peer.connected())

    def subscribe(
        self,
        text: str,
        name: str | None = None,
        *,
        since: float | datetime | None = None,
        lasts: float | None = None,
    ) -> SyncSubscription:
        return SyncSubscription(self._run(self._peer.subscribe(text, name, since=since, lasts=lasts)), self._run)

    def unsubscribe(self, name: str) -> None:
        self._run(self._peer.unsubscribe(name))

    def pause(self, name: str) -> None:
        self._run(self._peer.pause(name))

    def resume(self, name: str) -> None:
        self._run(self._peer.resume(name))

    def renew(self, name: str, lasts: float | None = None) -> None:
        self._run(self._peer.renew(name, lasts))

    def subscriptions(self) -> list[SubscriptionStatus]:
        return self._run(self._peer.subscriptions())

    def notifications(
        self, *, after: bytes | None = None, timeout: float | None = None, acknowledge: bool = True
    ) -> Iterator[SyncNotification]:
        """As `Peer.notifications`: each is acknowledged when the next is asked for, and the loop ends when nothing came
        for `timeout` seconds."""
        inner = self._peer.notifications(after=after, timeout=timeout, acknowledge=acknowledge)
        while True:
            notification = self._run(_next_of(inner))
            if notification is None:
                return
            yield self._synchronous(notification)

    def advertise(
        self, schemas: Iterable[Any] = (), properties: Iterable[Any] = (), values: Mapping[Any, Any] | None = None
    ) -> None:
        self._run(self._peer.advertise(schemas, properties, values))

    def advertise_file(self, path: str | Path, levels: Iterable[str] = LEVELS) -> qel.Advertisement:
        return self._run(self._peer.advertise_file(path, levels))

    def publish(
        self, source: Source, kind: str = "new", *, topics: qel.Topics = NO_TOPICS, wait: bool = True
    ) -> SyncReceipt:
        return SyncReceipt(self._run(self._peer.publish(source, kind, topics=topics, wait=wait)), self._run)

    def publish_many(
        self, sources: Iterable[Source], kind: str = "new", *, topics: qel.Topics = NO_TOPICS, wait: bool = True
    ) -> SyncReceipt:
        return SyncReceipt(self._run(self._peer.publish_many(sources, kind, topics=topics, wait=wait)), self._run)

    def query(self, text: str, seconds: float = QUERY_S) -> QueryResult:
        return self._run(self._peer.query(text, seconds))

    def offer(self, resource: Any, path: str | Path) -> None:
        self._run(self._peer.offer(resource, path))

    def offer_directory(self, base: Any, directory: str | Path) -> None:
        self._run(self._peer.offer_directory(base, directory))

    def withhold(self, resource: Any) -> None:
        self._run(self._peer.withhold(resource))

    def fetch(self, resource: Any, owner: Owner | Any) -> SyncDownload:
        return SyncDownload(self._run(self._peer.fetch(resource, owner)), self._run)

    def downloads(self) -> list[SyncDownload]:
        return [SyncDownload(one, self._run) for one in self._peer.downloads()]

    def migrate(self, super_peer: str) -> None:
        self._run(self._peer.migrate(super_peer))

    def leave(self) -> None:
        self._run(self._peer.leave())

    def _synchronous(self, notification: Notification) -> SyncNotification:
        content = {one.name: getattr(notification, one.name) for one in fields(NotificationContent)}
        content["read_cursor"] = lambda: self._run(_called(notification.read_cursor))
        return SyncNotification(**content, acknowledge_it=lambda: self._run(notification.acknowledge()))

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something in the peer's thread, and wait for it; who interrupts the wait cancels it."""
        if self._loop is None:
            work.close()
            raise PeerClosed
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        loop, thread, self._loop = self._loop, self._thread, None
        assert loop is not None
        assert thread is not None
        asyncio.run_coroutine_threadsafe(_shut_down(loop), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _next_of(notifications: AsyncIterator[Notification]) -> Notification | None:
    return await anext(notifications, None)


async def _called(function: Callable[[], Result]) -> Result:
    return function()


async def _shut_down(loop: asyncio.AbstractEventLoop) -> None:
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
