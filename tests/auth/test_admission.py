"""Admission of super-peers, and membership entries that only admitted ones sign."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hypercup
from auth import (
    MAX_ENTRY_SIGNATURE_BYTES,
    AdmissionError,
    Admissions,
    AuthError,
    BadSignature,
    Certificate,
    CertificateExpired,
    CertificateForAnother,
    CertificateNotYetValid,
    CertificateRevoked,
    CertificateTampered,
    InvalidName,
    KeyRevoked,
    MalformedMessage,
    NotAdmitted,
    Revocations,
    TruncatedMessage,
    WrongRoot,
    admit,
    check,
    decode,
    encode,
    entry_signer,
    entry_verifier,
    revoke_certificate,
    revoke_key,
    sign,
)
from auth.admission import _parts
from auth.statements import Purpose
from tests.auth.helpers import NOW, OTHER_PEER, PEER, ROOT, SECOND_SUPER_PEER, SUPER_PEER, flipped, refused, truncated

START, END = int(NOW), int(NOW) + 1000
KEY = SUPER_PEER.public
CERTIFICATE = admit(ROOT, KEY, START, END, "Hannover")


def test_an_admitted_super_peer_is_admitted() -> None:
    for now in (START, END - 0.001):
        check(CERTIFICATE, ROOT.public, KEY, now)
    assert decode(Certificate, encode(CERTIFICATE)) == CERTIFICATE
    assert Certificate.parse(CERTIFICATE.text) == CERTIFICATE
    assert Certificate.parse(f"\n {CERTIFICATE.text} \n") == CERTIFICATE


def test_each_fault_has_its_own_error() -> None:
    refused(CertificateNotYetValid, lambda: check(CERTIFICATE, ROOT.public, KEY, START - 1))
    refused(CertificateExpired, lambda: check(CERTIFICATE, ROOT.public, KEY, END))
    refused(WrongRoot, lambda: check(CERTIFICATE, OTHER_PEER.public, KEY, START))
    refused(CertificateForAnother, lambda: check(CERTIFICATE, ROOT.public, PEER.public, START))
    for change in (
        {"key": PEER.public},
        {"name": "Crete"},
        {"not_before": START - 1},
        {"not_after": END + 1},
        {"signature": bytes(64)},
    ):
        tampered = msgspec.structs.replace(CERTIFICATE, **change)
        refused(CertificateTampered, lambda t=tampered: check(t, ROOT.public, KEY, START))  # type: ignore[misc]


def test_another_root_cannot_sign_in_the_name_of_this_one() -> None:
    forged = msgspec.structs.replace(admit(PEER, KEY, START, END, "Hannover"), root=ROOT.public)
    refused(CertificateTampered, lambda: check(forged, ROOT.public, KEY, START))


def test_revocation_by_serial_and_by_key() -> None:
    by_serial, by_key = Revocations(ROOT.public), Revocations(ROOT.public)
    by_serial.add(revoke_certificate(ROOT, CERTIFICATE.serial, NOW))
    by_key.add(revoke_key(SUPER_PEER, KEY, NOW))
    refused(CertificateRevoked, lambda: check(CERTIFICATE, ROOT.public, KEY, START, by_serial))
    refused(KeyRevoked, lambda: check(CERTIFICATE, ROOT.public, KEY, START, by_key))
    renewed = admit(ROOT, KEY, START, END + 1, "Hannover")
    assert renewed.serial != CERTIFICATE.serial
    check(renewed, ROOT.public, KEY, START, by_serial)


def test_altered_certificates_are_refused() -> None:
    for changed in flipped(encode(CERTIFICATE)):
        with pytest.raises((AdmissionError, MalformedMessage)):
            check(decode(Certificate, changed), ROOT.public, KEY, START)
    for cut in truncated(encode(CERTIFICATE)):
        refused(TruncatedMessage, lambda cut=cut: decode(Certificate, cut))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (CERTIFICATE.text.replace("spc-", "spk-"), "starts with spc-"),
        (CERTIFICATE.text.replace("spc-", "spc-ö"), "letters, digits"),
        (CERTIFICATE.text.replace("spc-", "spc-!!!!"), "letters, digits"),
        (CERTIFICATE.text[:-4], "end of this message is missing"),
        (CERTIFICATE.text + "AAAA", "not a message"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(text: str, complaint: str) -> None:
    with pytest.raises(MalformedMessage, match=complaint):
        Certificate.parse(text)


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    for written in (text, f"spc-{text}"):
        with pytest.raises(MalformedMessage):
            Certificate.parse(written)


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 65, "ö" * 33, "\ud800"])
def test_names_can_be_shown(name: str) -> None:
    with pytest.raises(InvalidName):
        admit(ROOT, KEY, START, END, name)


def test_even_the_root_cannot_certify_a_name_that_cannot_be_shown() -> None:
    odd = msgspec.structs.replace(CERTIFICATE, name="\x1b[2J")
    signed = msgspec.structs.replace(odd, signature=sign(ROOT, Purpose.CERTIFICATE, *_parts(odd)))
    refused(InvalidName, lambda: check(signed, ROOT.public, KEY, START))


def test_admissions_keep_the_certificate_that_lasts() -> None:
    admissions = Admissions(ROOT.public)
    refused(NotAdmitted, lambda: admissions.require(KEY, START))
    longer = admit(ROOT, KEY, START, END + 1000, "Hannover")
    for certificate in (CERTIFICATE, longer, CERTIFICATE):
        admissions.learn(certificate, START)
    assert len(admissions) == 1
    assert admissions.require(KEY, END) == longer
    refused(CertificateExpired, lambda: admissions.require(KEY, END + 1000))
    admissions.revocations.add(revoke_certificate(ROOT, longer.serial, NOW))
    refused(CertificateRevoked, lambda: admissions.require(KEY, START))
    admissions.learn(CERTIFICATE, START)
    assert admissions.require(KEY, START) == CERTIFICATE
    refused(WrongRoot, lambda: admissions.learn(admit(PEER, KEY, START, END + 9999, "x"), START))
    refused(CertificateExpired, lambda: Admissions(ROOT.public).learn(CERTIFICATE, END))


STATEMENT = b"any statement of a member"


def test_an_entry_with_its_certificate_proves_itself() -> None:
    admissions = Admissions(ROOT.public)
    verify = entry_verifier(admissions, lambda: START)
    bare, complete = entry_signer(SUPER_PEER)(STATEMENT), entry_signer(SUPER_PEER, CERTIFICATE)(STATEMENT)
    assert len(bare) == 64 < len(complete) <= MAX_ENTRY_SIGNATURE_BYTES
    assert not verify(KEY.raw, STATEMENT, bare), "nobody has heard of this member"
    assert verify(KEY.raw, STATEMENT, complete)
    assert verify(KEY.raw, STATEMENT, bare), "its certificate is known by now"


def test_the_longest_certificate_fits() -> None:
    most = 2**63 - 1
    longest = admit(ROOT, KEY, most - 1, most, "n" * 64)
    assert len(entry_signer(SUPER_PEER, longest)(STATEMENT)) <= MAX_ENTRY_SIGNATURE_BYTES


def test_nobody_outside_joins_and_nobody_inside_speaks_for_another() -> None:
    reasons: list[AuthError] = []
    admissions = Admissions(ROOT.public)
    admissions.learn(CERTIFICATE, START)
    verify = entry_verifier(admissions, lambda: START, reasons.append)
    outsider = entry_signer(PEER)(STATEMENT)
    other_network = entry_signer(PEER, admit(OTHER_PEER, PEER.public, START, END, "x"))(STATEMENT)
    borrowed = entry_signer(PEER, CERTIFICATE)(STATEMENT)
    member = entry_signer(SUPER_PEER)(STATEMENT)
    cases = [
        (PEER.public.raw, STATEMENT, outsider, NotAdmitted),
        (PEER.public.raw, STATEMENT, other_network, WrongRoot),
        (PEER.public.raw, STATEMENT, borrowed, NotAdmitted),
        (SECOND_SUPER_PEER.public.raw, STATEMENT, member, BadSignature),
        (KEY.raw, STATEMENT, outsider, BadSignature),
        (KEY.raw, STATEMENT + b"!", member, BadSignature),
        (KEY.raw, STATEMENT, member[:-1], BadSignature),
        (KEY.raw, STATEMENT, member + b"\0", MalformedMessage),
        (KEY.raw, STATEMENT, sign(SUPER_PEER, Purpose.ATTACHMENT, KEY.raw, STATEMENT), BadSignature),
    ]
    for key, statement, signature, _ in cases:
        assert not verify(key, statement, signature)
    assert [type(reason) for reason in reasons] == [case[3] for case in cases]
    assert not verify(b"short", STATEMENT, member)
    assert verify(KEY.raw, STATEMENT, member)


def test_the_backbone_takes_them_as_they_are() -> None:
    """What `hypercup` asks of a member's identity: to sign, and to tell genuine entries and verdicts from others."""
    admissions = Admissions(ROOT.public)
    verify = entry_verifier(admissions, lambda: START)
    other = admit(ROOT, SECOND_SUPER_PEER.public, START, END, "Crete")
    one = hypercup.Identity(KEY.raw, entry_signer(SUPER_PEER, CERTIFICATE), verify)
    two = hypercup.Identity(SECOND_SUPER_PEER.public.raw, entry_signer(SECOND_SUPER_PEER, other), verify)
    stranger = hypercup.Identity(PEER.public.raw, entry_signer(PEER), verify)
    entry = one.signed(hypercup.Entry(KEY.raw, "hannover.example.org:4000", 1))
    assert two.is_genuine(entry)
    assert one.is_genuine(two.pronounced_dead(entry))
    assert not one.is_genuine(stranger.pronounced_dead(entry))
    assert not one.is_genuine(stranger.signed(hypercup.Entry(PEER.public.raw, "a:1", 1)))
    assert not one.is_genuine(msgspec.structs.replace(entry, incarnation=2))


def test_members_expire_and_are_revoked() -> None:
    clock = [float(START)]
    admissions = Admissions(ROOT.public)
    verify = entry_verifier(admissions, lambda: clock[0])
    signature = entry_signer(SUPER_PEER, CERTIFICATE)(STATEMENT)
    assert verify(KEY.raw, STATEMENT, signature)
    clock[0] = END
    assert not verify(KEY.raw, STATEMENT, signature)
    renewed = entry_signer(SUPER_PEER, admit(ROOT, KEY, START, END + 1000, "Hannover"))(STATEMENT)
    assert verify(KEY.raw, STATEMENT, renewed)
    assert verify(KEY.raw, STATEMENT, signature), "an old certificate does no harm once the new one is known"
    admissions.revocations.add(revoke_key(ROOT, KEY, NOW))
    assert not verify(KEY.raw, STATEMENT, renewed)


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=200))
def test_garbage_is_refused_quietly(key: bytes, statement: bytes, signature: bytes) -> None:
    verify = entry_verifier(Admissions(ROOT.public), lambda: START)
    assert not verify(key, statement, signature)
    assert not verify(KEY.raw, statement, entry_signer(SUPER_PEER)(statement) + signature)
