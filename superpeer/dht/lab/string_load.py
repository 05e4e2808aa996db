"""How evenly DHTStrings stores (Figure 5): SubIDs on each node, by the hashes of the texts that subscriptions name.

Values are strings of six letters, a domain of its own for each attribute. A constraint is an equality, or a prefix or
suffix of a value, of two letters or more; `equalities` says how many are of the first kind. With prefixes and suffixes
a popular value is spread over several texts, each with a hash of its own; with equalities alone all of its popularity
falls on one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.lab.zipf import draw

SOURCE = "Aekaterinidis and Triantafillou, DHTStrings"
NODES = 128
LENGTH, LETTERS, SHORTEST = 6, 26, 2
DOMAIN = 100_000


def loads(
    attributes: int, theta: float, subscriptions: int, nodes: int, *, equalities: float, even: bool, seed: int
) -> Any:
    """How many SubIDs each node stores when every subscription names every attribute. With `even`, nodes own equal
    shares of the hashes, as the labels of a full cube do; otherwise the arcs of a Chord ring."""
    random = np.random.default_rng([seed, attributes, int(10 * theta)])
    ends = np.linspace(0, 1, nodes + 1)[1:-1] if even else np.sort(random.random(nodes - 1))
    stored = np.zeros(nodes, dtype=np.int64)
    for attribute in range(attributes):
        ranks = draw(random, DOMAIN, theta, subscriptions).astype(np.uint64)
        values = _mixed(ranks + np.uint64((attribute + 1) * 10**7 + seed * 10**12))
        letters = np.stack([_mixed(values + np.uint64(i + 1)) % np.uint64(LETTERS) for i in range(LENGTH)], axis=1)
        others = random.random(subscriptions) >= equalities
        operators = np.where(others, random.integers(1, 3, subscriptions), 0)
        hashes = _mixed(_texts(letters, operators, random.integers(SHORTEST, LENGTH, subscriptions)))
        owners = np.searchsorted(ends, hashes / 2.0**64)
        stored += np.bincount(owners, minlength=nodes)
    return stored


def _texts(letters: Any, operators: Any, lengths: Any) -> Any:
    """One number for each text: all letters, the first ones, or the last ones."""
    lengths = np.where(operators == 0, LENGTH, lengths)
    starts = np.where(operators == 2, LENGTH - lengths, 0)
    rows = np.arange(len(letters))
    texts = np.zeros(len(letters), dtype=np.uint64)
    for i in range(LENGTH):
        letter = letters[rows, np.minimum(starts + i, LENGTH - 1)]
        texts = np.where(i < lengths, texts * np.uint64(LETTERS + 1) + letter + np.uint64(1), texts)
    return texts


def _mixed(numbers: Any) -> Any:
    """A hash of 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


MIXES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LOAD_VARIANTS = {
    "strings-load": ("", 1 / 3, True),
    "strings-load-equalities": (", equalities only", 1.0, True),
    "strings-load-chord": (", shares like Chord's arcs", 1 / 3, False),
}
"""By name of the figure: what to say of it, how many constraints are equalities, and whether shares are even."""
MOST_ATTRIBUTES, MOST_THETA = 35, 1.4
MIX, SIX = "strings-load-mix", "strings-load-six"
EARLIER_ATTRIBUTES, EARLIER_RATIO = 6, 1.07
"""Of the earlier paper, which says neither how many subscriptions there are nor how skewed their values."""


@dataclass(frozen=True, slots=True)
class LoadPoint:
    variant: str
    attributes: int
    theta: float
    equalities: float
    even: bool
    subscriptions: int
    seed: int


def load_points(scale: float, seed: int) -> list[LoadPoint]:
    number, many = scaled(20_000, scale), scaled(500_000, scale)
    points = [
        LoadPoint(variant, attributes, theta, equalities, even, number, seed)
        for variant, (_, equalities, even) in LOAD_VARIANTS.items()
        for theta in (0.6, 0.8, 1.0, 1.2, MOST_THETA)
        for attributes in (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, MOST_ATTRIBUTES)
    ]
    points += [
        LoadPoint(MIX, MOST_ATTRIBUTES, MOST_THETA, equalities, even, number, seed)
        for even in (True, False)
        for equalities in MIXES
    ]
    return points + [
        LoadPoint(SIX, EARLIER_ATTRIBUTES, theta, 1.0, True, subscriptions, seed)
        for subscriptions in (number, many)
        for theta in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]


def measure_load(point: LoadPoint) -> float:
    """The ratio of the largest load to the smallest."""
    stored = loads(
        point.attributes,
        point.theta,
        point.subscriptions,
        NODES,
        equalities=point.equalities,
        even=point.even,
        seed=point.seed,
    )
    return float(stored.max() / max(stored.min(), 1))


def load_findings(results: Sequence[Result]) -> Iterable[Finding]:
    y, reported = "largest load / smallest load", "falls under 5 with many attributes even for θ = 1.4"
    for variant, (addition, _, _) in LOAD_VARIANTS.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for point, ratio in results:
            if point.variant == variant:
                series.setdefault(f"θ = {point.theta}", []).append((point.attributes, ratio))
        title = f"DHTStrings: load balance on {NODES} nodes{addition}"
        yield Figure(
            variant, title, "attributes of the schema", y, series, reported, log_y=True, lines={"the paper's 5": 5}
        )
    mixes: dict[str, list[tuple[float, float]]] = {}
    for point, ratio in results:
        if point.variant == MIX:
            shares = "even shares" if point.even else "Chord's arcs"
            mixes.setdefault(shares, []).append((100 * point.equalities, ratio))
    yield Figure(
        MIX,
        f"DHTStrings: load balance with {MOST_ATTRIBUTES} attributes, θ = {MOST_THETA}",
        "% of constraints that are equalities (the others: half prefixes, half suffixes)",
        y,
        mixes,
        "under 5; it does not say of which constraints",
        log_y=True,
        lines={"the paper's 5": 5},
    )
    sixes: dict[str, list[tuple[float, float]]] = {}
    for point, ratio in results:
        if point.variant == SIX:
            sixes.setdefault(f"{point.subscriptions:,} subscriptions", []).append((point.theta, ratio))
    yield Figure(
        SIX,
        f"DHTStrings: load balance with {EARLIER_ATTRIBUTES} attributes, equalities only",
        "θ of values",
        y,
        sixes,
        f"{EARLIER_RATIO} in the earlier one, which gives neither the skew nor the number of subscriptions",
        log_y=True,
        lines={f"the paper's {EARLIER_RATIO}": EARLIER_RATIO},
    )


LOAD = Experiment(
    "strings-load",
    "Storage load ratio against attributes",
    f"{SOURCE}: Figure 5",
    load_points,
    measure_load,
    load_findings,
)
EXPERIMENTS = (LOAD,)
