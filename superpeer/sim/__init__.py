"""A whole network in one process, in virtual time, from one seed: super-peers, their peers, and what goes wrong.

net = Network(super_peers=8, seed=1)
library, reader = net.add_peer(at=0), net.add_peer(at=5)
library.advertise(schemas=["dc:"])
reader.subscribe('X : t(X, dc:creator, Y) & Y contains "Nejdl"')
net.run()
library.publish(triples)
net.run()
reader.inbox
"""

from superpeer.sim.network import Network, SuperPeer
from superpeer.sim.peer import Notification, Peer

__all__ = ["Network", "Notification", "Peer", "SuperPeer"]
