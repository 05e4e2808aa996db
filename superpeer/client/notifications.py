"""Notifications, as an application has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from auth import PublicKey
from superpeer.client.downloads import Owner
from superpeer.client.told import Told


@dataclass(frozen=True)
class NotificationContent(Told):
    """What an application reads of a notification."""

    read_cursor: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def access_point(self) -> PublicKey:
        """The super-peer that it was published at."""
        return PublicKey(self.publication.origin)

    @property
    def published_at(self) -> float:
        """In seconds since the epoch, by the clock of that super-peer."""
        return self.publication.published_at

    @property
    def owner(self) -> Owner:
        """Whom to ask for a resource that it speaks of: see `Peer.fetch`."""
        return Owner(self.publisher, self.publication.origin)

    @property
    def subject(self) -> Any:
        return self.triples[0][0]

    @property
    def cursor(self) -> bytes:
        """Everything up to and including this notification: to be stored with what the application makes of it, and
        given to `Peer.notifications(after=...)` the next time. Ask for it before the next notification."""
        return self.read_cursor()


@dataclass(frozen=True)
class Notification(NotificationContent):
    """One that waits to be acknowledged."""

    acknowledge_it: Callable[[], Awaitable[None]] = field(repr=False, compare=False)

    async def acknowledge(self) -> None:
        """Says that the application has dealt with it: it will not come again, also if the process is killed now."""
        await self.acknowledge_it()
