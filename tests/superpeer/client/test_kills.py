"""Applications that are killed without warning, at random moments, and begin again."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rdflib import DC, Literal, URIRef

from superpeer.client.peer import Peer
from tests.superpeer.client.application import lines
from tests.superpeer.client.backbone import Backbone, live, running, wait_for

NEJDL = 'X : t(X, dc:creator, Y) & Y contains "Nejdl"'
COUNT = 160
AHEAD = 8
"""So much is published before the application has seen it: a life is to end in the middle, however slow it begins."""
KILLS = 4


class Application:
    """A process that is killed, and started again, until it is left in peace."""

    def __init__(self, role: str, directory: Path, address: str) -> None:
        self.path = directory / f"{role}.txt"
        self._number_at = 1 if role == "reader" else 0
        self._arguments = ["-m", "tests.superpeer.client.application", role, str(directory / role), address]
        self._chance = random.Random(role)

    @property
    def lines(self) -> list[list[str]]:
        return lines(self.path)

    @property
    def reached(self) -> int:
        """The number of the last paper that it has seen."""
        written = self.lines
        return int(written[-1][self._number_at]) if written else -1

    async def live_and_die(self, kills: int) -> None:
        """Each life ends some lines after it began to write."""
        for _ in range(kills):
            enough = len(self.lines) + self._chance.randrange(1, 25)
            async with self.living():
                await wait_for(lambda enough=enough: len(self.lines) >= enough)  # type: ignore[misc]

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        process = await asyncio.create_subprocess_exec(sys.executable, *self._arguments, str(self.path))
        try:
            yield
        finally:
            process.kill()
            await process.wait()


async def publish_now_and_then(bert: Peer, backbone: Backbone, application: Application) -> None:
    for number in range(COUNT):
        await wait_for(lambda number=number: application.reached >= number - AHEAD)  # type: ignore[misc]
        await bert.publish([(URIRef(f"http://example.org/paper/{number}"), DC.creator, Literal("Nejdl"))])
        if number % 30 == 29:
            backbone[0].cut()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("role", ["reader", "keeper"])
def test_an_application_that_is_killed_sees_everything_once(tmp_path: Path, role: str) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("bert") as bert:
            await bert.advertise(["dc"])
            async with backbone.peer(role) as anna:
                await (await anna.subscribe(NEJDL)).active()
            application = Application(role, tmp_path, backbone[0].address)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(publish_now_and_then(bert, backbone, application))
                await application.live_and_die(KILLS)
                assert application.reached < COUNT - 1
                async with application.living():
                    await wait_for(lambda: application.reached == COUNT - 1)
            if role == "keeper":
                assert [int(number) for number, _ in application.lines] == list(range(COUNT))
            else:
                check_reader(application.lines)

    live(main(), 60.0)


def check_reader(written: list[list[str]]) -> None:
    """What was acknowledged never came again; what came twice was not acknowledged, and nothing came in between."""
    seen = [int(number) for what, number in written if what == "seen"]
    assert sorted(set(seen)) == list(range(COUNT))
    assert seen == sorted(seen)
    done: set[str] = set()
    for what, number in written:
        assert what == "done" or number not in done
        done.update([number] if what == "done" else [])
    assert sum(times > 1 for times in Counter(seen).values()) <= KILLS


def test_what_a_killed_publisher_had_in_its_outbox_arrives(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            await (await anna.subscribe(NEJDL)).active()
            async with backbone.peer("writer") as bert:
                await bert.advertise(["dc"])
            application = Application("writer", tmp_path, backbone[0].address)
            await application.live_and_die(KILLS)
            async with backbone.peer("writer") as bert:
                await bert.connected()
                await wait_for(lambda: bert.outbox == 0)
            written = [int(number) for (number,) in application.lines]
            seen = [int(str(one.subject).rpartition("/")[2]) async for one in anna.notifications(timeout=0.5)]
            assert seen == sorted(seen)
            assert set(written) <= set(seen)
            # The number that it was about to write down may have been published before the kill, and is again after it.
            assert len(seen) - len(written) <= KILLS + 1

    live(main(), 60.0)
