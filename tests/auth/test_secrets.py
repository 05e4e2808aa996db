"""Secrets never show: not in a repr, a str, a format, a pickle, a log or the text of an error."""

from __future__ import annotations

import ast
import copy
import io
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from pathlib import Path

import msgspec
import pytest

import auth
from auth import (
    AuthError,
    Identity,
    PeerExchange,
    PrivateId,
    RegistrationRequest,
    SecretNotPicklable,
    SuperPeerExchange,
    encode,
    load_identity,
    save_identity,
)
from auth.keyfile import MINIMAL_COST
from auth.messages import Arriving, Granting
from tests.auth.helpers import (
    CHANNEL,
    NOW,
    PEER,
    SECOND_SUPER_PEER,
    SUPER_PEER,
    Dice,
    forms,
    registered,
    registry_of,
)

PACKAGE = Path(auth.__file__).parent


def texts(thing: object) -> Iterator[str]:
    """Every way in which an object is shown."""
    yield from (
        repr(thing),
        str(thing),
        f"{thing}",
        f"{thing!s:>5}",
        format(thing),
        ascii(thing),
        pprint.pformat(thing),
    )
    yield "%s %r" % (thing, thing)  # noqa: UP031
    stream = io.StringIO()
    logger = logging.Logger("auth")
    logger.addHandler(logging.StreamHandler(stream))
    logger.error("%s %r", thing, thing)
    yield stream.getvalue()
    if hasattr(thing, "__dict__"):
        yield repr(vars(thing))


