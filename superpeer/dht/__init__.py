"""The hash-placed systems: subscriptions stored where their values hash to, instead of routed by selective broadcast.

`table` says what a hash table is; `chord` and `cube_table` are two. `simulation` carries and counts messages over one.
`strategy` says what a system does; `strings` (DHTStrings), `intervals` (IIM), `words` (DHTrie) and `triples` (RDFPeers)
are four, for the same QEL. `network` puts super-peers and peers around one, and `lab` compares them all, selective
broadcast included.
"""
