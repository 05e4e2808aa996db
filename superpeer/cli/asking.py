"""`superpeer query` and `superpeer fetch`: what others hold now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.choosing import ContextOption, DirectoryOption, NothingChosen, SuperPeerOption, TimeoutOption
from superpeer.cli.input import read_argument
from superpeer.cli.output import complain, count
from superpeer.cli.peers import PATIENCE_S, with_peer
from superpeer.cli.showing import Shape, ShapeOption, print_answer

if TYPE_CHECKING:
    from superpeer.client.downloads import Download, Owner
    from superpeer.client.peer import Peer
    from superpeer.client.queries import QueryResult

PAUSE_S = 0.05


def query(
    text: Annotated[
        str, typer.Argument(metavar="QUERY", help="A file with a query, - for standard input, or its text.")
    ],
    shape: ShapeOption = Shape.TABLE,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=0.1, max=600.0, help="How long others may take to answer.")
    ] = 10.0,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Ask once what others hold now. The exit code is 1 if there is nothing.

    superpeer query 'X : t(X, dc:creator, Y) & Y contains "Nejdl"'
    """
    import qel

    written = read_argument(text)
    qel.require_satisfiable(qel.parse(written))

    async def work(peer: Peer) -> QueryResult:
        return await peer.query(written, seconds)

    found = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout, connects=True)
    for answer in found:
        print_answer(answer, shape)
    owners = len({answer.owner for answer in found})
    complain(f"{count(len(found), 'answer')} from {count(owners, 'peer')}")
    if found.absent_peers:
        complain(f"of those who could have more, {count(found.absent_peers, 'peer')} did not answer or went offline")
    if found.silent:
        complain(f"{count(len(found.silent), 'super-peer')} did not answer in time")
    if found.is_cut:
        complain("there were more answers than a limit allows; ask more specially")
    if not len(found):
        raise typer.Exit(1)


def fetch(
    resource: Annotated[str, typer.Argument(metavar="IRI", help="The resource that is wanted.")] = "",
    owner: Annotated[
        str, typer.Option("--owner", metavar="PEER@KEY", help="Who has it, as `listen` and `query` print it.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; else standard output.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0.0, help="How long to wait for an owner that is offline.")
    ] = 10.0,
    list_them: Annotated[bool, typer.Option("--list", help="List what is on its way.")] = False,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Get a resource from the peer that has it: a rendezvous, if that is offline. Without an owner, go on waiting.

    The exit code is 1 if it has not come yet: it stays ordered, and the same command without --owner takes it later.

    \b
    superpeer fetch http://example.org/paper.pdf --owner PEER@spk-... --output paper.pdf
    superpeer fetch --list
    superpeer fetch http://example.org/paper.pdf --output paper.pdf
    """
    if not (resource or list_them):
        raise NothingChosen("say which resource is wanted, or --list to see what is on its way")
    whose = _owner(owner) if owner else None

    async def work(peer: Peer) -> bool:
        import asyncio

        if list_them:
            for one in peer.downloads():
                print(
                    one.resource,
                    "" if one.kept.is_open else "(has come)" if one.kept.content is not None else "(failed)",
                )
            return True
        download = await _ordered(peer, resource, whose)
        try:
            async with asyncio.timeout(wait):
                while not download.has_ended:
                    await asyncio.sleep(PAUSE_S)
        except TimeoutError:
            return False
        if download.kept.content is not None:
            _write(download.kept.content, output)
        await download.content()  # From now on the peer does not keep it any more.
        return True

    has_come = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout)
    if not has_come:
        complain(f"{resource} has not come yet; it stays ordered, and `superpeer fetch {resource}` takes it later")
        raise typer.Exit(1)


async def _ordered(peer: Peer, resource: str, owner: Owner | None) -> Download:
    """The one on its way, or a new one."""
    before = [one for one in peer.downloads() if one.resource == resource]
    if owner is not None:
        same = [one for one in before if (one.kept.owner, one.kept.owner_at) == owner and not one.kept.failure]
        return same[0] if same else await peer.fetch(resource, owner)
    if not before:
        raise NothingChosen(f"{resource} is not on its way; name its --owner, as `listen` or `query` printed it")
    return before[0]


def _owner(text: str) -> Any:
    from auth import PublicKey
    from superpeer.client.downloads import Owner

    public_id, at, key = text.rpartition("@")
    if not (at and public_id):
        raise NothingChosen(f"{text!r} names no owner; write PEER@KEY, as `listen` and `query` print it")
    return Owner(public_id, PublicKey.parse(key).raw)


def _write(content: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise NothingChosen(f"{output} cannot be written: {error.strerror}; name another file") from error
    complain(f"{len(content):,} bytes are in {output}")
