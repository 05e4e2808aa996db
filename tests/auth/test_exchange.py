"""The exchange in which a peer attaches: that it works, and that nothing else does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from auth import (
    ArrivalReply,
    ArrivalRequest,
    AuthError,
    BadSignature,
    Banned,
    Credentials,
    Expired,
    Granted,
    Greeting,
    InvalidAddress,
    InvalidKey,
    KeyRevoked,
    OutOfOrder,
    PeerExchange,
    PeerState,
    PublicKey,
    Reflected,
    RegistrationReply,
    RegistrationRequest,
    Registry,
    Replayed,
    Revocations,
    Role,
    SameAccessPoint,
    SealBroken,
    SerialStale,
    SuperPeerExchange,
    SuperPeerState,
    TruncatedMessage,
    UnknownChallenge,
    WrongChannel,
    WrongKey,
    WrongPublicId,
    WrongRecipient,
    WrongRole,
    attach,
    decode_message,
    encode,
    order_migration,
    respond,
    revoke_key,
)
from auth.letters import seal, unseal
from tests.auth.helpers import (
    CHANNEL,
    NOW,
    OTHER_PEER,
    PEER,
    SECOND_SUPER_PEER,
    SUPER_PEER,
    Dice,
    contents,
    flipped,
    refused,
    registered,
    registry_of,
    run_exchange,
    truncated,
)

ADDRESS = "peer.example.org:5000"


class Exchange:
    """One exchange between the peer and the super-peer, stopped where a test wants it."""

    def __init__(self, registry: Registry | None = None, seed: str = "", past: Credentials | None = None) -> None:
        self.registry = registry_of(SUPER_PEER) if registry is None else registry
        dice = Dice(f"peer {seed}")
        self.peer = PeerExchange(PEER, SUPER_PEER.public, ADDRESS, CHANNEL, dice, past=past)
        self.super_peer = SuperPeerExchange(SUPER_PEER, self.registry, CHANNEL, Dice(f"super-peer {seed}"))

    def greeted(self) -> Greeting:
        greeting = self.super_peer.receive(self.peer.begin(NOW), NOW)
        assert isinstance(greeting, Greeting)
        return greeting

    def requested(self) -> RegistrationRequest | ArrivalRequest:
        request = self.peer.receive(self.greeted(), NOW)
        assert request is not None
        return request

    def replied(self) -> RegistrationReply | ArrivalReply:
        reply = self.super_peer.receive(self.requested(), NOW)
        assert isinstance(reply, RegistrationReply | ArrivalReply)
        return reply

    def state(self) -> object:
        machines = (self.peer.state, self.peer.credentials, self.super_peer.state, self.super_peer.outcome)
        return (machines, contents(self.registry))


def test_registration() -> None:
    exchange = Exchange()
    credentials, outcome = run_exchange(exchange.peer, exchange.super_peer)
    assert exchange.peer.state is PeerState.FINISHED
    assert exchange.super_peer.state is SuperPeerState.FINISHED
    record = exchange.registry.authenticate(credentials.public_id, credentials.private_id)
    assert record == outcome.registration == exchange.registry.find(PEER.public)
    assert record.key == credentials.peer == PEER.public
    assert record.address == ADDRESS
    assert record.public_id == credentials.public_id
    assert record.serial == credentials.serial == NOW
    assert outcome.order is None


def test_the_order_of_the_chapter_is_kept() -> None:
    """Nothing but the peer's public key leaves it before the super-peer is identified, and its address never openly."""
    exchange = Exchange()
    challenge = encode(exchange.peer.begin(NOW))
    assert ADDRESS.encode() not in challenge
    greeting = exchange.super_peer.receive(decode_message(challenge), NOW)
    request = exchange.peer.receive(greeting, NOW)
    assert isinstance(request, RegistrationRequest)
    assert ADDRESS.encode() not in encode(request)
    assert PEER.public.raw not in encode(request)
    reply = exchange.super_peer.receive(request, NOW)
    exchange.peer.receive(reply, NOW)
    assert exchange.peer.credentials is not None
    for secret in (exchange.peer.credentials.private_id.reveal(), exchange.peer.credentials.salt):
        assert secret not in encode(reply)


