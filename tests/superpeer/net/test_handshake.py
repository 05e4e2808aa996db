"""The handshake, without a socket: who gets through, and what is said to everybody else."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from auth import Admissions, Answer, Challenge, Identity, respond, revoke_certificate, revoke_key
from superpeer.net import Endpoint, Party, Reason, Violation
from superpeer.net.certificates import certificate_of
from superpeer.net.frames import HANDSHAKE_BODY_BYTES
from superpeer.net.handshake import ClientHandshake, Hello, ServerHandshake, Welcome, hello_of, read, write
from tests.superpeer.net.helpers import (
    ADMIN,
    MEMBER,
    NOW,
    OTHER_ROOT,
    PEER,
    ROOT,
    SERVER,
    STRANGER,
    certificate,
    peer,
    super_peer,
)


def shown(identity: Identity) -> bytes:
    return certificate_of(identity).public_bytes(Encoding.DER)


def client_of(endpoint: Endpoint, server: Identity = SERVER) -> ClientHandshake:
    return ClientHandshake(endpoint, server.public, shown(server))


def server_of(endpoint: Endpoint) -> ServerHandshake:
    return ServerHandshake(endpoint, shown(endpoint.identity))


def talk(client: ClientHandshake, server: ServerHandshake) -> list[bytes]:
    """Carry messages to and fro until nobody has more to say; everything that was said."""
    said: list[bytes] = []
    to_server, to_client = client.begin(), server.begin()
    while to_server or to_client:
        said += to_server + to_client
        to_client, to_server = (
            [answer for message in to_server for answer in server.receive(message)],
            [answer for message in to_client for answer in client.receive(message)],
        )
    return said


def refusal(client: Endpoint, server: Endpoint | None = None) -> Reason:
    listening = server_of(server or super_peer())
    with pytest.raises(Violation) as found:
        talk(client_of(client), listening)
    assert listening.other is None
    return found.value.reason


@pytest.mark.parametrize(
    "client",
    [peer(), peer(ADMIN, party=Party.ADMIN), super_peer(MEMBER), replace(peer(), admissions=Admissions(ROOT.public))],
)
def test_both_ends_learn_who_the_other_is(client: Endpoint) -> None:
    one, other = client_of(client), server_of(super_peer())
    said = talk(one, other)
    assert max(map(len, said)) <= HANDSHAKE_BODY_BYTES
    assert one.other is not None
    assert other.other is not None
    assert (one.other.party, one.other.key, one.other.root) == (Party.SUPER_PEER, SERVER.public, ROOT.public)
    assert (other.other.party, other.other.key) == (client.party, client.identity.public)
    assert one.other.version == other.other.version == 1
    assert one.other.channel == other.other.channel
    assert len(one.other.channel) == 32


def test_every_connection_has_a_name_of_its_own() -> None:
    names = set()
    for _ in range(3):
        client = client_of(peer())
        talk(client, server_of(super_peer()))
        assert client.other is not None
        names.add(client.other.channel)
    assert len(names) == 3


def test_members_learn_each_others_certificates() -> None:
    one, other = super_peer(MEMBER), super_peer()
    talk(client_of(one), server_of(other))
    assert one.admissions is not None
    assert other.admissions is not None
    assert one.admissions.admits(SERVER.public, NOW)
    assert other.admissions.admits(MEMBER.public, NOW)


def with_hello(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let whoever connects say something else in its hello."""
    monkeypatch.setattr(
        "superpeer.net.handshake.hello_of",
        lambda endpoint: (
            hello_of(endpoint)
            if endpoint.identity is SERVER
            else msgspec.structs.replace(hello_of(endpoint), **changes)
        ),
    )


