"""A backbone of super-peers on this machine, each a process of its own, in a directory of their own."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from superpeer.daemon.admin import AdminClient
from superpeer.daemon.admin_messages import AdminRequest, ShowBackbone, ShowStatus
from superpeer.daemon.errors import AdminError
from superpeer.daemon.network import ROOT_KEY_FILE, admit, init, install, prepare
from superpeer.errors import SuperpeerError

# Membership keeps time faster than it should between machines, so that nobody has to wait for the story to go on.
TIMING = {
    "heartbeat_s": 0.3,
    "suspect_after_s": 2.0,
    "verdict_after_s": 0.7,
    "stagger_s": 0.05,
    "settle_s": 0.3,
    "refute_s": 0.4,
    "reconnect_s": 0.4,
    "max_delay_s": 0.15,
}
PAUSE_S, QUIET_S = 0.05, 0.3
START_S, AGREE_S, END_S = 30.0, 30.0, 15.0


class DemoFailed(SuperpeerError):
    """Something did not go as told."""


class SuperPeer:
    """One super-peer: its directory, and its process while it runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.name = directory.name
        self.contact = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.directory / "admin.socket"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def launch(self, join: str = "") -> None:
        """Start the process; the same port as before, if there was one."""
        port = self.contact.partition("#")[0].rpartition(":")[2] or "0"
        options = [f"--data={self.directory}", f"--listen=127.0.0.1:{port}", "--metrics="]
        options += [f"--timing-{name.replace('_', '-')}={value}" for name, value in TIMING.items()]
        options += [f"--join={join}"] if join else []
        with (self.directory / "log.txt").open("ab") as log:
            # In a session of its own, so that Ctrl-C reaches only the one who tells the story.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "superpeer", "serve", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    async def serving(self) -> None:
        """Wait until it answers."""
        ends = time.monotonic() + START_S
        while True:
            if not self.is_running:
                raise DemoFailed(f"{self.name} did not start: {self._last_words()}")
            try:
                self.contact = (await self.ask(ShowStatus()))["contact"]
                return
            except AdminError:
                if time.monotonic() > ends:
                    raise DemoFailed(f"{self.name} did not answer within {START_S:g} seconds") from None
            await asyncio.sleep(PAUSE_S)

    async def ask(self, request: AdminRequest) -> Any:
        async with await AdminClient.local(self.socket) as client:
            return await client.ask(request)

    def kill(self) -> None:
        """As `kill -9` does."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        if self.is_running:
            assert self._process is not None
            self._process.send_signal(signal.SIGTERM)

    def ended(self, within_s: float) -> None:
        """Wait for it, and do not wait longer."""
        if self._process is not None:
            try:
                self._process.wait(within_s)
            except subprocess.TimeoutExpired:
                self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait()

    def _last_words(self) -> str:
        said = (self.directory / "log.txt").read_text("utf-8", "replace").strip().splitlines()
        return said[-1] if said else "it said nothing"


class Backbone:
    """All super-peers of the story."""

    def __init__(self, directory: Path, count: int) -> None:
        self.directory = directory
        first = directory / "sp0"
        init(first, "sp0")
        self.super_peers = [SuperPeer(first)]
        for number in range(1, count):
            own = directory / f"sp{number}"
            install(own, admit(first / ROOT_KEY_FILE, prepare(own), own.name))
            self.super_peers.append(SuperPeer(own))

    def __getitem__(self, number: int) -> SuperPeer:
        return self.super_peers[number]

    def __len__(self) -> int:
        return len(self.super_peers)

    async def start(self) -> None:
        """Each of the others is told the address and key of one member, and finds the rest."""
        first, *others = self.super_peers
        first.launch()
        await first.serving()
        for one in others:
            one.launch(first.contact)
        await asyncio.gather(*(one.serving() for one in others))

    async def agreed(self) -> list[Any]:
        """Wait until all who run see each other and are settled; their reports."""
        running = [one for one in self.super_peers if one.is_running]
        ends = time.monotonic() + AGREE_S
        while True:
            reports = await self.reports()
            is_one_view = len({report["view"] for report in reports}) == 1
            if is_one_view and all(one["members"] == len(running) and one["is_settled"] for one in reports):
                return reports
            if time.monotonic() > ends:
                seen = ", ".join(f"{one['name']} sees {one['members']}" for one in reports)
                raise DemoFailed(f"the super-peers do not agree after {AGREE_S:g} seconds: {seen}")
            await asyncio.sleep(PAUSE_S)

    async def reports(self) -> list[Any]:
        return list(await asyncio.gather(*(one.ask(ShowStatus()) for one in self.super_peers if one.is_running)))

    async def messages(self) -> int:
        """How many messages about subscriptions, advertisements and notifications have gone between super-peers."""
        return sum(report["counts"].get("messages", 0) for report in await self.reports())

    async def quiet(self) -> int:
        """Wait until no more go; how many went until then."""
        before, ends = -1, time.monotonic() + AGREE_S
        while (now := await self.messages()) != before and time.monotonic() < ends:
            before = now
            await asyncio.sleep(QUIET_S)
        return now

    async def labels(self) -> dict[str, tuple[str, str]]:
        """By name: the label in the cube, and the address."""
        seen = await self.super_peers[0].ask(ShowBackbone())
        by_key = {one["key"]: (one["label"], one["address"]) for one in seen["members"]}
        return {one.name: by_key[one.contact.partition("#")[2]] for one in self.super_peers}

    def stop(self) -> int:
        """End every process; how many there are left."""
        for one in self.super_peers:
            one.terminate()
        ends = time.monotonic() + END_S
        for one in self.super_peers:
            one.ended(max(0.1, ends - time.monotonic()))
        return sum(one.is_running for one in self.super_peers)


@contextmanager
def local_backbone(count: int) -> Iterator[Backbone]:
    """A backbone for examples and experiments, in a directory that goes with it."""
    directory = Path(tempfile.mkdtemp(prefix="superpeer-"))
    backbone = Backbone(directory, count)
    try:
        asyncio.run(_started(backbone))
        yield backbone
    finally:
        backbone.stop()
        shutil.rmtree(directory, ignore_errors=True)


async def _started(backbone: Backbone) -> None:
    await backbone.start()
    await backbone.agreed()
