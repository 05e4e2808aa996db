"""What can be wrong with a store, and what to do about it.

SuperpeerError
 └── StoreError
      ├── StoreLocked       another process has it open
      ├── StoreForeign      it is no store of a super-peer
      ├── StoreNewer        a later version of Superpeer wrote it
      ├── StoreExposed      others could read it
      ├── StoreUnusable     the directory cannot be used at all
      ├── StoreDamaged      it does not hold what was written
      ├── StoreExists       something is already where a new one should go
      ├── StoreFailed       the disk refused a commit; nothing of it was acknowledged
      ├── StoreBusy         too much waits to be written
      └── StoreClosed       it was closed before
"""

from __future__ import annotations

from pathlib import Path

from superpeer.errors import SuperpeerError


class StoreError(SuperpeerError):
    """Something is wrong with the disk of a super-peer."""


class StoreLocked(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is in use by another process; stop that super-peer first, or name another directory")


class StoreForeign(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is no store of a super-peer; name another directory")


class StoreNewer(StoreError):
    def __init__(self, path: Path, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{path} was written by a later version of Superpeer (schema {found}, this one knows {known}); "
            "install that version, or restore a backup from before"
        )


class StoreExposed(StoreError):
    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(f"{path} is open to other users; close it with: chmod {mode} {path}")


class StoreUnusable(StoreError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be used: {reason}; check the directory, its owner and the disk")


class StoreDamaged(StoreError):
    """`reason` says what was found first; there may be more."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{path} is damaged: {reason}; restore a backup, or save what can be read with: superpeer store recover"
        )


class StoreExists(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists already; name a directory that does not")


class StoreFailed(StoreError):
    """A commit did not reach the disk. What was acknowledged before is there; nothing can be added in this life."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"writing to {path} failed: {reason}; free the disk or repair it, and start again")


class StoreBusy(StoreError):
    def __init__(self, most: int) -> None:
        super().__init__(f"{most:,} records wait for the disk already; wait until some are written")


class StoreClosed(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was closed; open it again")
