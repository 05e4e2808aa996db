"""The daemon: a super-peer from its start to its end.

It starts with what could stop it: the configuration, the key, the certificate, the disk. Only then does it listen.

Told to stop, it leaves in peace. It takes no more connections and lets its peers go, then waits until the network has
acknowledged what they published, says farewell, and makes the rest durable; all within a stated time. Told
a second time, it ends at once. That loses nothing either, as after `kill -9`: the others just need a while to notice.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from auth import Admissions, AuthError, Certificate, Identity, PublicKey, load_identity
from superpeer import __version__
from superpeer.daemon.admin import AdminDesk
from superpeer.daemon.backbone import Backbone
from superpeer.daemon.config import Address, Config, parse_address
from superpeer.daemon.core import Core
from superpeer.daemon.errors import CannotServe
from superpeer.daemon.logs import note
from superpeer.daemon.metrics import MetricsServer
from superpeer.daemon.peers import PeerDesk
from superpeer.daemon.pump import Pump
from superpeer.daemon.tracing import Tracing
from superpeer.matching.readiness import begin_warm_up
from superpeer.net import Connection, Endpoint, Listener, Party, Reason
from superpeer.node.growing import LARGE
from superpeer.node.node import Node
from superpeer.store.store import Store
from superpeer.store.writer import Writer

MAX_TEXT_BYTES = 4096
EVERYWHERE = ("0.0.0.0", "::")
WARM_UP_AT = LARGE // 3
"""With so many places in the poset, the matcher is made ready for more."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Papers:
    """Who a super-peer is, and by what right."""

    identity: Identity
    certificate: Certificate
    admissions: Admissions


def read_papers(config: Config) -> Papers:
    """The key and the certificate; an error says what does not fit."""
    identity = load_identity(config.key_path, os.environ.get("SUPERPEER_PASSPHRASE"))
    try:
        certificate = Certificate.parse(_read(config.certificate_path, "let the holder of the root key admit it"))
        root = PublicKey.parse(config.root or _read(config.root_path, "give the root key of the network"))
        admissions = Admissions(root)
        if certificate.key != identity.public:
            raise CannotServe(
                f"{config.certificate_path} admits another key than that of {config.key_path}, which is "
                f"{identity.public}; let the holder of the root key admit this one"
            )
        admissions.learn(certificate, time.time())
    except AuthError as error:
        raise CannotServe(f"this super-peer may not join its network: {error}") from error
    return Papers(identity, certificate, admissions)


