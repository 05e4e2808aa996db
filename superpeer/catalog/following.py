"""`superpeer catalog profile --follow`: keeps a profile current as files arrive in a directory.

Structured Streaming notices new files; each batch of them is read into the same catalogue as before, in addition to
what is there, and the profile is computed again from Parquet. Which files were read is in the manifest of the
catalogue, so a batch that comes twice, after a crash, changes nothing. A file should appear under its name when it is
complete: write it elsewhere and move it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from superpeer.catalog.inputs import UnreadableCatalogue
from superpeer.catalog.profiling import Profiled, profile_files
from superpeer.catalog.progress import SILENT, Steps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERY = "5 seconds"


def require_directory(paths: Sequence[str], directory: Path) -> None:
    if len(paths) != 1 or not Path(paths[0]).is_dir():
        raise UnreadableCatalogue("--follow takes one directory, into which files arrive")
    if directory.resolve().is_relative_to(Path(paths[0]).resolve()):
        raise UnreadableCatalogue("--out must not lie inside the directory that is followed")


def follow_directory(
    spark: SparkSession,
    paths: Sequence[str],
    directory: Path,
    *,
    approximate: bool,
    budget_bytes: int,
    once: bool,
    tell: Callable[[Profiled], None],
    steps: Steps = SILENT,
) -> None:
    """Runs until interrupted; with `once`, until all that is there is read."""
    require_directory(paths, directory)

    def renew(_batch: DataFrame, _number: int) -> None:
        tell(profile_files(spark, paths, directory, approximate=approximate, budget_bytes=budget_bytes, steps=steps))

    files = (
        spark.readStream.format("binaryFile")
        .schema("path string, modificationTime timestamp, length long, content binary")
        .option("recursiveFileLookup", "true")
        .load(str(Path(paths[0]).resolve()))
        .select("path")
    )
    stream = files.writeStream.foreachBatch(renew).option("checkpointLocation", str(directory / "checkpoint"))
    query = (stream.trigger(availableNow=True) if once else stream.trigger(processingTime=EVERY)).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
