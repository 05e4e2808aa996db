"""Whatever is wrong with a store is said, with what to do; and what can be saved is saved."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hypercup import Entry
from superpeer.node.records import FileKept, Forgotten, LogBegun, Published, Rendezvous
from superpeer.node.state import State
from superpeer.store.errors import (
    StoreDamaged,
    StoreError,
    StoreExists,
    StoreExposed,
    StoreForeign,
    StoreLocked,
    StoreNewer,
    StoreUnusable,
)
from superpeer.store.recovery import LOST_FILE, recover
from superpeer.store.schema import STEPS
from superpeer.store.store import Store
from tests.superpeer.store.histories import GENERATION, HERE, History, applied, normal

DATABASE = "superpeer.db"


def make(directory: Path, seed: int = 1, steps: int = 1500) -> History:
    """A store that was closed, with enough in it to be damaged."""
    history = History(seed)
    with Store(directory) as store:
        while steps > 0:
            store.commit(history.grow(50))
            steps -= 50
        store.keep_entry(Entry(b"key", "host:1", incarnation=4))
        store.keep_setting("certificate", b"c" * 300)
    return history


def without_positions(state: State) -> dict[str, Any]:
    for kept in state.peers.values():
        kept.queue.position = 0
        entries = [replace(entry, position=0) for entry in kept.queue.entries]
        kept.queue.entries.clear()
        kept.queue.entries.extend(entries)
    return normal(state)


def test_two_processes_do_not_share_a_directory(tmp_path: Path) -> None:
    script = (
        "import sys; from superpeer.store.store import Store; Store(sys.argv[1]); print('open', flush=True); input()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "store")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        for use in (Store, lambda directory: recover(directory, tmp_path / "new")):
            with pytest.raises(StoreLocked, match="stop that super-peer first"):
                use(tmp_path / "store")
        database = sqlite3.connect(tmp_path / "store" / DATABASE, timeout=0)
        with closing(database), pytest.raises(sqlite3.OperationalError, match="locked"):
            database.execute("SELECT * FROM peers").fetchall()
        other.kill()
    Store(tmp_path / "store").close()


def test_one_process_does_not_open_it_twice(tmp_path: Path) -> None:
    with Store(tmp_path / "store"):
        with pytest.raises(StoreLocked):
            Store(tmp_path / "store")
        with pytest.raises(StoreLocked):
            Store(tmp_path / "store")
    Store(tmp_path / "store").close()


def foreign(directory: Path) -> None:
    with closing(sqlite3.connect(directory / DATABASE)) as connection:
        connection.execute("PRAGMA application_id = 7")


def newer(directory: Path) -> None:
    with closing(sqlite3.connect(directory / DATABASE)) as connection:
        connection.execute("PRAGMA user_version = 99")


def no_database_at_all(directory: Path) -> None:
    (directory / DATABASE).write_bytes(b"my dissertation" * 1000)


def missing(directory: Path) -> None:
    (directory / DATABASE).unlink()


def emptied(directory: Path) -> None:
    (directory / DATABASE).write_bytes(b"")


def cut_short(directory: Path) -> None:
    data = (directory / DATABASE).read_bytes()
    (directory / DATABASE).write_bytes(data[: len(data) // 2])


def a_file_missing(directory: Path) -> None:
    next((directory / "files").iterdir()).unlink()


def a_file_changed(directory: Path) -> None:
    path = max((directory / "files").iterdir(), key=lambda path: path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def a_publication_changed(directory: Path) -> None:
    with closing(sqlite3.connect(directory / DATABASE)) as connection, connection:
        last = "(SELECT max(id) FROM publications)"
        connection.execute(f"UPDATE publications SET data = CAST(data || x'00' AS BLOB) WHERE id = {last}")


def a_row_gone(directory: Path) -> None:
    with closing(sqlite3.connect(directory / DATABASE)) as connection, connection:
        connection.execute("DELETE FROM log WHERE number = (SELECT min(number) + 1 FROM log)")


def open_to_others(directory: Path) -> None:
    directory.chmod(0o755)


def database_open_to_others(directory: Path) -> None:
    (directory / DATABASE).chmod(0o640)


def a_directory(directory: Path) -> None:
    (directory / DATABASE).unlink()
    (directory / DATABASE).mkdir(mode=0o700)


@pytest.mark.parametrize(
    ("harm", "error", "sentence"),
    [
        (foreign, StoreForeign, "name another directory"),
        (newer, StoreNewer, "install that version"),
        (no_database_at_all, StoreDamaged, "superpeer store recover"),
        (missing, StoreDamaged, "missing or empty"),
        (emptied, StoreDamaged, "missing or empty"),
        (cut_short, StoreDamaged, "superpeer store recover"),
        (a_file_missing, StoreDamaged, "missing or another one"),
        (a_file_changed, StoreDamaged, "missing or another one"),
        (a_publication_changed, StoreDamaged, "not what was written"),
        (a_row_gone, StoreDamaged, "no gaps"),
        (open_to_others, StoreExposed, "chmod 700"),
        (database_open_to_others, StoreExposed, "chmod 600"),
        (a_directory, StoreUnusable, "check the directory"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_wrong_is_said(
    tmp_path: Path, harm: Callable[[Path], None], error: type[StoreError], sentence: str
) -> None:
    make(tmp_path / "store", steps=600)
    harm(tmp_path / "store")
    before = {path.name: path.stat().st_size for path in (tmp_path / "store").iterdir()}
    for _ in range(2):
        with pytest.raises(error, match=sentence), Store(tmp_path / "store") as store:
            store.load()
    assert {path.name: path.stat().st_size for path in (tmp_path / "store").iterdir()} == before


def test_a_place_where_nothing_can_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnusable, match="check the directory"):
        Store(tmp_path / "file" / "store")


def test_a_making_that_was_broken_off_is_begun_again(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    directory.mkdir(mode=0o700)
    (directory / DATABASE).touch(0o600)
    with closing(sqlite3.connect(directory / DATABASE)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE half (a)")
    with Store(directory) as store:
        assert normal(store.load()) == normal(State())


def test_an_older_store_is_brought_up_to_date(tmp_path: Path) -> None:
    history = make(tmp_path / "store", steps=300)
    added = (*STEPS, ("CREATE TABLE news (a)", "INSERT INTO news VALUES (5)"), ("ALTER TABLE news ADD COLUMN b",))
    with Store(tmp_path / "store", steps=added) as store:
        assert normal(store.load()) == normal(history.state)
    with closing(sqlite3.connect(tmp_path / "store" / DATABASE)) as connection:
        assert connection.execute("SELECT * FROM news").fetchall() == [(5, None)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 2,)
    with pytest.raises(StoreNewer) as caught:
        Store(tmp_path / "store")
    assert (caught.value.found, caught.value.known) == (len(STEPS) + 2, len(STEPS))
    Store(tmp_path / "store", steps=added).close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    history = make(tmp_path / "store", steps=300)
    added = (*STEPS, ("CREATE TABLE news (a)",), ("nonsense",))
    with pytest.raises(StoreDamaged, match="nonsense"):
        Store(tmp_path / "store", steps=added)
    with Store(tmp_path / "store") as store:
        assert normal(store.load()) == normal(history.state)


def test_orphans_are_swept_and_other_files_are_not(tmp_path: Path) -> None:
    make(tmp_path / "store")
    files = tmp_path / "store" / "files"
    before = {path.name for path in files.iterdir()}
    for name in ("ab" * 32, "ab" * 32 + ".new", "README"):
        (files / name).write_bytes(b"left behind")
    with Store(tmp_path / "store") as store:
        store.load()
    assert {path.name for path in files.iterdir()} == before | {"README"}


def test_a_sound_store_is_recovered_whole(tmp_path: Path) -> None:
    for seed in range(2):
        history = make(tmp_path / f"store {seed}", seed)
        result = recover(tmp_path / f"store {seed}", tmp_path / f"new {seed}")
        assert not result.lost
        assert "nothing was lost" in str(result)
        with Store(tmp_path / f"new {seed}") as store:
            assert without_positions(store.load()) == without_positions(history.state)
            assert [entry.address for entry in store.entries()] == ["host:1"]
            assert store.settings() == {"certificate": b"c" * 300}
    with pytest.raises(StoreExists):
        recover(tmp_path / "store 0", tmp_path / "new 0")
    with pytest.raises(StoreUnusable, match="no such file"):
        recover(tmp_path / "nowhere", tmp_path / "new")


def test_a_backup_is_restored_with_a_new_log(tmp_path: Path) -> None:
    history = make(tmp_path / "store")
    with Store(tmp_path / "store") as store:
        store.backup(tmp_path / "backup")
    result = recover(tmp_path / "backup", tmp_path / "new", is_backup=True)
    assert result.is_new_log
    assert not result.lost
    with Store(tmp_path / "new") as store:
        log = store.load().log
    assert log.generation > GENERATION
    assert [one.draft for one in log] == [one.draft for one in history.state.log]
    assert log.missing_above((GENERATION, 1)) == 0
    unacknowledged = [one.draft for one in history.state.log.unacknowledged.values()]
    assert [one.draft for one in log.unacknowledged.values()] == unacknowledged


def test_bytes_that_change_are_noticed_or_harmless_and_the_rest_is_saved(tmp_path: Path) -> None:
    """Also that a recovery gives a store that opens, with no publication that was never published."""
    history = make(tmp_path / "store", seed=2, steps=1500)
    sound, random = normal(history.state), Random(7)
    published = {record.publication.draft for record in history.records if isinstance(record, Published)}
    size = (tmp_path / "store" / DATABASE).stat().st_size
    noticed, rows_saved = 0, 0
    for turn in range(40):
        harmed = tmp_path / f"harmed {turn}"
        shutil.copytree(tmp_path / "store", harmed)
        with (harmed / DATABASE).open("r+b") as file:
            # Half of the time near the beginning, where a few bytes decide over all others.
            for _ in range(random.choice([1, 1, 1, 8])):
                place = random.randrange(random.choice([200, size]))
                length = random.choice([1, 1, 4, 600])
                file.seek(place)
                file.write(random.randbytes(min(length, size - place)))
        try:
            with Store(harmed) as store:
                loaded = normal(store.load())
                assert store.settings() == {"certificate": b"c" * 300}
                assert len(store.entries()) == 1
            assert loaded == sound
        except StoreError:
            noticed += 1
        try:
            result = recover(harmed, tmp_path / f"new {turn}")
        except (StoreDamaged, StoreNewer):
            continue
        with Store(tmp_path / f"new {turn}") as store:
            state = store.load()
            assert {one.draft for one in state.log} <= published
            assert result.is_new_log == bool(result.lost)
            assert result.is_new_log == (state.log.generation != GENERATION)
            rows_saved += len(state.log)
        shutil.rmtree(harmed)
        shutil.rmtree(tmp_path / f"new {turn}")
    assert noticed > 12
    assert rows_saved > 20 * len(history.state.log)


def test_damage_in_the_middle_costs_what_is_there(tmp_path: Path) -> None:
    history = History(5)
    history.records.append(LogBegun(GENERATION))
    history.state.apply(LogBegun(GENERATION))
    for _ in range(3000):
        history.publish()
    with Store(tmp_path / "store") as store:
        store.commit(history.records)
    path = tmp_path / "store" / DATABASE
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(20_000))
    with pytest.raises(StoreDamaged):
        Store(tmp_path / "store")
    result = recover(tmp_path / "store", tmp_path / "new")
    lost = 3000 - result.publications
    assert 0 < lost < 150
    assert "lost or doubtful" in str(result)
    with Store(tmp_path / "new") as store:
        log = store.load().log
    assert log.generation > GENERATION
    assert log.missing_above((GENERATION, 17)) == lost
    saved = [one.draft.serial for one in log]
    assert saved == sorted(saved)
    assert {one.draft for one in log} < {one.draft for one in history.state.log}
    assert len(log.unacknowledged) == len(log)


def test_a_peer_is_told_of_a_file_that_was_lost(tmp_path: Path) -> None:
    one = Rendezvous("r1", "http://r", "owner", HERE, "peer", HERE, 1.0)
    with Store(tmp_path / "store") as store:
        store.commit([FileKept("peer", one, b"d" * 32, b"content", 2.0), Forgotten("other", HERE)])
    a_file_changed(tmp_path / "store")
    result = recover(tmp_path / "store", tmp_path / "new")
    assert sum(result.lost.values()) == 1
    with Store(tmp_path / "new") as store:
        state = store.load()
    assert state.peers["peer"].rendezvous["r1"].failure == LOST_FILE
    assert not state.peers["peer"].files
    assert state.moved == {"other": HERE}


def test_a_log_that_changes_after_a_crash_is_noticed_unless_it_is_the_last_commit(tmp_path: Path) -> None:
    """The last commit may be one that was broken off; of any other the disk has said that it is there."""
    history, random, states = History(6), Random(6), []
    with Store(tmp_path / "store") as store:
        for _ in range(8):
            store.commit(history.grow(20))
            states.append(normal(applied(history.records)))
        # As a crash would leave it: nothing is under way, and the log has not been moved into the database.
        shutil.copytree(tmp_path / "store", tmp_path / "crashed")
    log = f"{DATABASE}-wal"
    size = (tmp_path / "crashed" / log).stat().st_size
    outcomes: Counter[str] = Counter()
    for turn in range(30):
        harmed = tmp_path / f"harmed {turn}"
        shutil.copytree(tmp_path / "crashed", harmed)
        place = random.randrange(random.choice([32, 32 + 24, size, size, size]))
        with (harmed / log).open("r+b") as file:
            file.seek(place)
            before = file.read(1)
            file.seek(place)
            file.write(bytes([before[0] ^ 1 << random.randrange(8)]))
        try:
            with Store(harmed) as store:
                found = normal(store.load())
        except StoreDamaged as error:
            if "missing or another one" in str(error):
                continue  # Without its last commit, which took a file away, the store misses that file.
            assert "write-ahead log" in str(error)
            if not outcomes["noticed"]:
                with pytest.raises(StoreDamaged):
                    Store(harmed)
                assert recover(harmed, tmp_path / "new").is_new_log
            outcomes["noticed"] += 1
        else:
            assert found in (states[-1], states[-2])
            outcomes["whole" if found == states[-1] else "without the last"] += 1
        shutil.rmtree(harmed)
    assert outcomes["noticed"] > 10
    with Store(tmp_path / "crashed") as store:
        assert normal(store.load()) == states[-1]
