"""How the tests themselves run."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("kept together")
def test_the_tests_of_a_group_share_a_worker(request: pytest.FixtureRequest) -> None:
    """pytest-xdist writes the group behind the name; where it does not, stories are torn apart and wait for ever."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("there is one worker only")
    assert request.node.nodeid.endswith("@kept together")
