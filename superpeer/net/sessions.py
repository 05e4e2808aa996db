"""Sessions: messages over successive connections, each once and in order, for as long as both ends live.

Both ends number their messages from 1 and keep each until the other has acknowledged it. A connection begins with a
`Resume` from both: who I am, whom I know you as, and up to which number I have received. Then each goes on after that
number. What comes twice is dropped by its number. Acknowledgements say "everything up to here" and go with the
messages of the other direction, or alone if there are none.

A session has a random id, drawn when its end begins to live. An id that is not the known one is a new life: all that
was under way to the old one is taken out, numbers start again, and the layer above is told (`restarted`) and given
what was taken out: it knows which of that concerns the new life. A late word
from an older life must not be taken for another new one. Connections are attached in the order of lives, as a
connection is attached while both ends live; so what comes over one that was attached before the current life was met,
and gives another id, is late. Ids of past lives are remembered as well: if two processes run under one key, the one
that was met first is refused from then on, rather than both in turn. To give a session up is to make a new one.

Any number of connections may be attached at a time, as when both ends connect to each other at once: messages are
accepted from all of them and sent on the one that was attached last. So no agreement about connections is needed for
correctness.

Beside the numbered messages there are some said *aside*: they are sent on a connection that is there, or not at all,
and lost with it. This is for heartbeats and the like, which are worth nothing when they come late.

No I/O in here: connections are any objects, messages go in and come out. `links` runs sessions over real connections.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Annotated, NamedTuple

import msgspec

from superpeer.net.errors import MessageTooLarge, Reason, SessionFull, Violation
from superpeer.net.frames import MAX_MESSAGES
from superpeer.net.limits import OBJECT_BYTES, SessionLimits

ID_BYTES = 16
MAX_PAST_LIVES = 64
# What a batch adds to the messages in it: its tag and two numbers, and a header for the array and for each message.
BATCH_OVERHEAD_BYTES = 32
MESSAGE_OVERHEAD_BYTES = 5

SessionId = Annotated[bytes, msgspec.Meta(min_length=ID_BYTES, max_length=ID_BYTES)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Resume(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=0):
    """'I am `session`, know you as `other`, and have received everything up to `received`.'"""

    session: SessionId
    other: SessionId | None
    received: Number


class Batch(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    """Messages with the numbers `first`, `first` + 1, ...; and what has been received."""

    first: Number
    received: Number
    messages: Annotated[list[bytes], msgspec.Meta(min_length=1, max_length=MAX_MESSAGES)]


class Acknowledgement(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=2):
    received: Number


class Aside(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=3):
    """A message without a number."""

    message: bytes


_decoder = msgspec.msgpack.Decoder(Resume | Batch | Acknowledgement | Aside)
_encoder = msgspec.msgpack.Encoder()


class Received(NamedTuple):
    """What came: new messages in order; whether the other end began a new life before them, and then what its old life
    had not acknowledged; and what was said aside."""

    messages: list[bytes]
    restarted: bool = False
    lost: tuple[bytes, ...] = ()
    aside: bytes | None = None


class _Path:
    """What is known of one attached connection."""

    __slots__ = ("is_resumed", "next", "place", "told")

    def __init__(self, place: int, told: int) -> None:
        self.place = place
        """In the order of attaching."""
        self.is_resumed = False
        self.next = 0
        """The number of the next message to send on it, once it is resumed."""
        self.told = told
        """What the other end was told on it that we have received."""


class Session:
    """Our end of a session. `session_id` is random and new in each life of the process."""

    def __init__(self, session_id: bytes, limits: SessionLimits | None = None) -> None:
        assert len(session_id) == ID_BYTES
        self.id = session_id
        self.limits = limits or SessionLimits()
        self._other: bytes | None = None
        self._past_lives: deque[bytes] = deque(maxlen=MAX_PAST_LIVES)
        self._met_at = 0
        self._attached = 0
        self._paths: dict[Hashable, _Path] = {}
        self._current: Hashable | None = None
        self._received = 0
        self._acknowledged = 0
        self._sent = 0
        self._kept: dict[int, bytes] = {}
        self._kept_bytes = 0

    @property
    def unacknowledged(self) -> int:
        """How many messages are kept for the case that they have to be sent again."""
        return len(self._kept)

    @property
    def current(self) -> Hashable | None:
        """The connection to send on."""
        return self._current

    def is_attached(self, connection: Hashable) -> bool:
        return connection in self._paths

    def send(self, message: bytes) -> None:
        """Number a message and keep it. It leaves with `next_outgoing`."""
        if len(message) > self.limits.max_message_bytes:
            raise MessageTooLarge(len(message), self.limits.max_message_bytes)
        if len(self._kept) >= self.limits.max_unacknowledged:
            raise SessionFull("messages", self.limits.max_unacknowledged)
        if self._kept_bytes + len(message) + OBJECT_BYTES > self.limits.max_unacknowledged_bytes:
            raise SessionFull("bytes", self.limits.max_unacknowledged_bytes)
        self._kept[self._last_number + 1] = message
        self._kept_bytes += len(message) + OBJECT_BYTES

    def attach(self, connection: Hashable) -> bytes:
        """A new connection to the other end: what to send on it first."""
        assert connection not in self._paths
        self._attached += 1
        self._paths[connection] = _Path(self._attached, self._received)
        return _encoder.encode(Resume(self.id, self._other, self._received))

    def detach(self, connection: Hashable) -> None:
        """The connection is over, or not to be used any more."""
        self._paths.pop(connection, None)
        if self._current == connection:
            resumed = [other for other, path in self._paths.items() if path.is_resumed]
            # What went over the lost one may be lost. The other connection goes on where it was itself.
            self._current = resumed[-1] if resumed else None

    def receive(self, connection: Hashable, data: bytes) -> Received:
        """Something came over an attached connection. Raises a `Violation`; then nothing has changed."""
        path = self._paths.get(connection)
        if path is None:
            return Received([])
        message = read(data)
        if isinstance(message, Resume):
            return self._resume(connection, path, message)
        if not path.is_resumed:
            raise Violation(Reason.OUT_OF_ORDER, "a connection of a session begins with its resumption; close it")
        if isinstance(message, Aside):
            return Received([], aside=message.message)
        self._check_acknowledgement(message.received)
        if isinstance(message, Batch):
            if message.first > self._received + 1 or message.first == 0:
                raise Violation(
                    Reason.OUT_OF_ORDER, f"message {message.first} came after {self._received}; close the connection"
                )
            fresh = message.messages[self._received + 1 - message.first :]
            self._received += len(fresh)
        else:
            fresh = []
        self._acknowledge(message.received)
        return Received(fresh)

    def next_outgoing(self) -> bytes | None:
        """What to send next on the current connection, if there is anything: a batch, or a mere acknowledgement."""
        if self._current is None:
            return None
        path = self._paths[self._current]
        path.next = max(path.next, self._acknowledged + 1)
        if path.next <= self._last_number:
            first, batch = path.next, self._batch_from(path.next)
            path.next += len(batch)
            self._sent = max(self._sent, path.next - 1)
            path.told = self._received
            return _encoder.encode(Batch(first, self._received, batch))
        if path.told < self._received:
            path.told = self._received
            return _encoder.encode(Acknowledgement(self._received))
        return None

    @property
    def _last_number(self) -> int:
        return self._acknowledged + len(self._kept)

    def _batch_from(self, number: int) -> list[bytes]:
        batch = [self._kept[number]]
        size = len(batch[0]) + MESSAGE_OVERHEAD_BYTES
        for following in range(number + 1, min(self._last_number, number + MAX_MESSAGES - 1) + 1):
            message = self._kept[following]
            size += len(message) + MESSAGE_OVERHEAD_BYTES
            if size > self.limits.batch_bytes:
                break
            batch.append(message)
        return batch

    def _resume(self, connection: Hashable, path: _Path, resume: Resume) -> Received:
        if path.is_resumed:
            raise Violation(Reason.OUT_OF_ORDER, "a connection resumes a session once; close it")
        is_new = resume.session != self._other
        is_late = path.place < self._met_at or resume.session in self._past_lives
        if (is_new and is_late) or resume.session == self.id:
            raise Violation(Reason.OUT_OF_ORDER, "this session is over; close the connection")
        knows_us = resume.other == self.id and not is_new
        if knows_us:
            self._check_acknowledgement(resume.received)
        restarted = is_new and self._other is not None
        lost = self._start_again() if restarted else ()
        if is_new:
            self._other = resume.session
            self._met_at = path.place
        if knows_us:
            self._acknowledge(resume.received)
        path.is_resumed = True
        path.next = self._acknowledged + 1
        self._current = connection
        return Received([], restarted, lost)

    def _start_again(self) -> tuple[bytes, ...]:
        """The other end lives anew: nothing of the old life is left, on either side. What was not acknowledged."""
        assert self._other is not None
        self._past_lives.append(self._other)
        self._paths = {connection: path for connection, path in self._paths.items() if not path.is_resumed}
        for path in self._paths.values():
            path.told = 0
        self._current = None
        self._received = self._acknowledged = self._sent = 0
        lost = tuple(self._kept.values())
        self._kept.clear()
        self._kept_bytes = 0
        return lost

    def _check_acknowledgement(self, number: int) -> None:
        if number > self._sent:
            raise Violation(Reason.OUT_OF_ORDER, f"message {number} was acknowledged but never sent; close it")

    def _acknowledge(self, number: int) -> None:
        for acknowledged in range(self._acknowledged + 1, number + 1):
            self._kept_bytes -= len(self._kept.pop(acknowledged)) + OBJECT_BYTES
        self._acknowledged = max(self._acknowledged, number)


def write_aside(message: bytes) -> bytes:
    """What is said aside, as it is sent."""
    return _encoder.encode(Aside(message))


def read(data: bytes) -> Resume | Batch | Acknowledgement | Aside:
    try:
        message: Resume | Batch | Acknowledgement | Aside = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Violation(Reason.MALFORMED_MESSAGE, f"this is no message of a session ({error}); refuse it") from error
    return message
