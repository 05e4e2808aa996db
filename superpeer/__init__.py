"""Superpeer: publish/subscribe for RDF over a backbone of super-peers.

This package is the node and what runs it. The language, the topology and the identities it builds on are
packages of their own: `qel`, `hypercup` and `auth`.

    from superpeer import Peer, SyncPeer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from superpeer.client.peer import Peer
    from superpeer.client.sync import SyncPeer

__all__ = ["Peer", "SyncPeer", "__version__"]
__version__ = "0.1.0"

_MODULES = {"Peer": "superpeer.client.peer", "SyncPeer": "superpeer.client.sync"}


def __getattr__(name: str) -> Any:
    """The client library is imported when it is asked for: a command that does not use it need not wait for it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
