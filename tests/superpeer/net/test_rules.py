"""Small rules that need no socket, and what the package offers."""

from __future__ import annotations

import inspect
import re
from random import Random

import pytest

import superpeer.net
from superpeer.net import Backoff, Counters, Limits, NetError, Reason, errors
from superpeer.net.errors import ADVICE
from superpeer.net.listener import network_of
from superpeer.net.watch import Watch

ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, NetError)]


def test_waiting_is_bounded_and_random() -> None:
    backoff = Backoff(first_s=1, longest_s=10)
    one, other = Random(1), Random(2)
    for attempt in range(1, 2000):
        assert 0.5 * min(10, 2.0 ** min(attempt - 1, 10)) <= backoff.wait_s(attempt, one) <= 10
    assert backoff.wait_s(1, one) != backoff.wait_s(1, other)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_what_counts_as_one_address(host: str, network: str) -> None:
    assert network_of(host) == network


def test_a_watch_counts_ticks_and_not_seconds() -> None:
    watch = Watch(Limits(patience_s=4, frame_s=8, stall_s=12), other_patience_s=40)
    assert watch.tick_s == 1
    idle = {"is_reading": True, "is_within_frame": False, "is_writable": True}
    assert [watch.tick(**idle) for _ in range(5)] == [None] * 4 + [Reason.SILENT]
    watch.heard()
    assert watch.tick(**idle) is None
    for _ in range(9):
        watch.heard()
        reason = watch.tick(**{**idle, "is_within_frame": True})
    assert reason is Reason.FRAME_SLOW
    watch.frame_ended()
    for _ in range(13):
        watch.heard()
        reason = watch.tick(**{**idle, "is_writable": False})
    assert reason is Reason.SLOW_CONSUMER


def test_a_watch_blames_nobody_for_what_is_not_read() -> None:
    watch = Watch(Limits(patience_s=4), other_patience_s=4)
    for _ in range(100):
        assert watch.tick(is_reading=False, is_within_frame=True, is_writable=True) is None
    watch.resumed()
    assert watch.tick(is_reading=True, is_within_frame=True, is_writable=True) is None


def test_counters_add_up() -> None:
    one, other = Counters(frames_in=1, bytes_out=5), Counters(frames_in=2, connections=1)
    one.refused[Reason.SILENT] += 1
    other.refused[Reason.SILENT] += 2
    one.add(other)
    assert (one.frames_in, one.bytes_out, one.connections, one.refused[Reason.SILENT]) == (3, 5, 1, 3)


def test_every_reason_says_what_to_do() -> None:
    assert set(ADVICE) == set(Reason)
    for reason, sentence in ADVICE.items():
        assert reason is Reason.DONE or ";" in sentence, "what is wrong; what to do"


def test_the_docstring_shows_the_tree_of_errors() -> None:
    documented = re.findall(r"^    [│ ├└─]*(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted(documented) == sorted(kind.__name__ for kind in ERRORS)


def test_the_public_names() -> None:
    assert len(superpeer.net.__all__) == len(set(superpeer.net.__all__))
    assert all(hasattr(superpeer.net, name) for name in superpeer.net.__all__)
    assert {kind.__name__ for kind in ERRORS} <= set(superpeer.net.__all__)
