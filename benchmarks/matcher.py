"""The matcher at scale: notifications a second, latency, memory, and what changes cost, beside others on the same work.

    python -m benchmarks.matcher bibliographic others --sizes 1000,100000,1000000 --catalogue FILE.nt.gz --write

Times are of the processor, since that is what one core does; on an idle machine they are those of the clock.
`--catalogue`, or the variable SUPERPEER_CATALOGUE, adds a workload made from a real catalogue in N-Triples.
`--write` puts the tables into docs/performance.md.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import log10
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from benchmarks import competitors
from benchmarks.catalogue import Bibliographic, Catalogue, Mixed, Publication, Ranges
from qel.normal import Disjunct
from qel.values import describe
from superpeer.matching.matcher import Matcher, warm_up
from superpeer.matching.poset import IndexedPoset

SEED = 20_040_510
SIZES = (1_000, 10_000, 100_000, 1_000_000)
PEERS = 5_000
ROUNDS = 5
MOST_ONE_BY_ONE = 100_000
CHANGES = 1_000
CHUNK = 10_000
DOCUMENT = Path(__file__).parent.parent / "docs" / "performance.md"


class Workload(Protocol):
    name: str

    def disjuncts(self, number: int) -> Iterator[Sequence[Disjunct]]: ...

    def publications(self, number: int) -> Iterator[Publication]: ...


@dataclass(frozen=True)
class Row:
    """What was measured at one size. Rates have one number a round."""

    size: int
    build_s: float
    rates: tuple[float, ...]
    described: tuple[float, ...]
    p50_us: float
    p99_us: float
    matches: float
    bytes_each: float
    add_us: float
    remove_us: float


def workloads(catalogue: str | None) -> dict[str, Callable[[], Workload]]:
    known: dict[str, Callable[[], Workload]] = {
        "bibliographic": lambda: Bibliographic(SEED),
        "ranges-5": lambda: Ranges(SEED, asked=5, width=0.3),
        "ranges-10": lambda: Ranges(SEED, asked=10, width=0.5),
        "ranges-wide": lambda: Ranges(SEED, asked=5, width=0.5),
        "mixed": lambda: Mixed(SEED),
    }
    if catalogue:
        known["catalogue"] = lambda: Catalogue(SEED, catalogue)
    return known


def grow(workload: Workload, sizes: Sequence[int]) -> Iterator[Row]:
    """One matcher that grows from size to size, measured at each. Queries are made beforehand and not kept; only the
    time within the matcher counts."""
    warm_up()
    matcher: Matcher[int] = Matcher()
    source = random.Random(SEED)
    rounds = 200 if isinstance(workload, Ranges) else 1_000
    training = list(workload.publications(1_000))
    publications = list(workload.publications(ROUNDS * rounds + 1_000))
    asked_for = workload.disjuncts(max(sizes) + CHANGES * len(sizes))
    built = 0.0
    for size in sizes:
        while len(matcher) < size:
            asked = list(islice(asked_for, min(CHUNK, size - len(matcher))))
            first = len(matcher)
            adding = [(first + i, disjuncts, source.randrange(PEERS)) for i, disjuncts in enumerate(asked)]
            started = time.process_time()
            matcher.add_many(adding)
            built += time.process_time() - started
        matcher.match_many(training[:rounds])
        started = time.process_time()
        matcher.reorganise()
        built += time.process_time() - started
        yield measure(matcher, publications, asked_for, built, rounds)


def measure(
    matcher: Matcher[int],
    publications: list[Publication],
    asked_for: Iterator[Sequence[Disjunct]],
    built: float,
    rounds: int,
) -> Row:
    rates, described_rates, found = [], [], 0
    for turn in range(ROUNDS):
        part = publications[turn * rounds : (turn + 1) * rounds]
        descriptions = [describe(triples)[0] for triples in part]
        half = len(part) // 2
        started = time.process_time()
        found += sum(map(len, matcher.match_many(part[:half])))
        rates.append(half / (time.process_time() - started))
        started = time.process_time()
        found += sum(map(len, matcher.match_many(descriptions[half:])))
        described_rates.append((len(part) - half) / (time.process_time() - started))
    singles = sorted(_timed(matcher.match_many, ([triples],)) for triples in publications[-rounds:])
    size = len(matcher)
    memory = matcher.memory_bytes() / size
    asked = list(islice(asked_for, CHANGES))
    added = median([_timed(matcher.add_disjuncts, (size + i, each)) for i, each in enumerate(asked)])
    removed = median([_timed(matcher.remove, (size + i,)) for i in range(len(asked))])
    return Row(
        size,
        built,
        tuple(rates),
        tuple(described_rates),
        1e6 * singles[len(singles) // 2],
        1e6 * singles[len(singles) * 99 // 100],
        found / (ROUNDS * rounds),
        memory,
        1e6 * added,
        1e6 * removed,
    )


def slope(rows: Sequence[Row]) -> str:
    """How the time of a notification grows with the number of subscriptions: the exponent between first and last."""
    first, last = rows[0], rows[-1]
    if first.size == last.size:
        return "-"
    growth = median(first.rates) / median(last.rates)
    return f"{log10(growth) / log10(last.size / first.size):.2f}"


HEADER = """\
| subscriptions | notifications a second, from triples | described beforehand | one alone: p50, p99 µs | matches each \
| bytes a subscription | build s | add, remove µs |
|--:|--:|--:|--:|--:|--:|--:|--:|"""


def line(row: Row) -> str:
    cells = [
        f"{row.size:,}",
        spread(row.rates),
        spread(row.described),
        f"{row.p50_us:,.0f}, {row.p99_us:,.0f}",
        f"{row.matches:,.1f}",
        f"{row.bytes_each:,.0f}",
        f"{row.build_s:,.2f}",
        f"{row.add_us:,.0f}, {row.remove_us:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def spread(rates: Sequence[float]) -> str:
    return f"{_short(median(rates))} ({_short(min(rates))}..{_short(max(rates))})"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def compare(size: int, names: Sequence[str]) -> Iterator[str]:
    """Others and the matcher on the same subscriptions, interleaved; all must find the same."""
    publications = list(Bibliographic(SEED + 1).publications(2_000))
    matcher: Matcher[int] = Matcher()
    for number, query in enumerate(Bibliographic(SEED).queries(size)):
        matcher.add(number, query)
    matcher.match_many(publications[:1_000])
    matcher.reorganise()
    for name in names:
        started = time.process_time()
        count = getattr(competitors, f"in_{name}")(Bibliographic(SEED).queries(size))
        if count is None:
            yield f"| {name} | {size:,} | not at hand | | | |"
            continue
        built = time.process_time() - started + _elsewhere_s(count)
        once = _timed(count, (publications[0],), elsewhere=count)
        number = max(1, min(100, int(4 / once)))
        theirs, mine, ratios = [], [], []
        for turn in range(3 if once < 20 else 1):
            part = publications[100 * turn : 100 * turn + number]
            started = _processor_s(count)
            found = [count(triples) for triples in part]
            theirs.append(len(part) / (_processor_s(count) - started))
            many = publications[100 * turn : 100 * turn + 1_000]
            started = time.process_time()
            matches = matcher.match_many(many)
            mine.append(len(many) / (time.process_time() - started))
            assert found == [len(each) for each in matches[: len(part)]], f"{name} and the matcher disagree"
            ratios.append(mine[-1] / theirs[-1])
        yield f"| {name} | {size:,} | {spread(theirs)} | {spread(mine)} | {spread(ratios)} | {built:,.1f} |"


COMPARED = """\
| who | subscriptions | notifications a second | the matcher in the same rounds | ratio | build s |
|:--|--:|--:|--:|--:|--:|"""


def poset(size: int) -> str:
    """The poset: all put in place at once, and then single changes at that size, of queries that are new and of some
    that somebody has asked for. Where it is small enough, also inserted one by one."""
    queries = list(Bibliographic(SEED).queries(size + CHANGES))
    for query in queries:
        _ = query.normal_form
    one_by_one = "-"
    if size <= MOST_ONE_BY_ONE:
        alone: IndexedPoset[int] = IndexedPoset()
        started = time.process_time()
        for number, query in enumerate(queries[:size]):
            alone.insert(query, number)
        one_by_one = f"{size / (time.process_time() - started):,.0f}"
    places: IndexedPoset[int] = IndexedPoset()
    started = time.process_time()
    places.insert_many((query, number) for number, query in enumerate(queries[:size]))
    rate = size / (time.process_time() - started)
    cells = [f"{size:,}", f"{len(places):,}", f"{len(places.roots):,}", f"{rate:,.0f}", one_by_one]
    new, known = [], []
    for query in queries[size:]:
        before = len(places)
        taken = _timed(places.insert, (query, size))
        (new if len(places) > before else known).append(taken)
    gone, left = [], []
    for query in queries[size:]:
        before = len(places)
        taken = _timed(places.remove, (query, size))
        (gone if len(places) < before else left).append(taken)
    cells += [f"{1e6 * _part(taken, 50):,.0f}, {1e6 * _part(taken, 99):,.0f}" for taken in (new, known, gone, left)]
    return f"| {' | '.join(cells)} |"


def _part(taken: Sequence[float], percent: int) -> float:
    return sorted(taken)[len(taken) * percent // 100]


POSET = """\
| subscriptions | places | roots | at once, a second | one by one, a second | a new place: p50, p99 µs \
| one more in a place | a place less | one less in a place |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def _timed(
    function: Callable[..., Any], arguments: tuple[Any, ...], elsewhere: competitors.Count | None = None
) -> float:
    started = _processor_s(elsewhere)
    function(*arguments)
    return _processor_s(elsewhere) - started


