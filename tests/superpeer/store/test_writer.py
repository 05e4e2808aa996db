"""The writer acknowledges what is durable, in order, and nothing else."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest

from superpeer.store.changes import Change, Setting
from superpeer.store.errors import StoreBusy, StoreClosed, StoreExists, StoreFailed
from superpeer.store.store import Store
from superpeer.store.writer import Writer
from tests.superpeer.store.histories import History, normal


class SlowStore(Store):
    """Commits when it may, and counts."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.may_commit = Event()
        self.has_begun = Event()
        self.sizes: list[int] = []

    def commit(self, changes: Sequence[Change]) -> None:
        self.has_begun.set()
        assert self.may_commit.wait(30)
        self.sizes.append(len(changes))
        super().commit(changes)


def setting(number: int) -> list[Change]:
    return [Setting("last", b"%d" % number), Setting(f"number {number}", b"")]


def test_all_that_arrives_during_a_commit_goes_into_the_next(tmp_path: Path) -> None:
    async def run() -> None:
        store = SlowStore(tmp_path / "store")
        writer = Writer(store)
        first = writer.submit(setting(0))
        await asyncio.to_thread(store.has_begun.wait, 30)
        others = [writer.submit(setting(i)) for i in range(1, 50)]
        nothing = writer.submit([])
        await asyncio.sleep(0)
        assert not any(one.done() for one in (first, *others, nothing))
        assert writer.waiting == 100
        store.may_commit.set()
        await nothing
        assert all(one.done() for one in (first, *others))
        assert writer.waiting == 0
        assert store.sizes == [2, 98]
        await writer.close()

    asyncio.run(run())
    with Store(tmp_path / "store") as store:
        assert store.settings()["last"] == b"49"


def test_too_much_has_to_wait(tmp_path: Path) -> None:
    async def run() -> None:
        store = SlowStore(tmp_path / "store")
        writer = Writer(store, max_waiting=10)
        for i in range(5):
            writer.submit(setting(i))
        with pytest.raises(StoreBusy, match="10 records wait"):
            writer.submit(setting(5))
        tasks = [asyncio.create_task(writer.write(setting(i))) for i in range(5, 30)]
        await asyncio.sleep(0)
        called = asyncio.create_task(writer.call(lambda store: store.settings()["last"]))
        tasks[3].cancel()  # It has not been let in, so it is never written.
        await asyncio.sleep(0)
        assert writer.waiting == 10
        with pytest.raises(StoreBusy):
            writer.submit([])
        store.may_commit.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [result for result in results if result is not None] == [results[3]]
        assert isinstance(results[3], asyncio.CancelledError)
        assert await called == b"29"
        assert max(store.sizes) <= 10
        await writer.write([change for i in range(30, 50) for change in setting(i)])
        assert store.sizes[-1] == 40
        await writer.close()

    asyncio.run(run())
    with Store(tmp_path / "store") as store:
        expected = {"last", *(f"number {i}" for i in range(50) if i != 8)}
        assert store.settings().keys() == expected


def test_many_writers_keep_one_order(tmp_path: Path) -> None:
    history = History(1)
    steps = [history.grow(3) for _ in range(400)]

    async def run() -> None:
        writer = Writer(Store(tmp_path / "store"), max_waiting=100)
        order: list[int] = []

        async def write(number: int) -> None:
            await writer.write(steps[number])
            order.append(number)

        await asyncio.gather(*map(write, range(len(steps))))
        assert order == sorted(order)
        await writer.backup(tmp_path / "copy")
        with pytest.raises(StoreExists):
            await writer.backup(tmp_path / "copy")
        await writer.write([Setting("after", b"")])
        await writer.close()
        await writer.close()
        with pytest.raises(StoreClosed):
            await writer.write([])

    asyncio.run(run())
    for name in ("store", "copy"):
        with Store(tmp_path / name) as store:
            assert normal(store.load()) == normal(history.state)


def test_closing_waits_for_everything(tmp_path: Path) -> None:
    async def run() -> None:
        store = SlowStore(tmp_path / "store")
        writer = Writer(store, max_waiting=4)
        tasks = [asyncio.create_task(writer.write(setting(i))) for i in range(10)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(writer.close())
        await asyncio.sleep(0)
        store.may_commit.set()
        await closing
        await asyncio.gather(*tasks)

    asyncio.run(run())
    with Store(tmp_path / "store") as store:
        assert store.settings()["last"] == b"9"


@pytest.mark.parametrize("what", ["the disk", "a bug"])
def test_a_failure_reaches_all_who_wait_and_all_who_come(tmp_path: Path, what: str) -> None:
    async def run() -> None:
        store = SlowStore(tmp_path / "store")
        writer = Writer(store, max_waiting=4)
        if what == "the disk":
            store._connection.execute("PRAGMA query_only = ON")
        bad: list[Change] = setting(0) if what == "the disk" else [object()]  # type: ignore[list-item]
        tasks = [asyncio.create_task(writer.write(bad if i == 0 else setting(i))) for i in range(10)]
        await asyncio.sleep(0)
        store.may_commit.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, StoreFailed) for one in results)
        assert writer.failure
        with pytest.raises(StoreFailed, match="repair it, and start again"):
            writer.submit([])
        with pytest.raises(StoreFailed):
            await writer.write(setting(11))
        await writer.close()

    asyncio.run(run())
    gc.collect()
    with Store(tmp_path / "store") as store:
        assert store.settings() == {}


class PatientStore(Store):
    """Its backup does not end before so many commits were made during it."""

    commits = 0

    def commit(self, changes: Sequence[Change]) -> None:
        super().commit(changes)
        self.commits += 1

    def begin_backup(self, target: Path | str, between: Callable[[], None] = lambda: None) -> Path:
        wanted = self.commits + 3

        def patiently() -> None:
            between()
            while self.commits < wanted:
                time.sleep(0.001)
                between()

        return super().begin_backup(target, patiently)


def test_commits_go_on_while_a_backup_is_made(tmp_path: Path) -> None:
    history = History(5)
    steps = [history.grow(20) for _ in range(10)]

    async def run() -> None:
        writer = Writer(PatientStore(tmp_path / "store"))
        for step in steps[:5]:
            await writer.write(step)
        copying = asyncio.create_task(writer.backup(tmp_path / "copy"))
        await asyncio.sleep(0)  # It begins before what follows is submitted.
        for step in steps[5:8]:
            await writer.write(step)
        await copying
        for step in steps[8:]:
            await writer.write(step)
        await writer.close()

    asyncio.run(run())
    with Store(tmp_path / "store") as store, Store(tmp_path / "copy") as copy:
        assert normal(store.load()) == normal(history.state)
        copy.load()
