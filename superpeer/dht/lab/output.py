"""Findings as files: CSV for programs, PNG for people."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from superpeer.dht.errors import DhtError
from superpeer.dht.lab.experiment import Figure, Finding, Spread, Table

MARKERS = "osD^vPX*<>h"
MOST_INSIDE = 4
"""Of more curves the names stand beside the figure."""
HEADROOM = 1.12
TABLE_WIDTH = 10.4
ENDS = ("least", "most")


def write(findings: Iterable[Finding], directory: Path) -> list[Path]:
    """Writes each finding under its name; the files."""
    make_directory(directory)
    written = []
    try:
        for finding in findings:
            written.append(_write_csv(finding, directory / f"{finding.name}.csv"))
            written.append(_draw(finding, directory / f"{finding.name}.png"))
    except OSError as error:
        raise DhtError(f"cannot write to {directory}: {error.strerror or error}") from error
    return written


def make_directory(directory: Path) -> None:
    """Also to be called before anything has been computed in vain."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DhtError(f"cannot write to {directory}: {error.strerror or error}") from error


def require_plotting() -> None:
    """Says what to install, before anything has been computed in vain."""
    try:
        import matplotlib as mpl  # noqa: F401
        import numpy as np  # noqa: F401
    except ImportError as error:
        raise DhtError("the laboratory draws with matplotlib; install superpeer[lab]") from error


def _write_csv(finding: Finding, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if isinstance(finding, Table):
            writer.writerow(finding.columns)
            writer.writerows([_cell(cell) for cell in row] for row in finding.rows)
        else:
            _write_curves(writer, finding)
    return path


def _write_curves(writer: Any, figure: Figure) -> None:
    """A line for each x; for each curve its value and, where there were several seeds, the least and the most."""
    columns: dict[str, dict[float, float]] = {}
    for name, points in figure.series.items():
        columns[name] = dict(points)
        for number, end in enumerate(ENDS if figure.spreads else (), 1):
            spreads = zip(points, figure.spreads[name], strict=True)
            columns[f"{name}, {end}"] = {x: spread[number] for (x, _), spread in spreads}
    levels = figure.lines.values()
    writer.writerow([figure.x, *columns, *(f"level {name}" for name in figure.lines)])
    for x in sorted({x for column in columns.values() for x in column}):
        found = (_short(column[x]) if x in column else "" for column in columns.values())
        writer.writerow([_short(x), *found, *map(_short, levels)])


def _short(number: float) -> str:
    return f"{number:.6g}"


def _cell(cell: str | float | Spread) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Spread):
        least, mean, most = f"{cell.least:.4g}", f"{cell.mean:.4g}", f"{cell.most:.4g}"
        return mean if least == most else f"{mean} ({least} to {most})"
    return f"{cell:.4g}"


def _draw(finding: Finding, path: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    if isinstance(finding, Table):
        size = TABLE_WIDTH, 0.34 * len(finding.rows) + 1.3
    else:
        size = (8.4 if len(finding.series) > MOST_INSIDE else 6.4), 4.2
    canvas = Canvas(figsize=size, dpi=110)
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    axes.set_title(finding.title, fontsize=11)
    if isinstance(finding, Table):
        _draw_table(axes, finding)
    else:
        _draw_curves(axes, finding)
    if finding.reported:
        canvas.text(0.01, 0.012, f"The paper: {finding.reported}", fontsize=8, color="0.3")
    canvas.tight_layout(rect=(0, 0.05 if finding.reported else 0, 1, 1))
    # Without the date and the version the same numbers give the same file.
    canvas.savefig(path, metadata={"Software": None})
    return path


def _draw_curves(axes: Any, figure: Figure) -> None:
    highest = max([y for points in figure.series.values() for _, y in points] + list(figure.lines.values()), default=1)
    for number, (name, points) in enumerate(figure.series.items()):
        xs, ys = zip(*points, strict=True) if points else ((), ())
        (line,) = axes.plot(xs, ys, marker=MARKERS[number % len(MARKERS)], markersize=4, linewidth=1.2, label=name)
        if figure.spreads:
            _, least, most = zip(*figure.spreads[name], strict=True) if points else ((), (), ())
            axes.fill_between(xs, least, most, color=line.get_color(), alpha=0.2, linewidth=0)
            highest = max([highest, *most])
    for name, level in figure.lines.items():
        axes.axhline(level, color="0.5", linewidth=0.9, linestyle="--")
        axes.annotate(name, (0.99, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    if figure.log_x:
        _mark(axes.xaxis, "x", sorted({x for points in figure.series.values() for x, _ in points}))
    if figure.log_y:
        _mark(axes.yaxis, "y", None)
    else:
        axes.set_ylim(0, highest * HEADROOM)
    axes.grid(alpha=0.3)
    if len(figure.series) > MOST_INSIDE:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    elif len(figure.series) > 1 or any(figure.series):
        axes.legend(fontsize=8, framealpha=0.9)


def _mark(axis: Any, which: str, at: list[float] | None) -> None:
    """A logarithmic axis with plain numbers: those that were measured, or 1, 2 and 5 of each power of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    getattr(axis.axes, f"set_{which}scale")("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)) if at is None else FixedLocator(at))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _draw_table(axes: Any, table: Table) -> None:
    axes.axis("off")
    cells = [list(map(_cell, row)) for row in table.rows]
    drawn = axes.table(cellText=cells, colLabels=list(table.columns), loc="center", cellLoc="right")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.auto_set_column_width(list(range(len(table.columns))))
    drawn.scale(1, 1.25)
