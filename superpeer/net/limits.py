"""A limit on everything, in one place. A deployment may choose other numbers; the wire format allows for that."""

from __future__ import annotations

from dataclasses import dataclass

KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE

# What Python takes for a small object beside its bytes; many empty messages must not be free.
OBJECT_BYTES = 64

# What a hello may state. Everybody takes frames of 64 KiB, and nobody can be made to keep time in microseconds.
MIN_FRAME_BYTES = 64 * KIBIBYTE
MAX_FRAME_BYTES = 256 * MEBIBYTE
MIN_PATIENCE_MS = 100
MAX_PATIENCE_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one connection."""

    max_frame_bytes: int = MEBIBYTE
    """The largest body of a frame that we take, as it is on the wire and once it is decompressed."""
    batch_bytes: int = 128 * KIBIBYTE
    """A frame of ours is closed when it has grown to this."""
    compress_from_bytes: int = 4 * KIBIBYTE
    """Smaller frames are sent as they are."""
    max_incoming_bytes: int = MEBIBYTE
    """So much may wait to be received before we stop reading; it is exceeded by one frame at most."""
    max_outgoing_bytes: int = 8 * MEBIBYTE
    """With so much waiting to be sent, whoever sends more gets an error, and the connection ends."""
    drained_bytes: int = 256 * KIBIBYTE
    """`drain` returns when no more than this waits to be sent."""
    handshake_s: float = 10.0
    """From the connection's beginning until both ends know each other."""
    patience_s: float = 30.0
    """A connection is given up when nothing was heard for so long. The other end is told, and sends heartbeats."""
    frame_s: float = 60.0
    """A frame that was begun is finished in this time."""
    stall_s: float = 60.0
    """An end that takes nothing of what waits for it in this time is given up."""
    linger_s: float = 2.0
    """After the last word, so long we wait for the other end to close."""

    def __post_init__(self) -> None:
        assert MIN_FRAME_BYTES <= self.max_frame_bytes <= MAX_FRAME_BYTES
        assert MIN_PATIENCE_MS <= self.patience_s * 1000 <= MAX_PATIENCE_MS
        assert self.drained_bytes <= self.max_outgoing_bytes


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """The limits of all connections together."""

    max_connections: int = 20_000
    max_per_address: int = 256
    """Connections from one IPv4 address, or from one IPv6 network of 64 bits, which is what one customer gets."""
    max_unfinished: int = 256
    """Handshakes under way. One more displaces the oldest, so that slow ones never shut out the quick."""
    max_unfinished_per_address: int = 32


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The limits of a session between two super-peers."""

    max_message_bytes: int = MEBIBYTE - 4 * KIBIBYTE
    batch_bytes: int = 64 * KIBIBYTE
    max_unacknowledged: int = 1_000_000
    max_unacknowledged_bytes: int = 64 * MEBIBYTE
