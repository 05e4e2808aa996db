"""Resources that a peer asked for: they come when their owners have been there, perhaps after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from superpeer.client.errors import FetchFailed


class Owner(NamedTuple):
    """Who has a resource: a peer's public id, and the key of the super-peer where it was."""

    public_id: str
    access_point: bytes


@dataclass(frozen=True)
class KeptDownload:
    """As it is on disk."""

    id: str
    resource: str
    owner: str
    owner_at: bytes
    content: bytes | None = None
    failure: str = ""

    @property
    def is_open(self) -> bool:
        return self.content is None and not self.failure


class Download:
    """A resource on its way."""

    def __init__(self, kept: KeptDownload, taken: Callable[[str], None]) -> None:
        """`taken` is told its id when the application has it, or knows that it will not come."""
        self._kept = kept
        self._taken = taken
        self._ended = asyncio.Event()
        if not kept.is_open:
            self._ended.set()

    def __repr__(self) -> str:
        state = "on its way" if self._kept.is_open else self._kept.failure or f"{len(self._kept.content or b'')} bytes"
        return f"<Download {self.resource}: {state}>"

    @property
    def id(self) -> str:
        return self._kept.id

    @property
    def resource(self) -> str:
        return self._kept.resource

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    @property
    def kept(self) -> KeptDownload:
        return self._kept

    async def content(self) -> bytes:
        """Waits for it, for as long as it takes; raises `FetchFailed` if it comes to nothing. It is on the peer's disk
        until then, also over restarts (see `Peer.downloads`), and no longer."""
        await self._ended.wait()
        self._taken(self.id)
        if self._kept.content is None:
            raise FetchFailed(self.resource, self._kept.failure)
        return self._kept.content

    def end(self, content: bytes | None, failure: str = "") -> None:
        self._kept = replace(self._kept, content=content, failure=failure)
        self._ended.set()