def _processor_s(count: competitors.Count | None) -> float:
    """The processor time so far, with that of the server that counts."""
    return time.process_time() + _elsewhere_s(count)


def _elsewhere_s(count: competitors.Count | None) -> float:
    return count.seconds() if isinstance(count, competitors.Served) else 0.0


def machine() -> str:
    model = next(
        (
            text.partition(":")[2].strip()
            for text in _read("/proc/cpuinfo").splitlines()
            if text.startswith("model name")
        ),
        platform.processor(),
    )
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}; load when the run began: {load}"


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""


def scaling(workload: Workload, sizes: Sequence[int]) -> Iterator[str]:
    yield f"{workload.name.capitalize()}. {machine()}.\n"
    yield HEADER
    rows = []
    for row in grow(workload, sizes):
        rows.append(row)
        yield line(row)
    yield f"\nThe time of a notification grows with the power {slope(rows)} of the number of subscriptions."


def beside(others: Sequence[str]) -> Iterator[str]:
    yield f"{machine()}.\n"
    yield COMPARED
    for choice in others:
        name, _, size = choice.partition(":")
        yield from compare(int(size), [name])
        gc.collect()


def posets(sizes: Sequence[int]) -> Iterator[str]:
    yield f"{machine()}.\n"
    yield POSET
    for size in sizes:
        yield poset(size)
        gc.collect()


