"""What a person types where a text is asked for: the text itself, the name of a file that has it, or `-`."""

import sys
from pathlib import Path

from superpeer.errors import SuperpeerError

MAX_BYTES = 1_000_000


class UnreadableArgument(SuperpeerError):
    """The argument names a file that cannot be read as text."""


def read_argument(argument: str) -> str:
    """The text that an argument stands for."""
    if argument == "-":
        return _decode(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")
    path = Path(argument)
    try:
        if argument and path.is_file():
            with path.open("rb") as file:
                return _decode(file.read(MAX_BYTES + 1), argument)
        if argument and path.is_dir():
            raise UnreadableArgument(f"{argument} is a directory; a file or a text is wanted")
    except (OSError, ValueError) as error:
        if len(argument) < 200 and "\0" not in argument and "(" not in argument:
            raise UnreadableArgument(f"cannot read {argument}: {error}") from None
        return argument  # too long, or too odd, for the name of a file: it is the text
    if argument and not any(character in argument for character in "(:\n{ "):
        raise UnreadableArgument(f"there is no file {argument}, and it is not a query either")
    return argument


def _decode(content: bytes, name: str) -> str:
    if len(content) > MAX_BYTES:
        raise UnreadableArgument(f"{name} has more than {MAX_BYTES:,} bytes, which is the limit")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableArgument(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from None
