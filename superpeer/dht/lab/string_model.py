"""DHTStrings at the size of the papers: how many SubIDs each way of matching sends for an event.

Tens of thousands of events and subscriptions are counted in arrays. What counts for one subscription and one event
are three sets of attributes: those that the event has (E), those that the subscription declares (D), and those of
them whose value is the event's (M). As bits in the order of visits, they say when a SubID enters the list that is
passed on and when it leaves it. A test holds this against `string_matching.run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from superpeer.dht.lab.zipf import draw, probabilities

ATTRIBUTES = 10
VALUES = 1_000


class Declaring(Enum):
    """How many attributes events have and subscriptions declare. The papers say 1 to 10, depending on the popularity
    of attributes, and fewer on average where that is skewed. Both of these are so."""

    EACH = "each by its popularity"
    """The attribute of rank r with probability 1 / r^θ."""
    DRAWN = "ten draws"
    """What is among ten draws from Zipf's distribution."""


class Order(Enum):
    """In which order attributes are visited, which the papers call by selectivity."""

    SHORT_LISTS_FIRST = "short lists first"
    """By how many SubIDs a list is expected to have."""
    LARGE_DOMAINS_FIRST = "large domains first"
    """By how unlikely two of its values agree, which the earlier paper takes for a sign of it; those alike in the
    order of their popularity."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Events and subscriptions have attributes alike, as the papers say; or subscriptions a `share` of what events
    have, and at least one. Values follow Zipf with a parameter for each attribute."""

    attribute_theta: float
    value_thetas: tuple[float, ...]
    subscriptions: int
    events: int
    seed: int
    share: float = 1.0
    declaring: Declaring = Declaring.EACH
    order: Order = Order.SHORT_LISTS_FIRST
    drops_hopeless: bool = False
    """Not in the papers: nodes drop SubIDs that declare what the event does not have."""


@dataclass(frozen=True, slots=True)
class Sent:
    """SubIDs sent for an event, on average; and what becomes of those that its values find."""

    coordinated: float
    distributed: float
    hybrid: float
    found: float
    matching: float
    carried: float
    """They are passed on by a visit, if only to the next one; the others failed at an attribute visited before."""
    declared: float
    """Attributes of a subscription, on average."""


def generate(workload: Workload, number: int, share: float, stream: int) -> tuple[Any, Any]:
    """Which attributes each of so many subscriptions or events has, as a matrix of truth, and a value for each."""
    random = np.random.default_rng([workload.seed, stream])
    theta = workload.attribute_theta
    if workload.declaring is Declaring.EACH:
        declared = random.random((number, ATTRIBUTES)) < share / np.arange(1, ATTRIBUTES + 1) ** theta
    else:
        declared = np.zeros((number, ATTRIBUTES), dtype=bool)
        for _ in range(round(share * ATTRIBUTES)):
            declared[np.arange(number), draw(random, ATTRIBUTES, theta, number)] = True
    without = np.flatnonzero(~declared.any(axis=1))
    declared[without, draw(random, ATTRIBUTES, theta, len(without))] = True
    values = np.stack([draw(random, VALUES, theta, number) for theta in workload.value_thetas], axis=1)
    return declared, values


def visiting_order(workload: Workload) -> Any:
    expected = np.array([(probabilities(VALUES, theta) ** 2).sum() for theta in workload.value_thetas])
    if workload.order is Order.SHORT_LISTS_FIRST:
        expected = expected / np.arange(1, ATTRIBUTES + 1) ** workload.attribute_theta
    return np.argsort(expected, kind="stable")


def count(workload: Workload) -> Sent:
    order = visiting_order(workload)
    declared, values = generate(workload, workload.subscriptions, workload.share, 1)
    event_has, event_values = generate(workload, workload.events, 1.0, 2)
    return count_in(
        declared[:, order],
        values[:, order],
        event_has[:, order],
        event_values[:, order],
        drops_hopeless=workload.drops_hopeless,
    )


def count_in(declared: Any, values: Any, event_has: Any, event_values: Any, *, drops_hopeless: bool) -> Sent:
    """The attributes are in the order of visits."""
    width = declared.shape[1]
    bits = 1 << np.arange(width)
    masks = declared @ bits
    event_masks = event_has @ bits
    lists = [_by_value(declared[:, a], values[:, a]) for a in range(width)]
    ones = np.array([mask.bit_count() for mask in range(1 << width)])
    top = np.array([0] + [1 << (mask.bit_length() - 1) for mask in range(1, 1 << width)])
    matched = np.zeros(len(declared), dtype=np.int64)
    totals = np.zeros(6)
    for event in range(len(event_has)):
        found = []
        for a in np.flatnonzero(event_has[event]):
            listed = lists[a].get(int(event_values[event, a]))
            if listed is not None:
                matched[listed] |= bits[a]
                found.append(listed)
        if not found:
            continue
        touched = np.unique(np.concatenate(found)) if len(found) > 1 else found[0]
        totals += _sent(masks[touched], matched[touched], int(event_masks[event]), ones, top, drops_hopeless)
        matched[touched] = 0
    coordinated, distributed, hybrid, in_lists, matching, carried = map(float, totals / len(event_has))
    per_subscription = float(declared.sum(axis=1).mean())
    return Sent(coordinated, distributed, hybrid, in_lists, matching, carried, per_subscription)


def _sent(declared: Any, matched: Any, event: int, ones: Any, top: Any, drops_hopeless: bool) -> Any:
    hopeless = (declared & ~event) != 0
    if drops_hopeless:
        declared, matched, hopeless = declared[~hopeless], matched[~hopeless], hopeless[~hopeless]
    wanted = declared & event
    entry = matched & -matched
    failing = wanted & ~matched
    # Whoever declares an attribute that was visited before and did not come is not added.
    enters = (wanted & -wanted) == entry
    until = np.where(failing != 0, (failing & -failing) - 1, (1 << 62) - 1)
    passing = event & ~top[event] & ~(entry - 1)
    matches = (failing == 0) & ~hopeless
    home = matches.sum()
    distributed = ones[passing & until][enters].sum() + home
    leaving = np.where(matches, top[declared] - 1, until)
    hybrid = ones[passing & leaving][enters].sum() + home
    return np.array([ones[matched].sum(), distributed, hybrid, len(matched), home, (enters | matches).sum()])


def _by_value(declares: Any, values: Any) -> dict[int, Any]:
    """The subscriptions that declare an attribute with each value."""
    who = np.flatnonzero(declares)
    if not len(who):
        return {}
    ordered = who[np.argsort(values[who], kind="stable")]
    distinct, starts = np.unique(values[ordered], return_index=True)
    return dict(zip(distinct.tolist(), np.split(ordered, starts[1:]), strict=True))
