"""What one end of a link said and what the other holds, when a view ends in the middle of it."""

from __future__ import annotations

from functools import partial

import pytest

from superpeer.node.advertisements import PropertyElement
from superpeer.node.digests import NOTHING
from superpeer.node.routing_messages import ElementsChanged
from superpeer.node.sending import Receiving, Sending, Waiting

A, B, C = (PropertyElement(name) for name in "abc")
MESSAGES = [
    ElementsChanged(0, 1, frozenset({A}), base=NOTHING),
    ElementsChanged(0, 2, frozenset({B})),
    ElementsChanged(0, 3, frozenset({C}), frozenset({A})),
]


@pytest.mark.parametrize("received", [0, 1, 2, 3])
@pytest.mark.parametrize("acknowledged", [0, 1, 2])
def test_the_state_that_the_other_end_holds_is_found(received: int, acknowledged: int) -> None:
    if acknowledged > received:
        return
    sending: Sending[ElementsChanged] = Sending()
    receiving: Receiving[ElementsChanged] = Receiving()
    for message in MESSAGES:
        sending.say(message)
    for message in MESSAGES[:received]:
        receiving.hear(message)
    if acknowledged:
        sending.acknowledge(acknowledged)
    sending.begin_view()
    receiving.begin_view()
    assert not sending.is_whole
    assert not receiving.is_whole
    assert sending.resume(receiving.digest) == MESSAGES[received:][::-1]
    assert sending.digest == receiving.digest


def test_with_an_unknown_state_the_table_starts_from_nothing() -> None:
    sending: Sending[ElementsChanged] = Sending()
    sending.say(MESSAGES[0])
    sending.acknowledge(1)
    sending.begin_view()
    assert sending.resume(b"something else") is None
    assert sending.digest == NOTHING


def test_what_starts_from_nothing_replaces_what_was_held() -> None:
    receiving: Receiving[ElementsChanged] = Receiving()
    assert receiving.hear(MESSAGES[0])
    held = receiving.digest
    receiving.begin_view()
    assert receiving.digest == held
    with pytest.raises(AssertionError, match="held here"):
        receiving.hear(ElementsChanged(0, 1, frozenset({B}), base=b"something else"))
    receiving.begin_view()
    assert receiving.hear(MESSAGES[0])
    assert receiving.digest == held


def test_an_acknowledgement_is_for_all_before_it_in_the_same_view() -> None:
    done: list[int] = []
    sending: Sending[ElementsChanged] = Sending()
    for message in MESSAGES:
        sending.say(message)
        waiting = Waiting(partial(done.append, message.number))
        sending.wait(waiting)
        waiting.resolve()
    sending.acknowledge(2)
    assert done == [1, 2]
    sending.begin_view()
    with pytest.raises(AssertionError, match="for what was sent"):
        sending.acknowledge(3)
    assert done == [1, 2]
