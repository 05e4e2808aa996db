"""A run can be kept in a file and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rdflib import URIRef

import qel
from superpeer.node.errors import Nonconforming
from superpeer.sim import Network
from superpeer.sim.errors import SimulationError
from superpeer.sim.trace import Trace
from tests.superpeer.sim.test_network import Life, paper


def heard(network: Network) -> list[tuple[float, str, str, str]]:
    found: list[tuple[float, str, str, str]] = []

    def listen(sender: str, receiver: str, what: Any) -> None:
        found.append((network.time, sender, receiver, repr(what)))

    network.listeners.append(listen)
    return found


@pytest.mark.parametrize("backbone", ["cube", "unstructured"])
def test_a_random_life_is_the_same_again(tmp_path: Path, backbone: str) -> None:
    life = Life(5, 11, backbone)
    first = heard(life.net)
    seen_before = len(life.net.trace.calls)
    for _ in range(80):
        life.step()
    life.end()
    life.net.trace.save(tmp_path / "life.trace")
    again = Trace.load(tmp_path / "life.trace")
    assert len(again.calls) > seen_before + 50
    second: list[list[tuple[float, str, str, str]]] = []
    network = again.replay(lambda network: second.append(heard(network)))
    assert second[0][-len(first) :] == first
    assert network.time == life.net.time
    assert network.counters == life.net.counters
    inboxes = [[note.id for note in peer.inbox] for peer in network.peers]
    assert inboxes == [[note.id for note in peer.inbox] for peer in life.net.peers]


def test_what_was_refused_is_refused_again(tmp_path: Path) -> None:
    net = Network(super_peers=2, seed=1)
    library, reader = net.add_peer(at=0), net.add_peer(at=1)
    with pytest.raises(Nonconforming):
        library.publish(paper(1, "a"))
    with pytest.raises(qel.QelError):
        reader.subscribe("nonsense")
    library.advertise(values={"dc:creator": ["a"], "dc:date": [(2000, None), URIRef("http://example.org/d")]})
    library.offer("http://example.org/papers/1", b"\0\1")
    reader.subscribe("X : t(X, dc:creator, Y)", lasts=50)
    net.run()
    library.publish(paper(1, "a"))
    net.run()
    reader.fetch("http://example.org/papers/1", reader.inbox[0])
    net.run(60)
    net.trace.save(tmp_path / "run.trace")
    again = Trace.load(tmp_path / "run.trace").replay()
    assert [note.id for note in again.peers[1].inbox] == [note.id for note in reader.inbox]
    assert [one.content for one in again.peers[1].downloads.values()] == [b"\0\1"]
    assert again.peers[1].expired == reader.expired == ["subscription 2"]


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    for text in ("", "nonsense\n", '{"super_peers": 1}\n'):
        path.write_text(text)
        with pytest.raises(SimulationError, match=r"x\.trace is no trace"):
            Trace.load(path)
    net = Network(super_peers=1)
    net.trace.call(None, "clock", {}, lambda: None)
    with pytest.raises(SimulationError, match="no call of 'clock'"):
        net.trace.replay()
