"""`superpeer register`, `advertise`, `migrate`, `leave`: where a peer is, and what it says that it will publish."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.choosing import ContextOption, DirectoryOption, JsonOption, SuperPeerOption, TimeoutOption
from superpeer.cli.contexts import read_contexts, write_contexts
from superpeer.cli.output import print_json
from superpeer.cli.peers import PATIENCE_S, with_peer

SHOWN_PROBLEMS = 3

if TYPE_CHECKING:
    import qel
    from superpeer.client.peer import Peer


def register(
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
    as_json: JsonOption = False,
) -> None:
    """Attach a peer to a super-peer: a key is made if there is none, and an identity granted. Again is harmless.

    \b
    superpeer register --super-peer 127.0.0.1:7400#spk-...
    superpeer register --context anna
    """

    async def work(peer: "Peer") -> dict[str, str]:
        return {
            "id": peer.id,
            "key": str(peer.key),
            "access_point": peer.access_point,
            "directory": str(peer.directory),
        }

    found = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout, connects=True)
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<14}{value}")


def advertise(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="Catalogues; what they have is advertised.")
    ] = None,
    schema: Annotated[
        list[str] | None, typer.Option("--schema", "-s", metavar="IRI", help="A whole schema, as dc or an IRI.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", "-p", metavar="IRI", help="A property or a class, as dc:creator.")
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            "-v",
            metavar="IRI=VALUE",
            help="A property with a value: a text, <a URI>, a number, or a range as 2000..2010, either end open.",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option("--level", metavar="LEVEL", help="For catalogues: schemas, properties or values; by default all."),
    ] = None,
    written: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="JSON",
            help="An advertisement as --json prints it, or `superpeer catalog profile` writes it.",
        ),
    ] = None,
    nothing: Annotated[bool, typer.Option("--nothing", help="Take back what was advertised.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be advertised, and do not.")] = False,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
    as_json: JsonOption = False,
) -> None:
    """Say what will be published, in place of what was said before. Subscriptions come only to those who do.

    \b
    superpeer advertise --schema dc
    superpeer advertise --property dc:creator --value dc:date=2000..2010
    superpeer advertise --level schemas catalogue.ttl
    superpeer advertise --from profile/advertisement.json
    """
    from superpeer.advertising import load_advertisement
    from superpeer.cli.choosing import NothingChosen

    if not (files or schema or properties or value or written or nothing):
        raise NothingChosen(
            "say what is advertised: files, --schema, --property, --value or --from; or --nothing at all"
        )
    said = _advertisement(files or [], schema or [], properties or [], value or [], level or [])
    for path in written or ():
        said |= load_advertisement(path)

    async def work(peer: "Peer") -> None:
        await peer.advertise(said.schemas, said.properties, said.values)

    if not dry_run:
        with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout, connects=True)
    _print_advertisement(said, as_json, dry_run)


def migrate(
    target: Annotated[str, typer.Argument(metavar="HOST:PORT#KEY", help="The super-peer to go to.")],
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Go to another access point with everything: identity, subscriptions, and what waits. The old one may be down.

    superpeer migrate sp2.example.org:7400#spk-...
    """

    async def work(peer: "Peer") -> tuple[str, str]:
        before = peer.access_point
        await peer.migrate(target)
        return before, peer.access_point

    before, after = with_peer(work, context=context, directory=directory, timeout=timeout)
    contexts = read_contexts()
    name = context or contexts.current
    if name and not directory and contexts.get(name).super_peer:
        write_contexts(contexts.with_context(name, replace(contexts.get(name), super_peer=after), use=False))
    print(f"the peer has moved from {before} to {after}")


def leave(
    sure: Annotated[bool, typer.Option("--sure", help="Needed, as it cannot be undone.")] = False,
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Leave the network for good: registration, subscriptions, outbox and what waits are gone. The key stays.

    superpeer leave --sure
    """
    from superpeer.cli.choosing import NothingChosen

    if not sure:
        raise NothingChosen("leaving cannot be undone: what waits for the peer is gone; say --sure if you are")

    async def work(peer: "Peer") -> str:
        where = peer.access_point
        await peer.leave()
        return where

    print(f"the peer has left {with_peer(work, context=context, directory=directory, timeout=timeout)}")


def _advertisement(
    files: list[str], schemas: list[str], properties: list[str], values: list[str], levels: list[str]
) -> "qel.Advertisement":
    import qel
    from superpeer.advertising import read_value

    merged: dict[str, list[Any]] = {}
    for text in values:
        name, equals, written = text.partition("=")
        if not (equals and name and written):
            raise qel.QelError(f"{text!r} is no value; write PROPERTY=VALUE, as in dc:date=2000..2010")
        merged.setdefault(name, []).append(read_value(written))
    said = qel.Advertisement(schemas, properties, merged)
    if files:
        said |= _of_catalogues(files, levels)
    return said


def _of_catalogues(files: list[str], levels: list[str]) -> "qel.Advertisement":
    import qel
    from superpeer.cli.choosing import NothingChosen
    from superpeer.client.sources import triples_in
    from superpeer.rdf.publishing import LEVELS, advertisement_of_catalogue

    unknown = [level for level in levels if level not in LEVELS]
    if unknown:
        raise NothingChosen(f"there is no level {unknown[0]!r}; levels are {', '.join(LEVELS)}")
    said = qel.Advertisement()
    for file in files:
        triples, problems = triples_in(Path(file))
        said |= advertisement_of_catalogue(triples, levels or LEVELS)
        print_problems(file, problems)
    return said


def print_problems(file: str, problems: Sequence[object]) -> None:
    """What could not be read of a file, shortly."""
    from superpeer.cli.output import complain

    for problem in problems[:SHOWN_PROBLEMS]:
        complain(f"{problem}" if file in str(problem) else f"{file}: {problem}")
    if len(problems) > SHOWN_PROBLEMS:
        complain(f"{file}: {len(problems) - SHOWN_PROBLEMS:,} more such problems are not shown")


def _print_advertisement(said: "qel.Advertisement", as_json: bool, dry_run: bool) -> None:
    from msgspec import to_builtins

    from qel.names import write_iri
    from superpeer.advertising import write_advertisement

    written = write_advertisement(said)
    if as_json:
        print_json(to_builtins(written))
        return
    print("would be advertised:" if dry_run else "advertised:")
    for schema in written.schemas:
        print(f"  schema    {schema}")
    for name in written.properties:
        print(f"  property  {write_iri(name)}")
    for name, some in written.values.items():
        print(f"  values    {write_iri(name)}: {', '.join(some[:10])}{' …' if len(some) > 10 else ''}")
    if not (written.schemas or written.properties or written.values):
        print("  nothing")
