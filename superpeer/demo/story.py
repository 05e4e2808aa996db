"""The chapter's story: a reader follows two authors, and libraries in Hannover and Crete publish."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rdflib import DC, RDF, Literal, URIRef

import qel
from qel import PREFIXES
from superpeer.cli.poset import print_tree
from superpeer.client.notifications import Notification
from superpeer.client.peer import Peer
from superpeer.client.sources import read_source
from superpeer.daemon.admin_messages import ExplainNotification, ExplainSubscription, ShowPoset
from superpeer.demo.backbone import Backbone, DemoFailed
from superpeer.demo.stage import Stage
from superpeer.net import Backoff
from superpeer.rdf.publishing import Publications

CATALOGUES = Path(__file__).parent / "catalogues"
TWO_AUTHORS = """X : t(X, rdf:type, dc:article) & t(X, dc:creator, Y) & t(X, dc:date, D)
    & (Y contains "Nejdl" | Y contains "Koubarakis") & D = 2004"""
SINCE_MAY = """X : t(X, rdf:type, dc:article) & t(X, dc:creator, Y) & t(X, dc:date, D)
    & Y contains "Nejdl" & D >= 2004-05-01 & D < 2005-01-01 & D = 2004"""
ARTICLES = "X : t(X, rdf:type, dc:article) & t(X, dc:title, T)"
THIS_CENTURY = "X : t(X, rdf:type, dc:article) & t(X, dc:date, D) & D >= 2000"
PAPER = "http://crete.example.org/papers/sigir04.pdf"
PATIENCE_S, QUIET_S = 40.0, 0.4
MANY = 150


class Story:
    """The peers of the story, and what happens to them."""

    def __init__(self, stage: Stage, backbone: Backbone, directory: Path) -> None:
        self.stage = stage
        self.backbone = backbone
        self.directory = directory
        self.peers: dict[str, Peer] = {}
        self.inboxes: dict[str, list[Notification]] = {}
        self.read: dict[str, Notification] = {}
        self.places = {
            "hannover": 0,
            "crete": 1,
            "athens": 1,
            "reader": len(backbone) - 1,
            "colleague": len(backbone) - 1,
        }
        self._collecting: dict[str, asyncio.Task[None]] = {}

    async def tell(self) -> None:
        for scene in (
            self.advertise,
            self.subscribe,
            self.publish,
            self.cover,
            self.go_offline,
            self.meet,
            self.migrate,
            self.kill,
            self.ask_once,
            self.show_poset,
        ):
            await scene()

    # The scenes.

    async def advertise(self) -> None:
        with self.stage.scene("Libraries attach to super-peers, and advertise what they will publish"):
            await asyncio.gather(*(self.come(name) for name in self.places))
            for name in ("hannover", "crete", "athens"):
                said = await self.peers[name].advertise_file(CATALOGUES / f"{name}.ttl", ["schemas"])
                self.stage.say(f"{name}, at sp{self.places[name]}, advertises {' and '.join(sorted(said.schemas))}")
            query = qel.parse(TWO_AUTHORS)
            for name, expected in (("hannover", True), ("athens", False)):
                said = qel.Advertisement(schemas=_schemas(name))
                covers = qel.covers(said, query)
                word = "covers" if covers else "does not cover"
                self.stage.check(covers is expected, f"what {name} advertises {word} a subscription to two authors")

    async def subscribe(self) -> None:
        with self.stage.scene("A reader follows two authors"):
            self.stage.say(" ".join(TWO_AUTHORS.split()))
            before = await self.backbone.quiet()
            made = await self.peers["reader"].subscribe(TWO_AUTHORS, "two authors")
            await self.within(made.active())
            sent = await self.backbone.messages() - before
            self.stage.check(made.is_servable, "somebody advertises what the reader asks for")
            self.stage.check(sent > 0, f"the subscription is in place in the whole network, after {sent} messages")
            places = await self.places_of_poset()
            self.stage.say(f"{sum(1 for count in places if count)} of {len(places)} super-peers had to hear of it")

    async def publish(self) -> None:
        with self.stage.scene(
            "Hannover, Crete and Athens publish; the reader hears of what matches, and of nothing else"
        ):
            expected = set()
            for name in ("hannover", "crete", "athens"):
                receipt = await self.peers[name].publish(CATALOGUES / f"{name}.ttl")
                expected |= self.matching(name, TWO_AUTHORS)
                self.stage.say(f"{name} publishes {len(receipt)} descriptions")
            got = await self.receive("reader", len(expected))
            for one in got:
                self.stage.say(f"the reader is told of {one.subject}")
            self.stage.check({str(one.subject) for one in got} == expected, f"these are the {len(expected)} that match")
            way = await self.backbone[self.places["hannover"]].ask(
                ExplainNotification(got[0].id, self.peers["reader"].id)
            )
            hops = len(way["hops"])
            self.stage.check(
                bool(way["reached"]), f"a super-peer explains the way of the first one, over {hops} super-peers"
            )

    async def cover(self) -> None:
        with self.stage.scene("Covering: a more special subscription does not travel"):
            colleague = self.peers["colleague"]
            before = await self.backbone.quiet()
            await self.within((await colleague.subscribe(SINCE_MAY, "Nejdl since May")).active())
            after = await self.backbone.messages()
            self.stage.say(f"a colleague at the same super-peer asks for less: messages before {before}, after {after}")
            self.stage.check(after == before, "not one message went between super-peers")
            told = await self.backbone[self.places["colleague"]].ask(
                ExplainSubscription(colleague.id, "Nejdl since May")
            )
            hidden = [link for link in told["links"] if link["hidden_by"]]
            self.stage.check(
                bool(hidden) and not any(link["is_forwarded"] for link in told["links"]),
                f"it is hidden by the reader's subscription on {len(hidden)} of {len(told['links'])} links",
            )
            subject = await self.announce("hannover", "cover", ["Wolfgang Nejdl"], "2004-06-01")
            for name in ("reader", "colleague"):
                got = await self.receive(name, 1)
                self.stage.check(str(got[0].subject) == subject, f"what is published now reaches the {name}")

    async def go_offline(self) -> None:
        with self.stage.scene("The reader goes offline, and comes back"):
            await self.go("reader")
            subjects = [await self.announce("crete", f"offline-{i}", ["Manolis Koubarakis"], "2004") for i in range(3)]
            self.stage.say("meanwhile, Crete publishes three articles")
            await self.come("reader")
            got = await self.receive("reader", 3)
            self.stage.check(
                [str(one.subject) for one in got] == subjects, "the three were waiting, in order, each once"
            )
            await self.receive("colleague", 0)

    async def meet(self) -> None:
        with self.stage.scene("Rendezvous: the reader wants a paper whose owner is offline"):
            content = b"%PDF-1.4 a paper about filtering algorithms\n" * 1000
            file = self.directory / "sigir04.pdf"
            file.write_bytes(content)
            await self.peers["crete"].offer(PAPER, file)
            owner = self.read["http://crete.example.org/publications/sigir04"].owner
            await self.go("crete")
            download = await self.peers["reader"].fetch(PAPER, owner)
            await asyncio.sleep(QUIET_S)
            self.stage.check(not download.has_ended, "Crete is offline, and the wish is kept for it")
            await self.come("crete")
            got = await self.within(download.content())
            self.stage.check(got == content, f"Crete comes back, and the reader has the paper, {len(got):,} bytes")

    async def migrate(self) -> None:
        with self.stage.scene("Migration: the reader moves to another super-peer"):
            await self.go("reader")
            before = await self.announce("hannover", "before-moving", ["Wolfgang Nejdl"], "2004")
            await self.come("reader", collects=False)
            target = len(self.backbone) // 2
            old = self.places["reader"]
            await self.within(self.peers["reader"].migrate(self.backbone[target].contact))
            self.places["reader"] = target
            after = await self.announce("hannover", "after-moving", ["Wolfgang Nejdl"], "2004")
            self.collect("reader")
            got = await self.receive("reader", 2)
            self.stage.check(
                [str(one.subject) for one in got] == [before, after],
                f"what waited at sp{old} and what came later is with the reader at sp{target}, each once",
            )

    async def kill(self) -> None:
        with self.stage.scene("kill -9: a super-peer dies in the middle"):
            victim = self.backbone[self.places["reader"]]
            publishing = asyncio.create_task(self.publish_many())
            await self.until(lambda: len(self.inboxes["reader"]) >= MANY // 10, "the first ones arrive")
            victim.kill()
            arrived = len(self.inboxes["reader"])
            self.stage.say(f"{victim.name}, the reader's, is killed when {arrived} of {MANY} articles have arrived")
            subjects = await self.within(publishing)
            self.stage.say(f"Hannover goes on, and has published all {len(subjects)}")
            victim.launch(self.backbone[0].contact)
            await victim.serving()
            got = await self.receive("reader", MANY)
            names = [str(one.subject) for one in got]
            self.stage.check(len(set(names)) == len(names) == MANY, "all of them are there, each once")
            self.stage.check(names == subjects, "and in the order in which they were published")
            self.stage.check(len(await self.backbone.agreed()) == len(self.backbone), "the backbone is whole again")

    async def ask_once(self) -> None:
        with self.stage.scene("A one-time query asks what everybody holds now"):
            found = await self.peers["reader"].query(ARTICLES, 5.0)
            owners = {one.owner.public_id for one in found}
            expected = self.matching("crete", ARTICLES) | self.matching("hannover", ARTICLES)
            held = {str(one.subject) for one in found}
            self.stage.check(expected <= held, f"{len(found)} articles, among them all of both catalogues")
            self.stage.check(len(owners) == 2, "from two libraries, and none from the museum")

    async def show_poset(self) -> None:
        with self.stage.scene("What an admin sees: the poset of a super-peer"):
            place = self.places["colleague"]
            await self.within((await self.peers["colleague"].subscribe(THIS_CENTURY, "this century")).active())
            found = await self.backbone[place].ask(ShowPoset())
            print_tree(found)
            hidden = [row for row in found["places"] if row["hidden_by"]]
            self.stage.check(
                bool(hidden) and not any(row["forwarded_to"] for row in hidden),
                "the most general one is asked for elsewhere, and what it covers is not asked for any more",
            )

    # The peers.

    async def come(self, name: str, *, collects: bool = True) -> None:
        """A peer goes online, as a new one the first time."""
        contact = None if name in self.peers else self.backbone[self.places[name]].contact
        peer = Peer.open(self.directory / name, contact, patience_s=PATIENCE_S, backoff=Backoff(0.1, 0.5))
        self.peers[name] = await peer.__aenter__()
        await self.within(peer.connected())
        if collects:
            self.collect(name)

    async def go(self, name: str) -> None:
        """A peer goes offline."""
        await self.stop_collecting(name)
        await self.peers[name].close()

    def collect(self, name: str) -> None:
        inbox = self.inboxes.setdefault(name, [])

        async def collect() -> None:
            async for one in self.peers[name].notifications():
                inbox.append(one)

        self._collecting[name] = asyncio.create_task(collect())

    async def stop_collecting(self, name: str) -> None:
        task = self._collecting.pop(name, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        for name, peer in self.peers.items():
            await self.stop_collecting(name)
            await peer.close()

    # What they do.

    def matching(self, name: str, query: str) -> set[str]:
        """What a catalogue has for a query, by the definition."""
        parsed = qel.parse(query)
        return {str(one.subject.value) for one in _catalogue(name) if qel.matches(parsed, one.triples)}

    async def announce(self, name: str, title: str, creators: list[str], date: str) -> str:
        subject = f"http://{name}.example.org/new/{title}"
        await self.peers[name].publish(_article(subject, creators, date))
        return subject

    async def publish_many(self) -> list[str]:
        subjects = [f"http://hannover.example.org/series/{number}" for number in range(MANY)]
        for subject in subjects:
            await self.peers["hannover"].publish(_article(subject, ["Wolfgang Nejdl"], "2004"))
        return subjects

    async def receive(self, name: str, count: int) -> list[Notification]:
        """What has come since the last time: just so many, and no more in a little while."""
        inbox = self.inboxes[name]
        await self.until(lambda: len(inbox) >= count, f"{count} notifications for the {name}")
        await asyncio.sleep(QUIET_S)
        got = list(inbox)
        if count and len(got) != count:
            raise DemoFailed(f"the {name} got {len(got)} notifications, not {count}")
        inbox.clear()
        self.read.update((str(one.subject), one) for one in got)
        return got

    async def until(self, is_so: Callable[[], bool], what: str) -> None:
        ends = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > ends:
                raise DemoFailed(f"waited in vain for {PATIENCE_S:g} seconds: {what}")
            await asyncio.sleep(0.02)

    async def within(self, work: Any) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    async def places_of_poset(self) -> list[int]:
        return [report["places_in_poset"] for report in await self.backbone.reports()]


@asynccontextmanager
async def told(stage: Stage, backbone: Backbone, directory: Path) -> AsyncIterator[Story]:
    """The story, whose peers go offline at the end, however it ends."""
    story = Story(stage, backbone, directory)
    try:
        yield story
    finally:
        await story.close()


def _article(subject: str, creators: list[str], date: str) -> list[Any]:
    about = URIRef(subject)
    return [
        (about, RDF.type, URIRef(PREFIXES["dc"] + "article")),
        (about, DC.title, Literal(subject.rpartition("/")[2])),
        *((about, DC.creator, Literal(creator)) for creator in creators),
        (about, DC.date, Literal(date)),
    ]


def _catalogue(name: str) -> Publications:
    return read_source(CATALOGUES / f"{name}.ttl")[0]


def _schemas(name: str) -> list[str]:
    from superpeer.rdf.publishing import advertisement_of_catalogue

    triples = [triple for one in _catalogue(name) for triple in one.triples]
    return sorted(advertisement_of_catalogue(triples, ["schemas"]).schemas)
