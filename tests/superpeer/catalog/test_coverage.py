"""Coverage: the matcher in tasks says what `qel` says, and no level of advertising loses a subscription."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from qel.matching import is_met
from qel.topics import NO_TOPICS
from qel.values import describe
from superpeer.advertising import load_advertisement, write_advertisement
from superpeer.catalog import record_matching, reference
from superpeer.catalog.advertising import advise
from superpeer.catalog.asking import TESTS, Writer
from superpeer.catalog.covering import cover_files
from tests.qel.strategies import queries, triple_sets
from tests.superpeer.catalog.samples import write_lines, write_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_coverage_is_that_of_the_reference(spark: "SparkSession", tmp_path: Path) -> None:
    files = [write_lines(tmp_path / "one.nt", 11), write_lines(tmp_path / "two.nt", 12, resources=15)]
    asked = write_subscriptions(tmp_path / "subscriptions.txt", 7, 60)
    found = cover_files(spark, [str(path) for path in files], [str(asked)], tmp_path / "out")

    rows = pq.read_table(tmp_path / "out" / "subscriptions.parquet").to_pylist()
    queries = [qel.parse(row["text"]) for row in rows]
    assert [row["number"] for row in rows] == list(range(len(rows)))
    assert [row["id"] for row in rows] == sorted(map(qel.canonical_id, queries))
    assert found.rejected == 2
    assert found.asked == 60
    by_peer = pq.read_table(tmp_path / "out" / "matches.parquet").to_pylist()
    by_resource = pq.read_table(tmp_path / "out" / "resources.parquet").to_pylist()
    totals = [0] * len(queries)
    for path in files:
        peer = path.stem
        records = reference.records_of(reference.read_rows([path]))
        matched, resources = reference.coverage_of(records, queries)
        assert {row["resource"]: row["subscriptions"] for row in by_resource if row["peer"] == peer} == resources
        mine = {row["number"]: row for row in by_peer if row["peer"] == peer}
        assert {number: row["matched"] for number, row in mine.items()} == {
            number: len(some) for number, some in enumerate(matched) if some
        }
        for number, row in mine.items():
            assert set(row["samples"]) <= matched[number]
            assert len(set(row["samples"])) == min(5, len(matched[number]))
        for number, some in enumerate(matched):
            totals[number] += len(some)
        advertisements = advise(reference.profile_records(records)).advertisements
        for row in found.routing:
            if row.peer == peer and row.level != "flooding":
                forwarded = {i for i, query in enumerate(queries) if qel.covers(advertisements[row.level], query)}
                useful = {i for i, some in enumerate(matched) if some}
                assert (row.forwarded, row.needless, row.missed) == (len(forwarded), len(forwarded - useful), 0)
                assert useful <= forwarded
    assert [row["matched"] for row in rows] == totals
    assert sum(totals) > 0
    summary = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert summary["resources_matched"] == len(by_resource)


@settings(max_examples=50, deadline=None)
@given(
    asked=st.lists(queries(leaves=4), min_size=1, max_size=12),
    said=st.lists(triple_sets(subjects=2), min_size=1, max_size=6),
    batch=st.integers(1, 9),
    piece=st.integers(1, 12),
    together=st.integers(1, 4),
)
def test_a_task_finds_what_the_language_says(
    tmp_path_factory: pytest.TempPathFactory,
    asked: list[qel.Query],
    said: list[list[Any]],
    batch: int,
    piece: int,
    together: int,
) -> None:
    """However triples come in batches, and however many subjects are looked at together."""
    path = tmp_path_factory.mktemp("asked")
    writer = Writer()
    tests = pa.array([writer.write(query) for query in asked], TESTS)
    pq.write_table(pa.table({"at": range(len(asked)), "tests": tests}), path / "table.parquet")
    # Each set of triples is about subjects of its own, but for the first, which queries ask for by name.
    descriptions = []
    for number, triples in enumerate(said):
        for description in describe(triples):
            description.subject.text += f"/{number}" if number else ""
            descriptions.append(description)
    rows = [
        (mark, about.subject.text, name, value.text, value.kind.value.partition(" ")[0].lower(), value.language)
        for mark, about in enumerate(descriptions)
        for name, values in about.values.items()
        for value in values
    ]
    names = ["mark", "subject", "predicate", "object", "kind", "language"]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    types = [pa.int64(), *[pa.string()] * 5]
    table = pa.table([pa.array(one, kind) for one, kind in zip(columns, types, strict=True)], names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_matching, "PIECE_ROWS", piece)
        patch.setattr(record_matching, "SUBJECTS", together)
        batches = iter(table.to_batches(max_chunksize=batch))
        found = [row for one in record_matching.match_batches(batches, str(path)) for row in one.to_pylist()]

    matched = {
        number: [about.subject.text for about in descriptions if is_met(query, about, NO_TOPICS)]
        for number, query in enumerate(asked)
    }
    counts = Counter(resource for resources in matched.values() for resource in resources)
    assert {row["resource"]: row["matches"] for row in found if row["number"] is None} == counts
    by_number = {row["number"]: row for row in found if row["number"] is not None}
    assert {number: row["matches"] for number, row in by_number.items()} == {
        number: len(some) for number, some in matched.items() if some
    }
    for number, row in by_number.items():
        assert [sample["resource"] for sample in row["samples"]] == matched[number][:5]


@pytest.mark.parametrize("seed", range(20, 24))
def test_what_is_published_conforms_to_every_level(tmp_path: Path, seed: int) -> None:
    from qel.advertisements import unadmitted

    records = reference.records_of(reference.read_rows([write_lines(tmp_path / "a.nt", seed)]))
    advice = advise(reference.profile_records(records))
    for level, advertisement in advice.advertisements.items():
        for subject, said in records.items():
            assert not list(unadmitted(advertisement, reference.description_of(subject, said))), level
        path = tmp_path / f"{level}.json"
        path.write_bytes(msgspec.json.encode(write_advertisement(advertisement)))
        assert load_advertisement(path) == advertisement
