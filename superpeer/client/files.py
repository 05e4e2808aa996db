"""Files that a peer has for others: single ones, whole directories, or whatever a function returns."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote

from superpeer.client.errors import PeerError
from superpeer.client.journal import Journal

FileFunction = Callable[[str], bytes | Path | Awaitable[bytes | Path | None] | None]
"""From the name of a resource to its content, or the file that has it; None if this peer has nothing of that name."""


class Files:
    """What this peer uploads when somebody asks for it."""

    def __init__(self, journal: Journal, function: FileFunction | None) -> None:
        self._journal = journal
        self._function = function

    def offer(self, resource: str, path: Path) -> None:
        if not path.is_file():
            raise PeerError(f"{path} is not a file that could be offered; check its name")
        self._journal.offer(resource, str(path.absolute()), is_base=False)

    def offer_directory(self, base: str, directory: Path) -> None:
        """For every resource whose name begins with `base`, the file in the directory that the rest names."""
        if not directory.is_dir():
            raise PeerError(f"{directory} is not a directory that could be offered; check its name")
        self._journal.offer(base, str(directory.absolute()), is_base=True)

    def withhold(self, resource: str) -> None:
        self._journal.withhold(resource)

    async def find(self, resource: str, max_bytes: int) -> bytes | None:
        """The content of a resource, if it is here and not too large."""
        found: bytes | Path | None = None
        if self._function is not None:
            returned = self._function(resource)
            found = await returned if inspect.isawaitable(returned) else returned
        if found is None:
            found = self._offered(resource)
        if isinstance(found, Path):
            found = await asyncio.to_thread(_read, found, max_bytes)
        if found is not None and len(found) > max_bytes:
            raise PeerError(f"{resource} is larger than the {max_bytes} bytes that can be uploaded; divide it")
        return found

    def _offered(self, resource: str) -> Path | None:
        offers = self._journal.offers()
        for name, path, is_base in offers:
            if not is_base and name == resource:
                return Path(path)
        for base, path, is_base in offers:
            if is_base and resource.startswith(base):
                found = _inside(Path(path), unquote(resource[len(base) :]))
                if found is not None:
                    return found
        return None


def _inside(directory: Path, rest: str) -> Path | None:
    """The file under a directory that a relative path leads to, and nothing outside, whatever links there are."""
    if not rest or "\0" in rest:
        return None
    try:
        root = directory.resolve(strict=True)
        found = (root / rest).resolve(strict=True)
    except OSError:
        return None
    return found if found.is_relative_to(root) and found.is_file() else None


def _read(path: Path, max_bytes: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except OSError:
        return None
