"""DHTStrings at the size of the papers: how many SubIDs each way of matching sends for an event.

Tens of thousands of events and subscriptions are counted in arrays. What counts for one subscription and one event
are three sets of attributes: those that the event has (E), those that the subscription declares (D), and those of
them whose value is the event's (M). As bits in the order of visits, they say when a SubID enters the list that is
passed on and when it leaves it. A test holds this against `string_matching.run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superpeer.dht.lab.zipf import draw, probabilities

ATTRIBUTES = 10
VALUES = 1_000
SUBSCRIPTION_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Workload:
    """An event has an attribute with probability 1 / rank^θ, a subscription declares it with a fifth of that, and at
    least one: subscribers name some of what events have. Values follow Zipf with a parameter for each attribute."""

    attribute_theta: float
    value_thetas: tuple[float, ...]
    subscriptions: int
    events: int
    seed: int


@dataclass(frozen=True, slots=True)
class Sent:
    """SubIDs sent for an event, on average."""

    coordinated: float
    distributed: float
    hybrid: float


def generate(workload: Workload, number: int, share: float, stream: int) -> tuple[Any, Any]:
    """Which attributes each of so many subscriptions or events has, as a matrix of truth, and a value for each."""
    random = np.random.default_rng([workload.seed, stream])
    declared = random.random((number, ATTRIBUTES)) < share / np.arange(1, ATTRIBUTES + 1) ** workload.attribute_theta
    without = np.flatnonzero(~declared.any(axis=1))
    declared[without, draw(random, ATTRIBUTES, workload.attribute_theta, len(without))] = True
    values = np.stack([draw(random, VALUES, theta, number) for theta in workload.value_thetas], axis=1)
    return declared, values


def visiting_order(workload: Workload, *, by_length: bool) -> Any:
    """The attributes by how likely two of their values agree, which is what the papers take from the domains of values;
    those alike in the order of the schema. Or by the expected length of their lists, which also depends on how many
    subscriptions declare an attribute."""
    agreement = np.array([(probabilities(VALUES, theta) ** 2).sum() for theta in workload.value_thetas])
    if by_length:
        agreement = agreement / np.arange(1, ATTRIBUTES + 1) ** workload.attribute_theta
    return np.argsort(agreement, kind="stable")


def count(workload: Workload, *, careful: bool = False) -> Sent:
    """As published; or `careful`, in the order of expected lengths and without SubIDs that cannot match the event."""
    order = visiting_order(workload, by_length=careful)
    declared, values = generate(workload, workload.subscriptions, SUBSCRIPTION_SHARE, 1)
    event_has, event_values = generate(workload, workload.events, 1.0, 2)
    return count_in(
        declared[:, order], values[:, order], event_has[:, order], event_values[:, order], drops_hopeless=careful
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
    totals = np.zeros(3)
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
    coordinated, distributed, hybrid = totals / len(event_has)
    return Sent(coordinated, distributed, hybrid)


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
    return np.array([ones[matched].sum(), distributed, hybrid])


def _by_value(declares: Any, values: Any) -> dict[int, Any]:
    """The subscriptions that declare an attribute with each value."""
    who = np.flatnonzero(declares)
    if not len(who):
        return {}
    ordered = who[np.argsort(values[who], kind="stable")]
    distinct, starts = np.unique(values[ordered], return_index=True)
    return dict(zip(distinct.tolist(), np.split(ordered, starts[1:]), strict=True))
