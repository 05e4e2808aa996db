"""Reports: what a running super-peer shows of itself to an admin. Nothing here changes anything.

Private ids and keys are in none of them: a report has what the admin may also find in logs and tables.

What may take long, because it looks at every place, element, peer or publication, lets others have their turn every few
milliseconds. A report is then not of one moment: what comes or goes meanwhile may be in it or not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import qel
from auth import PublicKey, Registration
from hypercup import Label, Link
from superpeer import __version__
from superpeer.daemon.admin_messages import (
    MAX_LIMIT,
    ExplainSubscription,
    ShowIndices,
    ShowPeers,
    ShowPoset,
    ShowQueues,
    TryQuery,
)
from superpeer.daemon.errors import AdminError
from superpeer.net import Counters
from superpeer.node.advertisements import Element
from superpeer.node.body import read_body
from superpeer.node.explaining import explain_subscription
from superpeer.node.forms import read_query, write_elements
from superpeer.node.poset import Place, subsumes
from superpeer.node.publications import Publication
from superpeer.node.tables import LocalSubscription

if TYPE_CHECKING:
    from superpeer.daemon.daemon import Daemon

Report = dict[str, Any]
Item = TypeVar("Item")
SLICE_S = 0.005
"""So long a report works before others get their turn."""
LOOKED_AT = 20_000
"""So many of the last publications a query is tried on."""


async def unhurried(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items as they are now, one after the other, with turns for others in between."""
    began = time.monotonic()
    for item in list(items):
        yield item
        if time.monotonic() - began >= SLICE_S:
            await asyncio.sleep(0)
            began = time.monotonic()


async def in_order(items: Iterable[Item], key: Callable[[Item], str]) -> list[Item]:
    """Sorted by something that takes a while to find out."""
    keyed = [(key(item), number, item) async for number, item in _numbered(items)]
    return [item for _, _, item in sorted(keyed)]


async def _numbered(items: Iterable[Item]) -> AsyncIterator[tuple[int, Item]]:
    number = 0
    async for item in unhurried(items):
        number += 1
        yield number, item


def status(daemon: Daemon) -> Report:
    node, papers = daemon.core.node, daemon.papers
    state = node.state
    return {
        "name": papers.certificate.name,
        "version": __version__,
        "key": str(papers.identity.public),
        "contact": f"{daemon.address}#{papers.identity.public}",
        "root": str(papers.admissions.root),
        "admitted_until": papers.certificate.not_after,
        "is_leaving": daemon.is_leaving,
        "uptime_s": round(time.time() - daemon.started_at, 3),
        "members": len(daemon.backbone.view),
        "view": daemon.backbone.view.id.hex(),
        "incarnation": daemon.backbone.membership.entry.incarnation,
        "is_settled": node.broker.router.is_settled,
        "peers_registered": len(node.registry),
        "peers_connected": len(daemon.desk.connected),
        "subscriptions": sum(len(kept.subscriptions) for kept in state.peers.values()),
        "places_in_poset": len(node.broker.router.tables.poset),
        "log_entries": len(state.log),
        "log_bytes": state.log.size_bytes,
        "unacknowledged": len(state.log.unacknowledged),
        "queued": sum(len(kept.queue.entries) for kept in state.peers.values()),
        "records_waiting": daemon.pump.waiting,
        "counts": dict(daemon.core.counts + daemon.desk.counts),
        "refusals": node.refusals,
    }


def backbone(daemon: Daemon) -> Report:
    view, table = daemon.backbone.view, daemon.backbone.membership.table
    members = []
    for key in sorted(view.incarnations):
        entry = table.get(key)
        members.append(
            {
                "key": str(PublicKey(key)),
                "id": name_of(key),
                "address": entry.address if entry is not None else "",
                "label": _place(view.backbone.place(key)),
                "incarnation": view.incarnations[key],
                "is_this_one": key == daemon.backbone.key,
            }
        )
    position = view.position(daemon.backbone.key)
    links = {each.key: each for each in daemon.backbone.neighbours.all()}
    rows = []
    for key in sorted({*position.neighbours, *links}):
        link = links.get(key)
        rows.append(
            {
                "id": name_of(key),
                "out_dimensions": [one.dimension for one in position.out_links if one.neighbour == key],
                "in_dimensions": [one.dimension for one in position.in_links if one.neighbour == key],
                "is_connected": link is not None and link.link.is_connected,
                "unacknowledged": 0 if link is None else link.link.session.unacknowledged,
                "problem": "" if link is None else link.failure,
            }
        )
    gone = [
        {"id": name_of(entry.key), "address": entry.address, "status": entry.status.value} for entry in table.tombstones
    ]
    return {"view": view.id.hex(), "members": members, "links": rows, "gone": gone}


