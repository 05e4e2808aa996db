"""What a peer does for others: it says what it holds when a one-time query comes, and uploads what it offers."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

import qel
from qel import QelError
from qel.matching import is_met
from superpeer.client.conversation import Conversation
from superpeer.client.errors import PeerError
from superpeer.client.files import Files
from superpeer.client.journal import Journal
from superpeer.client.refusals import REFUSALS
from superpeer.net import ConnectionClosed
from superpeer.node.body import said_in, write_body
from superpeer.node.forms import read_query
from superpeer.node.records import Rendezvous
from superpeer.node.requests import Answer, Upload
from superpeer.rdf.publishing import Publications

log = logging.getLogger(__name__)

AnswerFunction = Callable[[qel.Query], Iterable[Any] | Awaitable[Iterable[Any]]]
"""From a query to the triples of what matches it, of any number of subjects."""

MAX_ANSWERS = 10_000
OVERHEAD_BYTES = 4 * 1024
"""What a message has beside its content, at most."""


class Answering:
    """The tasks of one peer that others asked for."""

    def __init__(self, journal: Journal, files: Files, function: AnswerFunction | None) -> None:
        self._journal = journal
        self._files = files
        self._function = function
        self._tasks: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def answer(self, conversation: Conversation, question: bytes, text: str) -> None:
        self._start(self._answer(conversation, question, text))

    def upload(self, conversation: Conversation, rendezvous: Rendezvous) -> None:
        self._start(self._upload(conversation, rendezvous))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ConnectionClosed:
            log.debug("the connection ended before others had what they asked for")
        except (*REFUSALS, PeerError) as error:
            log.warning("others do not get what they asked for: %s", error)
        except Exception:
            # The application's function failed; the peer goes on.
            log.exception("answering others failed")

    async def _answer(self, conversation: Conversation, question: bytes, text: str) -> None:
        try:
            query = read_query(text)
        except QelError as error:
            log.warning("a query that came cannot be read: %s", error)
            return
        room = min(conversation.max_message_bytes // 2, conversation.max_message_bytes - OVERHEAD_BYTES)
        bodies: list[bytes] = []
        async for body in self._held(query):
            room -= len(body) + 8
            if room < 0 or len(bodies) >= MAX_ANSWERS:
                log.warning("a query matches more than fits into an answer; others get the first %d", len(bodies))
                break
            bodies.append(body)
        await conversation.ask(Answer(question, tuple(bodies)))

    async def _held(self, query: qel.Query) -> Any:
        if self._function is not None:
            returned = self._function(query)
            triples = await returned if inspect.isawaitable(returned) else returned
            publications = Publications(triples)
            topics = publications.topics
            for one in publications:
                yield write_body(one.triples, topics)
            return
        after = ""
        while page := self._journal.holdings(after):
            for _, body in page:
                if is_met(query, *said_in(body)):
                    yield body
            after, _ = page[-1]
            await asyncio.sleep(0)  # Others may go on between two pages.

    async def _upload(self, conversation: Conversation, rendezvous: Rendezvous) -> None:
        content = await self._files.find(rendezvous.resource, conversation.max_message_bytes - OVERHEAD_BYTES)
        await conversation.ask(Upload(rendezvous.id, content))
