"""The report of a poset of subscriptions, and the drawing of its largest component."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from superpeer.catalog.page import (
    COLOURS,
    Html,
    Section,
    clipped,
    code,
    columns,
    escaped,
    join,
    note,
    page,
    percent,
    table,
)
from superpeer.catalog.plots import bars, log_histogram

if TYPE_CHECKING:
    from superpeer.catalog.posets import PosetStatistics

BOX_WIDTH, BOX_HEIGHT, GAP = 200, 64, 12
LINE_CHARACTERS = 31
LAYER = 104
IN_ROW = 5
SHOWN_DEPTHS = 18
SHOWN_CHAIN = 16
NAME_STYLE = "fill:#1d2733;font:11px system-ui,sans-serif"
NOTE_STYLE = "fill:#5b6875;font:10px system-ui,sans-serif"


def write_report(found: PosetStatistics, drawing: str) -> str:
    figures = [
        ("subscriptions", f"{found.asked:,}"),
        ("places in the poset", f"{found.places:,}"),
        ("roots", f"{found.roots:,}"),
        ("kept off the wire", f"{100 * found.kept_off:.1f} %"),
        ("deepest chain", f"{found.depth + 1:,}"),
        ("width", f"{found.width:,}"),
    ]
    rows: list[tuple[str, object]] = [
        ("subscriptions", found.asked),
        ("different in meaning", found.places),
        ("the same as another", found.asked - found.places),
        ("roots, which alone are forwarded", found.roots),
        ("roots that cover nothing and that nothing covers", found.alone),
        ("pairs of which one covers the other", found.pairs),
        ("links between neighbours", found.links),
        ("components", found.components),
        ("places in the largest component", found.largest_component),
        ("lines that are no subscription", found.rejected),
    ]
    covering = (
        "A super-peer forwards a subscription only where no more general one went before. Of "
        f"{found.asked:,} subscriptions {found.roots:,} are forwarded:"
        f" {percent(found.asked - found.places, found.asked)} ask"
        f" for what another asks for, and {percent(found.places - found.roots, found.asked)} are covered by a more"
        " general one."
    )
    shape = "Depth counts from the roots; children and parents are neighbours in the Hasse diagram."
    depth_rows = [(f"depth {depth}", number) for depth, number in found.depths[:SHOWN_DEPTHS]]
    deeper = sum(number for _, number in found.depths[SHOWN_DEPTHS:])
    depths = [bars(depth_rows, 760, 110, COLOURS[0])]
    if deeper:
        depths.append(note(f"{deeper:,} more places are deeper, down to depth {found.depth:,}."))
    spread = columns(
        [
            log_histogram(found.fan_out, "children of a place"),
            log_histogram(found.fan_in, "parents of a place"),
        ]
    )
    general = table(
        ("subscription", "covers"), [(code(clipped(text, 140)), n) for text, n in found.most_general], frozenset({1})
    )
    chain = table(("subscription",), [(code(clipped(text, 160)),) for text in found.chain[:SHOWN_CHAIN]])
    if len(found.chain) > SHOWN_CHAIN:
        chain = join([chain, note(f"{len(found.chain) - SHOWN_CHAIN:,} more follow.")])
    sections = [
        Section("What covering saves", covering, table(("", "number"), rows, frozenset({1}))),
        Section("Shape", shape, join([*depths, spread])),
        Section("The most general subscriptions", "Those that cover most others.", general),
    ]
    if found.chain:
        sections.append(Section("A longest chain", "Each covers the next.", chain))
    if drawing:
        text = (
            "The place with the most neighbours, and of those around it some that cover most, each below what covers"
            " it. The number is how many a place covers in all."
        )
        parts = [Html(f"<div class='scroll'>{drawing}</div>")]
        sections.append(
            Section("The largest component", text, join([*parts, note("The same drawing is in poset.svg.")]))
        )
    subtitle = f"{found.asked:,} subscriptions, ordered by which covers which"
    return page("Poset of subscriptions", subtitle, figures, sections)


def draw(places: list[tuple[int, int, int, str]], links: list[tuple[int, int]], whole: int) -> str:
    """Places (number, layer, how many it covers, text) in their layers, the general ones on top."""
    if not places:
        return ""
    layers = [[place for place in places if place[1] == layer] for layer in sorted({place[1] for place in places})]
    at: dict[int, tuple[float, float]] = {}
    widest = max(map(len, layers))
    width = max(2, min(widest, IN_ROW)) * (BOX_WIDTH + GAP)
    y = 20.0
    parents: dict[int, list[int]] = {}
    for above, below in links:
        parents.setdefault(below, []).append(above)
    for layer in layers:
        # Under the middle of their parents, as far as there is room.
        layer.sort(key=lambda place: (_middle(parents.get(place[0], []), at), -place[2], place[0]))
        for start in range(0, len(layer), IN_ROW):
            row = layer[start : start + IN_ROW]
            for i, place in enumerate(row):
                at[place[0]] = (width * (i + 0.5) / len(row), y)
            y += BOX_HEIGHT + 12 if start + IN_ROW < len(layer) else LAYER
    height = y - LAYER + BOX_HEIGHT + 30
    pieces = []
    for above, below in links:
        (x1, y1), (x2, y2) = at[above], at[below]
        y1 += BOX_HEIGHT
        middle = (y1 + y2) / 2
        pieces.append(
            f"<path d='M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}' fill='none'"
            " stroke='#8fa1b3' stroke-width='1.1'/>"
        )
    for number, _, covers, text in places:
        x, top = at[number]
        said = _short(text)
        pieces.append(
            f"<g><title>{escaped(text)}</title><rect x='{x - BOX_WIDTH / 2:.1f}' y='{top:.1f}' width='{BOX_WIDTH}'"
            f" height='{BOX_HEIGHT}' rx='5' fill='#eef3f8' stroke='{COLOURS[0]}'/>"
            f"{_lines(said, x, top)}"
            f"<text x='{x:.1f}' y='{top + BOX_HEIGHT - 7:.1f}' text-anchor='middle' style='{NOTE_STYLE}'>"
            f"covers {covers:,}</text></g>"
        )
    caption = f"{len(places):,} of {whole:,} places"
    pieces.append(
        f"<text x='{GAP}' y='{height - 8:.0f}' style='fill:#8fa1b3;font:11px system-ui,sans-serif'>{caption}</text>"
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}'"
        f" height='{height:.0f}' role='img'>{''.join(pieces)}</svg>"
    )


def _lines(text: str, x: float, top: float) -> str:
    """A text on up to three lines of a box."""
    lines = wrap(text, LINE_CHARACTERS, max_lines=3, placeholder=" …", break_long_words=True) or [""]
    starts = [top + 29 - 7 * (len(lines) - 1) + 14 * i for i in range(len(lines))]
    return "".join(
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='middle' style='{NAME_STYLE}'>{escaped(line)}</text>"
        for y, line in zip(starts, lines, strict=True)
    )


def _middle(parents: list[int], at: dict[int, tuple[float, float]]) -> float:
    known = [at[parent][0] for parent in parents if parent in at]
    return sum(known) / len(known) if known else 0.0


def _short(text: str) -> str:
    """What a query asks for, without its triples: they are in the title."""
    flat = " ".join(text.split())
    parts = [part.strip(" ()") for part in flat.replace("∧", "&").split("&")]
    tests = [part for part in parts if "t(" not in part and part]
    return " & ".join(tests) if tests else flat.partition(":")[2].strip()
