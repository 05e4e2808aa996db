"""Reading: every format, damaged files, what is kept, what is read again, and files that arrive later."""

import bz2
import gzip
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from typer.testing import CliRunner

from superpeer.catalog import profiling, reference
from superpeer.catalog.following import follow_directory
from superpeer.catalog.ingest import convert
from superpeer.catalog.inputs import UnreadableCatalogue
from superpeer.catalog.session import BadSetting, parse_settings
from superpeer.cli import app
from tests.superpeer.catalog.samples import write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TURTLE = """\
@prefix dc: <http://purl.org/dc/elements/1.1/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
<http://e/1> dc:title "A" ; dc:subject [ rdf:value "Maps" ], [ dc:title "no name" ] .
<http://e/2> dc:title "B", .
<http://e/3> dc:title "C" .
"""
JSON_LD = '{"@id": "http://e/9", "http://purl.org/dc/elements/1.1/title": "J"}'
RDF_XML = """\
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">
<rdf:Description rdf:about="http://e/4"><dc:title>X</dc:title></rdf:Description>
<rdf:Description rdf:about="http://e/5 6"><dc:title>Y</dc:title></rdf:Description></rdf:RDF>
"""


def rows(spark: "SparkSession", *paths: Path, out: Path) -> list[tuple[str, ...]]:
    return sorted(map(tuple, convert(spark, [str(path) for path in paths], str(out)).triples(spark).collect()))


def expected(*paths: Path) -> list[tuple[str, ...]]:
    records = reference.records_of(reference.read_rows(paths))
    return sorted((subject, name, *node) for subject, said in records.items() for name, node in said)


def test_every_format_is_read_and_what_is_wrong_is_kept(spark: "SparkSession", tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.ttl").write_text(TURTLE)
    (data / "b.jsonld").write_text(JSON_LD)
    (data / "c.rdf").write_text(RDF_XML)
    (data / "notes.txt").write_text("no RDF")
    (data / "broken.nt.gz").write_bytes(gzip.compress(write_lines(tmp_path / "x.nt", 1).read_bytes())[:-40])
    (data / "zstd.nt.zst").write_bytes(zstandard.compress(b'<http://e/z> <http://e/p> "z" .\n'))
    (data / "bz.ttl.bz2").write_bytes(bz2.compress(b'<http://e/b> <http://e/p> "b" .'))
    catalogue = convert(spark, [str(data)], str(tmp_path / "out"))
    titles = {row["object"] for row in catalogue.triples(spark).where("predicate like '%title'").collect()}
    assert {"A", "B", "J", "X"} <= titles
    assert {"http://e/z", "http://e/b"} <= {row["subject"] for row in catalogue.triples(spark).collect()}
    subjects = [row["object"] for row in catalogue.triples(spark).where("predicate like '%subject'").collect()]
    assert "Maps" in subjects
    rejected = {(Path(row["file"]).name, row["reason"].split(";")[0]) for row in catalogue.rejected(spark).collect()}
    assert {name for name, _ in rejected} == {"a.ttl", "c.rdf", "broken.nt.gz"}
    assert catalogue.manifest.rejected == catalogue.rejected(spark).count()
    assert any("cannot be read further" in reason for name, reason in rejected if name == "broken.nt.gz")


def test_bzip2_is_divided_and_gives_the_same(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = write_lines(tmp_path / "a.nt", 5, resources=5_000)
    text = plain.read_bytes()
    packed = tmp_path / "a.nt.bz2"
    packed.write_bytes(b"".join(bz2.compress(text[i : i + 30_000], 1) for i in range(0, len(text), 30_000)))
    whole = convert(spark, [str(packed)], str(tmp_path / "whole"))
    monkeypatch.setattr("superpeer.catalog.inputs.PACKING", 1 << 10)
    divided = convert(spark, [str(packed)], str(tmp_path / "divided"))
    assert len(list((tmp_path / "divided" / "parsed" / "plain").iterdir())) == 8
    assert divided.manifest == whole.manifest
    assert whole.manifest.rejected == 3
    assert sorted(divided.triples(spark).collect()) == sorted(whole.triples(spark).collect())
    assert divided.profile() == whole.profile()
    rejected = sorted(divided.rejected(spark).collect())
    assert rejected == sorted(whole.rejected(spark).collect())
    assert all(text[row["offset"] :].startswith(row["text"].encode()) for row in rejected)
    assert [path.name[0] for path in (tmp_path / "divided" / "parsed" / "rejected").iterdir()].count("_") == 0


def test_what_is_unchanged_is_not_read_again(spark: "SparkSession", tmp_path: Path) -> None:
    one, two = write_lines(tmp_path / "one.nt", 1), write_lines(tmp_path / "two.nt", 2)
    out = tmp_path / "out"
    assert rows(spark, one, out=out) == expected(one)
    parsed = {path.name: path.stat().st_mtime_ns for path in (out / "parsed" / "plain").iterdir()}
    assert rows(spark, one, two, out=out) == expected(one, two)
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "parsed" / "plain").iterdir()}
    assert parsed.items() <= kept.items()
    assert len(kept) == 2
    # What a job left that did not come to its end is not ours to read; what a user put there is not ours to delete.
    left = next((out / "parsed" / "plain").iterdir())
    shutil.copy(left, left.with_name("000000000000-000000000000000.parquet"))
    (out / "notes.txt").write_text("mine")
    assert rows(spark, one, two, out=out) == expected(one, two)
    write_lines(one, 3)
    os.utime(one, ns=(1, 1))
    assert rows(spark, one, two, out=out) == expected(one, two)
    assert (out / "notes.txt").read_text() == "mine"
    assert rows(spark, out, out=tmp_path / "unused") == expected(one, two)


def test_files_that_arrive_are_in_the_next_profile(spark: "SparkSession", tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    told: list[profiling.Profiled] = []

    def follow() -> None:
        follow_directory(spark, [str(data)], out, approximate=True, budget_bytes=10_000, once=True, tell=told.append)

    one = write_lines(data / "one.nt", 1, resources=10)
    follow()
    two = write_lines(data / "two.nt", 2, resources=10)
    follow()
    follow()
    held = [len(expected(one)), len(expected(one, two))]
    one.unlink()
    follow()
    assert [done.profile.triples for done in told] == [*held, len(expected(two))]
    for name in ("report.html", "profile.json", "advertisement.json", "void.ttl"):
        assert (out / name).stat().st_size > 100
    report = (out / "report.html").read_text()
    assert "<script" not in report
    assert "src=" not in report


def test_a_missing_path_is_one_sentence(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(UnreadableCatalogue, match="there is no file or directory"):
        convert(spark, [str(tmp_path / "missing.nt")], str(tmp_path / "out"))
    (tmp_path / "x.pdf").write_text("")
    with pytest.raises(UnreadableCatalogue, match="no RDF format has this extension"):
        convert(spark, [str(tmp_path / "x.pdf")], str(tmp_path / "out"))
    with pytest.raises(BadSetting, match="NAME=VALUE"):
        parse_settings(["spark.executor.memory"])


def test_the_commands_explain_themselves() -> None:
    for command in ("profile", "coverage", "poset", "convert"):
        result = CliRunner().invoke(app, ["catalog", command, "--help"])
        assert result.exit_code == 0
        assert f"superpeer catalog {command}" in result.output
