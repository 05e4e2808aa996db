"""What a peer brings or publishes is taken whole, or refused and changes nothing."""

from __future__ import annotations

import copy

import pytest
from rdflib import DC, RDFS, Literal, URIRef

from auth import Identity, MigrationOrder
from auth.migration import order_migration
from superpeer.node.body import write_body
from superpeer.node.errors import BadPublication, BadRequest, LimitReached, Nonconforming, OutOfTurn, Refused
from superpeer.node.limits import Limits
from superpeer.node.publications import Kind
from superpeer.node.records import Subscription
from superpeer.node.requests import Bring
from superpeer.sim import Network, Peer

CREATORS = "X : t(X, dc:creator, Y)"
PAPER = URIRef("http://example.org/paper")
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


def test_what_follows_a_refusal_is_refused_until_the_peer_has_heard_of_it() -> None:
    """So no serial up to the last that was taken is one that the peer wrongly believes to be in the log."""
    net, peer = network(Limits(publications_per_second=1.0, publications_at_once=4))
    node, memory = net.super_peers[0].running_node, peer.memory
    body = write_body([(PAPER, DC.title, Literal("one"))])
    first, second, third, fourth = (memory.post(Kind.NEW, body) for _ in range(4))
    net.request(peer, memory.handing_in([first]))
    with pytest.raises(LimitReached):
        net.request(peer, memory.handing_in([second, third, fourth, fourth], first.serial))
    with pytest.raises(OutOfTurn, match=f"begin after {first.serial}"):
        net.request(peer, memory.handing_in([fourth], third.serial))
    assert node.state.peer(peer.id).last_serial == first.serial
    net.request(peer, memory.handing_in([second, third], first.serial))
    assert [one.draft.serial for one in node.state.log] == [first.serial, second.serial, third.serial]


def test_a_batch_is_taken_whole_or_not_at_all_and_the_refusal_names_what_it_is_about() -> None:
    net, peer = network(Limits(body_bytes=100))
    node, memory = net.super_peers[0].running_node, peer.memory
    good = write_body([(PAPER, DC.title, Literal("one"))])
    bad: dict[type[Refused], bytes] = {
        LimitReached: write_body([(PAPER, DC.title, Literal("x" * 100))]),
        Nonconforming: write_body([(PAPER, RDFS.label, Literal("one"))]),
        BadPublication: b"nonsense",
    }
    for kind, body in bad.items():
        postings = [memory.post(Kind.NEW, each) for each in (good, body, good)]
        with pytest.raises(kind) as refused:
            net.request(peer, memory.handing_in(postings))
        assert refused.value.serial == postings[1].serial
        assert not len(node.state.log)
    postings = [memory.post(Kind.NEW, good) for _ in range(3)]
    for wrong in ([postings[1], postings[0]], [postings[0], postings[0]]):
        with pytest.raises(BadRequest, match="serials"):
            net.request(peer, memory.handing_in(wrong))
    net.request(peer, memory.handing_in(postings))
    net.request(peer, memory.handing_in(postings))
    assert [one.draft.serial for one in node.state.log] == [one.serial for one in postings]
    for publication in node.state.log:
        net.verify(publication)


def test_a_rate_that_was_refused_on_a_broken_connection_is_no_acknowledgement() -> None:
    """Two batches are under way, the first is refused, and the connection breaks before either answer is there."""
    net, peer = network(Limits(publications_per_second=1.0, publications_at_once=2))
    node, memory = net.super_peers[0].running_node, peer.memory
    body = write_body([(PAPER, DC.title, Literal("one"))])
    postings = [memory.post(Kind.NEW, body) for _ in range(4)]
    with pytest.raises(LimitReached):
        net.request(peer, memory.handing_in(postings[:3]))
    with pytest.raises(OutOfTurn):
        net.request(peer, memory.handing_in(postings[3:], postings[2].serial))
    peer.disconnect()
    welcome, _ = node.connect(memory.attached.public_id, memory.attached.private_id, "a.example.org:1", net.time)
    assert memory.welcomed(welcome) == postings
