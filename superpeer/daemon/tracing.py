"""Following a publication through the backbone: each super-peer is asked in turn what it did with it.

A super-peer remembers the last publications that passed through it, with the links on which they came and went. Whoever
explains one asks along these links, aside from what nodes say; who does not answer in time is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypercup import Link
from superpeer.daemon.envelopes import Topic
from superpeer.daemon.reports import Report, link_name, name_of, publication_row
from superpeer.net import Reason, Violation
from superpeer.node.coding import Code
from superpeer.node.errors import Malformed
from superpeer.node.explaining import explain_notification
from superpeer.node.forms import Form
from superpeer.node.node import Node
from superpeer.node.publications import Publication
from superpeer.node.traces import Step

ANSWER_S = 2.0
MAX_ASKED = 256


class Question(Form, frozen=True, tag="question"):
    """What did you do with this publication; or, without one, is this id in your log?"""

    number: int
    publication: Publication | None
    id: str
    peer: str


class StepForm(Form, frozen=True):
    at: float
    came_from: tuple[bytes, int] | None
    sent_to: tuple[tuple[bytes, int], ...]
    matched: tuple[str, ...]
    held_back: tuple[str, ...]


class Findings(Form, frozen=True, tag="findings"):
    number: int
    publication: Publication | None
    is_acknowledged: bool
    steps: tuple[StepForm, ...]
    is_peer_here: bool
    reached: bool
    reason: str


QUESTIONS: Code[Question] = Code(Question)
FINDINGS: Code[Findings] = Code(Findings)


class Tracing:
    """Asks others, and answers them."""

    def __init__(self, node: Node, say: Callable[[bytes, Topic, bytes], None]) -> None:
        self._node = node
        self._say = say
        self._number = 0
        self._open: dict[int, tuple[bytes, asyncio.Future[Findings]]] = {}

    def hear(self, sender: bytes, topic: Topic, data: bytes) -> None:
        """Another super-peer asks, or answers."""
        try:
            if topic is Topic.QUESTION:
                findings = self.look(QUESTIONS.decode(data))
                self._say(sender, Topic.ANSWER, FINDINGS.encode(findings))
                return
            answer = FINDINGS.decode(data)
        except Malformed as error:
            raise Violation(Reason.MALFORMED_MESSAGE, str(error)) from error
        asked, done = self._open.get(answer.number, (b"", None))
        if done is not None and asked == sender and not done.done():
            done.set_result(answer)

    def look(self, question: Question) -> Findings:
        """What this super-peer knows."""
        node, publication = self._node, question.publication
        if publication is None:
            publication = next((one for one in node.state.log if one.id == question.id), None)
            if publication is None:
                return Findings(question.number, None, False, (), False, False, "")
        steps = tuple(map(_step_form, node.broker.delivery.traces.of(publication)))
        is_here = bool(question.peer) and node.peers.is_here(question.peer)
        reached, reason = False, ""
        if is_here:
            told = explain_notification({node.key: node}, publication, name_of, question.peer, node.key)
            reached, reason = bool(told.reached), told.reason
            # Asked alone, a super-peer that is not the origin knows of no step before its own.
            if any(question.peer in step.matched for step in steps):
                reached, reason = True, f"{name_of(node.key)} put it into the peer's queue"
            elif not reached and publication.origin != node.key and " has not sent it" in reason:
                reason = f"it has not come as far as {name_of(node.key)}; the steps tell how far it came"
        is_mine = publication.origin == node.key
        acknowledged = is_mine and publication.place[1] not in node.state.log.unacknowledged
        return Findings(question.number, publication, acknowledged, steps, is_here, reached, reason)

    async def explain(self, identity: str, peer: str) -> Report | None:
        """Every step of a publication, as far as anybody remembers it; None if no log has it."""
        found = await self._find(identity)
        if found is None:
            return None
        publication = found.publication
        assert publication is not None
        hops: list[Report] = []
        silent: list[str] = []
        pending, seen = [publication.origin], {publication.origin}
        verdict: Findings | None = None
        acknowledged = False
        while pending and len(seen) <= MAX_ASKED:
            asked, pending = pending, []
            answers = await asyncio.gather(*(self._ask(key, publication, identity, peer) for key in asked))
            for key, findings in zip(asked, answers, strict=True):
                if findings is None:
                    silent.append(name_of(key))
                    continue
                verdict = findings if findings.is_peer_here else verdict
                acknowledged |= findings.is_acknowledged
                if findings.steps:
                    hops.append({"super_peer": name_of(key), "steps": [_step_row(one) for one in findings.steps]})
                fresh = {to for step in findings.steps for to, _ in step.sent_to} - seen
                pending += sorted(fresh)
                seen |= fresh
        if peer and verdict is None:
            verdict = await self._ask_rest(publication, identity, peer, seen)
        return {
            "publication": publication_row(publication),
            "is_acknowledged": acknowledged,
            "hops": hops,
            "silent": silent,
            "reached": None if not peer or verdict is None else verdict.reached,
            "reason": ""
            if not peer
            else "no super-peer that answered has this peer"
            if verdict is None
            else verdict.reason,
        }

    async def _find(self, identity: str) -> Findings | None:
        own = self.look(Question(0, None, identity, ""))
        if own.publication is not None:
            return own
        answers = await asyncio.gather(*(self._ask(key, None, identity, "") for key in self._others(set())))
        return next((one for one in answers if one is not None and one.publication is not None), None)

    async def _ask_rest(self, publication: Publication, identity: str, peer: str, seen: set[bytes]) -> Findings | None:
        """The peer may be where the publication never came."""
        asked = self._others(seen)
        answers = await asyncio.gather(*(self._ask(key, publication, identity, peer) for key in asked))
        return next((one for one in answers if one is not None and one.is_peer_here), None)

    def _others(self, seen: set[bytes]) -> list[bytes]:
        view = self._node.view
        return [] if view is None else sorted(view.incarnations.keys() - seen - {self._node.key})[:MAX_ASKED]

    async def _ask(self, key: bytes, publication: Publication | None, identity: str, peer: str) -> Findings | None:
        self._number += 1
        question = Question(self._number, publication, identity, peer)
        if key == self._node.key:
            return self.look(question)
        done: asyncio.Future[Findings] = asyncio.get_running_loop().create_future()
        self._open[question.number] = (key, done)
        try:
            self._say(key, Topic.QUESTION, QUESTIONS.encode(question))
            return await asyncio.wait_for(done, ANSWER_S)
        except TimeoutError:
            return None
        finally:
            del self._open[question.number]


def _step_form(step: Step) -> StepForm:
    came_from = None if step.came_from is None else (step.came_from.neighbour, step.came_from.dimension)
    sent_to = tuple((link.neighbour, link.dimension) for link in step.sent_to)
    return StepForm(step.at, came_from, sent_to, step.matched, step.held_back)


def _step_row(step: StepForm) -> Report:
    return {
        "at": step.at,
        "came_from": "a local peer" if step.came_from is None else link_name(Link(*step.came_from)),
        "sent_to": [link_name(Link(*one)) for one in step.sent_to],
        "matched": list(step.matched),
        "held_back": list(step.held_back),
    }
