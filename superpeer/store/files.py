"""Rendezvous files: one file on disk for each content, named by its digest.

A file is written under a temporary name, forced to disk and then renamed, before the row that names it is committed; it
is removed after the commit that takes its last row away. So whatever moment a process dies at, every row has its file,
and a file without a row is an orphan, which is swept when the store is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

CONTENT_DIGEST_BYTES = 32
FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
TEMPORARY = ".new"


class Files:
    """The files in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def make(self) -> None:
        self.directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)

    def path(self, digest: bytes) -> Path:
        return self.directory / digest.hex()

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """All of them are on disk when this returns."""
        new = {digest: content for digest, content in contents.items() if self.get(digest) != content}
        for digest, content in new.items():
            path = self.path(digest)
            temporary = path.with_suffix(TEMPORARY)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            temporary.replace(path)
        if new:
            force_to_disk(self.directory)

    def get(self, digest: bytes) -> bytes | None:
        """The content of a digest; None if it is not there, or is another one by now."""
        try:
            content = self.path(digest).read_bytes()
        except OSError:
            return None
        return content if blake2b(content, digest_size=CONTENT_DIGEST_BYTES).digest() == digest else None

    def remove(self, digests: Iterable[bytes]) -> None:
        for digest in digests:
            # What cannot be removed now is an orphan, and swept another time.
            with suppress(OSError):
                self.path(digest).unlink()

    def sweep(self, needed: Iterable[bytes]) -> int:
        """Removes what no row names; how many files that were."""
        names = {digest.hex() for digest in needed}
        orphans = [path for path in self.directory.iterdir() if path.name not in names and _is_made_here(path)]
        for orphan in orphans:
            orphan.unlink(missing_ok=True)
        return len(orphans)


def _is_made_here(path: Path) -> bool:
    name = path.name.removesuffix(TEMPORARY)
    return len(name) == 2 * CONTENT_DIGEST_BYTES and not name.strip("0123456789abcdef")


def force_to_disk(directory: Path) -> None:
    """Makes durable which names a directory has."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
