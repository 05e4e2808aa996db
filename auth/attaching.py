"""Attaching: the peer's side of the exchange in which it registers with a super-peer or migrates to one.

    START         begin()     sends Challenge
    IDENTIFYING   Greeting    sends RegistrationRequest or ArrivalRequest
    REQUESTED     the reply
    FINISHED

Whatever else arrives is `OutOfOrder`. Whatever is wrong with a message, it is refused with an error and the state is
what it was: the right message may still come, until the time limit. One machine serves one exchange on one
connection; `channel` names that connection on both sides.

The peer knows the super-peer's key from elsewhere, and nothing but its own public key leaves it before the super-peer
has proved that key. The request answers the super-peer's nonce, so at the end each has identified the other.
"""

from __future__ import annotations

from enum import Enum

from auth.challenge import TIME_LIMIT_S, Challenge, Challenger, Role
from auth.errors import Expired, OutOfOrder, Replayed, SameAccessPoint
from auth.identifiers import PrivateId, PublicId, check_address
from auth.identity import Identity, Random, sealing_key_of
from auth.letters import open_letter, write_letter
from auth.messages import (
    ArrivalReply,
    ArrivalRequest,
    Arriving,
    ExchangeMessage,
    Granting,
    Greeting,
    Registering,
    RegistrationReply,
    RegistrationRequest,
)
from auth.migration import ORDER_LIFETIME_S, MigrationOrder, attach, next_serial, order_migration
from auth.revocation import Revocations
from auth.statements import Purpose
from auth.values import PublicKey
from auth.wire import Hash, Message, Number, decode, encode


class Credentials(Message, frozen=True, tag="credentials"):
    """What a peer keeps of its attachment. Written to disk it is a secret, like the key file."""

    peer: PublicKey
    access_point: PublicKey
    serial: Number
    salt: Hash
    private_id: PrivateId

    @property
    def public_id(self) -> PublicId:
        return PublicId.derive(self.peer, self.salt)


class PeerState(Enum):
    START = "start"
    IDENTIFYING = "identifying"
    REQUESTED = "requested"
    FINISHED = "finished"


class PeerExchange:
    """The peer's side. With `past`, the peer's present credentials, it migrates; without, it registers.

    `serial` is to be remembered when a request goes out, and given as `last_serial` next time: then serials grow even
    if the reply never comes and the clock goes back.
    """

    def __init__(
        self,
        identity: Identity,
        super_peer: PublicKey,
        address: str,
        channel: bytes,
        random: Random,
        *,
        past: Credentials | None = None,
        last_serial: int = 0,
        order_lifetime_s: int = ORDER_LIFETIME_S,
        revocations: Revocations | None = None,
    ) -> None:
        assert past is None or past.peer == identity.public, "a peer migrates with its own credentials"
        if past is not None and past.access_point == super_peer:
            raise SameAccessPoint
        # Found out now, these cannot stop an exchange halfway.
        check_address(address)
        sealing_key_of(super_peer)
        self.state = PeerState.START
        self.credentials: Credentials | None = None
        self._identity = identity
        self._super_peer = super_peer
        self._address = address
        self._channel = channel
        self._random = random
        self._past = past
        self._last_serial = last_serial if past is None else max(last_serial, past.serial)
        self._order_lifetime_s = order_lifetime_s
        self._challenger = Challenger(identity.public, random, revocations=revocations)
        self.serial = self._last_serial
        self._nonces = (b"", b"")
        self._deadline = 0.0

    def begin(self, now: float) -> Challenge:
        if self.state is not PeerState.START:
            raise OutOfOrder(self.state.value, "begin")
        challenge = self._challenger.challenge(Role.SUPER_PEER, self._super_peer, self._channel, now)
        self._nonces = (challenge.nonce, b"")
        self.state = PeerState.IDENTIFYING
        return challenge

    def receive(self, message: ExchangeMessage, now: float) -> RegistrationRequest | ArrivalRequest | None:
        """Take a message from the super-peer; what to send next, if anything. `credentials` is there in the end."""
        match self.state, message, self._past:
            case PeerState.IDENTIFYING, Greeting(), _:
                return self._request(message, now)
            case PeerState.REQUESTED, RegistrationReply(), None:
                self._finish(message, Purpose.REGISTRATION_REPLY, now)
            case PeerState.REQUESTED, ArrivalReply(), Credentials():
                self._finish(message, Purpose.ARRIVAL_REPLY, now)
            case _:
                raise OutOfOrder(self.state.value, type(message).__name__)
        return None

    def _request(self, greeting: Greeting, now: float) -> RegistrationRequest | ArrivalRequest:
        self._challenger.check(greeting.answer, self._channel, now)
        self._nonces = (self._nonces[0], greeting.nonce)
        self.serial = next_serial(self._last_serial, now)
        self._deadline = now + TIME_LIMIT_S
        self.state = PeerState.REQUESTED
        attachment = attach(self._identity, self._super_peer, self.serial)
        if self._past is None:
            body: Message = Registering(self._address, attachment)
            return RegistrationRequest(greeting.nonce, self._write(Purpose.REGISTRATION_REQUEST, body))
        body = Arriving(self._address, attachment, self._order(self._past, now), self._past.salt, self._past.private_id)
        return ArrivalRequest(greeting.nonce, self._write(Purpose.ARRIVAL_REQUEST, body))

    def _order(self, past: Credentials, now: float) -> MigrationOrder:
        old, lifetime_s = past.access_point, self._order_lifetime_s
        return order_migration(self._identity, past.public_id, old, self._super_peer, self.serial, now, lifetime_s)

    def _write(self, purpose: Purpose, body: Message) -> bytes:
        context = (*self._nonces, self._channel)
        return write_letter(self._identity, self._super_peer, purpose, context, encode(body), self._random)

    def _finish(self, reply: RegistrationReply | ArrivalReply, purpose: Purpose, now: float) -> None:
        if reply.nonce != self._nonces[0]:
            raise Replayed
        if now > self._deadline:
            raise Expired
        context = (*self._nonces, self._channel)
        body = open_letter(self._identity, self._super_peer, purpose, context, reply.letter)
        grant = decode(Granting, body)
        peer = self._identity.public
        if self._past is not None:
            self._past.public_id.require_owner(peer, grant.salt)
        self.credentials = Credentials(peer, self._super_peer, self.serial, grant.salt, grant.private_id)
        self.state = PeerState.FINISHED
