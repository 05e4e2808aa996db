"""What an experiment is: points that are measured independently of each other, and figures made of what they gave.

A point is a small value that can be sent to another process; `measure` is a plain function of a module. So the points
of an experiment are spread over processes, and the same seed gives the same figures however many there are. Every
experiment is run with several seeds; what is shown is the mean, with the least and the most that a seed gave.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from signal import SIG_DFL, SIGINT, signal
from typing import Any, NamedTuple

from superpeer.dht.errors import DhtError

WORKER_GARBAGE = 1_000_000
"""So many new objects before a worker looks for cycles."""


class Spread(NamedTuple):
    """What several seeds gave."""

    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(sum(values) / len(values), min(values), max(values))


Series = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Figure:
    """Curves over one axis, and what the paper reports of them, if there is one."""

    name: str
    title: str
    x: str
    y: str
    series: Series
    reported: str = ""
    log_x: bool = False
    log_y: bool = False
    lines: Mapping[str, float] = field(default_factory=dict)
    """Levels to compare with, each with its name."""
    places: Mapping[str, float] = field(default_factory=dict)
    """The same on the other axis."""
    spreads: Mapping[str, Sequence[Spread]] = field(default_factory=dict)
    """For each point of each curve, where several seeds were run."""


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers, for what is no curve."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | Spread]]
    reported: str = ""


Finding = Figure | Table
Result = tuple[Any, Any]
"""A point and what was measured there."""


@dataclass(frozen=True)
class Experiment:
    """`points` makes them from a scale (1 is the papers' size) and a seed; `findings` are those of one seed."""

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
    seeds: int = 1,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Finding]:
    """Measures all points with so many seeds, from `seed` on, and makes the figures. `progress` is told how many of
    how many points are done."""
    require_settings(scale=scale, seed=seed, seeds=seeds, workers=workers)
    runs = [list(experiment.points(scale, one)) for one in range(seed, seed + seeds)]
    measured = _measure(experiment, [point for points in runs for point in points], workers, progress)
    found = []
    for points in runs:
        results, measured = measured[: len(points)], measured[len(points) :]
        found.append(list(experiment.findings(list(zip(points, results, strict=True)))))
    return found[0] if seeds == 1 else [_combined(same) for same in zip(*found, strict=True)]


def require_settings(*, scale: float, seed: int, seeds: int, workers: int) -> None:
    """Also to be called before anything has been made in vain."""
    if not 0 < scale <= 1:
        raise DhtError(f"a scale is above 0 and at most 1, not {scale:g}")
    if seed < 0:
        raise DhtError(f"a seed is 0 or more, not {seed}")
    if seeds < 1:
        raise DhtError(f"an experiment needs at least one seed, not {seeds}")
    if workers < 1:
        raise DhtError(f"an experiment needs at least one worker, not {workers}")


def _measure(
    experiment: Experiment, points: list[Any], workers: int, progress: Callable[[int, int], None]
) -> list[Any]:
    progress(0, len(points))
    measured: dict[int, Any] = {}
    if workers == 1:
        for number, point in enumerate(points):
            measured[number] = experiment.measure(point)
            progress(len(measured), len(points))
    else:
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare_worker)
        try:
            waiting = {pool.submit(experiment.measure, point): number for number, point in enumerate(points)}
            for done in as_completed(waiting):
                measured[waiting[done]] = done.result()
                progress(len(measured), len(points))
        except BrokenProcessPool as error:
            raise DhtError("a worker process was ended, perhaps for want of memory; try fewer workers") from error
        finally:
            # Whatever went wrong, or an interrupt: what has not begun is not waited for.
            pool.shutdown(cancel_futures=True)
    return [measured[number] for number in range(len(points))]


def _prepare_worker() -> None:
    """An interrupt ends a worker at once, where Python would go on with the next point. And garbage is collected
    rarely: traces are long lists of tuples without cycles, and looking at them again and again took a sixth of the
    time."""
    signal(SIGINT, SIG_DFL)
    gc.set_threshold(WORKER_GARBAGE)


def _combined(same: Sequence[Finding]) -> Finding:
    """One finding of those of all seeds."""
    first = same[0]
    if isinstance(first, Table):
        tables = [one for one in same if isinstance(one, Table)]
        rows = [
            [_cell(cells) for cells in zip(*rows, strict=True)]
            for rows in zip(*(table.rows for table in tables), strict=True)
        ]
        return replace(first, rows=rows)
    figures = [one for one in same if isinstance(one, Figure)]
    spreads = {
        name: [
            Spread.of([y for _, y in points])
            for points in zip(*(figure.series[name] for figure in figures), strict=True)
        ]
        for name in first.series
    }
    series = {
        name: [(x, spread.mean) for (x, _), spread in zip(points, spreads[name], strict=True)]
        for name, points in first.series.items()
    }
    lines = {name: Spread.of([figure.lines[name] for figure in figures]).mean for name in first.lines}
    return replace(first, series=series, lines=lines, spreads=spreads)


def _cell(cells: Sequence[Any]) -> Any:
    return cells[0] if isinstance(cells[0], str) else Spread.of(cells)


def scaled(number: int, scale: float, least: int = 1) -> int:
    return max(least, round(number * scale))
