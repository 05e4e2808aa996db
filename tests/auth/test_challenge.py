"""Challenge and response, and every way in which an answer can be the wrong one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from auth import (
    Answer,
    AuthError,
    BadSignature,
    Challenge,
    Challenger,
    ExchangeError,
    Expired,
    Identity,
    KeyRevoked,
    LimitExceeded,
    MalformedMessage,
    Reflected,
    Replayed,
    Revocations,
    Role,
    TruncatedMessage,
    UnknownChallenge,
    WrongChannel,
    WrongKey,
    WrongRecipient,
    WrongRole,
    decode,
    encode,
    respond,
    revoke_key,
)
from auth.statements import fields
from tests.auth.helpers import CHANNEL, NOW, OTHER_PEER, PEER, SUPER_PEER, Dice, flipped, refused, truncated

# Who challenges, who answers: both directions, and two super-peers.
PAIRS = [
    pytest.param(PEER, SUPER_PEER, Role.SUPER_PEER, id="a peer identifies a super-peer"),
    pytest.param(SUPER_PEER, PEER, Role.PEER, id="a super-peer identifies a peer"),
    pytest.param(SUPER_PEER, OTHER_PEER, Role.MEMBER, id="a super-peer identifies a super-peer"),
]


def begin(channel: bytes = CHANNEL) -> tuple[Challenger, Challenge, Answer]:
    """A super-peer challenges a peer, and gets the right answer."""
    challenger = Challenger(SUPER_PEER.public, Dice())
    challenge = challenger.challenge(Role.PEER, PEER.public, channel, NOW)
    return challenger, challenge, respond(PEER, challenge, Role.PEER, channel)


@pytest.mark.parametrize(("asking", "answering", "role"), PAIRS)
@pytest.mark.parametrize("channel", [b"", CHANNEL, bytes(64)])
def test_the_right_answer_identifies(asking: Identity, answering: Identity, role: Role, channel: bytes) -> None:
    challenger = Challenger(asking.public, Dice())
    challenge = decode(Challenge, encode(challenger.challenge(role, answering.public, channel, NOW)))
    answer = decode(Answer, encode(respond(answering, challenge, role, channel, challenger=asking.public)))
    assert challenger.check(answer, channel, NOW + 29) == answering.public


def test_what_is_signed_byte_by_byte() -> None:
    _, challenge, answer = begin()
    signed = fields(
        b"superpeer/auth/1", b"identify peer", SUPER_PEER.public.raw, PEER.public.raw, challenge.nonce, CHANNEL
    )
    assert PEER._signing_key.sign(signed).signature == answer.signature


def test_an_answer_serves_once() -> None:
    challenger, _, answer = begin()
    challenger.check(answer, CHANNEL, NOW)
    refused(Replayed, lambda: challenger.check(answer, CHANNEL, NOW))


def test_an_answer_to_another_challenge_is_refused() -> None:
    challenger, _, _ = begin()
    _, _, answer = begin()
    elsewhere = Challenger(SUPER_PEER.public, Dice("another"))
    refused(UnknownChallenge, lambda: elsewhere.check(answer, CHANNEL, NOW))
    assert challenger.check(answer, CHANNEL, NOW) == PEER.public


def test_answers_serve_in_any_order_but_each_its_own_challenge() -> None:
    challenger = Challenger(SUPER_PEER.public, Dice())
    first = challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW)
    second = challenger.challenge(Role.PEER, OTHER_PEER.public, CHANNEL, NOW)
    assert first.nonce != second.nonce
    crossed = msgspec.structs.replace(respond(PEER, first, Role.PEER, CHANNEL), nonce=second.nonce)
    refused(WrongKey, lambda: challenger.check(crossed, CHANNEL, NOW), lambda: len(challenger))
    assert challenger.check(respond(OTHER_PEER, second, Role.PEER, CHANNEL), CHANNEL, NOW) == OTHER_PEER.public
    assert challenger.check(respond(PEER, first, Role.PEER, CHANNEL), CHANNEL, NOW) == PEER.public


def test_a_late_answer_is_refused() -> None:
    challenger, _, answer = begin()
    refused(Expired, lambda: challenger.check(answer, CHANNEL, NOW + 30.1))


def test_our_own_answer_sent_back_is_refused() -> None:
    challenger, challenge, _ = begin()
    toward_us = Challenge(Role.PEER, PEER.public, SUPER_PEER.public, challenge.nonce)
    ours = respond(SUPER_PEER, toward_us, Role.PEER, CHANNEL)
    refused(Reflected, lambda: challenger.check(ours, CHANNEL, NOW))


def test_our_own_challenge_sent_back_is_not_answered() -> None:
    _, challenge, _ = begin()
    refused(Reflected, lambda: respond(SUPER_PEER, challenge, Role.PEER, CHANNEL))
    refused(Reflected, lambda: Challenger(PEER.public, Dice()).challenge(Role.PEER, PEER.public, CHANNEL, NOW))


def test_a_challenge_for_another_is_not_answered() -> None:
    _, challenge, _ = begin()
    refused(WrongRecipient, lambda: respond(OTHER_PEER, challenge, Role.PEER, CHANNEL))
    refused(WrongRole, lambda: respond(PEER, challenge, Role.SUPER_PEER, CHANNEL))
    refused(WrongKey, lambda: respond(PEER, challenge, Role.PEER, CHANNEL, challenger=OTHER_PEER.public))


ALTERED: list[tuple[type[AuthError], Callable[[Answer], Answer]]] = [
    (WrongRole, lambda answer: msgspec.structs.replace(answer, role=Role.SUPER_PEER)),
    (WrongRecipient, lambda answer: msgspec.structs.replace(answer, challenger=OTHER_PEER.public)),
    (WrongKey, lambda answer: msgspec.structs.replace(answer, responder=OTHER_PEER.public)),
    (UnknownChallenge, lambda answer: msgspec.structs.replace(answer, nonce=bytes(32))),
    (WrongChannel, lambda answer: msgspec.structs.replace(answer, channel=b"another")),
    (BadSignature, lambda answer: msgspec.structs.replace(answer, signature=bytes(64))),
]


@pytest.mark.parametrize(("error", "alter"), ALTERED)
def test_each_altered_field_has_its_own_error(error: type[AuthError], alter: Callable[[Answer], Answer]) -> None:
    challenger, _, answer = begin()
    refused(error, lambda: challenger.check(alter(answer), CHANNEL, NOW), lambda: len(challenger))
    assert challenger.check(answer, CHANNEL, NOW) == PEER.public


def test_an_answer_from_another_channel_is_refused() -> None:
    challenger, challenge, _ = begin()
    relayed = respond(PEER, challenge, Role.PEER, b"the channel to the party in the middle")
    refused(WrongChannel, lambda: challenger.check(relayed, CHANNEL, NOW))
    renamed = msgspec.structs.replace(relayed, channel=CHANNEL)
    refused(BadSignature, lambda: challenger.check(renamed, CHANNEL, NOW))
    refused(WrongChannel, lambda: begin()[0].check(begin()[2], b"another", NOW))


def test_an_answer_by_another_key_is_refused() -> None:
    challenger, challenge, _ = begin()
    redirected = msgspec.structs.replace(challenge, responder=OTHER_PEER.public)
    refused(WrongKey, lambda: challenger.check(respond(OTHER_PEER, redirected, Role.PEER, CHANNEL), CHANNEL, NOW))


def test_truncated_at_every_length() -> None:
    _, challenge, answer = begin()
    for kind, data in ((Challenge, encode(challenge)), (Answer, encode(answer))):
        for cut in truncated(data):
            refused(TruncatedMessage, lambda kind=kind, cut=cut: decode(kind, cut))  # type: ignore[misc]


def test_every_flipped_bit_is_noticed() -> None:
    challenger, _, answer = begin()
    for changed in flipped(encode(answer)):
        with pytest.raises((BadSignature, ExchangeError, MalformedMessage)):
            challenger.check(decode(Answer, changed), CHANNEL, NOW)
    assert challenger.check(answer, CHANNEL, NOW) == PEER.public


def test_the_number_of_open_challenges_is_limited() -> None:
    challenger = Challenger(SUPER_PEER.public, Dice(), max_open=3)
    challenges = [challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW + i) for i in range(3)]
    refused(
        LimitExceeded, lambda: challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW + 3), lambda: len(challenger)
    )
    challenger.check(respond(PEER, challenges[1], Role.PEER, CHANNEL), CHANNEL, NOW + 3)
    challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW + 3)
    challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW + 31)
    assert len(challenger) == 3
    late = respond(PEER, challenges[0], Role.PEER, CHANNEL)
    refused(UnknownChallenge, lambda: challenger.check(late, CHANNEL, NOW + 31))


def test_memory_stays_bounded_over_many_answers() -> None:
    challenger = Challenger(SUPER_PEER.public, Dice(), max_open=4)
    answers = []
    for second in range(20):
        challenge = challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW + second)
        answers.append(respond(PEER, challenge, Role.PEER, CHANNEL))
        challenger.check(answers[-1], CHANNEL, NOW + second)
    assert len(challenger) == 0
    assert len(challenger._answered) == 4
    for answer in answers:
        with pytest.raises((Replayed, UnknownChallenge)):
            challenger.check(answer, CHANNEL, NOW + 20)


def test_a_revoked_key_identifies_nobody() -> None:
    revocations = Revocations()
    challenger = Challenger(SUPER_PEER.public, Dice(), revocations=revocations)
    challenge = challenger.challenge(Role.PEER, PEER.public, CHANNEL, NOW)
    revocations.add(revoke_key(PEER, PEER.public, NOW))
    refused(KeyRevoked, lambda: challenger.check(respond(PEER, challenge, Role.PEER, CHANNEL), CHANNEL, NOW))
