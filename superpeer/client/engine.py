"""The engine of a peer: its parts, from opening to closing, and what happens when the access point says something.

journal      its memory on disk            line          the connection, kept in the background
inbox        what came                     sender        what leaves
subscribing  what it asks for              answering     what it does for others
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar

import qel
from auth import Admissions, Identity, KeyFileMissing, PublicKey, load_identity, save_identity
from superpeer.client.address import Address
from superpeer.client.answering import AnswerFunction, Answering
from superpeer.client.conversation import Conversation
from superpeer.client.downloads import Download
from superpeer.client.errors import DirectoryUnusable, NoAccessPoint, NoAnswer, PeerClosed
from superpeer.client.files import FileFunction, Files
from superpeer.client.inbox import Arrival, Inbox
from superpeer.client.journal import Journal
from superpeer.client.line import Line
from superpeer.client.notifications import Notification
from superpeer.client.refusals import REFUSALS
from superpeer.client.sender import Sender
from superpeer.client.subscribing import Subscribing
from superpeer.net import Backoff, ConnectionClosed, Endpoint, Limits, Party, Reason
from superpeer.net.peer_messages import Welcomed
from superpeer.node.advertisements import elements_of
from superpeer.node.forms import read_query, write_elements
from superpeer.node.requests import (
    Advertise,
    AnswerWanted,
    Event,
    Fetch,
    FetchFailed,
    FileArrived,
    FileTaken,
    HandedOver,
    NotificationsLost,
    Notified,
    PublicationsAcknowledged,
    QueryFinished,
    Received,
    Reply,
    Request,
    SubscriptionActive,
    SubscriptionExpired,
    UploadWanted,
)

log = logging.getLogger(__name__)

Result = TypeVar("Result")

KEY_FILE_NAME = "peer.key"
MAX_FRAME_BYTES = 16 * 1024 * 1024
SILENCE_S = 30.0
HANDSHAKE_S = 10.0


class Options(TypedDict, total=False):
    """What a peer may be told when it is opened, beside where it is."""

    answers: AnswerFunction | None
    """A function from a query to triples, for one-time queries of others; by default, what was published."""
    files: FileFunction | None
    """A function from a resource to its content, for others who fetch it; see also `Peer.offer`."""
    address: str
    """Where this peer can be reached, as its access point is told."""
    root: str | None
    """The root key of the network: then a super-peer has to show that it was admitted."""
    others: Sequence[str]
    """Super-peers to go to, HOST:PORT#KEY, if `may_migrate` and the access point is out of reach for too long."""
    may_migrate: bool
    gives_up_after_s: float
    patience_s: float
    """How long to wait for an answer before `NoAnswer` is raised."""
    silence_s: float
    """A connection over which nothing was heard for so long is given up, and another one is made."""
    publications_per_second: float
    """The pace at which the outbox is handed in."""
    backoff: Backoff
    """How long to wait between attempts to connect."""


