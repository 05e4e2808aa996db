"""Subscriptions and publications from their beginning to their end."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import DC, Literal, URIRef

import qel
from auth import LimitExceeded
from superpeer.node.errors import BadPublication, BadRequest, LimitReached
from superpeer.node.limits import Limits
from superpeer.sim import Network, Peer
from tests.superpeer.sim.test_network import paper

CREATORS = "X : t(X, dc:creator, Y)"


def a_library_and_a_reader(**options: Any) -> tuple[Network, Peer, Peer]:
    net = Network(super_peers=4, seed=3, **options)
    library, reader = net.add_peer(at=0), net.add_peer(at=3)
    library.advertise(schemas=["dc:"])
    net.run()
    return net, library, reader


def test_a_subscription_that_nobody_can_serve_yet_is_accepted_and_says_so() -> None:
    net = Network(super_peers=4, seed=1)
    reader, library = net.add_peer(at=1), net.add_peer(at=2)
    name = reader.subscribe(CREATORS)
    net.run()
    assert reader.is_active(name)
    assert not reader.is_servable(name)
    library.advertise(properties=["dc:creator", "dc:date"])
    net.run()
    assert reader.is_servable(name)
    library.publish(paper(1, "a"))
    net.run()
    assert len(reader.inbox) == 1


def test_what_is_paused_brings_nothing_until_it_is_resumed() -> None:
    net, library, reader = a_library_and_a_reader()
    name = reader.subscribe(CREATORS)
    net.run()
    reader.pause(name)
    net.run()
    library.publish(paper(1, "a"))
    net.run()
    assert not reader.inbox
    assert [(one.subscription.is_paused, one.is_active) for one in reader.subscriptions] == [(True, False)]
    reader.resume(name)
    net.run()
    second = library.publish(paper(2, "a"))
    net.run()
    assert [note.id for note in reader.inbox] == [second]


def test_a_subscription_expires_and_its_peer_is_told() -> None:
    net, library, reader = a_library_and_a_reader()
    short = reader.subscribe(CREATORS, lasts=100)
    renewed = reader.subscribe("X : t(X, dc:date, D)", lasts=100)
    net.run(50)
    reader.renew(renewed, lasts=1000)
    net.run(60)
    assert reader.expired == [short]
    assert [one.subscription.name for one in reader.subscriptions] == [renewed]
    library.publish(paper(1, "a"))
    net.run()
    assert [note.subscriptions for note in reader.inbox] == [{renewed}]
    with pytest.raises(LimitReached, match="seconds that a subscription lasts"):
        reader.subscribe(CREATORS, lasts=1e12)
    with pytest.raises(BadRequest, match="no subscription"):
        reader.renew(short)


def test_subscribing_again_under_a_name_replaces_or_keeps_it() -> None:
    net, library, reader = a_library_and_a_reader()
    for text in (CREATORS, CREATORS, "X : t(X, dc:title, T)", CREATORS):
        reader.subscribe(text, "mine")
        net.run()
    library.publish(paper(1, "a"))
    net.run()
    assert [note.subscriptions for note in reader.inbox] == [{"mine"}]


def test_since_brings_what_was_published_before_once_and_in_order() -> None:
    net, library, reader = a_library_and_a_reader()
    net.run(10)
    early = library.publish(paper(1, "a"))
    net.run(10)
    began = net.time
    reader.subscribe("X : t(X, dc:date, D) & D = 2004", "dates")
    net.run()
    published = [library.publish(paper(i, "a")) for i in (2, 3)]
    net.run()
    assert [note.id for note in reader.inbox] == published
    reader.subscribe(CREATORS, "since then", since=began)
    later = library.publish(paper(4, "a"))
    net.run()
    # What it has got by its other subscription it does not get again.
    assert [note.id for note in reader.inbox] == [*published, later]
    reader.subscribe(CREATORS, "all", since=0.0)
    net.run()
    assert [note.id for note in reader.inbox] == [*published, later, early]
    assert [note.is_history for note in reader.inbox] == [False, False, False, True]
    elsewhere = net.add_peer(at=2)
    elsewhere.subscribe(CREATORS, since=0.0)
    net.run()
    assert [note.id for note in elsewhere.inbox] == [early, *published, later]


def test_looking_through_a_long_log_is_cut_into_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for what was before, even at the very access point that has it, does not keep others waiting."""
    monkeypatch.setattr("superpeer.node.pages.PAGE", 30)
    monkeypatch.setattr("superpeer.node.catching_up.STEP_TESTS", 40)
    net = Network(super_peers=1, seed=3)
    library, reader = net.add_peer(at=0), net.add_peer(at=0)
    library.advertise(schemas=["dc:"])
    published = [library.publish(paper(i, "a")) for i in range(300)]
    net.run()
    catching_up = net.super_peers[0].running_node.broker.catching_up
    proceed, has_waited = catching_up.proceed, []

    def watched() -> Any:
        messages = proceed()
        queued = len(net.super_peers[0].running_node.state.peer(reader.id).queue.entries)
        assert queued <= 60, "a step ends with the page that takes it beyond its tests"
        has_waited.append(catching_up.has_work)
        return messages

    monkeypatch.setattr(catching_up, "proceed", watched)
    reader.subscribe(CREATORS, since=0.0)
    net.run()
    assert sum(has_waited) >= 300 / 60 - 1
    assert [note.id for note in reader.inbox] == published


