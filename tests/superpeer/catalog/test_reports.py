"""Reports: well formed whatever the data says, light where there is nothing, and numbers as people write them."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from superpeer.catalog import reference
from superpeer.catalog.advertising import advise
from superpeer.catalog.catalogue import Manifest
from superpeer.catalog.page import grouped, last_part, local, percent
from superpeer.catalog.poset_report import draw
from superpeer.catalog.profile_report import write_report
from tests.superpeer.catalog.samples import write_lines

HOSTILE = """\
<http://e/1> <http://e/p'"onload=x> "<script>alert(1)</script>" .
<http://e/1> <http://e/q> "]]>&lt;\\u0001" .
<http://e/2> <http://e/q> "]]>&lt;\\u0001" .
<http://e/3> <http://e/q> "x" .
<http://e/4> <http://e/q> "x" .
<http://e/5> <http://e/q> "y" .
<http://e/6> <http://e/q> "y" .
"""


def report(path: Path) -> str:
    found = reference.profile_records(reference.records_of(reference.read_rows([path])))
    manifest = Manifest((), (), found.triples, found.triples, 0, 0, 0, 0, 0, False, False, 0)
    return write_report("<b>", found, advise(found), manifest, [("<i>bad</i>", 2)])


def parsed(text: str) -> ET.Element:
    """As XML, which is stricter than any browser."""
    head, _, body = text.removeprefix("<!doctype html>\n").partition("</head>")
    assert "<title>Profile of &lt;b&gt;</title>" in head
    return ET.fromstring(body.removesuffix("</html>\n"))


@pytest.mark.parametrize("seed", range(3))
def test_a_report_is_well_formed(tmp_path: Path, seed: int) -> None:
    body = parsed(report(write_lines(tmp_path / "a.nt", seed)))
    titles = [one.text for one in body.iter("h2")]
    assert titles[:2] == ["What to advertise", "Properties"]
    assert titles[-1] == "The input"


def test_data_stays_data(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text(HOSTILE)
    text = report(path)
    parsed(text)
    assert "<script" not in text
    assert "<i>bad" not in text


def test_a_report_of_nothing_has_no_empty_plots(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text("")
    body = parsed(report(path))
    assert [one.text for one in body.iter("h2")] == ["What to advertise", "Properties", "The input"]
    assert not list(body.iter("svg"))


def test_a_drawing_has_every_place_and_link() -> None:
    texts = ["X : t(X, dc:date, D)", 'X : t(X, dc:date, D) & D >= 2000 & D <= 2001 & D = "<&>"']
    places = [(number, depth, 2 - depth, texts[depth > 0]) for number, depth in enumerate([0, 1, 1, 1, 1, 1, 1, 1])]
    links = [(0, number) for number in range(1, 8)]
    drawing = ET.fromstring(draw(places, links, 9))
    space = "{http://www.w3.org/2000/svg}"
    assert len(list(drawing.iter(f"{space}rect"))) == len(places)
    assert len(list(drawing.iter(f"{space}path"))) == len(links)
    assert draw([], [], 0) == ""


def test_names_and_numbers() -> None:
    assert local("http://purl.org/dc/elements/1.1/date") == "dc:date"
    assert local("http://www.gutenberg.org/2009/pgterms/name") == "pgterms/name"
    assert local("http://purl.org/rss/1.0/link") == "rss/link"
    assert local("http://example.org/ns/v2/#name") == "ns/name"
    assert last_part("http://www.gutenberg.org/2009/agents/116") == "agents/116"
    assert last_part("https://aclanthology.org/2024.lrec-main") == "2024.lrec-main"
    assert [grouped(number) for number in (2004, -750, 40535)] == ["2004", "-750", "40,535"]
    assert [percent(part, 10_000) for part in (0, 1, 50, 9_999, 10_000)] == [
        "0 %",
        "< 0.1 %",
        "0.5 %",
        "> 99.9 %",
        "100 %",
    ]
    assert percent(1, 0) == "-"
