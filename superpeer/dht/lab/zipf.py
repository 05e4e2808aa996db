"""Zipf's distribution: the item of rank r is drawn with a probability proportional to 1 / r^θ."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(maxsize=64)
def probabilities(items: int, theta: float) -> Any:
    weights = 1.0 / np.arange(1, items + 1) ** theta
    return weights / weights.sum()


def draw(random: np.random.Generator, items: int, theta: float, number: int) -> Any:
    """So many ranks, from 0 on."""
    cumulated = _cumulated(items, theta)
    return np.minimum(np.searchsorted(cumulated, random.random(number)), items - 1)


@lru_cache(maxsize=64)
def _cumulated(items: int, theta: float) -> Any:
    return np.cumsum(probabilities(items, theta))
