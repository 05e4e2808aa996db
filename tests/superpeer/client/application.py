"""An application of a peer, as a process that may be killed. Everything it does, it writes to a file at once.

reader    sees a notification, acknowledges it, and goes on
keeper    stores what it sees with the cursor, in one step, and begins after the last cursor that it stored
writer    publishes papers one after the other, from the number after the last that it wrote down
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from rdflib import DC, Literal, URIRef

from superpeer.client.peer import Peer
from tests.superpeer.client.backbone import QUICK, ROOT


class Notebook:
    """Lines in a file. A line is written in one step, so that a kill leaves all of it or nothing."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


async def read(peer: Peer, notebook: Notebook) -> None:
    async for notification in peer.notifications():
        number = str(notification.subject).rpartition("/")[2]
        notebook.write("seen", number)
        await notification.acknowledge()
        notebook.write("done", number)


async def keep(peer: Peer, notebook: Notebook, path: Path) -> None:
    kept = lines(path)
    after = bytes.fromhex(kept[-1][1]) if kept else None
    async for notification in peer.notifications(after=after):
        notebook.write(str(notification.subject).rpartition("/")[2], notification.cursor.hex())


async def write(peer: Peer, notebook: Notebook, path: Path) -> None:
    kept = lines(path)
    number = int(kept[-1][0]) + 1 if kept else 0
    while True:
        subject = URIRef(f"http://example.org/paper/{number}")
        await peer.publish([(subject, DC.creator, Literal("Nejdl"))], wait=number % 3 == 0)
        notebook.write(number)
        number += 1


async def main(role: str, directory: str, address: str, path: Path) -> None:
    notebook = Notebook(path)
    async with Peer.open(directory, address, backoff=QUICK, root=str(ROOT.public)) as peer:
        if role == "reader":
            await read(peer, notebook)
        elif role == "keeper":
            await keep(peer, notebook, path)
        else:
            await write(peer, notebook, path)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])))
