"""The report of a profile: what the catalogue holds, what to advertise, and what its values look like."""

from __future__ import annotations

from collections import Counter

from qel.values import integer_view
from superpeer.catalog import views
from superpeer.catalog.advertising import LEVELS, Advice, size_bytes
from superpeer.catalog.catalogue import Manifest
from superpeer.catalog.columns import URI
from superpeer.catalog.page import (
    COLOURS,
    Html,
    Section,
    badge,
    clipped,
    code,
    columns,
    grouped,
    heading,
    join,
    last_part,
    legend,
    local,
    note,
    page,
    percent,
    table,
)
from superpeer.catalog.plots import bars, heat_map, histogram, share_bar
from superpeer.catalog.profile import Profile, Property, TopValue, has_integers_only
from superpeer.catalog.values import FEW_VALUES

SHOWN_PROPERTIES = 30
SHOWN_CHOICES = 12
SHOWN_DETAILS = 16
SHOWN_TOP = 10
SHOWN_IN_MAP = 18

FORM_NAMES = {
    "uri": "IRIs",
    "blank": "blank nodes",
    "year": "years",
    "date": "ISO dates",
    "integer": "integers",
    "decimal": "decimals",
    "string": "strings",
}


def write_report(name: str, found: Profile, advice: Advice, manifest: Manifest, reasons: list[tuple[str, int]]) -> str:
    figures = [
        ("triples", f"{found.triples:,}"),
        ("resources", f"{found.resources:,}"),
        ("properties", f"{len(found.properties):,}"),
        ("classes", f"{len(found.classes):,}"),
        ("rejected", f"{manifest.rejected:,}"),
    ]
    common = sorted(found.properties, key=lambda one: (-one.resources, one.property))
    sections = [
        Section("What to advertise", _advice_text(advice), _advice(advice)),
        Section("Properties", _properties_text(found), _properties(found, common)),
        *_details(found, common),
        *_together(found, common),
        *_input(manifest, reasons),
    ]
    subtitle = f"{len(manifest.files):,} file{'s' if len(manifest.files) != 1 else ''}, read as records by subject"
    return page(f"Profile of {name}", subtitle, figures, sections)


def _advice_text(advice: Advice) -> str:
    by_values = sum(choice.level == "values" for choice in advice.choices)
    return (
        f"The recommended advertisement names the values of {by_values:,} of {len(advice.choices):,} properties, so"
        " that subscriptions for other values are never sent here, and the rest by property."
        " It is in advertisement.json."
    )


def _advice(advice: Advice) -> Html:
    rows = []
    for level in LEVELS:
        one = advice.advertisements[level]
        rows.append(
            (
                badge(level, strong=level == "recommended"),
                len(one.schemas),
                len(one.properties),
                sum(map(len, one.values.values())),
                f"{size_bytes(one):,}",
            )
        )
    levels = table(("level", "schemas", "properties and classes", "values", "bytes"), rows, frozenset({1, 2, 3, 4}))
    listed = sorted(
        (choice for choice in advice.choices if choice.level == "values"), key=lambda choice: -choice.size_bytes
    )
    reasons = table(
        ("by values", "what is advertised", "bytes"),
        [(local(choice.property), choice.reason, choice.size_bytes) for choice in listed[:SHOWN_CHOICES]],
        frozenset({2}),
    )
    parts = [levels]
    if listed:
        parts += [heading("Properties with their values"), reasons]
    if len(listed) > SHOWN_CHOICES:
        parts.append(note(f"{len(listed) - SHOWN_CHOICES:,} more, and why others are not listed, are in profile.json."))
    return join(parts)


def _properties_text(found: Profile) -> str:
    text = "How many resources have each, and what its values are. Distinct values are counted exactly"
    if all(one.exact for one in found.properties):
        return f"{text}."
    return f"{text}, or where they are very many, with the sign ≈, by HyperLogLog with a standard error of 1.6 %."


