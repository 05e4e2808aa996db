"""What goes to a terminal: text from files and the network must not command it."""

import sys


def printable(text: str) -> str:
    """The text with what is no character of a line, escape sequences above all, replaced. Line breaks stay."""
    return "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def complain(sentence: object) -> None:
    """Tells the user on standard error."""
    print(f"superpeer: {printable(str(sentence))}", file=sys.stderr)
