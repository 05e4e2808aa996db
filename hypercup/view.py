"""Views: a backbone together with the incarnations of its members.

A link carries routing traffic only while both its ends have announced the same view. So the id of a view has
to be the same for any two members that know the same living entries, and different when a member, an
incarnation or a place differs. It is a digest of exactly these: a claim that confirms the place a member
already has changes no id, and no traffic stops for it.

And nobody may return to a view, or messages of its first time would be taken for those of its second. Members and
places do come again: somebody joins and dies, and all is as before. So the id covers the members' *epochs*, too.
Whoever sees another go (pronounces it dead, or takes its farewell) raises its own epoch with the news; and whoever
comes to a view that it has been in raises its epoch then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from hypercup.backbone import Backbone, Kind, Position
from hypercup.label import Label
from hypercup.table import Table

VIEW_ID_BYTES = 16


@dataclass(frozen=True, eq=False)
class View:
    """Who is in, in which incarnation, and how they are linked."""

    id: bytes
    incarnations: Mapping[bytes, int]
    backbone: Backbone

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, View) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __len__(self) -> int:
        return len(self.incarnations)

    def __contains__(self, member: object) -> bool:
        return member in self.incarnations

    def position(self, member: bytes) -> Position:
        return self.backbone.position(member)


class Views:
    """Makes views from tables. Views are pure functions of the living entries, so a few are remembered by
    the digest of these, and members that run in one process may share this object."""

    def __init__(self, kind: Kind, remembered: int = 16) -> None:
        self.kind = kind
        self._remembered = remembered
        self._views: OrderedDict[bytes, View] = OrderedDict()

    def view(self, table: Table) -> View:
        view = self._views.get(table.digest)
        if view is None:
            view = make_view(self.kind, table)
            # A claim that confirms a place changes the entries and not the view: the known one is kept, and
            # with it the positions that were worked out.
            view = next((known for known in self._views.values() if known.id == view.id), view)
            self._views[table.digest] = view
            if len(self._views) > self._remembered:
                self._views.popitem(last=False)
        else:
            self._views.move_to_end(table.digest)
        return view


def make_view(kind: Kind, table: Table) -> View:
    """The view of one table."""
    living = {entry.key: entry for entry in table.living}
    backbone = kind.build(living.values())
    hashed = blake2b(digest_size=VIEW_ID_BYTES, person=b"hypercup view 1")
    hashed.update(kind.name.encode())
    for key in sorted(living):
        place = backbone.place(key)
        written = str(place) if isinstance(place, Label) else place
        hashed.update(msgspec.msgpack.encode((key, living[key].incarnation, living[key].epoch, written)))
    return View(hashed.digest(), {key: entry.incarnation for key, entry in living.items()}, backbone)