OTHERS = """\
python:100000,sparql:1000,poset:10000,sqlite:10000,clips:10000,clips:100000,duckdb:100000,duckdb:1000000,\
postgresql:100000,postgresql:1000000"""


def main(words: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sections", nargs="*", help="workloads, others, poset; all if none is named")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--catalogue", default=os.environ.get("SUPERPEER_CATALOGUE"), help="N-Triples, maybe with .gz")
    parser.add_argument("--others", default=OTHERS, help="who, and with how many subscriptions")
    parser.add_argument("--posets", default="10000,100000,1000000")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    arguments = parser.parse_args(words)
    gc.disable()  # What is measured makes no cycles; looking for them among millions of objects is not its cost.
    sizes, poset_sizes = (
        [int(size) for size in text.split(",") if size] for text in (arguments.sizes, arguments.posets)
    )
    makers: dict[str, Callable[[], Iterator[str]]] = {
        name: partial(_scaling, make, sizes) for name, make in workloads(arguments.catalogue).items()
    }
    makers["others"] = partial(beside, [other for other in arguments.others.split(",") if other])
    makers["poset"] = partial(posets, poset_sizes)
    unknown = [name for name in arguments.sections if name not in makers]
    if unknown:
        parser.error(f"there is no section {unknown[0]}; there are {', '.join(makers)}")
    for name in arguments.sections or makers:
        print(f"\n## {name}\n", flush=True)
        lines = []
        for text in makers[name]():
            print(text, flush=True)
            lines.append(text)
        gc.collect()
        if arguments.write:
            write(name, lines)


def _scaling(make: Callable[[], Workload], sizes: Sequence[int]) -> Iterator[str]:
    return scaling(make(), sizes)


def write(name: str, lines: Sequence[str]) -> None:
    """Puts a table between its marks in the document."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    assert found, f"{DOCUMENT.name} has no place for {name}"
    tail = rest.partition(end)[2]
    DOCUMENT.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
