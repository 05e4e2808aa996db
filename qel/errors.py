"""What can be wrong with a query, and how it is said.

    QelError
    ├── QelSyntaxError     the text is not QEL: where, what was found, what was expected
    ├── QelTypeError       the text is QEL, but its parts do not fit each other
    ├── QelLimitError      the query is larger than the language allows; names the limit
    ├── Unsatisfiable      nothing could ever match; names the constraints that contradict
    └── QelUnsupported     a translation to or from SPARQL does not exist

Each error is one sentence that says what is wrong and, where it helps, what to write instead. An error that
belongs to a place in a text shows the line with a caret under that place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the text of a query: line and column count from 1."""

    line: int
    column: int
    text: str

    @classmethod
    def at(cls, text: str, position: int) -> Place:
        """The place of a character, counted from 0 in the whole text."""
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", position)
        line = text[start : end if end >= 0 else len(text)].rstrip("\r")
        return cls(text.count("\n", 0, position) + 1, position - start + 1, line)

    def excerpt(self) -> str:
        """The line with a caret under the column, cut to what fits on a screen."""
        width, before = 100, 60
        start = max(0, self.column - 1 - before) if len(self.text) > width else 0
        shown = self.text[start : start + width].replace("\t", " ")
        shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in shown)
        return f"  {shown}\n  {' ' * (self.column - 1 - start)}^"


class QelError(Exception):
    """Base of all errors of the language; `message` is the sentence, `place` where it applies."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        self.message = message
        self.place = place
        super().__init__(message)

    @property
    def line(self) -> int | None:
        return self.place.line if self.place else None

    @property
    def column(self) -> int | None:
        return self.place.column if self.place else None

    def __str__(self) -> str:
        if self.place is None:
            return self.message
        return f"line {self.place.line}, column {self.place.column}: {self.message}\n{self.place.excerpt()}"


class QelSyntaxError(QelError):
    """The text is not QEL. `found` is the offending piece of text, `expected` what could stand there."""

    def __init__(self, found: str, expected: tuple[str, ...], place: Place, hint: str = "") -> None:
        self.found = found
        self.expected = expected
        self.hint = hint
        message = f"found {found}"
        if expected:
            message += f", expected {_one_of(expected)}"
        if hint:
            message += f"; {hint}"
        super().__init__(message, place)


class QelTypeError(QelError):
    """Parts that do not fit: operator and constant, prefix, subject, object variable or head."""


class QelLimitError(QelError):
    """The query exceeds a limit of the language. `limit` is the limit that the message names."""

    def __init__(self, message: str, limit: int, place: Place | None = None) -> None:
        self.limit = limit
        super().__init__(message, place)


class Unsatisfiable(QelError):
    """No set of triples can match. `contradictions`: for each alternative, the constraints that clash."""

    def __init__(self, contradictions: tuple[tuple[str, ...], ...]) -> None:
        self.contradictions = contradictions
        clashes = list(dict.fromkeys(" and ".join(clash) for clash in contradictions))
        shown = "; ".join(clashes[:5])
        if len(clashes) > 5:
            shown += f"; and {len(clashes) - 5} more"
        super().__init__(f"nothing can match this query: no value can meet {shown}")


class QelUnsupported(QelError):
    """The query is fine, but the other language cannot say it, or QEL cannot."""


def _one_of(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} or {names[-1]}"
