"""`superpeer qel`: what it prints, how it exits, and that nonsense gets a sentence."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

QUERY = 'X : t(X, dc:creator, Y) & t(X, dc:date, D) & Y contains "Nejdl" & D >= 2000'
TURTLE = """
@prefix dc: <http://purl.org/dc/elements/1.1/> .
<http://example.org/a> dc:creator "W. Nejdl", "P. Chirita" ; dc:date "2004-05-10" .
<http://example.org/b> dc:creator "W. Nejdl" ; dc:date "1999" .
[] dc:creator "Nejdl"@de ; dc:date 2001 .
"""


def superpeer(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    result = subprocess.run(
        [sys.executable, "-m", "superpeer", "qel", *arguments],
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def test_check_takes_a_text_a_file_or_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "query.qel"
    file.write_text(QUERY)
    expected = (0, "ok: 2 triples, 1 alternative\n", "")
    assert superpeer("check", QUERY) == expected
    assert superpeer("check", str(file)) == expected
    assert superpeer("check", "-", stdin=QUERY.encode()) == expected
    code, out, _ = superpeer("check", "--json", QUERY)
    assert (code, json.loads(out)["triples"]) == (0, 2)


def test_format_writes_what_parses_back() -> None:
    code, out, _ = superpeer("format", 'PREFIX e: <http://e.org/> X:t(X,e:a,Y)∧(Y⊒"a"∨Y=2)')
    assert (code, out) == (0, 'PREFIX e: <http://e.org/>\nX : t(X, e:a, Y)\n    & (Y contains "a" | Y = 2)\n')


def test_explain_as_json() -> None:
    code, out, _ = superpeer("explain", "--json", QUERY)
    data = json.loads(out)
    assert code == 0
    assert data["alternatives"] == [[["dc:creator", 'containing "Nejdl"'], ["dc:date", "2000 or more"]]]
    assert len(data["id"]) == 32


def test_sparql_there_and_back() -> None:
    code, out, _ = superpeer("sparql", QUERY)
    assert code == 0
    assert out.startswith(("SELECT", "PREFIX"))
    code, back, _ = superpeer("sparql", "--to-qel", out)
    assert code == 0
    assert superpeer("subsumes", QUERY, back)[0] == 0
    assert superpeer("subsumes", back, QUERY)[0] == 0


def test_subsumes_says_yes_or_no_by_its_exit_code() -> None:
    general = "X : t(X, dc:date, D) & D >= 2000"
    assert superpeer("subsumes", general, QUERY)[0] == 0
    code, out, err = superpeer("subsumes", "--json", QUERY, general)
    assert (code, err) == (1, "")
    data = json.loads(out)
    assert data["subsumes"] is False
    assert data["shown_by"]
    assert superpeer("subsumes", "--answers", "D : t(X, dc:date, D)", general)[0] == 1


def test_match_reads_any_format_and_joins_files(tmp_path: Path) -> None:
    turtle = tmp_path / "a.ttl"
    turtle.write_text(TURTLE)
    more = tmp_path / "b.nt.gz"
    more.write_bytes(
        gzip.compress(
            b'<http://example.org/c> <http://purl.org/dc/elements/1.1/creator> "Nejdl" .\n'
            b"this line is broken\n"
            b'<http://example.org/c> <http://purl.org/dc/elements/1.1/date> "2010" .\n'
        )
    )
    code, out, err = superpeer("match", QUERY, str(turtle), str(more))
    assert code == 0
    assert "http://example.org/a" in out
    assert "http://example.org/c" in out
    assert "http://example.org/b" not in out
    assert "3 resources match, of 9 triples" in out
    assert err.count("superpeer: skipped") == 1
    code, out, err = superpeer("match", "--json", QUERY, str(turtle), str(more))
    data = json.loads(out)
    assert (data["count"], data["triples"], data["skipped"]) == (3, 9, 1)
    by_resource = {row["resource"]["value"]: row["bindings"] for row in data["matches"]}
    assert by_resource["http://example.org/a"]["Y"] == [{"type": "literal", "value": "W. Nejdl"}]


def test_nothing_from_a_file_commands_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "hostile.nt"
    file.write_bytes(
        b'<http://example.org/a> <http://purl.org/dc/elements/1.1/title> "\\u001B[31mred" .\n\x1b[31m broken\n'
    )
    code, out, err = superpeer("match", "X : t(X, dc:title, T)", str(file))
    assert code == 0
    assert "red" in out
    assert "\x1b" not in out + err
    assert "\x1b" not in superpeer("check", 'X : t(X, dc:title, T) & T < "\x1b[31m"')[2]


def test_no_match_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "empty.nt"
    file.write_text("")
    assert superpeer("match", QUERY, str(file)) == (0, "0 resources match, of 0 triples\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check", "nothing.qel"], "there is no file nothing.qel"),
        (["check", ""], "found the end of the text"),
        (["check", "."], "is a directory"),
        (["check", "X : t(X, dc:date, D) & D < 1 & D > 1"], "nothing can match this query"),
        (["check", "X" * 5_000], "found"),
        (["explain", "X : t(X, foo:bar, D)"], "the prefix foo: is unknown"),
        (["sparql", 'X : t(X, dc:title, T) & T similar[0.5] "a"'], "SPARQL"),
        (["sparql", "--to-qel", "SELECT nonsense"], "line 1"),
        (["subsumes", QUERY, "X : "], "found the end of the text"),
        (["match", QUERY, "missing.nt"], "missing.nt"),
        (["match", QUERY, "."], "directory"),
        (["match", QUERY, str(Path(__file__))], ".py"),
    ],
)
def test_nonsense_gets_a_sentence(arguments: list[str], sentence: str) -> None:
    code, out, err = superpeer(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("superpeer: ")
    assert sentence in err
    assert "Traceback" not in err


def test_standard_input_that_is_no_text() -> None:
    code, _, err = superpeer("check", "-", stdin=b"\xff\xfe")
    assert code == 2
    assert "standard input is not UTF-8 text" in err
