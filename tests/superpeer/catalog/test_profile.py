"""The profile: what Spark counts is what the plain reference counts, for any partitioning, and from run to run."""

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qel.values import integer_view
from superpeer.catalog import reference, views
from superpeer.catalog.columns import LITERAL
from superpeer.catalog.ingest import convert
from tests.superpeer.catalog.samples import NASTY, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_forms_and_integers_are_those_of_the_language() -> None:
    texts = [*NASTY, *(f"{sign}{text}{end}" for text in NASTY[:20] for sign in ("", "-", " ") for end in ("Z", "0"))]
    # A slice of a longer column, as tasks have them.
    forms, integers = views.forms_of(pa.array(["2004", *texts, "x"])[1:-1])
    found = dict(zip(integers.short.tolist(), integers.numbers.tolist(), strict=True))
    found |= dict(zip(integers.long, integers.long_numbers, strict=True))
    for i, text in enumerate(texts):
        assert views.FORMS[forms[i]] == reference.form_of((text, LITERAL, "", "")), repr(text[:60])
        assert found.get(i) == integer_view(text), repr(text[:60])


@given(st.text(st.sampled_from("0129-+.:TZ eE/W\n"), max_size=14), st.sampled_from(["", "2004", "2004-02-", "-0044-"]))
def test_forms_of_anything_like_a_date(rest: str, start: str) -> None:
    ((form,), integers) = views.forms_of(pa.array([start + rest]))
    assert views.FORMS[form] == reference.form_of((start + rest, LITERAL, "", ""))
    assert [*integers.numbers.tolist(), *integers.long_numbers] == [
        number for number in [integer_view(start + rest)] if number is not None
    ]


@pytest.mark.spark
@pytest.mark.parametrize("size", [3_000, 5_000])
def test_the_profile_is_that_of_the_reference(
    spark: "SparkSession", tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for files in many pieces, and whatever comes from which piece."""
    files = [
        write_lines(tmp_path / "a.nt", size),
        write_lines(tmp_path / "b.nq", size + 100, quads=True),
    ]
    monkeypatch.setattr("superpeer.catalog.inputs.LEAST_SPLIT_BYTES", size)
    monkeypatch.setattr("superpeer.catalog.inputs.MOST_SPLIT_BYTES", size)
    monkeypatch.setattr("superpeer.catalog.surveying.BUCKET_ROWS", 100)
    # A name that stands for another node's is then often in another share than what it stands for.
    monkeypatch.setattr("superpeer.catalog.lifting.SHARE_BYTES", size)
    catalogue = convert(spark, [str(tmp_path)], str(tmp_path / "out"))
    rows = reference.read_rows(files)
    records = reference.records_of(rows)
    expected = reference.profile_records(records)
    assert catalogue.profile() == expected
    assert catalogue.manifest.read == len(rows)
    assert catalogue.manifest.triples == expected.triples
    assert catalogue.manifest.has_repeats
    found = sorted(map(tuple, catalogue.triples(spark).collect()))
    assert found == sorted((subject, name, *node) for subject, said in records.items() for name, node in said)


@pytest.mark.spark
def test_when_much_is_repeated_the_profile_is_the_same(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("superpeer.catalog.surveying.LITTLE", 3)
    path = write_lines(tmp_path / "a.nt", 6)
    path.write_bytes(path.read_bytes() * 2)
    catalogue = convert(spark, [str(path)], str(tmp_path / "out"))
    assert catalogue.manifest.tables == ("distinct-0",)
    expected = reference.profile_records(reference.records_of(reference.read_rows([path])))
    assert catalogue.profile() == expected


@pytest.mark.spark
def test_an_estimate_is_near_and_is_said_to_be_one(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.nt"
    path.write_text("".join(f'<http://e/{i}> <http://e/{i % 2}> "{i // (1 + i % 2 * 3)}" .\n' for i in range(6_000)))
    monkeypatch.setattr("superpeer.catalog.scanning.MANY_VALUES", 2_000)
    found = convert(spark, [str(path)], str(tmp_path / "out"), approximate=True).profile()
    by_name = {one.property: one for one in found.properties}
    assert not by_name["http://e/0"].exact
    assert by_name["http://e/0"].distinct == pytest.approx(3_000, rel=0.08)
    assert by_name["http://e/1"].exact
    assert by_name["http://e/1"].distinct == 1_500
    assert {one.property for one in found.top_values} == {"http://e/1"}


@pytest.mark.spark
def test_a_packed_file_says_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "a.nt", 5)
    packed = tmp_path / "packed" / "a.nt.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    one = convert(spark, [str(plain)], str(tmp_path / "one"))
    other = convert(spark, [str(packed)], str(tmp_path / "other"))
    assert one.profile() == other.profile()
