"""`superpeer subscribe --dry-run`: what a query would have matched, and who could serve it.

An admin's context asks the super-peer, which looks through its log and its indices. A peer cannot see these; it asks
the peers that could serve the query what they hold now, which is a one-time query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from superpeer.cli.choosing import choose
from superpeer.cli.output import count, moment, print_json, print_table
from superpeer.cli.peers import with_peer

if TYPE_CHECKING:
    from superpeer.client.peer import Peer
    from superpeer.client.queries import QueryResult

SHOWN = 10


def try_query(text: str, *, context: str, super_peer: str, directory: str, timeout: float, as_json: bool) -> None:
    chosen = choose(context, super_peer=super_peer, directory=directory)
    if chosen.context.admin_socket or chosen.context.admin_key:
        _ask_super_peer(text, context, as_json)
        return

    async def work(peer: Peer) -> QueryResult:
        return await peer.query(text, min(timeout, 10.0))

    found = with_peer(work, context=context, super_peer=super_peer, directory=directory, timeout=timeout)
    owners = sorted({one.owner.public_id for one in found})
    if as_json:
        print_json(
            {
                "matched": len(found),
                "matches": [str(one.subject) for one in found],
                "publishers": owners,
                "absent_peers": found.absent_peers,
                "silent_super_peers": [str(key) for key in found.silent],
                "is_cut": found.is_cut,
            }
        )
        return
    print(f"It would match {count(len(found), 'resource')} that {count(len(owners), 'peer')} hold now.")
    for one in found.answers[:SHOWN]:
        print(f"  {one.subject}")
    if len(found) > SHOWN:
        print(f"  … {len(found) - SHOWN:,} more")
    if found.absent_peers:
        print(f"Of those who advertise it, {count(found.absent_peers, 'peer')} did not answer, or are offline.")
    if not owners and not found.absent_peers:
        print("Nobody who could serve it was found: it would wait until somebody advertises it.")


def _ask_super_peer(text: str, context: str, as_json: bool) -> None:
    from superpeer.cli.asking_admins import ask
    from superpeer.daemon.admin_messages import TryQuery

    found: dict[str, Any] = ask(TryQuery(text, SHOWN), context=context)
    if as_json:
        print_json(found)
        return
    print(f"It would match {found['matched']:,} of the last {count(found['looked_at'], 'publication')} here.")
    rows = [[moment(one["published_at"]), one["kind"], one["subject"]] for one in found["matches"]]
    if rows:
        print_table(["published", "kind", "subject"], rows)
    here, links = found["local_publishers"], found["links_with_publishers"]
    if found["is_servable"]:
        print(f"{count(len(here), 'peer')} here could serve it, and peers beyond {count(len(links), 'link')}.")
    else:
        print("Nobody advertises it: it would wait until somebody does.")
    if found["is_asked_for_already"]:
        print("Somebody asks for just this here already, so it would not travel.")
