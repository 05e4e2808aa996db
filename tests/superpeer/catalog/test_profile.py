"""The profile: what Spark counts is what the plain reference counts, for any partitioning, and from run to run."""

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qel.values import integer_view
from superpeer.catalog import reference, views
from superpeer.catalog.columns import LITERAL
from superpeer.catalog.ingest import convert
from superpeer.catalog.profile import profile, profile_of
from tests.superpeer.catalog.samples import NASTY, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_forms_and_integers_are_those_of_the_language(spark: "SparkSession") -> None:
    texts = [*NASTY, *(f"{sign}{text}{end}" for text in NASTY[:20] for sign in ("", "-", " ") for end in ("Z", "0"))]
    frame = spark.createDataFrame(
        [(text, LITERAL, "") for text in texts], "object string, kind string, datatype string"
    )
    frame = frame.withColumn("trimmed", views.trimmed()).withColumn("form", views.form())
    frame = frame.withColumn("integer", views.integer())
    found = {
        row["object"]: (row["form"], row["integer"]) for row in frame.select("object", "form", "integer").collect()
    }
    assert set(found) == set(texts)
    for text in texts:
        integer = integer_view(text)
        shown = None if integer is not None and abs(integer) >= 10**38 else integer
        form, as_integer = found[text]
        assert form == reference.form_of((text, LITERAL, "", "")), repr(text[:60])
        assert (None if as_integer is None else int(as_integer)) == shown, repr(text[:60])


@pytest.mark.parametrize("seed", [1, 2])
def test_the_profile_is_that_of_the_reference(spark: "SparkSession", tmp_path: Path, seed: int) -> None:
    files = [
        write_lines(tmp_path / "a.nt", seed),
        write_lines(tmp_path / "b.nq", seed + 100, quads=True),
    ]
    catalogue = convert(spark, [str(tmp_path)], str(tmp_path / "out"))
    rows = reference.read_rows(files)
    records = reference.records_of(rows)
    expected = reference.profile_records(records)
    found = profile(spark, catalogue)
    assert found == expected
    assert catalogue.manifest.read == len(rows)
    assert catalogue.manifest.triples == expected.triples
    assert profile_of(catalogue.triples(spark).repartition(7)) == expected


def test_a_packed_file_says_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "a.nt", 5)
    packed = tmp_path / "packed" / "a.nt.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    one = convert(spark, [str(plain)], str(tmp_path / "one"))
    other = convert(spark, [str(packed)], str(tmp_path / "other"))
    assert profile(spark, one) == profile(spark, other)
