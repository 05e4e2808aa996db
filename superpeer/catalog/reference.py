"""The same answers as the Spark jobs, in plain Python, for catalogues that fit into memory: slow, and obvious.

Tests compare the two, number by number. It shares with the jobs what decides meaning (`superpeer.rdf` for reading and
lifting, `qel` for views, matching, covering and subsumption) and nothing of how they count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from qel import Query, subsumes
from qel.matching import is_met
from qel.names import RDF_TYPE
from qel.topics import NO_TOPICS
from qel.values import Description, Kind, Value, date_view, decimal_view, integer_view
from superpeer.catalog import views
from superpeer.catalog.columns import BLANK, LITERAL, URI, Row, file_mark, row_of
from superpeer.catalog.profile import Pair, Profile, Property, TopValue
from superpeer.catalog.values import FEW_VALUES, LEAST_COUNT, TOP_VALUES
from superpeer.rdf import Problem, read
from superpeer.rdf.lifting import lift

Node = tuple[str, str, str, str]
"""Text, kind, language and datatype."""
Records = dict[str, set[tuple[str, Node]]]
"""What is said of each subject that is a URI: properties and values, names lifted."""


def read_rows(paths: Iterable[Path], problems: list[Problem] | None = None) -> list[Row]:
    noted = [] if problems is None else problems
    return [
        row_of(triple, file_mark(path.absolute().as_uri())) for path in paths for triple in read(path, noted.append)
    ]


def records_of(rows: Iterable[Row]) -> Records:
    said: dict[tuple[str, bool], dict[tuple[str, Node], None]] = {}
    for subject, blank, predicate, *node in rows:
        text, kind, language, datatype = node
        said.setdefault((subject, blank), {})[predicate, (text, kind, language, datatype)] = None

    def said_of(node: Node) -> list[tuple[str, Node]] | None:
        return list(said.get((node[0], True), ())) if node[1] == BLANK else None

    return {
        subject: set(lift(statements, said_of, lambda node: node[1] == LITERAL))
        for (subject, blank), statements in said.items()
        if not blank
    }


def form_of(node: Node) -> str:
    """The form of a value, by the views that `qel.values` gives it."""
    text, kind, _, _ = node
    if kind != LITERAL:
        return kind
    if date_view(text) is not None:
        return views.DATE if _has_month(text) else views.YEAR
    if integer_view(text) is not None:
        return views.INTEGER
    return views.DECIMAL if decimal_view(text) is not None else views.STRING


def _has_month(text: str) -> bool:
    digits = text.strip(" \t\r\n").lstrip("+-")
    year = len(digits) - len(digits.lstrip("0123456789"))
    rest = digits[year:]
    # A zone has a colon behind its first two digits; a month has none.
    return len(rest) >= 3 and rest[0] == "-" and rest[3:4] != ":"


def profile_records(records: Records) -> Profile:
    by_property: dict[str, Counter[Node]] = {}
    most: Counter[str] = Counter()
    shapes: Counter[tuple[str, ...]] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    resources: Counter[str] = Counter()
    for statements in records.values():
        counts = Counter(name for name, _ in statements)
        for name, node in statements:
            by_property.setdefault(name, Counter())[node] += 1
        for name, count in counts.items():
            most[name] = max(most[name], count)
        names = tuple(sorted(counts))
        shapes[names] += 1
        resources.update(names)
        pairs.update((one, other) for i, one in enumerate(names) for other in names[i + 1 :])
    properties = tuple(_property(name, by_property[name], resources[name], most[name]) for name in sorted(by_property))
    classes = Counter({node[0]: n for node, n in by_property.get(RDF_TYPE, Counter()).items() if node[1] == URI})
    few = [one for one in properties if one.distinct <= FEW_VALUES]
    return Profile(
        sum(one.values for one in properties),
        len(records),
        properties,
        tuple(sorted(classes.items(), key=lambda pair: (-pair[1], pair[0]))),
        tuple(top for name in sorted(by_property) for top in _top(name, by_property[name])),
        tuple(
            TopValue(one.property, *node, n)
            for one in few
            for node, n in sorted(by_property[one.property].items())
            if node[1] != BLANK
        ),
        tuple(Pair(one, other, n) for (one, other), n in sorted(pairs.items())),
        tuple(sorted(shapes.items(), key=lambda pair: (-pair[1], pair[0])))[:30],
    )


def _property(name: str, values: Counter[Node], resources: int, most: int) -> Property:
    forms: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    datatypes: Counter[str] = Counter()
    invalid = beyond = 0
    integers = []
    for node, count in values.items():
        form = form_of(node)
        forms[form] += count
        text, _, language, datatype = node
        languages[language] += count
        datatypes[datatype] += count
        if datatype in views.PROMISES and form not in views.PROMISES[datatype]:
            invalid += count
        integer = integer_view(text) if node[1] == LITERAL else None
        if integer is not None and abs(integer) >= 10**38:
            beyond += count
        elif integer is not None:
            integers.append(integer)
    return Property(
        name,
        resources,
        sum(values.values()),
        len(values),
        True,
        most,
        forms["uri"],
        forms["blank"],
        forms["year"],
        forms["date"],
        forms["integer"],
        forms["decimal"],
        forms["string"],
        invalid,
        min(integers, default=None),
        max(integers, default=None),
        beyond,
        max(len(node[0]) for node in values),
        _most_common(languages),
        _most_common(datatypes),
    )


def _most_common(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    named = [(name, count) for name, count in counted.items() if name]
    return tuple(sorted(named, key=lambda pair: (-pair[1], pair[0]))[:TOP_VALUES])


def _top(name: str, values: Counter[Node]) -> Sequence[TopValue]:
    often = sorted(
        ((node, count) for node, count in values.items() if count >= LEAST_COUNT and node[1] != BLANK),
        key=lambda pair: (-pair[1], [part.encode() for part in pair[0]]),
    )
    return [TopValue(name, *node, count) for node, count in often[:TOP_VALUES]]


def coverage_of(records: Records, queries: Sequence[Query]) -> tuple[list[set[str]], Counter[str]]:
    """For each query the resources that match it, and for each resource how many queries it matches."""
    described = {subject: description_of(subject, said) for subject, said in records.items()}
    matched = [
        {subject for subject, description in described.items() if is_met(query, description, NO_TOPICS)}
        for query in queries
    ]
    return matched, Counter(subject for found in matched for subject in found)


def description_of(subject: str, said: set[tuple[str, Node]]) -> Description:
    description = Description(Value(Kind.URI, subject))
    kinds = {URI: Kind.URI, BLANK: Kind.BLANK, LITERAL: Kind.LITERAL}
    for name, (text, kind, language, _) in said:
        description.values.setdefault(name, []).append(Value(kinds[kind], text, language))
    return description


def order_of(queries: Sequence[Query]) -> tuple[list[int], set[tuple[int, int]]]:
    """The place of each query, which is the first that covers it and that it covers, and all pairs of places of which
    the first covers the second."""
    covers = {
        (i, j) for i, one in enumerate(queries) for j, other in enumerate(queries) if i != j and subsumes(one, other)
    }
    places = [
        min([i, *(j for j in range(len(queries)) if (i, j) in covers and (j, i) in covers)])
        for i in range(len(queries))
    ]
    return places, {(places[i], places[j]) for i, j in covers if places[i] != places[j]}


def hasse_of(order: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs with nothing in between."""
    below: dict[int, set[int]] = {}
    for above, under in order:
        below.setdefault(above, set()).add(under)
    return {(a, b) for a, b in order if not any(b in below.get(c, ()) for c in below[a])}


def depths_of(hasse: set[tuple[int, int]]) -> dict[int, int]:
    """The longest way down to each place that has a neighbour."""
    parents: dict[int, set[int]] = {}
    for above, under in hasse:
        parents.setdefault(under, set()).add(above)

    def depth(place: int) -> int:
        return max((depth(above) + 1 for above in parents.get(place, ())), default=0)

    return {place: depth(place) for link in hasse for place in link}
