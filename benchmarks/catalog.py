"""The catalogue pipeline on two cores: profile against a bare count of lines, coverage, and posets.

`python -m benchmarks catalog` runs it in full, which takes a while; CATALOG_TRIPLES and CATALOG_SUBSCRIPTIONS, in
millions and separated by commas, choose other sizes. Memory is the largest sum over Java and all Python workers.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
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


def main() -> None:
    triples = _sizes("CATALOG_TRIPLES", "1,5,20")
    subscriptions = _sizes("CATALOG_SUBSCRIPTIONS", "0.1,1")
    spark = start(MASTER, SETTINGS)
    with tempfile.TemporaryDirectory() as directory:
        try:
            _profiling(spark, Path(directory), triples)
            _covering(spark, Path(directory))
            _ordering(spark, Path(directory), subscriptions)
        finally:
            spark.stop()


def _sizes(name: str, default: str) -> list[int]:
    return [int(float(size) * MILLION) for size in os.environ.get(name, default).split(",") if float(size)]


def _profiling(spark: Any, directory: Path, sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        path = directory / f"{size}.nt"
        write_catalogue(path, size)
        profile_files(spark, [str(path)], directory / "warm-up")
        counts, profiles, again = [], [], []
        peak = 0
        for number in range(ROUNDS if size <= 5 * MILLION else 1):
            counts.append(_seconds(lambda path=path: spark.read.text(str(path)).count()))
            out = directory / f"profile-{size}-{number}"
            with _memory() as used:
                profiles.append(_seconds(lambda path=path, out=out: profile_files(spark, [str(path)], out)))
            peak = max(peak, used[0])
            again.append(_seconds(lambda path=path, out=out: profile_files(spark, [str(path)], out)))
        single = _oxigraph(path)
        count, whole, warm = min(counts), min(profiles), min(again)
        rows.append(
            (
                f"{size:,}",
                f"{size / count:,.0f}",
                f"{size / whole:,.0f}",
                f"{whole / count:.1f}",
                f"{size / warm:,.0f}",
                f"{single:,.0f}",
                f"{size / whole / single:.2f}",
                f"{peak / 2**30:.1f}",
            )
        )
        path.unlink()
    _print(
        "Profile: triples a second, best round, two cores",
        (
            *("triples", "bare count of lines", "profile", "its time to the count's"),
            *("again, from Parquet", "pyoxigraph, one process", "profile to it", "GiB at most"),
        ),
        rows,
    )


def _covering(spark: Any, directory: Path) -> None:
    data, asked = directory / "covered.nt", directory / "asked.txt"
    write_catalogue(data, MILLION)
    write_subscriptions(asked, 100_000)
    with _memory() as used:
        seconds = _seconds(lambda: cover_files(spark, [str(data)], [str(asked)], directory / "coverage"))
    rows = [("1,000,000", "100,000", f"{seconds:,.0f}", f"{used[0] / 2**30:.1f}")]
    _print("Coverage, everything included", ("triples", "subscriptions", "seconds", "GiB at most"), rows)


def _ordering(spark: Any, directory: Path, sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        asked = directory / "ordered.txt"
        write_subscriptions(asked, size)
        with _memory() as used:
            started = time.perf_counter()
            found = poset_of_files(spark, [str(asked)], directory / "poset")
            seconds = time.perf_counter() - started
        rows.append(
            (
                f"{size:,}",
                f"{found.places:,}",
                f"{found.pairs:,}",
                f"{found.links:,}",
                f"{found.roots:,}",
                f"{seconds:,.0f}",
                f"{used[0] / 2**30:.1f}",
            )
        )
    head = ("subscriptions", "places", "pairs", "links", "roots", "seconds", "GiB at most")
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
    """Triples a second that one process reads with pyoxigraph, looking at each."""
    with path.open("rb") as file:
        text = file.read(OXIGRAPH_BYTES)
    text = text[: text.rindex(b"\n") + 1]
    started = time.perf_counter()
    seen = sum(1 for quad in pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES) if quad.object is not None)
    return seen / (time.perf_counter() - started)


def _seconds(do: Callable[[], Any]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


@contextmanager
def _memory() -> Iterator[list[int]]:
    """The largest sum of what this process and all below it hold in memory, in bytes."""
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            most[0] = max(most[0], sum(map(_resident_bytes, _tree(os.getpid()))))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


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
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
