"""DHTrie's messages: how many a publication takes as the network grows, with and without FCache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import qel
from superpeer.dht.chord import Chord
from superpeer.dht.cube_table import CubeTable
from superpeer.dht.lab.bibliography import Bibliography
from superpeer.dht.lab.experiment import Experiment, Figure, Finding, Result, scaled
from superpeer.dht.simulation import Fabric
from superpeer.dht.words import Sending, Words

SIZES = (64, 256, 1_024, 4_096, 10_240)
PUBLISHERS = 2
WARMING, MEASURED, SUBSCRIPTIONS = 600, 40, 500
DOCUMENT_WORDS = 200


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
        for table in ("chord", "cube")
        for sending in Sending
        for is_cached in (False, True)
    ]
    largest = max(point.nodes for point in made)
    lengths = (50, 100, 400, 800)
    made += [
        Point("chord", min(largest, 1_024), Sending.MULTISEND, is_cached, words, *numbers, seed)
        for words in lengths
        for is_cached in (False, True)
    ]
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
    sized = [(point, counted) for point, counted in results if point.words == DOCUMENT_WORDS]
    for table in ("chord", "cube"):
        series: dict[str, list[tuple[float, float]]] = {}
        for point, counted in sized:
            if point.table == table:
                curve = point.sending.value + (" with FCache" if point.is_cached else "")
                series.setdefault(curve, []).append((point.nodes, counted.messages))
        yield Figure(
            f"words-messages-{table}",
            f"DHTrie: a publication of {DOCUMENT_WORDS} words on {'Chord' if table == 'chord' else 'the cube'}",
            "nodes",
            "messages",
            series,
            "almost constant as the network grows; FCache saves a factor of 4 with all methods",
            log_x=True,
        )
    factors: dict[str, list[tuple[float, float]]] = {}
    by_key = {(p.table, p.nodes, p.sending, p.is_cached): counted.messages for p, counted in sized}
    for (table, nodes, sending, is_cached), messages in by_key.items():
        if not is_cached:
            saved = messages / by_key[table, nodes, sending, True]
            factors.setdefault(f"{sending.value}, {table}", []).append((nodes, saved))
    yield Figure(
        "words-factor",
        "DHTrie: how many times fewer messages with FCache",
        "nodes",
        "factor",
        factors,
        "about 4 with all methods",
        log_x=True,
        lines={"4": 4},
    )
    lengths: dict[str, list[tuple[float, float]]] = {}
    nodes = max(point.nodes for point, _ in results if point.words != DOCUMENT_WORDS)
    for point, counted in results:
        if point.nodes == nodes and point.table == "chord" and point.sending is Sending.MULTISEND:
            lengths.setdefault("with FCache" if point.is_cached else "multi-send", []).append(
                (point.words, counted.messages)
            )
    yield Figure(
        "words-length",
        f"DHTrie: length of documents, Chord with {nodes} nodes",
        "words of the abstract",
        "messages",
        {curve: sorted(found) for curve, found in lengths.items()},
        "little sensitivity to the size of documents",
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
