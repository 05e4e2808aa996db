"""Letters: only the recipient reads them, and they mean something in their own exchange only."""

from __future__ import annotations

import pytest
from nacl.public import SealedBox

from auth import BadSignature, InvalidKey, MalformedMessage, PublicKey, Purpose, SealBroken, WrongKey, open_letter
from auth.letters import LETTER_OVERHEAD_BYTES, MAX_LETTER_BYTES, seal, unseal, write_letter
from auth.statements import fields
from tests.auth.helpers import OTHER_PEER, PEER, SECOND_SUPER_PEER, SUPER_PEER, Dice, flipped, refused, truncated

PURPOSE = Purpose.REGISTRATION_REQUEST
CONTEXT = (b"nonce of the peer", b"nonce of the super-peer", b"channel")


def letter(body: bytes = b"address") -> bytes:
    return write_letter(PEER, SUPER_PEER.public, PURPOSE, CONTEXT, body, Dice())


def test_a_letter_is_read_by_its_recipient() -> None:
    assert open_letter(SUPER_PEER, PEER.public, PURPOSE, CONTEXT, letter()) == b"address"
    assert len(letter()) == LETTER_OVERHEAD_BYTES + 7 == 151
    assert open_letter(SUPER_PEER, PEER.public, PURPOSE, CONTEXT, letter(b"")) == b""


def test_the_seal_is_that_of_libsodium() -> None:
    content = SealedBox(SUPER_PEER.sealing_key()).decrypt(letter())
    assert content[:32] == PEER.public.raw
    assert content[96:] == b"address"
    sealed = SealedBox(SUPER_PEER.sealing_key().public_key).encrypt(b"from libsodium")
    assert unseal(SUPER_PEER, sealed) == b"from libsodium"


def test_nothing_of_the_content_shows() -> None:
    assert PEER.public.raw not in letter()
    assert b"address" not in letter()
    assert letter() != write_letter(PEER, SUPER_PEER.public, PURPOSE, CONTEXT, b"address", Dice("other"))


def test_nobody_else_opens_it_not_even_the_sender() -> None:
    for other in (PEER, OTHER_PEER, SECOND_SUPER_PEER):
        refused(SealBroken, lambda other=other: open_letter(other, PEER.public, PURPOSE, CONTEXT, letter()))  # type: ignore[misc]


def test_altered_letters_are_refused() -> None:
    for changed in [*flipped(letter()), *truncated(letter()), letter() + b"\0", bytes(MAX_LETTER_BYTES + 1)]:
        with pytest.raises(SealBroken):
            open_letter(SUPER_PEER, PEER.public, PURPOSE, CONTEXT, changed)


def test_the_size_is_limited_even_if_the_seal_is_whole() -> None:
    assert unseal(SUPER_PEER, seal(SUPER_PEER.public, bytes(MAX_LETTER_BYTES - 48), Dice())) == bytes(4048)
    refused(SealBroken, lambda: unseal(SUPER_PEER, seal(SUPER_PEER.public, bytes(MAX_LETTER_BYTES - 47), Dice())))


def test_a_recipient_cannot_forward_it_as_if_written_to_another() -> None:
    forwarded = seal(SECOND_SUPER_PEER.public, unseal(SUPER_PEER, letter()), Dice("forward"))
    refused(BadSignature, lambda: open_letter(SECOND_SUPER_PEER, PEER.public, PURPOSE, CONTEXT, forwarded))


def test_it_does_not_serve_another_purpose_or_context() -> None:
    for purpose in set(Purpose) - {PURPOSE}:
        with pytest.raises(BadSignature):
            open_letter(SUPER_PEER, PEER.public, purpose, CONTEXT, letter())
    for position in range(len(CONTEXT)):
        other = (*CONTEXT[:position], b"other", *CONTEXT[position + 1 :])
        with pytest.raises(BadSignature):
            open_letter(SUPER_PEER, PEER.public, PURPOSE, other, letter())
    with pytest.raises(BadSignature):
        open_letter(SUPER_PEER, PEER.public, PURPOSE, (fields(*CONTEXT),), letter())


def test_it_comes_from_the_sender_it_names() -> None:
    refused(WrongKey, lambda: open_letter(SUPER_PEER, OTHER_PEER.public, PURPOSE, CONTEXT, letter()))
    content = unseal(SUPER_PEER, letter())
    renamed = seal(SUPER_PEER.public, OTHER_PEER.public.raw + content[32:], Dice())
    refused(BadSignature, lambda: open_letter(SUPER_PEER, OTHER_PEER.public, PURPOSE, CONTEXT, renamed))


def test_a_seal_around_too_little_is_refused() -> None:
    for length in (0, 32, 95):
        short = seal(SUPER_PEER.public, bytes(length), Dice())
        with pytest.raises(MalformedMessage):
            open_letter(SUPER_PEER, PEER.public, PURPOSE, CONTEXT, short)


def test_a_seal_with_a_weak_key_is_refused() -> None:
    """With a point of small order anybody could compute the shared secret."""
    for point in (bytes(32), b"\1" + bytes(31)):
        refused(SealBroken, lambda point=point: unseal(SUPER_PEER, point + bytes(40)))  # type: ignore[misc]


def test_nothing_is_sealed_for_a_weak_key() -> None:
    with pytest.raises(InvalidKey):
        seal(PublicKey(b"\1" + bytes(31)), b"content", Dice())
