"""One-time queries: what do peers hold now that matches?

A query travels like a subscription, over out-links beyond which an advertisement covers it, and stays nowhere. Each hop
asks its own peers whose advertisements cover it, waits for them and for the links it passed the query to, and returns
what they said, merged, in one answer. Every hop has less time than the one before, so that what came in time is
returned in time. Who did not answer is named: a link that is late stands for all super-peers beyond it.

A new view breaks the ways back. Then the access point of whoever asked asks again, with the time that is left. A hop
that does not know yet in this view what lies beyond its links keeps a question until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import qel
from hypercup import Link, View
from superpeer.node.forms import Form, read_query
from superpeer.node.requests import AnswerWanted, Held, QueryFinished
from superpeer.node.tables import Tables
from superpeer.node.workspace import Workspace

SHARE_OF_TIME = 0.9
"""Of the time that a hop has, how much it leaves to those beyond."""


class QueryAsked(Form, frozen=True, tag="query asked"):
    """Over an out-link: who beyond here holds what matches? Answer within so many seconds."""

    dimension: int
    question: bytes
    text: str
    seconds: float


class QueryAnswered(Form, frozen=True, tag="query answered"):
    """Over an in-link: this is held beyond; these super-peers did not answer in time, nor did so many peers."""

    dimension: int
    question: bytes
    answers: tuple[Held, ...]
    silent: tuple[bytes, ...]
    absent_peers: int
    is_cut: bool


@dataclass
class _Open:
    """A question that waits for answers."""

    asker: Link | tuple[str, int]
    """A link, or a local peer with its number for the query."""
    text: str
    deadline: float
    missing: set[Link | str] = field(default_factory=set)
    answers: dict[Held, None] = field(default_factory=dict)
    silent: set[bytes] = field(default_factory=set)
    absent_peers: int = 0
    is_cut: bool = False


class Queries:
    """The one-time queries that a super-peer has open, its own peers' and others'."""

    def __init__(
        self,
        workspace: Workspace,
        say: Callable[[bytes, QueryAsked | QueryAnswered], None],
        knows_what_lies_beyond: Callable[[], bool],
    ) -> None:
        self._workspace = workspace
        self._say = say
        self._knows_what_lies_beyond = knows_what_lies_beyond
        self._view: View | None = None
        self._tables: Tables[Link, Link] | None = None
        self._open: dict[bytes, _Open] = {}
        self._kept: list[bytes] = []
        """The questions that are not passed on yet."""
        self._asked = 0

    @property
    def next_wakeup(self) -> float | None:
        return min((one.deadline for one in self._open.values()), default=None)

    def enter_view(self, view: View, tables: Tables[Link, Link]) -> None:
        self._view, self._tables = view, tables
        opened, self._open = self._open, {}
        self._kept.clear()
        for one in opened.values():
            if not isinstance(one.asker, Link):
                self._begin(_Open(one.asker, one.text, one.deadline, answers=one.answers))

    def count(self, peer: str) -> int:
        """How many queries of a peer are open."""
        return sum(one.asker[0] == peer for one in self._open.values())

    def ask(self, peer: str, request: int, text: str, seconds: float) -> None:
        """A local peer asks."""
        self._begin(_Open((peer, request), text, self._workspace.now + seconds))

    def proceed(self) -> None:
        """Passes on the questions that were kept, if the time has come."""
        if self._kept and self._knows_what_lies_beyond():
            kept, self._kept = self._kept, []
            for question in kept:
                if question in self._open:
                    self._pass_on(question, self._open[question])

    def hear_question(self, sender: bytes, message: QueryAsked) -> None:
        link = Link(sender, message.dimension)
        seconds = min(message.seconds, self._workspace.limits.query_s)
        self._go(message.question, _Open(link, message.text, self._workspace.now + seconds))

    def hear_answer(self, sender: bytes, message: QueryAnswered) -> None:
        one = self._open.get(message.question)
        link = Link(sender, message.dimension)
        if one is None or link not in one.missing:
            return
        self._add(one, message.answers)
        one.silent.update(message.silent)
        one.absent_peers += message.absent_peers
        one.is_cut |= message.is_cut
        self._done(message.question, one, link)

    def hear_peer(self, peer: str, question: bytes, bodies: tuple[bytes, ...]) -> None:
        """A local peer says what it holds; too late, it does not count."""
        one = self._open.get(question)
        if one is None or peer not in one.missing:
            return
        self._add(one, [Held(peer, self._workspace.key, body) for body in bodies])
        self._done(question, one, peer)

    def tick(self) -> None:
        """What is over its time is answered with what there is."""
        for question, one in list(self._open.items()):
            if one.deadline <= self._workspace.now:
                if question in self._kept:
                    self._kept.remove(question)
                    one.missing.update(self._ways_out(one))
                for late in one.missing:
                    if isinstance(late, Link):
                        one.silent.update(self._beyond(late))
                    else:
                        one.absent_peers += 1
                one.missing.clear()
                self._finish(question, one)

    def _begin(self, one: _Open) -> None:
        self._asked += 1
        assert self._view is not None
        self._go(self._view.id + self._workspace.key + self._asked.to_bytes(8, "big"), one)

    def _go(self, question: bytes, one: _Open) -> None:
        self._open[question] = one
        self._kept.append(question)
        self.proceed()

    def _ways_out(self, one: _Open) -> Collection[Link]:
        assert self._tables is not None
        return self._tables.relayed[one.asker] if isinstance(one.asker, Link) else self._tables.out_links

    def _pass_on(self, question: bytes, one: _Open) -> None:
        """Asks whoever may hold something: local peers, and beyond the links that a question may go out on."""
        assert self._tables is not None
        query = read_query(one.text)
        ways_out = self._ways_out(one)
        links = [link for link in self._tables.covering(query) if link in ways_out]
        peers = []
        for name, kept in self._workspace.state.peers.items():
            if kept.elements and qel.covers(kept.advertisement, query):
                if name in self._workspace.connected:
                    peers.append(name)
                else:
                    one.absent_peers += 1
        one.missing = {*links, *peers}
        if not one.missing:
            self._finish(question, one)
            return
        seconds = (one.deadline - self._workspace.now) * SHARE_OF_TIME
        for link in links:
            self._say(link.neighbour, QueryAsked(link.dimension, question, one.text, seconds))
        for name in sorted(peers):
            self._workspace.tell(name, AnswerWanted(question, one.text))

    def _add(self, one: _Open, answers: tuple[Held, ...] | list[Held]) -> None:
        most = self._workspace.limits.query_answers
        for answer in answers:
            if len(one.answers) >= most:
                one.is_cut = True
                return
            one.answers[answer] = None

    def _done(self, question: bytes, one: _Open, who: Link | str) -> None:
        one.missing.remove(who)
        if not one.missing:
            self._finish(question, one)

    def _finish(self, question: bytes, one: _Open) -> None:
        del self._open[question]
        answers, silent = tuple(one.answers), tuple(sorted(one.silent))
        if isinstance(one.asker, Link):
            answered = QueryAnswered(one.asker.dimension, question, answers, silent, one.absent_peers, one.is_cut)
            self._say(one.asker.neighbour, answered)
        else:
            peer, request = one.asker
            self._workspace.tell(peer, QueryFinished(request, answers, silent, one.absent_peers, one.is_cut))

    def _beyond(self, link: Link) -> Iterator[bytes]:
        """The super-peers that a question over a link would have reached."""
        assert self._view is not None
        backbone = self._view.backbone
        pending = [(link.neighbour, Link(self._workspace.key, link.dimension))]
        for member, arrived in pending:
            yield member
            pending += [
                (out.neighbour, Link(member, out.dimension))
                for out in backbone.position(member).out_links
                if backbone.relays(arrived, out)
            ]
