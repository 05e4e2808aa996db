"""What went over connections, and what was refused, as numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from superpeer.net.errors import Reason


@dataclass(slots=True)
class Counters:
    """Of one connection, or of many together. Bytes are those of TCP, encryption included."""

    connections: int = 0
    """Connections whose handshake was completed."""
    frames_in: int = 0
    frames_out: int = 0
    messages_in: int = 0
    messages_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    refused: Counter[Reason] = field(default_factory=Counter)
    """How often the other end was refused, by kind."""

    def add(self, other: Counters) -> None:
        for each in fields(self):
            if each.name != "refused":
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        self.refused.update(other.refused)
