"""Work in tasks: who gets which share of it, and what each does first."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from operator import add
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from superpeer.catalog.session import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_tasks(
    spark: SparkSession, items: Sequence[Item], work: Callable[[str, Sequence[Item]], Result], nothing: Result
) -> Result:
    """The sum of what `work` gives for shares of some items. Each share has a name that no other one has."""
    if not items:
        return nothing
    number = min(len(items), TASKS_PER_CORE * cores(spark))
    shares = [(f"{i:05d}", items[i::number]) for i in range(number)]
    tasks = spark.sparkContext.parallelize(shares, number)
    return tasks.map(lambda share: work(*share)).reduce(add)


def prepare() -> None:
    """A task has one core to itself. What is there stays: after each task Spark has the garbage collector look at all
    of it, modules and compiled code too, which took longer than most tasks; what was there before is left out now."""
    pa.set_cpu_count(1)
    gc.freeze()
