"""The registry: who is registered, who may speak for whom, and its limits."""

from __future__ import annotations

import msgspec
import pytest

from auth import (
    BadSignature,
    Ban,
    Banned,
    InvalidAddress,
    KeyRevoked,
    LimitExceeded,
    PrivateId,
    PublicId,
    Registering,
    Registry,
    RegistryLimits,
    Revocations,
    SerialStale,
    UnknownPeer,
    WrongPrivateId,
    WrongRecipient,
    attach,
    decode_record,
    encode,
    revoke_key,
)
from auth.identifiers import MAX_ADDRESS_BYTES
from tests.auth.helpers import (
    NOW,
    OTHER_PEER,
    PEER,
    ROOT,
    SECOND_SUPER_PEER,
    SUPER_PEER,
    Dice,
    contents,
    identity,
    refused,
    register,
    registry_of,
)


def test_a_peer_is_known_by_key_and_by_public_id() -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    record = granted.registration
    assert registry.find(PEER.public) == registry.find(record.public_id) == record
    assert registry.authenticate(PEER.public, granted.private_id) == record
    assert registry.authenticate(record.public_id, granted.private_id) == record
    assert list(registry) == [record]


def test_only_its_own_private_id_speaks_for_a_peer() -> None:
    registry = registry_of(SUPER_PEER)
    mine, theirs = register(registry, PEER), register(registry, OTHER_PEER)
    public_id = mine.registration.public_id
    refused(WrongPrivateId, lambda: registry.authenticate(public_id, theirs.private_id))
    refused(WrongPrivateId, lambda: registry.authenticate(public_id, PrivateId(public_id.raw)))
    refused(WrongPrivateId, lambda: registry.authenticate(public_id, PrivateId(mine.registration.verifier)))
    refused(UnknownPeer, lambda: registry.authenticate(PublicId(bytes(32)), mine.private_id))
    refused(UnknownPeer, lambda: registry.find(ROOT.public))


def test_registering_again_renews_the_private_id_only() -> None:
    registry = registry_of(SUPER_PEER)
    first, second = register(registry, PEER, 1), register(registry, PEER, 2)
    assert first.registration.public_id == second.registration.public_id
    refused(WrongPrivateId, lambda: registry.authenticate(PEER.public, first.private_id))
    assert registry.authenticate(PEER.public, second.private_id) == second.registration
    assert len(registry) == 1
    refused(SerialStale, lambda: register(registry, PEER, 1), lambda: contents(registry))


def test_going_offline_and_coming_back() -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    assert registry.find(PEER.public).connected
    assert not registry.disconnect(PEER.public, NOW + 10).connected
    refused(
        WrongPrivateId,
        lambda: registry.connect(PEER.public, PrivateId(bytes(32)), "b:1", NOW),
        lambda: contents(registry),
    )
    back = registry.connect(granted.registration.public_id, granted.private_id, "elsewhere.example.org:1", NOW + 20)
    assert back.connected
    assert back.address == registry.find(PEER.public).address == "elsewhere.example.org:1"
    assert back.seen_at == NOW + 20
    assert back.registered_at == NOW


@pytest.mark.parametrize(
    "address", ["two words", "line\nbreak", "nul\0", "\ud800", "a" * (MAX_ADDRESS_BYTES + 1), "ö" * 129]
)
def test_bad_addresses_are_refused(address: str) -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    bad = Registering(address, attach(OTHER_PEER, SUPER_PEER.public, 1))
    refused(InvalidAddress, lambda: registry.register(bad, NOW, Dice()), lambda: contents(registry))
    refused(
        InvalidAddress,
        lambda: registry.connect(PEER.public, granted.private_id, address, NOW),
        lambda: contents(registry),
    )
    with pytest.raises(InvalidAddress):
        Registry(SUPER_PEER.public, address)


def test_an_attachment_to_another_super_peer_registers_nobody() -> None:
    registry = registry_of(SUPER_PEER)
    elsewhere = Registering("a:1", attach(PEER, SECOND_SUPER_PEER.public, 1))
    refused(WrongRecipient, lambda: registry.register(elsewhere, NOW, Dice()), lambda: contents(registry))
    forged = msgspec.structs.replace(attach(PEER, SUPER_PEER.public, 1), serial=2)
    refused(
        BadSignature, lambda: registry.register(Registering("a:1", forged), NOW, Dice()), lambda: contents(registry)
    )


