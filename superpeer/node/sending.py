"""One table on its way over one link: what the one end said and what the other holds, in a view and from view to view.

Within a view messages are numbered, and who waits for the table to be in place waits for a number to be acknowledged.
Between views only the contents count: numbers and acknowledgements mean nothing in another view. A message of the old
view that came too late was dropped, so the end that listens may hold less than was said. It tells the digest of what
it holds, and the end that speaks looks for it among the last states of what it said. All that was acknowledged has been
received, so it need not look further back than that. If it finds nothing, it starts from the empty set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from qel import canonical_id
from superpeer.node.advertisements import written
from superpeer.node.digests import NOTHING, digest_of, total_after
from superpeer.node.routing_messages import ElementsChanged, QueriesChanged

Changed = TypeVar("Changed", ElementsChanged, QueriesChanged)


class Waiting:
    """Something to be done when some states have been acknowledged."""

    __slots__ = ("open", "then")

    def __init__(self, then: Callable[[], None]) -> None:
        self.open = 1  # held open by whoever collects the states, until all are known
        self.then = then

    def resolve(self) -> None:
        self.open -= 1
        if self.open == 0:
            self.then()


class Sending(Generic[Changed]):
    """One table that a neighbour is told."""

    __slots__ = ("_acknowledged", "_said", "_total", "_waiting", "sent")

    def __init__(self) -> None:
        self._total = 0
        self._said: deque[tuple[int, Changed]] = deque()
        """What is not acknowledged yet, each with the total before it."""
        self.begin_view()

    def begin_view(self) -> None:
        """Numbers start again, and nobody waits for those of the old view."""
        self.sent = 0
        self._acknowledged = 0
        self._waiting: dict[int, list[Waiting]] = {}

    @property
    def is_whole(self) -> bool:
        return self.sent > 0

    @property
    def digest(self) -> bytes:
        """The digest of all that was said."""
        return digest_of(self._total)

    def resume(self, held: bytes) -> list[Changed] | None:
        """Goes back to the state that the neighbour holds. Returns what was said since then, the latest first; or None,
        if there is no such state: then the table starts from nothing."""
        assert not self.is_whole, "the base of a table is settled before the table is told"
        unheard: list[Changed] = []
        while self.digest != held and self._said:
            self._total, message = self._said.pop()
            unheard.append(message)
        self._said.clear()
        if self.digest == held:
            return unheard
        self._total = 0
        return None

    def say(self, message: Changed) -> None:
        assert message.number == self.sent + 1, "what is said is numbered without gaps"
        self.sent = message.number
        self._said.append((self._total, message))
        self._total = _total_with(self._total, message)

    def wait(self, waiting: Waiting) -> None:
        """Until the present state has been acknowledged; before the whole table was sent, until that has been."""
        number = max(self.sent, 1)
        if self._acknowledged < number:
            waiting.open += 1
            self._waiting.setdefault(number, []).append(waiting)

    def acknowledge(self, number: int) -> None:
        assert self._acknowledged < number <= self.sent, "an acknowledgement is for what was sent, and comes once"
        while self._said and self._said[0][1].number <= number:
            self._said.popleft()
        while self._acknowledged < number:
            self._acknowledged += 1
            for waiting in self._waiting.pop(self._acknowledged, ()):
                waiting.resolve()


class Receiving(Generic[Changed]):
    """One table that a neighbour tells."""

    __slots__ = ("_total", "number")

    def __init__(self) -> None:
        self._total = 0
        self.begin_view()

    def begin_view(self) -> None:
        self.number = 0

    @property
    def is_whole(self) -> bool:
        return self.number > 0

    @property
    def digest(self) -> bytes:
        """The digest of all that is held."""
        return digest_of(self._total)

    def hear(self, message: Changed) -> bool:
        """Takes in the next message; whether it starts from nothing, so that what was held before is replaced."""
        assert message.number == self.number + 1, "links are first in, first out, and lossless"
        self.number = message.number
        replaces = message.number == 1 and message.base == NOTHING
        if replaces:
            self._total = 0
        elif message.number == 1:
            assert message.base == self.digest, "a neighbour starts from what it was told that is held here"
        self._total = _total_with(self._total, message)
        return replaces


def _total_with(total: int, message: ElementsChanged | QueriesChanged) -> int:
    if isinstance(message, ElementsChanged):
        return total_after(total, map(written, message.added), map(written, message.removed))
    added: Iterable[str] = map(canonical_id, message.added)
    return total_after(total, map(str.encode, added), map(str.encode, message.removed))
