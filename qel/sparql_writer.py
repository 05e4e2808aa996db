"""Writes a query as SPARQL 1.1; what is exact about it and what is not is said in `qel.sparql`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from qel.errors import QelLimitError, QelUnsupported
from qel.names import PREFIXES, RDFS, SKOS, is_iri
from qel.sparql_views import (
    AFTER_ALL,
    chain_pattern,
    instant_text,
    view_expression,
    words_expression,
    write_string,
)
from qel.syntax import (
    And,
    Atom,
    Compare,
    Constraint,
    Contains,
    Date,
    LanguageIs,
    Like,
    Operator,
    Query,
    Similar,
    StringIs,
    Test,
    UriIs,
    Within,
    Words,
    tests_of,
)
from qel.values import View

MAX_INTEGER_DIGITS = 18
"""XML Schema obliges no implementation to more."""
MAX_DECIMAL_DIGITS = 15
MAX_EXPONENT = 300
"""Within these, decimals differ and sort as doubles just as they do as decimals."""
UPWARDS = (SKOS + "broader", RDFS + "subClassOf")

_VARIABLE = re.compile(r"[A-Z][A-Za-z0-9_]*")
_LOCAL_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")


def to_sparql(query: Query) -> str:
    """A SELECT DISTINCT of the heads that has the query's answers. Raises QelUnsupported for what SPARQL cannot say."""
    try:
        return _Writer().query(query)
    except RecursionError:
        depth = 100
        raise QelLimitError(
            f"the constraint is nested too deeply to be written as SPARQL; {depth} levels are safe", depth
        ) from None


class _Writer:
    """Collects the prefixes and views that the text needs while it is written."""

    def __init__(self) -> None:
        self.prefixes: set[str] = set()

    def query(self, query: Query) -> str:
        for name in (*query.heads, *query.variables, *(test.variable for test in tests_of(query.constraint))):
            if not _VARIABLE.fullmatch(name):
                raise QelUnsupported(f"{write_string(name)} is not the name of a variable")
        triples: list[str] = []
        tests: list[Constraint] = []
        for number, pattern in enumerate(query.triples, start=1):
            match pattern.object:
                case str(name):
                    written = f"?{name}"
                case UriIs(uri):
                    written = self.iri(uri)
                case constant:
                    # No variable of QEL starts with a small letter, so neither this name nor a view's is taken.
                    name = f"value{number}"
                    written = f"?{name}"
                    tests.append(Test(name, constant))
            triples.append(f"  ?{query.subject} {self.iri(pattern.property)} {written} .")
        if query.constraint is not None:
            parts = query.constraint.parts if isinstance(query.constraint, And) else (query.constraint,)
            tests.extend(parts)
        filters = [f"  FILTER({self.constraint(test)})" for test in tests]
        heads = " ".join(_heads(query.heads))
        body = [*triples, *self.binds(tests), *filters]
        declared = [f"PREFIX {name}: <{PREFIXES[name]}>" for name in PREFIXES if name in self.prefixes]
        return "\n".join([*declared, f"SELECT DISTINCT {heads} WHERE {{", *body, "}"]) + "\n"

    def binds(self, constraints: Sequence[Constraint]) -> list[str]:
        """One BIND for each variable and view that is tested."""
        wanted: dict[tuple[str, View], None] = {}
        for constraint in constraints:
            for test in tests_of(constraint):
                if isinstance(test.atom, Compare):
                    wanted[test.variable, test.atom.view] = None
        if any(view is not View.DATE for _, view in wanted):
            self.prefixes.add("xsd")
        return [f"  BIND({view_expression(view, name)} AS {_view_variable(view, name)})" for name, view in wanted]

    def constraint(self, constraint: Constraint) -> str:
        if isinstance(constraint, Test):
            return self.test(constraint)
        parts = []
        for part in constraint.parts:
            written = self.constraint(part)
            # A test may be a conjunction in SPARQL, which may stand bare among the parts of another.
            bare = isinstance(part, Test) and (isinstance(constraint, And) or " && " not in written)
            parts.append(written if bare else f"({written})")
        return (" && " if isinstance(constraint, And) else " || ").join(parts)

    def test(self, test: Test) -> str:
        variable = f"?{test.variable}"
        match test.atom:
            case UriIs(uri):
                return f"{variable} = {self.iri(uri)}"
            case Within(topic):
                path = "|".join(map(self.iri, UPWARDS))
                # Without the first part, rdflib finds an empty string within every topic.
                return f"isIRI({variable}) && EXISTS {{ {variable} ({path})* {self.iri(topic)} }}"
            case Compare(operator, view, constant):
                return _comparison(_view_variable(view, test.variable), operator, constant)
            case LanguageIs(tag):
                return f"LCASE(LANG({variable})) = {write_string(tag.lower())}"
            case Similar():
                raise QelUnsupported(
                    f"SPARQL cannot say `similar`, which counts words; leave the test of {test.variable} out, or write "
                    "`words` or `contains` instead"
                )
            case atom:
                return " && ".join([f"isLiteral({variable})", *_string_tests(test.variable, atom)])

    def iri(self, iri: str) -> str:
        if not is_iri(iri):
            raise QelUnsupported(
                f"SPARQL cannot write {write_string(iri)} as an IRI: it has characters that no IRI has"
            )
        for prefix, start in PREFIXES.items():
            if iri.startswith(start) and _LOCAL_NAME.fullmatch(iri, len(start)):
                self.prefixes.add(prefix)
                return f"{prefix}:{iri[len(start) :]}"
        return f"<{iri}>"


