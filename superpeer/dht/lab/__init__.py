"""The laboratory: the papers' experiments as seeded simulations, and one that compares all systems.

`experiment` says what an experiment is and runs it; `output` writes what it found. `superpeer lab` lists and runs them.
"""

from __future__ import annotations

from superpeer.dht.errors import DhtError
from superpeer.dht.lab.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """All experiments by name. Imported when asked for, since they need numpy."""
    from superpeer.dht.lab import clusters, intervals, placements, strategies, string_load, strings, words

    modules = strategies, strings, string_load, intervals, clusters, placements, words
    return {one.name: one for module in modules for one in module.EXPERIMENTS}


def experiment(name: str) -> Experiment:
    known = experiments()
    if name not in known:
        raise DhtError(f"there is no experiment {name!r}; there are {', '.join(known)}")
    return known[name]
