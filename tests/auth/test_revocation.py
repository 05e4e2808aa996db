"""Revocations: who may, that nothing takes them back, and that sets of them merge."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth import (
    AuthError,
    BadSignature,
    CertificateRevoked,
    KeyRevoked,
    LimitExceeded,
    Revocation,
    Revocations,
    TruncatedMessage,
    decode_revocation,
    encode,
    revoke_certificate,
    revoke_key,
)
from tests.auth.helpers import NOW, OTHER_PEER, PEER, ROOT, SUPER_PEER, flipped, identity, refused, truncated

STATEMENTS: list[Revocation] = [
    revoke_key(PEER, PEER.public, NOW),
    revoke_key(PEER, PEER.public, NOW + 1),
    revoke_key(ROOT, PEER.public, NOW + 2),
    revoke_key(OTHER_PEER, OTHER_PEER.public, NOW),
    revoke_key(ROOT, SUPER_PEER.public, NOW),
    revoke_certificate(ROOT, bytes(16), NOW),
    revoke_certificate(ROOT, bytes(range(16)), NOW),
]


def known(statements: list[Revocation]) -> Revocations:
    revocations = Revocations(ROOT.public)
    revocations.merge(statements)
    return revocations


def test_a_key_is_revoked_by_itself_or_by_the_root() -> None:
    for statement in STATEMENTS[:3]:
        revocations = known([statement])
        assert revocations.is_revoked(PEER.public)
        refused(KeyRevoked, lambda r=revocations: r.require(PEER.public))  # type: ignore[misc]
        revocations.require(OTHER_PEER.public)


def test_nobody_else_revokes() -> None:
    revocations = Revocations(ROOT.public)
    forged: list[Revocation] = [
        revoke_key(OTHER_PEER, PEER.public, NOW),
        msgspec.structs.replace(revoke_key(OTHER_PEER, PEER.public, NOW), signer=PEER.public),
        msgspec.structs.replace(revoke_key(OTHER_PEER, PEER.public, NOW), signer=ROOT.public),
        msgspec.structs.replace(revoke_key(PEER, PEER.public, NOW), key=OTHER_PEER.public, signer=OTHER_PEER.public),
        revoke_certificate(PEER, bytes(16), NOW),
        msgspec.structs.replace(revoke_certificate(PEER, bytes(16), NOW), signer=ROOT.public),
    ]
    for statement in forged:
        refused(BadSignature, lambda s=statement: revocations.add(s), lambda: list(revocations))  # type: ignore[misc]


def test_without_a_root_only_owners_revoke() -> None:
    revocations = Revocations()
    assert revocations.add(revoke_key(PEER, PEER.public, NOW))
    refused(BadSignature, lambda: revocations.add(revoke_key(ROOT, OTHER_PEER.public, NOW)))
    refused(BadSignature, lambda: revocations.add(revoke_certificate(ROOT, bytes(16), NOW)))


def test_a_certificate_is_revoked_by_its_serial() -> None:
    revocations = known(STATEMENTS[5:6])
    refused(CertificateRevoked, lambda: revocations.require_serial(bytes(16)))
    revocations.require_serial(bytes(range(16)))


@given(st.lists(st.sampled_from(STATEMENTS)), st.lists(st.sampled_from(STATEMENTS)))
def test_merging_is_a_union(one: list[Revocation], other: list[Revocation]) -> None:
    left, right = known(one), known(other)
    left.merge(right)
    right.merge(known(one))
    assert left.digest() == right.digest() == known(one + other).digest() == known(other + one + other).digest()
    assert left.merge(right) == 0
    assert [encode(statement) for statement in known(list(left))] == [encode(statement) for statement in left]


def test_the_order_does_not_matter() -> None:
    assert len({known(list(order)).digest() for order in permutations(STATEMENTS[:5])}) == 1


def test_the_digest_tells_sets_apart() -> None:
    digests = {known(STATEMENTS[:count]).digest() for count in range(len(STATEMENTS) + 1)}
    assert len(digests) == len(STATEMENTS), "two statements of the same owner about the same key are one fact"


def test_an_owner_cannot_keep_a_network_busy() -> None:
    revocations = Revocations(ROOT.public)
    changes = [revocations.add(revoke_key(PEER, PEER.public, NOW + second)) for second in range(10)]
    assert changes == [True] + [False] * 9
    assert revocations.add(revoke_key(ROOT, PEER.public, NOW))
    assert not revocations.add(revoke_key(ROOT, PEER.public, NOW - 1))
    assert len(revocations) == 1


def test_owners_are_limited_and_the_root_is_not() -> None:
    revocations = Revocations(ROOT.public, max_owner_revocations=2)
    for name in "ab":
        revocations.add(revoke_key(identity(name), identity(name).public, NOW))
    late = identity("c")
    refused(LimitExceeded, lambda: revocations.add(revoke_key(late, late.public, NOW)), lambda: list(revocations))
    assert revocations.add(revoke_key(ROOT, late.public, NOW))
    assert revocations.add(revoke_key(ROOT, identity("a").public, NOW))
    assert revocations.add(revoke_key(PEER, PEER.public, NOW)), "the root's word took the place of an owner's"


@pytest.mark.parametrize("statement", [STATEMENTS[0], STATEMENTS[5]])
def test_altered_statements_are_refused(statement: Revocation) -> None:
    assert decode_revocation(encode(statement)) == statement
    revocations = Revocations(ROOT.public)
    for changed in flipped(encode(statement)):
        with pytest.raises(AuthError):
            revocations.add(decode_revocation(changed))
    for cut in truncated(encode(statement)):
        refused(TruncatedMessage, lambda cut=cut: decode_revocation(cut))  # type: ignore[misc]
    assert len(revocations) == 0
