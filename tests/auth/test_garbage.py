"""Random bytes, and random messages of the right shape, into everything that reads: only errors of `auth` come out."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from auth import (
    Answer,
    ArrivalReply,
    ArrivalRequest,
    Attachment,
    AuthError,
    Certificate,
    Challenge,
    Credentials,
    ExchangeMessage,
    Greeting,
    MalformedMessage,
    Message,
    MigrationOrder,
    Origin,
    PeerExchange,
    PrivateId,
    Proof,
    PublicId,
    PublicKey,
    Purpose,
    RegistrationReply,
    RegistrationRequest,
    Role,
    SuperPeerExchange,
    decode,
    decode_message,
    decode_record,
    decode_revocation,
    encode,
    open_letter,
    write_value,
)
from auth.letters import MAX_LETTER_BYTES
from auth.messages import Arriving, Granting, Registering
from auth.wire import MAX_MESSAGE_BYTES
from tests.auth.helpers import CHANNEL, NOW, PEER, SUPER_PEER, Dice, contents, registered, registry_of

KINDS: list[type[Message]] = [
    Answer,
    Arriving,
    Attachment,
    Certificate,
    Challenge,
    Credentials,
    Granting,
    Greeting,
    MigrationOrder,
    Origin,
    Proof,
    Registering,
]
DECODERS: list[Callable[[bytes], object]] = [decode_message, decode_record, decode_revocation]

keys = st.one_of(
    st.sampled_from([PEER.public, SUPER_PEER.public]), st.builds(PublicKey, st.binary(min_size=32, max_size=32))
)
nonces = st.binary(min_size=32, max_size=32)
signatures = st.binary(min_size=64, max_size=64)
letters = st.binary(max_size=300)
answers = st.builds(Answer, st.sampled_from(Role), keys, keys, nonces, st.binary(max_size=64), signatures)
messages: st.SearchStrategy[ExchangeMessage] = st.one_of(
    st.builds(Challenge, st.sampled_from(Role), keys, keys, nonces),
    st.builds(Greeting, answers, nonces),
    st.builds(RegistrationRequest, nonces, letters),
    st.builds(RegistrationReply, nonces, letters),
    st.builds(ArrivalRequest, nonces, letters),
    st.builds(ArrivalReply, nonces, letters),
)
# Values that MessagePack can write, in arrays that start like messages.
tags = st.sampled_from([kind.__struct_config__.tag for kind in KINDS])
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=70),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=12,
)
shaped = st.tuples(tags, st.lists(plain, max_size=8)).map(lambda parts: msgspec.msgpack.encode([parts[0], *parts[1]]))


@given(st.binary(max_size=300) | shaped)
def test_garbage_gives_one_class_of_error(data: bytes) -> None:
    for kind in KINDS:
        with pytest.raises(MalformedMessage):
            decode(kind, data)
    for decoder in DECODERS:
        with pytest.raises(MalformedMessage):
            decoder(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(MAX_MESSAGE_BYTES + 1),
        b"\x91" * 8000,
        b"\x92\xa6origin\xa1\xff",
        b"\x92\xa1\xff\xa1a",
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\x94\xa6origin\xc0\xc0\xc0",
    ],
)
def test_hostile_bytes(data: bytes) -> None:
    for kind in KINDS:
        with pytest.raises(MalformedMessage):
            decode(kind, data)


def test_an_enormous_message_is_not_even_looked_at() -> None:
    with pytest.raises(MalformedMessage, match="at most 8192 bytes"):
        decode_message(bytes(MAX_MESSAGE_BYTES + 1))


def test_what_follows_a_message_and_unknown_fields_are_refused() -> None:
    origin = Origin(PEER.public, bytes(32), SUPER_PEER.public)
    data = encode(origin)
    assert decode(Origin, data) == origin
    longer = msgspec.msgpack.encode([*msgspec.msgpack.decode(data), 1])
    for wrong in (data + b"\0", data + data, longer):
        with pytest.raises(MalformedMessage):
            decode(Origin, wrong)


@given(st.integers(0, 100), st.integers(0, 100))
def test_wrong_lengths_of_fields_are_refused(key: int, salt: int) -> None:
    assume((key, salt) != (32, 32))
    data = msgspec.msgpack.encode(["origin", bytes(key), bytes(salt), bytes(32)])
    with pytest.raises(MalformedMessage):
        decode(Origin, data)


def test_only_keys_and_identifiers_have_hooks() -> None:
    with pytest.raises(NotImplementedError, match="hold no complex"):
        msgspec.msgpack.encode(1j, enc_hook=write_value)


@given(st.binary(max_size=300) | st.binary(min_size=MAX_LETTER_BYTES - 2, max_size=MAX_LETTER_BYTES + 2))
def test_garbage_is_no_letter(data: bytes) -> None:
    with pytest.raises(AuthError):
        open_letter(SUPER_PEER, PEER.public, Purpose.REGISTRATION_REQUEST, (), data)


@given(st.lists(messages, min_size=1, max_size=3), st.integers(0, 2), st.floats(0, 2e9))
def test_the_peers_machine_survives_anything(received: list[ExchangeMessage], step: int, now: float) -> None:
    registry = registry_of(SUPER_PEER)
    peer = PeerExchange(PEER, SUPER_PEER.public, "p:1", CHANNEL, Dice("p"))
    super_peer = SuperPeerExchange(SUPER_PEER, registry, CHANNEL, Dice("s"))
    greeting = super_peer.receive(peer.begin(NOW), NOW) if step else None
    request = peer.receive(greeting, NOW) if greeting and step > 1 else None
    state = peer.state
    for message in received:
        with pytest.raises(AuthError):
            peer.receive(message, now)
        assert peer.state is state
        assert peer.credentials is None
    if greeting and not request:
        request = peer.receive(greeting, NOW)
    if request:
        peer.receive(super_peer.receive(request, NOW), NOW)
        assert peer.credentials is not None


@given(st.lists(messages, min_size=1, max_size=3), st.booleans(), st.floats(0, 2e9))
def test_the_super_peers_machine_survives_anything(received: list[ExchangeMessage], greeted: bool, now: float) -> None:
    registry = registry_of(SUPER_PEER)
    peer = PeerExchange(PEER, SUPER_PEER.public, "p:1", CHANNEL, Dice("p"))
    super_peer = SuperPeerExchange(SUPER_PEER, registry, CHANNEL, Dice("s"))
    challenge = peer.begin(NOW)
    greeting = super_peer.receive(challenge, NOW) if greeted else None
    for message in received:
        if greeting is None and isinstance(message, Challenge):
            continue
        state = super_peer.state
        with pytest.raises(AuthError):
            super_peer.receive(message, now)
        assert super_peer.state is state
        assert super_peer.outcome is None
        assert contents(registry) == []
    request = peer.receive(greeting or super_peer.receive(challenge, NOW), NOW)
    assert request is not None
    super_peer.receive(request, NOW)
    assert super_peer.outcome is not None


@given(nonces)
def test_random_identifiers_name_nobody(raw: bytes) -> None:
    registry = registry_of(SUPER_PEER)
    credentials, _ = registered(PEER, SUPER_PEER, registry)
    before = contents(registry)
    actions: list[Callable[[], object]] = [
        lambda: registry.find(PublicId(raw)),
        lambda: registry.find(PublicKey(raw)),
        lambda: registry.authenticate(credentials.public_id, PrivateId(raw)),
        lambda: registry.connect(PublicKey(raw), credentials.private_id, "a:1", NOW),
    ]
    for action in actions:
        with pytest.raises(AuthError):
            action()
    assert contents(registry) == before
