"""Traces: what a super-peer did with the last publications that passed through it, for those who ask why."""

from __future__ import annotations

from dataclasses import dataclass

from hypercup import Link
from superpeer.node.publications import Publication

REMEMBERED = 4_096


@dataclass(frozen=True, slots=True)
class Step:
    """A publication came in on a link (None: from a local peer) and went on to others and to local peers."""

    at: float
    came_from: Link | None
    sent_to: tuple[Link, ...]
    matched: tuple[str, ...]
    held_back: tuple[str, ...]
    """Local peers whose queues were catching up with the origin."""


class Traces:
    """The steps of the last publications, by their ids; sent again, a publication has several."""

    def __init__(self) -> None:
        self._steps: dict[bytes, list[Step]] = {}

    def note(self, publication: Publication, step: Step) -> None:
        key = _key(publication)
        if key not in self._steps and len(self._steps) >= REMEMBERED:
            del self._steps[next(iter(self._steps))]
        self._steps.setdefault(key, []).append(step)

    def of(self, publication: Publication) -> tuple[Step, ...]:
        return tuple(self._steps.get(_key(publication), ()))


def _key(publication: Publication) -> bytes:
    return publication.draft.publisher.raw + publication.draft.serial.to_bytes(8, "big")
