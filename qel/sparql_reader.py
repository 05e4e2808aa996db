"""Reads the star-shaped subset of SPARQL: a SELECT of variables, triples on one subject variable, and tests.

The text is parsed by rdflib, whose parse tree is read as it stands: the algebra, made for evaluation, has lost the
order of the triples and names constructs otherwise than their authors do. Variables get names of QEL: ?title becomes
Title, and the second of two that would get the same name gets a number, in the order of the triples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from qel.errors import Place, QelLimitError, QelSyntaxError, QelTypeError, QelUnsupported
from qel.names import XSD
from qel.parser import MAX_CHARACTERS
from qel.sparql_filters import Filters, Part, Shape, all_of, any_of, shape_of, unwrap_path, view_of
from qel.sparql_terms import Terms, lacking, name_of, unwrap
from qel.sparql_views import view_expression, words_expression
from qel.syntax import Constant, Constraint, Operator, Query, Test, TriplePattern, UriIs, Within, tests_of
from qel.values import MAX_NUMBER_CHARACTERS, View

SAFE_DEPTH = 12
"""Levels of parentheses that rdflib's parser, which recurses, reads wherever it is called from."""

_ESCAPE = re.compile(r"\\(?:(\\)([uU])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)", re.DOTALL)
_LONG_NUMBER = re.compile(rf"[0-9]{{{MAX_NUMBER_CHARACTERS + 1},}}")

_FORMS = {"ConstructQuery": "CONSTRUCT", "AskQuery": "ASK", "DescribeQuery": "DESCRIBE"}
_CLAUSES = {
    "datasetClause": "FROM",
    "groupby": "GROUP BY",
    "having": "HAVING",
    "orderby": "ORDER BY",
    "limitoffset": "LIMIT or OFFSET",
}
_PATTERNS = {
    "OptionalGraphPattern": "OPTIONAL",
    "MinusGraphPattern": "negation, such as MINUS",
    "GraphGraphPattern": "GRAPH",
    "ServiceGraphPattern": "SERVICE",
}


def from_sparql(text: str) -> Query:
    """The query that a star-shaped SPARQL SELECT means. Raises QelSyntaxError where the text is no SPARQL, and
    QelUnsupported where QEL has no such query."""
    if len(text) > MAX_CHARACTERS:
        raise QelLimitError(f"the query has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}", MAX_CHARACTERS)
    try:
        prologue, select = _parse(_portable(text))
        query = _Star(Terms(prologue)).query(select)
    except RecursionError:
        raise QelLimitError(
            f"the query is nested too deeply to be read; {SAFE_DEPTH} levels of parentheses are safe", SAFE_DEPTH
        ) from None
    _ = query.normal_form  # refuses a constraint with too many alternatives
    return query


def _parse(text: str) -> tuple[Any, Any]:
    """Prologue and query as rdflib's parser gives them."""
    from pyparsing import ParseBaseException
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        prologue, query = parseQuery(text)
    except ParseBaseException as error:
        place = Place(error.lineno, error.column, error.line)
        rest = error.line[error.column - 1 :].split(maxsplit=1)
        found = f"{rest[0][:30]!r}" if rest else "the end of the line" if error.line else "the end of the text"
        raise QelSyntaxError(found, (), place, "from here on, or shortly after, this is not SPARQL 1.1") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # rdflib makes terms while it parses, and some it cannot make: -2.5 as the object of a triple is one.
        raise QelUnsupported(f"the parser of SPARQL cannot read a term of this query: {error}") from None
    return prologue, query


def _portable(text: str) -> str:
    """The text with its escapes of code points written so that rdflib reads them as other engines do: it takes up to
    eight digits behind a small u, and takes an escaped backslash and a u for the start of an escape."""

    def rewrite(escape: re.Match[str]) -> str:
        if escape[1]:
            return f"\\\\\\U{ord(escape[2]):08X}"
        digits = escape[3] or escape[4]
        if digits is None:
            return escape[0]
        if int(digits, 16) > 0x10FFFF or 0xD800 <= int(digits, 16) <= 0xDFFF:
            raise QelSyntaxError(escape[0], (), Place.at(text, escape.start()), "there is no such character")
        return f"\\U{digits:0>8}"

    try:
        text.encode()
    except UnicodeEncodeError as error:
        stray = Place.at(text, error.start)
        raise QelSyntaxError("half of a surrogate pair", (), stray, "this is not Unicode text") from None
    if _LONG_NUMBER.search(text):
        raise QelLimitError(f"a number has at most {MAX_NUMBER_CHARACTERS:,} characters", MAX_NUMBER_CHARACTERS)
    return _ESCAPE.sub(rewrite, text.removeprefix("\ufeff"))


@cache
def _shapes() -> dict[Shape, View]:
    """The expressions that `to_sparql` writes for views, parsed; View.STRING stands for the words of a text."""
    written = {view_expression(view, "v"): view for view in (View.INTEGER, View.DECIMAL, View.DATE)}
    written[words_expression("v")] = View.STRING
    shapes = {}
    for expression, view in written.items():
        prologue, select = _parse(_portable(f"PREFIX xsd: <{XSD}> SELECT * {{ BIND({expression} AS ?w) }}"))
        shapes[shape_of(select.where.part[0].expr, Terms(prologue), set())] = view
    return shapes