def _heads(heads: Sequence[str]) -> Iterator[str]:
    """A head that occurs again is selected under another name: some engines refuse to select a variable twice."""
    for i, head in enumerate(heads):
        yield f"(?{head} AS ?head{i + 1})" if head in heads[:i] else f"?{head}"


def _view_variable(view: View, name: str) -> str:
    return f"?{view.value}_{name}"


def _comparison(view: str, operator: Operator, constant: int | Decimal | Date) -> str:
    if isinstance(constant, Date):
        return _date_comparison(view, operator, constant)
    if isinstance(constant, Decimal):
        return f"{view} {operator.value} {_double(constant)}"
    if abs(constant) >= 10**MAX_INTEGER_DIGITS:
        raise QelUnsupported(
            f"not every SPARQL engine compares integers of more than {MAX_INTEGER_DIGITS} digits, and this has more"
        )
    return f"{view} {operator.value} {constant}"


def _date_comparison(view: str, operator: Operator, date: Date) -> str:
    def starts_at_or_after(instant: int) -> str:
        return f"{view} >= {write_string(instant_text(instant))}"

    def ends_by(instant: int) -> str:
        return f'CONCAT({view}, "{AFTER_ALL}") < {write_string(instant_text(instant))}'

    match operator:
        case Operator.EQUAL:
            return f"{starts_at_or_after(date.span.start)} && {ends_by(date.span.end)}"
        case Operator.LESS:
            return ends_by(date.span.start)
        case Operator.AT_MOST:
            return ends_by(date.span.end)
        case Operator.MORE:
            return starts_at_or_after(date.span.end)
        case Operator.AT_LEAST:
            return starts_at_or_after(date.span.start)


def _double(number: Decimal) -> str:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    exponent += len(text) - 1
    text = text.rstrip("0")
    if len(text) > MAX_DECIMAL_DIGITS or abs(exponent) > MAX_EXPONENT:
        raise QelUnsupported(
            f"in SPARQL, decimals are compared exactly up to {MAX_DECIMAL_DIGITS} digits and powers of ten up to "
            f"{MAX_EXPONENT}, and {number:.20} has more"
        )
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or 0}E{exponent}" if text else "0.0E0"


def _string_tests(name: str, atom: Atom) -> list[str]:
    text = f"STR(?{name})"
    match atom:
        case StringIs(constant):
            return [f"{text} = {write_string(constant)}"]
        case Contains(part):
            return [f"CONTAINS({text}, {write_string(part)})"] if part else []
        case Like(prefix, suffix):
            tests = [f"STRSTARTS({text}, {write_string(prefix)})"] if prefix else []
            if suffix:
                tests.append(f"STRENDS({text}, {write_string(suffix)})")
            if prefix and suffix:
                tests.append(f"STRLEN({text}) >= {len(prefix) + len(suffix)}")
            return tests
        case Words(chain):
            return [f'REGEX({words_expression(name)}, {write_string(chain_pattern(chain))}, "i")']
        case _:
            raise AssertionError(f"not an atom of strings: {atom!r}")
