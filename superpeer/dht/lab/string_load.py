"""How evenly DHTStrings stores: SubIDs on each node, by the hashes of the texts that subscriptions name.

Values are strings of six letters, a domain of its own for each attribute. A constraint is an equality, or a prefix or
suffix of a value, of two letters or more; `equalities` says how many are of the first kind. With prefixes and suffixes
a popular value is spread over several texts, each with a hash of its own; with equalities alone all of its popularity
falls on one node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superpeer.dht.lab.zipf import draw

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
