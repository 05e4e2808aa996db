"""A peer against real nodes over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rdflib import DC, RDFS, Graph, Literal, URIRef

from superpeer.client.errors import FetchFailed, PeerClosed
from superpeer.client.notifications import Notification
from superpeer.client.peer import Peer
from superpeer.net import Unreachable
from superpeer.node.errors import BadRequest, LimitReached, Nonconforming
from superpeer.node.limits import Limits
from superpeer.node.requests import Publish
from tests.superpeer.client.backbone import Backbone, live, running, wait_for

NEJDL = 'X : t(X, dc:creator, Y) & Y contains "Nejdl"'
PAPER = URIRef("http://example.org/paper")


def paper(number: int, creator: str = "Nejdl") -> list[tuple[URIRef, URIRef, Literal]]:
    subject = URIRef(f"http://example.org/paper/{number}")
    return [(subject, DC.creator, Literal(creator)), (subject, DC.title, Literal(f"Paper {number}"))]


def number_of(notification: Notification) -> int:
    return int(str(notification.subject).rpartition("/")[2])


async def take(peer: Peer, count: int) -> list[Notification]:
    """So many notifications, each acknowledged."""
    taken = []
    async for notification in peer.notifications():
        await notification.acknowledge()
        taken.append(notification)
        if len(taken) == count:
            return taken
    raise AssertionError("the peer was closed")


def test_what_is_published_arrives(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna, backbone.peer("bert") as bert:
            subscription = await anna.subscribe(NEJDL, "authors")
            assert not subscription.is_servable
            await subscription.active()
            await bert.advertise(["dc"])
            receipt = await bert.publish(paper(1))
            await bert.publish(paper(2, "Koubarakis"))
            (notification,) = await take(anna, 1)
            assert receipt.ids == (notification.id,)
            assert notification.publisher == bert.id
            assert (notification.kind, notification.subscriptions) == ("new", frozenset({"authors"}))
            assert set(notification.triples) == set(paper(1))
            assert notification.bindings["authors"]["Y"] == (Literal("Nejdl"),)
            await receipt.acknowledged()
            (status,) = await anna.subscriptions()
            assert status.is_active
            assert status.is_servable

    live(main())


def test_a_cut_connection_is_made_again_and_nothing_comes_twice(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna, backbone.peer("bert") as bert:
            await (await anna.subscribe(NEJDL)).active()
            await bert.advertise(["dc"])
            seen = [number_of(one) async for one in _published_one_by_one(backbone, anna, bert, 12)]
            assert seen == list(range(12))
            assert backbone[0].asked["Connecting"] > 4

    live(main())


async def _published_one_by_one(backbone: Backbone, anna: Peer, bert: Peer, count: int) -> AsyncIterator[Notification]:
    """Publishes each when the one before has come, and cuts all connections at different moments."""
    await bert.publish(paper(0))
    async for notification in anna.notifications():
        yield notification
        number = number_of(notification) + 1
        if number == count:
            return
        if number % 3 == 0:
            backbone[0].cut()
        publishing = asyncio.ensure_future(bert.publish(paper(number)))
        if number % 3 == 1:
            await asyncio.sleep(0)
            backbone[0].cut()
        await publishing


@pytest.mark.parametrize("disk", [True, False])
def test_a_super_peer_begins_a_new_life(tmp_path: Path, disk: bool) -> None:
    """With its disk, and without: then the peers register again and bring what they had."""

    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna, backbone.peer("bert") as bert:
            await (await anna.subscribe(NEJDL, "authors")).active()
            await bert.advertise(["dc"])
            await (await bert.publish(paper(1))).acknowledged()
            assert [number_of(one) for one in await take(anna, 1)] == [1]
            id_before = anna.id
            await backbone[0].crash(disk=disk)
            await wait_for(lambda: not bert.is_connected and not anna.is_connected)
            publishing = asyncio.ensure_future(bert.publish(paper(2)))
            await wait_for(lambda: bert.outbox == 1)
            await backbone[0].start()
            await publishing
            assert [number_of(one) for one in await take(anna, 1)] == [2]
            assert (anna.id == id_before) == disk
            assert [one.subscription.name for one in await anna.subscriptions()] == ["authors"]

    live(main())


REQUESTS = ["Connecting", "Attaching", "Subscribe", "Unsubscribe", "Advertise", "Publish", "Bring", "Received", "Pause"]


@pytest.mark.parametrize("request_name", REQUESTS)
def test_an_answer_that_never_comes_changes_nothing(tmp_path: Path, request_name: str) -> None:
    """The access point has done what it was asked, and the connection breaks before the answer: once for every kind."""

    async def main() -> None:
        async with running(tmp_path) as backbone:
            swallowed: list[str] = []

            def swallow_once(request: object) -> bool:
                is_it = type(request).__name__ == request_name and not swallowed
                swallowed.extend([request_name] * is_it)
                return is_it

            backbone[0].swallow = swallow_once
            async with backbone.peer("anna") as anna, backbone.peer("bert") as bert:
                await (await anna.subscribe(NEJDL, "authors")).active()
                await anna.subscribe("X : t(X, dc:title, T)", "titles")
                await anna.pause("titles")
                await anna.unsubscribe("titles")
                await bert.advertise(["dc"])
                for number in range(5):
                    await bert.publish(paper(number))
                assert [number_of(one) for one in await take(anna, 5)] == list(range(5))
                await wait_for(lambda: bert.outbox == 0)
                assert [one.subscription.name for one in await anna.subscriptions()] == ["authors"]
                # One more: had anything been handed in twice, it would come before.
                await bert.publish(paper(5))
                assert [number_of(one) for one in await take(anna, 1)] == [5]
                assert len(backbone[0].running.state.log) == 6
            assert swallowed == [request_name]

    live(main())


def test_the_outbox_is_handed_in_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            await (await anna.subscribe(NEJDL)).active()
            async with backbone.peer("bert") as bert:
                await bert.advertise(["dc"])
                await bert.publish(paper(0))
                await backbone[0].crash()
                await wait_for(lambda: not bert.is_connected)
                receipt = await bert.publish([*paper(1), *paper(2), *paper(3)], wait=False)
                assert len(receipt) == 3
                assert bert.outbox >= 3
            await backbone[0].start()
            async with backbone.peer("bert") as bert:
                assert [number_of(one) for one in await take(anna, 4)] == [0, 1, 2, 3]
                await wait_for(lambda: bert.outbox == 0)

    live(main())


def test_what_waits_for_a_peer_that_is_closed_comes_when_it_is_opened(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("bert") as bert:
            await bert.advertise(["dc"])
            async with backbone.peer("anna") as anna:
                await (await anna.subscribe(NEJDL)).active()
                await bert.publish(paper(0))
                assert len(await take(anna, 1)) == 1
            for number in range(1, 4):
                await (await bert.publish(paper(number))).acknowledged()
            async with backbone.peer("anna") as anna:
                # The same subscription again, as programs do when they start.
                await anna.subscribe(NEJDL)
                assert [number_of(one) for one in await take(anna, 3)] == [1, 2, 3]

    live(main())


def test_what_is_not_acknowledged_comes_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("bert") as bert:
            await bert.advertise(["dc"])
            async with backbone.peer("anna") as anna:
                await (await anna.subscribe(NEJDL)).active()
                await bert.publish([*paper(0), *paper(1), *paper(2)])
                seen = []
                async for notification in anna.notifications():
                    seen.append(number_of(notification))
                    if len(seen) == 2:
                        break  # The first is acknowledged, as the second was asked for; the second is not.
                again = [number_of(one) async for one in anna.notifications(timeout=0.2, acknowledge=False)]
                assert (seen, again) == ([0, 1], [1, 2])
                third = [one async for one in anna.notifications(timeout=0.2, acknowledge=False)][1]
                await third.acknowledge()
                backbone[0].cut()
                assert [number_of(one) async for one in anna.notifications(timeout=0.5, acknowledge=False)] == [1]
            async with backbone.peer("anna") as anna:
                assert [number_of(one) async for one in anna.notifications(timeout=0.5)] == [1]
                assert anna.inbox == 0

    live(main())


def test_a_cursor_goes_on_where_the_application_is(tmp_path: Path) -> None:
    """An application that stores the cursor with its own data, and dies before it could acknowledge anything."""

    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("bert") as bert:
            await bert.advertise(["dc"])
            for number in range(3):
                await (await bert.publish(paper(number))).acknowledged()
            async with backbone.peer("anna") as anna:
                await (await anna.subscribe(NEJDL, since=0.0)).active()
                await bert.publish([*paper(3), *paper(4)])
                seen, cursor = [], b""
                async for notification in anna.notifications(acknowledge=False):
                    seen.append(number_of(notification))
                    cursor = notification.cursor
                    if len(seen) == 4:
                        break
                assert sorted(seen) == [0, 1, 2, 3]
            async with backbone.peer("anna") as anna:
                rest = [number_of(one) async for one in anna.notifications(after=cursor, timeout=0.5)]
                assert rest == [4]

    live(main())


def test_refusals_are_the_errors_of_the_node(tmp_path: Path) -> None:
    async def main() -> None:
        limits = Limits(body_bytes=2_000, subscriptions_per_peer=2)
        async with running(tmp_path, limits=limits) as backbone, backbone.peer("anna") as anna:
            with pytest.raises(Nonconforming) as refused:
                await anna.publish(paper(1))
            assert refused.value.missing == (str(DC.creator), str(DC.title))
            assert anna.outbox == 0
            await anna.advertise(["dc"])
            await anna.publish(paper(1))
            with pytest.raises(LimitReached, match="the limit is 2,000") as too_large:
                await anna.publish([(PAPER, DC.title, Literal("x" * 3_000))])
            assert (too_large.value.limit, too_large.value.what) == (2_000, "the size of what a publication says")
            with pytest.raises(BadRequest, match="no subscription"):
                await anna.renew("nothing")
            for number in range(2):
                await anna.subscribe(f'X : t(X, dc:title, "{number}")')
            with pytest.raises(LimitReached):
                await anna.subscribe(NEJDL)
            assert len(await anna.subscriptions()) == 2
            receipt = await anna.publish([*paper(2), (PAPER, DC.title, Literal("x" * 3_000)), *paper(3)], wait=False)
            with pytest.raises(LimitReached):
                await receipt.acknowledged()
            assert (len(receipt.refusals), len(receipt.ids)) == (1, 2)
            assert len(backbone[0].running.state.log) == 3

    live(main())


def test_a_refusal_that_never_comes_is_no_acknowledgement(tmp_path: Path) -> None:
    """The connection breaks when something is refused, with more in the outbox behind it."""

    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            await anna.advertise(["dc"])
            swallowed: list[int] = []

            def swallow(request: object) -> bool:
                if isinstance(request, Publish) and len(swallowed) < 3:
                    wrong = [one.serial for one in request.postings if b"rdf-schema#label" in one.body]
                    swallowed.extend(wrong)
                    return bool(wrong)
                return False

            backbone[0].swallow = swallow
            wrong = (URIRef("http://example.org/paper/5"), RDFS.label, Literal("not advertised"))
            receipt = await anna.publish([triple for i in range(10) for triple in paper(i)] + [wrong], wait=False)
            with pytest.raises(Nonconforming):
                await receipt.logged()
            assert len(swallowed) == 3
            assert (len(receipt.refusals), len(receipt.ids)) == (1, 9)
            logged = {one.description.subject.text for one in backbone[0].running.state.log}
            assert logged == {f"http://example.org/paper/{number}" for number in range(10) if number != 5}

    live(main())


def test_subscriptions_change_while_there_is_no_connection(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            for name in ("one", "two", "three"):
                await anna.subscribe(NEJDL, name)
            await backbone[0].crash()
            await wait_for(lambda: not anna.is_connected)
            changes = [
                anna.unsubscribe("one"),
                anna.pause("two"),
                anna.subscribe("X : t(X, dc:title, T)", "three"),
                anna.subscribe(NEJDL, "four"),
            ]
            changing = asyncio.gather(*changes)
            await asyncio.sleep(0.05)
            await backbone[0].start()
            await changing
            found = {one.subscription.name: one.subscription for one in await anna.subscriptions()}
            assert {name: (one.is_paused, one.text == NEJDL) for name, one in found.items()} == {
                "two": (True, True),
                "three": (False, False),
                "four": (False, True),
            }

    live(main())


def test_a_super_peer_that_takes_anything(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, lenient=True) as backbone, backbone.peer("anna") as anna:
            await anna.publish([triple for number in range(300) for triple in paper(number)])
            assert len(backbone[0].running.state.log) == 300

    live(main())


def test_subscriptions_are_paused_resumed_renewed_and_expire(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna, backbone.peer("bert") as bert:
            await bert.advertise(["dc"])
            await (await anna.subscribe(NEJDL, "authors")).active()
            await anna.pause("authors")
            await bert.publish(paper(0))
            await anna.resume("authors")
            await wait_for(lambda: backbone[0].running.broker.is_active(anna.id, "authors"))
            await bert.publish(paper(1))
            assert [number_of(one) for one in await take(anna, 1)] == [1]
            await anna.renew("authors", 1000.0)
            (status,) = await anna.subscriptions()
            assert status.subscription.expires_at is not None
            await anna.subscribe("X : t(X, dc:title, T)", "titles", lasts=0.05)
            while len(await anna.subscriptions()) > 1:
                await asyncio.sleep(0.02)
            # It is forgotten here, too, and not asked for again.
            backbone[0].cut()
            await wait_for(lambda: not anna.is_connected)
            assert [one.subscription.name for one in await anna.subscriptions()] == ["authors"]

    live(main())


def test_asking_again_for_the_same_keeps_since_when_it_is_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            first = await anna.subscribe(NEJDL)
            (before,) = await anna.subscriptions()
            again = await anna.subscribe(NEJDL)
            assert again.name == first.name
            assert await anna.subscriptions() == [before]

    live(main())


def test_many_publications_share_signatures_and_keep_their_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna, backbone.peer("bert") as bert:
            await (await anna.subscribe(NEJDL)).active()
            await bert.advertise(["dc"])
            receipt = await bert.publish_many(paper(number) for number in range(40))
            assert len(receipt.ids) == 40
            receipt = await bert.publish([triple for number in range(40, 1500) for triple in paper(number)])
            await receipt.acknowledged()
            log = list(backbone[0].running.state.log)
            assert len({one.draft.proof.signature for one in log[40:]}) < 15
            assert [number_of(one) for one in await take(anna, 1500)] == list(range(1500))
            assert bert.outbox == 0

    live(main())


def test_a_super_peer_that_says_slow_down_gets_everything_in_the_order_of_each_subject(tmp_path: Path) -> None:
    async def main() -> None:
        limits = Limits(publications_per_second=100.0, publications_at_once=10)
        async with running(tmp_path, limits=limits) as backbone, backbone.peer("bert") as bert:
            await bert.advertise(["dc"])
            graphs = [
                [(URIRef(f"http://example.org/{subject}"), DC.title, Literal(str(number))) for subject in range(7)]
                for number in range(12)
            ]
            receipts = [await bert.publish(graph, "updated", wait=False) for graph in graphs]
            for receipt in receipts:
                await receipt.logged()
            log = list(backbone[0].running.state.log)
            for subject in range(7):
                titles = [
                    int(one.description.values[str(DC.title)][0].text)
                    for one in log
                    if one.description.subject.text.endswith(f"/{subject}")
                ]
                assert titles == list(range(12))
            assert len(log) == 7 * 12
            assert backbone[0].asked["Publish"] > 12, "some were refused, and handed in again"

    live(main())


def test_a_file_with_blank_nodes_is_published(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.ttl"
    path.write_text(
        """
        @prefix dc: <http://purl.org/dc/elements/1.1/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
        <http://example.org/1> dc:title "One" ; dc:creator [ foaf:name "W. Nejdl" ; foaf:mbox <mailto:n@example.org> ] .
        <http://example.org/2> dc:title "Two" ; dc:creator "Koubarakis" .
        [] dc:title "Nobody can refer to this" .
        """
    )

    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna, backbone.peer("bert") as bert:
            await (await anna.subscribe(NEJDL)).active()
            advertisement = await bert.advertise_file(path)
            assert advertisement.schemas == {str(DC)}
            receipt = await bert.publish(path)
            assert (len(receipt), receipt.skipped, receipt.problems) == (2, 1, [])
            (notification,) = await take(anna, 1)
            assert (notification.subject, DC.creator, Literal("W. Nejdl")) in notification.triples
            # A graph of rdflib is published like its file.
            graph = Graph().parse(path)
            assert len(await bert.publish(graph, "updated")) == 2
            assert [one.kind for one in await take(anna, 1)] == ["updated"]

    live(main())


def test_one_time_queries(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            async with backbone.peer("bert") as bert:
                await bert.advertise(["dc"])
                await bert.publish([triple for number in range(4) for triple in paper(number)])
                await bert.publish(paper(0), "deleted")
                await bert.publish(paper(1, "Koubarakis"), "updated")
            absent = await anna.query(NEJDL)
            assert (len(absent), absent.absent_peers) == (0, 1)
            # What it holds is on disk.
            async with backbone.peer("bert") as bert:
                await bert.connected()
                result = await anna.query(NEJDL)
                assert result.triples == {*paper(2), *paper(3)}
                assert {answer.owner.public_id for answer in result} == {bert.id}
            async with backbone.peer("bert", answers=lambda query: paper(len(query.heads))) as bert:
                await bert.connected()
                assert (await anna.query(NEJDL)).triples == set(paper(1))

    live(main())


def test_files_come_when_their_owner_is_there(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a paper.txt").write_bytes(b"content")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    base = "http://example.org/files/"

    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            await (await anna.subscribe(NEJDL)).active()
            async with backbone.peer("bert") as bert:
                await bert.advertise(["dc"])
                await bert.offer_directory(base, tmp_path / "files")
                await bert.offer(PAPER, tmp_path / "files" / "a paper.txt")
                await bert.publish(paper(0))
            (notification,) = await take(anna, 1)
            inside = await anna.fetch(base + "a%20paper.txt", notification)
            single = await anna.fetch(PAPER, notification.owner)
            outside = await anna.fetch(base + "..%2Fsecret.txt", notification)
            assert not inside.has_ended
            backbone[0].cut()
            async with backbone.peer("bert") as bert:
                assert await inside.content() == b"content"
                assert await single.content() == b"content"
                with pytest.raises(FetchFailed, match="nothing of that name"):
                    await outside.content()
            assert anna.downloads() == []

    live(main())


def test_a_file_that_was_asked_for_before_a_restart_comes_after_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone:
            async with backbone.peer("anna") as anna, backbone.peer("bert") as bert:
                await bert.advertise(["dc"])
                await bert.publish(paper(0))
                (answer,) = await anna.query(NEJDL)
            async with backbone.peer("anna") as anna:
                await anna.fetch(PAPER, answer)
            async with backbone.peer("bert", files=lambda resource: resource.encode()) as bert:
                await bert.connected()
                await wait_for(lambda: backbone[0].asked["Upload"] == 1)
            async with backbone.peer("anna") as anna:
                (download,) = anna.downloads()
                assert await download.content() == str(PAPER).encode()
            async with backbone.peer("anna") as anna:
                assert anna.downloads() == []

    live(main())


def test_a_peer_migrates_with_all_that_it_has(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, 3) as backbone, backbone.peer("bert", 1) as bert:
            await bert.advertise(["dc"])
            async with backbone.peer("anna", 0) as anna:
                public_id = anna.id
                await (await anna.subscribe(NEJDL, "authors")).active()
                await bert.publish(paper(0))
                assert [number_of(one) for one in await take(anna, 1)] == [0]
                await bert.publish(paper(1))
                await anna.migrate(backbone[2].address)
                await bert.publish(paper(2))
                assert [number_of(one) for one in await take(anna, 2)] == [1, 2]
                assert (anna.id, anna.access_point) == (public_id, backbone[2].address)
                # The publisher moves, too, away from one that is gone.
                await backbone[1].crash()
                await bert.migrate(backbone[0].address)
                await bert.publish(paper(3))
                assert [number_of(one) for one in await take(anna, 1)] == [3]
                with pytest.raises(Unreachable):
                    await anna.migrate(backbone[1].address)
                assert anna.access_point == backbone[2].address
            await bert.publish(paper(4))
            # It knows where it was, whatever it is told.
            async with backbone.peer("anna", 0) as anna:
                assert [number_of(one) for one in await take(anna, 1)] == [4]
                assert anna.access_point == backbone[2].address

    live(main())


def test_a_peer_goes_elsewhere_by_itself_only_if_it_may(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, 2) as backbone:
            options = {"others": [backbone[0].address, backbone[1].address], "gives_up_after_s": 0.1}
            async with (
                backbone.peer("anna", 0, may_migrate=True, **options) as anna,
                backbone.peer("carla", 0, **options) as carla,
                backbone.peer("bert", 1) as bert,
            ):
                await bert.advertise(["dc"])
                await (await anna.subscribe(NEJDL)).active()
                await backbone[0].crash()
                await wait_for(lambda: anna.access_point == backbone[1].address)
                await bert.publish(paper(0))
                assert [number_of(one) for one in await take(anna, 1)] == [0]
                assert carla.access_point == backbone[0].address
                await wait_for(lambda: isinstance(carla.problem, Unreachable))

    live(main())


def test_a_publication_that_two_access_points_have_comes_once(tmp_path: Path) -> None:
    """The first has it in its log and is cut off before it can answer; the second gets it from the outbox."""

    async def main() -> None:
        async with running(tmp_path, 2) as backbone, backbone.peer("anna", 1) as anna:
            await (await anna.subscribe(NEJDL)).active()
            async with backbone.peer("bert", 0) as bert:
                await bert.advertise(["dc"])
                await bert.publish(paper(0))
                backbone[0].swallow = lambda request: isinstance(request, Publish)
                receipt = await bert.publish(paper(1), wait=False)
                await wait_for(lambda: len(backbone[0].running.state.log) == 2)
                await bert.migrate(backbone[1].address)
                await receipt.logged()
                await bert.publish(paper(2))
                assert [number_of(one) for one in await take(anna, 3)] == [0, 1, 2]

    live(main())


def test_a_peer_leaves_for_good(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone:
            async with backbone.peer("anna") as anna:
                await anna.subscribe(NEJDL)
                key = anna.key
                await anna.leave()
                with pytest.raises(PeerClosed):
                    await anna.subscriptions()
            assert len(backbone[0].running.registry) == 0
            async with backbone.peer("anna") as anna:
                assert await anna.subscriptions() == []
                assert anna.key == key

    live(main())
