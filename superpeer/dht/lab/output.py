"""Findings as files: CSV for programs, PNG for people."""

from __future__ import annotations

import csv
import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from superpeer.dht.errors import DhtError
from superpeer.dht.lab.experiment import Figure, Finding, Spread, Table

STYLES: Sequence[tuple[str, str, Any]] = (
    ("#0072b2", "o", "-"),
    ("#e69f00", "s", (0, (6, 2))),
    ("#000000", "D", (0, (1, 1.5))),
    ("#009e73", "^", (0, (6, 2, 1, 2))),
    ("#cc79a7", "v", (0, (3, 1.5))),
    ("#d55e00", "P", (0, (6, 1.5, 1, 1.5, 1, 1.5))),
    ("#56b4e9", "X", (0, (10, 2))),
    ("#7f7f7f", "*", (0, (2, 3))),
)
"""Colour, marker and dashes of each curve, told apart in grey and by the colour-blind."""
WIDEST, NARROWEST = 2.6, 1.2
"""Earlier curves are wider, so that they show under others on the same line."""
HEADROOM = 1.08
CHARACTERS_PER_INCH = 15
MOST_MARKS = 8
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
    except (FileExistsError, NotADirectoryError) as error:
        raise DhtError(f"cannot write to {directory}, which is not a directory") from error
    except OSError as error:
        raise DhtError(f"cannot write to {directory}: {error.strerror or error}") from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise DhtError(f"cannot write to {directory}: it belongs to somebody else")


def require_plotting() -> None:
    """Says what to install, before anything has been computed in vain."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise DhtError('the laboratory draws with matplotlib; install it with: pip install "superpeer[lab]"') from error


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
        size = _width_of(finding), 0.27 * len(finding.rows) + 1.3
    else:
        size = (8.6 if len(finding.series) > 1 else 6.6), 4.2
    canvas = Canvas(figsize=size, dpi=110, layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    canvas.suptitle(finding.title, fontsize=12)
    if isinstance(finding, Table):
        _draw_table(axes, finding)
    else:
        _draw_curves(axes, finding)
        if len(finding.series) > 1:
            canvas.legend(fontsize=9, loc="outside right center", frameon=False, handlelength=3.5)
    if finding.reported:
        said = textwrap.fill(f"The paper: {finding.reported}.", int(size[0] * CHARACTERS_PER_INCH))
        canvas.supxlabel(said, x=0.01, ha="left", fontsize=9, color="0.25")
    # Without the date and the version the same numbers give the same file.
    canvas.savefig(path, metadata={"Software": None})
    return path


def _draw_curves(axes: Any, figure: Figure) -> None:
    highest = max([y for points in figure.series.values() for _, y in points] + list(figure.lines.values()), default=1)
    for number, (name, points) in enumerate(figure.series.items()):
        xs, ys = zip(*points, strict=True) if points else ((), ())
        colour, marker, dashes = STYLES[number % len(STYLES)]
        width = max(WIDEST - 0.5 * number, NARROWEST)
        axes.plot(
            xs, ys, color=colour, marker=marker, linestyle=dashes, linewidth=width, markersize=3 + width, label=name
        )
        if figure.spreads:
            _, least, most = zip(*figure.spreads[name], strict=True) if points else ((), (), ())
            axes.fill_between(xs, least, most, color=colour, alpha=0.18, linewidth=0)
            highest = max([highest, *most])
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_plainly())
    if figure.log_x:
        _mark(axes.xaxis, "x", sorted({x for points in figure.series.values() for x, _ in points}))
    if figure.log_y:
        _mark(axes.yaxis, "y", None)
    else:
        axes.set_ylim(0, highest * HEADROOM)
    axes.grid(alpha=0.3)
    _draw_marks(axes, figure)


def _draw_marks(axes: Any, figure: Figure) -> None:
    """What there is to compare with, named where no curve is: levels beside the axes, places above them."""
    style: dict[str, Any] = {"color": "0.45", "linewidth": 1, "linestyle": "--", "zorder": 1}
    text: dict[str, Any] = {"fontsize": 8, "color": "0.3", "annotation_clip": False}
    for name, level in figure.lines.items():
        axes.axhline(level, **style)
        beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(name, (1, level), xycoords=("axes fraction", "data"), **beside, **text)
    for name, place in figure.places.items():
        axes.axvline(place, **style)
        above = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center"}
        axes.annotate(name, (place, 1), xycoords=("data", "axes fraction"), **above, **text)


def _mark(axis: Any, which: str, at: list[float] | None) -> None:
    """A logarithmic axis with plain numbers: those that were measured, or where these are many or none, 1, 2 and 5 of
    each power of ten."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator

    getattr(axis.axes, f"set_{which}scale")("log")
    evenly = LogLocator(subs=(1, 2, 5), numticks=99)
    axis.set_major_locator(evenly if at is None or len(at) > MOST_MARKS else FixedLocator(at))
    axis.set_major_formatter(_plainly())
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _plainly() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:,g}")


def _width_of(table: Table) -> float:
    """Enough for the widest cell of each column."""
    columns = zip(table.columns, *([*map(_cell, row)] for row in table.rows), strict=True)
    return sum(0.075 * max(map(len, column)) + 0.2 for column in columns) + 0.4


def _draw_table(axes: Any, table: Table) -> None:
    axes.axis("off")
    cells = [list(map(_cell, row)) for row in table.rows]
    drawn = axes.table(cellText=cells, colLabels=list(table.columns), loc="center", cellLoc="right", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    drawn.auto_set_column_width(list(range(len(table.columns))))
    drawn.scale(1, 1.4)
    for (row, column), cell in drawn.get_celld().items():
        cell.set_edgecolor("0.75")
        if row == 0:
            cell.set_text_props(weight="bold")
        elif isinstance(table.rows[row - 1][column], str):
            cell.set_text_props(ha="left")
