"""Envelopes: what super-peers say to each other, as messages of a session.

What nodes say is numbered, so it comes once and in order. It may be larger than a message of a session (a file, a whole
table), so it is divided, and the first byte of each part says whether it begins or ends something. A part without a
beginning is the rest of what an old life got the beginning of; it is dropped.

Membership, and questions of admins, are said aside, in one piece; the first byte says which it is.
"""

from __future__ import annotations

from enum import IntEnum

from superpeer.net import Reason, Violation
from superpeer.net.limits import KIBIBYTE, MEBIBYTE

PART_BYTES = 512 * KIBIBYTE
MAX_WHOLE_BYTES = 256 * MEBIBYTE
FIRST, LAST = 1, 2


class Topic(IntEnum):
    """What is said aside."""

    MEMBERSHIP = 0
    QUESTION = 1
    ANSWER = 2


def write_parts(data: bytes) -> list[bytes]:
    """The messages of a session that carry one message of a node."""
    starts = range(0, max(1, len(data)), PART_BYTES)
    last = starts[-1]
    return [
        bytes([(FIRST if start == 0 else 0) | (LAST if start == last else 0)]) + data[start : start + PART_BYTES]
        for start in starts
    ]


def write_aside(topic: Topic, data: bytes) -> bytes:
    return bytes([topic]) + data


def read_aside(data: bytes) -> tuple[Topic, bytes]:
    try:
        return Topic(data[0]), data[1:]
    except (IndexError, ValueError) as error:
        raise Violation(Reason.MALFORMED_MESSAGE, "something was said aside that has no topic; refuse it") from error


class Assembly:
    """Puts the parts of one sender together again."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def add(self, part: bytes) -> bytes | None:
        """The next part; the whole, when this was its last."""
        if not part or part[0] & ~(FIRST | LAST):
            raise Violation(Reason.MALFORMED_MESSAGE, "a part of a message has no mark; refuse it")
        if part[0] & FIRST:
            if part[0] & LAST:
                self.clear()
                return part[1:]
            self._parts, self._size_bytes = [], 0
        elif not self._parts:
            return None
        self._parts.append(part[1:])
        self._size_bytes += len(part)
        if self._size_bytes > MAX_WHOLE_BYTES:
            self.clear()
            raise Violation(Reason.OVERSIZE, "a message is larger than any honest one; refuse it")
        if not part[0] & LAST:
            return None
        whole = b"".join(self._parts)
        self.clear()
        return whole

    def clear(self) -> None:
        self._parts, self._size_bytes = [], 0
