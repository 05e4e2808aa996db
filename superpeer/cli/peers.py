"""Opening a peer for the time of a command.

The peer of a directory runs once: while `superpeer listen` has it, another command on the same directory is refused
with a sentence that says so.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from superpeer.cli.choosing import Chosen, NothingChosen, choose, passphrase_for
from superpeer.cli.keys import PEER_KEY_FILE
from superpeer.cli.output import complain
from superpeer.errors import SuperpeerError

if TYPE_CHECKING:
    from superpeer.client.peer import Peer

Result = TypeVar("Result")
PATIENCE_S = 30.0


class ElsewhereAttached(SuperpeerError):
    """The peer is attached to another super-peer than the one that was named."""


def with_peer(
    work: Callable[[Peer], Awaitable[Result]],
    *,
    context: str = "",
    super_peer: str = "",
    directory: str = "",
    timeout: float = PATIENCE_S,
    connects: bool = False,
) -> Result:
    """Open the peer that is meant, do the work, and close it. What needs its super-peer `connects` first."""
    from superpeer.net import run

    async def opened_for_work() -> Result:
        chosen = choose(context, super_peer=super_peer, directory=directory)
        async with opened(chosen, is_named=bool(super_peer), timeout=timeout) as peer:
            if connects:
                await connected(peer, timeout)
            return await work(peer)

    return run(opened_for_work())


@asynccontextmanager
async def opened(chosen: Chosen, *, is_named: bool = False, timeout: float = PATIENCE_S) -> AsyncIterator[Peer]:
    """The peer that a command is about, with what the library has to say on standard error."""
    from superpeer.client.peer import Peer

    directory = chosen.directory
    if not chosen.super_peer and not directory.exists():
        raise NothingChosen(
            "there is no peer yet; say which super-peer to attach to, with --super-peer HOST:PORT#KEY or a context"
        )
    passphrase = passphrase_for(directory / PEER_KEY_FILE)
    with _heard_library():
        async with Peer.open(directory, chosen.super_peer or None, passphrase, patience_s=timeout) as peer:
            if is_named and peer.access_point.partition("#")[2] != chosen.super_peer.partition("#")[2]:
                raise ElsewhereAttached(
                    f"this peer is at {peer.access_point}; to go to another super-peer use `superpeer migrate`"
                )
            yield peer
            if peer.lost:
                complain(f"{peer.lost:,} notifications expired before this peer could get them")


async def connected(peer: Peer, timeout: float) -> None:
    """Wait for the super-peer, and no longer than that."""
    import asyncio

    from superpeer.client.errors import NoAnswer

    try:
        async with asyncio.timeout(timeout):
            await peer.connected()
    except TimeoutError:
        raise NoAnswer(peer.access_point, timeout, peer.problem, "nothing was changed; try again") from None


class _Complaints(logging.Handler):
    """What the library warns of, as sentences of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


@contextmanager
def _heard_library() -> Iterator[None]:
    log, handler = logging.getLogger("superpeer"), _Complaints(logging.WARNING)
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = True
