"""Reading RDF: every format, and what each kind of damage costs."""

import contextlib
import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from superpeer.rdf import FORMATS, Problem, UnreadableFile, read
from superpeer.rdf.rdfxml import MAX_BROKEN_RECORDS, MAX_DEPTH
from superpeer.rdf.source import BLOCK_BYTES, MAX_NESTING

TITLE = NamedNode("http://purl.org/dc/elements/1.1/title")
BOOK = NamedNode("http://example.org/book/1")
EXPECTED = Triple(BOOK, TITLE, Literal("Faust"))

XML_HEAD = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\n'
    '         xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
)
XML_TAIL = "</rdf:RDF>\n"

ONE_TRIPLE = {
    ".nt": f'{BOOK} {TITLE} "Faust" .\n',
    ".nq": f'{BOOK} {TITLE} "Faust" <http://example.org/graph> .\n',
    ".ttl": f'@prefix dc: <http://purl.org/dc/elements/1.1/> .\n{BOOK} dc:title "Faust" .\n',
    ".trig": f'<http://example.org/graph> {{ {BOOK} {TITLE} "Faust" . }}\n',
    ".jsonld": '{"@id": "http://example.org/book/1", "http://purl.org/dc/elements/1.1/title": "Faust"}',
} | dict.fromkeys(
    (".rdf", ".xml", ".owl"),
    XML_HEAD + f'<rdf:Description rdf:about="{BOOK.value}"><dc:title>Faust</dc:title></rdf:Description>' + XML_TAIL,
)
ONE_TRIPLE[".json"] = ONE_TRIPLE[".jsonld"]


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def load(path: Path) -> tuple[list[Triple], list[Problem]]:
    problems: list[Problem] = []
    return list(read(path, problems.append)), problems


def titles(triples: list[Triple]) -> list[str]:
    return [triple.object.value for triple in triples if isinstance(triple.object, Literal)]


def line(number: int) -> str:
    return f'<http://example.org/book/{number}> {TITLE} "{number}" .\n'


def record(number: int) -> str:
    about = f"http://example.org/book/{number}"
    return f'<rdf:Description rdf:about="{about}"><dc:title>{number}</dc:title></rdf:Description>\n'


def xml(*records: str) -> str:
    return XML_HEAD + "".join(records) + XML_TAIL


def test_every_format_has_an_example() -> None:
    assert set(ONE_TRIPLE) == set(FORMATS)


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("extension", FORMATS)
def test_formats(tmp_path: Path, extension: str, packed: str) -> None:
    content = ONE_TRIPLE[extension].encode()
    path = tmp_path / f"catalogue{extension.upper() if packed == '.GZ' else extension}{packed}"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert load(path) == ([EXPECTED], [])


@pytest.mark.parametrize("extension", FORMATS)
def test_a_byte_order_mark_is_no_text(tmp_path: Path, extension: str) -> None:
    assert load(write(tmp_path / f"marked{extension}", "\ufeff" + ONE_TRIPLE[extension])) == ([EXPECTED], [])


@pytest.mark.parametrize("extension", FORMATS)
def test_an_empty_file_has_no_triples(tmp_path: Path, extension: str) -> None:
    assert load(write(tmp_path / f"empty{extension}", ""))[0] == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.nt", "there is no such file"),
        ("missing.nt.gz", "there is no such file"),
        ("directory.ttl", "this is a directory"),
        ("plain.nt.gz", "not gzipped data"),
        ("catalogue.csv", "known are .nt .nq"),
        ("catalogue", "no RDF format has this extension"),
        ("catalogue.gz", "no RDF format has this extension"),
    ],
)
def test_files_of_which_nothing_can_be_read(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "directory.ttl").mkdir()
    (tmp_path / "plain.nt.gz").write_text(line(1))
    with pytest.raises(UnreadableFile, match=reason) as caught:
        read(tmp_path / name, print)
    assert caught.value.path == tmp_path / name


