"""The peer's side of the network: `peer.Peer` is what a program has of it, and `sync.SyncPeer` for scripts.

peer, engine              what an application calls, and what happens behind it
line, conversation        the connection, kept in the background; one connection from its first word on
memory, journal           what a peer remembers, and that on disk
inbox, notifications      what came, once and in order
sender, outcomes          what leaves, and what becomes of it
subscribing               what it asks for, the same here and at the access point
answering, files          what it does for others
downloads, queries        what it gets from others
refusals, errors          what can go wrong
"""