async def poset(daemon: Daemon, request: ShowPoset) -> Report:
    tables = daemon.core.node.broker.router.tables
    places = tables.poset
    within = _query(request.within) if request.within else None
    if request.root:
        found = places.find(_query(request.root))
        if found is None:
            raise AdminError("nobody asks for that query here; show the poset without a root to see what there is")
        roots = [found]
    else:
        roots = await in_order(places.roots, lambda place: str(place.query))
    asked = {link: tables.subs_out(link) for link in tables.out_links}
    rows: list[Report] = []
    left, seen = _limit(request.limit), set()
    pending = [(place, 0) for place in reversed(roots)]
    is_cut = False
    began = time.monotonic()
    while pending:
        if time.monotonic() - began >= SLICE_S:
            await asyncio.sleep(0)
            began = time.monotonic()
        place, depth = pending.pop()
        if depth < request.depth:
            below = sorted(place.children, key=lambda child: str(child.query), reverse=True)
            pending += [(child, depth + 1) for child in below]
        elif place.children:
            is_cut = True
        text = str(place.query)
        if request.text not in text or (within is not None and not subsumes(within, place.query)):
            continue
        if not left:
            is_cut = True
            break
        left -= 1
        rows.append(_place_row(place, depth, asked, repeated=place in seen))
        seen.add(place)
    return {"places": rows, "total": len(places), "roots": len(places.roots), "is_cut": is_cut}


async def indices(daemon: Daemon, request: ShowIndices) -> Report:
    tables = daemon.core.node.broker.router.tables
    limit = _limit(request.limit)

    async def rows(elements: Iterable[Element]) -> Report:
        written = sorted([write_elements([one])[0] async for one in unhurried(elements)])
        matching = [text async for text in unhurried(map(" ".join, written)) if request.text in text]
        return {"count": len(written), "elements": matching[:limit], "is_cut": len(matching) > limit}

    local = await rows(tables.local)
    local["supporters"] = {
        " ".join(write_elements([element])[0]): sorted(one.peer for one in tables.local.supporters(element))[:limit]
        for element in islice(tables.local, limit)
    }
    beyond = [{"link": link_name(link), **await rows(tables.adverts_in(link))} for link in list(tables.out_links)]
    told = [{"link": link_name(link), **await rows(tables.adverts_out(link))} for link in list(tables.in_links)]
    return {"local": local, "beyond": beyond, "told": told}


async def peers(daemon: Daemon, request: ShowPeers) -> Report:
    state, limit = daemon.core.node.state, _limit(request.limit)
    found = [one async for one in unhurried(daemon.core.node.registry) if request.text in str(one.public_id)]
    shown = (await in_order(found, lambda one: str(one.public_id)))[:limit]
    rows = [_peer_row(daemon, one, state.peers.get(str(one.public_id))) for one in shown]
    return {"peers": rows, "total": len(daemon.core.node.registry), "is_cut": len(found) > limit}


def queues(daemon: Daemon, request: ShowQueues) -> Report:
    state, limit = daemon.core.node.state, _limit(request.limit)
    waiting = [(name, kept.queue) for name, kept in state.peers.items() if kept.queue.entries or kept.queue.lost]
    waiting.sort(key=lambda one: -len(one[1].entries))
    rows = []
    for name, queue in waiting[:limit]:
        service = daemon.desk.connected.get(name)
        rows.append(
            {
                "peer": name,
                "is_connected": service is not None,
                "entries": len(queue.entries),
                "bytes": queue.size_bytes,
                "oldest_at": queue.entries[0].at if queue.entries else None,
                "lost": queue.lost,
                "unsent": 0 if service is None else service.waiting,
            }
        )
    links = [
        {"id": name_of(each.key), "unacknowledged": each.link.session.unacknowledged}
        for each in daemon.backbone.neighbours.all()
    ]
    return {
        "peers": rows,
        "is_cut": len(waiting) > limit,
        "super_peers": links,
        "records_waiting": daemon.pump.waiting,
        "unacknowledged_publications": len(state.log.unacknowledged),
    }


