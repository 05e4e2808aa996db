"""Findings as files: CSV for programs, PNG for people."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from superpeer.dht.errors import DhtError
from superpeer.dht.lab.experiment import Figure, Finding, Table

MARKERS = "osD^vPX*<>h"
MOST_INSIDE = 4
"""Of more curves the names stand beside the figure."""


def write(findings: Iterable[Finding], directory: Path) -> list[Path]:
    """Writes each finding under its name; the files."""
    findings = list(findings)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        written = []
        for finding in findings:
            written.append(_write_csv(finding, directory / f"{finding.name}.csv"))
            written.append(_draw(finding, directory / f"{finding.name}.png"))
    except OSError as error:
        raise DhtError(f"cannot write to {directory}: {error.strerror or error}") from error
    return written


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
            writer.writerows(finding.rows)
        else:
            names = list(finding.series)
            columns = [dict(finding.series[name]) for name in names]
            levels = finding.lines.values()
            writer.writerow([finding.x, *names, *(f"level {name}" for name in finding.lines)])
            for x in sorted({x for column in columns for x in column}):
                found = (_short(column[x]) if x in column else "" for column in columns)
                writer.writerow([_short(x), *found, *map(_short, levels)])
    return path


def _short(number: float) -> str:
    return f"{number:.6g}"


def _draw(finding: Finding, path: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    wide = isinstance(finding, Table)
    if isinstance(finding, Table):
        size = 9.6, 0.4 * len(finding.rows) + 1.2
    else:
        size = (8.0 if len(finding.series) > MOST_INSIDE else 6.4), 4.2
    canvas = Canvas(figsize=size, dpi=110)
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    axes.set_title(finding.title, fontsize=11)
    if isinstance(finding, Table):
        _draw_table(axes, finding)
    else:
        _draw_curves(axes, finding)
    canvas.text(0.01, 0.01, f"Reported: {finding.reported}", fontsize=7.5, color="0.35", wrap=True)
    canvas.tight_layout(rect=(0, 0.02 if wide else 0.055, 1, 1))
    # Without the date and the version the same numbers give the same file.
    canvas.savefig(path, metadata={"Software": None})
    return path


def _draw_curves(axes: Any, figure: Figure) -> None:
    for number, (name, points) in enumerate(figure.series.items()):
        xs, ys = zip(*points, strict=True) if points else ((), ())
        axes.plot(xs, ys, marker=MARKERS[number % len(MARKERS)], markersize=4, linewidth=1.2, label=name)
    for name, level in figure.lines.items():
        axes.axhline(level, color="0.6", linewidth=0.8, linestyle="--")
        axes.annotate(name, (0.99, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    if figure.log_x:
        axes.set_xscale("log", base=2)
    if figure.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if len(figure.series) > MOST_INSIDE:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    elif figure.series:
        axes.legend(fontsize=8)


def _draw_table(axes: Any, table: Table) -> None:
    axes.axis("off")
    cells = [[cell if isinstance(cell, str) else _short(cell) for cell in row] for row in table.rows]
    drawn = axes.table(cellText=cells, colLabels=list(table.columns), loc="center", cellLoc="right")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.auto_set_column_width(list(range(len(table.columns))))
    drawn.scale(1, 1.25)
