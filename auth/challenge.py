"""Challenge and response: one party finds out that the other holds the secret of a key, here and now.

The chapter sends a random number encrypted and expects it back. A signature proves the same and can say more, so the
responder signs a statement that names

    the purpose (which of the two identifies the other) ‖ challenger's key ‖ responder's key ‖ nonce ‖ channel

The *nonce* is fresh, so an old answer is worth nothing. The *keys* make an answer worthless for any other pair, and a
party's own answer worthless when it is sent back. The *channel* is what the transport passes in to name the
connection (a TLS exporter, or a hash of both certificates), so a party in the middle cannot carry an answer from one
connection to another.

A challenger remembers the challenges it made: each is answered once, within a time limit, and only so many are open at
a time. A wrong answer changes nothing; the right one may still come. Give every connection a challenger of its own, and
one hostile connection fills only its own table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from auth.errors import (
    Expired,
    LimitExceeded,
    Reflected,
    Replayed,
    UnknownChallenge,
    WrongChannel,
    WrongKey,
    WrongRecipient,
    WrongRole,
)
from auth.identity import Identity, Random, draw, sign, verify
from auth.revocation import Revocations
from auth.statements import Purpose
from auth.values import PublicKey
from auth.wire import MAX_CHANNEL_BYTES, NONCE_BYTES, Channel, Message, Nonce, Signature

TIME_LIMIT_S = 30.0
MAX_OPEN_CHALLENGES = 1024


class Role(Enum):
    """Who is identified, and by whom."""

    SUPER_PEER = "super-peer"
    """A peer identifies a super-peer."""
    PEER = "peer"
    """A super-peer identifies a peer."""
    MEMBER = "member"
    """A super-peer identifies another one, at the other end of a backbone link."""


PURPOSES = {
    Role.SUPER_PEER: Purpose.IDENTIFY_SUPER_PEER,
    Role.PEER: Purpose.IDENTIFY_PEER,
    Role.MEMBER: Purpose.IDENTIFY_MEMBER,
}


class Challenge(Message, frozen=True, tag="challenge"):
    """'Prove that you are `responder`.'"""

    role: Role
    challenger: PublicKey
    responder: PublicKey
    nonce: Nonce


class Answer(Message, frozen=True, tag="answer"):
    """The proof. All that is signed is repeated, so that a refusal can say what was wrong."""

    role: Role
    challenger: PublicKey
    responder: PublicKey
    nonce: Nonce
    channel: Channel
    signature: Signature


@dataclass(frozen=True, slots=True)
class OpenChallenge:
    role: Role
    responder: PublicKey
    channel: bytes
    deadline: float


class Challenger:
    """Makes challenges in the name of one key and checks the answers."""

    def __init__(
        self,
        key: PublicKey,
        random: Random,
        *,
        time_limit_s: float = TIME_LIMIT_S,
        max_open: int = MAX_OPEN_CHALLENGES,
        revocations: Revocations | None = None,
    ) -> None:
        self._key = key
        self._random = random
        self._time_limit_s = time_limit_s
        self._max_open = max_open
        self._revocations = revocations
        self._open: dict[bytes, OpenChallenge] = {}
        # Remembered only so that a replay can be told from nonsense; both are refused.
        self._answered: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def challenge(self, role: Role, responder: PublicKey, channel: bytes, now: float) -> Challenge:
        assert len(channel) <= MAX_CHANNEL_BYTES, f"a channel is named by at most {MAX_CHANNEL_BYTES} bytes"
        if responder == self._key:
            raise Reflected("a party does not identify itself; give the other party's key")
        self._discard_expired(now)
        if len(self._open) >= self._max_open:
            raise LimitExceeded("open challenges", self._max_open, "wait until some are answered or expire")
        nonce = draw(self._random, NONCE_BYTES)
        assert nonce not in self._open, "a random source does not repeat itself"
        self._open[nonce] = OpenChallenge(role, responder, channel, now + self._time_limit_s)
        return Challenge(role, self._key, responder, nonce)

    def check(self, answer: Answer, channel: bytes, now: float) -> PublicKey:
        """The key that was proved to be at the other end of this channel. An answer serves once."""
        if answer.responder == self._key:
            raise Reflected
        if answer.nonce in self._answered:
            raise Replayed
        expected = self._open.get(answer.nonce)
        if expected is None:
            raise UnknownChallenge
        if now > expected.deadline:
            raise Expired
        if answer.role is not expected.role:
            raise WrongRole
        if answer.challenger != self._key:
            raise WrongRecipient
        if answer.responder != expected.responder:
            raise WrongKey
        if not channel == answer.channel == expected.channel:
            raise WrongChannel
        verify_answer(answer)
        if self._revocations is not None:
            self._revocations.require(answer.responder)
        del self._open[answer.nonce]
        self._answered[answer.nonce] = None
        if len(self._answered) > self._max_open:
            del self._answered[next(iter(self._answered))]
        return answer.responder

    def _discard_expired(self, now: float) -> None:
        """An expired challenge stays for another time limit, so that a late answer is told that it is late."""
        while self._open:
            nonce, oldest = next(iter(self._open.items()))
            if now <= oldest.deadline + (0.0 if len(self._open) >= self._max_open else self._time_limit_s):
                return
            del self._open[nonce]


def respond(
    identity: Identity, challenge: Challenge, role: Role, channel: bytes, challenger: PublicKey | None = None
) -> Answer:
    """Answer a challenge in the role that this party plays here, and only to `challenger` if it is known who asks."""
    assert len(channel) <= MAX_CHANNEL_BYTES, f"a channel is named by at most {MAX_CHANNEL_BYTES} bytes"
    if challenge.challenger == identity.public:
        raise Reflected
    if challenge.responder != identity.public:
        raise WrongRecipient
    if challenge.role is not role:
        raise WrongRole
    if challenger is not None and challenge.challenger != challenger:
        raise WrongKey
    parts = (challenge.challenger.raw, identity.public.raw, challenge.nonce, channel)
    signature = sign(identity, PURPOSES[role], *parts)
    return Answer(role, challenge.challenger, identity.public, challenge.nonce, channel, signature)


def verify_answer(answer: Answer) -> None:
    """Raise `BadSignature` unless the responder signed this answer. Says nothing of when and for which challenge."""
    parts = (answer.challenger.raw, answer.responder.raw, answer.nonce, answer.channel)
    verify(answer.responder, PURPOSES[answer.role], answer.signature, *parts)
