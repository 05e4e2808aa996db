"""Lines in columns: whatever they decide is what pyoxigraph says, and they decide what is common."""

import random
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superpeer.catalog.columns import file_mark, row_of
from superpeer.catalog.inputs import cut, find_files
from superpeer.catalog.lines import read_block
from superpeer.catalog.reading import Reading, read_split
from superpeer.rdf import read
from tests.superpeer.catalog.samples import write_lines

PIECES = [
    *(
        "<",
        ">",
        "http://",
        "urn:",
        "a",
        "é",
        "[",
        "]",
        ":",
        "//",
        "/",
        "?",
        "#",
        "@",
        "%41",
        "%",
        "_:",
        "b-",
        ".",
        " ",
        "\t",
    ),
    *(
        '"',
        "\\",
        "\\n",
        '\\"',
        "\\u00e9",
        "@en",
        "@en-Latn-GB",
        "@x",
        "^^",
        "<http://a/b>",
        "<http://a:80/b#c>",
        "\r",
        "\x00",
    ),
    *(
        "{",
        "|",
        "^",
        "`",
        "'",
        "0",
        "𝔘",
        "\ufeff",
        "\x7f",
        "-",
        "+",
        "~",
        "!",
        "<a:b>",
        "<a://b:c>",
        "<a:/b>",
        "<a:#b#c>",
    ),
]


def decided(block: bytes, quads: bool) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in read_block(block, quads, "m").triples.to_pylist()]


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.lists(st.sampled_from(PIECES), max_size=8), st.integers(0, 3))
def test_what_is_decided_is_right(subject: list[str], node: list[str], shape: int) -> None:
    line = [
        f"<http://e/{''.join(subject)}> <http://e/p> {''.join(node)} .",
        f'{"".join(subject)} <http://e/p> "{"".join(node)}" .',
        f'<http://e/s> <http://e/p> "{"".join(node)}"{"".join(subject)} .',
        f"<http://e/s> <{''.join(subject)}> <{''.join(node)}> .",
    ][shape]
    for quads, rdf_format in ((False, pyoxigraph.RdfFormat.N_TRIPLES), (True, pyoxigraph.RdfFormat.N_QUADS)):
        try:
            expected = [row_of(quad.triple, "m") for quad in pyoxigraph.parse(line.encode(), rdf_format)]
        except SyntaxError:
            expected = []
        found = decided(line.encode() + b"\n", quads)
        assert found in ([], expected)


@pytest.mark.parametrize(
    "line",
    [
        b"<http://a/b> <http://a/p#q> <http://a:80/c?d=e&f#g> .",
        b'<http://a/b> <http://a/p> "caf\xc3\xa9 \\"x\\" \\\\" .',
        b'_:a <http://a/p> "1999"^^<http://www.w3.org/2001/XMLSchema#gYear> .',
        b'<urn:isbn:1> <http://a/p> "x"@en-GB .',
        b"<http://a/b> <http://a/p> _:c-d .",
    ],
)
def test_what_is_common_is_decided(line: bytes) -> None:
    expected = [row_of(quad.triple, "m") for quad in pyoxigraph.parse(line, pyoxigraph.RdfFormat.N_TRIPLES)]
    assert decided(line + b"\n", False) == expected
    assert decided(line + b"\r\n", True) == expected
    assert not read_block(line + b"\n", False, "m").undecided


TERMS = st.sampled_from(
    ["<http://e/s>", "<http://e/s2>", "<http://e/>", "_:b", "_:bb", "_:b-", "<http://e/s", "<http://é/>", " ", ""]
)
NODES = st.sampled_from(
    [
        *('"x"', '"x"@en', '"x"@en-GB', '"x"@e', '"x"^^<http://e/t>', '"x"^^<http://e/t2>', '"x\\n"', '"x\\u00e9"'),
        *('"é"', "<http://e/o>", "_:o", "<http://e/o", '"x', '"long enough for some words"', '""', "# nothing"),
    ]
)


@given(st.lists(st.tuples(TERMS, TERMS, NODES, st.sampled_from([" .", " <http://e/g> .", " _:g .", "", " . "]))))
def test_a_line_means_the_same_whatever_stands_before_it(lines: list[tuple[str, str, str, str]]) -> None:
    """What is guessed from the lines before is checked."""
    written = [f"{subject} {name} {node}{end}\n".encode() for subject, name, node, end in lines]
    for quads in (False, True):
        together = read_block(b"".join(written), quads, "m")
        alone = [read_block(line, quads, "m") for line in written]
        assert together.triples.to_pylist() == [row for one in alone for row in one.triples.to_pylist()]
        assert [line for _, line in together.undecided] == [line for one in alone for _, line in one.undecided]
        for at, line in together.undecided:
            assert b"".join(written)[at:].startswith(line)


def test_halves_of_surrogate_pairs_are_not_text() -> None:
    block = b'<http://a/b> <http://a/p> "\xed\xa0\x80" .\n<http://a/b> <http://a/p> "x" .\n'
    found = read_block(block, False, "m")
    assert len(found.triples) == 1
    assert [at for at, _ in found.undecided] == [0]


@pytest.mark.parametrize("seed", range(3))
def test_splits_read_every_line_once(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_lines(tmp_path / "a.nt", seed, resources=100)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    size = random.Random(seed).randint(50, 400)
    monkeypatch.setattr("superpeer.catalog.inputs.LEAST_SPLIT_BYTES", size)
    monkeypatch.setattr("superpeer.catalog.inputs.MOST_SPLIT_BYTES", size)
    monkeypatch.setattr("superpeer.catalog.unpacking.BLOCK_BYTES", size // 3 + 1)
    (file,) = find_files([str(path)])
    splits = cut([file], 2)
    assert len(splits) > 10
    reading = Reading()
    found = [
        tuple(row.values()) for split in splits for batch in read_split(split, reading) for row in batch.to_pylist()
    ]
    problems: list[object] = []
    expected = [row_of(triple, file_mark(file.uri)) for triple in read(path, problems.append)]
    assert sorted(found) == sorted(expected)
    assert len(reading.rejected) == len(problems) == 3
    text = path.read_bytes()
    for one in reading.rejected:
        assert one.offset is not None
        assert text[one.offset :].startswith(one.text.encode())
