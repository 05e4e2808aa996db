"""What is nasty in files and directories: read as far as can be, counted, and never raised."""

import bz2
import gzip
import os
from pathlib import Path

import pytest
import zstandard

from superpeer.catalog.inputs import UnreadableCatalogue, cut, find_files
from superpeer.catalog.reading import Reading, Rejected, read_split
from superpeer.catalog.unpacking import read_pieces
from superpeer.catalog.whole_lines import Gap, Lines, Piece, Unread, WholeLines

T = b'<http://e/a> <http://e/p> "x" .\n'
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
BOM = b"\xef\xbb\xbf"


def read_all(*paths: Path) -> tuple[int, list[Rejected]]:
    reading = Reading()
    splits = cut(find_files(list(map(str, paths))), 2)
    return sum(len(batch) for split in splits for batch in read_split(split, reading)), reading.rejected


def xml(declarations: str, text: str) -> bytes:
    return (
        f'<!DOCTYPE r [{declarations}]><rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/">'
        f'<rdf:Description rdf:about="http://e/a"><e:p>{text}</e:p></rdf:Description>'
        f'<rdf:Description rdf:about="http://e/b"><e:p>fine</e:p></rdf:Description></rdf:RDF>'
    ).encode()


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha" * 30}">' for i in range(12))