def test_identifiers_differ_from_peer_to_peer_and_time_to_time() -> None:
    registry = registry_of(SUPER_PEER)
    first, _ = registered(PEER, SUPER_PEER, registry)
    other, _ = registered(OTHER_PEER, SUPER_PEER, registry, NOW + 1)
    again, _ = registered(PEER, SUPER_PEER, registry, NOW + 2)
    assert first.public_id == again.public_id != other.public_id
    assert first.private_id != again.private_id != other.private_id
    assert first.private_id.reveal() != first.public_id.raw != first.salt


def test_migration_keeps_the_public_id_and_renews_the_private_id() -> None:
    old, new = registry_of(SUPER_PEER), registry_of(SECOND_SUPER_PEER)
    before, _ = registered(PEER, SUPER_PEER, old)
    after, outcome = registered(PEER, SECOND_SUPER_PEER, new, NOW + 60, past=before)
    assert after.public_id == before.public_id
    assert after.private_id != before.private_id
    assert after.serial > before.serial
    assert outcome.order is not None
    handed_over = old.release(outcome.order, SECOND_SUPER_PEER.public, NOW + 61)
    assert len(old) == 0
    assert new.confirm(handed_over).brought is None
    assert new.authenticate(PEER.public, after.private_id).address == ADDRESS
    with pytest.raises(AuthError):
        new.authenticate(PEER.public, before.private_id)


def test_an_exchange_that_broke_off_is_just_begun_again() -> None:
    registry = registry_of(SUPER_PEER)
    Exchange(registry, "lost").replied()
    again = Exchange(registry, "again")
    credentials, _ = run_exchange(again.peer, again.super_peer)
    assert registry.authenticate(credentials.public_id, credentials.private_id).key == PEER.public
    assert len(registry) == 1


def test_serials_grow_even_if_the_clock_goes_back_and_no_reply_came() -> None:
    registry = registry_of(SUPER_PEER)
    lost = Exchange(registry, "lost")
    lost.replied()
    dice, earlier = Dice("later"), NOW - 1000
    peer = PeerExchange(PEER, SUPER_PEER.public, ADDRESS, CHANNEL, dice, last_serial=lost.peer.serial)
    credentials, _ = run_exchange(peer, SuperPeerExchange(SUPER_PEER, registry, CHANNEL, Dice("s")), earlier)
    assert credentials.serial == lost.peer.serial + 1
    forgetful = PeerExchange(PEER, SUPER_PEER.public, ADDRESS, CHANNEL, Dice("forgetful"))
    super_peer = SuperPeerExchange(SUPER_PEER, registry, CHANNEL, Dice("s"))
    request = forgetful.receive(super_peer.receive(forgetful.begin(earlier), earlier), earlier)
    assert request is not None
    refused(SerialStale, lambda: super_peer.receive(request, earlier), lambda: contents(registry))


# Every message in every state: what has a place there, by name.
PLACES = {
    (PeerState.IDENTIFYING, "Greeting"),
    (PeerState.REQUESTED, "RegistrationReply"),
    (SuperPeerState.WAITING, "Challenge"),
    (SuperPeerState.GREETED, "RegistrationRequest"),
}


def test_reordered_messages_are_refused() -> None:
    sample = Exchange(seed="sample")
    challenge = sample.peer.begin(NOW)
    greeting = sample.super_peer.receive(challenge, NOW)
    request = sample.peer.receive(greeting, NOW)
    assert request is not None
    reply = sample.super_peer.receive(request, NOW)
    assert isinstance(reply, RegistrationReply)
    messages = [challenge, greeting, request, reply, ArrivalRequest(bytes(32), b""), ArrivalReply(bytes(32), b"")]
    assert len({type(message) for message in messages}) == 6
    tried = 0
    for steps in range(4):
        exchange = Exchange(seed="tried")
        match steps:
            case 1:
                exchange.peer.begin(NOW)
            case 2:
                exchange.requested()
            case 3:
                exchange.replied()
        for machine in (exchange.peer, exchange.super_peer):
            for message in messages:
                place = (machine.state, type(message).__name__)
                # A super-peer that was greeted can be asked for either; what is in the letter then decides.
                if place in PLACES or place == (SuperPeerState.GREETED, "ArrivalRequest"):
                    continue
                refused(OutOfOrder, lambda m=machine, x=message: m.receive(x, NOW), exchange.state)  # type: ignore[misc]
                tried += 1
    assert tried > 30
    begun = Exchange()
    begun.peer.begin(NOW)
    refused(OutOfOrder, lambda: begun.peer.begin(NOW), begun.state)


