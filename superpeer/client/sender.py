"""The sender: hands the outbox to the access point, in order, many at a time, with one signature for a batch.

A super-peer takes a serial that is not above the last for one that it has. So what it refuses is never handed in again
under its serial; and as long as it may refuse something, because it is not advertised or large, that goes alone:
otherwise, were the connection cut before the answer, nobody could tell whether it was refused or acknowledged. What
cannot be foreseen is a limit on rates, so the sender keeps a pace below the usual ones.

Publications of one subject are handed in one after the other, so that a refusal cannot change their order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from auth import BadSignature, ProofInvalid
from qel import Advertisement, QelError
from qel.advertisements import unadmitted
from superpeer.client.conversation import Conversation
from superpeer.client.errors import PeerClosed
from superpeer.client.journal import Journal, subject_of
from superpeer.client.memory import Posting
from superpeer.client.outcomes import Outcome, Stage
from superpeer.client.refusals import is_of_size
from superpeer.net import ConnectionClosed
from superpeer.node.advertisements import advertisement_of
from superpeer.node.body import read_body
from superpeer.node.errors import LimitReached, NotHere, Refused
from superpeer.node.forms import ElementForm, read_elements
from superpeer.node.limits import Allowance
from superpeer.node.requests import Publish, Reply, Welcome

log = logging.getLogger(__name__)

BATCH = 256
WINDOW = 512
"""So many publications are under way to the access point at most; half of it is left before more are signed."""
WINDOW_BYTES = 4 * 1024 * 1024
SURE_BYTES = 64 * 1024
"""A smaller one is never too large."""
AT_ONCE = 10_000
MAX_TRIALS = 8
FIRST_PAUSE_S = 0.25
OF_THE_PUBLICATION = (Refused, QelError, BadSignature, ProofInvalid)
"""What an access point may have against a publication, rather than against the peer."""


@dataclass(frozen=True, slots=True)
class _UnderWay:
    posting: Posting
    subject: str
    is_doubtful: bool


class Sender:
    """One for each peer."""

    def __init__(self, journal: Journal, per_second: float) -> None:
        self._journal = journal
        self._conversation: Conversation | None = None
        self._waiting: deque[Posting] = deque()
        self._under_way: dict[int, _UnderWay] = {}
        self._subjects: set[str] = set()
        self._has_doubtful = False
        """What is under way is under way alone, as it may be refused."""
        self._bytes = 0
        self._synced = 0
        self._last = 0
        """The serial that was handed in last on this connection."""
        self._outcomes: dict[int, Outcome] = {}
        self._allowance = Allowance("publications", per_second, AT_ONCE, 0.0)
        self._is_lenient = False
        """The access point takes what was not advertised."""
        self._is_pausing = False
        self._pausing: asyncio.Task[None] | None = None

    def begin(self, conversation: Conversation, welcome: Welcome) -> None:
        """There is a connection. What the access point knows is settled, and the rest is handed in."""
        journal = self._journal
        outbox = dict(journal.memory.outbox)
        self._waiting = deque(journal.memory.welcomed(welcome))
        with journal.transaction():
            journal.raise_serial(welcome.last_serial)
            for serial, posting in outbox.items():
                if serial > welcome.last_serial:
                    continue
                journal.is_logged(posting)
                if serial in journal.memory.outbox:
                    self._reach(serial, Stage.LOGGED)
                else:
                    journal.withdraw(serial)
                    self._reach(serial, Stage.ACKNOWLEDGED)
        self._conversation = conversation
        self._is_lenient = False
        self._last = welcome.last_serial
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
        self._waiting.clear()
        self._under_way.clear()
        self._subjects.clear()
        self._has_doubtful = False
        self._bytes = 0

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

    def acknowledged(self, serial: int) -> None:
        """The network has it."""
        self._journal.acknowledged(serial)
        self._reach(serial, Stage.ACKNOWLEDGED)

    def _reach(self, serial: int, stage: Stage) -> None:
        outcome = self._outcomes.get(serial)
        if outcome is not None:
            outcome.reach(stage)
            if stage is Stage.ACKNOWLEDGED:
                del self._outcomes[serial]

    def _pump(self) -> None:
        """Hand in what may be handed in now."""
        conversation = self._conversation
        if conversation is None or self._is_pausing or len(self._under_way) > WINDOW // 2:
            return
        batch = self._next_batch()
        while batch:
            drafts = self._journal.memory.drafts([one.posting for one in batch])
            try:
                for one, draft in zip(batch, drafts, strict=True):
                    conversation.say(Publish(draft), partial(self._heard, one))
            except ConnectionClosed:
                return  # Whoever listens to it is about to notice.
            batch = self._next_batch()

    def _next_batch(self) -> list[_UnderWay]:
        batch: list[_UnderWay] = []
        now = asyncio.get_running_loop().time()
        while self._waiting and len(batch) < BATCH and len(self._under_way) < WINDOW and self._bytes < WINDOW_BYTES:
            posting = self._waiting[0]
            if posting.serial > self._synced:
                break
            one = _UnderWay(posting, subject_of(posting.body), self._is_doubtful(posting))
            if self._under_way and (one.is_doubtful or self._has_doubtful or one.subject in self._subjects):
                break
            try:
                self._allowance.take(now)
            except LimitReached:
                self._pause(FIRST_PAUSE_S)
                break
            self._waiting.popleft()
            assert posting.serial > self._last, "serials grow, or the access point would take one for known"
            self._last = posting.serial
            batch.append(one)
            self._under_way[posting.serial] = one
            self._has_doubtful = one.is_doubtful
            self._subjects.add(one.subject)
            self._bytes += len(posting.body)
        return batch

    def _is_doubtful(self, posting: Posting) -> bool:
        if len(posting.body) > SURE_BYTES:
            return True
        return not self._is_lenient and not self._is_conforming(posting)

    def _is_conforming(self, posting: Posting) -> bool:
        advertisement = _advertisement(self._journal.memory.elements or ())
        return next(unadmitted(advertisement, read_body(posting.body).description), None) is None

    def _heard(self, one: _UnderWay, reply: Reply | Exception) -> None:
        if self._under_way.pop(one.posting.serial, None) is None:
            return  # It was said on a connection that is gone.
        if isinstance(reply, ConnectionClosed):
            return
        self._subjects.discard(one.subject)
        self._has_doubtful = False
        self._bytes -= len(one.posting.body)
        if isinstance(reply, Exception):
            self._refused(one, reply)
        else:
            self._journal.is_logged(one.posting)
            self._reach(one.posting.serial, Stage.LOGGED)
            self._is_lenient = self._is_lenient or (one.is_doubtful and not self._is_conforming(one.posting))
        self._pump()

    def _refused(self, one: _UnderWay, error: Exception) -> None:
        posting = one.posting
        if not isinstance(error, OF_THE_PUBLICATION) or isinstance(error, NotHere):
            # It does not know us: nothing is wrong with the publication, which waits for the next connection.
            if self._conversation is not None:
                self._conversation.close(error)
            return
        outcome = self._outcomes.pop(posting.serial, None)
        trials = outcome.trials if outcome is not None else 0
        if isinstance(error, LimitReached) and not is_of_size(error) and trials < MAX_TRIALS:
            again = self._journal.post_again(posting)
            followers = [each for each in self._waiting if subject_of(each.body) == one.subject]
            self._waiting = deque(each for each in self._waiting if each not in followers)
            self._waiting += [again, *map(self._post_after, followers)]
            if outcome is not None:
                outcome.serial, outcome.trials = again.serial, trials + 1
                self._outcomes[again.serial] = outcome
            self._pause(FIRST_PAUSE_S * 2.0**trials)
            return
        self._journal.withdraw(posting.serial)
        if outcome is not None:
            outcome.fail(error)
        else:
            log.error("what was published before is refused, and dropped from the outbox: %s", error)

    def _post_after(self, posting: Posting) -> Posting:
        """A later publication of a subject stays behind an earlier one that has to be handed in again."""
        again = self._journal.post_again(posting)
        outcome = self._outcomes.pop(posting.serial, None)
        if outcome is not None:
            outcome.serial = again.serial
            self._outcomes[again.serial] = outcome
        return again

    def _pause(self, seconds: float) -> None:
        if not self._is_pausing:
            self._is_pausing = True
            self._pausing = asyncio.get_running_loop().create_task(self._go_on_after(seconds))

    async def _go_on_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        through = self._journal.memory.serial  # What is handed in again has a new one.
        await self._journal.sync()
        self._is_pausing = False
        self.synced(through)


@lru_cache(maxsize=8)
def _advertisement(elements: tuple[ElementForm, ...]) -> Advertisement:
    return advertisement_of(read_elements(elements))
