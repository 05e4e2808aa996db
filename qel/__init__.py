"""QEL, the language in which peers advertise, subscribe and query.

    query = qel.parse('X : t(X, dc:creator, Y) & Y contains "Nejdl"')
    qel.matches(query, triples)

A query asks for resources with certain properties and values; see `docs/qel.md`. The chapter is Chirita, Idreos,
Koubarakis and Nejdl, "Designing Semantic Publish/Subscribe Networks Using Super-Peers", whose language this is, with
the operators of later systems. The way through the package: text -> `parser` -> `elaboration` -> `syntax.Query` ->
`normal.NormalForm`, made of `regions.Region`s, on which `matching`, `subsumption` and `advertisements` rest.
"""

from qel.advertisements import (
    Advertisement,
    Range,
    Uri,
    conforms,
    covers,
    covers_by_properties,
    covers_by_schemas,
    covers_by_values,
    covers_jointly,
    nonconforming,
    properties,
    schemas,
)
from qel.elaboration import parse, parse_with_prefixes
from qel.errors import (
    Place,
    QelError,
    QelLimitError,
    QelSyntaxError,
    QelTypeError,
    QelUnsupported,
    Unsatisfiable,
)
from qel.matching import answers, bindings, matches
from qel.names import PREFIXES, namespace
from qel.sparql import from_sparql, to_sparql
from qel.subsumption import (
    canonical_id,
    equivalent,
    is_satisfiable,
    require_satisfiable,
    subsumes,
    subsumes_answers,
)
from qel.syntax import Query
from qel.topics import Topics
from qel.writing import format_query

__all__ = [
    "PREFIXES",
    "Advertisement",
    "Place",
    "QelError",
    "QelLimitError",
    "QelSyntaxError",
    "QelTypeError",
    "QelUnsupported",
    "Query",
    "Range",
    "Topics",
    "Unsatisfiable",
    "Uri",
    "answers",
    "bindings",
    "canonical_id",
    "conforms",
    "covers",
    "covers_by_properties",
    "covers_by_schemas",
    "covers_by_values",
    "covers_jointly",
    "equivalent",
    "format_query",
    "from_sparql",
    "is_satisfiable",
    "matches",
    "namespace",
    "nonconforming",
    "parse",
    "parse_with_prefixes",
    "properties",
    "require_satisfiable",
    "schemas",
    "subsumes",
    "subsumes_answers",
    "to_sparql",
]
