"""The write-ahead log after a crash: whether SQLite will find all of it.

SQLite reads its log up to the first frame whose checksum is wrong, and takes everything after it for a commit that was
broken off. That is right for the last commit only: each one is on the disk before the next begins. If two or more
commits lie behind a wrong frame, they were durable and something has changed them since. SQLite would forget them
without a word, so we look first.

The file is a header of 32 bytes, then frames of a header of 24 bytes and a page. All frames of one log have its two
salts; those of an earlier one, which the file may still have at its end, have others. The checksum of a frame goes on
from that of the frame before. A frame that ends a commit says how many pages the database has then.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import BinaryIO

HEADER = struct.Struct(">8I")
FRAME = struct.Struct(">6I")
LITTLE, BIG = 0x377F0682, 0x377F0683
WORD = 0xFFFF_FFFF
PAGE_SIZES = frozenset(2**i for i in range(9, 17))
USUAL_PAGE_BYTES = 4096

Sum = tuple[int, int]


def unreachable_commits(path: Path) -> int:
    """How many commits SQLite would not find. One may never have been finished; more are damage."""
    try:
        with path.open("rb") as file:
            return _unreachable(file)
    except FileNotFoundError:
        return 0


def _unreachable(file: BinaryIO) -> int:
    data = file.read(HEADER.size)
    if len(data) < HEADER.size:
        return 0
    magic, _, page_bytes, _, *salts, first, second = HEADER.unpack(data)
    order = ">" if magic == BIG else "<"
    is_known = magic in (LITTLE, BIG) and _sum(data[:24], order, (0, 0)) == (first, second)
    is_sound = is_known
    if page_bytes not in PAGE_SIZES:
        page_bytes = USUAL_PAGE_BYTES
    begun: Sum = (first, second)
    left: Counter[tuple[int, ...]] = Counter()
    while len(frame := file.read(FRAME.size + page_bytes)) == FRAME.size + page_bytes:
        _, pages, *its_salts, first, second = FRAME.unpack_from(frame)
        if is_sound:
            begun = _sum(frame[FRAME.size :], order, _sum(frame[:8], order, begun))
            is_sound = its_salts == salts and begun == (first, second)
        if not is_sound and pages:
            left[tuple(its_salts)] += 1
    # If the header is wrong, the salts are not known, and the frames tell.
    return left[tuple(salts)] if is_known else max(left.values(), default=0)


def _sum(data: bytes, order: str, begun: Sum) -> Sum:
    first, second = begun
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for one in words:
        first = (first + one + second) & WORD
        second = (second + next(words) + first) & WORD
    return first, second
