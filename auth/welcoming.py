"""Welcoming: the super-peer's side of the exchange in which a peer registers with it or migrates to it.

    WAITING    Challenge                                sends Greeting
    GREETED    RegistrationRequest or ArrivalRequest    sends the reply
    FINISHED

Whatever else arrives is `OutOfOrder`. Whatever is wrong with a message, it is refused with an error, the state is
what it was and the registry is untouched. The nonce in the greeting is this exchange's own: a request from another
exchange or another connection is worth nothing here, and one that was served is not served again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from auth.challenge import TIME_LIMIT_S, Challenge, Role, respond
from auth.errors import Expired, OutOfOrder, Replayed, WrongKey
from auth.identity import Identity, Random, draw, sealing_key_of
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
from auth.migration import MigrationOrder
from auth.records import Registration
from auth.registry import Granted, Registry
from auth.statements import Purpose
from auth.values import PublicKey
from auth.wire import NONCE_BYTES, decode, encode


class SuperPeerState(Enum):
    WAITING = "waiting"
    GREETED = "greeted"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who attached: the record, to be on disk before the reply is sent, and the order for the old access point."""

    registration: Registration
    order: MigrationOrder | None


class SuperPeerExchange:
    """One peer's exchange with a super-peer. `outcome` is there in the end."""

    def __init__(self, identity: Identity, registry: Registry, channel: bytes, random: Random) -> None:
        assert registry.key == identity.public, "a registry belongs to the super-peer that answers"
        self.state = SuperPeerState.WAITING
        self.outcome: Outcome | None = None
        self._identity = identity
        self._registry = registry
        self._channel = channel
        self._random = random
        self._peer: PublicKey | None = None
        self._nonces = (b"", b"")
        self._deadline = 0.0

    def receive(self, message: ExchangeMessage, now: float) -> Greeting | RegistrationReply | ArrivalReply:
        """Take a message from the peer; what to send back."""
        match self.state, message:
            case SuperPeerState.WAITING, Challenge():
                return self._greet(message, now)
            case SuperPeerState.GREETED, RegistrationRequest():
                return self._register(message, now)
            case SuperPeerState.GREETED, ArrivalRequest():
                return self._take_in(message, now)
        raise OutOfOrder(self.state.value, type(message).__name__)

    def _greet(self, challenge: Challenge, now: float) -> Greeting:
        # The reply will be sealed for this key, so a key that cannot seal is refused before anything is done for it.
        sealing_key_of(challenge.challenger)
        self._registry.require_welcome(challenge.challenger)
        answer = respond(self._identity, challenge, Role.SUPER_PEER, self._channel)
        nonce = draw(self._random, NONCE_BYTES)
        self._peer = challenge.challenger
        self._nonces = (challenge.nonce, nonce)
        self._deadline = now + TIME_LIMIT_S
        self.state = SuperPeerState.GREETED
        return Greeting(answer, nonce)

    def _register(self, request: RegistrationRequest, now: float) -> RegistrationReply:
        peer, body = self._open(request, Purpose.REGISTRATION_REQUEST, now)
        registering = decode(Registering, body)
        if registering.attachment.peer != peer:
            raise WrongKey
        granted = self._registry.register(registering, now, self._random)
        letter = self._finish(peer, granted, None, Purpose.REGISTRATION_REPLY)
        return RegistrationReply(self._nonces[0], letter)

    def _take_in(self, request: ArrivalRequest, now: float) -> ArrivalReply:
        peer, body = self._open(request, Purpose.ARRIVAL_REQUEST, now)
        arriving = decode(Arriving, body)
        if arriving.attachment.peer != peer:
            raise WrongKey
        granted = self._registry.arrive(arriving, now, self._random)
        letter = self._finish(peer, granted, arriving.order, Purpose.ARRIVAL_REPLY)
        return ArrivalReply(self._nonces[0], letter)

    def _open(
        self, request: RegistrationRequest | ArrivalRequest, purpose: Purpose, now: float
    ) -> tuple[PublicKey, bytes]:
        """The body of a request that was made for this exchange, by the peer that began it."""
        assert self._peer is not None
        if request.nonce != self._nonces[1]:
            raise Replayed
        if now > self._deadline:
            raise Expired
        context = (*self._nonces, self._channel)
        return self._peer, open_letter(self._identity, self._peer, purpose, context, request.letter)

    def _finish(self, peer: PublicKey, granted: Granted, order: MigrationOrder | None, purpose: Purpose) -> bytes:
        body = encode(Granting(granted.registration.salt, granted.private_id))
        context = (*self._nonces, self._channel)
        self.outcome = Outcome(granted.registration, order)
        self.state = SuperPeerState.FINISHED
        return write_letter(self._identity, peer, purpose, context, body, self._random)
