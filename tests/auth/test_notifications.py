"""Signed notifications: each verifies alone, none verifies as anything else."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth import (
    AuthError,
    BadSignature,
    BatchVerifier,
    Item,
    KeyRevoked,
    LimitExceeded,
    Origin,
    Proof,
    ProofInvalid,
    Revocations,
    TruncatedMessage,
    WrongKey,
    decode,
    encode,
    revoke_key,
    sign_batch,
    verify_item,
)
from auth import notifications as notifications_module
from auth.merkle import leaf_hash, node_hash, path, root_of, tree
from auth.notifications import MAX_BATCH
from tests.auth.helpers import NOW, OTHER_PEER, PEER, SECOND_SUPER_PEER, SUPER_PEER, flipped, refused, truncated

ORIGIN = Origin(PEER.public, bytes(range(32)), SUPER_PEER.public)


def items(count: int) -> list[Item]:
    return [Item(f"id {number}".encode(), "new", f"body {number}".encode()) for number in range(count)]


def oracle(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1: split at the largest power of two below the size."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(oracle(leaves[:split]), oracle(leaves[split:]))


@pytest.mark.parametrize("size", [*range(1, 34), 100, 255, 256, 257])
def test_the_tree_is_that_of_rfc_6962(size: int) -> None:
    leaves = [leaf_hash(bytes([number % 256, number // 256])) for number in range(size)]
    levels = tree(leaves)
    assert levels[-1] == [oracle(leaves)]
    for index, leaf in enumerate(leaves):
        proof = path(levels, index)
        assert root_of(leaf, index, size, proof) == oracle(leaves)
        assert len(proof) <= 32 * (size - 1).bit_length()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 64])
def test_each_notification_verifies_alone(size: int) -> None:
    batch = items(size)
    proofs = sign_batch(PEER, ORIGIN, batch)
    assert len({proof.signature for proof in proofs}) == 1
    for item, proof in zip(batch, proofs, strict=True):
        verify_item(decode(Origin, encode(ORIGIN)), item, decode(Proof, encode(proof)))


def test_sizes_are_as_documented() -> None:
    def size(batch: int) -> int:
        return max(len(encode(proof)) for proof in sign_batch(PEER, ORIGIN, items(batch)))

    assert [size(1), size(2), size(16), size(256)] == [77, 109, 205, 337]
    assert len(encode(ORIGIN)) == 110


def test_a_proof_belongs_to_one_notification() -> None:
    batch = items(5)
    proofs = sign_batch(PEER, ORIGIN, batch)
    for position, item in enumerate(batch):
        for other, proof in enumerate(proofs):
            if other != position:
                with pytest.raises(BadSignature):
                    verify_item(ORIGIN, item, proof)


ITEM = items(3)[1]
CHANGED = [
    pytest.param(ORIGIN, msgspec.structs.replace(ITEM, id=b"id 2"), id="id"),
    pytest.param(ORIGIN, msgspec.structs.replace(ITEM, kind="deleted"), id="kind"),
    pytest.param(ORIGIN, msgspec.structs.replace(ITEM, body=b"body"), id="body"),
    pytest.param(ORIGIN, Item(b"id 1n", "ew", ITEM.body), id="shifted"),
    pytest.param(msgspec.structs.replace(ORIGIN, publisher=OTHER_PEER.public), ITEM, id="publisher"),
    pytest.param(msgspec.structs.replace(ORIGIN, salt=bytes(32)), ITEM, id="public id"),
    pytest.param(msgspec.structs.replace(ORIGIN, access_point=SECOND_SUPER_PEER.public), ITEM, id="access point"),
]


@pytest.mark.parametrize(("origin", "item"), CHANGED)
def test_everything_is_bound(origin: Origin, item: Item) -> None:
    proof = sign_batch(PEER, ORIGIN, items(3))[1]
    verify_item(ORIGIN, ITEM, proof)
    refused(BadSignature, lambda: verify_item(origin, item, proof))
    verifier = BatchVerifier()
    verifier.verify(ORIGIN, ITEM, proof)
    refused(BadSignature, lambda: verifier.verify(origin, item, proof))


def test_altered_proofs_are_refused() -> None:
    batch = items(6)
    verifier = BatchVerifier()
    for position, proof in enumerate(sign_batch(PEER, ORIGIN, batch)):
        verifier.verify(ORIGIN, batch[position], proof)
        for changed in flipped(encode(proof)):
            with pytest.raises(AuthError):
                verifier.verify(ORIGIN, batch[position], decode(Proof, changed))
        for cut in truncated(encode(proof)):
            refused(TruncatedMessage, lambda cut=cut: decode(Proof, cut))  # type: ignore[misc]


def test_paths_of_another_length_are_refused() -> None:
    proof = sign_batch(PEER, ORIGIN, items(3))[1]
    for changed in (proof.path[:32], proof.path + bytes(32), proof.path[:-1], b""):
        altered = msgspec.structs.replace(proof, path=changed)
        refused(ProofInvalid, lambda altered=altered: verify_item(ORIGIN, ITEM, altered))  # type: ignore[misc]
    for index, size in ((3, 3), (-1, 3), (1, 1), (0, 0)):
        altered = msgspec.structs.replace(proof, index=index, size=size)
        refused(ProofInvalid, lambda altered=altered: verify_item(ORIGIN, ITEM, altered))  # type: ignore[misc]


def test_an_inner_node_is_no_notification() -> None:
    """Leaves and nodes are hashed apart, so a pair of hashes cannot be passed off as a notification's parts."""
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert node_hash(left, right) != leaf_hash(left, right)


