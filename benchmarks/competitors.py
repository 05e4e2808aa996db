"""The same work done by others: what a notification matches, as qel alone, SPARQL, a poset, rules and SQL find it.

Each takes queries once and then answers how many of them a publication matches. Those that are not installed are left
out. The SQL and the rules know the operators of the bibliographic workload only: equality, `contains` and ranges of
years. PostgreSQL is a server of its own, which the variable SUPERPEER_POSTGRESQL names with a connection string; only
temporary tables are made in it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import qel
from qel.matching import is_met
from qel.normal import Disjunct
from qel.syntax import Query
from qel.topics import NO_TOPICS
from qel.values import Description, Kind, describe
from superpeer.matching.poset import IndexedPoset

Count = Callable[[list[Any]], int]
"""How many subscriptions the triples of a publication match."""

_FAR = 1 << 62


def in_python(queries: Iterable[Query]) -> Count:
    held = list(queries)

    def count(triples: list[Any]) -> int:
        (description,) = describe(triples)
        return sum(is_met(query, description, NO_TOPICS) for query in held)

    return count


def in_sparql(queries: Iterable[Query]) -> Count:
    asks = [qel.to_sparql(query).replace("SELECT DISTINCT ?X", "ASK", 1) for query in queries]

    def count(triples: list[Any]) -> int:
        store = ox.Store()
        store.extend(ox.Quad(triple.subject, triple.predicate, triple.object) for triple in triples)
        return sum(bool(store.query(ask)) for ask in asks)

    return count


def in_poset(queries: Iterable[Query]) -> Count:
    """From the roots downwards, as in the chapter. The links are those that the indexed poset finds."""
    indexed: IndexedPoset[int] = IndexedPoset()
    indexed.insert_many((query, number) for number, query in enumerate(queries))

    def count(triples: list[Any]) -> int:
        (description,) = describe(triples)
        pending = list(indexed.roots)
        seen = set(pending)
        found = 0
        for place in pending:
            if is_met(place.query, description, NO_TOPICS):
                found += len(place.sources)
                fresh = place.children - seen
                seen |= fresh
                pending.extend(fresh)
        return found

    return count


def in_clips(queries: Iterable[Query]) -> Count | None:
    """A rule for each disjunct in the rete engine CLIPS; what matches is on the agenda."""
    try:
        import clips
    except ImportError:
        return None
    environment = clips.Environment()
    environment.build("(deftemplate said (slot property) (slot text) (slot number))")
    said = environment.find_template("said")
    for number, query in enumerate(queries):
        for which, disjunct in enumerate(query.normal_form.disjuncts):
            environment.build(f"(defrule s{number}x{which} {' '.join(_patterns(disjunct))} =>)")

    def count(triples: list[Any]) -> int:
        (description,) = describe(triples)
        facts = [
            said.assert_fact(property=clips.Symbol(_symbol(name)), text=text, number=number)
            for name, text, number in _facts(description)
        ]
        found = {activation.name.partition("x")[0] for activation in environment.activations()}
        for fact in facts:
            fact.retract()
        return len(found)

    return count


@dataclass(frozen=True)
class Dialect:
    """How a system writes what systems write differently: a place for a value, and where a text lies in another."""

    place: str = "?"
    position: str = "instr"


def in_sql(queries: Iterable[Query], connection: Any, dialect: Dialect) -> Count:
    """A table of predicates, joined with what a publication says: a disjunct matches if all its predicates are met."""
    connection.execute("CREATE TEMPORARY TABLE asked (disjunct BIGINT, subscription BIGINT, predicates INT)")
    connection.execute(
        "CREATE TEMPORARY TABLE predicate (disjunct BIGINT, place INT, kind INT,"
        " property TEXT, constant TEXT, low BIGINT, high BIGINT)"
    )
    connection.execute("CREATE TEMPORARY TABLE said (property TEXT, constant TEXT, number BIGINT)")
    _fill(connection, queries)
    connection.execute("CREATE INDEX by_constant ON predicate (property, constant)")
    statement = (
        "SELECT count(DISTINCT a.subscription) FROM asked a JOIN ("
        " SELECT disjunct, count(DISTINCT place) AS met FROM ("
        "  SELECT p.disjunct, p.place FROM predicate p JOIN said s ON p.property = s.property"
        "   WHERE p.kind = 0 AND p.constant = s.constant"
        "  UNION ALL SELECT p.disjunct, p.place FROM predicate p JOIN said s ON p.property = s.property"
        f"   WHERE p.kind = 1 AND {dialect.position}(s.constant, p.constant) > 0"
        "  UNION ALL SELECT p.disjunct, p.place FROM predicate p JOIN said s ON p.property = s.property"
        "   WHERE p.kind = 2 AND s.number BETWEEN p.low AND p.high"
        " ) AS one GROUP BY disjunct) m ON a.disjunct = m.disjunct AND a.predicates = m.met"
    )

    def count(triples: list[Any]) -> int:
        (description,) = describe(triples)
        connection.execute("DELETE FROM said")
        places = ", ".join([dialect.place] * 3)
        insert = getattr(connection, "executemany", None) or connection.cursor().executemany
        insert(f"INSERT INTO said VALUES ({places})", list(_facts(description)))
        (found,) = connection.execute(statement).fetchone()
        return int(found)

    return count


def in_sqlite(queries: Iterable[Query]) -> Count:
    return in_sql(queries, sqlite3.connect(":memory:"), Dialect())


def in_duckdb(queries: Iterable[Query]) -> Count | None:
    try:
        import duckdb
    except ImportError:
        return None
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return in_sql(queries, connection, Dialect())


@dataclass(frozen=True)
class Served:
    """A count that another process makes, whose time counts as well."""

    count: Count
    process: int

    def __call__(self, triples: list[Any]) -> int:
        return self.count(triples)

    def seconds(self) -> float:
        """The processor time of that process so far, in ticks of a hundredth of a second."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_postgresql(queries: Iterable[Query]) -> Count | None:
    where = os.environ.get("SUPERPEER_POSTGRESQL")
    try:
        import psycopg
    except ImportError:
        return None
    if where is None:
        return None
    connection = psycopg.connect(where, autocommit=True)
    connection.execute("SET max_parallel_workers_per_gather = 0")
    count = in_sql(queries, connection, Dialect("%s", "strpos"))
    for table in ("asked", "predicate"):
        connection.execute(f"ANALYZE {table}")
    return Served(count, connection.info.backend_pid)


