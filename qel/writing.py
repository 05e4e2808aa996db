"""Writes queries in canonical spelling: ASCII operators, full parentheses where they matter, built-in prefixes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from qel.names import PREFIXES, code_point, write_iri
from qel.syntax import (
    And,
    Atom,
    Compare,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Query,
    Similar,
    StringIs,
    Test,
    TriplePattern,
    UriIs,
    Within,
    Words,
)

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def write_query(query: Query) -> str:
    """One line that parses back to an equal query."""
    return _Writer(PREFIXES).one_line(query)


def format_query(query: Query, declared: Mapping[str, str] | None = None) -> str:
    """Several lines to read, with declarations of those prefixes of the author's that the query uses."""
    prefixes = {
        **(declared or {}),
        **{name: iri for name, iri in PREFIXES.items() if name not in (declared or {})},
    }
    writer = _Writer(prefixes)
    parts = writer.parts(query)
    lines = [f"{', '.join(query.heads)} : {parts[0]}", *(f"    & {part}" for part in parts[1:])]
    body = "\n".join(lines)
    declarations = [
        f"PREFIX {name}: <{prefixes[name]}>"
        for name in prefixes
        if name in writer.used and PREFIXES.get(name) != prefixes[name]
    ]
    return "\n".join([*declarations, body])


def write_test(test: Test) -> str:
    return _Writer(PREFIXES).constraint(test)


def write_string(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character) or _escape(character) for character in text) + '"'


class _Writer:
    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = prefixes
        self.used: set[str] = set()

    def one_line(self, query: Query) -> str:
        return f"{', '.join(query.heads)} : {' & '.join(self.parts(query))}"

    def parts(self, query: Query) -> list[str]:
        """The conjuncts of the body, each as text."""
        parts = [self.triple(query.subject, pattern) for pattern in query.triples]
        if isinstance(query.constraint, And):
            parts.extend(self.conjunct(part) for part in query.constraint.parts)
        elif query.constraint is not None:
            parts.append(self.conjunct(query.constraint))
        return parts

    def triple(self, subject: str, pattern: TriplePattern) -> str:
        if isinstance(pattern.object, str):
            written = pattern.object
        else:
            written = self.atom("", pattern.object).removeprefix(" = ")
        return f"t({subject}, {self.iri(pattern.property)}, {written})"

    def conjunct(self, constraint: Constraint) -> str:
        written = self.constraint(constraint)
        return written if isinstance(constraint, Test) else f"({written})"

    def constraint(self, constraint: Constraint) -> str:
        if isinstance(constraint, Test):
            return self.atom(constraint.variable, constraint.atom)
        parts = []
        for part in constraint.parts:
            written = self.constraint(part)
            parts.append(written if isinstance(part, Test) else f"({written})")
        return (" & " if isinstance(constraint, And) else " | ").join(parts)

    def atom(self, variable: str, atom: Atom) -> str:
        match atom:
            case UriIs(uri):
                return f"{variable} = {self.iri(uri)}"
            case Within(topic):
                return f"{variable} within {self.iri(topic)}"
            case Compare(operator, _, constant):
                return f"{variable} {operator.value} {_write_constant(constant)}"
            case StringIs(text):
                return f"{variable} = {write_string(text)}"
            case Contains(text):
                return f"{variable} contains {write_string(text)}"
            case Like(prefix, suffix):
                return f'{variable} like "{_write_pattern(prefix)}*{_write_pattern(suffix)}"'
            case Words(chain):
                return f"{variable} words ({chain})"
            case Similar(threshold, text):
                return f"{variable} similar[{_write_decimal(threshold)}] {write_string(text)}"
            case LanguageIs(tag):
                return f"lang({variable}) = {write_string(tag)}"

    def iri(self, iri: str) -> str:
        written = write_iri(iri, self.prefixes)
        if not written.startswith("<"):
            self.used.add(written.partition(":")[0])
        return written


def _write_pattern(text: str) -> str:
    return write_string(text)[1:-1].replace("*", "\\*")


def _write_constant(constant: int | Decimal | Date) -> str:
    match constant:
        case Date(text):
            return text
        case Decimal():
            return _write_decimal(constant)
        case _:
            return str(constant)


def _write_decimal(number: Decimal) -> str:
    """As a decimal even where the number is whole: the spelling chooses the view."""
    written = str(number)
    return written if "." in written or "E" in written else f"{written}.0"


def _escape(character: str) -> str:
    return character if character.isprintable() else code_point(character)
