"""Reads names and constants of SPARQL from the parse tree that rdflib gives.

The tree has a node for each level of precedence of SPARQL's grammar, most of which say nothing; `unwrap` sees through
them. Nothing of rdflib is imported here: its terms are told apart by the names of their classes.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urljoin

from qel.dates import read_date
from qel.errors import QelLimitError, QelTypeError, QelUnsupported
from qel.names import XSD, is_iri
from qel.syntax import Atom, Compare, Date, LanguageIs, Operator, StringIs, UriIs
from qel.values import MAX_NUMBER_CHARACTERS, View

_INTEGER_TYPES = frozenset(
    XSD + name
    for name in (
        *("integer", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    )
)
_DECIMAL_TYPES = frozenset(XSD + name for name in ("decimal", "double", "float"))
_DATE_TYPES = frozenset(XSD + name for name in ("date", "dateTime", "gYearMonth"))

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_YEAR = re.compile(r"-?[0-9]{4,9}")
_DATE = re.compile(r"-?[0-9]{4,9}-[0-9]{2}(?:-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?)?")
_LANGUAGE_TAG = re.compile(r"(?:[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)?")
_LEVELS = frozenset(
    (
        "ConditionalOrExpression",
        "ConditionalAndExpression",
        "RelationalExpression",
        "AdditiveExpression",
        "MultiplicativeExpression",
    )
)


def lacking(what: str) -> QelUnsupported:
    """The error for a construct of SPARQL that has no counterpart."""
    return QelUnsupported(f"QEL has no {what}")


def name_of(node: Any) -> str:
    """The name of a node that is not a term, else an empty string. Terms of rdflib have no such attribute."""
    return str(getattr(node, "name", ""))


def unwrap(node: Any) -> Any:
    while name_of(node) in _LEVELS and node.other is None:
        node = node.expr
    return node


class Terms:
    """Reads IRIs and constants, with the prefixes and the base of one query."""

    def __init__(self, prologue: Any) -> None:
        self.base = ""
        self.prefixes: dict[str, str] = {}
        for declaration in prologue:
            if name_of(declaration) == "Base":
                self.base = self.resolve(str(declaration.iri))
            else:
                self.prefixes[str(declaration.prefix or "")] = self.resolve(str(declaration.iri))

    def resolve(self, reference: str) -> str:
        if is_iri(reference) or not self.base:
            return reference
        resolved = urljoin(self.base, reference)
        # urljoin drops an empty fragment, and namespaces end with one.
        return f"{resolved}#" if reference.endswith("#") and not resolved.endswith("#") else resolved

    def iri(self, node: Any) -> str | None:
        """The IRI that a node stands for, or None where it is something else."""
        if name_of(node) == "pname":
            prefix = str(node.prefix or "")
            if prefix not in self.prefixes:
                raise QelTypeError(f"the prefix {prefix}: is unknown; declare it with PREFIX {prefix}: <...>")
            iri = self.prefixes[prefix] + re.sub(r"\\(.)", r"\1", str(node.localname or ""))
        elif type(node).__name__ == "URIRef":
            iri = self.resolve(str(node))
        else:
            return None
        if not is_iri(iri):
            raise QelUnsupported(f"<{iri:.60}> is not an absolute IRI; QEL has no other")
        return iri

    def string(self, node: Any) -> str | None:
        """The text of a string without a language tag, or None."""
        found = self.literal(unwrap(node))
        return found[0] if found is not None and found[1:] == ("", XSD + "string") else None

    def literal(self, node: Any) -> tuple[str, str, str] | None:
        """Text, language and datatype of a literal, or None."""
        if name_of(node) == "literal":
            datatype = XSD + "string" if node.datatype is None else self.iri(node.datatype)
            return str(node.string), str(node.lang or ""), str(datatype)
        if type(node).__name__ == "Literal":
            return str(node), "", str(node.datatype)
        if name_of(node) in ("UnaryMinus", "UnaryPlus"):
            inner = self.literal(unwrap(node.expr))
            if inner is not None and inner[2] in _INTEGER_TYPES | _DECIMAL_TYPES and inner[0][:1] not in "+-":
                return ("-" if node.name == "UnaryMinus" else "") + inner[0], "", inner[2]
        return None

    def is_constant(self, node: Any) -> bool:
        return self.literal(node) is not None or self.iri(node) is not None

    def atoms(self, operator: Operator, node: Any) -> tuple[Atom, ...]:
        """What a comparison with a constant says, all of which has to hold."""
        iri = self.iri(node)
        if iri is not None:
            if operator is not Operator.EQUAL:
                raise lacking(f"{operator.value} between IRIs")
            return (UriIs(iri),)
        literal = self.literal(node)
        if literal is None:
            raise lacking(f"comparison with {spoken(node)}")
        text, language, datatype = literal
        if datatype == XSD + "string":
            if operator is not Operator.EQUAL:
                raise lacking(f"{operator.value} between strings")
            return (StringIs(text), LanguageIs(language_tag(language))) if language else (StringIs(text),)
        return (_comparison(operator, text, datatype),)


def spoken(node: Any) -> str:
    """What an expression is, for a sentence."""
    node = unwrap(node)
    name = name_of(node)
    if name in ("UnaryNot", "Builtin_NOTEXISTS"):
        return "negation"
    if name == "Builtin_LANGMATCHES":
        return 'LANGMATCHES, which also takes longer tags; use LANG(?y) = "en"'
    if name in ("AdditiveExpression", "MultiplicativeExpression", "UnaryMinus", "UnaryPlus"):
        return "arithmetic"
    if name.startswith("Aggregate_"):
        return f"aggregates, such as {name.removeprefix('Aggregate_').upper()}"
    if name.startswith("Builtin_"):
        return f"{name.removeprefix('Builtin_')}()"
    if name:
        return {"Function": "functions of IRIs", "literal": "such literals"}.get(name, name)
    return "a variable" if type(node).__name__ == "Variable" else "a constant"


def language_tag(language: str) -> str:
    if not _LANGUAGE_TAG.fullmatch(language):
        raise QelUnsupported(f"{language[:40]!r} is not a language tag")
    return language


def _comparison(operator: Operator, text: str, datatype: str) -> Compare:
    text = text.strip(" \t\r\n")
    if len(text) > MAX_NUMBER_CHARACTERS:
        raise QelLimitError(f"a number has at most {MAX_NUMBER_CHARACTERS:,} characters", MAX_NUMBER_CHARACTERS)
    if datatype in _INTEGER_TYPES and _INTEGER.fullmatch(text):
        return Compare(operator, View.INTEGER, int(text))
    if datatype in _DECIMAL_TYPES and _DECIMAL.fullmatch(text):
        return Compare(operator, View.DECIMAL, Decimal(text))
    if datatype == XSD + "gYear" and _YEAR.fullmatch(text):
        return Compare(operator, View.INTEGER, int(text))
    if datatype in _DATE_TYPES:
        date = read_date(text)
        if date is not None and _DATE.fullmatch(text):
            return Compare(operator, View.DATE, Date(text, date[1]))
        if date is not None:
            raise QelUnsupported(f"QEL compares dates as written on the record; leave the time zone of {text} away")
    raise QelUnsupported(f"QEL cannot compare with {text[:40]!r} of datatype <{datatype}>")
