"""Key files: who may read them, what they may ask for, and what happens when something is wrong with one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import nacl.exceptions
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nacl.pwhash import argon2id

from auth import (
    Identity,
    KeyFileCostly,
    KeyFileError,
    KeyFileExists,
    KeyFileExposed,
    KeyFileForeign,
    KeyFileMalformed,
    KeyFileMissing,
    KeyFileNotRegular,
    KeyFileUnusable,
    KeyFileVersion,
    PassphraseNeeded,
    PassphraseUnexpected,
    PassphraseWrong,
    is_protected,
    load_identity,
    load_public_key,
    read_secret,
    save_identity,
    write_secret,
)
from auth.keyfile import COST, MAX_MEMORY_BYTES, MAX_OPERATIONS, MINIMAL_COST, OPEN_BYTES, PROTECTED_BYTES, Cost
from tests.auth.helpers import PEER, Dice

PASSPHRASE = "correct horse battery staple"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "peer.key"


def save(path: Path, passphrase: str | None = None) -> bytes:
    save_identity(path, PEER, passphrase, cost=MINIMAL_COST, random=Dice())
    return path.read_bytes()


def overwrite(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE, "ü" * 100])
def test_an_identity_is_written_and_read(path: Path, passphrase: str | None) -> None:
    content = save(path, passphrase)
    assert len(content) == (OPEN_BYTES if passphrase is None else PROTECTED_BYTES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_identity(path, passphrase).reveal_seed() == PEER.reveal_seed()
    assert load_public_key(str(path)) == PEER.public
    assert is_protected(path) == (passphrase is not None)
    assert list(path.parent.iterdir()) == [path]


def test_the_mode_does_not_depend_on_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_never_open_to_others_while_it_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    genuine = os.fsync

    def watched(descriptor: int) -> None:
        modes.append(os.fstat(descriptor).st_mode)
        genuine(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    save(path)
    assert [stat.S_ISREG(mode) for mode in modes] == [True, False], "the file, then its directory"
    assert stat.S_IMODE(modes[0]) == 0o600


def test_a_passphrase_protects_the_seed(path: Path) -> None:
    assert PEER.reveal_seed() in save(path)
    path.unlink()
    assert PEER.reveal_seed() not in save(path, PASSPHRASE)


def test_passphrases_are_compared_as_people_see_them(path: Path) -> None:
    save(path, "Zu\N{LATIN SMALL LETTER E WITH ACUTE}")
    assert load_identity(path, "Zue\N{COMBINING ACUTE ACCENT}").public == PEER.public


def test_bytes_that_a_terminal_could_not_decode_make_a_passphrase(path: Path) -> None:
    save(path, b"caf\xe9".decode(errors="surrogateescape"))
    assert load_identity(path, "caf\udce9").public == PEER.public


@pytest.mark.parametrize(
    ("given_one", "error"), [(None, PassphraseNeeded), ("", PassphraseNeeded), ("x", PassphraseWrong)]
)
def test_the_wrong_passphrase(path: Path, given_one: str | None, error: type[KeyFileError]) -> None:
    save(path, PASSPHRASE)
    with pytest.raises(error, match=r"peer\.key"):
        load_identity(path, given_one)


def test_a_passphrase_that_protects_nothing_is_noticed(path: Path) -> None:
    save(path)
    with pytest.raises(PassphraseUnexpected):
        load_identity(path, PASSPHRASE)
    with pytest.raises(PassphraseNeeded, match="not empty"):
        save_identity(path.with_name("other"), PEER, "")


def test_an_existing_file_is_not_overwritten_unasked(path: Path) -> None:
    before = save(path)
    with pytest.raises(KeyFileExists):
        save_identity(path, Identity(bytes(32)))
    assert path.read_bytes() == before
    save_identity(path, PEER, PASSPHRASE, cost=MINIMAL_COST, replace=True)
    assert load_identity(path, PASSPHRASE).public == PEER.public
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666, 0o777])
def test_a_file_that_others_may_touch_is_refused(path: Path, mode: int) -> None:
    save(path)
    path.chmod(mode)
    with pytest.raises(KeyFileExposed, match="chmod 600"):
        load_identity(path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_that_others_may_not_touch_is_accepted(path: Path, mode: int) -> None:
    save(path)
    path.chmod(mode)
    assert load_identity(path).public == PEER.public


def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(KeyFileForeign):
        load_identity(path)


def test_a_link_counts_as_what_it_leads_to(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    with pytest.raises(KeyFileMissing):
        load_identity(link)
    save(path)
    assert load_identity(link).public == PEER.public
    path.chmod(0o644)
    with pytest.raises(KeyFileExposed):
        load_identity(link)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_odd_things_are_refused(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(KeyFileNotRegular):
        load_identity(path)


def test_a_file_exchanged_for_an_odd_thing_at_the_last_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(path)
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    genuine = os.open
    monkeypatch.setattr(os, "open", lambda name, flags: genuine(pipe if name == path else name, flags))
    with pytest.raises(KeyFileNotRegular):
        load_identity(path)


def test_a_missing_file_and_a_missing_directory(path: Path) -> None:
    with pytest.raises(KeyFileMissing, match="make a key first"):
        load_identity(path)
    with pytest.raises(KeyFileUnusable, match="No such file or directory"):
        save(path / "below" / "peer.key")
    path.write_bytes(b"")
    with pytest.raises(KeyFileUnusable, match="Not a directory"):
        load_identity(path / "below")


@pytest.mark.parametrize("failing", ["fsync", "fchmod", "link", "replace"])
def test_a_failure_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    before = save(path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    replace = failing != "link"
    with pytest.raises(KeyFileUnusable, match="No space left"):
        save_identity(path if replace else path.with_name("new"), Identity(bytes(32)), replace=replace)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == before


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_a_file_of_another_length_is_refused(path: Path, passphrase: str | None) -> None:
    content = save(path, passphrase)
    for length in range(len(content)):
        overwrite(path, content[:length])
        with pytest.raises(KeyFileMalformed):
            load_identity(path, passphrase)
    for longer in (content + b"\n", content * 100):
        overwrite(path, longer)
        with pytest.raises(KeyFileMalformed):
            load_identity(path, passphrase)


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_every_flipped_bit_is_noticed(path: Path, passphrase: str | None) -> None:
    content = save(path, passphrase)
    for position in range(len(content) * 8):
        changed = bytearray(content)
        changed[position // 8] ^= 1 << position % 8
        if passphrase and 42 <= position // 8 < 54 and changed[42:46] + changed[46:54] > content[42:54]:
            continue  # A higher cost is honest up to the limit, and takes its time.
        overwrite(path, bytes(changed))
        with pytest.raises(KeyFileError):
            load_identity(path, passphrase)


def test_a_later_version_is_named_as_such(path: Path) -> None:
    content = save(path)
    overwrite(path, content[:8] + b"\2" + content[9:])
    with pytest.raises(KeyFileVersion, match="later version"):
        load_identity(path)


@pytest.mark.parametrize(
    ("operations", "memory"),
    [
        (0, 8192),
        (MAX_OPERATIONS + 1, 8192),
        (2**32 - 1, 8192),
        (1, 8191),
        (1, 0),
        (1, MAX_MEMORY_BYTES + 1),
        (1, 4 * 2**30),
        (1, 2**64 - 1),
    ],
)
def test_a_hostile_file_cannot_demand_much(
    path: Path, monkeypatch: pytest.MonkeyPatch, operations: int, memory: int
) -> None:
    content = save(path, PASSPHRASE)
    overwrite(path, content[:42] + operations.to_bytes(4, "big") + memory.to_bytes(8, "big") + content[54:])
    monkeypatch.setattr(argon2id, "kdf", lambda *_: pytest.fail("nothing is computed for it"))
    with pytest.raises(KeyFileCostly):
        load_identity(path, PASSPHRASE)


def test_a_machine_without_the_memory_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(path, PASSPHRASE)

    def fail(*_: object) -> bytes:
        raise nacl.exceptions.RuntimeError("Key derivation failed")

    monkeypatch.setattr(argon2id, "kdf", fail)
    with pytest.raises(KeyFileCostly, match="8192 bytes of memory"):
        load_identity(path, PASSPHRASE)


def test_the_usual_cost_is_within_the_limits_and_worth_something() -> None:
    assert COST.is_honest()
    assert COST.operations >= argon2id.OPSLIMIT_MODERATE
    assert COST.memory_bytes >= argon2id.MEMLIMIT_MODERATE
    with pytest.raises(AssertionError):
        save_identity("unused", PEER, PASSPHRASE, cost=Cost(1, 2**40))


def test_another_seed_under_the_same_public_key_is_noticed(path: Path) -> None:
    content = save(path)
    overwrite(path, content[:42] + bytes(32))
    with pytest.raises(KeyFileMalformed):
        load_identity(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.booleans(), st.sampled_from([None, "x"]))
def test_no_content_breaks_the_reader(path: Path, content: bytes, with_magic: bool, passphrase: str | None) -> None:
    overwrite(path, b"spkeyfil\1" + content if with_magic else content)
    with pytest.raises(KeyFileError):
        load_identity(path, passphrase)


def test_other_secrets_are_kept_the_same_way(path: Path) -> None:
    write_secret(path, b"credentials")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_secret(path, 11) == b"credentials"
    with pytest.raises(KeyFileMalformed):
        read_secret(path, 10)
