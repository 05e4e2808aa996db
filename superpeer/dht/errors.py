"""What can be asked wrongly of the hash-placed systems.

DhtError                    of a hash table, a network or an experiment, as things are
├── UnsupportedQuery        a query that the system cannot place
└── UnsupportedOperation    something that only networks with selective broadcast do
"""

from __future__ import annotations

from superpeer.errors import SuperpeerError


class DhtError(SuperpeerError):
    """Something was asked of a hash table or a simulated network that it cannot do as things are."""


class UnsupportedQuery(DhtError):
    """A strategy cannot place a query. Its text says which part, and what the strategy can place."""


class UnsupportedOperation(DhtError, AttributeError):
    """Hash-placed networks do not have this. Also an AttributeError, so that `hasattr` says so."""

    @classmethod
    def of(cls, what: object, name: str) -> UnsupportedOperation:
        able = ", ".join(sorted(one for one in vars(type(what)) if not one.startswith("_")))
        return cls(f"hash-placed subscriptions go without {name!r}; a {type(what).__name__} has {able}")
