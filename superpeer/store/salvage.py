"""Salvage: the rows of a damaged database that can still be read.

SQLite stops where it finds damage. Rows have ids that grow, so one can ask for the next row after any id: behind a
damaged region the first readable row is looked for in steps that double, then halve, and reading goes on from there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LAST_ID = 2**62
WITHOUT_ID = {"marks": "peer, origin", "members": "key", "settings": "name"}
"""Tables that have no row ids, by the columns that are their keys."""

HEADER_BYTES = 100
CONSTANT = (slice(0, 24), slice(44, 48), slice(52, 60), slice(64, 72))
"""What the header of a database always has in ours: the form of pages and text, and that it is ours."""
PAGE_COUNT = slice(28, 32)


def mend_header(path: Path, sound: Path, page_bytes: int = 4096) -> None:
    """Puts the constant part of a sound header into a damaged one: a few bytes decide over all others."""
    with sound.open("rb") as file:
        template = file.read(HEADER_BYTES)
    with path.open("r+b") as file:
        header = bytearray(file.read(HEADER_BYTES))
        if len(header) == HEADER_BYTES:
            for part in CONSTANT:
                header[part] = template[part]
            header[PAGE_COUNT] = (path.stat().st_size // page_bytes).to_bytes(4, "big")
            file.seek(0)
            file.write(header)


class Salvage:
    """The readable rows of all tables; `lost` is called with a table for each region that is not."""

    def __init__(self, connection: sqlite3.Connection, lost: Callable[[str], None]) -> None:
        self._connection = connection
        self._connection.text_factory = lambda data: data.decode(errors="replace")
        self._lost = lost

    def rows(self, table: str, order: str) -> Iterator[tuple[Any, ...]]:
        return self._from_both_ends(table) if table in WITHOUT_ID else self._by_id(table, order)

    def _by_id(self, table: str, column: str) -> Iterator[tuple[Any, ...]]:
        """The first column of these tables is their row id."""
        last: int | None = 0
        while last is not None:
            try:
                for row in self._connection.execute(
                    f"SELECT * FROM {table} WHERE {column} > ? ORDER BY {column}", (last,)
                ):
                    if row[0] <= last:
                        raise sqlite3.DatabaseError("row ids go back")
                    yield row
                    last = row[0]
                return
            except sqlite3.DatabaseError:
                self._lost(table)
                last = self._beyond_damage(table, column, last)

    def _beyond_damage(self, table: str, column: str, last: int) -> int | None:
        """The highest id after which nothing is readable until the damage ends; None if it does not."""
        low, step = last, 1
        while not self._is_readable(table, column, last + step):
            low, step = last + step, step * 2
            if last + step > LAST_ID:
                return None
        high = last + step
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_readable(table, column, middle):
                high = middle
            else:
                low = middle
        return high

    def _is_readable(self, table: str, column: str, after: int) -> bool:
        """Whether the first row after an id can be read. Where nothing comes any more, there is nothing unreadable."""
        try:
            sql = f"SELECT * FROM {table} WHERE {column} > ? ORDER BY {column} LIMIT 1"
            row = self._connection.execute(sql, (after,)).fetchone()
        except sqlite3.DatabaseError:
            return False
        return row is None or row[0] > after

    def _from_both_ends(self, table: str) -> Iterator[tuple[Any, ...]]:
        columns = WITHOUT_ID[table]
        seen: set[tuple[Any, ...]] = set()
        for order in (columns, columns.replace(",", " DESC,") + " DESC"):
            try:
                for row in self._connection.execute(f"SELECT * FROM {table} ORDER BY {order}"):
                    if row in seen:
                        break  # The two ends have met, or there is a circle.
                    seen.add(row)
                    yield row
                return
            except sqlite3.DatabaseError:
                self._lost(table)