class _Star:
    """Collects the triples, views and tests of one group."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.names: dict[str, str] = {}
        self.selectable: set[str] = set()
        self.subject: str | None = None
        self.triples: list[TriplePattern] = []
        self.tests: list[Part] = []
        self.filters = Filters(terms, _shapes(), self.names)
        self.expressions: list[Any] = []
        self.tables: list[Any] = []

    def query(self, select: Any) -> Query:
        if name_of(select) != "SelectQuery":
            raise lacking(_FORMS.get(name_of(select), name_of(select)))
        for clause, said in _CLAUSES.items():
            if getattr(select, clause):
                raise lacking(said)
        self.group(select.where)
        if select.valuesClause:
            self.tables.append(select.valuesClause)
        if self.subject is None:
            raise QelUnsupported("a query of QEL needs at least one triple")
        for view in self.filters.views.keys() & self.names.keys():
            raise QelTypeError(f"BIND cannot bind ?{view}, which a triple binds")
        heads = tuple(self.heads(select.projection))
        # All of a group is bound before any of its filters is asked, wherever these stand.
        for expression in self.expressions:
            self.tests.extend(self.filters.conjuncts(expression))
        for table in self.tables:
            self.tests.append(self.rows(table))
        constraint = all_of(self.tests) if self.tests else None
        for test in tests_of(constraint):
            if test.variable == self.subject and not isinstance(test.atom, UriIs | Within):
                raise QelUnsupported(f"{self.subject} is the subject, always a URI: compare it with = <...>")
        return Query(heads, self.subject, tuple(self.triples), constraint)

    def group(self, group: Any) -> None:
        if name_of(group) != "GroupGraphPatternSub":
            raise lacking("queries within a query")
        for part in group.part or ():
            match name_of(part):
                case "TriplesBlock":
                    for nodes in part.triples:
                        for i in range(0, len(nodes), 3):
                            self.triple(*nodes[i : i + 3])
                case "Filter":
                    self.expressions.append(part.expr)
                case "Bind":
                    self.bind(part)
                case "InlineData":
                    self.tables.append(part)
                case "GroupOrUnionGraphPattern":
                    raise lacking("UNION" if len(part.graph) > 1 else "groups or queries within a group")
                case other:
                    raise lacking(_PATTERNS.get(other, other))

    def triple(self, subject: Any, path: Any, node: Any) -> None:
        if not _is_variable(subject):
            raise QelUnsupported("the subject of a triple is a variable in QEL; say which one with ?x = <...>")
        if self.subject is None:
            self.subject = self.named(subject)
        elif self.names.get(_key(subject)) != self.subject:
            raise QelUnsupported("QEL has no joins: all triples are on one subject variable")
        path = unwrap_path(path)
        name = self.terms.iri(path)
        if name is None:
            raise lacking("property paths" if name_of(path) else "variables in place of a property")
        self.triples.append(TriplePattern(name, self.object(node)))

    def object(self, node: Any) -> str | Constant:
        if _is_variable(node):
            if _key(node) in self.names:
                raise QelUnsupported("QEL has no joins: object variables are distinct, and not the subject")
            return self.named(node)
        atoms = self.terms.atoms(Operator.EQUAL, node)
        if len(atoms) == 1 and isinstance(atoms[0], Constant):
            return atoms[0]
        # A string with a language tag is two tests, and so needs a variable to be tested.
        name = self.fresh(f"a value of triple {len(self.triples)}", "Value")
        self.tests.extend(Test(name, atom) for atom in atoms)
        return name

    def bind(self, part: Any) -> None:
        found = view_of(part.expr, self.terms, _shapes())
        if found is None or found[0] is View.STRING:
            raise lacking("BIND")
        view, variable = found
        if variable not in self.names:
            raise QelUnsupported(f"BIND uses ?{variable} before a triple binds it; QEL has no such order")
        self.filters.views[str(part.var)] = view, self.names[variable]

    def rows(self, table: Any) -> Constraint:
        """VALUES, as alternatives."""
        variables = [self.filters.variable(variable) for variable in table.var or ()]
        if not variables:
            raise lacking("VALUES without variables")
        alternatives = []
        for row in table.value or ():
            # A single variable needs no parentheses around its values.
            values = [row] if name_of(row) or isinstance(row, str) else list(row)
            if len(values) != len(variables):
                raise QelTypeError(f"VALUES has {len(variables)} variables, and a row of {len(values)} values")
            tests: list[Part] = []
            for name, value in zip(variables, values, strict=True):
                if type(value) is str:
                    raise lacking("UNDEF")
                tests.extend(Test(name, atom) for atom in self.terms.atoms(Operator.EQUAL, value))
            alternatives.append(all_of(tests))
        return any_of(alternatives)

    def heads(self, projection: Any) -> Iterator[str]:
        if projection is None:
            yield from (name for key, name in self.names.items() if key in self.selectable)
            return
        for selected in projection:
            head = selected.var or unwrap(selected.expr)  # ?x, or (?x AS ?name)
            if name_of(head):
                raise lacking("expressions or aggregates in place of a head")
            yield self.filters.variable(head)

    def named(self, node: Any) -> str:
        """The name of QEL for a variable that occurs for the first time."""
        if type(node).__name__ == "BNode":
            return self.fresh(_key(node), "Any")
        self.selectable.add(_key(node))
        return self.fresh(_key(node), str(node))

    def fresh(self, key: str, wanted: str) -> str:
        wanted = re.sub(r"[^A-Za-z0-9_]", "_", wanted)
        wanted = wanted[0].upper() + wanted[1:] if wanted[0].isalpha() else f"V{wanted}"
        taken = set(self.names.values())
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        self.names[key] = name
        return name


def _is_variable(node: Any) -> bool:
    return type(node).__name__ in ("Variable", "BNode")


def _key(node: Any) -> str:
    """One for each variable and blank node; no variable has a colon in its name."""
    return f"_:{node}" if type(node).__name__ == "BNode" else str(node)