def test_since_waits_for_an_origin_that_is_away() -> None:
    net, library, reader = a_library_and_a_reader()
    published = library.publish(paper(1, "a"))
    net.run(100)
    net.crash(0)
    net.run()
    reader.subscribe(CREATORS, since=0.0)
    net.run()
    assert not reader.inbox
    net.restart(0)
    net.run()
    assert [note.id for note in reader.inbox] == [published]
    net.crash(0)
    net.run()
    net.restart(0)
    net.crash(3)
    net.run()
    net.restart(3)
    net.run()
    assert [note.id for note in reader.inbox] == [published]


def test_a_notification_names_its_publisher_its_access_point_its_kind_and_what_variables_stand_for() -> None:
    net, library, reader = a_library_and_a_reader()
    name = reader.subscribe('Y, D : t(X, dc:creator, Y) & t(X, dc:date, D) & Y contains "Nejdl" & D >= 2004')
    net.run()
    resource = URIRef("http://example.org/papers/1")
    triples = [
        (resource, DC.creator, Literal("Wolfgang Nejdl")),
        (resource, DC.creator, Literal("Somebody")),
        (resource, DC.date, Literal("2004")),
    ]
    for kind in ("new", "updated", "deleted"):
        library.publish(triples, kind)
    net.run()
    assert [note.kind for note in reader.inbox] == ["new", "updated", "deleted"]
    note = reader.inbox[0]
    assert (note.publisher, note.access_point) == (library.id, "sp0")
    assert set(note.triples) == set(triples)
    assert note.bindings == {name: {"X": (resource,), "Y": (Literal("Wolfgang Nejdl"),), "D": (Literal("2004"),)}}
    with pytest.raises(ValueError, match="gone"):
        library.publish(triples, "gone")


def test_terms_arrive_as_they_were_written() -> None:
    net, library, reader = a_library_and_a_reader()
    reader.subscribe("X : t(X, dc:title, T)")
    net.run()
    resource = URIRef("http://example.org/r")
    xsd = "http://www.w3.org/2001/XMLSchema#"
    triples = {
        (resource, DC.title, Literal("chat", lang="fr")),
        (resource, DC.title, Literal("007", datatype=URIRef(xsd + "integer"), normalize=False)),
        (resource, DC.title, Literal("no number", datatype=URIRef(xsd + "integer"))),
        (resource, DC.title, Literal("")),
        (resource, DC.title, URIRef("http://example.org/other")),
    }
    library.publish(triples)
    net.run()
    assert {tuple(term.n3() for term in triple) for triple in reader.inbox[0].triples} == {
        tuple(term.n3() for term in triple) for triple in triples
    }


def test_an_operator_may_accept_what_does_not_conform() -> None:
    net = Network(super_peers=1, accepts_nonconforming=True)
    library, reader = net.add_peer(at=0), net.add_peer(at=0)
    reader.subscribe(CREATORS)
    library.publish(paper(1, "a"))
    net.run()
    assert len(reader.inbox) == 1


def test_a_peer_that_leaves_for_good_leaves_nothing_behind() -> None:
    net, library, reader = a_library_and_a_reader()
    reader.subscribe(CREATORS)
    net.run()
    library.publish(paper(1, "a"))
    library.leave()
    reader_id = reader.id
    net.run()
    assert len(reader.inbox) == 1
    reader.leave()
    net.run()
    for super_peer in net.super_peers:
        node = super_peer.running_node
        assert reader_id not in node.state.peers
        assert not any(kept.elements for kept in node.state.peers.values())
        assert not len(node.broker.router.tables.poset)
        assert all(not node.broker.router.tables.adverts_in(k) for k in node.broker.router.tables.out_links)


