"""Notifications for nodes that are not there, until they return.

Whoever owns the key where a node's mail is left (`HashTable.mail_key`, on Chord the node's own identifier, so that its
successor has it) holds a box for it. Boxes follow their keys when nodes join and leave; a crash destroys those that the
node held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from superpeer.dht.publication import Publication

Box = dict[tuple[str, str], Publication]
"""By subscription and publication, so that each is kept once."""


class Mail:
    """All boxes of a network, by holder and home."""

    def __init__(self) -> None:
        self._boxes: dict[int, dict[int, Box]] = {}

    def leave(self, holder: int, home: int, names: Iterable[str], publication: Publication) -> None:
        box = self._boxes.setdefault(holder, {}).setdefault(home, {})
        for name in names:
            box[name, publication.id] = publication

    def collect(self, holder: int, home: int) -> Box:
        return self._boxes.get(holder, {}).pop(home, {})

    def hand_over(self, donor: int, holder_of: Callable[[int], int]) -> dict[int, int]:
        """The boxes that a node holds no longer go to others; to whom, and how many bytes."""
        takers: dict[int, int] = {}
        boxes = self._boxes.get(donor, {})
        for home in list(boxes):
            holder = holder_of(home)
            if holder != donor:
                box = boxes.pop(home)
                self._boxes.setdefault(holder, {}).setdefault(home, {}).update(box)
                takers[holder] = takers.get(holder, 0) + sum(publication.size_bytes for publication in box.values())
        return takers

    def lose(self, holder: int) -> bool:
        """A holder is gone with its boxes; whether it had any."""
        return bool(self._boxes.pop(holder, None))
