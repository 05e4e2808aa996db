"""What an experiment is: points that are measured independently of each other, and figures made of what they gave.

A point is a small value that can be sent to another process; `measure` is a plain function of a module. So the points
of an experiment are spread over processes, and the same seed gives the same figures however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from superpeer.dht.errors import DhtError

Series = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Figure:
    """Curves over one axis, or bars; and what the paper reports of them."""

    name: str
    title: str
    x: str
    y: str
    series: Series
    reported: str
    log_x: bool = False
    log_y: bool = False
    lines: Mapping[str, float] = field(default_factory=dict)
    """Levels to compare with, each with its name."""


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers, for what is no curve."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    reported: str


Finding = Figure | Table
Result = tuple[Any, Any]
"""A point and what was measured there."""


@dataclass(frozen=True)
class Experiment:
    """`points` makes them from a scale (1 is the papers' size) and a seed."""

    name: str
    title: str
    source: str
    points: Callable[[float, int], Sequence[Any]]
    measure: Callable[[Any], Any]
    findings: Callable[[Sequence[Result]], Iterable[Finding]]


def run(
    experiment: Experiment,
    *,
    scale: float = 1.0,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Finding]:
    """Measures all points and makes the figures. `progress` is told how many of how many points are done."""
    if not 0 < scale <= 1:
        raise DhtError(f"a scale is above 0 and at most 1, not {scale}")
    if workers < 1:
        raise DhtError(f"an experiment needs at least one worker, not {workers}")
    points = list(experiment.points(scale, seed))
    progress(0, len(points))
    measured: dict[int, Any] = {}
    if workers == 1:
        for number, point in enumerate(points):
            measured[number] = experiment.measure(point)
            progress(len(measured), len(points))
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(experiment.measure, point): number for number, point in enumerate(points)}
            for done in as_completed(waiting):
                measured[waiting[done]] = done.result()
                progress(len(measured), len(points))
    return list(experiment.findings([(point, measured[number]) for number, point in enumerate(points)]))


def scaled(number: int, scale: float, least: int = 1) -> int:
    return max(least, round(number * scale))
