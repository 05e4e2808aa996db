"""`superpeer subscribe`, `unsubscribe`, `subscriptions` and `listen`: what a peer asks for, and what comes of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.choosing import ContextOption, DirectoryOption, JsonOption, SuperPeerOption, TimeoutOption
from superpeer.cli.input import read_argument
from superpeer.cli.output import complain, count, moment, print_json, print_table
from superpeer.cli.peers import PATIENCE_S, with_peer
from superpeer.cli.showing import Shape, ShapeOption, print_notification

if TYPE_CHECKING:
    from superpeer.client.peer import Peer

QueryArgument = Annotated[
    str, typer.Argument(metavar="QUERY", help="A file with a query, - for standard input, or its text.")
]
FAREWELL_S = 0.1
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a subscription.")]


def subscribe(
    query: QueryArgument,
    name: Annotated[
        str, typer.Option("--name", "-n", metavar="NAME", help="What to call it; else made of the query.")
    ] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="Also what was published since then: 2004-05-10, or 36h ago.")
    ] = "",
    lasts: Annotated[str, typer.Option("--lasts", metavar="DURATION", help="For so long, as 30d; else for ever.")] = "",
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until it is in place in the whole network.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would match, and who could serve it; change nothing.")
    ] = False,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
    as_json: JsonOption = False,
) -> None:
    """Ask for everything that matches a query, from now on. The same again changes nothing.

    \b
    superpeer subscribe 'X : t(X, dc:creator, Y) & Y contains "Nejdl"' --name nejdl
    superpeer subscribe two-authors.qel --since 30d
    superpeer subscribe two-authors.qel --dry-run
    """
    import time

    import qel
    from superpeer.cli.times import read_duration, read_moment
    from superpeer.cli.trying import try_query

    text = read_argument(query)
    qel.require_satisfiable(qel.parse(text))
    if dry_run:
        try_query(text, context=context, super_peer=super_peer, directory=directory, timeout=timeout, as_json=as_json)
        return
    began = read_moment(since, time.time()) if since else None
    lasting = read_duration(lasts) if lasts else None

    async def work(peer: "Peer") -> dict[str, Any]:
        import asyncio

        made = await peer.subscribe(text, name or None, since=began, lasts=lasting)
        is_active = False
        if wait:
            try:
                async with asyncio.timeout(timeout):
                    await made.active()
                    is_active = True
            except TimeoutError:
                complain("it is accepted, and not in place everywhere yet; it will be as soon as the backbone settles")
        return {"name": made.name, "is_active": is_active, "is_servable": made.is_servable}

    found = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout, connects=True)
    if as_json:
        print_json(found)
        return
    print(f"{found['name']}: {'active' if found['is_active'] else 'accepted'}")
    if not found["is_servable"]:
        complain("nobody advertises this yet; it stays, and is served as soon as somebody does")


def unsubscribe(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="The names of subscriptions.")],
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Take subscriptions back.

    superpeer unsubscribe nejdl
    """

    async def work(peer: "Peer") -> None:
        for name in names:
            await peer.unsubscribe(name)
            print(f"{name}: taken back")

    with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout, connects=True)


def subscriptions(
    pause: Annotated[
        list[str] | None, typer.Option("--pause", metavar="NAME", help="Let nothing come of it, and keep it.")
    ] = None,
    resume: Annotated[list[str] | None, typer.Option("--resume", metavar="NAME", help="Let it come again.")] = None,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
    as_json: JsonOption = False,
) -> None:
    """List what the peer asks for, and how that stands.

    \b
    superpeer subscriptions
    superpeer subscriptions --pause nejdl
    """

    async def work(peer: "Peer") -> list[Any]:
        for name in pause or ():
            await peer.pause(name)
        for name in resume or ():
            await peer.resume(name)
        return sorted(await peer.subscriptions(), key=lambda one: str(one.subscription.name))

    found = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout, connects=True)
    if as_json:
        print_json(
            [
                {
                    "name": one.subscription.name,
                    "query": one.subscription.text,
                    "is_active": one.is_active,
                    "is_servable": one.is_servable,
                    "is_paused": one.subscription.is_paused,
                    "accepted_at": one.subscription.accepted_at,
                    "expires_at": one.subscription.expires_at,
                    "since": one.subscription.since,
                }
                for one in found
            ]
        )
        return
    if not found:
        complain("the peer has no subscriptions; `superpeer subscribe` makes one")
        return
    rows = [
        [
            one.subscription.name,
            "paused" if one.subscription.is_paused else "active" if one.is_active else "accepted",
            "yes" if one.is_servable else "no",
            moment(one.subscription.expires_at) if one.subscription.expires_at else "never",
            " ".join(one.subscription.text.split()),
        ]
        for one in found
    ]
    print_table(["name", "state", "served", "expires", "query"], rows)


def listen(
    shape: ShapeOption = Shape.TABLE,
    most: Annotated[int, typer.Option("--count", "-n", metavar="N", min=0, help="End after so many; 0 is never.")] = 0,
    quiet: Annotated[
        str, typer.Option("--until-quiet", metavar="DURATION", help="End when nothing came for so long, as 5s.")
    ] = "",
    peek: Annotated[
        bool, typer.Option("--peek", help="Do not say that they were received: they come again the next time.")
    ] = False,
    super_peer: SuperPeerOption = "",
    directory: DirectoryOption = "",
    context: ContextOption = "",
    timeout: TimeoutOption = PATIENCE_S,
) -> None:
    """Print what comes, each once and in order, until it is interrupted. What comes meanwhile waits.

    With --count, the exit code is 1 if it ended before so many came.

    \b
    superpeer listen
    superpeer listen --format json --until-quiet 5s > new.jsonl
    """
    from superpeer.cli.times import read_duration

    silence = read_duration(quiet) if quiet else None

    async def work(peer: "Peer") -> int:
        import asyncio

        shown = 0
        if not peer.is_connected:
            # It goes on trying; whoever waits should know why nothing comes.
            await _report_trouble(peer)
        async for one in peer.notifications(timeout=silence, acknowledge=False):
            print_notification(one, shape)
            if not peek:
                await one.acknowledge()
            shown += 1
            if shown == most:
                break
        # So that the access point hears of the last ones, too, and need not keep them until the next time.
        await asyncio.sleep(FAREWELL_S)
        return shown

    shown = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout)
    if shape is Shape.TABLE:
        complain(count(shown, "notification"))
    if shown < most:
        raise typer.Exit(1)


async def _report_trouble(peer: "Peer") -> None:
    import asyncio

    from superpeer.net import NetError

    try:
        async with asyncio.timeout(1.0):
            await peer.connected()
    except TimeoutError:
        why = f": {peer.problem}" if peer.problem else ""
        complain(f"{peer.access_point} does not answer yet{why}; waiting for it")
    except NetError as error:
        complain(f"{peer.access_point} does not answer yet: {error}; waiting for it")
