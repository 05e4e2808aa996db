"""Where a peer is attached: two statements that it signs, and a serial number that only grows.

An **attachment** says "as of serial s, this super-peer is my access point". It is made when a peer registers and when
it arrives at a new access point, it never expires, and of two the one with the higher serial holds. An access point
that was gone for a year, shown a later attachment than its own, forgets the peer.

A **migration order** says "hand me over from old to new". It is made before the peer arrives, so it is only a
permission: for one peer, one public id, one old and one new access point; for one use, since the old access point
remembers the serial; and for a short time, so that an order which the peer thought better of cannot be used against
it later. The new access point presents it, and the old one checks that it comes from the super-peer that it names.

The serial of a new statement is one more than the last, or the time in seconds if that is more. So a peer that lost
everything but its key still makes statements that are later than all before.
"""

from __future__ import annotations

from auth.errors import OrderExpired, SameAccessPoint
from auth.identifiers import PublicId
from auth.identity import Identity, sign, verify
from auth.statements import MAX_NUMBER, Purpose, number
from auth.values import PublicKey
from auth.wire import Message, Number, Signature

ORDER_LIFETIME_S = 3600
MAX_ORDER_LIFETIME_S = 7 * 24 * 3600
MAX_CLOCK_DIFFERENCE_S = 300


class Attachment(Message, frozen=True, tag="attachment"):
    """'As of `serial`, `access_point` is my access point', signed by the peer."""

    peer: PublicKey
    access_point: PublicKey
    serial: Number
    signature: Signature


class MigrationOrder(Message, frozen=True, tag="migration order"):
    """'Hand me over from `old` to `new`', signed by the peer; times in seconds since the epoch."""

    peer: PublicKey
    public_id: PublicId
    old: PublicKey
    new: PublicKey
    serial: Number
    issued: Number
    expires: Number
    signature: Signature


def next_serial(last: int, now: float) -> int:
    """The serial of the next attachment, and of the order that goes with it."""
    serial = max(last + 1, int(now))
    assert serial <= MAX_NUMBER
    return serial


def attach(peer: Identity, access_point: PublicKey, serial: int) -> Attachment:
    signature = sign(peer, Purpose.ATTACHMENT, peer.public.raw, access_point.raw, number(serial))
    return Attachment(peer.public, access_point, serial, signature)


def verify_attachment(attachment: Attachment) -> None:
    """Raise `BadSignature` unless the peer signed it."""
    parts = (attachment.peer.raw, attachment.access_point.raw, number(attachment.serial))
    verify(attachment.peer, Purpose.ATTACHMENT, attachment.signature, *parts)


def order_migration(
    peer: Identity,
    public_id: PublicId,
    old: PublicKey,
    new: PublicKey,
    serial: int,
    now: float,
    lifetime_s: int = ORDER_LIFETIME_S,
) -> MigrationOrder:
    assert 0 < lifetime_s <= MAX_ORDER_LIFETIME_S, "an order lives for a week at most"
    if old == new:
        raise SameAccessPoint
    issued = int(now)
    unsigned = MigrationOrder(peer.public, public_id, old, new, serial, issued, issued + lifetime_s, b"")
    signature = sign(peer, Purpose.MIGRATION_ORDER, *_order_parts(unsigned))
    return MigrationOrder(peer.public, public_id, old, new, serial, issued, issued + lifetime_s, signature)


def verify_order(order: MigrationOrder, now: float) -> None:
    """Raise `BadSignature` unless the peer signed it, `OrderExpired` unless it is valid now."""
    verify(order.peer, Purpose.MIGRATION_ORDER, order.signature, *_order_parts(order))
    if not order.issued <= now + MAX_CLOCK_DIFFERENCE_S or not now < order.expires:
        raise OrderExpired
    if order.expires - order.issued > MAX_ORDER_LIFETIME_S:
        raise OrderExpired(
            "the migration order was made for longer than any order may live; let the peer make a new one"
        )


def _order_parts(order: MigrationOrder) -> tuple[bytes, ...]:
    keys = (order.peer.raw, order.public_id.raw, order.old.raw, order.new.raw)
    return (*keys, number(order.serial), number(order.issued), number(order.expires))
