"""What waits to be sent on one connection, and how it is made into frames. No socket in here."""

from __future__ import annotations

from collections import deque

from superpeer.net.errors import MessageTooLarge
from superpeer.net.frames import BODY_OVERHEAD_BYTES, MAX_MESSAGES, MESSAGE_OVERHEAD_BYTES, write_messages
from superpeer.net.limits import OBJECT_BYTES, Limits


class Outbox:
    """Messages in the order in which they were sent. `size_bytes` counts what they take in memory."""

    __slots__ = (
        "_compress_from_bytes",
        "_has_secret",
        "_max_body_bytes",
        "_messages",
        "max_message_bytes",
        "size_bytes",
    )

    def __init__(self, limits: Limits, other_max_frame_bytes: int) -> None:
        self._messages: deque[bytes] = deque()
        self._has_secret = False
        self._compress_from_bytes = limits.compress_from_bytes
        self._max_body_bytes = min(limits.batch_bytes, other_max_frame_bytes)
        self.max_message_bytes = other_max_frame_bytes - BODY_OVERHEAD_BYTES - MESSAGE_OVERHEAD_BYTES
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, message: bytes, secret: bool) -> None:
        if len(message) > self.max_message_bytes:
            raise MessageTooLarge(len(message), self.max_message_bytes)
        self._messages.append(message)
        self.size_bytes += len(message) + OBJECT_BYTES
        self._has_secret |= secret

    def next_frame(self) -> tuple[bytes, int]:
        """A frame of what waits, from the front, and how many messages are in it: as many as fit, one at least."""
        messages = self._messages
        batch = [messages.popleft()]
        content = len(batch[0])
        body = content + BODY_OVERHEAD_BYTES + MESSAGE_OVERHEAD_BYTES
        while messages and len(batch) < MAX_MESSAGES:
            length = len(messages[0])
            body += length + MESSAGE_OVERHEAD_BYTES
            if body > self._max_body_bytes:
                break
            content += length
            batch.append(messages.popleft())
        self.size_bytes -= content + OBJECT_BYTES * len(batch)
        frame = write_messages(batch, None if self._has_secret else self._compress_from_bytes)
        if not messages:
            assert self.size_bytes == 0
            self._has_secret = False
        return frame, len(batch)

    def clear(self) -> None:
        self._messages.clear()
        self.size_bytes = 0
        self._has_secret = False
