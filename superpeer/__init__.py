"""Superpeer: publish/subscribe for RDF over a backbone of super-peers.

This package is the node and what runs it. The language, the topology and the identities it builds on are
packages of their own: `qel`, `hypercup` and `auth`.
"""

__version__ = "0.1.0"
