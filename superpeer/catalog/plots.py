"""Drawings for reports, as SVG written by hand: small, without scripts, in the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from superpeer.catalog.page import COLOURS, Html, clipped, escaped


def share_bar(parts: Sequence[int], names: Sequence[str], width: int = 220, height: int = 14) -> Html:
    """One bar cut into shares, for a cell of a table."""
    whole = sum(parts)
    if not whole:
        return Html("")
    pieces = []
    at = 0.0
    for number, name, colour in zip(parts, names, COLOURS, strict=False):
        if number:
            wide = width * number / whole
            pieces.append(
                f"<rect x='{at:.2f}' y='0' width='{max(wide, 0.6):.2f}' height='{height}' fill='{colour}'>"
                f"<title>{escaped(name)}: {number:,}</title></rect>"
            )
            at += wide
    return _svg(width, height, pieces)


def bars(rows: Sequence[tuple[str, int]], width: int = 460, label_width: int = 210, colour: str = COLOURS[0]) -> Html:
    """Horizontal bars with their names to the left and their numbers to the right."""
    if not rows:
        return Html("")
    step, top = 21, max(number for _, number in rows)
    room = width - label_width - 70
    pieces = []
    for i, (name, number) in enumerate(rows):
        y = i * step
        wide = max(room * number / max(top, 1), 1)
        pieces.append(
            f"<text x='{label_width - 8}' y='{y + 14}' text-anchor='end'>{escaped(clipped(name, label_width // 8))}"
            f"<title>{escaped(clipped(name, 400))}</title></text>"
            f"<rect x='{label_width}' y='{y + 3}' width='{wide:.1f}' height='{step - 7}' rx='2' fill='{colour}'/>"
            f"<text class='soft' x='{label_width + wide + 6:.1f}' y='{y + 14}'>{number:,}</text>"
        )
    height = len(rows) * step + 4
    return _svg(width, height, pieces)


def histogram(
    counts: Sequence[tuple[int, int]], width: int = 1000, height: int = 190, colour: str = COLOURS[0]
) -> Html:
    """Numbers along an axis with how often each occurs; neighbours are put together where there are too many."""
    if not counts:
        return Html("")
    low, high = counts[0][0], counts[-1][0]
    span = high - low + 1
    wide = max(1, -(-span // 120))
    bins: dict[int, int] = {}
    for value, number in counts:
        bins[(value - low) // wide] = bins.get((value - low) // wide, 0) + number
    top = max(bins.values())
    room, floor = width - 60, height - 24
    step = room / (-(-span // wide))
    pieces = [f"<line class='axis' x1='50' x2='{width - 10}' y1='{floor}' y2='{floor}'/>"]
    for i, number in sorted(bins.items()):
        tall = max((floor - 16) * number / top, 1)
        first = low + i * wide
        name = f"{first}" if wide == 1 else f"{first} to {min(first + wide - 1, high)}"
        pieces.append(
            f"<rect x='{50 + i * step:.2f}' y='{floor - tall:.2f}' width='{max(step - 1.2, 0.8):.2f}'"
            f" height='{tall:.2f}' fill='{colour}'><title>{name}: {number:,}</title></rect>"
        )
    every = max(1, round(span / 10))
    for value in range(low, high + 1, every):
        x = 50 + ((value - low) // wide + 0.5) * step
        pieces.append(f"<text class='soft' x='{x:.1f}' y='{height - 6}' text-anchor='middle'>{value}</text>")
    pieces.append(f"<text class='soft' x='44' y='20' text-anchor='end'>{top:,}</text>")
    pieces.append(f"<text class='soft' x='44' y='{floor}' text-anchor='end'>0</text>")
    return _svg(width, height, pieces)


def heat_map(names: Sequence[str], share: Sequence[Sequence[float | None]], width: int = 1000) -> Html:
    """Rows against columns; the darker, the nearer to 1. Columns are numbered as the rows are."""
    if not names:
        return Html("")
    label, step = 250, min(38.0, (width - 270) / len(names))
    side = step - 1.5
    pieces = []
    for i, name in enumerate(names):
        y = 22 + i * step
        pieces.append(
            f"<text x='{label - 8}' y='{y + step / 2 + 4:.1f}' text-anchor='end'>{escaped(clipped(name, 30))} "
            f"<tspan class='soft'>{i + 1}</tspan></text>"
            f"<text class='soft' x='{label + (i + 0.5) * step:.1f}' y='14' text-anchor='middle'>{i + 1}</text>"
        )
        for j, other in enumerate(names):
            value = share[i][j]
            if value is None:
                continue
            pieces.append(
                f"<rect x='{label + j * step:.1f}' y='{y:.1f}' width='{side:.1f}' height='{side:.1f}' rx='2'"
                f" style='fill:rgba(var(--cell),{0.06 + 0.94 * value:.3f})'>"
                f"<title>{escaped(name)} and {escaped(other)}: {100 * value:.1f} %</title></rect>"
            )
    height = 26 + len(names) * step
    return _svg(width, height, pieces)


def log_histogram(counts: Sequence[tuple[int, int]], axis: str, width: int = 480, height: int = 190) -> Html:
    """How many have 0, 1, 2 to 3, 4 to 7 ...: for numbers that differ by orders of magnitude. The height is
    logarithmic, too."""
    bins: dict[int, int] = {}
    for value, number in counts:
        bins[value.bit_length()] = bins.get(value.bit_length(), 0) + number
    if not bins:
        return Html("")
    top = max(log10(number + 1) for number in bins.values())
    last = max(bins)
    floor, step = height - 42, (width - 20) / (last + 1)
    pieces = [f"<line class='axis' x1='10' x2='{width - 10}' y1='{floor}' y2='{floor}'/>"]
    for i in range(last + 1):
        number = bins.get(i, 0)
        tall = (floor - 22) * log10(number + 1) / max(top, 0.1)
        low = 0 if i == 0 else 1 << (i - 1)
        high = 0 if i == 0 else (1 << i) - 1
        name = _label(low) if low == high or step < 60 else f"{_label(low)}–{_label(high)}"
        x = 10 + i * step
        shown = name if step > 40 or i % 2 == 0 else ""
        pieces.append(
            f"<rect x='{x + 1:.1f}' y='{floor - tall:.1f}' width='{step - 3:.1f}' height='{tall:.1f}' rx='2'"
            f" fill='{COLOURS[0]}'/>"
            f"<text class='soft' x='{x + step / 2:.1f}' y='{floor - tall - 5:.1f}' text-anchor='middle'>"
            f"{_compact(number) if number else ''}</text>"
            f"<text class='soft' x='{x + step / 2:.1f}' y='{floor + 15}' text-anchor='middle'>{shown}</text>"
        )
    said = escaped(f"{axis} (both ways logarithmic)")
    pieces.append(f"<text class='soft' x='{width / 2}' y='{height - 6}' text-anchor='middle'>{said}</text>")
    return _svg(width, height, pieces)


def _svg(width: int, height: float, pieces: Sequence[str]) -> Html:
    size = f"viewBox='0 0 {width} {height:.0f}' width='{width}' height='{height:.0f}'"
    return Html(f"<svg {size} role='img'>{''.join(pieces)}</svg>")


def _label(number: int) -> str:
    return f"{number:,}" if number < 10_000 else _compact(number)


def _compact(number: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
