"""Super-peers as processes on this machine, in a directory that goes when the test is over."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from rdflib import DC, Literal, URIRef

from auth import PublicKey
from superpeer.daemon.config import Address, Config, Contact, make_config, parse_contact
from superpeer.daemon.daemon import Daemon
from superpeer.daemon.network import ROOT_KEY_FILE, admit, init, install, prepare
from superpeer.net import run
from superpeer.node.body import write_body
from tests.superpeer.daemon.proxy import Proxy

TIME_LIMIT_S = 40.0
BRISK = {
    "heartbeat_s": 0.2,
    "suspect_after_s": 1.4,
    "verdict_after_s": 0.5,
    "stagger_s": 0.05,
    "settle_s": 0.3,
    "refute_s": 0.3,
    "reconnect_s": 0.4,
    "max_delay_s": 0.1,
}
QUERY = 'X : t(X, <http://purl.org/dc/elements/1.1/title>, T) & T contains "P2P"'
Result = TypeVar("Result")


def live(main: Coroutine[Any, Any, Result], time_limit_s: float = TIME_LIMIT_S) -> Result:
    async def limited() -> Result:
        async with asyncio.timeout(time_limit_s):
            return await main

    return run(limited())


def body(number: int, title: str = "P2P") -> bytes:
    return write_body([(URIRef(f"http://example.org/{number}"), DC.title, Literal(f"{title} {number}"))])


class Running:
    """One super-peer: its directory, and its process while it runs."""

    def __init__(self, directory: Path, *options: str, proxy: Proxy | None = None) -> None:
        """With a proxy, others reach it there only."""
        self.directory = directory
        self.proxy = proxy
        self.options = options
        self.output: list[str] = []
        self.address: Address
        self.key: PublicKey
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._serves = asyncio.Event()
        self._port = 0

    @property
    def contact(self) -> str:
        return f"{self.address}#{self.key}"

    async def start(self, *options: str) -> Running:
        """Returns when it serves; raises what it said if it did not."""
        advertised = [] if self.proxy is None else [f"--advertise=127.0.0.1:{self.proxy.port}"]
        timing = [f"--timing-{name.replace('_', '-')}={value}" for name, value in BRISK.items()]
        self._serves.clear()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "superpeer.daemon",
            f"--data={self.directory}",
            f"--listen=127.0.0.1:{self._port}",
            "--metrics=",
            *timing,
            *advertised,
            *self.options,
            *options,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reader = asyncio.create_task(self._read())
        served = asyncio.create_task(self._serves.wait())
        await asyncio.wait([served, self._reader], return_when=asyncio.FIRST_COMPLETED)
        if not self._serves.is_set():
            served.cancel()
            raise RuntimeError("".join(self.output))
        return self

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        code = await self._process.wait()
        assert self._reader is not None
        await self._reader
        return code

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            text = line.decode()
            self.output.append(text)
            found = re.search(r"listen=\S+:(\d+) contact=(\S+)", text)
            if found:
                contact = parse_contact(found[2])
                self.address, self.key = contact.address, contact.key
                self._port = int(found[1])
                if self.proxy is not None:
                    self.proxy.target_port = self._port
                self._serves.set()


def new_network(directory: Path) -> Path:
    """The directory of a first super-peer, with the root key in it."""
    return init(directory / "sp0", "sp0").directory


def admitted(directory: Path, number: int) -> Path:
    """The directory of another super-peer, admitted to that network."""
    own = directory / f"sp{number}"
    install(own, admit(directory / "sp0" / ROOT_KEY_FILE, prepare(own), own.name))
    return own


@asynccontextmanager
async def backbone(directory: Path, count: int, *options: str) -> AsyncIterator[list[Running]]:
    """So many super-peers, of which the others join through the first."""
    first = Running(new_network(directory), *options)
    others = [Running(admitted(directory, number), *options) for number in range(1, count)]
    everybody = [first, *others]
    try:
        await first.start()
        await asyncio.gather(*(one.start(f"--join={first.contact}") for one in others))
        yield everybody
    finally:
        for one in everybody:
            if one.is_running:
                await one.stop(signal.SIGKILL)


def config_of(directory: Path, **options: Any) -> Config:
    return make_config(
        {"data": str(directory), "listen": "127.0.0.1:0", "metrics": "", "timing": BRISK, "leave_s": 5.0} | options
    )


@asynccontextmanager
async def daemons(directory: Path, count: int, **options: Any) -> AsyncIterator[list[Daemon]]:
    """So many super-peers within this process, in one view."""
    directories = [new_network(directory), *(admitted(directory, number) for number in range(1, count))]
    everybody: list[Daemon] = []
    try:
        for own in directories:
            join = [f"{everybody[0].address}#{everybody[0].papers.identity.public}"] if everybody else []
            daemon = Daemon(config_of(own, join=join, **options))
            await daemon.start()
            everybody.append(daemon)
        await until(lambda: all(len(daemon.backbone.view) == count for daemon in everybody))
        yield everybody
    finally:
        for daemon in everybody:
            await daemon.end()


def contact(daemon: Daemon) -> Contact:
    return Contact(daemon.address, daemon.papers.identity.public)


async def until(condition: Callable[[], bool]) -> None:
    """Until other tasks, or processes, make it true; the time limit of the test is the time limit."""
    while not condition():
        await asyncio.sleep(0.01)
