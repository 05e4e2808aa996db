"""`superpeer publish` and `superpeer offer`: what a peer has for others.

What is published is in the peer's outbox, on its own disk, before it is handed in. So an interrupted command loses
nothing: the next one, whatever it is, goes on handing in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.attaching import print_problems
from superpeer.cli.choosing import (
    ContextOption,
    DirectoryOption,
    JsonOption,
    NothingChosen,
    SuperPeerOption,
    TimeoutOption,
)
from superpeer.cli.output import complain, count, print_json
from superpeer.cli.peers import PATIENCE_S, with_peer

if TYPE_CHECKING:
    import qel
    from superpeer.client.peer import Peer

CHUNK = 256


class PublishedKind(StrEnum):
    """What the publications say of their subjects."""

    NEW = "new"
    UPDATED = "updated"
    DELETED = "deleted"


def publish(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="RDF: .ttl .nt .nq .trig .rdf .jsonld, also with .gz."),
    ] = None,
    watch: Annotated[
        Path | None, typer.Option("--watch", "-w", metavar="DIR", help="Go on: publish what appears or changes there.")
    ] = None,
    kind: Annotated[PublishedKind, typer.Option("--kind", "-k", help="What they are to those who know them.")] = (
        PublishedKind.NEW
    ),
    topics: Annotated[
        list[Path] | None,
        typer.Option(help="An RDF file with a hierarchy of topics, for those who ask `within`; may be repeated."),
    ] = None,
    acknowledged: Annotated[
        bool, typer.Option("--acknowledged", help="Wait until every subscriber's access point has all of it.")
    ] = False,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
    as_json: JsonOption = False,
) -> None:
    """Publish what is in files: a notification for each subject. What is published has to be advertised.

    \b
    superpeer publish catalogue.ttl
    superpeer publish catalogue.ttl --topics subjects.ttl
    superpeer publish --watch /var/lib/repository/export
    """
    if not files and watch is None:
        raise NothingChosen("say what to publish: files, or a directory with --watch")
    if watch is not None and not watch.is_dir():
        raise NothingChosen(f"{watch} is no directory that could be watched; check its name")
    _check_files([*(files or []), *map(str, topics or [])])
    known = _read_topics(topics or [])

    async def work(peer: Peer) -> None:
        published = Published(as_json)
        with _progress() as advance:
            for file in files or ():
                await publish_file(peer, Path(file), kind.value, known, published, advance)
        if acknowledged:
            await published.acknowledged(timeout)
        if files:
            published.report(peer)
        if watch is not None:
            from superpeer.cli.watching import publish_what_appears

            await publish_what_appears(peer, watch, known, as_json=as_json)

    try:
        with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout)
    except KeyboardInterrupt:
        complain("interrupted; what is in the outbox is handed in by the next command of this peer")
        raise


class Published:
    """What became of some files."""

    def __init__(self, as_json: bool) -> None:
        self.count = 0
        self.ids: list[str] = []
        self.skipped = 0
        self.problems = 0
        self._as_json = as_json
        self._receipts: list[Any] = []

    def add(self, receipt: Any) -> None:
        self.count += len(receipt)
        self.ids += receipt.ids
        self._receipts.append(receipt)

    async def acknowledged(self, timeout: float) -> None:
        import asyncio

        try:
            async with asyncio.timeout(timeout):
                for receipt in self._receipts:
                    await receipt.acknowledged()
        except TimeoutError:
            complain("not everybody has it yet; the network goes on by itself")

    def report(self, peer: Peer) -> None:
        if self._as_json:
            print_json(
                {
                    "published": self.count,
                    "ids": self.ids,
                    "skipped": self.skipped,
                    "problems": self.problems,
                    "outbox": peer.outbox,
                }
            )
            return
        print(f"published {count(self.count, 'notification')}")
        if self.skipped:
            complain(f"{count(self.skipped, 'anonymous node')} without a name are not published by themselves")


async def publish_file(
    peer: Peer, path: Path, kind: str, topics: qel.Topics, published: Published, advance: Callable[[int, int], None]
) -> None:
    """Publish a file, chunk by chunk; raises what the access point has against it."""
    import asyncio

    from superpeer.client.sources import read_source

    publications, problems = await asyncio.to_thread(read_source, path)
    published.skipped += publications.skipped
    published.problems += len(problems)
    print_problems(str(path), problems)
    known = topics.joined(publications.topics)
    total, described = len(publications), iter(publications)
    while chunk := [one.triples for one in islice(described, CHUNK)]:
        published.add(await peer.publish_many(chunk, kind, topics=known))
        advance(len(chunk), total)


def offer(
    resource: Annotated[
        str, typer.Argument(metavar="IRI", help="What others ask for; for a directory, how all begin.")
    ],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file, or the directory.")],
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Do not have it for others any more.")] = False,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Have a file, or all files of a directory, for those who fetch them. It is uploaded whenever the peer is online.

    \b
    superpeer offer http://hannover.example.org/papers/esws04.pdf esws04.pdf
    superpeer offer http://hannover.example.org/papers/ papers/
    """

    async def work(peer: Peer) -> None:
        if withdraw:
            await peer.withhold(resource)
        elif path.is_dir():
            await peer.offer_directory(resource, path)
        else:
            await peer.offer(resource, path)

    with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout)
    print(f"{resource} is {'not offered any more' if withdraw else 'offered'}")


def _read_topics(files: list[Path]) -> qel.Topics:
    import qel
    from superpeer.rdf import Problem, read

    problems: list[Problem] = []
    known = qel.Topics(triple for path in files for triple in read(path, problems.append))
    print_problems("topics", problems)
    return known


def _check_files(files: list[str]) -> None:
    """Before anything is published of the others."""
    from superpeer.rdf import UnreadableFile, format_of

    for file in files:
        path = Path(file)
        if not path.is_file():
            raise UnreadableFile(path, "there is no such file")
        format_of(path)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal, if there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("publishing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("publishing", total=None)

        def advance(by: int, total: int) -> None:
            progress.update(task, advance=by, total=total)

        yield advance
