"""The report of coverage: what subscriptions match, and what each level of advertising spares a peer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from superpeer.catalog.page import (
    COLOURS,
    Html,
    Section,
    badge,
    clipped,
    code,
    heading,
    join,
    legend,
    page,
    percent,
    table,
)
from superpeer.catalog.plots import log_histogram, share_bar

if TYPE_CHECKING:
    from superpeer.catalog.covering import Covered

PARTS = ("forwarded, and something matches", "forwarded for nothing", "not forwarded")


def write_report(found: Covered) -> str:
    figures = [
        ("subscriptions", f"{found.asked:,}"),
        ("distinct", f"{found.distinct:,}"),
        ("match something", percent(found.matched, found.distinct)),
        ("resources that match", percent(found.resources_matched, found.resources)),
        ("notifications", f"{found.notifications:,}"),
    ]
    text = (
        "How many subscriptions reach each peer when it advertises at a level. Flooding sends all of them. What is"
        " forwarded for nothing is the price of a coarse advertisement; what is missed would be a lost notification,"
        " and must be none."
    )
    spread = (
        "To the left, how many resources a subscription matches; to the right, how many subscriptions a resource"
        " matches. Both axes are logarithmic: a bar stands for the numbers from its own to that of the next."
    )
    sections = [
        Section("What each level is worth", text, _routing(found)),
        Section("Who is notified of how much", spread, _spread(found)),
    ]
    if found.most:
        sections.append(
            Section("Subscriptions that match most", "Ties are in the order of the alphabet.", _most(found))
        )
    resources = "resource" if found.resources == 1 else "resources"
    subtitle = f"{found.asked:,} subscriptions and {found.resources:,} {resources}"
    if found.rejected:
        lines = "line is" if found.rejected == 1 else "lines are"
        subtitle += f"; {found.rejected:,} {lines} no subscription, see the table rejected"
    return page("Coverage", subtitle, figures, sections)


def _routing(found: Covered) -> Html:
    parts: list[str] = [legend(PARTS, (COLOURS[2], COLOURS[4], "#c9d1d9"))]
    for peer in dict.fromkeys(row.peer for row in found.routing):
        rows = []
        for row in found.routing:
            if row.peer == peer:
                bar = share_bar([0, 0, row.useful, 0, row.needless], ["", "", PARTS[0], "", PARTS[1]], 300)
                if row.subscriptions:
                    bar = _scaled(row.useful, row.needless, row.subscriptions)
                rows.append(
                    (
                        badge(row.level, strong=row.level == "recommended"),
                        f"{row.size_bytes:,}" if row.size_bytes else "",
                        row.forwarded,
                        percent(row.forwarded, row.subscriptions),
                        row.needless,
                        row.missed,
                        bar,
                    )
                )
        head = ("level", "bytes", "forwarded", "share", "for nothing", "missed", "")
        parts += [heading(peer), table(head, rows, frozenset({1, 2, 3, 4, 5}))]
    return join([Html(part) for part in parts])


def _scaled(useful: int, needless: int, whole: int) -> Html:
    width = 300
    first, second = width * useful / whole, width * needless / whole
    return Html(
        f"<svg viewBox='0 0 {width} 14' width='{width}' height='14' role='img'>"
        f"<rect width='{width}' height='14' fill='#c9d1d9' opacity='.45'/>"
        f"<rect width='{first:.2f}' height='14' fill='{COLOURS[2]}'><title>{PARTS[0]}: {useful:,}</title></rect>"
        f"<rect x='{first:.2f}' width='{second:.2f}' height='14' fill='{COLOURS[4]}'>"
        f"<title>{PARTS[1]}: {needless:,}</title></rect></svg>"
    )


def _spread(found: Covered) -> Html:
    left = log_histogram(found.matched_counts, "resources that a subscription matches")
    right = log_histogram(found.resource_counts, "subscriptions that a resource matches")
    return Html(f"<div class='columns'><div>{left}</div><div>{right}</div></div>")


def _most(found: Covered) -> Html:
    rows = [(code(clipped(text, 160)), number) for text, number in found.most]
    return table(("subscription", "resources"), rows, frozenset({1}))
