"""The language: how many queries are parsed, compared and matched a second."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyoxigraph

import qel
from benchmarks.measuring import print_rates, rates
from benchmarks.workload import Bibliography

SEED = 20_040_510
SUBSCRIPTIONS = 2_000
PAIRS = 200_000
PUBLICATIONS = 200


def main() -> None:
    bibliography = Bibliography(SEED)
    texts = list(bibliography.subscriptions(SUBSCRIPTIONS))
    queries = [qel.parse(text) for text in texts]
    publications = list(bibliography.publications(PUBLICATIONS))
    _comparing(queries)
    _reading(texts)
    _matching(queries, publications)


def _comparing(queries: list[qel.Query]) -> None:
    generator = random.Random(SEED)
    pairs = [(generator.choice(queries), generator.choice(queries)) for _ in range(PAIRS)]
    covering = [(a, b) for a, b in pairs if qel.subsumes(a, b)]
    covering = (covering * (PAIRS // max(1, len(covering)) + 1))[:PAIRS]
    unions = [(a, b) for a, b in pairs if len(a.normal_form.primes) > 1]
    measured = rates(
        {
            "an empty function": lambda: _each(_nothing, pairs),
            "subsumes, random pairs": lambda: _each(qel.subsumes, pairs),
            "subsumes, all of them yes": lambda: _each(qel.subsumes, covering),
            "subsumes, the first a union": lambda: _each(qel.subsumes, unions),
        }
    )
    print_rates("Comparing subscriptions (normal forms made beforehand)", "checks", measured, "an empty function")


def _reading(texts: list[str]) -> None:
    def parse_and_normalise(text: str) -> None:
        qel.is_satisfiable(qel.parse(text))

    def over(function: Callable[[str], Any]) -> Callable[[], int]:
        def do() -> int:
            for text in texts:
                function(text)
            return len(texts)

        return do

    baseline = "split at white space"
    measured = rates({baseline: over(str.split), "parse": over(qel.parse), "and normalise": over(parse_and_normalise)})
    print_rates("Reading queries", "queries", measured, baseline)


def _matching(queries: list[qel.Query], publications: list[list[Any]]) -> None:
    few = queries[:100]
    asks = [qel.to_sparql(query).replace("SELECT DISTINCT ?X", "ASK", 1) for query in few]
    stores = []
    for triples in publications[:20]:
        store = pyoxigraph.Store()
        store.extend(pyoxigraph.Quad(*map(_term, triple)) for triple in triples)
        stores.append(store)

    def in_python() -> int:
        for triples in publications:
            for query in few:
                qel.matches(query, triples)
        return len(publications) * len(few)

    def in_sparql() -> int:
        for store in stores:
            for ask in asks:
                store.query(ask)
        return len(stores) * len(asks)

    measured = rates({"SPARQL ASK, pyoxigraph": in_sparql, "qel.matches": in_python})
    print_rates("Matching one subscription with one publication", "matches", measured, "SPARQL ASK, pyoxigraph")


def _term(term: Any) -> Any:
    return pyoxigraph.Literal(str(term)) if type(term).__name__ == "Literal" else pyoxigraph.NamedNode(str(term))


def _each(function: Callable[[qel.Query, qel.Query], Any], pairs: list[tuple[qel.Query, qel.Query]]) -> int:
    for a, b in pairs:
        function(a, b)
    return len(pairs)


def _nothing(_a: qel.Query, _b: qel.Query) -> None:
    return


if __name__ == "__main__":
    main()
