"""Signatures: the primitive, the statement that is signed, and that purposes never mix."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import VerifyKey

from auth import BadSignature, Identity, InvalidKey, PublicKey, Purpose, SecretNotPicklable, sign, verify
from auth.identity import sealing_key_of
from auth.statements import Domain, digest, fields, number, statement
from tests.auth.helpers import OTHER_PEER, PEER, Dice, flipped

# RFC 8032, section 7.1: secret, public, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
        "55141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
        "00d291612bb0c00",
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_primitive_is_that_of_rfc_8032(secret: str, public: str, message: str, signature: str) -> None:
    identity = Identity(bytes.fromhex(secret))
    assert identity.public.raw.hex() == public
    assert identity._signing_key.sign(bytes.fromhex(message)).signature.hex() == signature


def test_the_statement_is_written_out_byte_by_byte() -> None:
    expected = (
        b"\0\0\0\x10superpeer/auth/1"  # the protocol
        b"\0\0\0\x0amembership"  # the purpose
        b"\0\0\0\x02ab"
        b"\0\0\0\0"
        b"\0\0\0\x08\0\0\0\0\0\0\1\0"
    )
    assert statement(Purpose.MEMBERSHIP, b"ab", b"", number(256)) == expected
    VerifyKey(PEER.public.raw).verify(expected, sign(PEER, Purpose.MEMBERSHIP, b"ab", b"", number(256)))


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_different_parts_never_give_the_same_statement(one: list[bytes], other: list[bytes]) -> None:
    assert (fields(*one) == fields(*other)) == (one == other)
    assert (digest(Domain.LEAF, *one) == digest(Domain.LEAF, *other)) == (one == other)


def test_a_signature_serves_one_purpose() -> None:
    for purpose in Purpose:
        signature = sign(PEER, purpose, b"part")
        for tried in Purpose:
            if tried is purpose:
                verify(PEER.public, tried, signature, b"part")
            else:
                with pytest.raises(BadSignature):
                    verify(PEER.public, tried, signature, b"part")


def test_purposes_and_domains_are_distinct_and_fit() -> None:
    assert len({purpose.value for purpose in Purpose}) == len(Purpose)
    assert len({domain.value for domain in Domain}) == len(Domain)
    assert all(len(domain.value) <= 16 for domain in Domain)
    assert len({digest(domain, b"same") for domain in Domain}) == len(Domain)


def test_statements_cannot_be_taken_for_those_of_tls_or_x509() -> None:
    for purpose in Purpose:
        assert statement(purpose).startswith(b"\0")


def test_altered_signatures_are_refused() -> None:
    signature = sign(PEER, Purpose.MEMBERSHIP, b"part")
    for changed in flipped(signature):
        with pytest.raises(BadSignature):
            verify(PEER.public, Purpose.MEMBERSHIP, changed, b"part")
    for length in (0, 1, 63, 65, 128):
        with pytest.raises(BadSignature, match="64 bytes"):
            verify(PEER.public, Purpose.MEMBERSHIP, (signature * 2)[:length], b"part")


@pytest.mark.parametrize("parts", [(b"par", b"t"), (b"",), (), (b"part", b""), (b"Part",)])
def test_other_parts_are_refused(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(BadSignature):
        verify(PEER.public, Purpose.MEMBERSHIP, sign(PEER, Purpose.MEMBERSHIP, b"part"), *parts)


def test_another_key_is_refused() -> None:
    with pytest.raises(BadSignature):
        verify(OTHER_PEER.public, Purpose.MEMBERSHIP, sign(PEER, Purpose.MEMBERSHIP, b"part"), b"part")


# The neutral element, a point of order 8, and a string that is no point: they would verify or agree on anything.
WEAK = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "ff" * 32,
]


@pytest.mark.parametrize("point", WEAK)
def test_weak_keys_neither_verify_nor_seal(point: str) -> None:
    key = PublicKey(bytes.fromhex(point))
    with pytest.raises(InvalidKey, match="not a usable"):
        sealing_key_of(key)
    for signature in (bytes(64), key.raw + bytes(32)):
        with pytest.raises(BadSignature):
            verify(key, Purpose.MEMBERSHIP, signature, b"part")


def test_a_seed_has_32_bytes() -> None:
    for length in (0, 31, 33, 64):
        with pytest.raises(InvalidKey, match="32 bytes"):
            Identity(bytes(length))


def test_an_identity_comes_from_the_randomness_it_is_given() -> None:
    assert Identity.generate(Dice("a")).public == Identity.generate(Dice("a")).public
    assert Identity.generate(Dice("a")).public != Identity.generate(Dice("b")).public


def test_a_random_source_that_gives_too_little_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="random source"):
        Identity.generate(lambda size: bytes(size - 1))


def test_an_identity_is_not_pickled_and_copies_are_itself() -> None:
    with pytest.raises(SecretNotPicklable):
        pickle.dumps(PEER)
    with pytest.raises(TypeError):
        pickle.dumps([PEER])
    assert copy.copy(PEER) is copy.deepcopy(PEER) is PEER
