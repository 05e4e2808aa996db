"""The public names of the package are pinned: others rely on them."""

from __future__ import annotations

import hypercup

NAMES = """
Announce AnyMessage Ask Backbone Choice ChosenLink Compare Cube CubeBackbone CubeKind CubeLink DrawingError Effect
Entries Entry Faults Heartbeat HypercupError Identity IncompleteCube InvalidEntry InvalidLabel InvalidScript
InvalidTiming Kind Label Link MalformedMessage Membership News NoMembers NoSuchDimension Placement Placer Position
Received Send SimulatedNetwork Status Stopped Table Timing Tone TreeBackbone UnknownLabel UnknownMember
UnstructuredKind Verdict View ViewChanged Views Vouch broadcast_tree decode encode first_difference make_view merge
place spanning_tree
""".split()  # noqa: SIM905


def test_exports() -> None:
    assert sorted(hypercup.__all__) == sorted(NAMES)
    assert all(hasattr(hypercup, name) for name in NAMES)


def test_every_error_has_one_root() -> None:
    errors = [
        thing for name in NAMES if isinstance(thing := getattr(hypercup, name), type) and issubclass(thing, Exception)
    ]
    assert len(errors) > 8
    assert all(issubclass(error, hypercup.HypercupError) for error in errors)
