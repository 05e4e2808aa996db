"""A connection: TLS, the handshake and frames over one TCP connection of asyncio, with messages at its upper edge.

send      puts a message with whatever else is ready; all of it leaves in one frame in the same turn of the loop.
          Nothing waits for more to come. While TCP takes no more, messages gather, and the next frame is larger.
drain     waits until little is left to send: backpressure for whoever produces. Who does not wait for it meets
          the limit on what may gather: the connection ends then, as a consumer too slow must not cost memory.
receive   gives all messages that have come. While they are not fetched, no more than a limit is read, so TCP makes
          the sender wait.
close     says why, after everything that was sent before. The other end's `receive` gives these messages first.
refuse    says why and sends nothing else; it is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from superpeer.net.counters import Counters
from superpeer.net.endpoint import Endpoint, Other
from superpeer.net.errors import ConnectionClosed, Reason, Violation
from superpeer.net.frames import (
    Frame,
    FrameReader,
    Kind,
    read_closing,
    read_messages,
    write_closing,
    write_frame,
)
from superpeer.net.limits import OBJECT_BYTES
from superpeer.net.outbox import Outbox
from superpeer.net.tls import Tls
from superpeer.net.watch import Watch


class Handshake(Protocol):
    """One side of the handshake: `ClientHandshake` or `ServerHandshake`."""

    other: Other | None

    def begin(self) -> list[bytes]: ...

    def receive(self, data: bytes) -> list[bytes]: ...


class Connection(asyncio.Protocol):
    """One connection, from TCP's first byte on. `opened` tells its maker, once, when the handshake is complete."""

    __slots__ = (
        "_drain_waiters",
        "_flush_scheduled",
        "_handshake",
        "_inbox",
        "_inbox_bytes",
        "_is_full",
        "_is_writable",
        "_last_word_said",
        "_limits",
        "_loop",
        "_make_handshake",
        "_on_closed",
        "_opened",
        "_outbox",
        "_reader",
        "_receiver",
        "_timer",
        "_tls",
        "_transport",
        "_watch",
        "address",
        "closed",
        "counters",
        "ended",
        "other",
    )

    other: Other
    """The other end; there once the handshake is complete."""

    def __init__(
        self,
        endpoint: Endpoint,
        tls: Tls,
        make_handshake: Callable[[bytes | None], Handshake],
        opened: Callable[[Connection], None],
        on_closed: Callable[[Connection], None],
    ) -> None:
        """`make_handshake` is given the other end's TLS certificate; what it raises ends the connection unsaid."""
        self._limits = endpoint.limits
        self._tls = tls
        self._make_handshake = make_handshake
        self._handshake: Handshake | None = None
        self._opened = opened
        self._on_closed = on_closed
        self._reader = FrameReader()
        self._inbox: list[bytes] = []
        self._inbox_bytes = 0
        self._is_full = False
        self._receiver: asyncio.Future[None] | None = None
        self._outbox: Outbox | None = None
        self._watch: Watch | None = None
        self._flush_scheduled = False
        self._is_writable = True
        self._drain_waiters: list[asyncio.Future[None]] = []
        self.ended: ConnectionClosed | None = None
        """Why the connection is over, as soon as it is."""
        self._last_word_said = False
        self.counters = Counters()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        peer_name = transport.get_extra_info("peername")
        self._timer: asyncio.TimerHandle | None = None
        self.address: tuple[str, int] = (peer_name[0], peer_name[1]) if peer_name else ("unknown", 0)
        self.begin()

    def begin(self) -> None:
        """TCP is connected: start the handshake."""
        too_slow = Violation(Reason.HANDSHAKE_SLOW, "the handshake took too long; try again")
        self._timer = self._loop.call_later(self._limits.handshake_s, self._refuse, too_slow)
        self._pump()

    @property
    def is_open(self) -> bool:
        """Whether the handshake is complete and nobody has closed."""
        return self._watch is not None and self.ended is None

    # Receiving.

    async def receive(self) -> list[bytes]:
        """All messages that have come, at least one. Raises `ConnectionClosed` when there are no more."""
        while True:
            if self._inbox:
                messages, self._inbox, self._inbox_bytes = self._inbox, [], 0
                if self._is_full:
                    # In the next turn of the loop: a few bytes that unpack to a lot must not hold up the others.
                    self._loop.call_soon(self._go_on_reading)
                return messages
            if self.ended is not None:
                raise self.ended
            assert self._receiver is None, "one task receives from a connection"
            self._receiver = self._loop.create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None

    def data_received(self, data: bytes) -> None:
        self.counters.bytes_in += len(data)
        if self.ended is not None:
            # We said our last word, or heard the other's; all that is waited for is the end of TCP.
            return
        if self._watch is not None:
            self._watch.heard()
        self._tls.feed(data)
        self._pump()

    def eof_received(self) -> bool:
        self._end(ConnectionClosed(Reason.LOST))
        return False

    def connection_lost(self, _error: Exception | None) -> None:
        self._end(ConnectionClosed(Reason.LOST))
        self._stop_timer()
        self.closed.set_result(None)
        self._on_closed(self)

    def _pump(self) -> None:
        """Go on as far as the bytes that came allow."""
        try:
            if self._handshake is None:
                if not self._tls.handshake():
                    self._write_out()
                    return
                # Before the last bytes of the TLS handshake leave: a client that finds another key sends nothing.
                self._handshake = self._make_handshake(self._tls.certificate())
                self._write_handshake(self._handshake.begin())
            self._read()
        except Violation as violation:
            self._refuse(violation)
        except ConnectionClosed as error:
            self.abandon(error)

    def _read(self) -> None:
        while not self._is_full and self.ended is None:
            frame = self._reader.next()
            if frame is not None:
                self._take(frame)
                continue
            data = self._tls.read()
            if data:
                self._reader.feed(data)
                continue
            if self._tls.ended:
                self._end(ConnectionClosed(Reason.LOST))
                self._transport.close()
            return

    def _take(self, frame: Frame) -> None:
        self.counters.frames_in += 1
        if self._watch is not None:
            self._watch.frame_ended()
        if frame.kind is Kind.MESSAGES:
            messages = read_messages(frame.body)
            self.counters.messages_in += len(messages)
            self._inbox += messages
            self._inbox_bytes += len(frame.body) + OBJECT_BYTES * len(messages)
            if self._inbox_bytes >= self._limits.max_incoming_bytes:
                self._is_full = True
                self._transport.pause_reading()
            self._wake_receiver()
        elif frame.kind is Kind.HANDSHAKE:
            self._go_on_with_handshake(frame.body)
        elif frame.kind is Kind.CLOSE:
            self._hear_last_word(frame.body)

    def _go_on_reading(self) -> None:
        self._is_full = False
        self._pump()
        if not self._is_full and not self._transport.is_closing():
            if self._watch is not None:
                self._watch.resumed()
            self._transport.resume_reading()

    def _wake_receiver(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    # The handshake.

    def _go_on_with_handshake(self, body: bytes) -> None:
        assert self._handshake is not None
        answers = self._handshake.receive(body)
        other = self._handshake.other
        if other is None:
            self._write_handshake(answers)
            return
        self.other = other
        self.counters.connections = 1
        self._reader.open(self._limits.max_frame_bytes)
        self._outbox = Outbox(self._limits, other.max_frame_bytes)
        self._write_handshake(answers)
        self._stop_timer()
        self._watch = Watch(self._limits, other.patience_s)
        self._timer = self._loop.call_later(self._watch.tick_s, self._tick)
        self._opened(self)

    def _write_handshake(self, messages: list[bytes]) -> None:
        for message in messages:
            self._write(write_frame(Kind.HANDSHAKE, message))
        self._write_out()

    # Sending.

    @property
    def max_message_bytes(self) -> int:
        return self._opened_outbox().max_message_bytes

    @property
    def is_drained(self) -> bool:
        """Whether TCP takes more and little is waiting."""
        return self._is_writable and self._opened_outbox().size_bytes <= self._limits.drained_bytes

    def send(self, message: bytes, *, secret: bool = False) -> None:
        """Send with the next frame. The frame of a `secret` message is not compressed, as the size of compressed data
        tells something of its content to whoever can put guesses beside it."""
        if self.ended is not None:
            raise self.ended
        outbox = self._opened_outbox()
        outbox.append(message, secret)
        if outbox.size_bytes > self._limits.max_outgoing_bytes:
            error = ConnectionClosed(Reason.SLOW_CONSUMER)
            self.abandon(error)
            raise error
        if not self._flush_scheduled and self._is_writable:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    async def drain(self) -> None:
        """Wait until little is left to send. Raises `ConnectionClosed` if that does not come to pass."""
        while self.ended is None and not self.is_drained:
            waiter = self._loop.create_future()
            self._drain_waiters.append(waiter)
            await waiter
        if self.ended is not None:
            raise self.ended

    def pause_writing(self) -> None:
        self._is_writable = False

    def resume_writing(self) -> None:
        self._is_writable = True
        self._flush()

    def _flush(self) -> None:
        self._flush_scheduled = False
        outbox = self._outbox
        if outbox is None or self._last_word_said or self._transport.is_closing():
            return
        try:
            while outbox and self._is_writable:
                frame, count = outbox.next_frame()
                self._write(frame)
                self.counters.messages_out += count
                self._write_out()
        except Violation as violation:
            self._refuse(violation)
            return
        if not outbox and self.ended is not None:
            self._say_last_word()
        if self.is_drained:
            self._release_drain_waiters()

    def _write(self, frame: bytes) -> None:
        self._tls.write(frame)
        self.counters.frames_out += 1
        if self._watch is not None:
            self._watch.has_sent = True

    def _write_out(self) -> None:
        data = self._tls.outgoing()
        if data:
            self.counters.bytes_out += len(data)
            self._transport.write(data)

    def _release_drain_waiters(self) -> None:
        waiters, self._drain_waiters = self._drain_waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _opened_outbox(self) -> Outbox:
        assert self._outbox is not None, "messages are sent when the handshake is complete"
        return self._outbox

    def _tick(self) -> None:
        """The one timer of a connection: a heartbeat if nothing else was sent, and a look at what takes too long."""
        assert self._watch is not None
        self._timer = self._loop.call_later(self._watch.tick_s, self._tick)
        try:
            if not self._watch.has_sent and self._is_writable:
                self._write(write_frame(Kind.HEARTBEAT))
                self._write_out()
        except Violation as violation:
            self._refuse(violation)
            return
        reason = self._watch.tick(
            is_reading=not self._is_full, is_within_frame=self._reader.is_within_frame, is_writable=self._is_writable
        )
        if reason is not None:
            self._refuse(Violation(reason, "the other end was given up; connect again"))

    # The end.

    def close(self, reason: Reason = Reason.DONE, text: str = "") -> None:
        """Say why, after everything that was sent before, and end the connection. Does nothing if it has ended."""
        if self.ended is None:
            self._end(ConnectionClosed(reason, text=text))
            self._give_up_after(self._limits.linger_s)
            if self._outbox:
                self._flush()
            else:
                self._say_last_word()

    def refuse(self, reason: Reason, sentence: str) -> None:
        """End the connection for a fault of the other end. It is told the reason, and the sentence is for our log."""
        self._refuse(Violation(reason, sentence))

    def abort(self) -> None:
        """End the connection this instant, without a word."""
        self._end(ConnectionClosed(Reason.LOST))
        self._transport.abort()

    async def wait_closed(self) -> None:
        await asyncio.shield(self.closed)

    def _refuse(self, violation: Violation) -> None:
        if self.ended is not None:
            return
        self.counters.refused[violation.reason] += 1
        if self._outbox is not None:
            self._outbox.clear()
        self._end(ConnectionClosed(violation.reason, text=str(violation)))
        self._give_up_after(self._limits.linger_s)
        self._say_last_word()

    def abandon(self, error: ConnectionClosed) -> None:
        """End the connection without a word for a fault of the other end."""
        if error.reason.is_refusal:
            self.counters.refused[error.reason] += 1
        if self._outbox is not None:
            self._outbox.clear()
        self._end(error)
        self._transport.abort()

    def _hear_last_word(self, body: bytes) -> None:
        closing = read_closing(body)
        try:
            error = ConnectionClosed(Reason(closing.reason), by_other=True, text=closing.text)
        except ValueError:
            unknown = f"its reason, number {closing.reason}, is unknown to this version"
            error = ConnectionClosed(Reason.DONE, by_other=True, text=unknown)
        self._end(error)
        self._give_up_after(self._limits.linger_s)
        self._transport.close()

    def _say_last_word(self) -> None:
        """The reason, then TLS's own end, then TCP's. The other end closes its side when it has read that."""
        assert self.ended is not None
        self._last_word_said = True
        reason = self.ended.reason
        try:
            if self._handshake is None or reason is Reason.TLS_FAILED:
                # TLS may have an alert to send, and nothing else can be said.
                self._write_out()
                self._transport.close()
                return
            # The sentence of a refusal stays here; a text that was given to `close` is meant for the other end.
            self._write(write_closing(reason, "" if reason.is_refusal else self.ended.text))
            self._tls.end()
            self._write_out()
            self._transport.write_eof()
        except Violation:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _give_up_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self._loop.call_later(seconds, self._transport.abort)

    def _end(self, error: ConnectionClosed) -> None:
        if self.ended is None:
            self.ended = error
            if self._is_full and not self._transport.is_closing():
                # Only so that the end of TCP is noticed; what comes is dropped.
                self._transport.resume_reading()
            self._wake_receiver()
            self._release_drain_waiters()