class Engine:
    """All of a peer but the methods that an application calls."""

    def __init__(self, directory: str | Path, super_peer: str | None, passphrase: str | None, options: Options) -> None:
        self.directory = Path(directory).expanduser()
        self.lost = 0
        """Notifications that expired before this peer could get them, as it was told in this life."""
        root = options.get("root")
        self._super_peer = None if super_peer is None else Address.parse(super_peer)
        self._passphrase = passphrase
        self._options = options
        self._admissions = None if root is None else Admissions(PublicKey.parse(root))
        self._patience_s = options.get("patience_s", 60.0)
        self._is_open = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._queries: dict[int, asyncio.Future[QueryFinished]] = {}
        self._last_query = 0
        self._downloads: dict[str, Download] = {}
        self._unasked: set[str] = set()
        """The downloads that the access point may not know of."""
        self._reader: object = None
        self._conversation: Conversation | None = None
        """The present one, also while it is settled."""
        self._reported = 0
        self._is_reporting = False

    async def __aenter__(self) -> Self:
        self._make_directory()
        identity = await asyncio.to_thread(self._identity)
        self._journal = Journal(self.directory, identity)
        try:
            self._choose_access_point()
            self._start(identity)
        except BaseException:
            self._journal.close()
            raise
        self._is_open = True
        try:
            if self._journal.memory.credentials is None:
                await self._connect_first()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Go offline. What comes meanwhile waits at the access point, and what is in the outbox waits here."""
        if not self._is_open:
            return
        self._is_open = False
        self._reader = None
        self._inbox.wake()
        await self._line.close()
        self._answering.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._sender.close()
        await self._journal.sync()
        self._journal.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self.directory}>"

    # What it is.

    @property
    def key(self) -> PublicKey:
        return self._journal.memory.identity.public

    @property
    def id(self) -> str:
        """The public id: what others see of it."""
        return str(self._journal.memory.attached.public_id)

    @property
    def access_point(self) -> str:
        """HOST:PORT#KEY."""
        return str(self._line.target)

    @property
    def is_connected(self) -> bool:
        return self._line.conversation is not None

    @property
    def problem(self) -> Exception | None:
        """Why there is no connection, if there is none."""
        return None if self.is_connected else self._line.problem

    @property
    def outbox(self) -> int:
        """How many publications the network has not acknowledged."""
        return len(self._journal.memory.outbox)

    @property
    def inbox(self) -> int:
        """How many notifications have come and were not acknowledged."""
        return len(self._inbox)

    async def connected(self) -> None:
        """Wait for a connection. Raises what the access point has against this peer."""
        await self._line.ready()

    # Opening.

    def _make_directory(self) -> None:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DirectoryUnusable(self.directory, error.strerror or str(error)) from error

    def _identity(self) -> Identity:
        path = self.directory / KEY_FILE_NAME
        try:
            return load_identity(path, self._passphrase)
        except KeyFileMissing:
            identity = Identity.generate(secrets.token_bytes)
            save_identity(path, identity, self._passphrase)
            return identity

    def _choose_access_point(self) -> None:
        journal, given = self._journal, self._super_peer
        if given is None:
            if not journal.access_point:
                raise NoAccessPoint(self.directory)
            return
        known = Address.parse(journal.access_point) if journal.access_point else None
        if known is None or known.key == given.key or journal.memory.credentials is None:
            journal.choose(str(given))
        else:
            log.info("this peer is at %s; to go to %s, let it migrate", known, given)

    def _start(self, identity: Identity) -> None:
        journal = self._journal
        silence_s = self._options.get("silence_s", SILENCE_S)
        limits = Limits(
            max_frame_bytes=MAX_FRAME_BYTES,
            max_outgoing_bytes=2 * MAX_FRAME_BYTES,
            patience_s=silence_s,
            handshake_s=min(HANDSHAKE_S, silence_s),
        )
        self._endpoint = Endpoint(identity, Party.PEER, self._admissions, limits=limits)
        self._inbox = Inbox(journal)
        self._sender = Sender(journal, self._options.get("publications_per_second", 1_500.0))
        self._subscribing = Subscribing(journal, self._ask, self._now)
        self._files = Files(journal, self._options.get("files"))
        self._answering = Answering(journal, self._files, self._options.get("answers"))
        for kept in journal.downloads():
            self._downloads[kept.id] = Download(kept, self._drop_download)
            if kept.is_open:
                self._unasked.add(kept.id)
        others = self._options.get("others", ())
        self._line = Line(
            self._endpoint,
            journal,
            self._options.get("address", "unlisted"),
            self._meet,
            self._settle,
            self._hear,
            self._on_cut,
            backoff=self._options.get("backoff") or Backoff(),
            others=tuple(map(Address.parse, others)) if self._options.get("may_migrate") else (),
            gives_up_after_s=self._options.get("gives_up_after_s", 60.0),
        )
        self._line.start()

    async def _connect_first(self) -> None:
        try:
            async with asyncio.timeout(self._patience_s):
                await self._line.ready()
        except TimeoutError:
            raise self._no_answer("check the address, and open the peer again") from None

    # The connection.

    def _meet(self, conversation: Conversation) -> None:
        """A conversation begins: nothing has been heard in it yet."""
        self._conversation = conversation
        self._inbox.begin_connection()
        self._reported = 0

    async def _settle(self, conversation: Conversation, welcomed: Welcomed) -> None:
        """Let a new connection know what it has to, before it is used for anything else."""
        journal, memory = self._journal, self._journal.memory
        through = memory.serial
        await journal.sync()
        self._sender.synced(through)
        if memory.has_brought:
            await self._subscribing.reconcile(conversation, welcomed.welcome.subscriptions)
            if not journal.is_advertised and memory.elements is not None:
                await conversation.ask(Advertise(memory.elements))
        else:
            await conversation.ask(memory.bring(conversation.now))
            journal.brought()
            self._unasked.update(one.id for one in self._downloads.values() if not one.has_ended)
        if memory.elements is not None:
            journal.advertise(memory.elements, is_known=True)
        for identity in sorted(self._unasked):
            one = self._downloads[identity].kept
            await conversation.ask(Fetch(one.id, one.resource, one.owner, one.owner_at))
            self._unasked.discard(identity)
        self._sender.begin(conversation, welcomed.welcome)

    def _on_cut(self) -> None:
        """The connection is gone."""
        self._conversation = None
        self._sender.end()
        for answer in self._queries.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed(Reason.LOST))
                answer.exception()  # Whoever waits for it may have given up.

    async def _ask(self, request: Request) -> Reply:
        """Ask the access point, over as many connections as it takes."""
        self._require_open()
        return await self._within_patience(self._ask_patiently(request), "it may still be done; try again")

    async def _ask_patiently(self, request: Request) -> Reply:
        while True:
            conversation = await self._line.ready()
            try:
                return await conversation.ask(request)
            except ConnectionClosed:
                await asyncio.sleep(0)  # The line has yet to notice.

    async def _within_patience(self, work: Awaitable[Result], consequence: str) -> Result:
        try:
            async with asyncio.timeout(self._patience_s):
                return await work
        except TimeoutError:
            raise self._no_answer(consequence) from None

    def _no_answer(self, consequence: str) -> NoAnswer:
        return NoAnswer(str(self._line.target), self._patience_s, self._line.problem, consequence)

    def _now(self) -> float:
        """The time of day, as the access point has it."""
        conversation = self._line.conversation
        return time.time() if conversation is None else conversation.now

    def _require_open(self) -> None:
        if not self._is_open:
            raise PeerClosed

    # What comes.

    def _hear(self, conversation: Conversation, event: Event) -> None:
        match event:
            case Notified(notices):
                self._inbox.arrive(notices)
                self._report()
            case PublicationsAcknowledged(serials):
                self._sender.acknowledged(serials)
            case SubscriptionActive(name):
                self._subscribing.on_active(name)
            case SubscriptionExpired(name):
                self._subscribing.on_expired(name)
            case NotificationsLost(count):
                self.lost += count
                log.warning("%d notifications expired before this peer could get them", count)
            case QueryFinished(number):
                answer = self._queries.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(event)
            case AnswerWanted(question, text):
                self._answering.answer(conversation, question, text)
            case UploadWanted(rendezvous):
                self._answering.upload(conversation, rendezvous)
            case FileArrived(rendezvous, content):
                self._end_download(rendezvous.id, content)
                self._begin(self._take_file(conversation, rendezvous.id))
            case FetchFailed(rendezvous, reason):
                self._end_download(rendezvous.id, None, reason)
            case HandedOver(old):
                self._journal.handed_over(old)

    async def _next_arrival(self, reader: object, timeout: float | None) -> Arrival | None:
        """The next one, or None when there is no more to come for this reader, or not in time."""
        try:
            async with asyncio.timeout(timeout):
                while self._is_open and self._reader is reader:
                    arrival = self._inbox.next()
                    if arrival is not None:
                        return arrival
                    await self._inbox.wait()
        except TimeoutError:
            return None
        return None

    def _notification(self, arrival: Arrival) -> Notification:
        notice, asked = arrival.notice, self._journal.memory.subscriptions
        matched = frozenset(notice.subscriptions)
        queries = {name: read_query(asked[name].text) for name in sorted(matched & asked.keys())}

        async def acknowledge() -> None:
            self._require_open()
            self._acknowledge(arrival)

        return Notification(
            notice.publication,
            matched,
            queries,
            notice.is_history,
            partial(self._inbox.cursor_after, arrival),
            acknowledge,
        )

    def _acknowledge(self, arrival: Arrival) -> None:
        self._inbox.acknowledge(arrival)
        self._report()

    def _report(self) -> None:
        """Tell the access point what the application has, as soon as that is forced to disk."""
        if not self._is_reporting and self._inbox.received > self._reported:
            self._is_reporting = True
            self._begin(self._tell_received())

    async def _tell_received(self) -> None:
        try:
            conversation = self._conversation
            while conversation is not None and self._inbox.received > self._reported:
                received = self._inbox.received
                await self._journal.sync()
                if self._conversation is not conversation:
                    return  # What was received is sent again over the next, and reported there.
                self._reported = received
                conversation.say(Received(received), _ignore)
        finally:
            self._is_reporting = False

    # Downloads.

    def _end_download(self, identity: str, content: bytes | None, failure: str = "") -> None:
        download = self._downloads.get(identity)
        if download is not None and not download.has_ended:
            download.end(content, failure)
            self._journal.keep_download(download.kept)

    async def _take_file(self, conversation: Conversation, identity: str) -> None:
        await self._journal.sync()
        await conversation.ask(FileTaken(identity))

    def _drop_download(self, identity: str) -> None:
        if self._downloads.pop(identity, None) is not None and self._is_open:
            self._unasked.discard(identity)
            self._journal.drop_download(identity)

    async def _advertise(self, advertisement: qel.Advertisement) -> None:
        before = self._journal.memory.elements
        elements = write_elements(elements_of(advertisement))
        self._journal.advertise(elements, is_known=False)
        try:
            await self._ask(Advertise(elements))
        except REFUSALS:
            self._journal.advertise(before, is_known=True)
            raise
        self._journal.advertise(elements, is_known=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_unless_cut(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _unless_cut(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except ConnectionClosed:
        log.debug("the connection ended; what it was about is said again over the next")


def _ignore(_reply: Reply | Exception) -> None:
    """That something was received needs no answer: what is lost is said again."""
