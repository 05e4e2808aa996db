"""Private ids: nobody but a peer and its access point ever sees one.

Everything that a lively simulation emits is searched: what super-peers say to each other, what they say to peers, what
peers say to super-peers that are not their access point, what is written to disk, and how all of it is printed.
"""

from __future__ import annotations

import dataclasses
from base64 import b32encode, b64encode
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from rdflib import URIRef

from auth import BadSignature, Identity, PrivateId, WrongPrivateId
from superpeer.node.errors import NotHere, Refused
from superpeer.node.publications import Kind
from superpeer.node.requests import ListSubscriptions, Publish, Subscribe
from superpeer.sim import Network
from tests.superpeer.sim.test_network import Life, paper


def leaves(value: Any) -> Iterator[bytes]:
    """All strings and byte strings in a message, however deep, and what it looks like when printed."""
    pending, seen = [value], set()
    while pending:
        one = pending.pop()
        if isinstance(one, bytes):
            yield one
        elif isinstance(one, str):
            yield one.encode()
        elif isinstance(one, (tuple, list, set, frozenset)):
            pending.extend(one)
        elif isinstance(one, dict):
            pending.extend([*one, *one.values()])
        elif isinstance(one, PrivateId):
            yield one.reveal()
        elif id(one) not in seen and hasattr(one, "raw"):
            yield one.raw
        elif isinstance(one, msgspec.Struct):
            seen.add(id(one))
            pending.extend(getattr(one, name) for name in one.__struct_fields__)
        elif dataclasses.is_dataclass(one) and id(one) not in seen:
            seen.add(id(one))
            pending.extend(getattr(one, each.name) for each in dataclasses.fields(one))
    yield repr(value).encode()


def test_private_ids_are_seen_by_their_access_points_only() -> None:
    for seed in range(3):
        life = Life(6, seed, "cube")
        emitted: list[tuple[str, str, bytes]] = []
        secrets: dict[bytes, set[tuple[str, str]]] = {}

        def listen(
            sender: str,
            receiver: str,
            what: object,
            emitted: list[tuple[str, str, bytes]] = emitted,
            secrets: dict[bytes, set[tuple[str, str]]] = secrets,
            net: Network = life.net,
        ) -> None:
            for peer in net.peers:
                if peer.memory.credentials is not None:
                    ways = secrets.setdefault(peer.memory.attached.private_id.reveal(), set())
                    ways.add((peer.name, peer.access_point.name))
            emitted.append((sender, receiver, b"\0".join(leaves(what))))

        life.net.listeners.append(listen)
        for _ in range(60):
            life.step()
        life.end()
        assert len(secrets) > 10
        assert any(secret in text for _, _, text in emitted for secret in secrets), "the search finds what is there"
        disk = b"\0".join(leaf for one in life.net.super_peers for record in one.disk for leaf in leaves(record))
        for secret, ways in secrets.items():
            forms = (secret, secret.hex().encode(), b64encode(secret), b32encode(secret), repr(secret)[2:-1].encode())
            assert not any(form in disk for form in forms)
            for sender, receiver, text in emitted:
                if (sender, receiver) not in ways:
                    assert not any(form in text for form in forms), f"from {sender} to {receiver}"


def test_who_does_not_know_the_private_id_gets_nothing() -> None:
    net = Network(super_peers=2, seed=1)
    peer, other = net.add_peer(at=0), net.add_peer(at=0)
    node, now = net.super_peers[0].running_node, net.clock(net.super_peers[0])
    public_id = peer.memory.attached.public_id
    before = dict(node.state.peers)
    with pytest.raises(WrongPrivateId):
        node.request(public_id, other.memory.attached.private_id, Subscribe("a", "X : t(X, dc:date, D)"), now)
    with pytest.raises(WrongPrivateId):
        node.connect(public_id, PrivateId(bytes(32)), "somewhere.example.org:1", now)
    assert node.state.peers == before
    peer.disconnect()
    with pytest.raises(NotHere):
        node.request(public_id, peer.memory.attached.private_id, ListSubscriptions(), now)


def test_a_publication_has_to_be_signed_by_its_publisher_for_its_access_point() -> None:
    net = Network(super_peers=2, seed=1)
    library, other = net.add_peer(at=0), net.add_peer(at=0)
    library.advertise(schemas=["dc:"])
    library.publish(paper(1, "a"))
    log = net.super_peers[0].running_node.state.log
    body = next(iter(log)).draft.body
    theirs = other.memory.handing_in([other.memory.post(Kind.NEW, body), other.memory.post(Kind.NEW, body)])
    with pytest.raises(BadSignature):
        net.request(library, theirs)
    mine = library.memory.handing_in([library.memory.post(Kind.NEW, body)])
    (posting,) = mine.postings

    def changed(**changes: object) -> Publish:
        return msgspec.structs.replace(mine, postings=(msgspec.structs.replace(posting, **changes),))

    with pytest.raises(BadSignature):
        net.request(library, changed(serial=posting.serial + 1))
    with pytest.raises(BadSignature):
        net.request(library, changed(kind=Kind.DELETED))
    for bad in (b"", b"\xc1", msgspec.msgpack.encode([["l", "x"], [["p", ["u", "y"]]]]), body + b"\0"):
        with pytest.raises(Refused):
            net.request(library, changed(body=bad))
    assert len(log) == 1


def test_nothing_is_verified_that_was_changed_on_the_way() -> None:
    net = Network(super_peers=2, seed=1)
    library, reader = net.add_peer(at=0), net.add_peer(at=1)
    library.advertise(schemas=["dc:"])
    reader.subscribe("X : t(X, dc:creator, Y)")
    net.run()
    library.publish(paper(1, "a"))
    net.run()
    publication = reader.inbox[0].publication
    net.verify(publication)
    forged = msgspec.structs.replace(publication, origin=Identity(bytes(32)).public.raw)
    with pytest.raises(BadSignature):
        net.verify(forged)
    draft = msgspec.structs.replace(publication.draft, serial=7)
    with pytest.raises(BadSignature):
        net.verify(msgspec.structs.replace(publication, draft=draft))


def test_the_search_would_find_a_private_id() -> None:
    net = Network(super_peers=1, seed=1)
    peer = net.add_peer(at=0)
    private_id = peer.memory.attached.private_id
    assert private_id.reveal() in b"\0".join(leaves(("a", [private_id, URIRef("http://example.org")])))
    assert private_id.reveal() not in b"\0".join(leaves(peer.memory.attached.public_id))