def subscription(daemon: Daemon, request: ExplainSubscription) -> Report:
    one = explain_subscription(daemon.core.node, request.peer, request.name)
    report: Report = {
        name: getattr(one, name)
        for name in ("peer", "name", "text", "is_active", "is_paused", "local_publishers", "covered_by")
    }
    report["links"] = [
        {
            "link": link_name(each.link),
            "is_covered": each.is_covered,
            "elements": [" ".join(form) for form in each.elements],
            "is_forwarded": each.is_forwarded,
            "hidden_by": each.hidden_by,
        }
        for each in one.links
    ]
    return report


async def trial(daemon: Daemon, request: TryQuery) -> Report:
    node, query = daemon.core.node, _query(request.query)
    qel.require_satisfiable(query)
    log, limit = node.state.log, _limit(request.limit)
    generation, end = log.end
    looked_at = list(log.after((generation, max(log.trimmed, end - LOOKED_AT))))
    matching = [one async for one in unhurried(reversed(looked_at)) if one.meets(query)]
    tables = node.broker.router.tables
    publishers = [
        name for name, kept in node.state.peers.items() if kept.elements and qel.covers(kept.advertisement, query)
    ]
    place = tables.poset.find(query)
    return {
        "query": str(query),
        "looked_at": len(looked_at),
        "matched": len(matching),
        "matches": [publication_row(one) for one in matching[:limit]],
        "local_publishers": sorted(publishers)[:limit],
        "links_with_publishers": [link_name(link) for link in tables.covering(query)],
        "is_servable": bool(publishers) or any(True for _ in tables.covering(query)),
        "is_asked_for_already": place is not None,
    }


def publication_row(publication: Publication) -> Report:
    said = read_body(publication.draft.body)
    return {
        "id": publication.id,
        "kind": publication.draft.kind.value,
        "origin": name_of(publication.origin),
        "place": list(publication.place),
        "published_at": publication.published_at,
        "subject": said.subject.text,
        "statements": [[name, term.text] for name, term in said.statements[:20]],
    }


def counters(one: Counters) -> Report:
    report: Report = msgspec.to_builtins(one, str_keys=True)
    report["refused"] = {reason.name.lower(): count for reason, count in one.refused.items()}
    return report


def name_of(key: bytes) -> str:
    return str(PublicKey(key).id)


def link_name(link: Link) -> str:
    return f"{link.dimension} {name_of(link.neighbour)}"


def _place_row(place: Place[Any], depth: int, asked: dict[Link, Any], repeated: bool) -> Report:
    local = sorted(f"{one.peer} {one.subscription}" for one in place.sources if isinstance(one, LocalSubscription))
    links = sorted(link_name(one) for one in place.sources if not isinstance(one, LocalSubscription))
    return {
        "query": str(place.query),
        "depth": depth,
        "asked_by_peers": local[:100],
        "asked_by_links": links,
        "asked_by": len(place.sources),
        "forwarded_to": [link_name(link) for link, queries in asked.items() if not place.ids.isdisjoint(queries)],
        "hidden_by": sorted(str(parent.query) for parent in place.parents),
        "hides": len(place.children),
        "is_shown_before": repeated,
    }


def _peer_row(daemon: Daemon, registration: Registration, kept: Any) -> Report:
    name = str(registration.public_id)
    service = daemon.desk.connected.get(name)
    return {
        "peer": name,
        "key": str(registration.key.id),
        "is_connected": service is not None,
        "from": f"{service.connection.address[0]}:{service.connection.address[1]}" if service else "",
        "subscriptions": [] if kept is None else sorted(kept.subscriptions),
        "elements": 0 if kept is None else len(kept.elements or ()),
        "queued": 0 if kept is None else len(kept.queue.entries),
        "is_handing_over": kept is not None and kept.handing_over is not None,
        "last_serial": 0 if kept is None else kept.last_serial,
    }


def _place(place: Label | bytes | None) -> str:
    return name_of(place) if isinstance(place, bytes) else "" if place is None else str(place)


def _query(text: str) -> qel.Query:
    return read_query(text)


def _limit(limit: int) -> int:
    if not 0 < limit <= MAX_LIMIT:
        raise AdminError(f"a limit is a number from 1 to {MAX_LIMIT:,}, not {limit}; choose another one")
    return limit
