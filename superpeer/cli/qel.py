"""`superpeer qel`: check, write, explain, translate, compare and try queries.

Wherever a query is asked for, it is the name of a file, `-` for standard input, or the text itself.
Exit codes: 0 for success (and for "yes"), 1 for "no" of `subsumes`, 2 for an error.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.input import read_argument

if TYPE_CHECKING:
    from qel.values import Description

app = typer.Typer(
    name="qel",
    help="Work with queries in QEL, the language of subscriptions.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

QueryArgument = Annotated[
    str, typer.Argument(metavar="QUERY", help="A file with a query, - for standard input, or its text.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def check(query: QueryArgument, as_json: JsonOption = False) -> None:
    """Say whether a query is well formed and can match anything.

    superpeer qel check 'X : t(X, dc:creator, Y) & Y contains "Nejdl"'
    """
    import qel

    parsed = qel.parse(read_argument(query))
    qel.require_satisfiable(parsed)
    form = parsed.normal_form
    if as_json:
        _print_json({"query": str(parsed), "triples": len(parsed.triples), "alternatives": len(form.disjuncts)})
        return
    print(f"ok: {_count(len(parsed.triples), 'triple')}, {_count(len(form.disjuncts), 'alternative')}")


@app.command("format")
def format_(query: QueryArgument) -> None:
    """Write a query neatly, in ASCII, with its own prefixes. Comments are not kept.

    superpeer qel format 'X:t(X,<dc:creator>,Y)∧(Y⊒"Nejdl"∨Y⊒"Koubarakis")'
    """
    import qel

    print(qel.format_query(*qel.parse_with_prefixes(read_argument(query))))


@app.command()
def explain(query: QueryArgument, as_json: JsonOption = False) -> None:
    """Say in words what a query asks for, what must be advertised to reach it, and its identity.

    superpeer qel explain 'X : t(X, rdf:type, dc:article) & t(X, dc:date, D) & (D = 2004 | D > 2010)'
    """
    import qel
    from qel.explanation import region_in_words, slots_of
    from qel.names import write_iri

    parsed = qel.parse(read_argument(query))
    qel.require_satisfiable(parsed)
    alternatives: list[list[tuple[str, str]]] = []
    for disjunct in parsed.normal_form.disjuncts:
        rows = [(write_iri(name), region_in_words(region)) for name, region in slots_of(disjunct)]
        if disjunct.subject.kind is not None:
            rows.insert(0, (f"{parsed.subject} itself", region_in_words(disjunct.subject)))
        alternatives.append(rows)
    about = {
        "heads": list(parsed.heads),
        "properties": sorted(map(write_iri, qel.properties(parsed))),
        "schemas": sorted(qel.schemas(parsed)),
        "id": qel.canonical_id(parsed),
    }
    if as_json:
        _print_json({"query": str(parsed), **about, "alternatives": alternatives})
        return
    width = max(len(name) for rows in alternatives for name, _ in rows)
    for i, rows in enumerate(alternatives):
        print(f"Resources {parsed.subject} with" if i == 0 else "or with")
        for name, words in rows:
            print(f"    {name:<{width}}  {words}")
    print()
    for name, content in about.items():
        print(f"{name:<12}{content if isinstance(content, str) else ', '.join(content)}")


@app.command()
def sparql(
    query: QueryArgument,
    to_qel: Annotated[bool, typer.Option("--to-qel", help="Read SPARQL instead, and write QEL.")] = False,
) -> None:
    """Translate a query to SPARQL, or with --to-qel a star-shaped SPARQL query to QEL.

    superpeer qel sparql 'X : t(X, dc:date, D) & D >= 2004'
    superpeer qel sparql --to-qel 'SELECT ?x WHERE { ?x <http://purl.org/dc/elements/1.1/date> ?d FILTER(?d >= 2004) }'
    """
    import qel

    text = read_argument(query)
    print(qel.format_query(qel.from_sparql(text)) if to_qel else qel.to_sparql(qel.parse(text)))


@app.command()
def subsumes(
    general: Annotated[str, typer.Argument(metavar="A", help="The query that may cover: file, - or text.")],
    special: Annotated[str, typer.Argument(metavar="B", help="The query that may be covered: file, - or text.")],
    answers: Annotated[
        bool, typer.Option("--answers", help="Compare answers, heads included, and not only what matches.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say whether whatever matches B matches A: yes (exit code 0) or no (exit code 1), and why.

    superpeer qel subsumes 'X : t(X, dc:date, D) & D > 2000' 'X : t(X, dc:date, D) & D = 2004'
    """
    import qel
    from qel.explanation import Verdict, explain_subsumption

    q1, q2 = qel.parse(read_argument(general)), qel.parse(read_argument(special))
    verdict = explain_subsumption(q1, q2)
    if answers and verdict.covers and not qel.subsumes_answers(q1, q2):
        heads = f"the heads of the first query ({', '.join(q1.heads)}) do not stand for those of the second"
        verdict = Verdict(False, (f"{heads} ({', '.join(q2.heads)})",))
    if as_json:
        shown = _turtle_lines(verdict.shown_by) if verdict.shown_by else None
        _print_json({"subsumes": verdict.covers, "reasons": verdict.reasons, "shown_by": shown})
    else:
        print("yes" if verdict.covers else "no")
        for reason in verdict.reasons:
            print(f"  {reason}")
        if verdict.shown_by:
            print("  for example, this matches the second and not the first:")
            for line in _turtle_lines(verdict.shown_by):
                print(f"    {line}")
    raise typer.Exit(0 if verdict.covers else 1)


@app.command()
def match(
    query: QueryArgument,
    files: Annotated[list[Path], typer.Argument(metavar="RDF-FILE...", help="RDF in any format, also gzipped.")],
    topics: Annotated[
        list[Path] | None, typer.Option(help="An RDF file with a hierarchy of topics, for `within`; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the resources in RDF files that match, with what the variables stand for.

    superpeer qel match 'X : t(X, dc:creator, Y) & Y contains "Weaver"' catalogue.nt.gz
    """
    import qel
    from superpeer.cli.matching import match_files, print_matches

    parsed = qel.parse(read_argument(query))
    qel.require_satisfiable(parsed)
    found = match_files(parsed, files, topics or [])
    if as_json:
        _print_json(found.to_data())
    else:
        print_matches(parsed, found)


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _turtle_lines(description: "Description") -> list[str]:
    import pyoxigraph

    from qel.values import Kind, Value

    def term(value: Value) -> str:
        if value.kind is Kind.URI:
            return f"<{value.text}>"
        if value.kind is Kind.BLANK:
            return f"_:{value.text}"
        return str(pyoxigraph.Literal(value.text, language=value.language or None))

    subject = term(description.subject)
    return [f"{subject} <{name}> {term(value)} ." for name, values in description.values.items() for value in values]
