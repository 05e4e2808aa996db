"""DHTrie's messages: how many a publication takes as the network grows, with and without FCache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.lab.bibliography import Bibliography
from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.simulation import Fabric
from superpeer.dht.words import Sending, Words

SIZES = (64, 256, 1_024, 4_096, 10_240, 102_400)
"""The last is of the paper's order: hundreds of thousands."""
TABLES = {"chord": "Chord", "cube": "the cube"}
PUBLISHERS = 2
WARMING, MEASURED, SUBSCRIPTIONS = 600, 40, 500
DOCUMENT_WORDS = 200


class Varied(Enum):
    """What a point belongs to a series of."""

    NODES = "nodes"
    WORDS = "words of the abstract"
    WARMING = "documents that a publisher has published before"


@dataclass(frozen=True, slots=True)
class Point:
    table: str
    nodes: int
    sending: Sending
    is_cached: bool
    words: int
    subscriptions: int
    warming: int
    measured: int
    seed: int
    varied: Varied = Varied.NODES


@dataclass(frozen=True, slots=True)
class Counted:
    """Of one publication, on average."""

    messages: float
    kilobytes: float


def points(scale: float, seed: int) -> list[Point]:
    numbers = scaled(SUBSCRIPTIONS, scale, 20), scaled(WARMING, scale, 4), scaled(MEASURED, scale, 4)
    made = [
        Point(table, nodes, sending, is_cached, DOCUMENT_WORDS, *numbers, seed)
        for nodes in SIZES
        if nodes <= max(SIZES) * scale or nodes == min(SIZES)
        for table in TABLES
        for sending in Sending
        for is_cached in (False, True)
    ]
    nodes = min(max(point.nodes for point in made), 1_024)
    subscriptions, warming, measured = numbers
    for is_cached in (False, True):
        for words in (50, 100, DOCUMENT_WORDS, 400, 800):
            sizes = words, subscriptions, warming, measured
            made.append(Point("chord", nodes, Sending.MULTISEND, is_cached, *sizes, seed, Varied.WORDS))
    for sending in Sending:
        for is_cached, warmed in ((False, 0), *((True, number) for number in (0, 20, 100, 600, 2_000))):
            sizes = DOCUMENT_WORDS, subscriptions, scaled(warmed, scale, 0), measured
            made.append(Point("chord", nodes, sending, is_cached, *sizes, seed, Varied.WARMING))
    return made


def measure(point: Point) -> Counted:
    table = (Chord if point.table == "chord" else CubeTable)(range(point.nodes))
    fabric = Fabric(table, point.seed)
    strategy = Words(fabric, sending=point.sending, cached_words=1_000_000 if point.is_cached else 0)
    random = Random(point.seed)
    bibliography = Bibliography(point.seed)
    for number in range(point.subscriptions):
        strategy.subscribe(random.randrange(point.nodes), str(number), qel.parse(bibliography.two_words()))
    publishers = random.sample(range(point.nodes), PUBLISHERS)
    for number in range(point.warming * point.is_cached):
        strategy.publish(publishers[number % PUBLISHERS], bibliography.article(number, point.words))
    before, before_bytes = fabric.messages["publish"], fabric.bytes["publish"]
    for number in range(point.measured):
        strategy.publish(publishers[number % PUBLISHERS], bibliography.article(10**6 + number, point.words))
    messages = (fabric.messages["publish"] - before) / point.measured
    return Counted(messages, (fabric.bytes["publish"] - before_bytes) / point.measured / 1_000)


def findings(results: Sequence[Result]) -> Iterable[Finding]:
    sized = [(point, counted) for point, counted in results if point.varied is Varied.NODES]
    for table, where in TABLES.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for point, counted in sized:
            if point.table == table:
                curve = point.sending.value + (" with FCache" if point.is_cached else "")
                series.setdefault(curve, []).append((point.nodes, counted.messages))
        yield Figure(
            f"words-messages-{table}",
            f"DHTrie: a publication of {DOCUMENT_WORDS} words on {where}",
            "nodes",
            "messages per publication",
            series,
            "almost constant as the network grows; FCache saves a factor of 4 with all methods",
            log_x=True,
        )
    factors: dict[str, list[tuple[float, float]]] = {}
    by_key = {(p.table, p.nodes, p.sending, p.is_cached): counted.messages for p, counted in sized}
    for (table, nodes, sending, is_cached), messages in by_key.items():
        if not is_cached:
            saved = messages / by_key[table, nodes, sending, True]
            factors.setdefault(f"{sending.value}, {TABLES[table]}", []).append((nodes, saved))
    yield Figure(
        "words-factor",
        "DHTrie: what FCache saves, publications of 200 words",
        "nodes",
        "times fewer messages with FCache",
        factors,
        "a factor of 4 with all methods",
        log_x=True,
        lines={"the paper's 4": 4},
    )
    yield from _lengths([result for result in results if result[0].varied is Varied.WORDS])
    yield from _warming([result for result in results if result[0].varied is Varied.WARMING])


def _lengths(results: Sequence[Result]) -> Iterable[Finding]:
    lengths: dict[str, list[tuple[float, float]]] = {}
    for point, counted in results:
        curve = "with FCache" if point.is_cached else "multi-send"
        lengths.setdefault(curve, []).append((point.words, counted.messages))
    yield Figure(
        "words-length",
        f"DHTrie: length of documents, Chord with {results[0][0].nodes:,} nodes",
        Varied.WORDS.value,
        "messages per publication",
        lengths,
        "little sensitivity to the size of documents",
    )


def _warming(results: Sequence[Result]) -> Iterable[Finding]:
    """How much FCache saves depends on what it has seen, which the paper does not say."""
    without = {point.sending: counted.messages for point, counted in results if not point.is_cached}
    factors: dict[str, list[tuple[float, float]]] = {}
    for point, counted in results:
        if point.is_cached:
            saved = without[point.sending] / counted.messages
            factors.setdefault(point.sending.value, []).append((point.warming / PUBLISHERS, saved))
    yield Figure(
        "words-warming",
        f"DHTrie: FCache by what it has seen, Chord with {results[0][0].nodes:,} nodes",
        Varied.WARMING.value,
        "times fewer messages with FCache",
        factors,
        "a factor of 4; it does not say after how many documents",
        lines={"the paper's 4": 4},
    )


MESSAGES = Experiment(
    "words-messages",
    "Messages per publication against network size, with and without FCache",
    "Tryfonopoulos, Idreos and Koubarakis, Publish/Subscribe Functionalities for Future Digital Libraries: Section 3",
    points,
    measure,
    findings,
)
EXPERIMENTS = (MESSAGES,)
