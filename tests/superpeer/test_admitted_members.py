"""Where `auth` and `hypercup` meet: entries of the backbone are signed by admitted super-peers, and by nobody else.

Neither package knows the other, so what they expect of each other is tested here.
"""

from __future__ import annotations

from random import Random

import pytest

import auth
import hypercup
from auth.admission import MAX_NAME_BYTES
from hypercup.entry import MAX_SIGNATURE_BYTES, check_limits

NOW = 1_700_000_000


def generator(seed: int) -> auth.Identity:
    return auth.Identity.generate(Random(seed).randbytes)


def member(identity: auth.Identity, certificate: auth.Certificate, root: auth.Identity) -> hypercup.Identity:
    admissions = auth.Admissions(root.public)
    return hypercup.Identity(
        identity.public.raw, auth.entry_signer(identity, certificate), auth.entry_verifier(admissions, lambda: NOW)
    )


def test_an_entry_proves_itself_with_the_certificate_it_carries() -> None:
    root, ada, ben = generator(1), generator(2), generator(3)
    longest = "n" * MAX_NAME_BYTES
    certificate = auth.admit(root, ada.public, NOW - 10, NOW + 10, longest)
    judge = member(ben, auth.admit(root, ben.public, NOW - 10, NOW + 10, "ben"), root)
    entry = member(ada, certificate, root).signed(hypercup.Entry(ada.public.raw, "ada.example.org:7000", 1))
    check_limits(entry)
    assert len(entry.signature) <= MAX_SIGNATURE_BYTES
    assert judge.is_genuine(entry)
    dead = judge.pronounced_dead(entry)
    check_limits(dead)
    assert member(ada, certificate, root).is_genuine(dead)


@pytest.mark.parametrize("wrong", ["root", "expired", "other"])
def test_nobody_else_is_a_member(wrong: str) -> None:
    root, ada, eve = generator(1), generator(2), generator(4)
    judge = member(ada, auth.admit(root, ada.public, NOW - 10, NOW + 10, "ada"), root)
    certificate = {
        "root": lambda: auth.admit(eve, eve.public, NOW - 10, NOW + 10, "eve"),
        "expired": lambda: auth.admit(root, eve.public, NOW - 20, NOW - 10, "eve"),
        "other": lambda: auth.admit(root, ada.public, NOW - 10, NOW + 10, "ada"),
    }[wrong]()
    entry = member(eve, certificate, root).signed(hypercup.Entry(eve.public.raw, "eve.example.org:7000", 1))
    assert not judge.is_genuine(entry)
