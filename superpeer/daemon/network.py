"""Networks: a new one with its root key, a super-peer's own key, and the certificates that admit it.

A directory of a super-peer holds, besides its disk:

    super-peer.key     its key file, for its owner's eyes only
    certificate.txt    by which it was admitted; no secret
    root.txt           the public root key of its network

The root's own key file, root.key, is needed to admit super-peers and for nothing else: keep it offline.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from auth import Certificate, Identity, PublicKey, load_identity, save_identity
from auth import admit as sign_admission
from auth.errors import KeyFileMissing
from superpeer.daemon.errors import CannotServe

DAY_S = 24 * 3600
DEFAULT_DAYS = 3650
CLOCK_TOLERANCE_S = 3600
"""A certificate is valid a little before it was made, as clocks differ."""
KEY_FILE, CERTIFICATE_FILE, ROOT_FILE, ROOT_KEY_FILE = "super-peer.key", "certificate.txt", "root.txt", "root.key"


@dataclass(frozen=True)
class Made:
    """What `init` made."""

    directory: Path
    root: PublicKey
    key: PublicKey
    certificate: Certificate


def init(
    directory: Path | str, name: str = "first", *, days: int = DEFAULT_DAYS, passphrase: str | None = None
) -> Made:
    """A new network, and the directory of its first super-peer. The passphrase protects the root key."""
    directory = Path(directory)
    _make_directory(directory)
    root = Identity.generate(os.urandom)
    save_identity(directory / ROOT_KEY_FILE, root, passphrase)
    key = prepare(directory)
    certificate = _sign(root, key, name, days)
    install(directory, certificate)
    return Made(directory, root.public, key, certificate)


def prepare(directory: Path | str) -> PublicKey:
    """A super-peer's own key, a new one if it has none: what the holder of the root key has to admit."""
    directory = Path(directory)
    _make_directory(directory)
    path = directory / KEY_FILE
    try:
        return load_identity(path).public
    except KeyFileMissing:
        identity = Identity.generate(os.urandom)
        save_identity(path, identity)
        return identity.public


def admit(
    root_key_file: Path | str,
    key: PublicKey,
    name: str,
    *,
    days: int = DEFAULT_DAYS,
    passphrase: str | None = None,
) -> Certificate:
    """Admit a super-peer to the network whose root key this is."""
    return _sign(load_identity(root_key_file, passphrase), key, name, days)


def install(directory: Path | str, certificate: Certificate) -> None:
    """Put a certificate, and the root key of its network, where `serve` looks for them."""
    directory = Path(directory)
    _write(directory / CERTIFICATE_FILE, certificate.text)
    _write(directory / ROOT_FILE, certificate.root.text)


def _sign(root: Identity, key: PublicKey, name: str, days: int) -> Certificate:
    if days < 1:
        raise CannotServe(f"a certificate is valid for a day at least, not for {days}; choose another time")
    now = int(time.time())
    return sign_admission(root, key, now - CLOCK_TOLERANCE_S, now + days * DAY_S, name)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotServe(f"{directory} cannot be made: {error.strerror}; name another directory") from error


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.new")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise CannotServe(f"{path} cannot be written: {error.strerror}; check the directory") from error
