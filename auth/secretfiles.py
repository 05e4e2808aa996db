"""Secret files: the only place of this package that touches a disk.

Written so that nobody else can read them at any moment and no crash leaves half of one: a new file of mode 0600 under
another name, filled and forced to disk, then put in place in one step. Read only if they are what they should be: a
regular file of this user, closed to everybody else, of a sensible size. The checks are made on the open file, so that
it cannot be exchanged between the check and the reading; a symbolic link counts as what it leads to.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from auth.errors import (
    KeyFileExists,
    KeyFileExposed,
    KeyFileForeign,
    KeyFileMalformed,
    KeyFileMissing,
    KeyFileNotRegular,
    KeyFileUnusable,
)

MODE = 0o600
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def write_secret(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file that only its owner can read. An existing one is replaced only on demand."""
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    try:
        try:
            _write_new(temporary, data)
            _put_in_place(temporary, path, replace)
        finally:
            # What was moved into place, or never made, need not be removed.
            temporary.unlink(missing_ok=True)
        _force_to_disk(path.parent)
    except FileExistsError as error:
        raise KeyFileExists(str(path)) from error
    except OSError as error:
        raise KeyFileUnusable(str(path), error.strerror or type(error).__name__) from error


def read_secret(path: Path, max_bytes: int) -> bytes:
    """Read a file that nobody else could have read or written."""
    try:
        # Opening a device or a pipe may do something, so its kind is looked at before and, for certain, after.
        if not stat.S_ISREG(path.stat().st_mode):
            raise KeyFileNotRegular(str(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            _check(path, os.fstat(file.fileno()))
            data = file.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise KeyFileMissing(str(path)) from error
    except OSError as error:
        raise KeyFileUnusable(str(path), error.strerror or type(error).__name__) from error
    if len(data) > max_bytes:
        raise KeyFileMalformed(str(path))
    return data


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileNotRegular(str(path))
    if status.st_uid != os.geteuid():
        raise KeyFileForeign(str(path))
    if status.st_mode & OPEN_TO_OTHERS:
        raise KeyFileExposed(str(path))


def _write_new(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), MODE)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(temporary: Path, path: Path, replace: bool) -> None:
    if replace:
        temporary.replace(path)
    else:
        # A link, unlike a rename, fails if the name is taken.
        path.hardlink_to(temporary)


def _force_to_disk(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
