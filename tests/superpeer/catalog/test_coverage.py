"""Coverage: the matcher in tasks says what `qel` says, and no level of advertising loses a subscription."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import qel
from superpeer.catalog import reference
from superpeer.catalog.advertising import advise, from_data, to_data
from superpeer.catalog.covering import cover_files
from tests.superpeer.catalog.samples import write_lines, write_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


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


@pytest.mark.parametrize("seed", range(20, 24))
def test_what_is_published_conforms_to_every_level(tmp_path: Path, seed: int) -> None:
    from qel.advertisements import unadmitted

    records = reference.records_of(reference.read_rows([write_lines(tmp_path / "a.nt", seed)]))
    advice = advise(reference.profile_records(records))
    for level, advertisement in advice.advertisements.items():
        for subject, said in records.items():
            assert not list(unadmitted(advertisement, reference.description_of(subject, said))), level
        assert from_data(json.loads(json.dumps(to_data(advertisement)))) == advertisement
