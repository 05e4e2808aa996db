"""What can go wrong below the messages, and the reasons that two ends give each other.

    NetError
     ├── ConnectionClosed      the connection is over; has a `reason`
     │    ├── WrongServerKey   whoever answered holds another key than the expected one
     │    └── Unreachable      nobody answered at the address
     ├── Violation             the other end broke the protocol; has the `reason` with which it is refused
     ├── MessageTooLarge       a message is larger than the other end takes
     └── SessionFull           too much is sent and not acknowledged

A reason is a number on the wire and a kind in the counters. The other end is told the number only: a sentence would
help whoever tries things out.
"""

from __future__ import annotations

from enum import IntEnum

from superpeer.errors import SuperpeerError


class Reason(IntEnum):
    """Why a connection ended. The numbers are part of the wire format; those below 16 are no refusals."""

    DONE = 0
    """There is no more to say."""
    GOING_AWAY = 1
    """The process is about to stop."""
    SUPERSEDED = 2
    """Another connection between the same two takes over."""
    LOST = 3
    """It broke without a word. Never sent."""

    TLS_FAILED = 16
    """Not TLS 1.3, or broken in it. Never sent."""
    MALFORMED_FRAME = 17
    """The body of a frame is not what its kind says."""
    OVERSIZE = 18
    """A frame is larger than allowed, as it is or once it is decompressed."""
    UNKNOWN_KIND = 19
    """A frame of a kind that this version does not know."""
    BAD_COMPRESSION = 20
    """A compressed body that is damaged, or does not say how large it is."""
    OUT_OF_ORDER = 21
    """A frame or message that has no place here."""
    MALFORMED_MESSAGE = 22
    """A message, of the handshake or above, that cannot be read."""
    VERSION = 23
    """There is no version of the protocol that both speak."""
    WRONG_NETWORK = 24
    """The two belong to networks with different root keys."""
    WRONG_KEY = 25
    """The key is not the expected one."""
    ROLE_REFUSED = 26
    """The key may not act in the role that it claims here."""
    NOT_PROVED = 27
    """The answer to the challenge does not prove the key."""
    NOT_ADMITTED = 28
    """A super-peer without a certificate that is valid now."""
    HANDSHAKE_SLOW = 29
    """The handshake did not end in time."""
    SILENT = 30
    """Nothing was heard for too long, not even a heartbeat."""
    FRAME_SLOW = 31
    """A frame was begun and not finished in time."""
    SLOW_CONSUMER = 32
    """The other end does not take what it is sent."""
    TOO_MANY_CONNECTIONS = 33
    """The listener has as many connections as it takes."""
    TOO_MANY_FROM_ADDRESS = 34
    """The listener has as many connections from one address as it takes."""
    DISPLACED = 35
    """A handshake gave way to newer ones, as too many were unfinished."""
    FAULT = 36
    """A fault of the program that was to serve the connection."""

    @property
    def is_refusal(self) -> bool:
        return self >= Reason.TLS_FAILED


class NetError(SuperpeerError):
    """The base of everything that `superpeer.net` raises."""


class ConnectionClosed(NetError):
    """The connection is over, by the other end's will or ours, or because it broke."""

    def __init__(self, reason: Reason, *, by_other: bool = False, text: str = "") -> None:
        who = "the other end closed the connection" if by_other else "the connection was closed"
        said = f" ({text})" if text else ""
        super().__init__(f"{who}: {ADVICE[reason]}{said}")
        self.reason = reason
        self.by_other = by_other
        self.text = text


class WrongServerKey(ConnectionClosed):
    """Nothing was sent to whoever it is."""

    def __init__(self, address: str, expected: str, found: str | None) -> None:
        super().__init__(Reason.WRONG_KEY)
        what = f"with the key {found}" if found else "with a certificate that holds no Ed25519 key"
        self.args = (f"{address} answers {what}, not {expected}; nothing was sent: check the address and the key",)


class Unreachable(ConnectionClosed):
    def __init__(self, address: str, why: str) -> None:
        super().__init__(Reason.LOST)
        self.args = (f"nobody could be reached at {address} ({why}); check the address, and that it is running",)


class Violation(NetError):
    """The other end broke the protocol. The sentence is for our own log, the reason for the other end."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        assert reason.is_refusal
        super().__init__(sentence)
        self.reason = reason


class MessageTooLarge(NetError):
    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"a message of {size_bytes} bytes is larger than the {limit_bytes} that the other end takes; divide it"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class SessionFull(NetError):
    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            f"the session holds {limit} {what} that are not acknowledged; wait for the other end, or begin anew"
        )
        self.limit = limit


ADVICE = {
    Reason.DONE: "there was no more to say",
    Reason.GOING_AWAY: "it stops; try again later, or elsewhere",
    Reason.SUPERSEDED: "another connection between the same two took over; use that one",
    Reason.LOST: "it broke; connect again",
    Reason.TLS_FAILED: "it is not TLS 1.3 as the protocol asks for; check that both ends are super-peers or peers",
    Reason.MALFORMED_FRAME: "a frame was malformed; check the sender's version",
    Reason.OVERSIZE: "a frame was larger than allowed; send smaller messages",
    Reason.UNKNOWN_KIND: "a frame was of an unknown kind; check the sender's version",
    Reason.BAD_COMPRESSION: "a compressed frame was damaged; check the sender's version",
    Reason.OUT_OF_ORDER: "something came out of order; check the sender's version",
    Reason.MALFORMED_MESSAGE: "a message was malformed; check the sender's version",
    Reason.VERSION: "the two ends have no version of the protocol in common; update the older one",
    Reason.WRONG_NETWORK: "the two ends belong to different networks; check the root keys",
    Reason.WRONG_KEY: "the key is not the expected one; check the address and the key",
    Reason.ROLE_REFUSED: "the key may not act in the role it claims; ask the operator of the super-peer",
    Reason.NOT_PROVED: "the key was not proved; check that the key file is the right one and was not revoked",
    Reason.NOT_ADMITTED: "the super-peer has no valid certificate; let the holder of the root key admit it",
    Reason.HANDSHAKE_SLOW: "the handshake took too long; try again",
    Reason.SILENT: "nothing was heard for too long; connect again",
    Reason.FRAME_SLOW: "a frame took too long to arrive; connect again over a faster line",
    Reason.SLOW_CONSUMER: "what was sent was not taken fast enough; read faster",
    Reason.TOO_MANY_CONNECTIONS: "there are too many connections; try again later, or elsewhere",
    Reason.TOO_MANY_FROM_ADDRESS: "there are too many connections from one address; close some",
    Reason.DISPLACED: "too many handshakes were unfinished; try again",
    Reason.FAULT: "the program that served it failed; its log says why",
}
