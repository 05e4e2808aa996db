"""Catching up: a queue asks an origin for what it may have missed.

The thread between a queue and an origin may have broken when the subscriber's access point or the origin was out of
the other's view, or when the peer came from another access point. And a peer may ask for what was published before it
subscribed. In each case its queue asks the origin what of its log matches, above the queue's mark; what comes from the
origin meanwhile is held back, so that the order of the log is kept.

The answer is right because of when the question is asked. What the origin publishes after it has answered has to come
by itself, so the subscriptions must be in place there by then: either the view has just begun, and the origin sends
nothing in it before it has the subscriptions that the view began with; or all subscriptions of the peer are active.
Answers count in the view of the question only. If the subscriptions changed meanwhile, the queue asks again.

Looking through a log takes time, though its pages are indexed (`pages`). So questions, also those to the log here, wait
in a line, and each step answers a part of what waits; an answer may end before the log does, and then the rest is asked
for.

A queue without a mark has got nothing from that origin so far. It asks for what was published since its subscriptions
were accepted. These times come from two clocks; they may be `CLOCK_SLACK_S` apart before something is missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from superpeer.node.delivery import Delivery, Messages
from superpeer.node.exchange import InView
from superpeer.node.forms import Count, Form
from superpeer.node.pages import Pages, Search
from superpeer.node.publications import NOWHERE, Place, Publication
from superpeer.node.records import CaughtUpHere, Enqueued, Marked, Missed, Subscribed
from superpeer.node.workspace import Workspace

CLOCK_SLACK_S = 60.0
PAGE_BYTES = 1024 * 1024
STEP_TESTS = 5_000
"""So many subscriptions are tried on publications in one step, and hardly more."""
TESTS_TO_INDEX = 10
"""Indexing a publication takes about as long as so many tests."""


class Wanted(Form, frozen=True, tag="wanted"):
    """A subscription in a question: what counts without a mark, and from when on it wants to know what was before."""

    name: str
    text: str
    accepted_at: float
    since: float | None


class CatchUpAsked(Form, frozen=True, tag="catch up asked"):
    """To an origin: what of your log, from a place on, matches these subscriptions of one of my peers?"""

    peer: str
    request: int
    wanted: tuple[Wanted, ...]
    mark: Place | None
    begin: Place


class Found(Form, frozen=True, tag="found"):
    publication: Publication
    subscriptions: tuple[str, ...]
    is_history: bool


class CatchUpAnswered(Form, frozen=True, tag="catch up answered"):
    """From an origin: this, up to a place, which may not be the end of my log; so many are no longer there."""

    peer: str
    request: int
    mark: Place | None
    """As in the question; it decides what is history, page by page."""
    found: tuple[Found, ...]
    through: Place
    is_end: bool
    expired: Count


class CatchingUp:
    """Which queues are catching up with which origins, and the questions of other super-peers."""

    def __init__(
        self,
        workspace: Workspace,
        delivery: Delivery,
        is_all_here: Callable[[str], bool],
        is_in_place: Callable[[str], bool],
    ) -> None:
        self._workspace = workspace
        self._delivery = delivery
        self._is_all_here = is_all_here
        """Whether nobody is about to hand over more of a peer's queue."""
        self._is_in_place = is_in_place
        """Whether all subscriptions of a peer are active."""
        self._view = b""
        self._members: frozenset[bytes] = frozenset()
        self._request = 0
        self._open: dict[str, dict[bytes, int]] = {}
        """By peer and origin: the number of the question that counts; 0 where none was asked yet in this view."""
        self._changed: dict[str, int] = {}
        self._early: dict[tuple[bytes, str], InView[CatchUpAsked]] = {}
        self._line: deque[tuple[bytes, CatchUpAsked]] = deque()
        """Questions of this view that wait for their answer."""
        self._pages = Pages()

    @property
    def has_work(self) -> bool:
        """Whether questions wait to be answered here."""
        return bool(self._line)

    def is_catching_up(self, peer: str) -> bool:
        return peer in self._open

    def begin(self, peer: str, origins: Iterable[bytes]) -> None:
        """The thread to these origins may have broken. Questions go out with the next view, or when the peer's
        subscriptions are active: see `ask`."""
        for origin in origins:
            self._open.setdefault(peer, {}).setdefault(origin, 0)
            self._delivery.hold(peer, origin)

    def note_change(self, peer: str) -> None:
        """What a peer asks for has changed: questions that are under way do not know of it."""
        self._changed[peer] = self._request

    def forget(self, peer: str) -> None:
        self._open.pop(peer, None)
        self._changed.pop(peer, None)

    def enter_view(self, view: bytes, members: Iterable[bytes]) -> None:
        """Asks all open questions anew, and answers those that came before this view did."""
        self._view, self._members = view, frozenset(members)
        self._line.clear()
        for peer, origins in list(self._open.items()):
            for origin in list(origins):
                origins[origin] = 0
                if self._is_all_here(peer):
                    self._ask(peer, origin)
        for (sender, peer), message in list(self._early.items()):
            # Those of views that were skipped are asked again by who has not given up, and then replaced.
            if message.view == view:
                del self._early[sender, peer]
                self.hear_question(sender, message)

    def ask(self, peer: str) -> None:
        """Asks what was not asked yet, if the time has come."""
        open_questions = self._open.get(peer)
        if open_questions and self._is_all_here(peer) and self._is_in_place(peer):
            for origin in [origin for origin, request in open_questions.items() if not request]:
                self._ask(peer, origin)

    def proceed(self) -> Messages:
        """Answers some of the questions that wait."""
        messages: Messages = []
        tests = 0
        while self._line and tests < STEP_TESTS:
            sender, question = self._line.popleft()
            answer, tried = self._answer(question)
            tests += tried
            answered = InView(self._view, answer)
            if sender == self._workspace.key:
                messages += self.hear_answer(sender, answered)
            else:
                self._workspace.send(sender, answered)
        return messages

    def hear_question(self, sender: bytes, message: InView[CatchUpAsked]) -> None:
        """Answers in the view of the question only: what is published later in it goes to the asker by itself."""
        if message.view != self._view:
            self._early[sender, message.content.peer] = message
            return
        self._line.append((sender, message.content))

    def hear_answer(self, origin: bytes, message: InView[CatchUpAnswered]) -> Messages:
        answer = message.content
        if message.view != self._view or self._open.get(answer.peer, {}).get(origin) != answer.request:
            return []
        if self._changed.get(answer.peer, -1) >= answer.request:
            self._open[answer.peer][origin] = 0
            self.ask(answer.peer)
            return []
        self._take(origin, answer)
        if answer.is_end:
            return self._finish(answer.peer, origin)
        self._ask(answer.peer, origin, answer)
        return []

    def _ask(self, peer: str, origin: bytes, last: CatchUpAnswered | None = None) -> None:
        if origin in self._members:
            self._request += 1
            self._open[peer][origin] = self._request
            question = self._question(peer, origin, last)
            if origin == self._workspace.key:
                self._line.append((origin, question))
            else:
                self._workspace.send(origin, InView(self._view, question))

    def _question(self, peer: str, origin: bytes, last: CatchUpAnswered | None = None) -> CatchUpAsked:
        """The first question of a thread, or the next after an answer that did not reach the end."""
        kept = self._workspace.state.peer(peer)
        wanted = tuple(
            Wanted(one.name, one.text, one.accepted_at, None if origin in one.answered else one.since)
            for one in kept.subscriptions.values()
            if not one.is_paused
        )
        if last is not None:
            return CatchUpAsked(peer, self._request, wanted, last.mark, last.through)
        mark = kept.queue.marks.get(origin)
        begin = NOWHERE if mark is None or any(one.since is not None for one in wanted) else mark
        return CatchUpAsked(peer, self._request, wanted, mark, begin)

    def _answer(self, question: CatchUpAsked) -> tuple[CatchUpAnswered, int]:
        """An answer, and how many tests it took."""
        log, wanted, mark = self._workspace.state.log, question.wanted, question.mark
        generation, number = question.begin
        number = max(log.trimmed, number if generation == log.generation else 0)
        search = Search([one.text for one in wanted])
        found: list[Found] = []
        size = 0
        while number < log.end[1] and size <= PAGE_BYTES and search.tests < STEP_TESTS:
            page, indexed = self._pages.after(log, number)
            search.tests += indexed * TESTS_TO_INDEX
            matching = search.matching(page, number)
            number = page.next_number - 1
            for at, positions in matching.items():
                publication = page[at]
                is_history = mark is not None and publication.place <= mark
                asked = (wanted[position] for position in positions)
                names = tuple(one.name for one in asked if _is_wanted(one, publication, mark, is_history=is_history))
                if names:
                    found.append(Found(publication, names, is_history))
                    size += publication.size_bytes
                if size > PAGE_BYTES:
                    number = at
                    break
        through = (log.generation, number)
        is_first = question.begin in (NOWHERE, mark)
        expired = log.missing_above(mark) if mark is not None and is_first else 0
        answer = CatchUpAnswered(
            question.peer, question.request, mark, tuple(found), through, through == log.end, expired
        )
        return answer, 1 + search.tests

    def _take(self, origin: bytes, answer: CatchUpAnswered) -> None:
        """Puts into the queue what was found, and moves the mark."""
        keep, now = self._workspace.keep, self._workspace.now
        for one in answer.found:
            if one.is_history:
                keep(Enqueued(one.publication, ((answer.peer, one.subscriptions),), now, is_history=True))
            else:
                self._delivery.enqueue(one.publication, [(answer.peer, one.subscriptions)])
        if answer.expired:
            keep(Missed(answer.peer, answer.expired))
        # Without a mark, times decide what is wanted, until the end of the log is reached or something was found.
        if answer.mark is not None or answer.is_end:
            keep(Marked(answer.peer, origin, answer.through))

    def _finish(self, peer: str, origin: bytes) -> Messages:
        del self._open[peer][origin]
        if not self._open[peer]:
            del self._open[peer]
        if origin == self._workspace.key and not self._workspace.state.peer(peer).has_caught_up_here:
            self._workspace.keep(CaughtUpHere(peer))
        for one in list(self._workspace.state.peer(peer).subscriptions.values()):
            if one.since is not None and not one.is_paused and origin not in one.answered:
                answered = msgspec.structs.replace(one, answered=(*one.answered, origin))
                self._workspace.keep(Subscribed(peer, answered))
        return self._delivery.let_go(peer, origin)


def _is_wanted(one: Wanted, publication: Publication, mark: Place | None, *, is_history: bool) -> bool:
    """Whether a subscription asks for a publication, if it matches."""
    if one.since is not None and publication.published_at >= one.since:
        return True
    if mark is None:
        return publication.published_at >= one.accepted_at - CLOCK_SLACK_S
    return not is_history
