"""Reads what SPARQL says of values: the expressions of FILTER, from the parse tree that rdflib gives.

The views that `to_sparql` computes are known again by their shape, whatever the variables are called. What tests mean
in QEL, and where that is more or less than in SPARQL, is said in `qel.sparql`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qel.dates import read_date
from qel.errors import QelUnsupported
from qel.sparql_terms import Terms, lacking, language_tag, name_of, spoken, unwrap
from qel.sparql_views import AFTER_ALL, NOT_BEFORE_ALL, instant_text, read_chain
from qel.sparql_writer import UPWARDS
from qel.syntax import (
    Atom,
    Compare,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Operator,
    Or,
    StringIs,
    Test,
    UriIs,
    Within,
    Words,
    conjunction,
)
from qel.values import View

_LAST_MONTH = Date("9999-12", read_date("9999-12")[1])  # type: ignore[index]

_MIRRORED = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.MORE,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.MORE: Operator.LESS,
    Operator.AT_LEAST: Operator.AT_MOST,
}
_OPERATORS = {operator.value: operator for operator in Operator}


@dataclass(frozen=True, slots=True)
class Length:
    """STRLEN of a variable is at least so many: QEL has it only as a part of `like "ab*cd"`."""

    variable: str
    least: int


@dataclass(frozen=True, slots=True)
class IsUri:
    """isIRI of a variable: QEL has it only as a part of comparisons with URIs."""

    variable: str


Part = Constraint | Length | IsUri
Shape = tuple[Any, ...]


class Filters:
    """Reads expressions. `names` maps variables of SPARQL to those of QEL, `views` variables to views of others."""

    def __init__(self, terms: Terms, shapes: Mapping[Shape, View], names: Mapping[str, str]) -> None:
        self.terms = terms
        self.shapes = shapes
        self.names = names
        self.views: dict[str, tuple[View, str]] = {}
        self.builtins: dict[str, Callable[[Any], list[Part]]] = {
            "RelationalExpression": self.relation,
            "Builtin_sameTerm": lambda node: self.compare(node.arg1, Operator.EQUAL, node.arg2),
            "Builtin_CONTAINS": lambda node: self.about_text(node, Contains),
            "Builtin_STRSTARTS": lambda node: self.about_text(node, lambda text: _like(text, "")),
            "Builtin_STRENDS": lambda node: self.about_text(node, lambda text: _like("", text)),
            "Builtin_isLITERAL": lambda node: [Test(self.variable(unwrap(node.arg)), Contains(""))],
            "Builtin_isIRI": lambda node: [IsUri(self.variable(unwrap(node.arg)))],
            "Builtin_isURI": lambda node: [IsUri(self.variable(unwrap(node.arg)))],
            "Builtin_REGEX": self.regex,
            "Builtin_EXISTS": lambda node: [self.topic(node.graph)],
        }

    def conjuncts(self, node: Any) -> list[Part]:
        """The parts of a conjunction, or the expression as the only one."""
        node = unwrap(node)
        if name_of(node) == "ConditionalAndExpression":
            parts = []
            for part in (node.expr, *node.other):
                parts.extend(self.conjuncts(part))
            return parts
        if name_of(node) == "ConditionalOrExpression":
            return [any_of([all_of(self.conjuncts(part)) for part in (node.expr, *node.other)])]
        read = self.builtins.get(name_of(node))
        if read is None:
            raise lacking(spoken(node) if name_of(node) else "conditions without a comparison")
        return read(node)

    def relation(self, node: Any) -> list[Part]:
        left, right = unwrap(node.expr), unwrap(node.other)
        if node.op == "IN" and not isinstance(right, str):  # rdflib reads () as an IRI, that of the empty list
            return [any_of([all_of(self.compare(left, Operator.EQUAL, unwrap(one))) for one in right])]
        if node.op not in _OPERATORS:
            raise lacking("IN without values" if node.op == "IN" else f"negation, such as {node.op}")
        return self.compare(left, _OPERATORS[node.op], right)

    def compare(self, left: Any, operator: Operator, right: Any) -> list[Part]:
        left, right = unwrap(left), unwrap(right)
        if self.terms.is_constant(left):
            left, operator, right = right, _MIRRORED[operator], left
        if not self.terms.is_constant(right):
            raise lacking("comparison of one variable or expression with another")
        view = self.view(left)
        if view is not None:
            return [self.compare_view(*view, operator, right)]
        match name_of(left):
            case "Builtin_STR" if operator is Operator.EQUAL:
                return [Test(self.variable(left), StringIs(self.constant_string(right)))]
            case "Builtin_LANG" | "Builtin_LCASE" if operator is Operator.EQUAL:
                tag = unwrap(left.arg) if left.name == "Builtin_LCASE" else left
                if name_of(tag) == "Builtin_LANG":
                    name = self.variable(unwrap(tag.arg))
                    return [Test(name, LanguageIs(language_tag(self.constant_string(right))))]
            case "Builtin_STRLEN" if operator in (Operator.AT_LEAST, Operator.MORE):
                [bound] = self.terms.atoms(operator, right)
                if isinstance(bound, Compare) and isinstance(bound.constant, int):
                    least = bound.constant + (operator is Operator.MORE)
                    return [Length(self.variable(unwrap(left.arg)), least)]
            case "Builtin_CONCAT" if operator is Operator.LESS:
                end = self.end_of_date(left, right)
                if end is not None:
                    return [end]
            case "":
                name = self.variable(left)
                return [Test(name, atom) for atom in self.terms.atoms(operator, right)]
        raise lacking(f"{operator.value} for {spoken(left)}")

    def compare_view(self, view: View, name: str, operator: Operator, right: Any) -> Test:
        if view is View.DATE and operator is Operator.AT_LEAST:
            return Test(name, self.date_bound(right, Operator.AT_LEAST, Operator.MORE))
        atom, *more = self.terms.atoms(operator, right)
        if not more and isinstance(atom, Compare) and atom.view is view is not View.DATE:
            return Test(name, atom)
        raise lacking(f"comparison of the {view.value} view with this constant")

    def end_of_date(self, left: Any, right: Any) -> Test | None:
        """CONCAT(date view, "~") < "2004": the date ends before 2004 starts."""
        view = self.view(unwrap(left.arg[0])) if len(left.arg) == 2 else None
        if view is None or view[0] is not View.DATE or self.terms.string(left.arg[1]) != AFTER_ALL:
            return None
        return Test(view[1], self.date_bound(right, Operator.LESS, Operator.AT_MOST))

    def date_bound(self, node: Any, from_start: Operator, from_last_month: Operator) -> Compare:
        """A bound of the date view, which is the shortest text for an instant, as a comparison with a date."""
        text = self.constant_string(node)
        if text == NOT_BEFORE_ALL:
            return Compare(from_last_month, View.DATE, _LAST_MONTH)
        date = read_date(text)
        if date is None or not text[0].isdigit() or instant_text(date[1].start) != text:
            raise lacking(f"comparison of a date with {text[:40]!r}")
        written = f"{text}-01" if len(text) == 4 else text
        return Compare(from_start, View.DATE, Date(written, read_date(written)[1]))  # type: ignore[index]

    def view(self, node: Any) -> tuple[View, str] | None:
        """The view that an expression computes, or that a variable holds, and of which variable of QEL it is."""
        if type(node).__name__ == "Variable":
            return self.views.get(str(node))
        found = view_of(node, self.terms, self.shapes)
        if found is None or found[0] is View.STRING:
            return None
        return found[0], self.named(found[1])

    def about_text(self, node: Any, atom: Callable[[str], Atom]) -> list[Part]:
        text = self.terms.string(node.arg2)
        if text is None:
            raise lacking(f"{spoken(node)} with anything but a plain string")
        return [Test(self.variable(unwrap(node.arg1)), atom(text))]

    def regex(self, node: Any) -> list[Part]:
        """The words of a value, and a chain among them; nothing else."""
        flags = None if node.flags is None else self.terms.string(node.flags)
        pattern = self.terms.string(node.pattern)
        words = view_of(unwrap(node.text), self.terms, self.shapes)
        if pattern is not None and flags == "i" and words is not None and words[0] is View.STRING:
            chain = read_chain(pattern)
            if chain is not None:
                return [Test(self.named(words[1]), Words(chain))]
        raise lacking("regular expressions; use CONTAINS, STRSTARTS or STRENDS")

    def topic(self, group: Any) -> Test:
        """EXISTS { ?t (skos:broader|rdfs:subClassOf)* <topic> }"""
        parts = list(group.part or ())
        if len(parts) == 1 and name_of(parts[0]) == "TriplesBlock" and len(parts[0].triples) == 1:
            nodes = list(parts[0].triples[0])
            if len(nodes) == 3 and self.goes_upwards(nodes[1]):
                topic = self.terms.iri(nodes[2])
                if topic is not None:
                    return Test(self.variable(nodes[0]), Within(topic))
        raise lacking("EXISTS but for { ?t (skos:broader|rdfs:subClassOf)* <topic> }")

    def goes_upwards(self, path: Any) -> bool:
        path = unwrap_path(path)
        if name_of(path) != "PathElt" or path.mod != "*" or name_of(path.part) != "PathAlternative":
            return False
        return {self.terms.iri(unwrap_path(part)) for part in path.part.part} == set(UPWARDS)

    def constant_string(self, node: Any) -> str:
        text = self.terms.string(node)
        if text is None:
            raise lacking(f"comparison of text with {spoken(node)}")
        return text

    def variable(self, node: Any) -> str:
        """The variable of QEL that a variable, or STR of one, stands for."""
        if name_of(node) == "Builtin_STR":
            node = unwrap(node.arg)
        if type(node).__name__ != "Variable":
            raise lacking(f"tests of {spoken(node)}")
        return self.named(str(node))

    def named(self, variable: str) -> str:
        if variable not in self.names:
            raise QelUnsupported(f"?{variable} is in no triple; QEL has no other variables")
        return self.names[variable]


def unwrap_path(path: Any) -> Any:
    """The IRI or path that stands alone where a path of several parts could stand."""
    while True:
        if name_of(path) in ("PathAlternative", "PathSequence") and len(path.part) == 1:
            path = path.part[0]
        elif name_of(path) == "PathElt" and path.mod is None:
            path = path.part
        else:
            return path


def view_of(node: Any, terms: Terms, shapes: Mapping[Shape, View]) -> tuple[View, str] | None:
    """The view that an expression computes, and of which variable of SPARQL. View.STRING stands for the words."""
    variables: set[str] = set()
    view = shapes.get(shape_of(node, terms, variables))
    return (view, variables.pop()) if view is not None and len(variables) == 1 else None


def shape_of(node: Any, terms: Terms, variables: set[str]) -> Shape:
    """An expression without the names of its variables, which are collected."""
    node = unwrap(node)
    if type(node).__name__ == "Variable":
        variables.add(str(node))
        return ("variable",)
    if terms.is_constant(node):
        return "constant", terms.iri(node), terms.literal(node)
    if name_of(node):
        return (node.name, *sorted((key, shape_of(value, terms, variables)) for key, value in node.items()))
    if isinstance(node, str):
        return (str(node),)
    return ("list", *(shape_of(part, terms, variables) for part in node))


def any_of(parts: list[Constraint]) -> Constraint:
    flat: list[Constraint] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Or) else (part,))
    if not flat:
        raise lacking("VALUES without values")
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def all_of(parts: list[Part]) -> Constraint:
    """A conjunction, without isLiteral and isIRI where another part says as much, and with lengths made `like`."""
    tests = _with_lengths(
        [part for part in parts if not isinstance(part, Length | IsUri)],
        [part for part in parts if isinstance(part, Length)],
    )
    about_uris = {test.variable for test in tests if isinstance(test, Test) and isinstance(test.atom, UriIs | Within)}
    for part in parts:
        if isinstance(part, IsUri) and part.variable not in about_uris:
            raise lacking("isIRI() but beside a comparison with an IRI")
    kept = [test for test in tests if not _says_literal_only(test)]
    about_literals = {test.variable for test in kept if isinstance(test, Test)} - about_uris
    kept.extend(
        test
        for test in dict.fromkeys(tests)
        if isinstance(test, Test) and _says_literal_only(test) and test.variable not in about_literals
    )
    found = conjunction(kept)
    assert found is not None
    return found


def _with_lengths(tests: list[Constraint], lengths: list[Length]) -> list[Constraint]:
    """A prefix, a suffix, and no less than the length of both: together that is one `like`."""
    joined: dict[Constraint, list[Test]] = {}
    used: set[Constraint] = set()
    for length in lengths:
        likes = [
            (test, test.atom)
            for test in tests
            if isinstance(test, Test) and test.variable == length.variable and isinstance(test.atom, Like)
        ]
        pairs = (
            (first, last, Like(prefix.prefix, suffix.suffix))
            for first, prefix in likes
            for last, suffix in likes
            if not prefix.suffix and not suffix.prefix and len(prefix.prefix) + len(suffix.suffix) == length.least
        )
        for first, last, like in pairs:
            joined.setdefault(first, []).append(Test(length.variable, like))
            used |= {first, last}
            break
        else:
            if not any(len(like.prefix + like.suffix) >= length.least for _, like in likes):
                raise lacking("STRLEN but for the length of a prefix and a suffix that do not overlap")
    found: dict[Constraint, None] = {}
    for test in tests:
        found.update(dict.fromkeys(joined.get(test, [] if test in used else [test])))
    return list(found)


def _says_literal_only(part: Constraint) -> bool:
    return isinstance(part, Test) and part.atom == Contains("")


def _like(prefix: str, suffix: str) -> Atom:
    return Like(prefix, suffix) if prefix or suffix else Contains("")