def _properties(found: Profile, common: list[Property]) -> Html:
    if not common:
        return note("There is none: nothing that was read has an IRI as subject.")
    names = [FORM_NAMES[form] for form in views.FORMS]
    rows = [
        (
            Html(f"<span title='{_attribute(one.property)}'>{join([local(one.property)])}</span>"),
            one.resources,
            percent(one.resources, found.resources),
            one.values,
            one.distinct if one.exact else f"≈ {one.distinct:,}",
            one.most_values,
            share_bar([getattr(one, form) for form in views.FORMS], names, 170),
            _range(one),
            one.invalid or "",
        )
        for one in common[:SHOWN_PROPERTIES]
    ]
    head = ("property", "resources", "share", "values", "distinct", "most for one", "forms", "range", "invalid")
    more = len(common) - SHOWN_PROPERTIES
    parts = [legend(names), table(head, rows, frozenset({1, 2, 3, 4, 5, 8}))]
    if more > 0:
        parts.append(note(f"{more:,} more properties, which fewer resources have, are in the table properties."))
    return join(parts)


def _range(one: Property) -> str:
    if one.lowest is None:
        return ""
    integers = one.year + one.date + one.integer
    if integers < one.values / 2:
        return ""
    if one.highest is None or one.lowest == one.highest:
        return grouped(one.lowest)
    return f"{grouped(one.lowest)} to {grouped(one.highest)}"


def _details(found: Profile, common: list[Property]) -> list[Section]:
    """Years over time, and top values."""
    sections = []
    numeric = [one for one in common if has_integers_only(one) or one.year + one.date > one.values / 2]
    drawn = []
    for one in numeric:
        counts: Counter[int] = Counter()
        for value in found.few_values:
            if value.property == one.property and (integer := integer_view(value.object)) is not None:
                counts[integer] += value.count
        if len(counts) > 4 and one.distinct <= FEW_VALUES:
            drawn += [heading(local(one.property)), histogram(sorted(counts.items()), colour=COLOURS[1])]
    if drawn:
        sections.append(
            Section("Years and numbers", "How often each occurs, for properties that have few.", join(drawn[:8]))
        )
    parts: list[Html] = []
    for one in common:
        top = [value for value in found.top_values if value.property == one.property][:SHOWN_TOP]
        if len(top) > 2 and len(parts) < SHOWN_DETAILS:
            parts.append(join([heading(local(one.property)), bars([(_name(value), value.count) for value in top])]))
    if parts:
        text = "The values that most resources share, for each property where values are shared at all."
        sections.append(Section("Top values", text, columns(parts)))
    if found.classes:
        rows = [(local(name), number) for name, number in found.classes[:20]]
        text = "Resources by rdf:type. A resource may have several."
        sections.append(Section("Classes", text, bars(rows, 760, 260, COLOURS[2])))
    return sections


def _name(value: TopValue) -> str:
    if value.kind == URI:
        return last_part(value.object)
    text = clipped(value.object) or "(empty)"
    return f"{text} @{value.language}" if value.language else text


def _together(found: Profile, common: list[Property]) -> list[Section]:
    if not common:
        return []
    names = [one.property for one in common[:SHOWN_IN_MAP]]
    resources = {one.property: one.resources for one in found.properties}
    both = {(pair.first, pair.second): pair.resources for pair in found.pairs}
    share: list[list[float | None]] = [
        [1.0 if a == b else both.get((min(a, b), max(a, b)), 0) / max(1, resources[a]) for b in names] for a in names
    ]
    text = (
        "Of the resources that have the property of a row, how many have that of the column: the darker, the more. A"
        " light cell in a dark row is a subscription that few resources can match."
    )
    shapes = table(
        ("properties that resources have, and no others", "resources", "share"),
        [
            (", ".join(map(local, names)), number, percent(number, found.resources))
            for names, number in found.shapes[:10]
        ],
        frozenset({1, 2}),
    )
    sections = [Section("What occurs together", text, heat_map([local(name) for name in names], share))]
    sections.append(Section("Shapes", "The most common sets of properties.", shapes))
    return sections


def _input(manifest: Manifest, reasons: list[tuple[str, int]]) -> list[Section]:
    rows: list[tuple[str, object]] = [
        ("triples read", manifest.read),
        ("of these with a blank node", manifest.nested),
        ("triples that came more than once, and count once", manifest.repeated),
        ("anonymous subjects, which cannot be published", manifest.anonymous),
        ("lines that only the full parser could decide", manifest.undecided),
        ("rejected lines, records or statements", manifest.rejected),
    ]
    parts = [table(("", "number"), rows, frozenset({1}))]
    if reasons:
        parts.append(heading("Why something was rejected"))
        parts.append(table(("reason", "times"), [(code(clipped(text, 120)), n) for text, n in reasons], frozenset({1})))
    text = "What was read, and what was not. Everything rejected is in the table rejected, with its place and reason."
    return [Section("The input", text, join(parts))]


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")
