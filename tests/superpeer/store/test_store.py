"""What is loaded is what the records add up to, whatever they were and in whatever groups they came."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from rdflib import URIRef

import superpeer.node.state
import superpeer.store.writing
from hypercup import Entry, Label
from superpeer.node.limits import Limits
from superpeer.node.records import Forgotten, Record
from superpeer.node.state import State
from superpeer.node.workspace import Effects
from superpeer.sim import Network
from superpeer.sim.network import SuperPeer
from superpeer.store import store as store_module
from superpeer.store.changes import Setting
from superpeer.store.errors import StoreClosed, StoreExists
from superpeer.store.store import Store, finish_backup
from tests.superpeer.sim.test_network import Life, paper
from tests.superpeer.store.histories import HERE, History, applied, normal

SEEDS = int(os.environ.get("SOAK_SEEDS", "60")) // 8


def groups(random: Random, records: list[Record]) -> list[list[Record]]:
    """Some sizes are those of single steps, some those of a busy second."""
    found, begin = [], 0
    while begin < len(records):
        size = random.choice([1, 1, 2, 5, 20, 100])
        found.append(records[begin : begin + size])
        begin += size
    return found


def keeps(directory: Path, records: list[Record], random: Random) -> None:
    """A store is equal to the state after every few groups, and after it was opened again."""
    state = State()
    store = Store(directory)
    for group in groups(random, records):
        for record in group:
            state.apply(record)
        store.commit(group)
        if random.random() < 0.2:
            assert normal(store.load()) == normal(state)
        if random.random() < 0.1:
            store.close()
            store = Store(directory)
    assert normal(store.load()) == normal(state)
    store.close()
    is_tidy(directory, state)


def is_tidy(directory: Path, state: State) -> None:
    """Nothing is left that nobody needs."""
    queued = [entry.publication for kept in state.peers.values() for entry in kept.queue.entries]
    contents = {file.content for kept in state.peers.values() for file in kept.files.values()}
    with closing(sqlite3.connect(directory / "superpeer.db")) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("publications", "deliveries", "log", "peers", "marks")
        }
    assert counts["publications"] == len({*queued, *state.log})
    assert counts["log"] == len(state.log)
    assert counts["deliveries"] <= len(queued)
    assert counts["peers"] == len(state.peers)
    assert counts["marks"] <= sum(len(kept.queue.marks) for kept in state.peers.values())
    assert {path.read_bytes() for path in (directory / "files").iterdir()} == contents


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_records_are_kept(tmp_path: Path, seed: int) -> None:
    history = History(seed)
    history.grow(600)
    keeps(tmp_path / "store", history.records, Random(seed))


def test_random_records_are_of_all_kinds() -> None:
    counts: Counter[str] = Counter()
    for seed in range(10):
        history = History(seed)
        history.grow(600)
        counts.update(type(record).__name__ for record in history.records)
    kinds = {kind.__name__ for kind in get_args(Record)}
    assert counts.keys() == kinds


@pytest.mark.parametrize("backbone", ["cube", "unstructured"])
def test_what_nodes_say_is_kept(tmp_path: Path, backbone: str) -> None:
    random = Random(1)
    for seed in range(max(1, SEEDS // 4)):
        life = Life(4, seed, backbone)
        for _ in range(150):
            life.step()
        life.end()
        for one in life.net.super_peers:
            keeps(tmp_path / f"{seed} {one.name}", one.disk, random)


def test_limits_and_rendezvous_are_kept(tmp_path: Path) -> None:
    limits = Limits(log_entries=5, queue_entries=3, log_s=1000, queue_s=500, meeting_s=2000)
    net = Network(super_peers=3, seed=5, limits=limits)
    owner, reader, away = net.add_peer(at=0), net.add_peer(at=1), net.add_peer(at=1)
    owner.advertise(schemas=["dc:"])
    for peer in (reader, away):
        peer.subscribe("X : t(X, dc:creator, Y)", lasts=3000)
    net.run()
    resource = URIRef("http://example.org/papers/1")
    owner.offer(resource, b"the paper itself")
    away.disconnect()
    for i in range(8):
        owner.publish(paper(i, "a"))
        net.run()
    owner.disconnect()
    reader.fetch(resource, reader.inbox[0])
    net.run()
    reader.disconnect()
    owner.connect()
    net.run()
    kept = [file for one in net.super_peers for peer in applied(one.disk).peers.values() for file in peer.files]
    assert len(kept) == 1
    for when in ("now", "later"):
        for one in net.super_peers:
            keeps(tmp_path / f"{when} {one.name}", one.disk, Random(2))
        net.run(4000)


def test_stores_beside_a_network_have_what_its_super_peers_begin_their_lives_with(tmp_path: Path) -> None:
    life = Life(4, 3, "cube")
    stores: dict[str, Store] = {}
    carry_out, restart, restarts = life.net.carry_out, life.net.restart, []

    def carry_out_and_commit(super_peer: SuperPeer, effects: Effects) -> None:
        if super_peer.name not in stores:
            stores[super_peer.name] = Store(tmp_path / super_peer.name)
            stores[super_peer.name].commit(super_peer.disk)
        stores[super_peer.name].commit(effects.records)
        carry_out(super_peer, effects)

    def restart_and_compare(number: int) -> None:
        one = life.net.super_peers[number]
        stores[one.name].close()
        stores[one.name] = Store(tmp_path / one.name)
        assert normal(stores[one.name].load()) == normal(applied(one.disk))
        restarts.append(number)
        restart(number)

    life.net.carry_out, life.net.restart = carry_out_and_commit, restart_and_compare  # type: ignore[method-assign]
    for _ in range(250):
        life.step()
    life.end()
    assert restarts
    for one in life.net.super_peers:
        assert normal(stores[one.name].load()) == normal(one.running_node.state)
        stores[one.name].close()


def test_only_the_last_movers_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (superpeer.node.state, superpeer.store.writing):
        monkeypatch.setattr(module, "MAX_MOVED", 3)
    records: list[Record] = [Forgotten(f"peer {i % 7}", HERE) for i in (0, 1, 2, 0, 3, 1, 4, 5, 6, 2)]
    assert len(applied(records).moved) == 3
    for seed in range(5):
        keeps(tmp_path / str(seed), records, Random(seed))


def test_members_and_settings_are_kept(tmp_path: Path) -> None:
    entries = [Entry(bytes([i]), f"host{i}:1", incarnation=i, claim=Label("01"), signature=b"x") for i in range(3)]
    with Store(tmp_path / "store") as store:
        for entry in entries:
            store.keep_entry(entry)
        store.keep_entry(Entry(b"\1", "host9:1", incarnation=9))
        store.drop_entry(b"\2")
        store.keep_setting("network root", b"\0key")
        store.keep_setting("certificate", b"")
        store.keep_setting("gone", b"x")
        store.keep_setting("gone", None)
    with Store(tmp_path / "store") as store:
        assert store.entries() == [entries[0], Entry(b"\1", "host9:1", incarnation=9)]
        assert store.settings() == {"network root": b"\0key", "certificate": b""}
        assert normal(store.load()) == normal(State())


def test_a_backup_is_a_store(tmp_path: Path) -> None:
    history = History(3)
    with Store(tmp_path / "store") as store:
        for _ in range(10):
            store.commit(history.grow(50))
        store.keep_setting("name", b"value")
        before = normal(applied(history.records))
        store.backup(tmp_path / "copy")
        with pytest.raises(StoreExists, match="name a directory that does not"):
            store.backup(tmp_path / "copy")
        store.commit(history.grow(50))
        with Store(tmp_path / "copy") as copy:
            assert normal(copy.load()) == before
            assert copy.settings() == {"name": b"value"}
            assert modes(tmp_path / "copy") == {0o600, 0o700}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "store"]


def test_what_is_committed_while_a_backup_is_made_is_in_it_up_to_some_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every page something is committed, files that come and go included."""
    monkeypatch.setattr(store_module, "BACKUP_PAGES", 1)
    history = History(4)
    steps = [history.grow(20) for _ in range(200)]
    with Store(tmp_path / "store") as store:
        for step in steps[:20]:
            store.commit(step)
        done = 20

        def commit_one() -> None:
            nonlocal done
            if done < len(steps):
                store.commit([*steps[done], Setting("steps", b"%d" % (done + 1))])
                done += 1

        finish_backup(store.begin_backup(tmp_path / "copy", commit_one), tmp_path / "copy")
        assert done > 30
        for step in steps[done:]:
            store.commit(step)
        assert normal(store.load()) == normal(history.state)
    with Store(tmp_path / "copy") as copy:
        taken = int(copy.settings()["steps"])
        assert 20 < taken <= done
        assert normal(copy.load()) == normal(applied([record for step in steps[:taken] for record in step]))
    for name in ("store", "copy"):
        with Store(tmp_path / name) as store:
            kept = {file.digest.hex() for peer in store.load().peers.values() for file in peer.files.values()}
            on_disk = {path.name for path in (tmp_path / name / "files").iterdir()}
            assert len(on_disk) <= len(kept)


def modes(directory: Path) -> set[int]:
    paths = [directory, *directory.rglob("*")]
    return {stat.S_IMODE(path.stat().st_mode) for path in paths}


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        history = History(4)
        with Store(tmp_path / "deep" / "store") as store:
            store.commit(history.grow(300))
            assert len(list((tmp_path / "deep" / "store" / "files").iterdir())) > 0
            assert (tmp_path / "deep" / "store" / "superpeer.db-wal").exists()
            assert modes(tmp_path / "deep" / "store") == {0o600, 0o700}
    finally:
        os.umask(old)


def test_what_is_closed_is_closed(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.close()
    store.close()
    for use in (store.load, store.entries, store.settings, lambda: store.commit([])):
        with pytest.raises(StoreClosed):
            use()
