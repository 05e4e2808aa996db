"""Explanations: why a subscription went where it went, and why a notification did or did not reach somebody.

A super-peer explains what it did itself. A notification is followed over the links that each super-peer names, from its
origin on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import qel
from hypercup import Link
from qel import canonical_id, subsumes
from superpeer.node.advertisements import Element
from superpeer.node.errors import BadRequest
from superpeer.node.forms import read_query, write_elements
from superpeer.node.node import Node
from superpeer.node.publications import Publication
from superpeer.node.traces import Step


@dataclass(frozen=True)
class OnLink:
    """What became of a subscription on one out-link."""

    link: Link
    is_covered: bool
    elements: tuple[tuple[str, ...], ...]
    """What is advertised beyond, of what the subscription mentions."""
    is_forwarded: bool
    hidden_by: str | None
    """The more general subscription that was forwarded instead."""


@dataclass(frozen=True)
class SubscriptionExplained:
    """How a local subscription stands."""

    peer: str
    name: str
    text: str
    is_active: bool
    is_paused: bool
    local_publishers: tuple[str, ...]
    """The peers of this super-peer whose advertisements cover it."""
    covered_by: tuple[str, ...]
    """The next more general subscriptions known here, which are matched before it."""
    links: tuple[OnLink, ...]


def explain_subscription(node: Node, peer: str, name: str) -> SubscriptionExplained:
    """Which advertisements cover a subscription, to which links it went, and what hides it where it did not go."""
    kept = node.state.peers.get(peer)
    one = kept.subscriptions.get(name) if kept else None
    if one is None:
        raise BadRequest(f"there is no subscription {name!r} of {peer}; list those that there are")
    query = read_query(one.text)
    tables = node.broker.router.tables
    publishers = [
        other for other, state in node.state.peers.items() if state.elements and qel.covers(state.advertisement, query)
    ]
    place = tables.poset.find(query)
    parents = sorted(str(parent.query) for parent in place.parents) if place is not None else []
    links = tuple(_on_link(node, link, query) for link in tables.out_links)
    is_active = node.broker.is_active(peer, name)
    return SubscriptionExplained(
        peer, name, one.text, is_active, one.is_paused, tuple(sorted(publishers)), tuple(parents), links
    )


def _on_link(node: Node, link: Link, query: qel.Query) -> OnLink:
    tables = node.broker.router.tables
    asked = tables.subs_out(link)
    covered = link in tables.covering(query)
    is_forwarded = canonical_id(query) in asked
    hidden_by = None
    if covered and not is_forwarded:
        hidden_by = next((str(other) for other in asked.values() if subsumes(other, query)), None)
    mentioned = {pattern.property for pattern in query.triples}
    namespaces = {qel.namespace(one) for one in mentioned}
    elements = [one for one in tables.adverts_in(link) if _concerns(one, mentioned, namespaces)]
    return OnLink(link, covered, write_elements(elements), is_forwarded, hidden_by)


def _concerns(element: Element, properties: set[str], namespaces: set[str]) -> bool:
    about = getattr(element, "schema", None)
    return about in namespaces if about is not None else getattr(element, "property", None) in properties


@dataclass(frozen=True)
class Hop:
    """What one super-peer did with a publication."""

    super_peer: bytes
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class NotificationExplained:
    """Every step that a publication took, and what became of it for one peer."""

    publication: Publication
    is_acknowledged: bool
    hops: tuple[Hop, ...]
    reached: bool | None = None
    """Whether it is, or was, in the queue of the peer that was asked about."""
    reason: str = ""


def explain_notification(
    nodes: Mapping[bytes, Node],
    publication: Publication,
    name_of: Callable[[bytes], str],
    peer: str | None = None,
    peer_at: bytes | None = None,
) -> NotificationExplained:
    """Follows a publication from its origin through the super-peers that can be asked. With a peer, and where it is:
    why that one has it, or has not."""
    hops: list[Hop] = []
    pending, seen = [publication.origin], set()
    while pending:
        key = pending.pop(0)
        node = nodes.get(key)
        if key in seen or node is None:
            continue
        seen.add(key)
        steps = node.broker.delivery.traces.of(publication)
        if steps:
            hops.append(Hop(key, steps))
            pending += [link.neighbour for step in steps for link in step.sent_to]
    origin = nodes.get(publication.origin)
    acknowledged = origin is not None and publication.place[1] not in origin.state.log.unacknowledged
    if peer is None or peer_at is None:
        return NotificationExplained(publication, acknowledged, tuple(hops))
    reached, reason = _why(nodes, publication, tuple(hops), name_of, peer, peer_at)
    return NotificationExplained(publication, acknowledged, tuple(hops), reached, reason)


def _why(
    nodes: Mapping[bytes, Node],
    publication: Publication,
    hops: tuple[Hop, ...],
    name_of: Callable[[bytes], str],
    peer: str,
    at: bytes,
) -> tuple[bool, str]:
    here = next((hop for hop in hops if hop.super_peer == at), None)
    if here is not None and any(peer in step.matched for step in here.steps):
        if any(peer in step.held_back for step in here.steps):
            return True, f"{name_of(at)} held it back until its queue had caught up with {name_of(publication.origin)}"
        return True, f"{name_of(at)} put it into the peer's queue"
    node = nodes.get(at)
    if node is None:
        return False, f"{name_of(at)} is down; its queues catch up with {name_of(publication.origin)} when it is back"
    kept = node.state.peers.get(peer)
    if kept is None:
        return False, f"the peer is not registered with {name_of(at)}"
    matching = [one for one in kept.subscriptions.values() if publication.meets(read_query(one.text))]
    if not matching:
        return False, "none of its subscriptions matches"
    if all(one.is_paused for one in matching):
        return False, f"its subscription {matching[0].name!r} matches, but is paused"
    mark = kept.queue.marks.get(publication.origin)
    if mark is not None and mark >= publication.place:
        return True, f"the queue has got it by catching up with {name_of(publication.origin)}"
    inactive = [one.name for one in matching if not node.broker.is_active(peer, one.name)]
    if inactive:
        return False, f"its subscription {inactive[0]!r} matches, but was not in place everywhere yet"
    if all(one.accepted_at > publication.published_at for one in matching):
        return False, f"its subscription {matching[0].name!r} matches, but came after the publication"
    if not hops:
        return False, f"{name_of(publication.origin)} has not sent it: it waits until its advertisements are in place"
    return False, _where_it_stopped(nodes, publication, hops, name_of, at)


def _where_it_stopped(
    nodes: Mapping[bytes, Node],
    publication: Publication,
    hops: tuple[Hop, ...],
    name_of: Callable[[bytes], str],
    at: bytes,
) -> str:
    """The last super-peer on the way that had it, and why the next has not."""
    origin = nodes.get(publication.origin)
    view = origin.view if origin is not None else None
    if view is None or at not in view:
        return f"{name_of(at)} and {name_of(publication.origin)} were not in the same view; it catches up when they are"
    path = view.backbone.path(at, publication.origin)[::-1]
    had = {hop.super_peer: hop for hop in hops}
    for here, following in pairwise(path):
        if here in had and following not in had:
            if any(link.neighbour == following for step in had[here].steps for link in step.sent_to):
                return f"it is on its way from {name_of(here)} to {name_of(following)}"
            return f"{name_of(here)} knew of no subscription behind {name_of(following)} that it matches"
    return "it has not arrived yet"
