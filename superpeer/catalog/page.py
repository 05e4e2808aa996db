"""Reports as one HTML file that needs nothing else: styles and drawings are in it, and nothing is fetched.

A report is a title, headline figures and sections. Everything that comes from data is escaped here, in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from qel.names import PREFIXES

COLOURS = ("#3b6ea8", "#d08a2e", "#4f9d69", "#9a5fa5", "#b5524a", "#6d8a96", "#b8a13c", "#8a8f98")

STYLE = """
:root{--ink:#1d2733;--soft:#5b6875;--line:#dde3e9;--paper:#fbfcfd;--card:#fff;--accent:#3b6ea8;--cell:59,110,168}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#9aa7b3;--line:#303b46;--paper:#141a20;--card:#1b232b;
--accent:#7fb0e6;--cell:127,176,230}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1080px;margin:0 auto;padding:2.5rem 1.5rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em}
h2{font-size:1.25rem;margin:3rem 0 .3rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.6rem 0 .4rem}
p{margin:.3rem 0 1rem;max-width:46rem}.soft,.note{color:var(--soft)}.note{font-size:.87rem}
.figures{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.6rem 0}
.figure{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1.1rem;min-width:8.5rem}
.figure b{display:block;font-size:1.45rem;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.figure span{color:var(--soft);font-size:.85rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--line);padding:.35rem .7rem .35rem 0;
white-space:nowrap}
td{padding:.34rem .7rem .34rem 0;border-bottom:1px solid var(--line);vertical-align:middle}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.long{overflow-wrap:anywhere;min-width:12.5rem}
code{font:.86em ui-monospace,SFMono-Regular,Menlo,monospace}
svg{display:block;max-width:100%;height:auto}svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .soft{fill:var(--soft)}svg .axis{stroke:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;font-size:.85rem;color:var(--soft);margin:.4rem 0 .8rem}
.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em;vertical-align:-.05em}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(21rem,1fr));gap:.4rem 2.2rem}
.badge{display:inline-block;border-radius:9px;padding:0 .55em;font-size:.8rem;border:1px solid var(--line);
color:var(--soft);white-space:nowrap}
.badge.strong{background:var(--accent);border-color:var(--accent);color:var(--paper)}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}
"""


class Html(str):
    """Text that is HTML already; any other text is escaped where it is put into a page."""

    __slots__ = ()


class Section(NamedTuple):
    title: str
    text: str
    body: Html


def page(title: str, subtitle: str, figures: Sequence[tuple[str, str]], sections: Iterable[Section]) -> str:
    shown = "".join(
        f'<div class="figure"><b>{escaped(value)}</b><span>{escaped(name)}</span></div>' for name, value in figures
    )
    parts = "".join(
        f"<h2>{escaped(one.title)}</h2><p class='soft'>{escaped(one.text)}</p>{one.body}" for one in sections
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escaped(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{escaped(title)}</h1><p class='soft'>{escaped(subtitle)}</p><div class='figures'>{shown}</div>{parts}"
        "<footer>Made by <code>superpeer catalog</code>.</footer></main></body></html>\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: frozenset[int] = frozenset()) -> Html:
    """A table; the columns in `numbers` are set to the right."""
    top = "".join(f"<th{_class(i, numbers)}>{escaped(name)}</th>" for i, name in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{_class(i, numbers)}>{_cell(value)}</td>" for i, value in enumerate(row)) + "</tr>"
        for row in rows
    )
    return Html(f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>")


def join(parts: Iterable[str]) -> Html:
    return Html("".join(map(_cell, parts)))


def legend(names: Sequence[str], colours: Sequence[str] = COLOURS) -> Html:
    pairs = zip(names, colours, strict=False)
    items = (f"<span><i style='background:{colour}'></i>{escaped(name)}</span>" for name, colour in pairs)
    return Html(f"<div class='legend'>{''.join(items)}</div>")


def badge(text: str, strong: bool = False) -> Html:
    return Html(f"<span class='badge{' strong' if strong else ''}'>{escaped(text)}</span>")


def heading(text: str) -> Html:
    return Html(f"<h3>{escaped(text)}</h3>")


def columns(parts: Iterable[Html]) -> Html:
    return Html("<div class='columns'>" + "".join(f"<div>{part}</div>" for part in parts) + "</div>")


def code(text: str) -> Html:
    return Html(f"<code>{escaped(text)}</code>")


def note(text: str) -> Html:
    return Html(f"<p class='note'>{escaped(text)}</p>")


def percent(part: float, whole: float) -> str:
    if not whole:
        return "-"
    if not part:
        return "0 %"
    share = 100 * part / whole
    if 0 < share < 0.05:
        return "< 0.1 %"
    return "100 %" if part == whole else f"{share:.1f} %" if share < 99.95 else "> 99.9 %"


def short(iri: str) -> str:
    """An IRI with a known prefix, where there is one."""
    for prefix, start in PREFIXES.items():
        if iri.startswith(start) and len(iri) > len(start):
            return f"{prefix}:{iri[len(start) :]}"
    return iri


_VERSION = re.compile(r"v?[0-9][0-9.]*")


def local(iri: str) -> str:
    """What a reader calls a property: its short name, or the last two parts of its IRI, which versions do not count
    for."""
    name = short(iri)
    if name != iri:
        return name
    *before, last = iri.replace("#", "/").rstrip("/").split("/")
    telling = [part for part in before if part and not _VERSION.fullmatch(part)]
    return "/".join([*telling[-1:], last])


def last_part(iri: str) -> str:
    """What tells a value from others like it: its last part, with the one before where this is a mere number."""
    name = short(iri)
    last = name.rstrip("/#").replace("#", "/").rpartition("/")[2]
    return name if name != iri else last if len(last) > 3 and not last.isdecimal() else local(iri)


def grouped(number: int) -> str:
    """A number with its digits in groups, unless it may be a year."""
    return f"{number:,}" if abs(number) >= 10_000 else str(number)


def clipped(text: str, most: int = 80) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _class(column: int, numbers: frozenset[int]) -> str:
    return ' class="n"' if column in numbers else ' class="long"' if column == 0 else ""


def _cell(value: object) -> str:
    if isinstance(value, Html):
        return value
    return f"{value:,}" if isinstance(value, int) else escaped(str(value))


def escaped(text: str) -> str:
    """Text for a page or a drawing. What cannot be shown is replaced, as it may not stand in either."""
    return escape("".join(one if one.isprintable() or one in "\n\t" else "�" for one in text))
