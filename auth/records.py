"""Records: what a super-peer's registry consists of, as plain statements that a store keeps.

None of them holds a secret. A registration has the *verifier* of the private id, from which the private id cannot be
found.
"""

from __future__ import annotations

from auth.identifiers import PublicId
from auth.migration import Attachment
from auth.values import PublicKey
from auth.wire import Address, Hash, Message, Number, decode_with, decoder_of


class Registration(Message, frozen=True, tag="registration"):
    """What an access point keeps of a peer."""

    key: PublicKey
    salt: Hash
    verifier: Hash
    address: Address
    attachment: Attachment
    registered_at: float
    seen_at: float
    connected: bool = True
    brought: Hash | None = None
    """The verifier of the private id that a migrated peer brought, until the old access point's record confirms it."""

    @property
    def public_id(self) -> PublicId:
        return PublicId.derive(self.key, self.salt)

    @property
    def serial(self) -> int:
        return self.attachment.serial


class Departure(Message, frozen=True, tag="departure"):
    """What an access point keeps of a peer that left, as long as an old migration order could turn up."""

    key: PublicKey
    serial: Number
    at: float


class Ban(Message, frozen=True, tag="ban"):
    """The operator's decision to shut a peer out of this super-peer."""

    key: PublicKey
    at: float


Record = Registration | Departure | Ban
_decoder = decoder_of(Record)


def decode_record(data: bytes) -> Record:
    record: Record = decode_with(_decoder, data)
    return record
