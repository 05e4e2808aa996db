"""What admins see of a super-peer, over its socket and from elsewhere; metrics and health; and what logs tell."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import stat
from pathlib import Path

import pytest

from auth import Identity
from superpeer.daemon import reports
from superpeer.daemon.admin import AdminClient
from superpeer.daemon.admin_messages import (
    ExplainNotification,
    ExplainSubscription,
    ShowBackbone,
    ShowIndices,
    ShowPeers,
    ShowPoset,
    ShowQueues,
    ShowStatus,
    Shutdown,
    TryQuery,
)
from superpeer.daemon.daemon import Daemon
from superpeer.daemon.errors import AdminError
from superpeer.daemon.logs import JsonLines, KeyValues
from superpeer.net import ConnectionClosed, Reason
from superpeer.node.requests import Unsubscribe
from tests.superpeer.daemon.helpers import QUERY, body, contact, daemons, live
from tests.superpeer.daemon.raw_peer import DC, RawPeer, thief

ADMIN, STRANGER = Identity(bytes([7]) * 32), Identity(bytes([8]) * 32)
SPECIAL = QUERY.replace("P2P", "P2P networks")


async def get(port: int, path: str, method: str = "GET") -> tuple[str, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    head, _, content = answer.partition("\r\n\r\n")
    return head.split("\r\n")[0], content


def test_admin_requests_answer(tmp_path: Path) -> None:
    async def main() -> None:
        async with daemons(tmp_path, 2, metrics="127.0.0.1:0", admins=[str(ADMIN.public)]) as (one, other):
            reader = await RawPeer().connect(*contact(other))
            writer = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await reader.subscribe("general", QUERY)
            await reader.subscribe("special", SPECIAL)
            await writer.publish(body(1))
            await reader.until(lambda: len(reader.notices) == 1)
            publication = reader.notices[0].publication.id

            socket = other.config.admin_socket_path
            assert stat.S_IMODE(socket.stat().st_mode) == 0o600
            async with await AdminClient.local(socket) as admin:
                status = await admin.ask(ShowStatus())
                assert (status["name"], status["members"], status["peers_connected"]) == ("sp1", 2, 1)
                assert status["subscriptions"] == 2

                backbone = await admin.ask(ShowBackbone())
                assert sorted(member["label"] for member in backbone["members"]) == ["0", "1"]
                assert [link["is_connected"] for link in backbone["links"]] == [True]

                poset = await admin.ask(ShowPoset())
                assert [(row["depth"], row["hides"]) for row in poset["places"]] == [(0, 1), (1, 0)]
                general, special = poset["places"]
                assert general["asked_by_peers"] == [f"{reader.id} general"]
                assert general["forwarded_to"] == [f"0 {link_id(one)}"]
                assert special["forwarded_to"] == []
                assert special["hidden_by"] == [general["query"]]
                below = await admin.ask(ShowPoset(root=SPECIAL))
                assert [row["query"] for row in below["places"]] == [special["query"]]
                assert (await admin.ask(ShowPoset(within=SPECIAL)))["places"][0]["query"] == special["query"]
                assert (await admin.ask(ShowPoset(text="no such thing")))["places"] == []
                assert (await admin.ask(ShowPoset(limit=1)))["is_cut"]

                indices = await admin.ask(ShowIndices())
                assert indices["local"]["count"] == 0
                assert [row["elements"] for row in indices["beyond"]] == [[f"schema {DC}"]]

                peers = await admin.ask(ShowPeers())
                assert [row["peer"] for row in peers["peers"]] == [reader.id]
                assert peers["peers"][0]["subscriptions"] == ["general", "special"]
                queues = await admin.ask(ShowQueues())
                assert [row["id"] for row in queues["super_peers"]] == [link_id(one)]

                explained = await admin.ask(ExplainSubscription(reader.id, "special"))
                assert explained["is_active"]
                assert explained["links"][0]["hidden_by"] == general["query"]
                explained = await admin.ask(ExplainNotification(publication, reader.id))
                assert explained["reached"]
                assert [hop["super_peer"] for hop in explained["hops"]] == [link_id(one), link_id(other)]
                assert explained["is_acknowledged"]
                stranger = await admin.ask(ExplainNotification(publication, writer.id))
                assert (stranger["reached"], stranger["reason"]) == (False, "none of its subscriptions matches")

                trial = await admin.ask(TryQuery(QUERY))
                assert (trial["matched"], trial["is_servable"], trial["is_asked_for_already"]) == (0, True, True)
                for wrong in (
                    ExplainSubscription(reader.id, "none"),
                    ExplainNotification("nothing/1"),
                    TryQuery("X :"),
                    ShowPoset(limit=0),
                    ShowPoset(root='X : t(X, <http://example.org/p>, "v")'),
                ):
                    with pytest.raises(AdminError):
                        await admin.ask(wrong)

            async with await AdminClient.remote(ADMIN, contact(one)) as admin:
                trial = await admin.ask(TryQuery(QUERY))
                assert [row["id"] for row in trial["matches"]] == [publication]
                assert trial["local_publishers"] == [writer.id]
            with pytest.raises(ConnectionClosed) as refused:
                await AdminClient.remote(STRANGER, contact(one))
            assert refused.value.reason is Reason.ROLE_REFUSED

            await check_metrics(one)
            async with await AdminClient.local(one.config.admin_socket_path) as admin:
                assert await admin.ask(Shutdown()) == {"is_leaving": True}
            leaving = asyncio.ensure_future(one.run())
            await writer.until_closed()
            assert writer.ended is not None
            assert writer.ended.reason is Reason.GOING_AWAY
            await leaving
            assert not one.config.admin_socket_path.exists()

    live(main())


async def check_metrics(daemon: Daemon) -> None:
    status, content = await get(daemon.metrics_port, "/metrics")
    assert status == "HTTP/1.1 200 OK"
    values = dict(line.rsplit(" ", 1) for line in content.splitlines() if not line.startswith("#"))
    assert float(values["superpeer_publications_total"]) == 1
    assert float(values["superpeer_backbone_members"]) == 2
    assert float(values["superpeer_records_total"]) > 0
    assert float(values['superpeer_connections_refused_total{reason="role_refused"}']) == 1
    assert await get(daemon.metrics_port, "/healthz") == ("HTTP/1.1 200 OK", "ok\n")
    assert (await get(daemon.metrics_port, "/other"))[0] == "HTTP/1.1 404 Not Found"
    assert (await get(daemon.metrics_port, "/metrics", "POST"))[0] == "HTTP/1.1 405 Method Not Allowed"
    daemon.is_leaving = True
    assert await get(daemon.metrics_port, "/healthz") == ("HTTP/1.1 503 Service Unavailable", "leaving\n")
    daemon.is_leaving = False


def link_id(daemon: Daemon) -> str:
    return str(daemon.papers.identity.public.id)


def test_no_secret_is_logged(tmp_path: Path) -> None:
    """At the level that says most, of everything that the process logs."""
    stream = io.StringIO()
    handlers = [logging.StreamHandler(stream), logging.StreamHandler(stream)]
    handlers[0].setFormatter(JsonLines())
    handlers[1].setFormatter(KeyValues())
    root = logging.getLogger()
    level = root.level

    async def main() -> list[bytes]:
        async with daemons(tmp_path, 2) as (one, other):
            reader = await RawPeer().connect(*contact(other))
            writer = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await reader.subscribe("mine", QUERY)
            for number in range(5):
                await writer.publish(body(number))
            await reader.until(lambda: len(reader.notices) == 5)
            reader.connection.send(b"nonsense")
            await reader.until_closed()
            await reader.connect(*contact(one))
            with pytest.raises(Exception, match="private id"):
                await RawPeer(thief(reader)).connect(*contact(one))
            return [
                reader.memory.attached.private_id.reveal(),
                writer.memory.attached.private_id.reveal(),
                reader.memory.identity.reveal_seed(),
                *(daemon.papers.identity.reveal_seed() for daemon in (one, other)),
            ]

    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        secrets = live(main())
    finally:
        root.setLevel(level)
        for handler in handlers:
            root.removeHandler(handler)
    logged = stream.getvalue()
    assert "a peer is connected" in logged
    assert "a peer broke the protocol" in logged
    assert "a request was refused" in logged
    for secret in secrets:
        for written in (secret.hex(), repr(secret)[2:-1], str(list(secret)), json.dumps(list(secret))):
            assert written not in logged


def test_a_report_that_takes_long_lets_others_have_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With slices of no length at all there is a turn for others after every place, in which the poset may change."""

    async def main() -> None:
        async with daemons(tmp_path, 1) as (one,):
            reader = await RawPeer().connect(*contact(one))
            writer = await RawPeer().connect(*contact(one))
            await writer.advertise()
            await writer.publish(body(1))
            for number in range(20):
                await reader.subscribe(str(number), QUERY.replace("P2P", f"P2P {number:02}"))
            whole = await reports.poset(one, ShowPoset())
            monkeypatch.setattr(reports, "SLICE_S", 0.0)
            assert await reports.poset(one, ShowPoset()) == whole
            assert len(whole["places"]) == 20
            turns = 0

            async def others() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    if turns == 30:
                        one.core.request(
                            reader.memory.attached.public_id,
                            reader.memory.attached.private_id,
                            Unsubscribe("19"),
                            lambda _: None,
                        )
                    await asyncio.sleep(0)

            busy = asyncio.create_task(others())
            for report in (
                reports.poset(one, ShowPoset()),
                reports.indices(one, ShowIndices()),
                reports.peers(one, ShowPeers()),
                reports.trial(one, TryQuery(QUERY)),
            ):
                before = turns
                await report
                assert turns > before
            assert turns > 2 * 20
            busy.cancel()

    live(main())