def test_gzipped_data_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    whole = gzip.compress("".join(map(line, range(50_000))).encode())
    path = tmp_path / "cut.nt.gz"
    path.write_bytes(whole[: len(whole) // 2])
    triples, problems = load(path)
    assert titles(triples) == [str(number) for number in range(len(triples))]
    assert 10_000 < len(triples) < 50_000
    assert "the rest of the file is skipped" in problems[0].message


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("<http://example.org/a> garbage .\n", "predicate"),
        ('<http://example.org/a> <http://example.org/p> "no end .\n', "end"),
        ("<http://example.org/a b> <http://example.org/p> <http://example.org/o> .\n", "is not an IRI"),
        ("<http://example.org/a> <http://example.org/p> <relative> .\n", "is not an IRI"),
        ('<http://example.org/a> <http://example.org/p> "1"^^<a b> .\n', "is not an IRI"),
        (
            "<http://example.org/a> <http://example.org/p> <<( <a:a> <a:b> <a:c> )>> .\n",
            "triple inside a triple",
        ),
        ("\x00\x01\x02\n", ""),
    ],
)
@pytest.mark.parametrize("extension", [".nt", ".nq"])
def test_a_bad_line_costs_that_line(tmp_path: Path, extension: str, bad: str, reason: str) -> None:
    path = write(tmp_path / f"bad{extension}", line(1) + bad + line(2) + line(3))
    triples, problems = load(path)
    assert titles(triples) == ["1", "2", "3"]
    (problem,) = problems
    assert reason in problem.message
    assert problem.path == path
    assert problem.line in (2, None)


def test_a_line_that_is_not_utf8_costs_that_line(tmp_path: Path) -> None:
    latin = f'<http://example.org/a> {TITLE} "caf\xe9" .\n'.encode("latin-1")
    triples, problems = load(write(tmp_path / "latin.nt", line(1).encode() + latin + line(2).encode()))
    assert titles(triples) == ["1", "2"]
    assert [problem.line for problem in problems] == [2]


def test_lines_are_counted_across_blocks(tmp_path: Path) -> None:
    count = 2 * BLOCK_BYTES // len(line(0))
    path = write(tmp_path / "long.nt", "".join(map(line, range(count))) + "bad\n" + line(count))
    triples, problems = load(path)
    assert len(triples) == count + 1
    assert [problem.line for problem in problems] == [count + 1]


@given(bad=st.sets(st.integers(0, 19)), end=st.sampled_from(["\n", "\r\n"]))
def test_all_good_lines_are_read(tmp_path_factory: pytest.TempPathFactory, bad: set[int], end: str) -> None:
    path = tmp_path_factory.mktemp("lines") / "some.nt"
    lines = ["bad" if number in bad else line(number).strip() for number in range(20)]
    triples, problems = load(write(path, end.join(lines)))
    assert titles(triples) == [str(number) for number in range(20) if number not in bad]
    assert [problem.line for problem in problems] == [number + 1 for number in sorted(bad)]


def test_a_bad_statement_of_turtle_costs_that_statement(tmp_path: Path) -> None:
    text = f'{line(1)}<http://example.org/a> unknown:prefix 1 ; {TITLE} "lost" .\n{line(2)}'
    triples, problems = load(write(tmp_path / "bad.ttl", text))
    assert titles(triples) == ["1", "2"]
    assert str(problems[0]) == f"{tmp_path}/bad.ttl:2:24: The prefix unknown: has not been declared; skipped"


@pytest.mark.parametrize("extension", [".ttl", ".trig"])
def test_a_bad_iri_in_turtle_costs_its_triple(tmp_path: Path, extension: str) -> None:
    text = f'{BOOK} {TITLE} "1", <http://example.org/a b|c>, "2" ; {TITLE} "3" .\n'
    triples, problems = load(write(tmp_path / f"iri{extension}", text))
    assert titles(triples) == ["1", "2", "3"]
    assert "<http://example.org/a b|c> is not an IRI" in problems[0].message


def test_bytes_that_are_not_utf8_do_not_end_turtle(tmp_path: Path) -> None:
    latin = f'{BOOK} {TITLE} "caf\xe9" .\n'.encode("latin-1")
    triples, problems = load(write(tmp_path / "latin.ttl", line(1).encode() + latin + line(2).encode()))
    assert titles(triples) == ["1", "caf\ufffd", "2"]
    assert [problem.line for problem in problems] == [2]


@pytest.mark.parametrize(
    "bad",
    [
        '<rdf:Description rdf:about="http://example.org/a"><dc:title>R & D</dc:title></rdf:Description>\n',
        "<rdf:Description><dc:title>wrong end</dc:creator></rdf:Description>\n",
        "<rdf:Description rdf:about=unquoted><dc:title>x</dc:title></rdf:Description>\n",
        "<rdf:Description><dc:title>&unknown;</dc:title></rdf:Description>\n",
        "<rdf:Description><other:title>x</other:title></rdf:Description>\n",
        '<rdf:Description rdf:about="a:a" rdf:nodeID="b"><dc:title>x</dc:title></rdf:Description>\n',
        "<rdf:Description><dc:title>\x01</dc:title></rdf:Description>\n",
        "<rdf:Description><dc:title>" * MAX_DEPTH + "</dc:title></rdf:Description>" * MAX_DEPTH + "\n",
    ],
)  # fmt: skip
def test_a_bad_record_of_xml_costs_that_record(tmp_path: Path, bad: str) -> None:
    triples, problems = load(write(tmp_path / "bad.rdf", xml(record(1), bad, record(2), record(3))))
    assert titles(triples) == ["1", "2", "3"]
    assert [problem.line for problem in problems] == [4]


