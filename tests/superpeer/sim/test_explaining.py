"""Why a subscription went where it went, and why a notification reached whom it reached."""

from __future__ import annotations

from hypercup import Faults
from superpeer.sim import Network, Peer
from tests.superpeer.sim.test_network import paper

CREATORS = "X : t(X, dc:creator, Y)"
NEJDL = 'X : t(X, dc:creator, Y) & Y contains "Nejdl"'


def test_a_subscription_says_what_covers_it_where_it_went_and_what_hides_it() -> None:
    net = Network(super_peers=8, seed=1)
    library, neighbour, reader = net.add_peer(at=7), net.add_peer(at=0), net.add_peer(at=0)
    library.advertise(properties=["dc:creator", "dc:date"])
    neighbour.advertise(schemas=["dc:"])
    reader.subscribe(NEJDL, "narrow")
    net.run()
    explained = net.explain_subscription(reader, "narrow")
    assert explained.is_active
    assert explained.local_publishers == (neighbour.id,)
    assert explained.covered_by == ()
    (forwarded,) = [one for one in explained.links if one.is_forwarded]
    assert forwarded.is_covered
    assert ("property", "http://purl.org/dc/elements/1.1/creator") in forwarded.elements
    assert all(not one.is_covered for one in explained.links if one is not forwarded)
    reader.subscribe(CREATORS, "wide")
    net.run()
    explained = net.explain_subscription(reader, "narrow")
    assert explained.covered_by == (CREATORS,)
    (hidden,) = [one for one in explained.links if one.is_covered]
    assert (hidden.is_forwarded, hidden.hidden_by) == (False, CREATORS)


def test_a_notification_is_followed_step_by_step() -> None:
    net = Network(super_peers=8, seed=1)
    library, reader, other = net.add_peer(at=7), net.add_peer(at=0), net.add_peer(at=3)
    library.advertise(schemas=["dc:"])
    reader.subscribe(CREATORS)
    other.subscribe('X : t(X, dc:creator, Y) & Y contains "else"', "somebody else")
    net.run()
    published = library.publish(paper(1, "Nejdl"))
    net.run()
    explained = net.explain_notification(published, reader)
    assert explained.reached
    assert explained.reason == "sp0 put it into the peer's queue"
    assert explained.is_acknowledged
    path = net.super_peers[7].running_node.view.backbone.path(net.super_peers[0].key, net.super_peers[7].key)  # type: ignore[union-attr]
    assert [hop.super_peer for hop in explained.hops] == path[::-1]
    assert net.explain_notification(published, other).reason == "none of its subscriptions matches"
    assert net.explain_notification(published).reached is None


def test_it_says_why_a_notification_did_not_reach_a_peer() -> None:
    net = Network(super_peers=4, seed=1, faults=Faults(min_delay_s=1.0, max_delay_s=1.0))
    library, reader = net.add_peer(at=3), net.add_peer(at=0)
    reader.subscribe(CREATORS, "late")
    net.run()
    library.advertise(schemas=["dc:"])
    early = library.publish(paper(1, "a"))
    assert "waits until its advertisements are in place" in _reason(net, early, reader)
    net.run()
    library.publish(paper(2, "a"))
    reader.pause("late")
    net.run()
    paused = library.publish(paper(3, "a"))
    net.run()
    assert _reason(net, paused, reader) == "its subscription 'late' matches, but is paused"
    reader.resume("late")
    net.run()
    under_way = library.publish(paper(4, "a"))
    net.run(0.5)
    assert "on its way from sp3" in _reason(net, under_way, reader)
    net.run()
    net.crash(0)
    net.run(60)
    missed = library.publish(paper(5, "a"))
    net.run(10)
    assert "sp0 is down; its queues catch up with sp3" in _reason(net, missed, reader)
    net.restart(0)
    net.run()
    assert _reason(net, missed, reader) == "the queue has got it by catching up with sp3"


def _reason(net: Network, publication: str, reader: Peer) -> str:
    return net.explain_notification(publication, reader).reason
