"""What a task does first."""

from __future__ import annotations

import gc

import pyarrow as pa


def prepare() -> None:
    """A task has one core to itself. What is there stays: after each task Spark has the garbage collector look at all
    of it, modules and compiled code too, which took longer than most tasks; what was there before is left out now."""
    pa.set_cpu_count(1)
    gc.freeze()
