"""What goes to a terminal: tables, JSON, and text from files and the network, which must not command it."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def printable(text: str) -> str:
    """The text with what is no character of a line, escape sequences above all, replaced. Line breaks stay."""
    return "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def complain(sentence: object) -> None:
    """Tells the user on standard error."""
    print(f"superpeer: {printable(str(sentence))}", file=sys.stderr)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """JSON has escapes of its own for what is no character of a line."""
    print(json.dumps(value, indent=indent, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A plain table. On a terminal it is folded to fit; elsewhere it is not, so that programs can read it."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        for row in (columns, *cells):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False)
    for row in cells:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def moment(seconds: float) -> str:
    """A time as people and programs read it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def count(number: int, noun: str) -> str:
    """1 peer, 2 peers."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"
