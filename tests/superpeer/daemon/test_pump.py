"""The order of records, messages and events, with a disk that takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

import pytest

from superpeer.daemon.pump import Pump
from superpeer.store.changes import Change, Setting
from superpeer.store.errors import StoreFailed
from tests.superpeer.daemon.helpers import live


class SlowDisk:
    """Commits when it is told to, in the order of submissions."""

    def __init__(self) -> None:
        self.submitted: list[tuple[Sequence[Change], asyncio.Future[None]]] = []
        self.durable: list[Change] = []

    def submit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        self.submitted.append((tuple(changes), asyncio.get_running_loop().create_future()))
        return self.submitted[-1][1]

    async def commit(self, count: int = 1) -> None:
        for _ in range(count):
            changes, done = self.submitted.pop(0)
            self.durable += changes
            done.set_result(None)
        await turn()


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def record(number: int) -> Change:
    return Setting(f"record {number}", b"")


def never(error: BaseException) -> None:
    raise AssertionError(error)


def test_nothing_is_said_before_its_records_and_those_before_it_are_on_disk() -> None:
    async def main() -> None:
        disk, said = SlowDisk(), []
        pump = Pump(disk, never)
        pump.put([], lambda: said.append("at once"))
        assert said == ["at once"], "with nothing on its way to disk there is nothing to wait for"
        pump.put([record(1)], lambda: said.append("first"))
        pump.put([], lambda: said.append("without records"))
        await turn()
        pump.put([record(2)], lambda: said.append("second"))
        await turn()
        assert said == ["at once"]
        assert [list(changes) for changes, _ in disk.submitted] == [[record(1)], [record(2)]]
        await disk.commit()
        assert said == ["at once", "first", "without records"]
        await disk.commit()
        assert said == ["at once", "first", "without records", "second"]
        assert pump.is_settled

    live(main())


def test_what_comes_while_commits_are_under_way_shares_the_next() -> None:
    async def main() -> None:
        disk, said = SlowDisk(), []
        pump = Pump(disk, never)
        for number in range(100):
            pump.put([record(number)], lambda number=number: said.append(number))  # type: ignore[misc]
            await turn()
        assert len(disk.submitted) == 2, "steps do not wait for the disk, and do not swamp it"
        await disk.commit()
        assert said == [0]
        assert len(disk.submitted[-1][0]) == 98
        await disk.commit(2)
        assert said == list(range(100))
        assert (pump.commits, pump.records, pump.waiting) == (3, 100, 0)

    live(main())


def test_what_is_put_while_something_is_said_comes_after_it() -> None:
    async def main() -> None:
        disk, said = SlowDisk(), []
        pump = Pump(disk, never)

        def speak() -> None:
            said.append("first")
            pump.put([], lambda: said.append("third"))

        pump.put([record(1)], speak)
        pump.put([], lambda: said.append("second"))
        await turn()
        await disk.commit()
        await disk.commit()
        assert said == ["first", "second", "third"]

    live(main())


@pytest.mark.parametrize("seed", range(30))
def test_random_steps_keep_their_order(seed: int) -> None:
    async def main() -> None:
        random, disk, said = Random(seed), SlowDisk(), []
        pump = Pump(disk, never)
        needed: dict[int, int] = {}
        records = 0
        for step in range(200):
            changes = [record(records + i) for i in range(random.choice((0, 0, 1, 3)))]
            records += len(changes)
            needed[step] = records

            def speak(step: int = step) -> None:
                assert len(disk.durable) >= needed[step], "said before it was true"
                said.append(step)

            pump.put(changes, speak)
            if random.random() < 0.4:
                await turn()
            if disk.submitted and random.random() < 0.3:
                await disk.commit()
        settled = asyncio.ensure_future(pump.settled())
        while not settled.done():
            await turn()
            if disk.submitted:
                await disk.commit()
        assert said == list(range(200))
        assert disk.durable == [record(number) for number in range(records)]

    live(main())


def test_a_disk_that_refuses_ends_all_talk() -> None:
    async def main() -> None:
        disk, said = SlowDisk(), []
        failures: list[BaseException] = []
        pump = Pump(disk, failures.append)
        pump.put([record(1)], lambda: said.append(1))
        await turn()
        pump.put([record(2)], lambda: said.append(2))
        await turn()
        error = StoreFailed.__new__(StoreFailed)
        disk.submitted[0][1].set_exception(error)
        disk.submitted[1][1].set_exception(error)
        await turn()
        pump.put([], lambda: said.append(3))
        await pump.settled()
        await pump.room()
        assert said == []
        assert failures == [error]

    live(main())


def test_who_brings_more_waits_while_too_much_waits() -> None:
    async def main() -> None:
        disk = SlowDisk()
        pump = Pump(disk, never, max_waiting=2)
        pump.put([record(1), record(2)])
        await asyncio.wait_for(pump.room(), 1)
        pump.put([record(3)])
        room = asyncio.ensure_future(pump.room())
        await turn()
        assert not room.done()
        await disk.commit()
        await asyncio.wait_for(room, 1)

    live(main())
