"""`superpeer backbone plan` and `superpeer backbone replay`, as a user calls them."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from hypercup import HypercupError
from superpeer.cli.backbone import app

SCRIPT = "join a\njoin b c\ncrash b\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def refusal(*arguments: str) -> str:
    """The sentence of an error that the command leaves to `main` to print."""
    result = run(*arguments)
    assert isinstance(result.exception, HypercupError)
    sentence = str(result.exception)
    assert "\n" not in sentence
    return sentence


def test_a_plan_lists_labels_links_and_a_broadcast() -> None:
    output = run("plan", "--super-peers", "6").output
    assert "6 super-peers, 3 dimensions, 9 links" in output
    assert "broadcast from" in output
    assert "5 messages, at most 3 hops" in output
    assert output.count("── ") == 5


def test_a_large_plan_counts_instead() -> None:
    output = run("plan", "--super-peers", "1000").output
    assert "999 messages" in output
    assert len(output.splitlines()) < 40


def test_a_plan_of_one() -> None:
    assert "1 super-peer, 0 dimensions, 0 links" in run("plan", "-n", "1").output


def test_a_plan_as_json() -> None:
    described = json.loads(run("plan", "--super-peers", "12", "--seed", "3", "--json").stdout)
    assert described["super_peers"] == len(described["labels"]) == 12
    assert described["broadcast"]["messages"] == len(described["broadcast"]["edges"]) == 11
    for entry in described["labels"]:
        assert [link["dimension"] for link in entry["out_links"]] == list(range(len(entry["label"])))


@pytest.mark.parametrize("suffix", ["svg", "dot", "SVG"])
def test_a_plan_is_drawn(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"cube.{suffix}"
    assert run("plan", "--super-peers", "8", "--draw", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    if suffix == "dot":
        assert text.startswith("graph")
    else:
        ET.fromstring(text)


@pytest.mark.parametrize("n", ["0", "-3", "16385", "99999999999999999999"])
def test_impossible_sizes_are_refused(n: str) -> None:
    assert "1 to 16384 super-peers" in refusal("plan", "--super-peers", n)


def test_drawings_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    assert ".svg or .dot" in refusal("plan", "-n", "3", "--draw", str(tmp_path / "cube.png"))
    assert "cannot write" in refusal("plan", "-n", "3", "--draw", str(tmp_path / "no" / "cube.svg"))


def test_a_number_that_is_none_is_a_usage_error() -> None:
    assert run("plan", "--super-peers", "many").exit_code == 2


def test_a_replay_shows_each_step(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT, encoding="utf-8")
    output = run("replay", str(script)).output
    assert [line for line in output.splitlines() if line.startswith("line ")] == [
        "line 1: join a",
        "line 2: join b c",
        "line 3: crash b",
    ]
    assert output.count("same view after") == 3


@pytest.mark.parametrize("options", [[], ["--unstructured"]])
def test_a_replay_as_json(tmp_path: Path, options: list[str]) -> None:
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT, encoding="utf-8")
    scenes = json.loads(run("replay", str(script), "--json", *options).stdout)
    assert [scene["command"] for scene in scenes] == SCRIPT.splitlines()
    assert [len(scene["views"][0]["places"]) for scene in scenes] == [1, 3, 2]


def test_scripts_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    assert "cannot read" in refusal("replay", str(tmp_path / "none.txt"))
    assert "cannot read" in refusal("replay", str(tmp_path))
    script = tmp_path / "script.txt"
    script.write_bytes(b"join \xff")
    assert "not UTF-8" in refusal("replay", str(script))
    script.write_text("join a\nfly a", encoding="utf-8")
    assert "line 2: expected one of join" in refusal("replay", str(script))
