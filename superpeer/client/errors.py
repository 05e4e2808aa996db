"""What can go wrong for a peer by itself, beside what its access point refuses (`superpeer.node.errors`).

SuperpeerError
 └── PeerError
      ├── BadAddress          not HOST:PORT#KEY
      ├── DirectoryInUse      another process runs this peer
      ├── DirectoryUnusable   its memory cannot be read or written
      ├── NoAccessPoint       a new peer has to be told which super-peer to attach to
      ├── NoAnswer            the access point did not answer in time; says what is wrong with it
      ├── OutboxFull          too much waits for the network already
      ├── FetchFailed         nobody brought the resource
      └── PeerClosed          it was asked for something after its end
"""

from __future__ import annotations

from pathlib import Path

from superpeer.errors import SuperpeerError


class PeerError(SuperpeerError):
    """The base of what the client library raises of its own."""


class BadAddress(PeerError):
    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r} does not say where a super-peer is: {why}; write HOST:PORT#KEY")


class DirectoryInUse(PeerError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is in use by another process; a peer runs once, so stop the other one first")


class DirectoryUnusable(PeerError):
    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be used as a peer's memory: {why}")


class NoAccessPoint(PeerError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"the peer in {path} is not attached anywhere yet; say to which super-peer, HOST:PORT#KEY")


class NoAnswer(PeerError):
    """What was asked may still be done: it is asked again as soon as there is a connection, or not at all."""

    def __init__(self, access_point: str, seconds: float, problem: Exception | None, consequence: str) -> None:
        self.problem = problem
        why = f" ({problem})" if problem else ""
        super().__init__(f"{access_point} did not answer within {seconds:g} seconds{why}; {consequence}")


class OutboxFull(PeerError):
    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the outbox holds {limit:,} publications that the network has not acknowledged; wait until it has some"
        )


class FetchFailed(PeerError):
    def __init__(self, resource: str, reason: str) -> None:
        self.resource = resource
        self.reason = reason
        super().__init__(f"{resource} could not be fetched: {reason}")


class PeerClosed(PeerError):
    def __init__(self) -> None:
        super().__init__("the peer is closed; open it again")
