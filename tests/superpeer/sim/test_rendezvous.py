"""Resources of peers that are offline, and one-time queries."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from rdflib import URIRef

import qel
from superpeer.node.body import read_body
from superpeer.node.errors import LimitReached
from superpeer.node.limits import Limits
from superpeer.rdf.terms import triples_of
from superpeer.sim import Network, Peer
from superpeer.sim.peer import Notification
from tests.superpeer.node.test_router import ADVERTISEMENTS, QUERIES, random_publication
from tests.superpeer.sim.test_network import paper

CREATORS = "X : t(X, dc:creator, Y)"
RESOURCE = URIRef("http://example.org/papers/1")


def notified(**options: Any) -> tuple[Network, Peer, Peer, Notification]:
    """A reader that was notified of a resource whose owner has a file of it."""
    net = Network(super_peers=5, seed=5, **options)
    owner, reader = net.add_peer(at=0), net.add_peer(at=1)
    owner.advertise(schemas=["dc:"])
    owner.offer(RESOURCE, b"the paper itself")
    reader.subscribe(CREATORS)
    net.run()
    owner.publish(paper(1, "a"))
    net.run()
    return net, owner, reader, reader.inbox[0]


def test_an_owner_that_is_there_uploads_at_once() -> None:
    net, _, reader, note = notified()
    download = reader.fetch(RESOURCE, note)
    net.run()
    assert download.content == b"the paper itself"
    states = [one.running_node.state for one in net.super_peers]
    assert not any(kept.rendezvous or kept.files for state in states for kept in state.peers.values())


def test_an_owner_that_is_offline_uploads_when_it_is_back() -> None:
    net, owner, reader, note = notified()
    owner.disconnect()
    download = reader.fetch(RESOURCE, note)
    net.run()
    assert download.content is None
    reader.disconnect()
    owner.connect()
    net.run()
    owner.disconnect()
    assert download.content is None
    reader.connect()
    assert download.content == b"the paper itself"


@pytest.mark.parametrize("who", ["owner", "reader", "both"])
@pytest.mark.parametrize("old_is_down", [False, True])
def test_both_may_move_meanwhile(who: str, old_is_down: bool) -> None:
    net, owner, reader, note = notified()
    owner.disconnect()
    download = reader.fetch(RESOURCE, note)
    net.run()
    reader.disconnect()
    if old_is_down:
        for peer in {"owner": [owner], "reader": [reader], "both": [owner, reader]}[who]:
            net.crash(peer.access_point.number)
        net.run()
    if who in ("reader", "both"):
        reader.migrate(to=3)
        net.run()
    if who in ("owner", "both"):
        owner.migrate(to=4)
    else:
        owner.connect()
    # Where the owner went nobody knows, if its old access point is gone: it is looked for again from time to time.
    net.run(120)
    if not reader.is_connected:
        reader.connect()
    assert download.content == b"the paper itself"


def test_super_peers_may_be_down_at_every_step() -> None:
    net, owner, reader, note = notified()
    owner.disconnect()
    net.crash(0)
    download = reader.fetch(RESOURCE, note)
    net.run()
    net.restart(0)
    net.run()
    net.crash(1)
    net.run()
    owner.connect()
    net.run()
    net.crash(0)
    net.restart(1)
    net.run()
    assert download.content is None
    net.restart(0)
    net.run()
    assert download.content == b"the paper itself"


def test_who_has_nothing_of_that_name_says_so() -> None:
    net, _, reader, note = notified()
    download = reader.fetch("http://example.org/other", note)
    reader.disconnect()
    net.run()
    reader.connect()
    assert download.content is None
    assert download.failure == "its owner has nothing of that name"


def test_what_nobody_brings_in_time_is_given_up() -> None:
    net, owner, reader, note = notified(limits=Limits(meeting_s=1000))
    owner.disconnect()
    download = reader.fetch(RESOURCE, note)
    net.run(2000)
    assert download.failure == "nobody brought it in time"
    assert not any(kept.rendezvous for one in net.super_peers for kept in one.running_node.state.peers.values())


def test_files_and_rendezvous_are_bounded() -> None:
    net, owner, reader, note = notified(limits=Limits(file_bytes=10, meetings_per_peer=2))
    owner.disconnect()
    for _ in range(2):
        reader.fetch(RESOURCE, note)
    with pytest.raises(LimitReached, match="rendezvous: the limit is 2"):
        reader.fetch(RESOURCE, note)
    net.run()
    with pytest.raises(LimitReached, match="the size of the file: the limit is 10"):
        owner.connect()


def test_a_query_finds_what_peers_hold_wherever_they_are() -> None:
    random = Random(1)
    for seed in range(10):
        net = Network(super_peers=random.randrange(1, 10), seed=seed, backbone=random.choice(["cube", "unstructured"]))
        libraries = [net.add_peer(at=random.randrange(len(net.super_peers))) for _ in range(6)]
        for library in libraries:
            advertisement = random.choice(ADVERTISEMENTS)
            library.advertise(advertisement.schemas, advertisement.properties, advertisement.values)
            for _ in range(5):
                triples = random_publication(random)
                if qel.conforms(advertisement, triples):
                    library.publish(triples)
        net.run()
        reader = net.add_peer(at=random.randrange(len(net.super_peers)))
        for query in QUERIES:
            result = reader.query(str(query))
            held = {
                (one.id, body)
                for one in libraries
                for body in one.holdings.values()
                if qel.matches(query, _triples(body))
            }
            assert len(result) == len(held)
            assert {owner for owner, _ in result} == {owner for owner, _ in held}
            assert all(qel.matches(query, triples) for _, triples in result)
            assert not result.silent
            assert not result.is_cut


def _triples(body: bytes) -> tuple[object, ...]:
    return triples_of(read_body(body))


def test_a_query_says_who_did_not_answer() -> None:
    net = Network(super_peers=8, seed=2)
    libraries = [net.add_peer(at=i) for i in range(8)]
    for i, library in enumerate(libraries):
        library.advertise(schemas=["dc:"])
        library.publish(paper(i, "a"))
    net.run()
    reader = net.add_peer(at=0)
    assert len(reader.query(CREATORS)) == 8
    libraries[3].disconnect()
    result = reader.query(CREATORS)
    assert (len(result), result.absent_peers, result.silent) == (7, 1, ())
    net.stall(5)
    began = net.time
    result = reader.query(CREATORS, seconds=2.0)
    assert net.time - began < 3.0
    assert "sp5" in result.silent
    assert len(result) + len(result.silent) == 7
    net.run(30)
    result = reader.query(CREATORS, seconds=2.0)
    assert (len(result), result.silent) == (6, ())


def test_a_query_goes_on_when_the_view_changes() -> None:
    net = Network(super_peers=8, seed=2)
    for i in range(8):
        library = net.add_peer(at=i)
        library.advertise(schemas=["dc:"])
        library.publish(paper(i, "a"))
    net.run()
    reader = net.add_peer(at=0)
    net.crash(6)
    net.restart(6)
    result = reader.query(CREATORS, seconds=30.0)
    assert len(result) + len(result.silent) >= 7
    net.run()
    assert len(reader.query(CREATORS)) == 8


def test_deleted_things_are_held_no_more_and_queries_travel_only_where_they_may_be_answered() -> None:
    net = Network(super_peers=8, seed=2)
    library, reader = net.add_peer(at=7), net.add_peer(at=0)
    library.advertise(schemas=["dc:"])
    library.publish(paper(1, "a"))
    library.publish(paper(2, "a"))
    library.publish(paper(1, "a"), "deleted")
    net.run()
    net.counters.clear()
    assert len(reader.query(CREATORS)) == 1
    assert net.counters["QueryAsked"] <= 3
    assert not reader.query("X : t(X, foaf:name, N)")
    assert net.counters["QueryAsked"] <= 3
    with pytest.raises(qel.QelError):
        reader.query("nonsense")


def test_answers_are_bounded() -> None:
    net = Network(super_peers=2, seed=2, limits=Limits(query_answers=3))
    library, reader = net.add_peer(at=1), net.add_peer(at=0)
    library.advertise(schemas=["dc:"])
    for i in range(5):
        library.publish(paper(i, "a"))
    net.run()
    result = reader.query(CREATORS)
    assert len(result) == 3
    assert result.is_cut


def limit(net: Network, number: int, **limits: int) -> None:
    """One super-peer allows less than the others."""
    node = net.super_peers[number].running_node
    node.rendezvous._workspace.limits = replace(node.limits, **limits)


def test_files_that_there_is_no_room_for_come_when_there_is() -> None:
    """Five are asked for while their owner is offline, and come while the reader is: two wait here, three there."""
    net, owner, reader, note = notified(limits=Limits(files_per_peer=2))
    resources = [URIRef(f"http://example.org/papers/{number}") for number in range(5)]
    for number, resource in enumerate(resources):
        owner.offer(resource, b"paper %d" % number)
    owner.disconnect()
    downloads = [reader.fetch(resource, note) for resource in resources]
    net.run()
    reader.disconnect()
    owner.connect()
    net.run()
    kept = net.super_peers[1].running_node.state.peer(reader.id)
    assert (len(kept.files), len(kept.rendezvous)) == (2, 3)
    reader.connect()
    net.run()
    assert [one.content for one in downloads] == [b"paper %d" % number for number in range(5)]
    assert not kept.files
    assert not kept.rendezvous


def test_files_that_there_is_no_room_for_at_a_new_access_point_are_asked_for_again() -> None:
    net, owner, reader, note = notified(limits=Limits(files_per_peer=3))
    resources = [URIRef(f"http://example.org/papers/{number}") for number in range(3)]
    for number, resource in enumerate(resources):
        owner.offer(resource, b"paper %d" % number)
    owner.disconnect()
    downloads = [reader.fetch(resource, note) for resource in resources]
    net.run()
    reader.disconnect()
    owner.connect()
    net.run()
    assert len(net.super_peers[1].running_node.state.peer(reader.id).files) == 3
    limit(net, 2, files_per_peer=1)
    reader.migrate(to=2)
    net.run()
    assert [one.content for one in downloads] == [b"paper %d" % number for number in range(3)]


def test_a_file_that_is_too_large_here_fails_and_the_reader_is_told() -> None:
    net, owner, reader, note = notified()
    limit(net, 1, file_bytes=10)
    download = reader.fetch(RESOURCE, note)
    net.run()
    assert download.content is None
    assert "larger than the 10 bytes" in download.failure
    assert owner.is_served
