"""`superpeer publish --watch`: a directory whose files are published when they appear, and as updates when they change.

What was published is noted in the peer's directory, by name, size and time of change. So a restart publishes just what
appeared meanwhile. A file is taken when it was left alone for a moment, so that one that is still being written is
not published by halves.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from superpeer.cli.output import complain, count, print_json

if TYPE_CHECKING:
    import qel
    from superpeer.client.peer import Peer

PAUSE_S = 0.5
MEMORY = "watched.json"
Seen = tuple[int, int]
"""Size, and time of change in nanoseconds."""


async def publish_what_appears(peer: Peer, directory: Path, topics: qel.Topics, *, as_json: bool = False) -> None:
    """Until it is cancelled."""
    watch = Watch(directory, peer.directory / MEMORY)
    complain(f"watching {directory}; what appears there is published")
    while True:
        for path in await asyncio.to_thread(watch.ready):
            await _publish(peer, watch, path, topics, as_json)
        await asyncio.sleep(PAUSE_S)


class Watch:
    """Which files of a directory are new or changed."""

    def __init__(self, directory: Path, memory: Path) -> None:
        self._directory = directory.absolute()
        self._memory = memory
        self._done: dict[str, Seen] = _read(memory)
        self._before: dict[str, Seen] = {}

    def ready(self) -> list[Path]:
        """Those that were not published as they are, and did not change since the last look."""
        now = self._look()
        found = [name for name, seen in now.items() if self._done.get(name) != seen and self._before.get(name) == seen]
        self._before = now
        return [Path(name) for name in sorted(found)]

    def is_known(self, path: Path) -> bool:
        return str(path) in self._done

    def note(self, path: Path) -> None:
        """It was published as it was when it was last looked at."""
        self._done[str(path)] = self._before[str(path)]
        begun = self._memory.with_suffix(".new")
        begun.write_text(json.dumps(self._done), encoding="utf-8")
        begun.replace(self._memory)

    def _look(self) -> dict[str, Seen]:
        from superpeer.rdf import UnreadableFile, format_of

        found: dict[str, Seen] = {}
        for path in self._directory.rglob("*"):
            if any(part.startswith(".") for part in path.relative_to(self._directory).parts):
                continue
            try:
                format_of(path)
                about = path.stat()
            except (OSError, UnreadableFile):
                continue
            if path.is_file():
                found[str(path)] = (about.st_size, about.st_mtime_ns)
        return found


async def _publish(peer: Peer, watch: Watch, path: Path, topics: qel.Topics, as_json: bool) -> None:
    from superpeer.cli.publishing import Published, publish_file
    from superpeer.client.errors import NoAnswer
    from superpeer.client.refusals import REFUSALS
    from superpeer.rdf import UnreadableFile

    published = Published(as_json)
    kind = "updated" if watch.is_known(path) else "new"
    try:
        await publish_file(peer, path, kind, topics, published, lambda _by, _total: None)
    except NoAnswer as error:
        complain(f"{path}: {error}")  # In the outbox, and handed in when the access point is back.
    except (*REFUSALS, UnreadableFile) as error:
        complain(f"{path} is not published: {error}")
    watch.note(path)
    if as_json:
        line = {"file": str(path), "kind": kind, "published": published.count, "ids": published.ids, "at": time.time()}
        print_json(line, indent=None)
    elif published.count:
        print(f"{path}: {kind}, {count(published.count, 'notification')}", flush=True)


def _read(memory: Path) -> dict[str, Seen]:
    try:
        table = json.loads(memory.read_text(encoding="utf-8"))
        return {str(name): (int(size), int(changed)) for name, (size, changed) in table.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        complain(f"{memory} cannot be read ({error}), so all that is in the directory counts as new")
        return {}
