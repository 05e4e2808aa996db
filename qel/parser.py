"""From text to a tree of tokens: the LALR grammar, its limits, and errors that name place and expectation.

The parser builds `Formula`s bottom-up, flattened, and counts at each step how large the disjunctive normal
form will be; so neither deep nesting nor a short text with an enormous normal form costs more than its length.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from qel.errors import Place, QelLimitError, QelSyntaxError
from qel.text import words_of

MAX_CHARACTERS = 65_536
MAX_DISJUNCTS = 256
MAX_NORMAL_FORM_TESTS = 2_048
MAX_ALTERNATIVE_TESTS = 64
MAX_CHAIN_WORDS = 32


@dataclass(frozen=True, slots=True)
class RawTriple:
    keyword: Token
    subject: Token
    property: Token
    object: Token


@dataclass(frozen=True, slots=True)
class RawTest:
    """Operands as they were written; `extra` is the threshold of `similar`."""

    variable: Token
    operator: Token
    constant: Token
    extra: Token | None = None


@dataclass(frozen=True, slots=True)
class RawChain:
    """One chain of a `words` test: the variable, once it is known; strings, and the bounds of the gaps between them."""

    variable: Token | None
    strings: tuple[Token, ...]
    gaps: tuple[tuple[Token, Token], ...]


Leaf = RawTriple | RawTest | RawChain


class NormalSize(NamedTuple):
    """The size of a normal form: disjuncts, tests and triples in all of them, and in the longest."""

    disjuncts: int
    tests: int
    longest: int


ONE_TEST = NormalSize(1, 1, 1)


def chain_size(words: int) -> NormalSize:
    """That of a chain, each word of which is to be compared."""
    return NormalSize(1, words, words)


@dataclass(frozen=True, slots=True)
class Formula:
    """A conjunction or disjunction, with the size of its normal form."""

    conjunctive: bool
    parts: tuple[Formula | Leaf, ...]
    size: NormalSize


@dataclass(frozen=True, slots=True)
class RawQuery:
    declarations: tuple[tuple[Token, Token], ...]
    heads: tuple[Token, ...]
    formula: Formula | Leaf


def read(text: str) -> RawQuery:
    """Parses a text; raises QelSyntaxError or QelLimitError."""
    if len(text) > MAX_CHARACTERS:
        raise QelLimitError(f"the query has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}", MAX_CHARACTERS)
    if (stray := _lone_surrogate(text)) >= 0:
        raise QelSyntaxError("half of a surrogate pair", (), Place.at(text, stray), "this is not Unicode text")
    try:
        return _lark().parse(text)  # type: ignore[return-value]
    except UnexpectedInput as error:
        _raise_syntax_error(text, error)


def _lone_surrogate(text: str) -> int:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return -1


def place_of(text: str, token: Token) -> Place:
    return Place.at(text, token.start_pos or 0)


class _Builder:
    """What the parser calls at each reduction; it hands over the children, of which tokens stay tokens."""

    def start(self, children: list[Any]) -> RawQuery:
        *declarations, heads, formula = children
        return RawQuery(tuple(declarations), heads, formula)

    def declaration(self, children: list[Any]) -> tuple[Token, Token]:
        _, prefix, named = children
        return prefix, named

    def heads(self, children: list[Any]) -> tuple[Token, ...]:
        return tuple(children)

    def formula(self, children: list[Any]) -> Any:
        return _combine(False, children)

    def conjunction(self, children: list[Any]) -> Any:
        return _combine(True, children)

    word_formula = formula
    word_conjunction = conjunction

    def triple(self, children: list[Any]) -> RawTriple:
        return RawTriple(*children)

    def comparison(self, children: list[Any]) -> RawTest:
        return RawTest(*children)

    def similar(self, children: list[Any]) -> RawTest:
        variable, operator, threshold, constant = children
        return RawTest(variable, operator, constant, threshold)

    def language(self, children: list[Any]) -> RawTest:
        function, variable, comparison, constant = children
        return RawTest(variable, function, constant, comparison)

    def chain(self, children: list[Any]) -> RawChain:
        strings, gaps = children[:1], []
        for i in range(1, len(children), 4):
            _, least, most, string = children[i : i + 4]
            gaps.append((least, most))
            strings.append(string)
        return RawChain(None, tuple(strings), tuple(gaps))

    def words(self, children: list[Any]) -> Formula | Leaf:
        variable, _, pattern = children
        return _said_of(variable, pattern)


def _said_of(variable: Token, pattern: Any) -> Formula | Leaf:
    if isinstance(pattern, Formula):
        parts = tuple(_said_of(variable, part) for part in pattern.parts)
        return Formula(pattern.conjunctive, parts, pattern.size)
    assert isinstance(pattern, RawChain)
    return replace(pattern, variable=variable)


def _combine(conjunctive: bool, children: Iterable[Any]) -> Any:
    parts: list[Any] = []
    for child in children:
        if isinstance(child, Formula) and child.conjunctive is conjunctive:
            parts.extend(child.parts)
        else:
            parts.append(child)
    if len(parts) == 1:
        return parts[0]
    return Formula(conjunctive, tuple(parts), normal_size(conjunctive, map(_size, parts)))


def _size(part: Any) -> NormalSize:
    if isinstance(part, Formula):
        return part.size
    if isinstance(part, RawChain):
        return chain_size(sum(len(words_of(string)) for string in part.strings))
    return ONE_TEST


def normal_size(conjunctive: bool, parts: Iterable[NormalSize]) -> NormalSize:
    """The size of a formula in normal form, from those of its parts. Refused with a QelLimitError as soon as it grows
    too large: comparing two queries may compare every test of one with every test of the other."""
    size = NormalSize(1, 0, 0) if conjunctive else NormalSize(0, 0, 0)
    for part in parts:
        if conjunctive:
            tests = size.tests * part.disjuncts + part.tests * size.disjuncts
            size = NormalSize(size.disjuncts * part.disjuncts, tests, size.longest + part.longest)
        else:
            longest = max(size.longest, part.longest)
            size = NormalSize(size.disjuncts + part.disjuncts, size.tests + part.tests, longest)
        _check_size(size)
    return size


def _check_size(size: NormalSize) -> None:
    for counted, limit, what in (
        (size.disjuncts, MAX_DISJUNCTS, "alternatives"),
        (size.tests, MAX_NORMAL_FORM_TESTS, "tests and triples in all its alternatives"),
        (size.longest, MAX_ALTERNATIVE_TESTS, "tests and triples in one alternative"),
    ):
        if counted > limit:
            raise QelLimitError(
                f"written out as alternatives, the query has more than {limit:,} {what}, which is the limit; "
                "split it into several subscriptions",
                limit,
            )


@cache
def _lark() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=_Builder(), maybe_placeholders=False)


_SPOKEN = {
    "VARIABLE": "a variable (a name that starts with a capital letter)",
    "NAMED": "a URI",
    "SHORT_NAME": "a URI",
    "STRING": 'a string ("...")',
    "DATE": "a date",
    "INTEGER": "a number",
    "DECIMAL": "a number",
    "TRIPLE": "a triple t(...)",
    "LANG": "lang(...)",
    "PREFIX_KEYWORD": "PREFIX",
    "PREFIX": "a prefix such as dc:",
    "COMPARISON": "=, <, <=, >, >=",
    "CONTAINS": "contains",
    "LIKE": "like",
    "WITHIN": "within",
    "WORDS": "words",
    "SIMILAR": "similar",
    "BEFORE": "before",
    "UNBOUNDED": '"*"',
    "_AND": '"and"',
    "_OR": '"or"',
    "LPAR": '"("',
    "RPAR": '")"',
    "LSQB": '"["',
    "RSQB": '"]"',
    "COMMA": '","',
    "COLON": '":"',
    "DOT": '"."',
    "$END": "the end of the query",
}


def _raise_syntax_error(text: str, error: UnexpectedInput) -> NoReturn:
    position = error.pos_in_stream
    expected: Iterable[str] = ()
    found = ""
    if isinstance(error, UnexpectedToken):
        expected = error.accepts or error.expected
        found = "the end of the text" if error.token.type == "$END" else f'"{_shorten(error.token)}"'
        position = len(text.rstrip()) if error.token.type == "$END" else error.token.start_pos
    elif isinstance(error, UnexpectedCharacters):
        expected = error.allowed or ()
    position = min(position or 0, len(text))
    if not found:
        found = f'"{_shorten(text[position : position + 40].split(maxsplit=1)[0])}"' if text[position:].strip() else ""
    spoken = tuple(dict.fromkeys(_SPOKEN[name] for name in _SPOKEN if name in set(expected)))
    raise QelSyntaxError(
        found or "the end of the text", spoken, Place.at(text, position), _hint(text, position)
    ) from None


def _hint(text: str, position: int) -> str:
    rest = text[position:]
    if rest[:1] in {'"', "“"}:
        return "is a closing quote missing? A line break within a string is written \\n"
    if rest.startswith("!=") or rest[:1] in {"!", "¬"}:
        return "QEL has no negation"
    if rest.startswith("=="):
        return "equality is written ="
    if rest[:1] in {"?", "$"}:
        return "a variable is written as a name that starts with a capital letter"
    if rest[:1] == "'":
        return 'strings stand between double quotes, "like this"'
    return ""


def _shorten(text: str) -> str:
    shown = "".join(character if character.isprintable() else f"\\u{ord(character):04X}" for character in text[:30])
    return shown if len(text) <= 30 else shown + "..."
