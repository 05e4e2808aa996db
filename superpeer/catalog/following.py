"""`superpeer catalog profile --follow`: keeps a profile current as files arrive in a directory.

Structured Streaming notices new files; each batch of them is read into the same catalogue as before, in addition to
what is there. Which files were read is in the manifest of the catalogue, so a batch that comes twice, after a crash,
changes nothing. Streams do not notice that a file changed or went; so the directory is also compared with the manifest
now and then, and when it differs and has come to rest, everything is read anew. A file should appear under its name
when it is complete: write it elsewhere and move it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from superpeer.catalog.catalogue import opened
from superpeer.catalog.inputs import File, UnreadableCatalogue, find_files, require_apart
from superpeer.catalog.profiling import CACHE, Profiled, profile_files
from superpeer.catalog.progress import SILENT, Steps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERY_S = 5


def require_directory(paths: Sequence[str], directory: Path) -> None:
    if len(paths) != 1 or not Path(paths[0]).is_dir():
        raise UnreadableCatalogue("--follow takes one directory, into which files arrive")
    require_apart(paths, directory)


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

    alone = Lock()  # Batches come in a thread of their own.
    before = opened(str(directory / CACHE))
    known = set(before.manifest.files) if before else set()

    def renew() -> None:
        if _files_below(paths):
            done = profile_files(
                spark, paths, directory, approximate=approximate, budget_bytes=budget_bytes, steps=steps
            )
            known.clear()
            known.update(done.catalogue.manifest.files)
            tell(done)

    def add(_batch: DataFrame, _number: int) -> None:
        with alone:
            renew()

    files = (
        spark.readStream.format("binaryFile")
        .schema("path string, modificationTime timestamp, length long, content binary")
        .option("recursiveFileLookup", "true")
        .load(str(Path(paths[0]).resolve()))
        .select("path")
    )
    stream = files.writeStream.foreachBatch(add).option("checkpointLocation", str(directory / "checkpoint"))
    query = (stream.trigger(availableNow=True) if once else stream.trigger(processingTime=f"{EVERY_S} seconds")).start()
    try:
        found = None
        while not query.awaitTermination(EVERY_S):
            found, before_that = _files_below(paths), found
            with alone:
                if found == before_that != known:
                    renew()
        if _files_below(paths) != known:
            renew()
    finally:
        query.stop()


def _files_below(paths: Sequence[str]) -> set[File]:
    try:
        return set(find_files(paths))
    except UnreadableCatalogue:
        return set()
