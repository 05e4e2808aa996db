"""The network below the messages: who is at the other end, encrypted, framed, bounded, in order.

Endpoint, Party, Other        who we are, for all connections together; who the other end of one is
Listener, dial, Dialer        taking connections, making one, and keeping one
Connection                    messages over one connection: send, drain, receive, close
Session, Link                 messages over successive connections: each once, in order
Limits, ...                   a limit on everything
Counters, Reason              what went over, and why something was refused
run                           the fastest event loop there is
"""

from superpeer.net.connection import Connection
from superpeer.net.counters import Counters
from superpeer.net.dialer import Backoff, Dialer, dial
from superpeer.net.endpoint import Endpoint, Other, Party
from superpeer.net.errors import (
    ConnectionClosed,
    MessageTooLarge,
    NetError,
    Reason,
    SessionFull,
    Unreachable,
    Violation,
    WrongServerKey,
)
from superpeer.net.limits import Limits, ListenerLimits, SessionLimits
from superpeer.net.links import Link
from superpeer.net.listener import Listener
from superpeer.net.loops import run
from superpeer.net.sessions import Session

__all__ = [
    "Backoff",
    "Connection",
    "ConnectionClosed",
    "Counters",
    "Dialer",
    "Endpoint",
    "Limits",
    "Link",
    "Listener",
    "ListenerLimits",
    "MessageTooLarge",
    "NetError",
    "Other",
    "Party",
    "Reason",
    "Session",
    "SessionFull",
    "SessionLimits",
    "Unreachable",
    "Violation",
    "WrongServerKey",
    "dial",
    "run",
]