def test_a_peer_that_stays_away_for_too_long_is_forgotten() -> None:
    net, _, reader = a_library_and_a_reader(limits=Limits(absence_s=1000))
    reader.subscribe(CREATORS)
    net.run()
    reader.disconnect()
    net.run(900)
    assert reader.id in net.super_peers[3].running_node.state.peers
    net.run(300)
    node = net.super_peers[3].running_node
    assert reader.id not in node.state.peers
    assert not len(node.broker.router.tables.poset)
    reader.connect()
    net.run()
    assert reader.is_active("subscription 1"), "it registers again, and brings what it asked for"


def test_so_many_may_register_at_once() -> None:
    net = Network(super_peers=1, limits=Limits(peers=3))
    for _ in range(3):
        net.add_peer(at=0)
    with pytest.raises(LimitExceeded):
        net.add_peer(at=0)
    net = Network(super_peers=1, limits=Limits(new_peers_per_minute=2))
    for _ in range(2):
        net.add_peer(at=0)
    with pytest.raises(LimitExceeded):
        net.add_peer(at=0)


LIMITS = Limits(
    subscriptions_per_peer=2,
    name_characters=20,
    query_characters=60,
    elements_per_peer=3,
    body_bytes=300,
    queue_entries=3,
    log_entries=4,
    publications_at_once=20,
    publications_per_second=0.01,
    open_queries_per_peer=1,
)


def test_limits_are_refused_with_a_sentence() -> None:
    _, library, reader = a_library_and_a_reader(limits=LIMITS)
    reader.subscribe(CREATORS, "a")
    reader.subscribe(CREATORS, "b")
    reader.subscribe(CREATORS, "b")
    with pytest.raises(LimitReached, match="subscriptions: the limit is 2; take some away first"):
        reader.subscribe(CREATORS, "c")
    reader.unsubscribe("b")
    with pytest.raises(LimitReached, match="the size of the name"):
        reader.subscribe(CREATORS, "b" * 21)
    with pytest.raises(LimitReached, match="the size of the query"):
        reader.subscribe('X : t(X, dc:creator, Y) & Y contains "' + "a" * 60 + '"', "a")
    with pytest.raises(BadRequest, match="printed"):
        reader.subscribe(CREATORS, "a\nb")
    with pytest.raises(qel.QelError):
        reader.subscribe("nonsense", "a")
    with pytest.raises(LimitReached, match="elements of an advertisement: the limit is 3"):
        library.advertise(values={"dc:date": [1, 2, 3, 4]})
    with pytest.raises(LimitReached, match="what a publication says: the limit is 300; this one has"):
        library.publish(paper(1, "a" * 300))
    with pytest.raises(BadPublication, match="one subject"):
        library.publish([])
    with pytest.raises(LimitReached, match="seconds that a query may take"):
        reader.query(CREATORS, seconds=1e9)


def test_what_a_queue_cannot_hold_is_counted_and_told() -> None:
    net, library, reader = a_library_and_a_reader(limits=LIMITS)
    reader.subscribe(CREATORS)
    net.run()
    reader.disconnect()
    published = [library.publish(paper(i, "a")) for i in range(10)]
    net.run()
    reader.connect()
    assert [note.id for note in reader.inbox] == published[-3:]
    assert reader.lost == 7


def test_what_a_log_no_longer_has_is_told() -> None:
    net, library, reader = a_library_and_a_reader(limits=LIMITS)
    reader.subscribe(CREATORS)
    net.run()
    library.publish(paper(0, "a"))
    net.run()
    net.crash(3)
    net.run()
    published = [library.publish(paper(i, "a")) for i in range(1, 10)]
    net.run()
    net.restart(3)
    net.run()
    assert len(reader.inbox) + reader.lost == 10
    assert [note.id for note in reader.inbox[1:]] == published[-3:]


def test_who_publishes_too_often_has_to_wait() -> None:
    net, library, _ = a_library_and_a_reader(limits=LIMITS)
    for i in range(20):
        library.publish(paper(i, "a"))
        net.run()
    with pytest.raises(LimitReached, match=r"publications a second: the limit is 0\.01; slow down"):
        library.publish(paper(21, "a"))
    net.run(100)
    library.publish(paper(21, "a"))


def test_what_is_old_goes_from_queues_and_logs() -> None:
    limits = Limits(queue_s=1000, log_s=2000)
    net, library, reader = a_library_and_a_reader(limits=limits)
    reader.subscribe(CREATORS)
    net.run()
    reader.disconnect()
    library.publish(paper(1, "a"))
    net.run(1500)
    assert len(net.super_peers[0].running_node.state.log) == 1
    second = library.publish(paper(2, "a"))
    net.run(700)
    assert len(net.super_peers[0].running_node.state.log) == 1
    reader.connect()
    assert [note.id for note in reader.inbox] == [second]
    assert reader.lost == 1