def test_a_bad_iri_in_xml_costs_its_triple(tmp_path: Path) -> None:
    bad = (
        f'<rdf:Description rdf:about="{BOOK.value}"><dc:title>2</dc:title>'
        '<dc:relation rdf:resource="http://example.org/a [b]|c"/><dc:title>3</dc:title></rdf:Description>\n'
    )
    triples, problems = load(write(tmp_path / "iri.rdf", xml(record(1), bad, record(4))))
    assert titles(triples) == ["1", "2", "3", "4"]
    assert [problem.line for problem in problems] == [4]


def test_xml_that_ends_early_keeps_its_whole_records(tmp_path: Path) -> None:
    triples, problems = load(write(tmp_path / "cut.rdf", xml(*map(record, range(9)))[:-60]))
    assert titles(triples) == [str(number) for number in range(8)]
    assert len(problems) == 1


def test_two_documents_in_one_file_are_both_read(tmp_path: Path) -> None:
    assert titles(load(write(tmp_path / "two.rdf", xml(record(1)) + xml(record(2), record(3))))[0]) == [
        "1",
        "2",
        "3",
    ]


def test_a_document_may_be_one_node(tmp_path: Path) -> None:
    text = record(7).replace("<rdf:Description", XML_HEAD.replace("rdf:RDF", "rdf:Description").strip()[:-1])
    assert titles(load(write(tmp_path / "one.rdf", text))[0]) == ["7"]


def test_empty_elements_and_comments_stand_between_records(tmp_path: Path) -> None:
    between = '<!-- <rdf:Description> --><rdf:Description rdf:about="http://example.org/>"/>\n'
    triples, problems = load(write(tmp_path / "between.rdf", xml(record(1), between, record(2))))
    assert titles(triples) == ["1", "2"]
    assert problems == []


def test_too_many_broken_records_end_the_file(tmp_path: Path) -> None:
    broken = "<rdf:Description>&</rdf:Description>\n"
    triples, problems = load(write(tmp_path / "broken.rdf", xml(record(1), broken * (MAX_BROKEN_RECORDS + 10))))
    assert titles(triples) == ["1"]
    assert len(problems) == MAX_BROKEN_RECORDS + 1


@pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "utf-16"])
def test_xml_in_the_encoding_it_declares(tmp_path: Path, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + xml(record(1).replace(">1<", ">Goethe fährt<"))
    triples, problems = load(write(tmp_path / "encoded.rdf", text.encode(encoding)))
    assert (titles(triples), problems) == (["Goethe fährt"], [])


def test_an_unknown_encoding_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "klingon.rdf", '<?xml version="1.0" encoding="klingon"?>\n' + xml(record(1)))
    with pytest.raises(UnreadableFile, match="klingon"):
        load(path)


def test_entities_are_replaced(tmp_path: Path) -> None:
    declared = (
        '<!DOCTYPE rdf:RDF [<!ENTITY ex "http://example.org/"> <!ENTITY b "&ex;book/"> <!ENTITY q "&#34;&#38;lt;">]>'
    )
    body = '<rdf:Description rdf:about="&b;1"><dc:title>&ex; &q; &amp;</dc:title></rdf:Description>\n'
    (triple,), problems = load(write(tmp_path / "entities.owl", declared + xml(body)))
    assert triple == Triple(BOOK, TITLE, Literal('http://example.org/ "< &'))
    assert problems == []


@pytest.mark.parametrize("attack", ["<dc:title>&e9;</dc:title>", "<dc:title>" + "&e3;" * 2000 + "</dc:title>"])
def test_entities_cannot_fill_the_memory(tmp_path: Path, attack: str) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    declared = f'<!DOCTYPE rdf:RDF [<!ENTITY e0 "lol">{levels}]>'
    bad = f"<rdf:Description>{attack}</rdf:Description>\n"
    triples, problems = load(write(tmp_path / "bomb.rdf", declared + xml(record(1), bad, record(2))))
    assert [title for title in titles(triples) if len(title) < 10] == ["1", "2"]
    assert all(len(title) < 10_000_000 for title in titles(triples))
    assert len(triples) + len(problems) == 3


