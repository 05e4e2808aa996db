"""What the parts of a node share: its state, the time of the present step, and what the step leads to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from superpeer.node.limits import Limits
from superpeer.node.records import Enqueued, Record
from superpeer.node.state import State

if TYPE_CHECKING:
    from superpeer.node.messages import NodeMessage
    from superpeer.node.requests import Event


@dataclass
class Effects:
    """What a step leads to. Records are made durable before messages and events leave."""

    records: list[Record] = field(default_factory=list)
    messages: list[tuple[bytes, NodeMessage]] = field(default_factory=list)
    events: list[tuple[str, Event]] = field(default_factory=list)
    """For peers that are connected."""


class Workspace:
    """One for each node."""

    def __init__(self, key: bytes, state: State, limits: Limits) -> None:
        self.key = key
        self.state = state
        self.limits = limits
        self.now = 0.0
        self.connected: set[str] = set()
        self.refusals: Counter[str] = Counter()
        self.next_expiry = inf
        """When the first of the things expires that somebody gave a time."""
        self._touched: dict[str, None] = {}
        self._effects = Effects()

    def keep(self, record: Record) -> None:
        """Remembers something beyond this life."""
        self.state.apply(record)
        self._effects.records.append(record)
        if isinstance(record, Enqueued):
            self._touched.update((peer, None) for peer, _ in record.recipients)

    def send(self, super_peer: bytes, message: NodeMessage) -> None:
        self._effects.messages.append((super_peer, message))

    def tell(self, peer: str, event: Event) -> None:
        """Tells a peer something, if it is there to hear it."""
        if peer in self.connected:
            self._effects.events.append((peer, event))

    def refuse(self, error: Exception) -> None:
        """Counts something that another super-peer or a peer should not have said."""
        self.refusals[type(error).__name__] += 1

    def touch(self, peer: str) -> None:
        """There may be something to send to a peer."""
        self._touched[peer] = None

    def take_touched(self) -> list[str]:
        touched, self._touched = list(self._touched), {}
        return touched

    def wake_at(self, time: float) -> None:
        """Something expires then."""
        self.next_expiry = min(self.next_expiry, time)

    def take_effects(self) -> Effects:
        effects, self._effects = self._effects, Effects()
        return effects
