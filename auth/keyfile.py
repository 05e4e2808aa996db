"""Key files: an identity on disk, with or without a passphrase. All numbers are big-endian.

    open       magic (8) ‖ version (1) ‖ 0 ‖ public key (32) ‖ seed (32)                                    74 bytes
    protected  magic (8) ‖ version (1) ‖ 1 ‖ public key (32) ‖ operations (4) ‖ memory in bytes (8)
               ‖ salt (16) ‖ nonce (24) ‖ secretbox of the seed (48)                                       142 bytes

The box's key is argon2id of the passphrase (in Unicode's composed form, UTF-8) and the salt. Operations and memory
are read from the file, so files written today open tomorrow when the defaults have grown; what a file may ask for is
bounded, so that a hostile one cannot take a machine down. The public key is there so that it can be shown without the
passphrase, and must fit the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import nacl.exceptions
from nacl.pwhash import argon2id
from nacl.secret import SecretBox
from nacl.utils import random as system_random

from auth.errors import (
    KeyFileCostly,
    KeyFileMalformed,
    KeyFileVersion,
    PassphraseNeeded,
    PassphraseUnexpected,
    PassphraseWrong,
)
from auth.identity import SEED_BYTES, Identity, Random, draw
from auth.secretfiles import read_secret, write_secret
from auth.values import PublicKey

MAGIC = b"spkeyfil"
VERSION = 1
OPEN, PROTECTED = 0, 1
HEADER_BYTES = len(MAGIC) + 2 + PublicKey.SIZE
OPEN_BYTES = HEADER_BYTES + SEED_BYTES
PROTECTED_BYTES = HEADER_BYTES + 4 + 8 + argon2id.SALTBYTES + SecretBox.NONCE_SIZE + SEED_BYTES + SecretBox.MACBYTES
MAX_OPERATIONS = 16
MAX_MEMORY_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Cost:
    """What opening a protected file takes: passes over so much memory."""

    operations: int
    memory_bytes: int

    def is_honest(self) -> bool:
        operations, memory = self.operations, self.memory_bytes
        return 1 <= operations <= MAX_OPERATIONS and argon2id.MEMLIMIT_MIN <= memory <= MAX_MEMORY_BYTES


COST = Cost(argon2id.OPSLIMIT_MODERATE, argon2id.MEMLIMIT_MODERATE)
MINIMAL_COST = Cost(argon2id.OPSLIMIT_MIN, argon2id.MEMLIMIT_MIN)
"""For tests only: a passphrase is worth little with it."""


def save_identity(
    path: str | Path,
    identity: Identity,
    passphrase: str | None = None,
    *,
    cost: Cost = COST,
    replace: bool = False,
    random: Random = system_random,
) -> None:
    """Write a key file. With `replace`, an existing file gives way, as when the passphrase changes."""
    header = MAGIC + bytes([VERSION, OPEN if passphrase is None else PROTECTED]) + identity.public.raw
    if passphrase is None:
        content = header + identity.reveal_seed()
    else:
        if not passphrase:
            raise PassphraseNeeded(str(path), "a passphrase is not empty; give one, or none at all")
        assert cost.is_honest(), "a file that asks for more could not be read again"
        content = header + _lock(path, identity.reveal_seed(), passphrase, cost, random)
    assert len(content) in (OPEN_BYTES, PROTECTED_BYTES)
    write_secret(Path(path), content, replace=replace)


def load_identity(path: str | Path, passphrase: str | None = None) -> Identity:
    """Read a key file."""
    protected, public, rest = _read(path)
    if not protected and passphrase is not None:
        raise PassphraseUnexpected(str(path))
    if protected and not passphrase:
        raise PassphraseNeeded(str(path))
    identity = Identity(_unlock(path, rest, passphrase) if passphrase else rest)
    if identity.public != public:
        raise KeyFileMalformed(str(path))
    return identity


def load_public_key(path: str | Path) -> PublicKey:
    """The public key of a key file, which needs no passphrase. It is the file's word until the identity is loaded."""
    return _read(path)[1]


def is_protected(path: str | Path) -> bool:
    """Whether a key file wants a passphrase."""
    return _read(path)[0]


def _read(path: str | Path) -> tuple[bool, PublicKey, bytes]:
    content = read_secret(Path(path), PROTECTED_BYTES)
    if len(content) < HEADER_BYTES or content[: len(MAGIC)] != MAGIC:
        raise KeyFileMalformed(str(path))
    version, kind = content[len(MAGIC)], content[len(MAGIC) + 1]
    if version != VERSION:
        raise KeyFileVersion(str(path))
    if (kind, len(content)) not in {(OPEN, OPEN_BYTES), (PROTECTED, PROTECTED_BYTES)}:
        raise KeyFileMalformed(str(path))
    return kind == PROTECTED, PublicKey(content[len(MAGIC) + 2 : HEADER_BYTES]), content[HEADER_BYTES:]


def _lock(path: str | Path, seed: bytes, passphrase: str, cost: Cost, random: Random) -> bytes:
    salt, nonce = draw(random, argon2id.SALTBYTES), draw(random, SecretBox.NONCE_SIZE)
    box = SecretBox(_derive(path, passphrase, salt, cost)).encrypt(seed, nonce)
    return cost.operations.to_bytes(4, "big") + cost.memory_bytes.to_bytes(8, "big") + salt + bytes(box)


def _unlock(path: str | Path, locked: bytes, passphrase: str) -> bytes:
    cost = Cost(int.from_bytes(locked[:4], "big"), int.from_bytes(locked[4:12], "big"))
    if not cost.is_honest():
        raise KeyFileCostly(str(path))
    salt, box = locked[12 : 12 + argon2id.SALTBYTES], locked[12 + argon2id.SALTBYTES :]
    key = _derive(path, passphrase, salt, cost)
    try:
        return SecretBox(key).decrypt(box)
    except nacl.exceptions.CryptoError as error:
        raise PassphraseWrong(str(path)) from error


def _derive(path: str | Path, passphrase: str, salt: bytes, cost: Cost) -> bytes:
    # A terminal that is not set to UTF-8 gives surrogates for what it cannot decode; they stand for the bytes typed.
    text = normalize("NFC", passphrase).encode(errors="surrogateescape")
    try:
        return argon2id.kdf(SecretBox.KEY_SIZE, text, salt, cost.operations, cost.memory_bytes)
    except nacl.exceptions.RuntimeError as error:
        raise KeyFileCostly(
            str(path), f"needs {cost.memory_bytes} bytes of memory for its passphrase; free some, and try again"
        ) from error
