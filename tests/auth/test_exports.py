"""What the package offers, pinned; and that every error says what to do."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import auth
from auth import AuthError, errors

PUBLIC = """
Admissions Answer ArrivalReply ArrivalRequest Arriving Attachment Ban BatchVerifier Certificate
CertificateRevocation Challenge Challenger Cost Credentials Departure ExchangeMessage Granted Granting Greeting
Identity Item KeyId KeyRevocation MAX_ENTRY_SIGNATURE_BYTES Message MigrationOrder Origin Outcome PeerExchange
PeerState PrivateId Proof PublicId PublicKey Purpose Random Record Registering Registration RegistrationReply
RegistrationRequest Registry RegistryLimits Revocation Revocations Role SuperPeerExchange SuperPeerState admit
attach check decode decode_message decode_record decode_revocation encode entry_signer entry_verifier is_protected
load_identity load_public_key next_serial open_letter order_migration read_secret read_value respond
revoke_certificate revoke_key save_identity sign sign_batch sign_together verify verify_attachment verify_item
verify_order write_letter write_secret write_value
"""

ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, AuthError)]


def test_the_public_names() -> None:
    assert sorted(auth.__all__) == sorted(PUBLIC.split() + [kind.__name__ for kind in ERRORS])
    assert all(hasattr(auth, name) for name in auth.__all__)


def test_the_docstring_shows_the_tree_of_errors() -> None:
    documented = re.findall(r"^    ([│ ├└─]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    depths = [(len(indent) // 4, name) for indent, name in documented]
    parents: list[str] = []
    for depth, name in depths:
        parents = [*parents[:depth], name]
        if depth:
            assert getattr(errors, name).__bases__[0].__name__ == parents[depth - 1]
    assert sorted(name for _, name in depths) == sorted(kind.__name__ for kind in ERRORS)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_one_sentence(kind: type[AuthError]) -> None:
    sentence = kind.sentence
    assert sentence
    assert "\n" not in sentence
    assert not sentence.endswith(".")


@pytest.mark.parametrize("kind", [kind for kind in ERRORS if not kind.__subclasses__()], ids=lambda kind: kind.__name__)
def test_every_error_that_is_raised_says_what_to_do(kind: type[AuthError]) -> None:
    arguments = [f"<{name}>" for name in list(inspect.signature(kind).parameters)]
    required = [
        name
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    text = str(kind(*arguments[: len(required)]))
    assert ";" in text, "what is wrong; what to do"


def test_errors_are_documented_where_they_are_raised_only() -> None:
    """An error that nothing raises is dead."""
    sources = [path.read_text(encoding="utf-8") for path in Path(auth.__file__).parent.glob("*.py")]
    raised = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised |= {name.id for name in ast.walk(node.exc) if isinstance(name, ast.Name)}
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ERROR":
                raised.add(ast.unparse(node.value))
    leaves = {kind.__name__ for kind in ERRORS if not kind.__subclasses__()}
    assert leaves <= raised
