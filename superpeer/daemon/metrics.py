"""Metrics for Prometheus, and a health check, over HTTP on a local port.

Numbers are read when somebody asks for them; nothing is sampled in between. `/metrics` has them all. `/healthz` answers
200 while this super-peer serves and its disk takes what it is given, and 503 while it starts, leaves or fails.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from superpeer.daemon.config import Address
from superpeer.daemon.errors import CannotServe
from superpeer.net import Counters

if TYPE_CHECKING:
    from superpeer.daemon.daemon import Daemon

MAX_REQUEST_BYTES = 8 * 1024
REQUEST_S = 5.0


class DaemonCollector(Collector):
    """Reads the numbers of one super-peer."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def collect(self) -> Iterator[Metric]:
        yield from self._gauges()
        yield from self._counts()

    def _gauges(self) -> Iterator[Metric]:
        daemon, node = self._daemon, self._daemon.core.node
        state, tables = node.state, node.broker.router.tables
        links = daemon.backbone.neighbours.all()
        yield _gauge("uptime_seconds", "Since this life began.", time.time() - daemon.started_at)
        yield _gauge("resident_bytes", "Memory of the process, at most so far.", _resident_bytes())
        yield _gauge("backbone_members", "Members of the present view.", len(daemon.backbone.view))
        yield _gauge("links_connected", "Super-peers with a connection.", sum(one.link.is_connected for one in links))
        under_way = sum(one.link.session.unacknowledged for one in links)
        yield _gauge("link_messages_under_way", "Sent to super-peers and not acknowledged.", under_way)
        yield _gauge("settled", "1 when all links are in place in the present view.", node.broker.router.is_settled)
        yield _gauge("peers_registered", "Peers of this access point.", len(node.registry))
        yield _gauge("peers_connected", "Peers that are here now.", len(daemon.desk.connected))
        asked = sum(len(kept.subscriptions) for kept in state.peers.values())
        yield _gauge("subscriptions", "Of local peers.", asked)
        yield _gauge("poset_places", "Different subscriptions known, also from elsewhere.", len(tables.poset))
        yield _gauge("log_entries", "Publications in the log.", len(state.log))
        yield _gauge("log_bytes", "Size of the log.", state.log.size_bytes)
        yield _gauge("log_unacknowledged", "Not yet in all queues of the network.", len(state.log.unacknowledged))
        queued = sum(len(kept.queue.entries) for kept in state.peers.values())
        yield _gauge("queue_entries", "Notifications that wait for local peers.", queued)
        size = sum(kept.queue.size_bytes for kept in state.peers.values())
        yield _gauge("queue_bytes", "Size of these queues.", size)
        yield _gauge("records_waiting", "Records that are not on disk yet.", daemon.pump.waiting)
        yield _gauge("certificate_expires_seconds", "When the certificate ends.", daemon.papers.certificate.not_after)

    def _counts(self) -> Iterator[Metric]:
        daemon = self._daemon
        core, desk = daemon.core.counts, daemon.desk.counts
        yield _count("publications", "Taken from local peers.", core["publications"])
        yield _count("requests", "Other requests of local peers.", core["requests"])
        yield _count("node_messages", "Messages of other super-peers.", core["messages"])
        yield _count("notifications", "Sent to local peers.", desk["notices"])
        yield _count("events", "Told to local peers, notifications included.", desk["events"])
        yield _count("requests_refused", "Requests of local peers that were refused.", desk["refusals"])
        yield _count("slow_consumers", "Peers that were let go as they took nothing.", desk["slow"])
        yield _count("commits", "Commits to disk.", daemon.pump.commits)
        yield _count("records", "Records on disk, in this life.", daemon.pump.records)
        yield _count("sessions_given_up", "Links that had to begin anew.", daemon.backbone.neighbours.overflows)
        yield _count("entries_refused", "Entries of members that were not believed.", daemon.backbone.refused)
        yield _labelled("node_refusals", "What the node should not have been told.", "kind", daemon.core.node.refusals)
        total = Counters()
        total.add(daemon.listener.counters())
        total.add(daemon.backbone.neighbours.counters())
        yield _count("connections", "Connections whose handshake was completed.", total.connections)
        yield _count("messages_received", "Over all connections.", total.messages_in)
        yield _count("messages_sent", "Over all connections.", total.messages_out)
        yield _count("bytes_received", "Over all connections, encryption included.", total.bytes_in)
        yield _count("bytes_sent", "Over all connections, encryption included.", total.bytes_out)
        refused = {reason.name.lower(): count for reason, count in total.refused.items()}
        yield _labelled("connections_refused", "Why the other end was refused.", "reason", refused)


class MetricsServer:
    """A very small HTTP server: GET, one request a connection, nothing of it is kept."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._registry = CollectorRegistry()
        self._registry.register(DaemonCollector(daemon))
        self._server: asyncio.Server | None = None

    async def start(self, address: Address) -> int:
        """Listen; the port."""
        try:
            self._server = await asyncio.start_server(self._serve, address.host, address.port, limit=MAX_REQUEST_BYTES)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotServe(f"metrics cannot be served on {address}: {reason}; choose another address") from error
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def answer(self, method: str, path: str) -> tuple[str, str, bytes]:
        """Status, type and content."""
        plain = "text/plain; charset=utf-8"
        if method != "GET":
            return "405 Method Not Allowed", plain, b"only GET is served here\n"
        if path == "/metrics":
            return "200 OK", CONTENT_TYPE_LATEST, generate_latest(self._registry)
        if path == "/healthz":
            health = self._daemon.health()
            return ("200 OK" if health == "ok" else "503 Service Unavailable"), plain, f"{health}\n".encode()
        return "404 Not Found", plain, b"there are /metrics and /healthz\n"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
                path = rest.partition(" ")[0]
                status, kind, content = self.answer(method, path.partition("?")[0])
                fields = f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n"
                writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + content)
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return
        finally:
            writer.close()


def _gauge(name: str, sentence: str, value: float) -> Metric:
    return GaugeMetricFamily(f"superpeer_{name}", sentence, value=float(value))


def _count(name: str, sentence: str, value: float) -> Metric:
    return CounterMetricFamily(f"superpeer_{name}", sentence, value=float(value))


def _labelled(name: str, sentence: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"superpeer_{name}", sentence, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def _resident_bytes() -> int:
    """Linux counts in KiB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
