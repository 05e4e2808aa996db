"""The simulator can fail: with any one rule switched off, the same seeds that lose nothing lose notifications."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from superpeer.node.broker import Broker
from superpeer.node.catching_up import CatchingUp
from superpeer.node.delivery import Delivery
from superpeer.node.exchange import Exchange, InView
from superpeer.node.node import Node
from superpeer.node.router import Router
from superpeer.node.workspace import Workspace
from superpeer.sim import Network
from superpeer.sim.errors import SimulationError
from tests.superpeer.sim.test_network import Life

SEEDS = range(25)


class WithoutTheSameView(Broker):
    """Messages of one view meet the tables of another."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._exchange = _OpenExchange()


class _OpenExchange(Exchange[Any]):
    def say(self, neighbour: bytes, content: Any) -> Any:
        return [(neighbour, InView(self.view, content))]

    def hear(self, message: InView[Any]) -> Any:
        return message.content


class WithoutCompleteMarks(Broker):
    """Tables are told before they are whole, and nobody waits until all have been."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.router = _HastyRouter()
        self._restore()


class _HastyRouter(Router):
    @property
    def is_settled(self) -> bool:
        return True

    def _is_whole(self, received: Any, links: Any) -> bool:  # noqa: ARG002
        return True


class WithoutHolding(Broker):
    """Publications leave before the advertisements of their publisher are settled."""

    def _may_leave(self, publisher: Any) -> bool:  # noqa: ARG002
        return True


class WithoutSendingAgain(Broker):
    """What was in hand when a view ended is forgotten."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.delivery = _ForgetfulDelivery(workspace)
        self.catching_up = CatchingUp(workspace, self.delivery, self.is_all_here, self.is_in_place)


class _ForgetfulDelivery(Delivery):
    def begin_view(self) -> None:
        waiting = self._to_send
        super().begin_view()
        self._to_send = waiting

    def acknowledged(self, neighbour: bytes, message: Any) -> Any:
        places = tuple(place for place in message.places if (message.origin, place) in self._in_hand)
        return super().acknowledged(neighbour, msgspec.structs.replace(message, places=places))


class WithoutCatchingUp(Broker):
    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.catching_up.begin = lambda peer, origins: None  # type: ignore[method-assign]  # noqa: ARG005


class WithoutLingering(Broker):
    """The advertisements of a peer that leaves go with it."""

    def _let_go(self) -> None:
        self._state.log.unacknowledged, kept = {}, self._state.log.unacknowledged
        super()._let_go()
        self._state.log.unacknowledged = kept


def what_goes_wrong(broker: type[Broker], seeds: range) -> list[str]:
    """What the first life that does not go well misses, or how it breaks down."""
    node = type("BrokenNode", (Node,), {"broker_class": broker})
    network = type("BrokenNetwork", (Network,), {"node_class": node})
    for seed in seeds:
        try:
            life = Life(6, seed, "cube", network)
            for _ in range(120):
                life.step()
            life.end()
        except (AssertionError, KeyError) as error:
            return [f"it breaks down: {error!r}"]
        except SimulationError:
            continue  # Somebody waits for ever before it leaves.
        if life.faults():
            return life.faults()
    return []


@pytest.mark.parametrize(
    "broken",
    [
        WithoutTheSameView,
        WithoutCompleteMarks,
        WithoutHolding,
        WithoutSendingAgain,
        WithoutCatchingUp,
        WithoutLingering,
    ],
)
def test_with_a_rule_switched_off_notifications_are_lost(broken: type[Broker]) -> None:
    wrong = what_goes_wrong(broken, SEEDS)
    assert wrong
    if broken is not WithoutTheSameView:
        assert any("missed" in one for one in wrong), wrong


def test_with_all_rules_nothing_is() -> None:
    assert not what_goes_wrong(Broker, SEEDS)
