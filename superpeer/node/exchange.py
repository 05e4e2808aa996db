"""The same view on both ends: when a link carries routing traffic.

A super-peer that enters a view announces it to its neighbours in it, and with it what it still holds of what they said
in former ones. It sends routing messages to a neighbour only while that one's latest announcement is the view that it
is in itself; until then they wait. Messages carry the view that they belong to, and whoever is in another one drops
them: their sender is about to learn the new view, and will do it again. So what was announced stays true until the
first message in that view. Nobody returns to an old view, and a new life of a super-peer is in a new view, so an
announcement is never mistaken for an earlier one, and one that comes before its receiver has got so far is good when
it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from superpeer.node.routing_messages import Held

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Announced:
    """The sender is in this view from now on, and holds this of what the receiver said in former ones."""

    view: bytes
    held: Held


@dataclass(frozen=True, slots=True)
class InView(Generic[Content]):
    """A message that means something in one view only."""

    view: bytes
    content: Content


class Exchange(Generic[Content]):
    """What one super-peer says to its neighbours, view by view."""

    def __init__(self) -> None:
        self.view = b""
        self.dropped = 0
        self._announced: dict[bytes, Announced] = {}
        self._waiting: dict[bytes, list[Content]] = {}

    @property
    def present(self) -> dict[bytes, Held]:
        """The neighbours that are in this view, as far as they have said so, and what they hold."""
        heard = ((neighbour, self._announced.get(neighbour)) for neighbour in self._waiting)
        return {neighbour: said.held for neighbour, said in heard if said is not None and said.view == self.view}

    def enter(self, view: bytes, held: Mapping[bytes, Held]) -> list[tuple[bytes, Announced | InView[Content]]]:
        """Goes over to a view, with the neighbours in it and what is held of theirs; what was to be said in the old
        one is forgotten."""
        self.view = view
        self._waiting = {neighbour: [] for neighbour in held}
        return [(neighbour, Announced(view, of_theirs)) for neighbour, of_theirs in held.items()]

    def say(self, neighbour: bytes, content: Content) -> list[tuple[bytes, Announced | InView[Content]]]:
        """What has to be sent so that a neighbour gets a message in this view."""
        announced = self._announced.get(neighbour)
        if announced is not None and announced.view == self.view:
            return [(neighbour, InView(self.view, content))]
        self._waiting[neighbour].append(content)
        return []

    def hear_announcement(
        self, neighbour: bytes, announced: Announced
    ) -> list[tuple[bytes, Announced | InView[Content]]]:
        """Notes where a neighbour is, and says what waited for that."""
        self._announced[neighbour] = announced
        if announced.view != self.view or neighbour not in self._waiting:
            return []
        waiting, self._waiting[neighbour] = self._waiting[neighbour], []
        return [(neighbour, InView(self.view, content)) for content in waiting]

    def hear(self, message: InView[Content]) -> Content | None:
        """The content of a message of the present view; None for one of another."""
        if message.view == self.view:
            return message.content
        self.dropped += 1
        return None
