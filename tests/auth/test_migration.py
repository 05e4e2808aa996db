"""Migration: orders that serve once, for one super-peer, never backwards; an old access point that comes back."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth import (
    Arriving,
    Attachment,
    AuthError,
    BadSignature,
    Credentials,
    KeyRevoked,
    MigrationOrder,
    OrderExpired,
    OrderReplayed,
    PublicId,
    Registration,
    Registry,
    SameAccessPoint,
    SerialStale,
    TruncatedMessage,
    UnknownPeer,
    WrongKey,
    WrongPresenter,
    WrongPrivateId,
    WrongPublicId,
    WrongRecipient,
    attach,
    decode,
    decode_record,
    encode,
    next_serial,
    order_migration,
    revoke_key,
    sign,
    verify_attachment,
    verify_order,
)
from auth.migration import MAX_ORDER_LIFETIME_S, _order_parts
from auth.statements import Purpose
from tests.auth.helpers import (
    NOW,
    OTHER_PEER,
    PEER,
    SECOND_SUPER_PEER,
    SUPER_PEER,
    THIRD_SUPER_PEER,
    Dice,
    contents,
    flipped,
    refused,
    register,
    registered,
    registry_of,
    truncated,
)

OLD, NEW, THIRD = SUPER_PEER.public, SECOND_SUPER_PEER.public, THIRD_SUPER_PEER.public


class Moved:
    """A peer that is registered at the old access point and has made an order to the new one."""

    def __init__(self) -> None:
        self.old = registry_of(SUPER_PEER)
        self.new = registry_of(SECOND_SUPER_PEER)
        self.granted = register(self.old, PEER, 1)
        self.public_id = self.granted.registration.public_id
        self.order = self.make_order()

    def make_order(self, serial: int = 2, old_to_new: bool = True) -> MigrationOrder:
        old, new = (OLD, NEW) if old_to_new else (NEW, OLD)
        return order_migration(PEER, self.public_id, old, new, serial, NOW)

    def arriving(self, serial: int = 2) -> Arriving:
        record = self.granted.registration
        attachment = attach(PEER, NEW, serial)
        return Arriving("a:1", attachment, self.order, record.salt, self.granted.private_id)

    def state(self) -> object:
        return contents(self.old), contents(self.new)


def test_an_order_is_written_and_read() -> None:
    order = Moved().order
    assert decode(MigrationOrder, encode(order)) == order
    verify_order(order, NOW)
    attachment = attach(PEER, NEW, 7)
    assert decode(Attachment, encode(attachment)) == attachment
    verify_attachment(attachment)


def test_handing_over() -> None:
    moved = Moved()
    assert moved.old.check_order(moved.order, NEW, NOW) == moved.granted.registration
    assert len(moved.old) == 1, "to look at an order changes nothing"
    assert moved.old.release(moved.order, NEW, NOW) == moved.granted.registration
    refused(UnknownPeer, lambda: moved.old.find(PEER.public))


def test_an_order_serves_once() -> None:
    moved = Moved()
    moved.old.release(moved.order, NEW, NOW)
    refused(OrderReplayed, lambda: moved.old.release(moved.order, NEW, NOW), moved.state)


def test_a_used_order_stays_used_over_a_restart() -> None:
    moved = Moved()
    moved.old.release(moved.order, NEW, NOW)
    restarted = registry_of(SUPER_PEER)
    restarted.restore(decode_record(encode(record)) for record in moved.old.records())
    refused(OrderReplayed, lambda: restarted.release(moved.order, NEW, NOW))


def test_a_used_order_does_not_move_a_peer_that_came_back() -> None:
    moved = Moved()
    moved.old.release(moved.order, NEW, NOW)
    register(moved.old, PEER, 3)
    refused(SerialStale, lambda: moved.old.release(moved.order, NEW, NOW), moved.state)


def test_a_third_super_peer_cannot_use_an_order() -> None:
    moved = Moved()
    refused(WrongPresenter, lambda: moved.old.release(moved.order, THIRD, NOW), moved.state)
    renamed = msgspec.structs.replace(moved.order, new=THIRD)
    refused(BadSignature, lambda: moved.old.release(renamed, THIRD, NOW), moved.state)
    third = registry_of(THIRD_SUPER_PEER)
    refused(WrongRecipient, lambda: third.release(moved.order, NEW, NOW))


def test_an_order_does_not_go_back_to_an_older_serial() -> None:
    moved = Moved()
    register(moved.old, PEER, 5)
    for serial in (0, 2, 4, 5):
        order = moved.make_order(serial)
        refused(SerialStale, lambda order=order: moved.old.release(order, NEW, NOW), moved.state)  # type: ignore[misc]
    assert moved.old.release(moved.make_order(6), NEW, NOW).serial == 5


def test_an_order_has_its_time() -> None:
    moved = Moved()
    for now in (NOW + 3600, NOW + 10**6, NOW - 301):
        refused(OrderExpired, lambda now=now: moved.old.release(moved.order, NEW, now), moved.state)  # type: ignore[misc]
    for now in (NOW + 3599, NOW - 299):
        assert moved.old.check_order(moved.order, NEW, now).key == PEER.public


def test_an_order_for_too_long_is_refused_even_if_signed() -> None:
    moved = Moved()
    long = msgspec.structs.replace(moved.order, expires=moved.order.issued + MAX_ORDER_LIFETIME_S + 1)
    signed = msgspec.structs.replace(long, signature=sign(PEER, Purpose.MIGRATION_ORDER, *_order_parts(long)))
    refused(OrderExpired, lambda: moved.old.release(signed, NEW, NOW), moved.state)
    with pytest.raises(AssertionError):
        order_migration(PEER, moved.public_id, OLD, NEW, 2, NOW, MAX_ORDER_LIFETIME_S + 1)


def test_an_order_for_another_public_id_or_peer_is_refused() -> None:
    moved = Moved()
    order = order_migration(PEER, PublicId(bytes(32)), OLD, NEW, 2, NOW)
    refused(WrongPublicId, lambda: moved.old.release(order, NEW, NOW), moved.state)
    order = order_migration(OTHER_PEER, moved.public_id, OLD, NEW, 2, NOW)
    refused(UnknownPeer, lambda: moved.old.release(order, NEW, NOW), moved.state)


def test_a_revoked_peer_is_not_handed_over() -> None:
    moved = Moved()
    moved.old.revocations.add(revoke_key(PEER, PEER.public, NOW))
    refused(KeyRevoked, lambda: moved.old.release(moved.order, NEW, NOW), moved.state)


def test_every_flipped_bit_and_every_length() -> None:
    moved = Moved()
    for changed in flipped(encode(moved.order)):
        with pytest.raises(AuthError):
            moved.old.release(decode(MigrationOrder, changed), NEW, NOW)
    for cut in truncated(encode(moved.order)):
        refused(TruncatedMessage, lambda cut=cut: decode(MigrationOrder, cut))  # type: ignore[misc]
    attachment = attach(PEER, NEW, 9)
    for changed in flipped(encode(attachment)):
        with pytest.raises(AuthError):
            moved.old.supersede(decode(Attachment, changed), NOW)
    assert len(moved.old) == 1


def test_arriving_on_the_strength_of_the_peers_own_signature() -> None:
    moved = Moved()
    granted = moved.new.arrive(moved.arriving(), NOW, Dice())
    assert granted.registration.public_id == moved.public_id
    assert moved.new.authenticate(moved.public_id, granted.private_id) == granted.registration
    again = moved.new.arrive(moved.arriving(), NOW, Dice("again"))
    assert again.private_id != granted.private_id, "a peer whose answer got lost arrives again"
    assert len(moved.new) == 1


def test_arriving_with_something_wrong() -> None:
    moved = Moved()

    def attempt(error: type[AuthError], arriving: Arriving, now: float = NOW) -> None:
        refused(error, lambda: moved.new.arrive(arriving, now, Dice()), moved.state)

    replace = msgspec.structs.replace
    arriving = moved.arriving()
    attempt(WrongPublicId, replace(arriving, salt=bytes(32)))
    attempt(WrongRecipient, replace(arriving, attachment=attach(PEER, THIRD, 2)))
    attempt(WrongRecipient, replace(arriving, attachment=attach(PEER, NEW, 3)))
    attempt(WrongRecipient, replace(arriving, order=order_migration(PEER, moved.public_id, OLD, THIRD, 2, NOW)))
    attempt(WrongKey, replace(arriving, attachment=attach(OTHER_PEER, NEW, 2)))
    attempt(BadSignature, replace(arriving, order=replace(moved.order, old=THIRD)))
    attempt(OrderExpired, arriving, NOW + 3600)
    register(moved.new, PEER, 3)
    attempt(SerialStale, arriving)


def test_what_is_handed_over_confirms_what_the_peer_brought() -> None:
    moved = Moved()
    brought = moved.new.arrive(moved.arriving(), NOW, Dice()).registration
    assert brought.brought is not None
    handed_over = moved.old.release(moved.order, NEW, NOW)
    forged = msgspec.structs.replace(handed_over, verifier=bytes(32))
    refused(WrongPrivateId, lambda: moved.new.confirm(forged), moved.state)
    other = msgspec.structs.replace(handed_over, salt=bytes(32))
    refused(WrongPublicId, lambda: moved.new.confirm(other), moved.state)
    confirmed = moved.new.confirm(handed_over)
    assert confirmed == msgspec.structs.replace(brought, brought=None)
    assert moved.new.confirm(handed_over) == confirmed


def test_an_old_access_point_that_comes_back_forgets() -> None:
    moved = Moved()
    arrived = moved.new.arrive(moved.arriving(), NOW, Dice()).registration
    a_year_later = NOW + 365 * 24 * 3600
    assert moved.old.supersede(arrived.attachment, a_year_later) == moved.granted.registration
    assert len(moved.old) == 0
    assert moved.old.supersede(arrived.attachment, a_year_later) is None
    refused(SerialStale, lambda: register(moved.old, PEER, 2), moved.state)


def test_an_older_attachment_makes_nobody_forget() -> None:
    moved = Moved()
    register(moved.old, PEER, 5)
    for serial in (0, 4, 5):
        older = attach(PEER, NEW, serial)
        refused(SerialStale, lambda older=older: moved.old.supersede(older, NOW), moved.state)  # type: ignore[misc]
    assert moved.old.supersede(attach(PEER, OLD, 9), NOW) is None, "an attachment here is no reason to forget"
    assert moved.old.supersede(attach(OTHER_PEER, NEW, 9), NOW) is None
    assert len(moved.old) == 1


def test_an_order_that_the_peer_thought_better_of_does_no_harm_later() -> None:
    moved = Moved()
    refused(OrderExpired, lambda: moved.old.release(moved.order, NEW, NOW + 3600), moved.state)
    as_attachment = Attachment(PEER.public, NEW, moved.order.serial, moved.order.signature)
    refused(BadSignature, lambda: moved.old.supersede(as_attachment, NOW), moved.state)


def test_around_and_back_through_whole_exchanges() -> None:
    first, second = registry_of(SUPER_PEER), registry_of(SECOND_SUPER_PEER)
    credentials, _ = registered(PEER, SUPER_PEER, first)
    orders: list[tuple[Registry, MigrationOrder]] = []
    here, there, at = (SUPER_PEER, first), (SECOND_SUPER_PEER, second), NOW
    for _ in range(4):
        at += 1
        past: Credentials = credentials
        credentials, outcome = registered(PEER, there[0], there[1], at, past=past)
        assert outcome.order is not None
        handed_over: Registration = here[1].release(outcome.order, there[0].public, at)
        there[1].confirm(handed_over)
        orders.append((here[1], outcome.order))
        assert (len(here[1]), len(there[1])) == (0, 1)
        assert credentials.public_id == past.public_id
        here, there = there, here
    for registry, order in orders:
        with pytest.raises((OrderReplayed, SerialStale)):
            registry.release(order, order.new, at)


steps = st.tuples(
    st.sampled_from(["register", "migrate", "migrate while the old one is down", "replay"]), st.integers(0, 99)
)


@given(st.lists(steps, max_size=12))
def test_after_any_history_the_last_access_point_is_the_only_one(history: list[tuple[str, int]]) -> None:
    """Old orders and attachments are presented again and again, and never take the peer from where it is."""
    places = [SUPER_PEER, SECOND_SUPER_PEER, THIRD_SUPER_PEER]
    registries = {place.public: registry_of(place) for place in places}
    serial, granted = 1, register(registries[OLD], PEER, 1)
    at, attachments = OLD, [granted.registration.attachment]
    orders: list[MigrationOrder] = []
    for action, choice in history:
        target = places[choice % 3].public
        if action == "replay":
            for used in orders[choice % 5 :]:
                with suppress(AuthError):
                    registries[used.old].release(used, used.new, NOW)
        elif action == "register" or target == at:
            serial += 1
            granted = register(registries[target], PEER, serial)
            at = target
        else:
            serial += 1
            record = granted.registration
            order = order_migration(PEER, record.public_id, at, target, serial, NOW)
            arriving = Arriving("a:1", attach(PEER, target, serial), order, record.salt, granted.private_id)
            granted = registries[target].arrive(arriving, NOW, Dice(f"arrive {serial}"))
            orders.append(order)
            if action == "migrate":
                registries[target].confirm(registries[at].release(order, target, NOW))
            at = target
        attachments.append(granted.registration.attachment)
        assert registries[at].authenticate(PEER.public, granted.private_id).serial == serial
    for attachment in attachments:
        for registry in registries.values():
            with suppress(SerialStale):
                registry.supersede(attachment, NOW)
    assert [key for key, registry in registries.items() if len(registry)] == [at]


def test_serials_only_grow_and_survive_a_loss_of_memory() -> None:
    assert next_serial(0, NOW) == int(NOW)
    assert next_serial(int(NOW) + 10, NOW) == int(NOW) + 11
    assert next_serial(5, 0.0) == 6


def test_nobody_migrates_to_where_it_is() -> None:
    with pytest.raises(SameAccessPoint):
        order_migration(PEER, PublicId(bytes(32)), OLD, OLD, 1, NOW)
