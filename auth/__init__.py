"""Identity: keys, registration, challenge and the sealed channel between a peer and its access point.

A peer is an Ed25519 key pair, not an address. This package knows neither the network nor the node above it.
"""
