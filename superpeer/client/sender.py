"""The sender: hands the outbox to the access point, in order, many at a time, with one signature for a batch.

Batches are under way one after the other, each with the serial that was handed in before it. An access point takes all
of a batch or nothing, and what follows something that it refused it refuses as well. So a refusal is where the
sender *goes back* to: without the publication that was refused, or after a pause if it was only too soon. Serials and
their order stay, and what an access point has is always all up to its last serial but what this end knows of as
refused, also when a connection breaks with any number of batches under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from auth import BadSignature, ProofInvalid
from qel import QelError
from superpeer.client.conversation import Conversation
from superpeer.client.errors import PeerClosed
from superpeer.client.journal import Journal
from superpeer.client.outcomes import Outcome, Stage
from superpeer.client.refusals import is_of_size
from superpeer.net import ConnectionClosed
from superpeer.node.errors import LimitReached, NotHere, OutOfTurn, Refused
from superpeer.node.limits import Allowance
from superpeer.node.publications import Posting
from superpeer.node.requests import MAX_POSTINGS, Reply, Welcome

log = logging.getLogger(__name__)

BATCH = 256
BATCH_BYTES = 1024 * 1024
WINDOW = 1_024
"""So many publications are under way to the access point at most."""
WINDOW_BYTES = 4 * 1024 * 1024
AT_ONCE = 10_000
MAX_TRIALS = 8
FIRST_PAUSE_S = 0.25
OF_THE_PUBLICATION = (Refused, QelError, BadSignature, ProofInvalid)
"""What an access point may have against a publication, rather than against the peer."""
assert BATCH <= MAX_POSTINGS


@dataclass(eq=False, slots=True)
class _Batch:
    postings: list[Posting]
    size_bytes: int
    is_waited_for: bool = True
    """False when the sender has gone back before it, or its connection is gone: the answer says nothing new."""


class Sender:
    """One for each peer."""

    def __init__(self, journal: Journal, per_second: float) -> None:
        self._journal = journal
        self._conversation: Conversation | None = None
        self._waiting: deque[Posting] = deque()
        self._under_way: deque[_Batch] = deque()
        self._count = 0
        self._bytes = 0
        """Of what is under way."""
        self._synced = 0
        self._last = 0
        """The serial that was handed in last on this connection."""
        self._taken = 0
        """The last serial that the access point has, as far as it has said."""
        self._alone_through = 0
        """Up to this serial each goes alone: one of them is refused, and it is not known which."""
        self._outcomes: dict[int, Outcome] = {}
        self._allowance = Allowance("publications", per_second, AT_ONCE, 0.0)
        self._batch = BATCH
        """Smaller for a while after the access point has said that it is too much."""
        self._trials = 0
        self._pausing: asyncio.TimerHandle | None = None

    def begin(self, conversation: Conversation, welcome: Welcome) -> None:
        """There is a connection. What the access point knows is settled, and the rest is handed in."""
        journal = self._journal
        known = [posting for serial, posting in journal.memory.outbox.items() if serial <= welcome.last_serial]
        self._waiting = deque(journal.memory.welcomed(welcome))
        with journal.transaction():
            journal.raise_serial(welcome.last_serial)
            journal.are_logged(known)
            acknowledged = [posting.serial for posting in known if posting.serial not in journal.memory.outbox]
            journal.withdraw(acknowledged)
        self._reach((posting.serial for posting in known), Stage.LOGGED)
        self._reach(acknowledged, Stage.ACKNOWLEDGED)
        self._conversation = conversation
        self._last = self._taken = welcome.last_serial
        self._pump()

    def close(self) -> None:
        """The peer ends."""
        self.end()
        if self._pausing is not None:
            self._pausing.cancel()
        outcomes, self._outcomes = self._outcomes, {}
        for outcome in outcomes.values():
            outcome.fail(PeerClosed())

    def end(self) -> None:
        """The connection is gone. What was under way is waited for at the next."""
        self._conversation = None
        self._go_back()
        self._waiting.clear()

    def synced(self, through: int) -> None:
        """The outbox is forced to disk up to this serial, so that it may leave."""
        self._synced = max(self._synced, through)
        self._pump()

    def put(self, postings: Sequence[Posting]) -> list[Outcome]:
        """More is in the outbox. It leaves when it is forced to disk: see `synced`. This is called as soon as the
        postings have their serials, as the access point takes them in this order only."""
        outcomes = [Outcome(one.serial) for one in postings]
        self._outcomes.update((one.serial, one) for one in outcomes)
        if self._conversation is not None:
            self._waiting += postings
        return outcomes

    def acknowledged(self, serials: Sequence[int]) -> None:
        """The network has them."""
        self._journal.acknowledged(serials)
        self._reach(serials, Stage.ACKNOWLEDGED)

    def _reach(self, serials: Iterable[int], stage: Stage) -> None:
        for serial in serials:
            outcome = self._outcomes.get(serial)
            if outcome is not None:
                outcome.reach(stage)
                if stage is Stage.ACKNOWLEDGED:
                    del self._outcomes[serial]

    def _pump(self) -> None:
        """Hand in what may be handed in now."""
        conversation = self._conversation
        while conversation is not None and self._pausing is None:
            batch = self._next_batch()
            if batch is None:
                return
            request = self._journal.memory.handing_in(batch.postings, self._last)
            self._last = batch.postings[-1].serial
            try:
                conversation.say(request, partial(self._heard, batch))
            except ConnectionClosed:
                return  # Whoever listens to it is about to notice.

    def _next_batch(self) -> _Batch | None:
        waiting, postings, size = self._waiting, list[Posting](), 0
        most = min(self._batch, WINDOW - self._count)
        if self._bytes >= WINDOW_BYTES:
            return None
        while waiting and len(postings) < most and waiting[0].serial <= self._synced:
            if postings and (size + len(waiting[0].body) > BATCH_BYTES or postings[0].serial <= self._alone_through):
                break
            postings.append(waiting.popleft())
            size += len(postings[-1].body)
        if not postings:
            return None
        try:
            self._allowance.take(asyncio.get_running_loop().time(), len(postings))
        except LimitReached:
            waiting.extendleft(reversed(postings))
            self._pause(FIRST_PAUSE_S)
            return None
        batch = _Batch(postings, size)
        self._under_way.append(batch)
        self._count += len(postings)
        self._bytes += size
        return batch

    def _heard(self, batch: _Batch, reply: Reply | Exception) -> None:
        if not batch.is_waited_for or isinstance(reply, ConnectionClosed):
            return
        assert self._under_way[0] is batch, "answers come in the order of asking"
        if isinstance(reply, Exception):
            self._go_back()
            self._refused(batch, reply)
        else:
            self._under_way.popleft()
            self._count -= len(batch.postings)
            self._bytes -= batch.size_bytes
            self._taken = batch.postings[-1].serial
            self._batch, self._trials = min(BATCH, self._batch + self._batch // 4 + 1), 0
            self._journal.are_logged(batch.postings)
            self._reach((one.serial for one in batch.postings), Stage.LOGGED)
        self._pump()

    def _go_back(self) -> None:
        """All that is under way waits again: what follows a refusal is refused."""
        for batch in reversed(self._under_way):
            batch.is_waited_for = False
            self._waiting.extendleft(reversed(batch.postings))
        self._under_way.clear()
        self._count = self._bytes = 0
        self._last = self._taken

    def _refused(self, batch: _Batch, error: Exception) -> None:
        if not isinstance(error, OF_THE_PUBLICATION) or isinstance(error, NotHere | OutOfTurn):
            # Nothing is wrong with the publications, which wait for the next connection: the two ends do not agree on
            # who is there, or on how far they have come.
            if self._conversation is not None:
                self._conversation.close(error)
            return
        if isinstance(error, LimitReached) and not is_of_size(error) and self._trials < MAX_TRIALS:
            if len(batch.postings) == 1:
                self._trials += 1
            # The batch may be more than is ever allowed at once.
            self._batch = max(1, len(batch.postings) // 2)
            self._pause(FIRST_PAUSE_S * 2.0 ** max(0, self._trials - 1))
            return
        named = error.serial if isinstance(error, Refused) else 0
        culprits = [one for one in batch.postings if one.serial == named or len(batch.postings) == 1]
        if not culprits:
            self._alone_through = batch.postings[-1].serial
            return
        self._trials = 0
        for posting in culprits:
            self._waiting.remove(posting)
            self._journal.withdraw([posting.serial])
            outcome = self._outcomes.pop(posting.serial, None)
            if outcome is not None:
                outcome.fail(error)
            else:
                log.error("what was published before is refused, and dropped from the outbox: %s", error)

    def _pause(self, seconds: float) -> None:
        if self._pausing is None:
            self._pausing = asyncio.get_running_loop().call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        self._pausing = None
        self._pump()