class Daemon:
    """One super-peer that runs."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.papers = read_papers(config)
        self.endpoint = Endpoint(
            self.papers.identity,
            Party.SUPER_PEER,
            self.papers.admissions,
            self.papers.certificate,
            admins=config.admin_keys,
            limits=config.connections,
        )
        self.started_at = time.time()
        self.failure: BaseException | None = None
        self._random = Random(os.urandom(16))
        self._told_to_stop = asyncio.Event()
        self._told_again = asyncio.Event()
        self._nothing_unacknowledged = asyncio.Event()
        self.admins = AdminDesk(self)
        self.metrics = MetricsServer(self)
        self.metrics_port = 0
        self.is_leaving = False
        self.is_ready = False

    core: Core
    backbone: Backbone
    desk: PeerDesk
    listener: Listener
    writer: Writer
    pump: Pump
    address: Address
    tracing: Tracing

    async def start(self) -> None:
        """Open the disk, listen, and look for the backbone."""
        config = self.config
        store = Store(config.store_path)
        try:
            state = await asyncio.to_thread(store.load)
            entries = store.entries()
            self.writer = Writer(store)
        except BaseException:
            store.close()
            raise
        self.pump = Pump(self.writer, self._disk_failed, max_waiting=config.max_waiting_records)
        self.listener = Listener(self.endpoint, self._serve, config.listener)
        try:
            await self._listen()
            node = Node(
                self.papers.identity,
                str(self.address),
                state,
                now=time.time(),
                random=os.urandom,
                limits=config.limits,
                accepts_nonconforming=config.accepts_nonconforming,
            )
            self.core = Core(node, self.pump)
            self.desk = PeerDesk(self.core)
            self.backbone = Backbone(
                self.endpoint,
                self.core,
                self.address,
                kind=config.backbone,
                timing=config.timing,
                contacts=config.contacts,
                known=entries,
                random=self._random,
                idle_s=config.idle_link_s,
                session_bytes=config.session_bytes,
            )
            self.tracing = Tracing(node, self.backbone.neighbours.send_aside)
            self.backbone.hear_other = self.tracing.hear
            self.core.stepped = self._after_step
            await self.admins.start(config.admin_socket_path)
            if config.metrics:
                self.metrics_port = await self.metrics.start(parse_address(config.metrics))
            self.backbone.start()
        except BaseException:
            await self.listener.close()
            await self.admins.close()
            await self.metrics.close()
            await self.writer.close()
            raise
        self.is_ready = True
        gc.freeze()  # What was loaded is not garbage.
        note(
            log,
            "the super-peer serves",
            version=__version__,
            name=self.papers.certificate.name,
            listen=f"{parse_address(config.listen).host}:{self.listener.port}",
            contact=f"{self.address}#{self.papers.identity.public}",
            metrics_port=self.metrics_port,
            peers=len(state.registry),
            log_entries=len(state.log),
        )

    async def run(self) -> None:
        """Until somebody tells it to stop, or the disk fails."""
        await self._told_to_stop.wait()
        if self.failure is None:
            await self._leave()
        await self.end()
        if self.failure is not None:
            raise CannotServe(f"the super-peer had to stop: {self.failure}") from self.failure

    def stop(self) -> None:
        """Leave in peace; told again, at once."""
        if self._told_to_stop.is_set():
            self._told_again.set()
        self._told_to_stop.set()

    async def end(self) -> None:
        """Close everything, and make durable what there is."""
        self.is_ready = False
        self.core.stop()
        await self.admins.close()
        await self.metrics.close()
        await self.backbone.close()
        await self.listener.close()
        if self.failure is None:
            await self.pump.settled()
        await self.writer.close()
        note(log, "the super-peer has ended")

    def health(self) -> str:
        """ "ok", or what is the matter."""
        if self.failure is not None:
            return f"failed: {self.failure}"
        if self.is_leaving:
            return "leaving"
        return "ok" if self.is_ready else "starting"

    async def _leave(self) -> None:
        note(log, "the super-peer leaves", unacknowledged=len(self.core.node.state.log.unacknowledged))
        self.is_leaving = True
        for service in list(self.desk.connected.values()):
            service.dismiss()
        told_again = asyncio.ensure_future(self._told_again.wait())
        leaving = asyncio.ensure_future(self._farewell())
        done, pending = await asyncio.wait(
            [leaving, told_again], timeout=self.config.leave_s, return_when=asyncio.FIRST_COMPLETED
        )
        if leaving not in done:
            note(log, "the super-peer ends before it could take leave", logging.WARNING)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    async def _farewell(self) -> None:
        """When the network has what was published here, nobody has to wait for this super-peer."""
        self._look_whether_done()
        await self._nothing_unacknowledged.wait()
        await self.pump.settled()
        self.backbone.leave()
        await self.backbone.stopped.wait()
        await self.pump.settled()

    def _after_step(self) -> None:
        self._look_whether_done()
        if len(self.core.node.broker.router.tables.poset) >= WARM_UP_AT:
            begin_warm_up()

    def _look_whether_done(self) -> None:
        if self.is_leaving and not self.core.node.state.log.unacknowledged:
            self._nothing_unacknowledged.set()

    async def _listen(self) -> None:
        listen = parse_address(self.config.listen)
        if listen.host in EVERYWHERE and not self.config.advertise:
            raise CannotServe(
                f"listening on {listen}, it cannot know under which address others reach it; say so with advertise"
            )
        try:
            await self.listener.start(listen.host, listen.port)
        except OSError as error:
            raise CannotServe(
                f"cannot listen on {listen}: {error.strerror or error}; choose another address"
            ) from error
        if self.config.advertise:
            self.address = parse_address(self.config.advertise)
        else:
            self.address = Address(listen.host, self.listener.port)

    async def _serve(self, connection: Connection) -> None:
        """Somebody has connected, and proved who it is."""
        party = connection.other.party
        if party is Party.SUPER_PEER:
            await self.backbone.serve(connection)
        elif party is Party.ADMIN:
            await self.admins.serve(connection)
        elif self.is_leaving:
            connection.close(Reason.GOING_AWAY)
        else:
            await self.desk.serve(connection)

    def _disk_failed(self, error: BaseException) -> None:
        """Nothing can be promised any more. What was said is true; the next life begins with it."""
        note(log, "the super-peer cannot go on", logging.ERROR, reason=error)
        self.failure = error
        self._told_to_stop.set()
        self._told_again.set()


async def serve(config: Config) -> None:
    """Run a super-peer until a signal, or an admin, ends it."""
    daemon = Daemon(config)
    await daemon.start()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    try:
        await daemon.run()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _read(path: Path, advice: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEXT_BYTES)
        return data.decode().strip()
    except OSError as error:
        raise CannotServe(f"{path} cannot be read: {error.strerror}; {advice}") from error
    except UnicodeDecodeError as error:
        raise CannotServe(f"{path} is no text; {advice}") from error
