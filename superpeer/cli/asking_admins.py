"""Asking a running super-peer as its admin: over the socket on its machine, or from elsewhere with an admin's key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from superpeer.cli.choosing import NothingChosen, choose, passphrase_for
from superpeer.errors import SuperpeerError

if TYPE_CHECKING:
    from superpeer.daemon.admin import AdminClient
    from superpeer.daemon.admin_messages import AdminRequest

ADMIN_SOCKET = "admin.socket"


class NoSuperPeer(SuperpeerError):
    """Nobody answers at the admin socket."""


def ask(
    request: AdminRequest, *, context: str = "", super_peer: str = "", admin_socket: str = "", admin_key: str = ""
) -> Any:
    """The report, as plain values."""
    from superpeer.net import run

    async def asked() -> Any:
        async with await _client(context, super_peer, admin_socket, admin_key) as client:
            return await client.ask(request)

    return run(asked())


async def _client(context: str, super_peer: str, admin_socket: str, admin_key: str) -> AdminClient:
    from auth import load_identity
    from superpeer.daemon.admin import AdminClient
    from superpeer.daemon.config import parse_contact
    from superpeer.daemon.errors import AdminError

    chosen = choose(context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key).context
    if chosen.admin_socket:
        path = Path(chosen.admin_socket).expanduser()
        try:
            return await AdminClient.local(path / ADMIN_SOCKET if path.is_dir() else path)
        except AdminError as error:
            raise NoSuperPeer(str(error)) from error
    if chosen.admin_key and chosen.super_peer:
        key_file = Path(chosen.admin_key).expanduser()
        identity = load_identity(key_file, passphrase_for(key_file))
        return await AdminClient.remote(identity, parse_contact(chosen.super_peer))
    raise NothingChosen(
        "say which super-peer to ask: --admin-socket PATH for one on this machine, or --super-peer HOST:PORT#KEY "
        "with --admin-key FILE; `superpeer context add` remembers either"
    )
