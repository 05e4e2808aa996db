"""Bytes read eight at a time by compiled loops.

Places are unsigned here: numba lets negative ones count from the end, asks at each byte whether one is, and eight of
these questions keep the compiler from reading eight bytes at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superpeer.matching.compiling import compiled


@compiled
def word_at(data: Any, start: int) -> Any:
    """Eight bytes, the first one lowest."""
    at = np.uint64(start)
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    )


@compiled
def same_bytes(data: Any, one: int, other: int, size: int) -> bool:
    """Whether the same bytes stand at two places."""
    i = 0
    while i + 8 <= size:
        if word_at(data, one + i) != word_at(data, other + i):
            return False
        i += 8
    while i < size:
        if data[np.uint64(one + i)] != data[np.uint64(other + i)]:
            return False
        i += 1
    return True


@compiled
def copy_texts(data: Any, starts: Any, ends: Any, offsets: Any, target: Any) -> None:
    """Puts texts one behind the other, and says where each begins."""
    at = 0
    for i in range(len(starts)):
        offsets[i] = at
        source, size = np.uint64(starts[i]), ends[i] - starts[i]
        for j in range(size):
            target[np.uint64(at + j)] = data[source + np.uint64(j)]
        at += size
    offsets[len(starts)] = at
