"""A process that commits a history, group by group, and says how far it got; run by the tests, which end it.

Arguments: the directory, the seed, and how large a file may become (0 for no limit). Prints a line for each group that
is durable, and the error if one is not.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from random import Random

from superpeer.node.records import Record
from superpeer.store.errors import StoreFailed
from superpeer.store.store import Store
from tests.superpeer.store.histories import History

STEPS = 3000


def groups_of(seed: int) -> list[list[Record]]:
    history, random = History(seed), Random(seed)
    found = []
    while len(history.records) < STEPS:
        found.append(history.grow(random.choice([1, 2, 10, 50])))
    return found


def main(directory: Path, seed: int, most_bytes: int) -> None:
    groups = groups_of(seed)
    with Store(directory) as store:
        # So that a moment at random is often one at which the log is moved into the database.
        store._connection.execute("PRAGMA wal_autocheckpoint = 30")
        if most_bytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        for group in groups:
            try:
                store.commit(group)
            except StoreFailed as error:
                os.write(1, f"{error}\n".encode())
            else:
                os.write(1, b"committed\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
