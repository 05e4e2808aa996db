"""From a tree of tokens to a `Query`: names are resolved, and parts that do not fit are refused.

`parse` is the whole way from text. What the grammar leaves open is decided here: which constant fits which
operator, that all triples have one subject variable and distinct object variables, that heads and tests name
variables of the query, and that the subject, which is always a URI, is compared with URIs only.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import NoReturn

from lark import Token

from qel.dates import read_date
from qel.errors import QelLimitError, QelSyntaxError, QelTypeError
from qel.names import PREFIXES, expand, is_iri
from qel.parser import MAX_CHAIN_WORDS, Formula, Leaf, RawChain, RawQuery, RawTest, RawTriple, place_of, read
from qel.syntax import (
    And,
    Atom,
    Compare,
    Constant,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Operator,
    Or,
    Query,
    Similar,
    StringIs,
    Test,
    TriplePattern,
    UriIs,
    Within,
    Words,
    conjunction,
)
from qel.text import Chain, Gap, words_of
from qel.values import MAX_NUMBER_CHARACTERS, View

_OPERATORS = {operator.value: operator for operator in Operator} | {
    "≤": Operator.AT_MOST,
    "≥": Operator.AT_LEAST,
}
_LANGUAGE_TAG = re.compile(r"(?:[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {'"': '"', "”": "”", "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_KINDS = {
    "VARIABLE": "a variable",
    "NAMED": "a URI",
    "SHORT_NAME": "a URI",
    "STRING": "a string",
    "DATE": "a date",
    "INTEGER": "an integer",
    "DECIMAL": "a decimal",
}


def parse(text: str | bytes) -> Query:
    """Reads a query. Raises a QelError that says where the text is wrong and what to write instead."""
    return parse_with_prefixes(text)[0]


def parse_with_prefixes(text: str | bytes) -> tuple[Query, dict[str, str]]:
    """A query, and the prefixes that its text declares: for those who want to write it again likewise."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise QelTypeError(f"the query is not UTF-8 text: {error.reason} at byte {error.start}") from None
    elaboration = _Elaboration(text, read(text))
    return elaboration.query(), elaboration.declared