def test_after_the_end_nothing_has_a_place() -> None:
    exchange = Exchange()
    run_exchange(exchange.peer, exchange.super_peer)
    again = Exchange(seed="again")
    for message in (again.peer.begin(NOW), again.super_peer.receive(Exchange(seed="x").peer.begin(NOW), NOW)):
        for machine in (exchange.peer, exchange.super_peer):
            refused(OutOfOrder, lambda m=machine, x=message: m.receive(x, NOW), exchange.state)  # type: ignore[misc]


def test_a_replayed_request_is_refused_in_every_exchange() -> None:
    registry = registry_of(SUPER_PEER)
    first = Exchange(registry, "first")
    request = first.requested()
    first.super_peer.receive(request, NOW)
    refused(OutOfOrder, lambda: first.super_peer.receive(request, NOW), first.state)
    second = Exchange(registry, "second")
    nonce = second.greeted().nonce
    refused(Replayed, lambda: second.super_peer.receive(request, NOW), second.state)
    renamed = RegistrationRequest(nonce, request.letter)
    refused(BadSignature, lambda: second.super_peer.receive(renamed, NOW), second.state)


def test_a_replayed_greeting_or_reply_is_refused() -> None:
    first = Exchange(seed="first")
    greeting = first.greeted()
    request = first.peer.receive(greeting, NOW)
    assert request is not None
    reply = first.super_peer.receive(request, NOW)
    assert isinstance(reply, RegistrationReply)
    second = Exchange(seed="second")
    second.peer.begin(NOW)
    refused(UnknownChallenge, lambda: second.peer.receive(greeting, NOW), second.state)
    third = Exchange(seed="third")
    mine = third.requested().nonce
    refused(Replayed, lambda: third.peer.receive(reply, NOW), third.state)
    assert mine != reply.nonce
    renamed = RegistrationReply(third.peer._nonces[0], reply.letter)
    refused(BadSignature, lambda: third.peer.receive(renamed, NOW), third.state)


def test_a_request_cannot_be_forwarded_to_another_super_peer() -> None:
    """A super-peer that a peer registers with seals the peer's words again, for another super-peer."""
    honest = Exchange()
    request = honest.requested()
    content = unseal(SUPER_PEER, request.letter)
    victim = SuperPeerExchange(SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), CHANNEL, Dice("victim"))
    challenge = PeerExchange(PEER, SECOND_SUPER_PEER.public, ADDRESS, CHANNEL, Dice("x")).begin(NOW)
    greeting = victim.receive(challenge, NOW)
    forwarded = RegistrationRequest(greeting.nonce, seal(SECOND_SUPER_PEER.public, content, Dice("forward")))
    refused(BadSignature, lambda: victim.receive(forwarded, NOW), lambda: victim.state)
    unopened = RegistrationRequest(greeting.nonce, request.letter)
    refused(SealBroken, lambda: victim.receive(unopened, NOW), lambda: victim.state)


def test_another_super_peer_cannot_answer() -> None:
    exchange = Exchange()
    challenge = exchange.peer.begin(NOW)
    impostor = SuperPeerExchange(SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), CHANNEL, Dice("impostor"))
    refused(WrongRecipient, lambda: impostor.receive(challenge, NOW), lambda: impostor.state)
    redirected = msgspec.structs.replace(challenge, responder=SECOND_SUPER_PEER.public)
    greeting = impostor.receive(redirected, NOW)
    refused(WrongKey, lambda: exchange.peer.receive(greeting, NOW), exchange.state)


def test_a_reflected_challenge_is_refused() -> None:
    exchange = Exchange()
    ours = msgspec.structs.replace(exchange.peer.begin(NOW), challenger=SUPER_PEER.public, responder=PEER.public)
    refused(Reflected, lambda: exchange.super_peer.receive(ours, NOW), exchange.state)
    other_role = msgspec.structs.replace(ours, challenger=PEER.public, responder=SUPER_PEER.public, role=Role.PEER)
    refused(WrongRole, lambda: exchange.super_peer.receive(other_role, NOW), exchange.state)


