"""Peers that move, and peers whose super-peer is gone: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import pytest

from superpeer.node.errors import NotHere
from superpeer.sim import Network, Peer
from superpeer.sim.errors import SimulationError
from tests.superpeer.sim.test_network import paper

CREATORS = "X : t(X, dc:creator, Y)"


def network() -> tuple[Network, Peer, Peer]:
    net = Network(super_peers=5, seed=7)
    library, reader = net.add_peer(at=0), net.add_peer(at=1)
    library.advertise(schemas=["dc:"])
    reader.subscribe(CREATORS)
    net.run()
    return net, library, reader


def test_what_waits_at_the_old_access_point_comes_along() -> None:
    net, library, reader = network()
    first = library.publish(paper(1, "a"))
    net.run()
    reader.disconnect()
    waiting = [library.publish(paper(i, "a")) for i in range(2, 6)]
    net.run()
    reader.migrate(to=4)
    meanwhile = library.publish(paper(6, "a"))
    net.run()
    after = library.publish(paper(7, "a"))
    net.run()
    assert [note.id for note in reader.inbox] == [first, *waiting, meanwhile, after]
    assert reader.id not in net.super_peers[1].running_node.state.peers
    assert not reader.memory.formers
    assert net.counters["HandOverAsked"] == 1


def test_a_peer_keeps_its_public_id_and_gets_another_private_id() -> None:
    net, _, reader = network()
    public_id, private_id = reader.id, reader.memory.attached.private_id
    reader.migrate(to=4)
    net.run()
    assert reader.id == public_id
    assert reader.memory.attached.private_id != private_id


def test_a_peer_that_is_being_handed_over_cannot_connect_where_it_was() -> None:
    net, _, reader = network()
    old, before = net.super_peers[1], reader.memory.attached
    reader.migrate(to=4)
    for _ in range(1_000):
        kept = old.running_node.state.peers.get(reader.id)
        if kept is None or kept.handing_over is not None:
            break
        net.run(0.01)
    assert kept is not None
    with pytest.raises(NotHere, match="moving to another access point"):
        old.running_node.connect(before.public_id, before.private_id, "elsewhere", net.clock(old))
    net.run()
    assert reader.is_active("subscription 1")


def test_the_old_access_point_may_be_down_and_come_back_later() -> None:
    net, library, reader = network()
    first = library.publish(paper(1, "a"))
    net.run()
    reader.disconnect()
    waiting = library.publish(paper(2, "a"))
    net.run()
    net.crash(1)
    reader.migrate(to=2)
    net.run()
    assert [note.id for note in reader.inbox] == [first, waiting]
    net.restart(1)
    net.run()
    last = library.publish(paper(3, "a"))
    net.run()
    assert [note.id for note in reader.inbox] == [first, waiting, last]
    assert reader.id not in net.super_peers[1].running_node.state.peers


def test_the_old_access_point_may_never_return() -> None:
    net, library, reader = network()
    library.publish(paper(1, "a"))
    net.run()
    net.crash(1, disk=False)
    missed = [library.publish(paper(i, "a")) for i in (2, 3)]
    net.run(30)
    reader.migrate(to=3)
    net.run()
    assert [note.id for note in reader.inbox][1:] == missed


def test_a_publisher_hands_on_what_the_network_has_not_acknowledged() -> None:
    net, library, reader = network()
    net.partition([[1, 2, 3, 4], [0]])
    published = library.publish(paper(1, "a"))
    assert list(library.memory.outbox) == [1]
    net.crash(0, disk=False)
    library.migrate(to=2)
    net.run()
    assert [note.id for note in reader.inbox] == [published]
    assert not library.memory.outbox


def test_what_was_published_at_two_access_points_comes_once() -> None:
    net, library, reader = network()
    net.partition([[1, 2, 3, 4], [0]])
    published = [library.publish(paper(i, "a")) for i in (1, 2)]
    library.migrate(to=2)
    published.append(library.publish(paper(3, "a")))
    net.run()
    assert [note.id for note in reader.inbox] == published
    net.heal()
    net.run()
    assert {publication.id for publication in net.super_peers[0].running_node.state.log} == set(published[:2])
    published.append(library.publish(paper(4, "a")))
    net.run()
    assert [note.id for note in reader.inbox] == published


def test_a_super_peer_that_lost_its_disk_gets_its_peers_back() -> None:
    net, library, reader = network()
    first = library.publish(paper(1, "a"))
    net.run()
    for number in (0, 1):
        net.crash(number, disk=False)
    net.run(30)
    for number in (0, 1):
        net.restart(number)
    net.run()
    assert reader.is_active("subscription 1")
    second = library.publish(paper(2, "a"))
    net.run()
    assert [note.id for note in reader.inbox] == [first, second]


def test_there_and_back_again() -> None:
    net, library, reader = network()
    published: list[str] = []
    for number in (2, 1, 3, 1, 1 + 1, 4, 1):
        published.append(library.publish(paper(len(published), "a")))
        if number != reader.access_point.number:
            reader.migrate(to=number)
        net.run(0.05)
    net.run()
    assert [note.id for note in reader.inbox] == published


def test_who_comes_from_the_same_place_again_is_handed_over_again() -> None:
    net = Network(super_peers=2, seed=1)
    reader, library = net.add_peer(at=0), net.add_peer(at=1)
    reader.subscribe(CREATORS)
    library.advertise(schemas=["dc:"])
    published: list[str] = []
    for to in (1, 0, 1, 0):
        reader.migrate(to)
        net.run()
        published.append(library.publish(paper(len(published), "a")))
        net.run()
    assert [note.id for note in reader.inbox] == published


def test_nonsense_is_refused() -> None:
    net, _, reader = network()
    with pytest.raises(SimulationError, match="already"):
        reader.migrate(to=1)
    net.crash(2)
    with pytest.raises(SimulationError, match="sp2 is down"):
        reader.migrate(to=2)
    assert reader.is_active("subscription 1")