class _Elaboration:
    def __init__(self, text: str, raw: RawQuery) -> None:
        self.text = text
        self.raw = raw
        self.declared: dict[str, str] = {}
        self.prefixes = dict(PREFIXES)
        self.subject: str | None = None
        self.objects: set[str] = set()

    def query(self) -> Query:
        for prefix, named in self.raw.declarations:
            self.declared[prefix[:-1]] = self.prefixes[prefix[:-1]] = self.bracketed(named, {})
        formula = self.raw.formula
        conjunctive = isinstance(formula, Formula) and formula.conjunctive
        parts = formula.parts if isinstance(formula, Formula) and conjunctive else (formula,)
        triples = [self.triple(part) for part in parts if isinstance(part, RawTriple)]
        if not triples:
            first = next((leaf for leaf in _leaves(formula) if isinstance(leaf, RawTriple)), None)
            if first is not None:
                self.fail(first.keyword, *_TRIPLE_UNDER_OR)
            raise QelTypeError("a query needs at least one triple t(...)")
        assert self.subject is not None
        constraint = conjunction([self.constraint(part) for part in parts if not isinstance(part, RawTriple)])
        for head in self.raw.heads:
            self.check_variable(head, f"the head {head}")
        return Query(tuple(map(str, self.raw.heads)), self.subject, tuple(triples), constraint)

    def triple(self, raw: RawTriple) -> TriplePattern:
        if raw.subject.type != "VARIABLE":
            self.fail(raw.subject, "the subject of a triple is a variable; say which one it is with X = <...>")
        if self.subject is None:
            self.subject = str(raw.subject)
        elif self.subject != raw.subject:
            self.fail(
                raw.subject,
                f"all triples have one subject, which is {self.subject} here; {raw.subject} is another variable",
            )
        if raw.property.type not in ("NAMED", "SHORT_NAME"):
            self.fail(raw.property, f"a property is a URI, and {raw.property} is {_KINDS[raw.property.type]}")
        name = self.uri(raw.property)
        if raw.object.type != "VARIABLE":
            return TriplePattern(name, self.equality(Operator.EQUAL, raw.object))
        if raw.object == self.subject or raw.object in self.objects:
            self.fail(raw.object, f"{raw.object} occurs twice: object variables are distinct, and not the subject")
        self.objects.add(str(raw.object))
        return TriplePattern(name, str(raw.object))

    def constraint(self, part: Formula | Leaf) -> Constraint:
        if isinstance(part, Formula):
            parts = tuple(map(self.constraint, part.parts))
            return And(parts) if part.conjunctive else Or(parts)
        if isinstance(part, RawTriple):
            self.fail(part.keyword, *_TRIPLE_UNDER_OR)
        assert part.variable is not None
        self.check_variable(part.variable, str(part.variable))
        atom = self.chain(part) if isinstance(part, RawChain) else self.atom(part)
        if part.variable == self.subject and not isinstance(atom, UriIs | Within):
            self.fail(
                part.variable,
                f"{part.variable} is the subject, always a URI: compare it with = <...> or within",
            )
        return Test(str(part.variable), atom)

    def atom(self, test: RawTest) -> Atom:
        constant = test.constant
        match test.operator.type:
            case "COMPARISON":
                return self.equality(_OPERATORS[str(test.operator)], constant)
            case "CONTAINS":
                return Contains(self.string(constant, test.operator))
            case "LIKE":
                return self.like(constant, test.operator)
            case "WITHIN":
                if constant.type not in ("NAMED", "SHORT_NAME"):
                    self.misfit(test.operator, "URIs", constant)
                return Within(self.uri(constant))
            case "SIMILAR":
                return self.similar(test)
            case _:
                return self.language(test)

    def equality(self, operator: Operator, constant: Token) -> Constant:
        match constant.type:
            case "INTEGER":
                if len(constant) > MAX_NUMBER_CHARACTERS:
                    message = f"a number has at most {MAX_NUMBER_CHARACTERS:,} characters"
                    raise QelLimitError(message, MAX_NUMBER_CHARACTERS, place_of(self.text, constant))
                return Compare(operator, View.INTEGER, int(constant))
            case "DECIMAL":
                return Compare(operator, View.DECIMAL, Decimal(constant))
            case "DATE":
                return Compare(operator, View.DATE, self.date(constant))
            case "VARIABLE":
                self.fail(constant, f"a variable is compared with a constant, and {constant} is a variable")
        if operator is not Operator.EQUAL:
            self.fail(
                constant,
                f"{operator.value} compares integers, decimals and dates, and {_brief(constant)} is "
                f"{_KINDS[constant.type]}",
            )
        if constant.type == "STRING":
            return StringIs(self.unescape(constant[1:-1], constant))
        return UriIs(self.uri(constant))

    def similar(self, test: RawTest) -> Similar:
        assert test.extra is not None
        threshold = Decimal(test.extra)
        if not 0 < threshold <= 1:
            self.fail(test.extra, f"a similarity is above 0 and at most 1, and {_brief(test.extra)} is not")
        text = self.string(test.constant, test.operator)
        if not words_of(text):
            self.fail(test.constant, "a text without words is similar to nothing")
        return Similar(threshold, text)

    def language(self, test: RawTest) -> LanguageIs:
        if test.extra != "=":
            self.fail(test.extra or test.operator, "a language is compared with = only")
        tag = self.string(test.constant, test.operator)
        if not _LANGUAGE_TAG.fullmatch(tag):
            self.fail(test.constant, f'{_brief(test.constant)} is not a language tag such as "en" or "pt-BR"')
        return LanguageIs(tag)

    def chain(self, raw: RawChain) -> Words:
        words: list[str] = []
        gaps: list[Gap] = []
        for i, string in enumerate(raw.strings):
            found = _words_as_written(self.unescape(string[1:-1], string))
            if not found:
                self.fail(string, "words are runs of letters and digits, and there are none here")
            if i > 0:
                gaps.append(self.gap(*raw.gaps[i - 1]))
            gaps.extend([Gap(0, 0)] * (len(found) - 1))
            words.extend(found)
            if len(words) > MAX_CHAIN_WORDS:
                message = f"a chain has at most {MAX_CHAIN_WORDS} words; say several, with &"
                raise QelLimitError(message, MAX_CHAIN_WORDS, place_of(self.text, string))
        return Words(Chain(tuple(words), tuple(gaps)))

    def gap(self, least: Token, most: Token) -> Gap:
        for bound in (least, most):
            if bound.type == "INTEGER" and (len(bound) > 9 or int(bound) < 0):
                self.fail(bound, "the number of words between two words is between 0 and 999,999,999")
        gap = Gap(int(least), None if most.type == "UNBOUNDED" else int(most))
        if gap.most is not None and gap.most < gap.least:
            self.fail(least, f"no number of words is at least {gap.least} and at most {gap.most}")
        return gap

    def like(self, token: Token, operator: Token) -> Atom:
        if token.type != "STRING":
            self.misfit(operator, "strings", token)
        pieces = [self.unescape(piece, token, star=True) for piece in _split_at_stars(token[1:-1])]
        if len(pieces) > 3 or (len(pieces) == 3 and (pieces[0] or pieces[2])):
            self.fail(token, 'like takes "abc*", "*abc", "ab*c" or "*abc*"; a star itself is written \\*')
        if len(pieces) == 1:
            return StringIs(pieces[0])
        if len(pieces) == 3 or not any(pieces):
            return Contains("".join(pieces))
        return Like(*pieces)

    def string(self, token: Token, operator: Token) -> str:
        if token.type != "STRING":
            self.misfit(operator, "strings", token)
        return self.unescape(token[1:-1], token)

    def unescape(self, content: str, token: Token, *, star: bool = False) -> str:
        def replace(escape: re.Match[str]) -> str:
            if code := escape[1] or escape[2]:
                number = int(code, 16)
                if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF:
                    return chr(number)
            elif escape[3] in _ESCAPED:
                return _ESCAPED[escape[3]]
            elif star and escape[3] == "*":
                return "*"
            place = place_of(self.text, token)
            raise QelSyntaxError(escape[0], ('\\", \\\\, \\n, \\r, \\t, \\u with 4 or \\U with 8 digits',), place)

        return _ESCAPE.sub(replace, content) if "\\" in content else content

    def date(self, token: Token) -> Date:
        date = read_date(token)
        if date is None:
            self.fail(token, f"there is no date {token}")
        if token[-1] == "Z" or (len(token) > 6 and token[-3] == ":" and token[-6] in "+-"):
            self.fail(token, "dates are compared as written on the record: leave the time zone away")
        return Date(str(token), date[1])

    def uri(self, token: Token) -> str:
        if token.type == "NAMED":
            return self.bracketed(token, self.prefixes)
        prefix, _, local = token.partition(":")
        if prefix not in self.prefixes:
            declared = ", ".join(sorted(self.prefixes))
            self.fail(
                token,
                f"the prefix {prefix}: is unknown; declare it with PREFIX {prefix}: <...> (known: {declared})",
            )
        return self.prefixes[prefix] + local

    def bracketed(self, token: Token, prefixes: dict[str, str]) -> str:
        name = expand(token[1:-1], prefixes)
        if "\\" in name:
            name = self.unescape(name, token)
        if not is_iri(name) and not is_iri(re.sub(r"[\x00-\x20<>\"{}|^`\\]", "_", name)):
            self.fail(token, f"{_brief(token)} is not an absolute URI")
        return name

    def check_variable(self, token: Token, said: str) -> None:
        if token != self.subject and token not in self.objects:
            known = ", ".join([str(self.subject), *sorted(self.objects)])
            self.fail(token, f"{said} is not among the variables of the triples ({known})")

    def misfit(self, operator: Token, wanted: str, constant: Token) -> NoReturn:
        self.fail(constant, f"{operator} compares {wanted}, and {_brief(constant)} is {_KINDS[constant.type]}")

    def fail(self, token: Token, message: str) -> NoReturn:
        raise QelTypeError(message, place_of(self.text, token))


_TRIPLE_UNDER_OR = ("a triple cannot be an alternative: put the alternatives of the constraint in parentheses",)


def _leaves(formula: Formula | Leaf) -> list[Leaf]:
    found: list[Leaf] = []
    pending = [formula]
    while pending:
        part = pending.pop()
        if isinstance(part, Formula):
            pending.extend(reversed(part.parts))
        else:
            found.append(part)
    return found


def _split_at_stars(content: str) -> list[str]:
    """The pieces between stars that no backslash takes."""
    pieces = [""]
    for piece in re.findall(r"\\.|\*|[^\\*]+", content):
        if piece == "*":
            pieces.append("")
        else:
            pieces[-1] += piece
    return pieces


def _words_as_written(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text))


def _brief(token: Token) -> str:
    return str(token) if len(token) <= 40 else f"{token[:40]}..."
