"""Virtual time: nodes do one thing after another."""

from __future__ import annotations

import pytest

from superpeer.dht.simulation import Leg, Work
from superpeer.dht.timing import HOP_S, Environment, Operation, match_latency_s


def test_lookups_wait_for_each_other() -> None:
    """Two events begin at one node, which takes a hundred seconds to look up where each goes."""
    slow = Environment("slow", 1.0, 0.0, 100.0)
    operations = [Operation.of(0.0, (Leg("publish", (1, node)), Work(node, 1, 1))) for node in (2, 3)]
    latencies = [match_latency_s(operations, slow, seed) for seed in range(200)]
    assert sum(latencies) / len(latencies) == pytest.approx((100 + 200) / 2 + HOP_S, rel=0.01)