def test_the_peer_and_the_root_revoke() -> None:
    for signer in (PEER, ROOT):
        registry = Registry(SUPER_PEER.public, "s:1", Revocations(ROOT.public))
        granted = register(registry, PEER)
        forgotten = registry.revoke(revoke_key(signer, PEER.public, NOW), NOW)
        assert forgotten == granted.registration
        refused(UnknownPeer, lambda r=registry, g=granted: r.authenticate(PEER.public, g.private_id))  # type: ignore[misc]
        refused(KeyRevoked, lambda r=registry: register(r, PEER, 2), lambda r=registry: contents(r))  # type: ignore[misc]


def test_nobody_else_revokes() -> None:
    registry = Registry(SUPER_PEER.public, "s:1", Revocations(ROOT.public))
    register(registry, PEER)
    for signer in (OTHER_PEER, SUPER_PEER):
        statement = revoke_key(signer, PEER.public, NOW)
        refused(BadSignature, lambda s=statement: registry.revoke(s, NOW), lambda: contents(registry))  # type: ignore[misc]


def test_a_revocation_that_came_by_another_way_counts_at_once() -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    registry.revocations.add(revoke_key(PEER, PEER.public, NOW))
    refused(KeyRevoked, lambda: registry.authenticate(PEER.public, granted.private_id))


def test_the_operator_bans_and_forgives() -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    assert registry.ban(PEER.public, NOW) == granted.registration
    assert registry.ban(OTHER_PEER.public, NOW) is None
    refused(Banned, lambda: register(registry, PEER, 2), lambda: contents(registry))
    registry.lift_ban(PEER.public)
    register(registry, PEER, 2)


def test_a_peer_that_left_for_good_is_forgotten() -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    registry.forget(granted.registration.public_id, NOW)
    assert len(registry) == 0
    refused(UnknownPeer, lambda: registry.find(PEER.public))
    refused(UnknownPeer, lambda: registry.forget(PEER.public, NOW))
    refused(SerialStale, lambda: register(registry, PEER, 1), lambda: contents(registry))
    register(registry, PEER, 2)


def test_a_store_gets_everything_and_no_secret() -> None:
    registry = registry_of(SUPER_PEER)
    granted = register(registry, PEER)
    register(registry, OTHER_PEER)
    registry.forget(OTHER_PEER.public, NOW)
    registry.ban(ROOT.public, NOW)
    stored = [encode(record) for record in registry.records()]
    assert not any(granted.private_id.reveal() in data for data in stored)
    again = registry_of(SUPER_PEER)
    again.restore(decode_record(data) for data in stored)
    assert contents(again) == contents(registry)
    assert again.authenticate(PEER.public, granted.private_id) == granted.registration
    refused(SerialStale, lambda: register(again, OTHER_PEER, 1))
    refused(Banned, lambda: again.require_welcome(ROOT.public))
    assert Ban(ROOT.public, NOW) in again.records()


def test_the_number_of_peers_is_limited() -> None:
    registry = Registry(SUPER_PEER.public, "s:1", limits=RegistryLimits(max_peers=2))
    register(registry, PEER)
    register(registry, OTHER_PEER)
    refused(LimitExceeded, lambda: register(registry, ROOT), lambda: contents(registry))
    # Who is registered may register again.
    register(registry, PEER, 2)
    registry.forget(PEER.public, NOW)
    register(registry, ROOT)


def test_the_rate_of_new_peers_is_limited() -> None:
    registry = Registry(SUPER_PEER.public, "s:1", limits=RegistryLimits(max_new_peers_a_minute=3))
    for name in "abc":
        register(registry, identity(name))
    refused(LimitExceeded, lambda: register(registry, identity("d")), lambda: contents(registry))
    # Who is registered is not counted.
    register(registry, identity("a"), 2)
    refused(LimitExceeded, lambda: register(registry, identity("d"), now=NOW + 19))
    register(registry, identity("d"), now=NOW + 20)
    refused(LimitExceeded, lambda: register(registry, identity("e"), now=NOW), lambda: contents(registry))


def test_what_is_remembered_of_those_who_left_is_limited() -> None:
    registry = Registry(SUPER_PEER.public, "s:1", limits=RegistryLimits(max_departures=3))
    for name in "abcdef":
        register(registry, identity(name))
        registry.forget(identity(name).public, NOW)
    assert len(registry.records()) == 3
    register(registry, PEER)
    registry.forget(PEER.public, NOW + 8 * 24 * 3600)
    assert len(registry.records()) == 1


def test_memory_holds_no_private_id() -> None:
    registry = registry_of(SUPER_PEER)
    private_id = register(registry, PEER).private_id
    for holder in (registry._peers, registry._keys, registry._departures, registry._bans):
        assert private_id.reveal() not in repr(holder).encode()
        assert private_id.reveal().hex() not in repr(holder)
