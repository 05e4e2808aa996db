"""What a peer asks for: the same on its own disk and at its access point.

The peer's disk is what counts. A change is written there first; when the connection comes back after it was cut, the
two are compared, and the access point is told what it does not know. So a subscription outlives either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import blake2b

import msgspec

import qel
from superpeer.client.conversation import Conversation
from superpeer.client.journal import Journal
from superpeer.client.refusals import REFUSALS
from superpeer.node.errors import BadRequest
from superpeer.node.records import Subscription
from superpeer.node.requests import (
    ListSubscriptions,
    Pause,
    Renew,
    Reply,
    Request,
    Resume,
    Subscribe,
    Subscribed,
    SubscriptionList,
    SubscriptionStatus,
    Unsubscribe,
)

Ask = Callable[[Request], Awaitable[Reply]]


class PeerSubscription:
    """A subscription that the access point has accepted."""

    def __init__(self, name: str, is_servable: bool, wait_until_active: Callable[[str], Awaitable[None]]) -> None:
        self.name = name
        self.is_servable = is_servable
        """Whether anybody advertised what it asks for, as far as the access point knew."""
        self._wait_until_active = wait_until_active

    def __repr__(self) -> str:
        return f"<PeerSubscription {self.name!r}{'' if self.is_servable else ', nobody advertises it yet'}>"

    async def active(self) -> None:
        """Wait until everything that is published from then on, anywhere, and matches, will arrive."""
        await self._wait_until_active(self.name)


class Subscribing:
    """The subscriptions of one peer."""

    def __init__(self, journal: Journal, ask: Ask, now: Callable[[], float]) -> None:
        self._journal = journal
        self._ask = ask
        self._now = now
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    async def subscribe(
        self, text: str, name: str | None, since: float | None, lasts: float | None
    ) -> PeerSubscription:
        qel.require_satisfiable(qel.parse(text))
        name = name or default_name(text)
        before = self._journal.memory.subscriptions.get(name)
        if before is not None and before.text == text and since in (None, before.since):
            # The same again, as after a restart: asking anew would forget since when it is asked for.
            if lasts is not None:
                await self.renew(name, lasts)
            status = await self._status(name)
            if status is not None:
                return PeerSubscription(name, status.is_servable, self.wait_until_active)
        now = self._now()
        wanted = Subscription(name, text, now, None if lasts is None else now + lasts, since=since)
        reply = await self._change(name, before, wanted, Subscribe(name, text, since, lasts))
        assert isinstance(reply, Subscribed)
        return PeerSubscription(name, reply.is_servable, self.wait_until_active)

    async def unsubscribe(self, name: str) -> None:
        self._known(name)
        self._journal.unsubscribe(name)
        # That the access point does not know it is what was wanted: it may have been told when the connection was made.
        with suppress(BadRequest):
            await self._ask(Unsubscribe(name))

    async def pause(self, name: str) -> None:
        before = self._known(name)
        await self._change(name, before, msgspec.structs.replace(before, is_paused=True), Pause(name))

    async def resume(self, name: str) -> None:
        before = self._known(name)
        accepted_at = self._now() if before.is_paused else before.accepted_at
        after = msgspec.structs.replace(before, is_paused=False, accepted_at=accepted_at)
        await self._change(name, before, after, Resume(name))

    async def renew(self, name: str, lasts: float | None) -> None:
        before = self._known(name)
        expires_at = None if lasts is None else self._now() + lasts
        await self._change(name, before, msgspec.structs.replace(before, expires_at=expires_at), Renew(name, lasts))

    async def list(self) -> list[SubscriptionStatus]:
        reply = await self._ask(ListSubscriptions())
        assert isinstance(reply, SubscriptionList)
        return list(reply.subscriptions)

    async def wait_until_active(self, name: str) -> None:
        self._known(name)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, []).append(waiter)
        try:
            # It may have been told before anybody waited.
            status = await self._status(name)
            if status is None or not status.is_active:
                await waiter
        finally:
            self._waiting[name].remove(waiter)
            if not self._waiting[name]:
                del self._waiting[name]

    def on_active(self, name: str) -> None:
        for waiter in self._waiting.get(name, ()):
            if not waiter.done():
                waiter.set_result(None)

    def on_expired(self, name: str) -> None:
        self._journal.unsubscribe(name)
        for waiter in self._waiting.get(name, ()):
            if not waiter.done():
                waiter.set_exception(BadRequest(f"the subscription {name!r} has expired; subscribe again"))

    async def reconcile(self, conversation: Conversation, known_there: tuple[str, ...]) -> None:
        """Tell an access point that is the same as before what it does not know."""
        wanted = self._journal.memory.subscriptions
        if not wanted and not known_there:
            return
        reply = await conversation.ask(ListSubscriptions())
        assert isinstance(reply, SubscriptionList)
        there = {one.subscription.name: one for one in reply.subscriptions}
        for name in there.keys() - wanted.keys():
            await conversation.ask(Unsubscribe(name))
        for name, one in list(wanted.items()):
            status = there.get(name)
            if status is None or (status.subscription.text, status.subscription.since) != (one.text, one.since):
                lasts = None if one.expires_at is None else one.expires_at - conversation.now
                if lasts is not None and lasts <= 0:
                    self.on_expired(name)
                    continue
                await conversation.ask(Subscribe(name, one.text, one.since, lasts))
                status = None
            if one.is_paused != (status is not None and status.subscription.is_paused):
                await conversation.ask(Pause(name) if one.is_paused else Resume(name))
            elif status is not None:
                self._journal.subscribe(status.subscription)  # With its times, as the access point keeps them.
            if status is not None and status.is_active:
                self.on_active(name)

    async def _status(self, name: str) -> SubscriptionStatus | None:
        return next((one for one in await self.list() if one.subscription.name == name), None)

    async def _change(self, name: str, before: Subscription | None, after: Subscription, request: Request) -> Reply:
        self._journal.subscribe(after)
        try:
            return await self._ask(request)
        except REFUSALS:
            if before is None:
                self._journal.unsubscribe(name)
            elif name in self._journal.memory.subscriptions:  # It may have expired meanwhile.
                self._journal.subscribe(before)
            raise

    def _known(self, name: str) -> Subscription:
        found = self._journal.memory.subscriptions.get(name)
        if found is None:
            raise BadRequest(f"there is no subscription {name!r}; list those that there are")
        return found


def default_name(text: str) -> str:
    """The same for the same text: who asks again asks for the same subscription."""
    return "query-" + blake2b(text.strip().encode(), digest_size=8).hexdigest()