@given(st.lists(st.tuples(st.binary(max_size=4), st.text(max_size=3), st.binary(max_size=8)), min_size=1, max_size=20))
def test_any_batch_verifies(contents: list[tuple[bytes, str, bytes]]) -> None:
    batch = [Item(*content) for content in contents]
    for item, proof in zip(batch, sign_batch(PEER, ORIGIN, batch), strict=True):
        verify_item(ORIGIN, item, proof)


def test_a_batch_costs_one_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = items(50)
    proofs = sign_batch(PEER, ORIGIN, batch)
    calls: list[Proof] = []
    genuine = notifications_module.verify_root

    def counted(origin: Origin, proof: Proof, root: bytes) -> None:
        calls.append(proof)
        genuine(origin, proof, root)

    monkeypatch.setattr(notifications_module, "verify_root", counted)
    verifier = BatchVerifier()
    for item, proof in zip(batch, proofs, strict=True):
        verifier.verify(ORIGIN, item, proof)
    assert len(calls) == 1


def test_a_failure_is_not_remembered_and_memory_is_bounded() -> None:
    verifier = BatchVerifier(max_batches=2)
    for name in ("a", "b", "c"):
        item = Item(name.encode(), "new", b"")
        proof = sign_batch(PEER, ORIGIN, [item])[0]
        bad = msgspec.structs.replace(proof, signature=bytes(64))
        for _ in range(2):
            refused(BadSignature, lambda i=item, b=bad: verifier.verify(ORIGIN, i, b))  # type: ignore[misc]
        verifier.verify(ORIGIN, item, proof)
        refused(BadSignature, lambda i=item, b=bad: verifier.verify(ORIGIN, i, b))  # type: ignore[misc]
    assert len(verifier._verified) == 2


def test_a_revoked_publisher_is_refused_also_for_batches_seen_before() -> None:
    revocations = Revocations()
    verifier = BatchVerifier(revocations)
    proof = sign_batch(PEER, ORIGIN, items(3))[1]
    verifier.verify(ORIGIN, ITEM, proof)
    revocations.add(revoke_key(PEER, PEER.public, NOW))
    refused(KeyRevoked, lambda: verifier.verify(ORIGIN, ITEM, proof))


def test_nobody_signs_for_another() -> None:
    with pytest.raises(WrongKey):
        sign_batch(OTHER_PEER, ORIGIN, items(1))


def test_the_size_of_a_batch_is_limited() -> None:
    assert sign_batch(PEER, ORIGIN, []) == []
    refused(LimitExceeded, lambda: sign_batch(PEER, ORIGIN, [ITEM] * (MAX_BATCH + 1)))
    full = sign_batch(PEER, ORIGIN, [ITEM] * MAX_BATCH)
    verify_item(ORIGIN, ITEM, decode(Proof, encode(full[-1])))