FILES: list[tuple[str, bytes, int, str | None]] = [
    ("empty.nt", b"", 0, None),
    ("empty.nt.bz2", b"", 0, "the file ends in the middle of a bzip2 stream"),
    ("bom.nt", BOM + T, 1, None),
    ("bom.nt.bz2", bz2.compress(BOM + T), 1, None),
    ("bom.ttl", BOM + T, 1, None),
    ("crlf.nt", T.replace(b"\n", b"\r\n") * 3, 3, None),
    ("cr.nt", T.replace(b"\n", b"\r") * 3, 3, None),
    ("nul.nt", T + b"\0\0\n" + T, 2, "not allowed"),
    ("utf16.nt", T.decode().encode("utf-16"), 0, "the line is skipped"),
    ("utf16.ttl", T.decode().encode("utf-16"), 0, "bytes that are not utf-8 text"),
    ("latin1.nt", '<http://e/a> <http://e/p> "é" .\n'.encode("latin-1") + T, 1, "Invalid UTF-8"),
    ("members.nt.gz", gzip.compress(T) + gzip.compress(T), 2, None),
    ("garbage.nt.gz", gzip.compress(T) + b"garbage", 1, "cannot be read further"),
    ("none.nt.gz", T, 0, "Not a gzipped file"),
    ("frames.nt.zst", zstandard.compress(T) + zstandard.compress(b"") + zstandard.compress(T), 2, None),
    ("garbage.nt.zst", zstandard.compress(T) + b"garbage", 1, "cannot be read further"),
    ("cut.nt.zst", zstandard.compress(T)[:-3], 0, "in the middle of a frame"),
    ("none.ttl.zst", T, 0, "Unknown frame"),
    ("garbage.nt.bz2", bz2.compress(T) + b"garbage", 1, None),
    ("none.nt.bz2", T, 0, "this is not bzip2 data"),
    ("cut.ttl.bz2", bz2.compress(T)[:-3], 1, "cannot be read further"),
    ("turtle.nt", b'@prefix e: <http://e/> .\n<http://e/1> e:p "A" .\n', 0, "must be an IRI"),
    ("quads.nt", T + b'<http://e/a> <http://e/p> "x" <http://e/g> .\n', 1, "must be followed by a dot"),
    ("trig.ttl", b'<http://e/g> { <http://e/a> <http://e/p> "x" . }', 0, "{ is not"),
    ("base.ttl", b'@base <http://b/c/> . <a> <p> <../x>, <#f>, "y" .', 3, None),
    ("relative.ttl", b"<a> <p> <b> .", 1, None),
    # Nothing listens there, and nothing is asked.
    (
        "remote.jsonld",
        b'{"@context": "http://127.0.0.1:9/c", "@id": "http://e/a", "t": "x"}',
        0,
        "a context that would have to be fetched",
    ),
    ("laughs.rdf", xml(LAUGHS, "&l11;"), 1, "limit on input amplification"),
    ("external.rdf", xml('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"), 1, "unrecognized entity"),
    ("nested.nt", T + b'<http://e/\xc3\xa9> <http://e/p> "<<(" .\n' * 1_500 + T, 1_502, None),
    ("long.ttl", T + b'<http://e/a> <http://e/p> "' + b"a" * (17 << 20) + b'" .\n', 0, "maximal size"),
    ("long.nt", T + '<http://e/é> <http://e/p> "'.encode() + b"a" * (17 << 20) + b'" .\n' + T, 2, "maximal size"),
    ("a b%41é\n#?.nt", T, 1, None),
    ("a b%41é\n#?.ttl.gz", gzip.compress(T), 1, None),
    ("UPPER.NT.BZ2", bz2.compress(T), 1, None),
]


@pytest.mark.parametrize(("name", "data", "triples", "reason"), FILES, ids=[one[0] for one in FILES])
def test_files(tmp_path: Path, name: str, data: bytes, triples: int, reason: str | None) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    found, rejected = read_all(path)
    assert found == triples
    assert bool(rejected) == (reason is not None)
    assert reason is None or any(reason in one.reason for one in rejected)


def test_what_lies_behind_a_line_that_the_reader_gives_up_on_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    undecided = '<http://e/é> <http://e/p> "{}" .\n'
    text = undecided.format("x") + undecided.format("<<(" * 1_500) + undecided.format("y")
    path.write_text(text, encoding="utf-8")
    found, rejected = read_all(path)
    assert found == 2
    assert [one.offset for one in rejected] == [len(undecided.format("x").encode())]


def test_a_file_that_went_is_rejected(tmp_path: Path) -> None:
    for name in ("a.nt", "a.nt.bz2", "a.ttl", "a.ttl.bz2"):
        path = tmp_path / name
        path.write_bytes(T)
        splits = cut(find_files([str(path)]), 2)
        path.unlink()
        reading = Reading()
        assert [batch for split in splits for batch in read_split(split, reading)] == []
        assert len(reading.rejected) == 1
        assert "no such file" in reading.rejected[0].reason.lower()


def test_directories(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "inner" / ".git").mkdir(parents=True)
    (data / "_temporary").mkdir()
    for name in ("a.nt", "inner/b.nt", ".hidden.nt", "_draft.nt", "inner/.git/c.nt", "_temporary/d.nt", "notes.txt"):
        (data / name).write_bytes(T)
    (data / "empty.nt").touch()
    (data / "inner" / "round").symlink_to(data)
    (data / "nowhere.nt").symlink_to(tmp_path / "missing.nt")
    os.mkfifo(data / "pipe.nt")
    found = [Path(file.uri).name for file in find_files([str(data)])]
    assert sorted(found) == ["a.nt", "b.nt", "nowhere.nt"]
    triples, rejected = read_all(data)
    assert (triples, len(rejected)) == (2, 1)
    # What is named is taken, whatever its name.
    assert read_all(data / ".hidden.nt")[0] == 1
    for path in (data / "inner" / ".git" / "nothing", data / "nowhere.nt", data / "pipe.nt"):
        with pytest.raises(UnreadableCatalogue, match="there is no"):
            find_files([str(path)])
    (tmp_path / "none").mkdir()
    with pytest.raises(UnreadableCatalogue, match="there is no RDF file in"):
        find_files([str(tmp_path / "none")])
    with pytest.raises(UnreadableCatalogue, match="is empty"):
        find_files([""])


@pytest.mark.parametrize("step", [1_000_000, 700, 60, 7])
@pytest.mark.parametrize("length", [100, 101, 1_000])
def test_a_line_beyond_all_measure_is_rejected_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, length: int
) -> None:
    monkeypatch.setattr("superpeer.catalog.whole_lines.MAX_LINE_BYTES", 100)
    monkeypatch.setattr("superpeer.catalog.whole_lines.BLOCK_BYTES", 150)
    monkeypatch.setattr("superpeer.catalog.unpacking.BLOCK_BYTES", 64)
    monkeypatch.setattr("superpeer.catalog.unpacking.BEHIND_BYTES", 16)
    monkeypatch.setattr("superpeer.catalog.inputs.LEAST_SPLIT_BYTES", step)
    monkeypatch.setattr("superpeer.catalog.inputs.MOST_SPLIT_BYTES", step)
    path = tmp_path / "a.nt"
    long = b"a" * (length - 1) + b"\n"
    path.write_bytes(T + long + T + long + long + T + long[:-1])
    text, unread = b"", []
    for split in sorted(cut(find_files([str(path)]), 2), key=lambda split: split.start_bytes):
        for found in WholeLines(read_pieces(split)):
            if isinstance(found, Lines):
                text += found.text
            else:
                unread.append(split.start_bytes + found.at)
    if length <= 100:
        assert (text, unread) == (T + long + T + long + long + T + long, [])
    else:
        assert text == T * 3
        assert unread == [len(T), 2 * len(T) + length, 2 * len(T) + 2 * length, 3 * len(T) + 3 * length]


def test_a_gap_costs_the_lines_that_reach_into_it() -> None:
    pieces: list[Piece | Gap] = [
        Piece(b"a\nb", True, True),
        Gap("gone", True),
        Piece(b"c\nd\ne", True, False),
        Piece(b"f\ng", False, False),
    ]
    assert list(WholeLines(pieces)) == [Lines(0, b"a\n"), Unread(3, "gone"), Lines(5, b"d\nef\n")]
    assert list(WholeLines([Gap("gone", True), Piece(b"c\nd", True, False), Gap(None, False)])) == [Unread(0, "gone")]
