"""Files packed with bzip2, cut anywhere, against Python's own reader, which knows no ranges."""

import bz2
import io
import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from superpeer.catalog.bzip2 import BLOCK, CUT_OFF, DAMAGED, END, MAGIC_BITS, NO_BZIP2, read_blocks
from superpeer.catalog.whole_lines import Lines, WholeLines


class Raw(io.BytesIO):
    """Bytes that can be read anywhere, like Arrow's files."""

    def read_at(self, size: int, at: int) -> bytes:
        self.seek(at)
        return self.read(size)


@dataclass
class Text:
    """What ranges gave: all lines, and what is unread, by where it stands in the text."""

    lines: bytes
    unread: list[tuple[int, str]]


def read_ranges(packed: bytes, cuts: list[int]) -> Text:
    """Reads a file in ranges, each on its own, and puts together what they give."""
    places = sorted({0, len(packed), *(cut for cut in cuts if cut < len(packed))})
    text, unread, before = b"", [], 0
    for start, end in zip(places, places[1:] or [0], strict=False):
        lines = WholeLines(read_blocks(Raw(packed), len(packed), start, end))
        for found in lines:
            if isinstance(found, Lines):
                text += found.text
            else:
                unread.append((before + found.at, found.reason))
        before += lines.size_bytes
    return Text(text, unread)


def random_text(generator: random.Random, size: int) -> bytes:
    """Lines that pack badly, so that blocks are many and long; some are longer than a block, some are empty."""
    lines = []
    while size > 0:
        line = generator.randbytes(generator.choice([0, 1, 30, 100, 5_000, generator.randint(0, 250_000)]))
        lines.append(line.replace(b"\n", b" ") if generator.random() < 0.7 else b"a" * len(line))
        size -= len(line)
    return b"\n".join(lines)


