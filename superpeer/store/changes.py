"""What a store takes besides the records of a node: membership entries, and settings."""

from __future__ import annotations

import msgspec

from hypercup import Entry
from superpeer.node.records import Record


class EntryDropped(msgspec.Struct, frozen=True):
    """A member is no acquaintance any more."""

    key: bytes


class Setting(msgspec.Struct, frozen=True):
    """Something small under a name; None takes it away."""

    name: str
    value: bytes | None


Change = Record | Entry | EntryDropped | Setting
