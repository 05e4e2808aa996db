"""The backbone of super-peers. Its errors have one root."""

from hypercup.errors import HypercupError

__all__ = ["HypercupError"]