def test_no_entity_is_fetched(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "do not read")
    declared = f'<!DOCTYPE rdf:RDF [<!ENTITY secret SYSTEM "{secret.as_uri()}">]>'
    bad = "<rdf:Description><dc:title>&secret;</dc:title></rdf:Description>\n"
    triples, _ = load(write(tmp_path / "fetch.rdf", declared + xml(record(1), bad)))
    assert titles(triples) == ["1"]


def test_a_bad_value_in_json_costs_that_value(tmp_path: Path) -> None:
    text = (
        '[{"@id": "http://example.org/1", "http://example.org/p": "1"},'
        ' {"@id": "http://example.org/2", "http://example.org/p": {"@value": 1, "@language": "en"}},'
        ' {"@id": "http://example.org/a b", "http://example.org/p": "lost"},'
        ' {"@id": "http://example.org/3", "http://example.org/p": "3"}]'
    )
    triples, problems = load(write(tmp_path / "bad.jsonld", text))
    assert {"1", "3"} <= set(titles(triples))
    assert "lost" not in titles(triples)
    assert len(problems) >= 2


def test_no_context_is_fetched(tmp_path: Path) -> None:
    text = '{"@context": "http://example.org/context.jsonld", "@id": "http://example.org/1", "title": "Faust"}'
    triples, problems = load(write(tmp_path / "remote.jsonld", text))
    assert triples == []
    assert (
        problems[0].message == "a context that would have to be fetched is not known; write it into the file; skipped"
    )


def test_json_that_ends_early_keeps_what_came_before(tmp_path: Path) -> None:
    text = '[{"@id": "http://example.org/1", "http://example.org/p": "1"}, {"@id": "http'
    triples, problems = load(write(tmp_path / "cut.jsonld", text))
    assert titles(triples) == ["1"]
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [("deep.jsonld", '{"http://example.org/p":', "}"), ("deep.ttl", "<a:a> <a:b> <<( <a:a> <a:b> ", ")>>")],
)
def test_deep_nesting_is_refused(tmp_path: Path, name: str, start: str, end: str) -> None:
    depth = 100 * MAX_NESTING
    triples, problems = load(write(tmp_path / name, start * depth + "1" + end * depth))
    assert triples == []
    assert "deep" in problems[0].message


@pytest.mark.parametrize(
    ("extension", "text"),
    [(".ttl", f'<one> {TITLE} "1" .'), (".rdf", xml(record(1).replace("http://example.org/book/1", "one")))],
)
def test_relative_iris_are_resolved(tmp_path: Path, extension: str, text: str) -> None:
    path = write(tmp_path / f"relative{extension}", text)
    assert [triple.subject for triple in read(path, print)] == [NamedNode((tmp_path / "one").as_uri())]
    given = read(path, print, base="http://example.org/catalogue/")
    assert [triple.subject for triple in given] == [NamedNode("http://example.org/catalogue/one")]


def test_blank_nodes_keep_their_names_across_a_file(tmp_path: Path) -> None:
    bad = "<rdf:Description><dc:title>&</dc:title></rdf:Description>\n"
    first = '<rdf:Description rdf:nodeID="n"><dc:title>1</dc:title></rdf:Description>\n'
    triples, _ = load(write(tmp_path / "blank.rdf", xml(first, bad, first.replace("1", "2"))))
    assert titles(triples) == ["1", "2"]
    assert triples[0].subject == triples[1].subject


@given(
    extension=st.sampled_from(sorted(FORMATS)),
    damage=st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=4)), max_size=5),
    noise=st.binary(max_size=200),
)
@example(extension=".rdf", damage=[], noise=b"<")
def test_no_damage_is_more_than_a_warning(
    tmp_path_factory: pytest.TempPathFactory, extension: str, damage: list[tuple[int, bytes]], noise: bytes
) -> None:
    data = bytearray(ONE_TRIPLE[extension].encode() * 3)
    for at, replacement in damage:
        start = at % (len(data) + 1)
        data[start : start + len(replacement)] = replacement
    path = write(tmp_path_factory.mktemp("damage") / f"damaged{extension}", bytes(data) + noise)
    # The one thing that may be fatal: a declaration damaged so that it names no known encoding.
    with contextlib.suppress(UnreadableFile):
        triples, _ = load(path)
        assert not any(isinstance(triple.object, Triple) for triple in triples)
