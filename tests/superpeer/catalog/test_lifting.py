"""Lifting in columns: what the rule of `superpeer.rdf.lifting` gives triple by triple, however nodes are shared out."""

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from superpeer.catalog.columns import BLANK, LITERAL, TRIPLES, URI, Row, batch_of
from superpeer.catalog.lifting import Lifted, Share, lift_shares, shares_of
from superpeer.catalog.reference import Records, records_of
from superpeer.catalog.scanning import Wanted
from superpeer.catalog.writing import TableWriter
from superpeer.rdf.lifting import NAMES

DC = "http://purl.org/dc/elements/1.1/"
MEMBER = "http://www.w3.org/1999/02/22-rdf-syntax-ns#_12"
NO_MEMBER = "http://www.w3.org/1999/02/22-rdf-syntax-ns#_0"


def nested_rows(mark: str, seed: int) -> list[Row]:
    """Triples with blank nodes: names, names of names, rings, nodes without a name, and nodes nobody refers to."""
    generator = random.Random(seed)
    nodes = [f"{mark}_n{i}" for i in range(30)]
    said = [*NAMES[:3], MEMBER, NO_MEMBER, DC + "title"]
    rows: list[Row] = []
    for _ in range(120):
        subject = generator.choice([f"http://e/{generator.randrange(20)}", *generator.sample(nodes, 2)])
        is_blank = subject in nodes
        value = generator.choice([generator.choice(nodes), "a", "b", f"http://e/{generator.randrange(5)}"])
        kind = BLANK if value in nodes else LITERAL if len(value) == 1 else URI
        if is_blank or kind == BLANK:
            language = generator.choice(["", "en"]) if kind == LITERAL else ""
            name = generator.choice(said if is_blank else [DC + "creator", DC + "subject"])
            rows.append((subject, is_blank, name, value, kind, language, ""))
    return rows


def lifted(shares: list[Share], directory: Path, name: str) -> tuple[Lifted, Records]:
    target = directory / name
    for made in (target, target / "pieces"):
        made.mkdir()
    found = lift_shares(shares, target.as_uri(), (target / "pieces").as_uri(), "x", Wanted(buckets=2))
    records: Records = {}
    for row in pq.read_table(target / "x.parquet").to_pylist():
        subject, is_blank, predicate, *node = row.values()
        assert not is_blank
        records.setdefault(subject, set()).add((predicate, tuple(node)))
    return found, records


def anonymous(rows: list[Row]) -> int:
    """Blank subjects that have no name, or that nobody refers to; a name may be that of a second node."""
    own = {row[0] for row in rows if row[1] and row[2] in (*NAMES, MEMBER) and row[4] == LITERAL}
    further = {row[0] for row in rows if row[1] and row[2] in (*NAMES, MEMBER) and row[4] == BLANK and row[3] in own}
    referred = {row[3] for row in rows if row[4] == BLANK}
    return len({row[0] for row in rows if row[1]} - ((own | further) & referred))


@pytest.mark.parametrize("seed", range(4))
def test_names_stand_for_nodes_however_these_are_shared_out(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = [f"{i:012x}" for i in range(3)]
    rows = {mark: nested_rows(mark, seed * 10 + i) for i, mark in enumerate(marks)}
    nested = tmp_path / "nested"
    nested.mkdir()
    for mark, some in rows.items():
        # In two tables: a node may be spoken of in both.
        for place, part in (("0", some[:50]), ("1", some[50:])):
            with TableWriter(nested.as_uri(), f"{mark}-{place}.parquet", TRIPLES) as writer:
                writer.add(batch_of(part))
    expected = records_of([row for some in rows.values() for row in some])
    (whole,) = shares_of(nested.as_uri())
    assert (len(whole.uris), whole.parts) == (6, 1)
    monkeypatch.setattr("superpeer.catalog.lifting.SHARE_BYTES", 500)
    shares = shares_of(nested.as_uri())
    assert len(shares) > 2 * len(marks)
    for name, some_shares in (("whole", [whole]), ("shared", shares)):
        found, records = lifted(some_shares, tmp_path, name)
        assert records == expected
        assert found.anonymous == sum(map(anonymous, rows.values()))
