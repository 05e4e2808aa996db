"""The core: the node with the time of day, woken when it wants to be, its effects in order.

Everything that happens to the node happens here, one step at a time. A step's records go through the pump; then `send`
gets its messages and `tell` its events. What a caller has to say itself, an answer say, goes before these.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from auth import PrivateId, PublicId, SuperPeerExchange
from auth.messages import ArrivalReply, ExchangeMessage, Greeting, RegistrationReply
from hypercup import View
from superpeer.daemon.pump import Pump
from superpeer.node.messages import NodeMessage
from superpeer.node.node import Node
from superpeer.node.requests import Event, Publish, Reply, Request, Welcome
from superpeer.node.workspace import Effects

MIN_WAIT_S = 0.001
"""A clock that stands still must not keep the loop busy."""


class Core:
    """Drives one node."""

    def __init__(self, node: Node, pump: Pump, clock: Callable[[], float] = time.time) -> None:
        self.node = node
        self.pump = pump
        self.clock = clock
        self.send: Callable[[bytes, NodeMessage], None] = _nowhere
        self.tell: Callable[[str, Event], None] = _nowhere
        self.stepped: Callable[[], None] = _nothing
        """Called after each step."""
        self.counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None
        self._wakeup: float | None = None

    def enter_view(self, view: View) -> None:
        self._carry_out(self.node.enter_view(view, self.clock()))

    def receive(self, sender: bytes, message: NodeMessage) -> None:
        self.counts["messages"] += 1
        self._carry_out(self.node.receive(sender, message, self.clock()))

    def welcome(self, channel: bytes) -> SuperPeerExchange:
        return self.node.welcome(channel)

    def exchange(
        self,
        exchange: SuperPeerExchange,
        message: ExchangeMessage,
        answer: Callable[[Greeting | RegistrationReply | ArrivalReply], None],
    ) -> None:
        reply, effects = self.node.exchange(exchange, message, self.clock())
        self._carry_out(effects, partial(answer, reply))

    def connect(self, peer: PublicId, private_id: PrivateId, address: str, answer: Callable[[Welcome], None]) -> None:
        welcome, effects = self.node.connect(peer, private_id, address, self.clock())
        self._carry_out(effects, partial(answer, welcome))

    def request(self, peer: PublicId, private_id: PrivateId, request: Request, answer: Callable[[Reply], None]) -> None:
        reply, effects = self.node.request(peer, private_id, request, self.clock())
        if isinstance(request, Publish):
            self.counts["publications"] += len(request.postings)
        else:
            self.counts["requests"] += 1
        self._carry_out(effects, partial(answer, reply))

    def disconnect(self, peer: PublicId) -> None:
        self._carry_out(self.node.disconnect(peer, self.clock()))

    def say(self, release: Callable[[], None]) -> None:
        """Say something after all that steps so far lead to."""
        self.pump.put((), release)

    def stop(self) -> None:
        """The node is not woken any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _carry_out(self, effects: Effects, first: Callable[[], None] | None = None) -> None:
        self.pump.put(effects.records, partial(self._release, effects, first))
        self._schedule()
        self.stepped()

    def _release(self, effects: Effects, first: Callable[[], None] | None) -> None:
        if first is not None:
            first()
        for key, message in effects.messages:
            self.send(key, message)
        for peer, event in effects.events:
            self.tell(peer, event)

    def _schedule(self) -> None:
        """Wake the node when it wants to be woken; a timer that comes too early does no harm."""
        wakeup = self.node.next_wakeup
        if wakeup is None or (self._wakeup is not None and self._wakeup <= wakeup):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._wakeup = wakeup
        wait_s = max(MIN_WAIT_S, wakeup - self.clock())
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._wake, wakeup)

    def _wake(self, wakeup: float) -> None:
        self._timer = self._wakeup = None
        self._carry_out(self.node.tick(max(wakeup, self.clock())))


def _nowhere(_to: object, _what: object) -> None:
    raise AssertionError("the core is put together before anything happens")


def _nothing() -> None:
    pass
