"""What a peer with this catalogue should advertise, at each level and mixed.

    schemas       the namespaces of its properties and classes: a few names, and every query on them comes
    properties    its properties and classes
    values        where a property has few values, these, and integers as ranges; else the property
    recommended   as `values`, as far as a number of bytes goes: first the properties whose values take the fewest bytes
                  for the resources that they describe

All of what the catalogue would publish conforms to each of them, so none misses a subscription (`qel.conforms`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from msgspec import to_builtins

from qel import Advertisement, Range, Uri, namespace
from qel.advertisements import AdvertisedValue
from qel.names import RDF_TYPE
from qel.values import integer_view
from superpeer.advertising import write_advertisement
from superpeer.catalog.columns import URI
from superpeer.catalog.page import grouped
from superpeer.catalog.profile import Profile, Property, TopValue, has_integers_only
from superpeer.catalog.values import FEW_VALUES

LEVELS = ("schemas", "properties", "values", "recommended")

BUDGET_BYTES = 16_384
MAX_VALUE_CHARACTERS = 200
MAX_RANGES = 16


@dataclass(frozen=True)
class Choice:
    """At which level a property is recommended, what it takes there, and what the alternatives would."""

    property: str
    level: str
    size_bytes: int
    property_bytes: int
    values_bytes: int | None
    reason: str


@dataclass(frozen=True)
class Advice:
    """Advertisements by level, and why the recommended one is as it is."""

    advertisements: Mapping[str, Advertisement]
    choices: tuple[Choice, ...]


def advise(profile: Profile, budget_bytes: int = BUDGET_BYTES) -> Advice:
    values = {one.property: listed_values(one, profile.few_values) for one in profile.properties}
    sized = {name: size_bytes(Advertisement(values={name: some})) for name, some in values.items() if some}
    classes = [name for name, _ in profile.classes]
    choices = _choose(profile, sized, budget_bytes)
    by_values = {choice.property for choice in choices if choice.level == "values"}
    advertisements = {
        "schemas": Advertisement(schemas=_schemas(profile, classes)),
        "properties": Advertisement(properties=_freely(profile, classes, frozenset())),
        "values": _mixed(profile, classes, values, frozenset(sized)),
        "recommended": _mixed(profile, classes, values, frozenset(by_values)),
    }
    return Advice(advertisements, choices)


def listed_values(one: Property, few: Iterable[TopValue]) -> list[AdvertisedValue]:
    """All values that a property has, as they are advertised; empty where they cannot be, or are too many."""
    if one.property == RDF_TYPE or one.blank or one.beyond:
        return []
    mine = [value for value in few if value.property == one.property] if one.distinct <= FEW_VALUES else []
    if has_integers_only(one):
        assert one.lowest is not None
        assert one.highest is not None
        integers = {integer for value in mine if (integer := integer_view(value.object)) is not None}
        return list(ranges_of(integers) if integers else [Range(one.lowest, one.highest)])
    if not mine or one.longest > MAX_VALUE_CHARACTERS or any("\n" in value.object for value in mine):
        return []
    uris = sorted({Uri(value.object) for value in mine if value.kind == URI})
    return [*uris, *sorted({value.object for value in mine if value.kind != URI})]


def ranges_of(integers: Iterable[int]) -> list[Range]:
    """A few ranges that hold the integers: the widest gaps between them are left out."""
    ordered = sorted(set(integers))
    gaps = sorted(
        (i for i in range(1, len(ordered)) if ordered[i] - ordered[i - 1] > 1),
        key=lambda i: (ordered[i - 1] - ordered[i], i),
    )
    cuts = [0, *sorted(gaps[: MAX_RANGES - 1]), len(ordered)]
    return [Range(ordered[start], ordered[end - 1]) for start, end in pairwise(cuts)]


def size_bytes(advertisement: Advertisement) -> int:
    written = json.dumps(to_builtins(write_advertisement(advertisement)), ensure_ascii=False)
    return len(written.encode())


def _choose(profile: Profile, sized: Mapping[str, int], budget_bytes: int) -> tuple[Choice, ...]:
    shares = {one.property: one.resources / max(1, profile.resources) for one in profile.properties}
    left = budget_bytes
    chosen: set[str] = set()
    for name in sorted(sized, key=lambda name: (-shares[name] / sized[name], name)):
        if sized[name] <= left:
            chosen.add(name)
            left -= sized[name]
    found = []
    for one in profile.properties:
        name = one.property
        own = len(name.encode()) + 4
        if name in chosen:
            found.append(Choice(name, "values", sized[name], own, sized[name], _few(one)))
        else:
            reason = f"its values take {sized[name]:,} bytes" if name in sized else _why_not(one)
            found.append(Choice(name, "properties", own, own, sized.get(name), reason))
    return tuple(found)


def _few(one: Property) -> str:
    if one.lowest is not None and one.highest is not None and has_integers_only(one):
        if one.lowest == one.highest:
            return f"the integer {grouped(one.lowest)}"
        return f"integers from {grouped(one.lowest)} to {grouped(one.highest)}"
    return f"{one.distinct:,} distinct value{'' if one.distinct == 1 else 's'}"


def _why_not(one: Property) -> str:
    if one.property == RDF_TYPE:
        return "classes stand in the place of rdf:type"
    if one.blank:
        return f"{one.blank:,} values are blank nodes without a name"
    if one.distinct > FEW_VALUES:
        return f"{one.distinct:,} distinct values"
    return "integers beyond 38 digits" if one.beyond else "values that are long or have line breaks"


def _mixed(
    profile: Profile, classes: list[str], values: Mapping[str, list[AdvertisedValue]], by_values: frozenset[str]
) -> Advertisement:
    return Advertisement(
        properties=_freely(profile, classes, by_values), values={name: values[name] for name in sorted(by_values)}
    )


def _freely(profile: Profile, classes: list[str], left_out: frozenset[str]) -> list[str]:
    """Properties to advertise without values. A class stands in the place of rdf:type, unless there is a value that is
    none."""
    names = {one.property for one in profile.properties if one.property not in left_out}
    for one in profile.properties:
        if one.property == RDF_TYPE and one.uri == one.values:
            names.remove(RDF_TYPE)
    return sorted(names | set(classes))


def _schemas(profile: Profile, classes: list[str]) -> list[str]:
    return sorted({namespace(name) for name in _freely(profile, classes, frozenset())})
