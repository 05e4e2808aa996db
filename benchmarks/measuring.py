"""How things are measured: several rounds, the median and the spread, beside a baseline in the same rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table

ROUNDS = 5


@dataclass(frozen=True)
class Rate:
    """Operations a second over several rounds."""

    per_round: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.per_round)

    def __str__(self) -> str:
        return f"{self.median:,.0f} ({min(self.per_round):,.0f}..{max(self.per_round):,.0f})"


def rates(work: dict[str, Callable[[], int]], rounds: int = ROUNDS) -> dict[str, Rate]:
    """Runs each piece of work once a round, interleaved; each returns how many operations it did."""
    measured: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, do in work.items():
            started = time.perf_counter()
            operations = do()
            measured[name].append(operations / (time.perf_counter() - started))
    return {name: Rate(tuple(found)) for name, found in measured.items()}


def print_rates(title: str, unit: str, measured: dict[str, Rate], baseline: str) -> None:
    """A table with each rate and its ratio to the baseline's, round by round."""
    table = Table(title=title, title_justify="left")
    table.add_column("what", overflow="fold")
    table.add_column(f"{unit} a second: median (least..most)", justify="right")
    table.add_column(f"ratio to {baseline}", justify="right")
    for name, rate in measured.items():
        ratios = [mine / other for mine, other in zip(rate.per_round, measured[baseline].per_round, strict=True)]
        table.add_row(name, str(rate), f"{median(ratios):,.3g}")
    Console(width=120).print(table)