def random_cuts(generator: random.Random, size: int) -> list[int]:
    step = generator.choice([1 + size // 300, 1 + size // 20, 1 + size // 3])
    return list(range(0, size, step)) + [generator.randrange(size) for _ in range(5)]


def ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


@pytest.mark.parametrize("seed", range(12))
def test_ranges_give_what_the_whole_gives(seed: int) -> None:
    generator = random.Random(seed)
    text = random_text(generator, generator.choice([10, 99_999, 600_000]))
    streams, rest = [], text
    while rest:
        size = generator.choice([len(rest), generator.randint(1, len(rest)), min(len(rest), 10)])
        streams.append(bz2.compress(rest[:size], generator.choice([1, 1, 2, 9])))
        rest = rest[size:]
        if len(streams) > 8:
            streams.append(bz2.compress(rest, 1))
            break
    for _ in range(generator.choice([0, 2])):
        streams.insert(generator.randint(0, len(streams)), bz2.compress(b""))
    packed = b"".join(streams) + generator.choice([b"", b"what is no stream"])
    assert bz2.decompress(packed) == text
    assert read_ranges(packed, random_cuts(generator, len(packed))) == Text(ended(text), [])


def with_false_magic(packed: bytes, magic: int) -> bytes:
    """A stream of one block with a magic in its middle: among the selectors of tables, of which there may be more than
    are needed."""
    bits = f"{int.from_bytes(packed, 'big'):0{8 * len(packed)}b}"
    at = 8 * 4 + MAGIC_BITS + 32 + 1 + 24
    used = bits[at : at + 16]
    at += 16 + 16 * used.count("1")
    assert int(bits[at : at + 3], 2) == 6, "with six tables, any selector is one of them"
    number = int(bits[at + 3 : at + 18], 2)
    behind = at + 18
    for _ in range(number):
        behind = bits.index("0", behind) + 1
    more = f"{magic:0{MAGIC_BITS}b}0"
    changed = bits[: at + 3] + f"{number + more.count('0'):015b}" + bits[at + 18 : behind] + more + bits[behind:]
    # What follows the block is not where it was: the end of the stream, without the zeros that filled a byte.
    end = changed.rindex(f"{END:0{MAGIC_BITS}b}") + MAGIC_BITS + 32
    changed = changed[:end] + "0" * (-end % 8)
    return int(changed, 2).to_bytes(len(changed) // 8, "big")


@pytest.mark.parametrize("magic", [BLOCK, END])
@pytest.mark.parametrize("streams", [1, 3])
def test_what_looks_like_a_block_inside_a_block_is_none(magic: int, streams: int) -> None:
    generator = random.Random(magic)
    texts = [random_text(generator, 80_000)[:80_000] for _ in range(streams)]
    whole = [bz2.compress(text, 1) for text in texts]
    packed = b"".join(with_false_magic(stream, magic) for stream in whole)
    assert len(packed) > sum(map(len, whole))
    assert bz2.decompress(packed) == b"".join(texts)
    for step in (len(packed), 1_000, 400):
        assert read_ranges(packed, list(range(0, len(packed), step))) == Text(ended(b"".join(texts)), [])


def blocks_of(text: bytes) -> bytes:
    """Streams of one block of 10,000 bytes each, so that it is known where these begin."""
    return b"".join(bz2.compress(text[i : i + 10_000], 1) for i in range(0, len(text), 10_000))


LINES = b"".join(b"%06d %s\n" % (i, random.Random(i).randbytes(40).hex().encode()) for i in range(1_000))


def whole_lines_of(*parts: bytes) -> bytes:
    """What is left of parts of a text that have gaps between them: the first begins with a line, the others in one."""
    first, *others = parts
    return first[: first.rfind(b"\n") + 1] + b"".join(
        part[part.find(b"\n") + 1 : part.rfind(b"\n") + 1] for part in others
    )


@pytest.mark.parametrize("step", [10**9, 7_000, 450])
def test_what_is_damaged_is_one_gap_and_the_rest_is_read(step: int) -> None:
    packed = blocks_of(LINES)
    sizes = [len(bz2.compress(LINES[i : i + 10_000], 1)) for i in range(0, len(LINES), 10_000)]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    cuts = list(range(0, len(packed), step))

    def damaged(*places: int) -> bytes:
        changed = bytearray(packed)
        for place in places:
            changed[place] ^= 0xFF
        return bytes(changed)

    def read(packed: bytes) -> Text:
        return read_ranges(packed, cuts)

    # In the middle of the third block; in its magic; in two blocks that follow each other; in its header.
    without_third = whole_lines_of(LINES[:20_000], LINES[30_000:])
    assert read(damaged(starts[2] + 1_000)) == Text(without_third, [(20_000, DAMAGED)])
    assert read(damaged(starts[2] + 6)) == Text(without_third, [(20_000, DAMAGED)])
    without_fourth = whole_lines_of(LINES[:20_000], LINES[40_000:])
    assert read(damaged(starts[2] + 1_000, starts[3] + 1_000)) == Text(without_fourth, [(20_000, DAMAGED)])
    assert read(damaged(starts[3] - 8)) == Text(whole_lines_of(LINES[:30_000], LINES[30_000:]), [(30_000, DAMAGED)])
    # In the first one, and in the last one.
    assert read(damaged(1_000)) == Text(whole_lines_of(b"", LINES[10_000:]), [(0, DAMAGED)])
    last = len(LINES) // 10_000 * 10_000
    assert read(damaged(starts[-1] + 100)) == Text(whole_lines_of(LINES[:last]), [(last, DAMAGED)])
    # In the header of the file.
    assert read(damaged(0)) == Text(whole_lines_of(b"", LINES), [(0, NO_BZIP2)])


@pytest.mark.parametrize("step", [10**9, 900, 45])
def test_a_file_that_is_cut_off_gives_what_is_before(step: int) -> None:
    packed = blocks_of(LINES[:30_000])
    sizes = [len(bz2.compress(LINES[i : i + 10_000], 1)) for i in range(0, 30_000, 10_000)]
    third = sizes[0] + sizes[1]
    for size, held in [
        (0, 0), (2, 0), (5, 0), (9, 0), (500, 0), (sizes[0] - 11, 0), (sizes[0] - 3, 10_000), (third + 3, 20_000),
        (third + 7, 20_000), (third + 1_000, 20_000), (len(packed) - 1, 30_000),
    ]:  # fmt: skip
        found = read_ranges(packed[:size], list(range(0, size, step)))
        assert found.lines == whole_lines_of(LINES[:held]), size
        assert found.unread == [(held, CUT_OFF)]


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=3)), max_size=4),
    st.lists(st.integers(0, 10**6), max_size=8),
)
def test_ranges_agree_on_what_is_damaged(changes: list[tuple[int, bytes]], cuts: list[int]) -> None:
    packed = bytearray(blocks_of(LINES[:25_000]) + bz2.compress(b"") + blocks_of(LINES[25_000 : 88 * 450]))
    for place, change in changes:
        at = place % len(packed)
        packed[at : at + len(change)] = change
    whole = read_ranges(bytes(packed), [])
    assert read_ranges(bytes(packed), [cut % len(packed) for cut in cuts]) == whole
    assert set(whole.lines.splitlines()) <= set(LINES.splitlines())


def test_nothing_is_no_bzip2() -> None:
    for packed in (b"<http://e/a> <http://e/b> <http://e/c> .\n" * 9, bytes(1_000)):
        assert read_ranges(packed, [7, 100]) == Text(b"", [(0, NO_BZIP2)])
    assert read_ranges(b"", []) == Text(b"", [(0, CUT_OFF)])
    assert read_ranges(bz2.compress(b"") * 5, [3, 20, 40]) == Text(b"", [])