def test_a_party_in_the_middle_is_noticed_by_the_channel() -> None:
    registry = registry_of(SUPER_PEER)
    peer = PeerExchange(PEER, SUPER_PEER.public, ADDRESS, b"peer to middle", Dice("p"))
    super_peer = SuperPeerExchange(SUPER_PEER, registry, b"middle to super-peer", Dice("s"))
    greeting = super_peer.receive(peer.begin(NOW), NOW)
    refused(WrongChannel, lambda: peer.receive(greeting, NOW), lambda: peer.state)
    assert len(registry) == 0


def test_a_request_made_on_another_channel_is_refused() -> None:
    exchange = Exchange()
    greeting = exchange.greeted()
    answer = respond(SUPER_PEER, Exchange().peer.begin(NOW), Role.SUPER_PEER, b"other")
    peer = PeerExchange(PEER, SUPER_PEER.public, ADDRESS, b"other", Dice("peer "))
    peer.begin(NOW)
    request = peer.receive(Greeting(answer, greeting.nonce), NOW)
    assert request is not None
    refused(BadSignature, lambda: exchange.super_peer.receive(request, NOW), exchange.state)


def test_late_messages_are_refused() -> None:
    exchange = Exchange()
    greeting = exchange.greeted()
    refused(Expired, lambda: exchange.peer.receive(greeting, NOW + 31), exchange.state)
    request = exchange.peer.receive(greeting, NOW)
    assert request is not None
    refused(Expired, lambda: exchange.super_peer.receive(request, NOW + 31), exchange.state)
    reply = exchange.super_peer.receive(request, NOW)
    assert isinstance(reply, RegistrationReply)
    refused(Expired, lambda: exchange.peer.receive(reply, NOW + 31), exchange.state)
    exchange.peer.receive(reply, NOW)
    assert exchange.peer.credentials is not None


def test_truncated_at_every_length() -> None:
    exchange = Exchange()
    greeting = exchange.greeted()
    request = exchange.peer.receive(greeting, NOW)
    assert request is not None
    reply = exchange.super_peer.receive(request, NOW)
    for message in (greeting, request, reply):
        for cut in truncated(encode(message)):
            refused(TruncatedMessage, lambda cut=cut: decode_message(cut))  # type: ignore[misc]


@pytest.mark.parametrize("migrating", [False, True])
def test_every_flipped_bit_is_refused_and_the_true_message_still_serves(migrating: bool) -> None:
    past = registered(PEER, SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), NOW - 60)[0] if migrating else None
    exchange = Exchange(past=past)
    greeting = exchange.greeted()
    unsigned = encode(greeting).index(greeting.nonce)
    for position, changed in enumerate(flipped(encode(greeting))):
        if position // 8 < unsigned:
            with pytest.raises(AuthError):
                exchange.peer.receive(decode_message(changed), NOW)
    request = exchange.peer.receive(greeting, NOW)
    assert request is not None
    before = exchange.state()
    for changed in flipped(encode(request)):
        with pytest.raises(AuthError):
            exchange.super_peer.receive(decode_message(changed), NOW)
    assert exchange.state() == before
    reply = exchange.super_peer.receive(request, NOW)
    before = exchange.state()
    for changed in flipped(encode(reply)):
        with pytest.raises(AuthError):
            exchange.peer.receive(decode_message(changed), NOW)
    assert exchange.state() == before
    exchange.peer.receive(reply, NOW)
    assert exchange.peer.state is PeerState.FINISHED


def test_a_changed_nonce_in_the_greeting_is_noticed_by_the_super_peer() -> None:
    exchange = Exchange()
    greeting = exchange.greeted()
    request = exchange.peer.receive(Greeting(greeting.answer, bytes(32)), NOW)
    assert request is not None
    refused(Replayed, lambda: exchange.super_peer.receive(request, NOW), exchange.state)
    renamed = RegistrationRequest(greeting.nonce, request.letter)
    refused(BadSignature, lambda: exchange.super_peer.receive(renamed, NOW), exchange.state)


def test_nobody_registers_a_key_that_is_not_its_own() -> None:
    exchange = Exchange()
    greeting = exchange.greeted()
    thief = PeerExchange(OTHER_PEER, SUPER_PEER.public, ADDRESS, CHANNEL, Dice("thief"))
    answer = respond(SUPER_PEER, thief.begin(NOW), Role.SUPER_PEER, CHANNEL)
    request = thief.receive(Greeting(answer, greeting.nonce), NOW)
    assert request is not None
    refused(WrongKey, lambda: exchange.super_peer.receive(request, NOW), exchange.state)


