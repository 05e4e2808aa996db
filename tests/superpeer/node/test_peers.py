"""What a peer brings is taken whole, or refused and changes nothing."""

from __future__ import annotations

import copy

import pytest

from auth import Identity, MigrationOrder
from auth.migration import order_migration
from superpeer.node.errors import BadRequest, LimitReached
from superpeer.node.limits import Limits
from superpeer.node.records import Subscription
from superpeer.node.requests import Bring
from superpeer.sim import Network, Peer

CREATORS = "X : t(X, dc:creator, Y)"
OTHER = Subscription("other", CREATORS, 0.0)


def network(limits: Limits | None = None) -> tuple[Network, Peer]:
    net = Network(super_peers=1, seed=1, limits=limits or Limits())
    peer = net.add_peer(at=0)
    peer.advertise(schemas=["dc:"])
    peer.subscribe(CREATORS, "mine")
    net.run()
    return net, peer


def test_an_element_that_is_none_leaves_everything_as_it_was() -> None:
    net, peer = network()
    node = net.super_peers[0].running_node
    before = copy.deepcopy(node.state.peer(peer.id))
    for element in (("range", "p", "2", "1"), ("range", "p", "one", ""), ("nothing", "p"), ("schema", "a", "b")):
        with pytest.raises(BadRequest):
            net.request(peer, Bring((OTHER,), (element,), (), ()))
        assert node.state.peer(peer.id) == before
    net.request(peer, Bring((OTHER,), (("property", "p"),), (), ()))
    assert node.state.peer(peer.id) != before


def test_orders_are_limited_like_marks() -> None:
    net, peer = network(Limits(marks_per_peer=3))
    node = net.super_peers[0].running_node

    def order(number: int) -> MigrationOrder:
        old, attached = Identity(bytes([number]) * 32).public, peer.memory.attached
        return order_migration(peer.memory.identity, attached.public_id, old, attached.access_point, 9, 0.0, 60)

    net.request(peer, Bring((), None, (), (order(1), order(2))))
    net.request(peer, Bring((), None, (), (order(1), order(2))))
    with pytest.raises(LimitReached, match="migration orders: the limit is 3"):
        net.request(peer, Bring((), None, (), (order(3), order(4))))
    assert len(node.state.peer(peer.id).orders) == 2