@pytest.mark.parametrize(("low", "high"), [(2, 3), (65535, 65535)])
def test_without_a_common_version_there_is_no_connection(low: int, high: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with_hello(monkeypatch, min_version=low, max_version=high)
    assert refusal(peer()) is Reason.VERSION


def test_the_highest_common_version_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with_hello(monkeypatch, min_version=1, max_version=7)
    server = server_of(super_peer())
    talk(client_of(peer()), server)
    assert server.other is not None
    assert server.other.version == 1


def test_fields_of_later_versions_are_ignored() -> None:
    fields = msgspec.msgpack.decode(write(hello_of(peer())))
    longer = read(msgspec.msgpack.encode([*fields, "more", {"later": True}]))
    assert isinstance(longer, Hello)
    assert longer.key == PEER.public


def test_networks_are_kept_apart() -> None:
    assert refusal(super_peer(MEMBER, root=OTHER_ROOT)) is Reason.WRONG_NETWORK
    assert refusal(replace(peer(), admissions=Admissions(OTHER_ROOT.public))) is Reason.WRONG_NETWORK


def test_a_super_peer_needs_a_certificate_of_the_network() -> None:
    other_network = replace(super_peer(MEMBER), certificate=certificate(MEMBER.public, OTHER_ROOT))
    assert refusal(other_network) is Reason.NOT_ADMITTED
    assert refusal(replace(super_peer(MEMBER), certificate=certificate(STRANGER.public))) is Reason.NOT_ADMITTED
    expired = replace(super_peer(MEMBER), certificate=certificate(MEMBER.public, until=NOW - 1))
    assert refusal(expired) is Reason.NOT_ADMITTED


def test_a_super_peer_that_is_known_need_not_show_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    with_hello(monkeypatch, certificate=None)
    server = super_peer()
    assert refusal(super_peer(MEMBER), server) is Reason.NOT_ADMITTED
    assert server.admissions is not None
    server.admissions.learn(certificate(MEMBER.public), NOW)
    talk(client_of(super_peer(MEMBER)), server_of(server))


def test_revocations_count() -> None:
    by_certificate, by_key = super_peer(), super_peer()
    assert by_certificate.admissions is not None
    assert by_key.admissions is not None
    by_certificate.admissions.revocations.add(revoke_certificate(ROOT, certificate(MEMBER.public).serial, NOW))
    assert refusal(super_peer(MEMBER), by_certificate) is Reason.NOT_ADMITTED
    by_key.admissions.revocations.add(revoke_key(PEER, PEER.public, NOW))
    assert refusal(peer(), by_key) is Reason.NOT_PROVED


def test_whoever_connects_checks_the_listener_too() -> None:
    assert refusal(super_peer(MEMBER), super_peer(certificate=certificate(STRANGER.public))) is Reason.NOT_ADMITTED
    knows_the_network = replace(peer(), admissions=Admissions(ROOT.public))
    assert refusal(knows_the_network, super_peer(certificate=certificate(STRANGER.public))) is Reason.NOT_ADMITTED
    assert refusal(peer(SERVER)) is Reason.WRONG_KEY


def test_a_hello_gives_the_key_of_the_certificate() -> None:
    client = client_of(peer(), STRANGER)
    with pytest.raises(Violation) as found:
        client.receive(write(hello_of(super_peer(SERVER))))
    assert found.value.reason is Reason.WRONG_KEY
    with pytest.raises(Violation) as found:
        client_of(peer(), STRANGER).receive(write(hello_of(peer(STRANGER))))
    assert found.value.reason is Reason.ROLE_REFUSED


def test_only_admins_are_admins() -> None:
    assert refusal(peer(STRANGER, party=Party.ADMIN)) is Reason.ROLE_REFUSED


def test_a_key_without_its_secret_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger says that it is the peer, and answers as well as it can."""
    with_hello(monkeypatch, key=PEER.public)
    server, client = server_of(super_peer()), client_of(peer(STRANGER))
    own_hello, asked = server.receive(client.begin()[0])
    client.receive(own_hello)
    with pytest.raises(Violation) as not_for_us:
        client.receive(asked)
    assert not_for_us.value.reason is Reason.NOT_PROVED
    challenge = read(asked)
    assert isinstance(challenge, Challenge)
    assert server._candidate is not None
    channel = server._candidate.channel
    forged = respond(STRANGER, msgspec.structs.replace(challenge, responder=STRANGER.public), challenge.role, channel)
    for answer in (forged, msgspec.structs.replace(forged, responder=PEER.public)):
        with pytest.raises(Violation) as found:
            server.receive(write(answer))
        assert found.value.reason is Reason.NOT_PROVED
    assert server.other is None


def test_a_replayed_handshake_proves_nothing() -> None:
    client, server = client_of(peer()), server_of(super_peer())
    said = talk(client, server)
    again = server_of(super_peer())
    again.receive(said[0])
    answer = next(message for message in said if isinstance(read(message), Answer))
    with pytest.raises(Violation) as found:
        again.receive(answer)
    assert found.value.reason is Reason.NOT_PROVED
    assert again.other is None


@pytest.mark.parametrize("renamed", [False, True])
def test_a_listener_in_the_middle_cannot_pass_a_client_on(renamed: bool) -> None:
    """The client expects a stranger and connects to it; the stranger wants to be the client towards the server."""
    client, server = client_of(peer(), STRANGER), server_of(super_peer())
    stranger = super_peer(STRANGER)
    own_hello, asked = server.receive(client.begin()[0])
    client.receive(write(hello_of(stranger)))
    challenge = read(asked)
    assert isinstance(challenge, Challenge)
    if not renamed:
        with pytest.raises(Violation, match="not for us"):
            client.receive(asked)
        return
    # The stranger puts its own key into the challenge; what it gets then names the stranger.
    answer = read(client.receive(write(msgspec.structs.replace(challenge, challenger=STRANGER.public)))[0])
    assert isinstance(answer, Answer)
    for tried in (answer, msgspec.structs.replace(answer, challenger=SERVER.public)):
        with pytest.raises(Violation) as found:
            server.receive(write(tried))
        assert found.value.reason is Reason.NOT_PROVED
    assert server.other is None
    assert own_hello


def test_a_changed_hello_is_noticed() -> None:
    """The name of the channel covers what both said, so an answer for other limits proves nothing."""
    client, server = client_of(peer()), server_of(super_peer())
    hello = read(client.begin()[0])
    assert isinstance(hello, Hello)
    own_hello, asked = server.receive(write(msgspec.structs.replace(hello, patience_ms=hello.patience_ms + 1)))
    client.receive(own_hello)
    with pytest.raises(Violation) as found:
        server.receive(client.receive(asked)[0])
    assert found.value.reason is Reason.NOT_PROVED


def test_messages_out_of_order_are_refused() -> None:
    said = talk(client_of(peer()), server_of(super_peer()))
    hello, own_hello, asked, answer, welcome = said
    assert isinstance(read(welcome), Welcome)
    for before, message in [([], answer), ([], welcome), ([hello], hello), ([hello], asked), ([hello], welcome)]:
        server = server_of(super_peer())
        for each in before:
            server.receive(each)
        with pytest.raises(Violation) as found:
            server.receive(message)
        assert found.value.reason is Reason.OUT_OF_ORDER
    for before, message in [([], asked), ([], welcome), ([], answer), ([own_hello], own_hello), ([own_hello], welcome)]:
        client = client_of(peer())
        for each in before:
            client.receive(each)
        with pytest.raises(Violation) as found:
            client.receive(message)
        assert found.value.reason is Reason.OUT_OF_ORDER


def test_mutated_messages_never_get_anybody_through() -> None:
    random = Random(1)
    for _ in range(600):
        client, server = client_of(super_peer(MEMBER)), server_of(super_peer())
        messages = client.begin()
        which, mutated = random.randrange(2), False
        for turn in range(2):
            data = bytearray(messages[0])
            if turn == which:
                for _ in range(random.randint(1, 3)):
                    data[random.randrange(len(data))] ^= random.randint(1, 255)
                mutated = bytes(data) != messages[0]
            try:
                answers = server.receive(bytes(data))
                messages = [answer for message in answers for answer in client.receive(message)]
            except Violation as violation:
                assert violation.reason.is_refusal
                break
        assert not mutated or server.other is None


@pytest.mark.parametrize(
    "changes",
    [
        {"min_version": 0},
        {"max_version": 65536},
        {"nonce": bytes(31)},
        {"max_frame_bytes": 65535},
        {"max_frame_bytes": 2**40},
        {"patience_ms": 0},
        {"patience_ms": 10**9},
    ],
)
def test_a_hello_keeps_within_bounds(changes: dict[str, Any]) -> None:
    hello = msgspec.structs.replace(hello_of(peer()), **changes)
    with pytest.raises(Violation) as found:
        server_of(super_peer()).receive(write(hello))
    assert found.value.reason is Reason.MALFORMED_MESSAGE