@pytest.mark.parametrize("migrating", [False, True])
def test_nobody_attaches_another_with_an_attachment_that_it_has_seen(
    migrating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attachments are shown to old access points, so others know them; they count in their peer's own letter only."""
    past = registered(OTHER_PEER, SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), NOW - 60)[0] if migrating else None
    registry = registry_of(SUPER_PEER)
    thief = PeerExchange(OTHER_PEER, SUPER_PEER.public, "thief.example.org:1", CHANNEL, Dice("thief"), past=past)
    super_peer = SuperPeerExchange(SUPER_PEER, registry, CHANNEL, Dice("s"))
    greeting = super_peer.receive(thief.begin(NOW), NOW)
    seen = attach(PEER, SUPER_PEER.public, int(NOW))
    monkeypatch.setattr("auth.attaching.attach", lambda *_: seen)
    if past is not None:
        order = order_migration(PEER, past.public_id, SECOND_SUPER_PEER.public, SUPER_PEER.public, int(NOW), NOW)
        monkeypatch.setattr("auth.attaching.order_migration", lambda *_: order)
        monkeypatch.setattr("auth.identifiers.PublicId.require_owner", lambda *_: None)
    request = thief.receive(greeting, NOW)
    assert request is not None
    refused(WrongKey, lambda: super_peer.receive(request, NOW), lambda: (super_peer.state, contents(registry)))


def test_revoked_and_banned_keys_are_turned_away() -> None:
    exchange = Exchange()
    exchange.registry.ban(PEER.public, NOW)
    refused(Banned, exchange.greeted, lambda: exchange.super_peer.state)
    exchange = Exchange()
    exchange.registry.revoke(revoke_key(PEER, PEER.public, NOW), NOW)
    refused(KeyRevoked, exchange.greeted, lambda: exchange.super_peer.state)
    exchange = Exchange()
    request = exchange.requested()
    exchange.registry.revoke(revoke_key(PEER, PEER.public, NOW), NOW)
    refused(KeyRevoked, lambda: exchange.super_peer.receive(request, NOW), exchange.state)


def test_a_peer_does_not_register_with_a_revoked_super_peer() -> None:
    revocations = Revocations()
    revocations.add(revoke_key(SUPER_PEER, SUPER_PEER.public, NOW))
    exchange = Exchange()
    exchange.peer = PeerExchange(PEER, SUPER_PEER.public, ADDRESS, CHANNEL, Dice("peer"), revocations=revocations)
    refused(KeyRevoked, exchange.requested, lambda: exchange.peer.credentials)


def test_mistakes_are_found_before_anything_is_sent() -> None:
    before, _ = registered(PEER, SUPER_PEER, registry_of(SUPER_PEER))
    with pytest.raises(SameAccessPoint):
        PeerExchange(PEER, SUPER_PEER.public, ADDRESS, CHANNEL, Dice(), past=before)
    with pytest.raises(InvalidAddress):
        PeerExchange(PEER, SUPER_PEER.public, "two words", CHANNEL, Dice())
    weak = PublicKey(b"\1" + bytes(31))
    with pytest.raises(InvalidKey):
        PeerExchange(PEER, weak, ADDRESS, CHANNEL, Dice())
    exchange = Exchange()
    challenge = msgspec.structs.replace(exchange.peer.begin(NOW), challenger=weak)
    refused(InvalidKey, lambda: exchange.super_peer.receive(challenge, NOW), exchange.state)


def test_a_new_access_point_cannot_change_the_public_id(monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = registered(PEER, SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), NOW - 60)
    exchange = Exchange(past=before)
    request = exchange.requested()
    genuine = exchange.registry._grant

    def lying(*args: Any) -> Granted:
        granted = genuine(*args)
        return Granted(msgspec.structs.replace(granted.registration, salt=bytes(32)), granted.private_id)

    monkeypatch.setattr(exchange.registry, "_grant", lying)
    reply = exchange.super_peer.receive(request, NOW)
    assert isinstance(reply, ArrivalReply)
    refused(WrongPublicId, lambda: exchange.peer.receive(reply, NOW), lambda: exchange.peer.credentials)


def test_the_same_randomness_and_time_give_the_same_exchange() -> None:
    one, other = Exchange(seed="same"), Exchange(seed="same")
    assert encode(one.replied()) == encode(other.replied())