def reachable(thing: object, seen: set[int] | None = None) -> Iterator[object]:
    """An object and what it holds: public and private attributes of our own classes, fields, elements."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type | None):
        return
    seen.add(id(thing))
    if not isinstance(thing, dict | list | tuple):
        yield thing
    for part in parts(thing):
        yield from reachable(part, seen)


def parts(thing: object) -> list[object]:
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set):
        return list(thing)
    if not type(thing).__module__.startswith("auth"):
        return []
    found = [getattr(thing, name, None) for name in getattr(thing, "__struct_fields__", ())]
    if is_dataclass(thing):
        found += [getattr(thing, field.name) for field in dataclass_fields(thing)]
    if isinstance(thing, Identity | PrivateId):
        return found
    return found + list(getattr(thing, "__dict__", {}).values())


def everything_of_a_life() -> tuple[list[object], list[bytes]]:
    """All objects of a registration and a migration, finished and on the way, and all secrets in them."""
    first, second = registry_of(SUPER_PEER), registry_of(SECOND_SUPER_PEER)
    before, registration = registered(PEER, SUPER_PEER, first)
    after, arrival = registered(PEER, SECOND_SUPER_PEER, second, NOW + 1, past=before)
    mine = PeerExchange(PEER, SUPER_PEER.public, "p:1", CHANNEL, Dice("m"), past=after)
    theirs = SuperPeerExchange(SUPER_PEER, first, CHANNEL, Dice("t"))
    greeting = theirs.receive(mine.begin(NOW + 2), NOW + 2)
    request = mine.receive(greeting, NOW + 2)
    assert request is not None
    assert arrival.order is not None
    order, attachment = arrival.order, arrival.registration.attachment
    bodies = [
        Arriving("p:1", attachment, order, before.salt, before.private_id),
        Granting(after.salt, after.private_id),
        auth.Granted(registration.registration, before.private_id),
    ]
    things: list[object] = [
        first,
        second,
        before,
        after,
        registration,
        arrival,
        mine,
        theirs,
        greeting,
        request,
        *bodies,
    ]
    things += [PEER, SUPER_PEER, [PEER], {"id": before.private_id}, first.records(), second.records()]
    identities = [PEER, SUPER_PEER, SECOND_SUPER_PEER]
    secrets = [before.private_id.reveal(), after.private_id.reveal()]
    secrets += [who.reveal_seed() for who in identities] + [bytes(who.sealing_key()) for who in identities]
    return things, secrets


def test_no_object_shows_a_secret() -> None:
    things, secrets = everything_of_a_life()
    hidden = [form for secret in secrets for form in forms(secret)]
    kinds = set()
    for thing in things:
        for part in reachable(thing):
            kinds.add(type(part).__name__)
            for text in texts(part):
                assert not any(form in text for form in hidden), f"{type(part).__name__} shows a secret"
    expected = {"Registry", "Registration", "Credentials", "PrivateId", "Identity", "PeerExchange", "SuperPeerExchange"}
    assert expected | {"Challenger", "Outcome", "Granted", "Granting", "Arriving", "RegistryLimits"} <= kinds


def test_the_search_would_find_one() -> None:
    _, secrets = everything_of_a_life()
    for secret in secrets:
        leaks = [repr(secret), secret.hex(), repr(RegistrationRequest(bytes(32), secret)), f"{[*secret]}"]
        for leak in leaks:
            assert any(form in leak for form in forms(secret))


def test_nothing_that_holds_a_secret_is_pickled() -> None:
    things, secrets = everything_of_a_life()
    for thing in things:
        for part in reachable(thing):
            try:
                dumped = pickle.dumps(part)
            except (TypeError, AttributeError, pickle.PicklingError):
                continue
            assert not any(secret in dumped for secret in secrets), type(part).__name__
    for holder in (things[2], PEER, Granting(bytes(32), PrivateId(bytes(32)))):
        with pytest.raises(SecretNotPicklable):
            pickle.dumps(holder)


def test_a_private_id_is_neither_hashed_nor_ordered_nor_written_unasked() -> None:
    private_id = PrivateId(bytes(32))
    with pytest.raises(TypeError):
        hash(private_id)
    with pytest.raises(TypeError):
        sorted([private_id, PrivateId(bytes(32))])  # type: ignore[type-var]
    with pytest.raises(TypeError):
        msgspec.json.encode(Granting(bytes(32), private_id))
    with pytest.raises(TypeError):
        msgspec.to_builtins(private_id)
    with pytest.raises(TypeError):
        bytes(private_id)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        iter(private_id)  # type: ignore[call-overload]
    assert not hasattr(private_id, "__dict__")
    assert repr(private_id) == str(private_id) == f"{private_id}" == "<PrivateId>"
    assert copy.copy(private_id) is copy.deepcopy(private_id) is private_id


def test_private_ids_are_compared() -> None:
    assert PrivateId(bytes(32)) == PrivateId(bytes(32))
    assert PrivateId(bytes(32)) != PrivateId(bytes(31) + b"\1")
    assert PrivateId(bytes(32)) != bytes(32)
    assert PrivateId(bytes(32)).meets(PrivateId(bytes(32)).verifier(PEER.public), PEER.public)
    assert not PrivateId(bytes(32)).meets(PrivateId(bytes(32)).verifier(PEER.public), SUPER_PEER.public)


def comparisons(tree: ast.AST) -> Iterator[str]:
    """What `==`, `!=` and `in` compare, as written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for operator, side in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
                    yield ast.unparse(node.left)
                    yield ast.unparse(side)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_secrets_are_compared_in_constant_time(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    for compared in comparisons(ast.parse(source)):
        assert not any(word in compared for word in ("private_id", "_raw", "verifier", "brought", "reveal", "seed(")), (
            compared
        )


def test_constant_time_comparison_is_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr("hmac.compare_digest", watched)
    private_id = PrivateId(bytes(32))
    assert private_id != PrivateId(bytes(32))
    assert not private_id.meets(private_id.verifier(PEER.public), PEER.public)
    assert len(compared) == 2


def test_no_error_names_a_secret(tmp_path: Path) -> None:
    """Every refusal of an exchange whose messages carry secrets, with all its causes and their tracebacks."""
    past, _ = registered(PEER, SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), NOW - 9)
    registry = registry_of(SUPER_PEER)
    mine = PeerExchange(PEER, SUPER_PEER.public, "p:1", CHANNEL, Dice("m"), past=past)
    theirs = SuperPeerExchange(SUPER_PEER, registry, CHANNEL, Dice("t"))
    request = mine.receive(theirs.receive(mine.begin(NOW), NOW), NOW)
    assert request is not None
    right, wrong = "correct horse", "battery staple"
    secrets = [past.private_id.reveal(), PEER.reveal_seed(), right.encode(), wrong.encode()]
    path = tmp_path / "key"
    save_identity(path, PEER, right, cost=MINIMAL_COST)
    attempts: list[Callable[[], object]] = [
        lambda: theirs.receive(msgspec.structs.replace(request, letter=request.letter[:-1]), NOW),
        lambda: registry.authenticate(PEER.public, past.private_id),
        lambda: auth.decode(Granting, encode(past)),
        lambda: auth.decode(auth.Credentials, encode(past)[:-1]),
        lambda: PrivateId(past.private_id.reveal() + b"x"),
        lambda: Identity(PEER.reveal_seed() + b"x"),
        lambda: load_identity(path, wrong),
        lambda: pickle.dumps(past),
    ]
    for attempt in attempts:
        with pytest.raises(AuthError) as caught:
            attempt()
        text = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(caught.value.args)
        for secret in secrets:
            assert not any(form in text for form in forms(secret))


def test_only_the_key_files_touch_the_world() -> None:
    """Time and randomness are passed in, so that a simulation repeats itself."""
    allowed = {"secretfiles.py": {"os", "stat", "pathlib"}, "keyfile.py": {"pathlib", "nacl.utils"}}
    outside = {
        "os",
        "stat",
        "pathlib",
        "time",
        "datetime",
        "random",
        "secrets",
        "socket",
        "io",
        "logging",
        "nacl.utils",
    }
    for path in PACKAGE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        found |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert found & outside <= allowed.get(path.name, set()), path.name
