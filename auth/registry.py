"""The registry: which peers a super-peer is the access point of, and how it knows them again.

A peer is found by its key or its public id, and then proves itself with its private id, of which the registry has
only a verifier. Its records therefore hold no secret and can be written to disk, shown and handed over.

    register      a key that proved itself gets a public id and a private id. A key that is known keeps its public id
                  and gets a new private id: a peer whose answer got lost, or that lost its memory, registers again
    arrive        a peer from another access point keeps its public id and gets a new private id as well, so that what
                  the old access point knows is of no use to it any more
    authenticate  public id or key, and private id: who sent this message
    release       a migration order, presented by the new access point: the record to hand over, which is then forgotten
    supersede     a later attachment elsewhere: the record is forgotten

Of a peer that left only the serial is remembered, as long as an old order could turn up. Every method either does all
of its work or raises and changes nothing.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from auth.errors import (
    Banned,
    LimitExceeded,
    OrderReplayed,
    SerialStale,
    UnknownPeer,
    WrongKey,
    WrongPresenter,
    WrongPrivateId,
    WrongPublicId,
    WrongRecipient,
)
from auth.identifiers import PrivateId, PublicId, check_address, make_private_id, make_salt
from auth.identity import Random
from auth.messages import Arriving, Registering
from auth.migration import (
    MAX_CLOCK_DIFFERENCE_S,
    MAX_ORDER_LIFETIME_S,
    Attachment,
    MigrationOrder,
    verify_attachment,
    verify_order,
)
from auth.records import Ban, Departure, Record, Registration
from auth.revocation import KeyRevocation, Revocations
from auth.values import PublicKey


@dataclass(frozen=True, slots=True)
class RegistryLimits:
    max_peers: int = 100_000
    max_new_peers_a_minute: int = 600
    max_departures: int = 100_000


@dataclass(frozen=True, slots=True)
class Granted:
    """A record, and the private id that goes to the peer under seal and is kept nowhere here."""

    registration: Registration
    private_id: PrivateId


class Registry:
    """The peers of one super-peer, in memory; `key` and `address` are the super-peer's own."""

    def __init__(
        self,
        key: PublicKey,
        address: str,
        revocations: Revocations | None = None,
        limits: RegistryLimits | None = None,
    ) -> None:
        self.key = key
        self.address = check_address(address)
        self.revocations = Revocations() if revocations is None else revocations
        self.limits = RegistryLimits() if limits is None else limits
        self._peers: dict[PublicKey, Registration] = {}
        self._keys: dict[PublicId, PublicKey] = {}
        self._departures: dict[PublicKey, Departure] = {}
        self._bans: dict[PublicKey, Ban] = {}
        self._allowance = float(self.limits.max_new_peers_a_minute)
        self._allowance_at = 0.0

    def __len__(self) -> int:
        return len(self._peers)

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._peers.values())

    def records(self) -> list[Record]:
        """Everything that a store has to keep."""
        return [*self._peers.values(), *self._departures.values(), *self._bans.values()]

    def restore(self, records: Iterable[Record]) -> None:
        """Take in what a store kept, into a new registry."""
        for record in records:
            match record:
                case Registration():
                    self._keep(record)
                case Departure():
                    self._departures[record.key] = record
                case Ban():
                    self._bans[record.key] = record

    def find(self, who: PublicKey | PublicId) -> Registration:
        key = self._keys.get(who) if isinstance(who, PublicId) else who
        record = None if key is None else self._peers.get(key)
        if record is None:
            raise UnknownPeer
        return record

    def authenticate(self, who: PublicKey | PublicId, private_id: PrivateId) -> Registration:
        """The record of the peer that sent this private id."""
        record = self.find(who)
        if not private_id.meets(record.verifier, record.key):
            raise WrongPrivateId
        self.require_welcome(record.key)
        return record

    def require_welcome(self, key: PublicKey) -> None:
        """Raise `KeyRevoked` or `Banned` for a key that may not attach here."""
        self.revocations.require(key)
        if key in self._bans:
            raise Banned

    def register(self, registering: Registering, now: float, random: Random) -> Granted:
        """Give identifiers to a peer that has proved its key in the exchange that brought this."""
        attachment, address = registering.attachment, registering.address
        self._check_attaching(attachment, address)
        known = self._peers.get(attachment.peer)
        salt = make_salt(attachment.peer, self.address, address, now, random) if known is None else known.salt
        return self._grant(attachment, salt, address, None if known is None else known.brought, now, random)

    def arrive(self, arriving: Arriving, now: float, random: Random) -> Granted:
        """Take in a peer from another access point, on the strength of its own signatures."""
        attachment, order, address = arriving.attachment, arriving.order, arriving.address
        self._check_attaching(attachment, address)
        if order.peer != attachment.peer:
            raise WrongKey
        if order.new != self.key or order.serial != attachment.serial:
            raise WrongRecipient
        order.public_id.require_owner(order.peer, arriving.salt)
        verify_order(order, now)
        brought = arriving.private_id.verifier(order.peer)
        return self._grant(attachment, arriving.salt, address, brought, now, random)

    def confirm(self, handed_over: Registration) -> Registration:
        """Check what the old access point handed over against what the peer brought; the record as it is now."""
        record = self.find(handed_over.key)
        if record.brought is None:
            return record
        if handed_over.public_id != record.public_id:
            raise WrongPublicId
        if not hmac.compare_digest(handed_over.verifier, record.brought):
            raise WrongPrivateId
        return self._keep(msgspec.structs.replace(record, brought=None))

    def connect(self, who: PublicKey | PublicId, private_id: PrivateId, address: str, now: float) -> Registration:
        """A peer came back, perhaps under another address."""
        record = self.authenticate(who, private_id)
        check_address(address)
        return self._keep(msgspec.structs.replace(record, address=address, seen_at=now, connected=True))

    def disconnect(self, who: PublicKey | PublicId, now: float) -> Registration:
        """A peer went offline; it stays registered."""
        return self._keep(msgspec.structs.replace(self.find(who), seen_at=now, connected=False))

    def check_order(self, order: MigrationOrder, presenter: PublicKey, now: float) -> Registration:
        """The record that a migration order moves, if it may go to `presenter`, the super-peer at the other end."""
        if order.new != presenter:
            raise WrongPresenter
        if order.old != self.key:
            raise WrongRecipient
        verify_order(order, now)
        self.revocations.require(order.peer)
        left = self._departures.get(order.peer)
        if left is not None and order.serial <= left.serial:
            raise OrderReplayed
        record = self.find(order.peer)
        if order.serial <= record.serial:
            raise SerialStale
        if record.public_id != order.public_id:
            raise WrongPublicId
        return record

    def release(self, order: MigrationOrder, presenter: PublicKey, now: float) -> Registration:
        """Hand a peer over and forget it. Where forgetting waits for an acknowledgement, `check_order` comes first."""
        record = self.check_order(order, presenter, now)
        self._forget(record, order.serial, now)
        return record

    def supersede(self, attachment: Attachment, now: float) -> Registration | None:
        """Forget a peer that is attached elsewhere by now. The record that was forgotten, if there was one."""
        verify_attachment(attachment)
        record = self._peers.get(attachment.peer)
        if record is None or attachment.access_point == self.key:
            return None
        if attachment.serial <= record.serial:
            raise SerialStale
        self._forget(record, attachment.serial, now)
        return record

    def revoke(self, revocation: KeyRevocation, now: float) -> Registration | None:
        """Take in a revocation by the peer itself or by the network's root. The record that was forgotten, if any."""
        self.revocations.add(revocation)
        record = self._peers.get(revocation.key)
        if record is not None:
            self._forget(record, record.serial, now)
        return record

    def ban(self, key: PublicKey, now: float) -> Registration | None:
        """The operator shuts a peer out of this super-peer. The record that was forgotten, if there was one."""
        self._bans[key] = Ban(key, now)
        return self.forget(key, now) if key in self._peers else None

    def lift_ban(self, key: PublicKey) -> None:
        self._bans.pop(key, None)

    def forget(self, who: PublicKey | PublicId, now: float) -> Registration:
        """The peer left for good, or was gone for longer than registrations are kept."""
        record = self.find(who)
        self._forget(record, record.serial, now)
        return record

    def _check_attaching(self, attachment: Attachment, address: str) -> None:
        check_address(address)
        verify_attachment(attachment)
        if attachment.access_point != self.key:
            raise WrongRecipient
        self.require_welcome(attachment.peer)
        known, left = self._peers.get(attachment.peer), self._departures.get(attachment.peer)
        # The same attachment again comes from a peer that did not get our answer.
        if known is not None and attachment.serial < known.serial:
            raise SerialStale
        if left is not None and attachment.serial <= left.serial:
            raise SerialStale

    def _grant(
        self, attachment: Attachment, salt: bytes, address: str, brought: bytes | None, now: float, random: Random
    ) -> Granted:
        key = attachment.peer
        private_id = make_private_id(key, self.address, address, now, random)
        verifier = private_id.verifier(key)
        if key not in self._peers:
            self._count_new_peer(now)
        record = Registration(key, salt, verifier, address, attachment, now, now, brought=brought)
        return Granted(self._keep(record), private_id)

    def _count_new_peer(self, now: float) -> None:
        """Count a new peer against the limits: so many in all, and a bucket that fills in a minute."""
        if len(self._peers) >= self.limits.max_peers:
            raise LimitExceeded("peers at this super-peer", self.limits.max_peers, "choose another access point")
        rate = self.limits.max_new_peers_a_minute
        allowance = min(rate, self._allowance + max(0.0, now - self._allowance_at) * rate / 60)
        if allowance < 1:
            raise LimitExceeded("new peers a minute", rate, "try again in a minute")
        self._allowance, self._allowance_at = allowance - 1, now

    def _keep(self, record: Registration) -> Registration:
        known = self._peers.get(record.key)
        if known is not None:
            del self._keys[known.public_id]
        self._peers[record.key] = record
        self._keys[record.public_id] = record.key
        # The record's own serial is later than the departure's, and takes over its task.
        self._departures.pop(record.key, None)
        return record

    def _forget(self, record: Registration, serial: int, now: float) -> None:
        del self._peers[record.key]
        del self._keys[record.public_id]
        self._departures[record.key] = Departure(record.key, serial, now)
        self._discard_old_departures(now)

    def _discard_old_departures(self, now: float) -> None:
        """A departure matters as long as an order from before it is valid, and the oldest matter least."""
        keep_s = MAX_ORDER_LIFETIME_S + MAX_CLOCK_DIFFERENCE_S
        while self._departures:
            key, oldest = next(iter(self._departures.items()))
            if now - oldest.at <= keep_s and len(self._departures) <= self.limits.max_departures:
                return
            del self._departures[key]
