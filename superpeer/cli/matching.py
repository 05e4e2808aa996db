"""Tries a query on RDF files, for `superpeer qel match`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

import qel
from superpeer.cli.output import complain, printable
from superpeer.rdf import Problem, read

_SHOWN_VALUES = 5
_SHOWN_WARNINGS = 3
_REPORT_EVERY = 10_000


@dataclass
class Found:
    """Matching resources with their bindings, what was read, and what could not be."""

    matches: list[tuple[Any, dict[str, tuple[Any, ...]]]] = field(default_factory=list)
    triples: int = 0
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0

    def note(self, problem: Problem) -> None:
        self.problem_count += 1
        if len(self.problems) < _SHOWN_WARNINGS:
            self.problems.append(problem)

    def to_data(self) -> dict[str, Any]:
        rows = [
            {
                "resource": _term_to_data(resource),
                "bindings": {name: [_term_to_data(term) for term in terms] for name, terms in bound.items()},
            }
            for resource, bound in self.matches
        ]
        return {
            "matches": rows,
            "count": len(rows),
            "triples": self.triples,
            "skipped": self.problem_count,
            "warnings": [str(problem) for problem in self.problems],
        }


def match_files(query: qel.Query, files: Iterable[Path], topic_files: Iterable[Path]) -> Found:
    """The resources of all files that match. What files say of one URI is taken together; a blank node belongs to
    its file. Only triples with properties of the query are kept in memory."""
    found = Found()
    wanted = {pattern.property for pattern in query.triples}
    named: list[pyoxigraph.Triple] = []
    files = list(files)
    with _progress(len(files)) as advance:
        topics = qel.Topics(triple for path in topic_files for triple in read(path, found.note))
        for path in files:
            local: list[pyoxigraph.Triple] = []
            for triple in read(path, found.note):
                found.triples += 1
                if triple.predicate.value in wanted:
                    (named if isinstance(triple.subject, pyoxigraph.NamedNode) else local).append(triple)
                if found.triples % _REPORT_EVERY == 0:
                    advance(0, found.triples)
            found.matches.extend(qel.bindings(query, local, topics).items())
            advance(1, found.triples)
        found.matches.extend(qel.bindings(query, named, topics).items())
    return found


def print_matches(query: qel.Query, found: Found) -> None:
    """A table with a row for each resource, and on standard error what could not be read."""
    if found.matches:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in query.variables:
            table.add_column(name, overflow="fold", no_wrap=False)
        for _, bound in found.matches:
            table.add_row(*(_cell(bound[name]) for name in query.variables))
        console = Console()
        if not console.is_terminal:
            console = Console(width=max(console.width, 160))
        console.print(table)
    resources = "1 resource matches" if len(found.matches) == 1 else f"{len(found.matches):,} resources match"
    print(f"{resources}, of {found.triples:,} triples")
    for problem in found.problems:
        complain(f"skipped {problem}")
    if found.problem_count > len(found.problems):
        complain(f"skipped {found.problem_count:,} records or triples in all")


@contextmanager
def _progress(files: int) -> Iterator[Any]:
    """A bar on a terminal, which is gone when the work is done; elsewhere nothing."""
    columns = (
        SpinnerColumn(),
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[done]}"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=files, done="")

        def advance(more_files: int, triples: int) -> None:
            progress.update(task, advance=more_files, done=f"{triples:,} triples")

        yield advance


def _cell(terms: tuple[Any, ...]) -> Text:
    shown = [_term_in_short(term) for term in terms[:_SHOWN_VALUES]]
    if len(terms) > _SHOWN_VALUES:
        shown.append(f"and {len(terms) - _SHOWN_VALUES:,} more")
    return Text("\n".join(shown))


def _term_in_short(term: Any) -> str:
    if isinstance(term, pyoxigraph.Literal):
        shown = " ".join(printable(term.value).split())
        return shown if len(shown) <= 200 else f"{shown[:200]}..."
    return str(term.value) if isinstance(term, pyoxigraph.NamedNode) else str(term)


def _term_to_data(term: Any) -> dict[str, str]:
    """As in the SPARQL results format."""
    if isinstance(term, pyoxigraph.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, pyoxigraph.Literal):
        data = {"type": "literal", "value": term.value}
        if term.language:
            data["xml:lang"] = term.language
        elif term.datatype.value != qel.names.XSD + "string":
            data["datatype"] = term.datatype.value
        return data
    return {"type": "bnode", "value": str(getattr(term, "value", term))}
