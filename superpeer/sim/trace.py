"""Traces: what was done to a network, call by call, so that a run can be kept, sent to somebody, and replayed.

A trace has the arguments that a network was made with and every call that came from outside, as plain values. As the
same seed and the same calls give the same run, this is all that a run needs; what happened inside is not in it. A
file has one line of JSON for each call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import msgspec

from auth import AuthError
from hypercup import Faults
from qel import QelError
from superpeer.errors import SuperpeerError
from superpeer.node.limits import Limits
from superpeer.sim.errors import SimulationError

if TYPE_CHECKING:
    from superpeer.sim.network import Network

REFUSALS = (SuperpeerError, AuthError, QelError)
"""What a call may end with that belongs to the run."""


class Setup(msgspec.Struct, frozen=True):
    """What a network was made with."""

    super_peers: int
    seed: int
    backbone: str
    faults: Faults
    limits: Limits
    accepts_nonconforming: bool


class Call(msgspec.Struct, frozen=True):
    """Somebody called a method of the network (peer None) or of a peer, by its number."""

    peer: int | None
    method: str
    arguments: dict[str, Any]


class Trace:
    """The calls of one network so far."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.calls: list[Call] = []
        self._depth = 0

    def call(self, peer: int | None, method: str, arguments: dict[str, Any], run: Callable[[], Any]) -> Any:
        """Notes a call, unless it is part of another one, and runs it."""
        if self._depth == 0:
            self.calls.append(Call(peer, method, arguments))
        self._depth += 1
        try:
            return run()
        finally:
            self._depth -= 1

    def save(self, path: Path) -> None:
        lines = [msgspec.json.encode(self.setup), *map(msgspec.json.encode, self.calls)]
        path.write_bytes(b"\n".join(lines) + b"\n")

    @classmethod
    def load(cls, path: Path) -> Trace:
        lines = path.read_bytes().splitlines()
        try:
            trace = cls(msgspec.json.decode(lines[0] if lines else b"", type=Setup))
            trace.calls = [msgspec.json.decode(line, type=Call) for line in lines[1:]]
        except msgspec.MsgspecError as error:
            raise SimulationError(f"{path.name} is no trace of a simulation: {error}") from error
        return trace

    def replay(self, prepare: Callable[[Network], None] = lambda _: None) -> Network:
        """Runs it all again. `prepare` gets the new network before the first call, to listen to it."""
        from superpeer.sim.network import Network  # the network has a trace

        setup = self.setup
        network = Network(
            setup.super_peers,
            setup.seed,
            backbone=setup.backbone,
            faults=setup.faults,
            limits=setup.limits,
            accepts_nonconforming=setup.accepts_nonconforming,
        )
        prepare(network)
        for call in self.calls:
            target = network if call.peer is None else network.peers[call.peer]
            method = getattr(target, call.method, None)
            if not getattr(method, "is_traced", False):
                raise SimulationError(f"a trace has no call of {call.method!r}; was it changed?")
            try:
                method(**call.arguments)  # type: ignore[misc]
            except REFUSALS:
                continue  # As it was refused the first time.
        return network


class Traced(Protocol):
    """Something with a trace: the network, or one of its peers."""

    @property
    def trace(self) -> Trace: ...

    @property
    def trace_number(self) -> int | None: ...


Self = TypeVar("Self", bound=Traced)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def traced(
    method: Callable[Concatenate[Self, Parameters], Result],
) -> Callable[Concatenate[Self, Parameters], Result]:
    """Notes every call from outside. Arguments are plain values."""
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]

    @wraps(method)
    def noting(self: Self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        result: Result = self.trace.call(
            self.trace_number, method.__name__, arguments, lambda: method(self, *args, **kwargs)
        )
        return result

    noting.is_traced = True  # type: ignore[attr-defined]
    return noting  # type: ignore[return-value]
