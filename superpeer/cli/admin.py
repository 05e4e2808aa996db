"""`superpeer status`, `indices`, `peers`, `queues`, `explain`, `shutdown`: what a super-peer shows its admins."""

from typing import Annotated, Any

import typer

from superpeer.cli.asking_admins import ask
from superpeer.cli.choosing import AdminKeyOption, AdminSocketOption, ContextOption, JsonOption, SuperPeerOption
from superpeer.cli.output import complain, count, moment, print_json, print_table, printable

LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="Show at most so many.")]
MatchOption = Annotated[str, typer.Option("--match", "-m", metavar="TEXT", help="Only those that contain this.")]


def status(
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show who a super-peer is, how it is, and how much of everything it has.

    \b
    superpeer status --admin-socket /var/lib/superpeer
    superpeer status --super-peer 127.0.0.1:7400#spk-... --admin-key admin.key
    """
    from superpeer.daemon.admin_messages import ShowStatus

    found = ask(ShowStatus(), context=context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key)
    if as_json:
        print_json(found)
        return
    counts, refusals = found.pop("counts"), found.pop("refusals")
    found["admitted_until"] = moment(found["admitted_until"])
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<18}{_shown(value)}")
    for title, table in (("counts", counts), ("refusals", refusals)):
        if table:
            print_table([title, ""], sorted(table.items()))


def indices(
    match: MatchOption = "",
    limit: LimitOption = 200,
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show what is advertised: by the peers here, beyond each link, and what others are told.

    superpeer indices --match dc/elements
    """
    from superpeer.daemon.admin_messages import ShowIndices

    found = ask(
        ShowIndices(match, limit),
        context=context,
        super_peer=super_peer,
        admin_socket=admin_socket,
        admin_key=admin_key,
    )
    if as_json:
        print_json(found)
        return
    _print_index("advertised here", found["local"])
    for one in found["beyond"]:
        _print_index(f"beyond {_link(one['link'])}", one)
    for one in found["told"]:
        _print_index(f"told to {_link(one['link'])}", one)


def peers(
    match: MatchOption = "",
    limit: LimitOption = 200,
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the peers of a super-peer.

    superpeer peers
    """
    from superpeer.daemon.admin_messages import ShowPeers

    found = ask(
        ShowPeers(match, limit), context=context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key
    )
    if as_json:
        print_json(found)
        return
    rows = [
        [
            one["peer"],
            one["from"] if one["is_connected"] else "offline",
            len(one["subscriptions"]),
            one["elements"],
            one["queued"],
            one["last_serial"],
            "moving away" if one["is_handing_over"] else "",
        ]
        for one in found["peers"]
    ]
    print_table(["peer", "from", "subscriptions", "advertised", "waiting", "published", ""], rows)
    _print_end(len(rows), found["total"], "peer", found["is_cut"])


def queues(
    limit: LimitOption = 200,
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show what waits, the longest queues first: for peers, for other super-peers, for the disk.

    superpeer queues
    """
    from superpeer.daemon.admin_messages import ShowQueues

    found = ask(
        ShowQueues(limit), context=context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key
    )
    if as_json:
        print_json(found)
        return
    rows = [
        [
            one["peer"],
            "connected" if one["is_connected"] else "offline",
            one["entries"],
            one["bytes"],
            moment(one["oldest_at"]) if one["oldest_at"] else "",
            one["lost"],
        ]
        for one in found["peers"]
    ]
    if rows:
        print_table(["peer", "", "waiting", "bytes", "oldest", "expired"], rows)
    if found["super_peers"]:
        print_table(
            ["super-peer", "not acknowledged"], [[one["id"], one["unacknowledged"]] for one in found["super_peers"]]
        )
    print(f"{count(found['records_waiting'], 'record')} for the disk; ", end="")
    print(f"{count(found['unacknowledged_publications'], 'publication')} that the network has not acknowledged")
    if found["is_cut"]:
        complain(f"only the {len(rows):,} longest queues are shown; --limit shows more")


def explain(
    what: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a notification; or of a peer, with --subscription.")
    ],
    subscription: Annotated[
        str, typer.Option("--subscription", "-s", metavar="NAME", help="Explain where this one of the peer went.")
    ] = "",
    peer: Annotated[
        str, typer.Option("--peer", "-p", metavar="PEER", help="Say why this peer did or did not get it.")
    ] = "",
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Explain which way a notification took, or where a subscription went and what hides it.

    With --peer, the exit code is 1 if the notification did not reach it.

    \b
    superpeer explain NOTIFICATION --peer PEER
    superpeer explain PEER --subscription nejdl
    """
    from superpeer.daemon.admin_messages import AdminRequest, ExplainNotification, ExplainSubscription

    request: AdminRequest = ExplainSubscription(what, subscription) if subscription else ExplainNotification(what, peer)
    found = ask(request, context=context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key)
    if as_json:
        print_json(found)
    elif subscription:
        _print_subscription(found)
    else:
        _print_way(found)
    if peer and not subscription and not found["reached"]:
        raise typer.Exit(1)


def shutdown(
    sure: Annotated[bool, typer.Option("--sure", help="Do not ask.")] = False,
    context: ContextOption = "",
    admin_socket: AdminSocketOption = "",
    super_peer: SuperPeerOption = "",
    admin_key: AdminKeyOption = "",
) -> None:
    """Tell a super-peer to leave the backbone in peace and to end. Its peers can go elsewhere, or wait for it.

    superpeer shutdown --sure
    """
    import sys

    from superpeer.cli.choosing import NothingChosen
    from superpeer.daemon.admin_messages import Shutdown

    if not sure:
        if not sys.stdin.isatty():
            raise NothingChosen("there is no terminal to ask whether it is meant; say --sure")
        typer.confirm("Let the super-peer end?", abort=True)
    ask(Shutdown(), context=context, super_peer=super_peer, admin_socket=admin_socket, admin_key=admin_key)
    print("the super-peer leaves")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _link(name: str) -> str:
    """A link as reports have it: its dimension, and the neighbour's id."""
    dimension, _, neighbour = name.partition(" ")
    return f"dimension {dimension}, {neighbour}"


def _print_index(title: str, index: dict[str, Any]) -> None:
    elements = index["elements"]
    print(f"{title}: {count(index['count'], 'element')}")
    supporters = index.get("supporters", {})
    if elements:
        for one in elements:
            print(f"  {printable(one)}{_supported(supporters.get(one, []))}")
    if index["is_cut"]:
        print("   … more; --limit shows them")


def _supported(by: list[str]) -> str:
    return f"  by {by[0]}" if len(by) == 1 else f"  by {len(by)} peers" if by else ""


def _print_end(shown: int, total: int, noun: str, is_cut: bool) -> None:
    complain(count(total, noun) + (f", of which {shown:,} are shown; --limit shows more" if is_cut else ""))


def _print_subscription(found: dict[str, Any]) -> None:
    state = "paused" if found["is_paused"] else "active" if found["is_active"] else "accepted, not in place everywhere"
    print(f"{found['name']} of {found['peer']}: {state}")
    print(f"  {' '.join(found['text'].split())}")
    for one in found["covered_by"]:
        print(f"  covered here by  {one}")
    for one in found["local_publishers"]:
        print(f"  could be served here by  {one}")
    rows = []
    for one in found["links"]:
        fate = "asked there" if one["is_forwarded"] else "not advertised there" if not one["is_covered"] else "hidden"
        why = one["hidden_by"] or ", ".join(one["elements"][:3])
        rows.append([_link(one["link"]), fate, why])
    if rows:
        print_table(["link", "", "because of"], rows)


def _print_way(found: dict[str, Any]) -> None:
    one = found["publication"]
    print(f"{one['id']}: {one['kind']}, {one['subject']}")
    state = "every subscriber's access point has it" if found["is_acknowledged"] else "not acknowledged by everybody"
    print(f"  published {moment(one['published_at'])} at {one['origin']}, number {one['place'][1]} of its log; {state}")
    rows = []
    for hop in found["hops"]:
        for step in hop["steps"]:
            came = step["came_from"]
            rows.append(
                [
                    hop["super_peer"],
                    came if came == "a local peer" else _link(came),
                    "; ".join(map(_link, step["sent_to"])) or "nobody",
                    ", ".join(step["matched"]) or "nobody",
                ]
            )
    print_table(["at", "came from", "sent to", "matched here"], rows)
    for silent in found["silent"]:
        complain(f"{silent} did not answer")
    if found["reason"]:
        print(f"{'It reached the peer' if found['reached'] else 'It did not reach the peer'}: {found['reason']}")
