"""How far a job is: a bar on a terminal, which follows the tasks of the stages that run, and nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.2


class Steps:
    """Says what is being done; see `following`."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None) if progress else None

    def say(self, what: str) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=what, completed=0, total=None)

    def show(self, done: int, total: int) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, total=total or None)


SILENT = Steps(None)


@contextmanager
def following(spark: SparkSession) -> Iterator[Steps]:
    """A bar for as long as the context lasts."""
    # Not what rich thinks is a terminal: FORCE_COLOR tells it that a file is one.
    if not sys.stderr.isatty():
        yield SILENT
        return
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        steps = Steps(progress)
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(spark, steps, ended), daemon=True)
        watcher.start()
        try:
            yield steps
        finally:
            ended.set()
            watcher.join()


def _watch(spark: SparkSession, steps: Steps, ended: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not ended.wait(POLL_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        if known:
            steps.show(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))
