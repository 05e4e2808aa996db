"""What can be asked wrongly of the hash-placed systems."""

from superpeer.errors import SuperpeerError


class DhtError(SuperpeerError):
    """Something was asked of a hash table or a simulated network that it cannot do as things are."""


class UnsupportedQuery(DhtError):
    """A strategy cannot place a query. Its text says which part, and what the strategy can place."""
