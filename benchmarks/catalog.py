"""The catalogue pipeline on two cores: profile against a bare count of lines, coverage, and posets.

`python -m benchmarks catalog` runs it in full, in some five minutes; CATALOG_TRIPLES, CATALOG_COVERED and
CATALOG_SUBSCRIPTIONS, in millions and separated by commas, choose other sizes, and 0 leaves a part out.

Processor time is that of Java, of this process and of all Python workers together; on a machine with other work it says
more than the clock. Memory is the largest sum over the same processes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import pyoxigraph
from rich.console import Console
from rich.table import Table

from benchmarks.workload import Bibliography
from superpeer.catalog.covering import cover_files
from superpeer.catalog.posets import poset_of_files
from superpeer.catalog.profiling import profile_files
from superpeer.catalog.session import start

SEED = 2004
MASTER = "local[2]"
SETTINGS = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "8"}
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
OXIGRAPH_BYTES = 60_000_000
ROUNDS = 3
MILLION = 1_000_000
COVERING_SUBSCRIPTIONS = 100_000


def main() -> None:
    spark = start(MASTER, SETTINGS)
    with tempfile.TemporaryDirectory() as directory:
        try:
            if triples := _sizes("CATALOG_TRIPLES", "1,5,20"):
                _profiling(spark, Path(directory), triples)
            if covered := _sizes("CATALOG_COVERED", "1"):
                _covering(spark, Path(directory), covered)
            if subscriptions := _sizes("CATALOG_SUBSCRIPTIONS", "0.1,1"):
                _ordering(spark, Path(directory), subscriptions)
        finally:
            spark.stop()


def _sizes(name: str, default: str) -> list[int]:
    return [int(float(size) * MILLION) for size in os.environ.get(name, default).split(",") if float(size)]


@dataclass(frozen=True)
class Took:
    """What some work took."""

    seconds: float
    processor_s: float
    peak_bytes: int

    def __str__(self) -> str:
        return f"{self.seconds:,.1f} ({self.processor_s:,.1f})"


def _profiling(spark: Any, directory: Path, sizes: list[int]) -> None:
    """Once cold, which is not counted, then in rounds, each of which counts the lines and makes a profile."""
    rows = []
    for size in sizes:
        path = directory / f"{size}.nt"
        write_catalogue(path, size)
        _rounds(spark, path, directory / "cold")
        rounds = [_rounds(spark, path, directory / "warm") for _ in range(ROUNDS)]
        counts, profiles = zip(*rounds, strict=True)
        single = _oxigraph(path)
        whole = min(profiles, key=lambda took: took.processor_s)
        rows.append(
            (
                f"{size:,}",
                str(min(counts, key=lambda took: took.processor_s)),
                str(whole),
                _ratio([a.processor_s / b.processor_s for a, b in zip(profiles, counts, strict=True)]),
                _ratio([a.seconds / b.seconds for a, b in zip(profiles, counts, strict=True)]),
                f"{size / whole.processor_s:,.0f}",
                f"{single:,.0f}",
                f"{max(took.peak_bytes for took in profiles) / 2**30:.1f}",
            )
        )
        path.unlink()
    _print(
        "Profile: seconds by the clock (of the processor), least of the rounds, two cores",
        (
            *("triples", "count of lines", "profile", "to the count: processor", "clock"),
            *("triples for a processor second", "pyoxigraph, the same", "GiB at most"),
        ),
        rows,
    )


def _rounds(spark: Any, path: Path, out: Path) -> tuple[Took, Took]:
    shutil.rmtree(out, ignore_errors=True)
    return (
        _took(lambda: spark.read.text(str(path)).count()),
        _took(lambda: profile_files(spark, [str(path)], out)),
    )


def _ratio(ratios: list[float]) -> str:
    return f"{median(ratios):.1f} ({min(ratios):.1f}..{max(ratios):.1f})"


def _covering(spark: Any, directory: Path, sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        data, asked = directory / "covered.nt", directory / "asked.txt"
        write_catalogue(data, size)
        write_subscriptions(asked, COVERING_SUBSCRIPTIONS)
        took = _took(
            lambda data=data, asked=asked: cover_files(spark, [str(data)], [str(asked)], directory / "coverage")
        )
        rows.append((f"{size:,}", f"{COVERING_SUBSCRIPTIONS:,}", str(took), f"{took.peak_bytes / 2**30:.1f}"))
    head = ("triples", "subscriptions", "seconds (of the processor)", "GiB at most")
    _print("Coverage, everything included", head, rows)


def _ordering(spark: Any, directory: Path, sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        asked = directory / "ordered.txt"
        write_subscriptions(asked, size)
        took = _took(lambda asked=asked: poset_of_files(spark, [str(asked)], directory / "poset"))
        found = json.loads((directory / "poset" / "poset.json").read_text())
        numbers = (f"{found[name]:,}" for name in ("asked", "places", "pairs", "links", "roots"))
        rows.append((*numbers, str(took), f"{took.peak_bytes / 2**30:.1f}"))
    head = ("subscriptions", "places", "pairs", "links", "roots", "seconds (of the processor)", "GiB at most")
    _print("Poset, everything included", head, rows)


def write_catalogue(path: Path, triples: int) -> None:
    """N-Triples about publications: types, titles, years, creators, journals, with everyday values."""
    generator = random.Random(SEED)
    bibliography = Bibliography(SEED, authors=20_000)
    authors, words = bibliography.authors, [name.lower() for name in bibliography.authors[:3_000]]
    weights = list(accumulate(1 / rank for rank in range(1, len(authors) + 1)))
    written = number = 0
    with path.open("w", encoding="utf-8") as file:
        while written < triples:
            subject = f"<http://example.org/publications/{number}>"
            kind = generator.choice(("article", "book", "report"))
            names = dict.fromkeys(generator.choices(authors, cum_weights=weights, k=generator.randint(1, 4)))
            lines = [
                f"{subject} <{RDF_TYPE}> <{DC}{kind}> .",
                f'{subject} <{DC}title> "{" ".join(generator.choices(words, k=8))}"@en .',
                f'{subject} <{DC}date> "{generator.randint(1980, 2025)}"^^<http://www.w3.org/2001/XMLSchema#gYear> .',
                f"{subject} <{DCTERMS}isPartOf> <http://example.org/journals/{generator.randrange(999)}> .",
                *(f'{subject} <{DC}creator> "{name}" .' for name in names),
            ]
            lines = lines[: triples - written]
            file.write("\n".join(lines) + "\n")
            written += len(lines)
            number += 1


def write_subscriptions(path: Path, number: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{text}\n" for text in Bibliography(SEED, authors=20_000).subscriptions(number))


def _oxigraph(path: Path) -> float:
    """Triples for a second of the processor that one process reads with pyoxigraph, looking at each."""
    with path.open("rb") as file:
        text = file.read(OXIGRAPH_BYTES)
    text = text[: text.rindex(b"\n") + 1]
    started = time.process_time()
    seen = sum(1 for quad in pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES) if quad.object is not None)
    return seen / (time.process_time() - started)


def _took(do: Callable[[], Any]) -> Took:
    with _watching() as watched:
        started = time.perf_counter()
        do()
        seconds = time.perf_counter() - started
    return Took(seconds, watched.processor_s, watched.peak_bytes)


class _Watched:
    """What this process and all below it use. Spark's workers may end, and nobody waits for all of them, so that what
    each has used is noted while it is there."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._before = _ticks()
        self._last = dict(self._before)

    def look(self) -> None:
        self._last |= _ticks()
        self.peak_bytes = max(self.peak_bytes, sum(map(_resident_bytes, _tree(os.getpid()))))

    @property
    def processor_s(self) -> float:
        used = sum(ticks - self._before.get(process, 0) for process, ticks in self._last.items())
        return used / os.sysconf("SC_CLK_TCK")


@contextmanager
def _watching() -> Iterator[_Watched]:
    watched, ended = _Watched(), threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            watched.look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield watched
    finally:
        ended.set()
        watcher.join()
        watched.look()


def _ticks() -> dict[int, int]:
    """What each process has used itself."""
    found = {}
    for process in _tree(os.getpid()):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[process] = sum(map(int, fields[11:13]))
    return found


def _tree(process: int) -> list[int]:
    found = [process]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def _resident_bytes(process: int) -> int:
    """Shared pages are counted in part: forked workers share most of theirs."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _print(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(title=title, title_justify="left")
    for name in head:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