def _fill(connection: Any, queries: Iterable[Query]) -> None:
    asked: list[tuple[int, int, int]] = []
    predicates: list[tuple[Any, ...]] = []
    for number, query in enumerate(queries):
        for disjunct in query.normal_form.disjuncts:
            rows = list(_predicates(disjunct))
            predicates += [(len(asked), place, *row) for place, row in enumerate(rows)]
            asked.append((len(asked), number, len(rows)))
    for table, rows_of_table in (("asked", asked), ("predicate", predicates)):
        _insert(connection, table, rows_of_table)


def _insert(connection: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return
    if hasattr(connection, "info"):
        with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    import pandas as pd

    frame = pd.DataFrame(rows)
    connection.register("frame", frame)
    connection.execute(f"INSERT INTO {table} SELECT * FROM frame")
    connection.unregister("frame")


def _predicates(disjunct: Disjunct) -> Iterator[tuple[int, str, str, int, int]]:
    """Kind (0 equality, 1 contains, 2 range), property, constant and both ends."""
    for name, slots in disjunct.slots.items():
        for slot in slots:
            region = slot.region
            if region.uri is not None or region.exact is not None:
                yield 0, name, region.uri if region.uri is not None else region.exact or "", 0, 0
            elif region.parts:
                yield 1, name, region.parts[0], 0, 0
            else:
                assert region.integer is not None
                low, high = region.integer
                yield 2, name, "", -_FAR if low is None else low, _FAR if high is None else high


def _facts(description: Description) -> Iterator[tuple[str, str, int]]:
    for name, values in description.values.items():
        for value in values:
            number = value.integer if value.kind is Kind.LITERAL and value.integer is not None else -_FAR - 1
            yield name, value.text, number


def _patterns(disjunct: Disjunct) -> Iterator[str]:
    for place, (kind, name, constant, low, high) in enumerate(_predicates(disjunct)):
        if kind == 0:
            yield f'(said (property {_symbol(name)}) (text "{constant}"))'
        elif kind == 1:
            yield f'(said (property {_symbol(name)}) (text ?t{place}&:(str-index "{constant}" ?t{place})))'
        else:
            yield f"(said (property {_symbol(name)}) (number ?n{place}&:(<= {low} ?n{place} {high})))"


def _symbol(name: str) -> str:
    return name.rpartition("/")[2].replace("#", "-")
