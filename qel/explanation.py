"""Says in words what a query asks for, and why one query covers another or not.

A "no" is best explained by something that the one matches and the other does not. `counterexample` looks for it
among the values at which something changes: the ends of ranges, and texts made of the constants held apart. What it
returns has been checked; where it finds nothing, the queries may still differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from qel.dates import write_instant
from qel.matching import meets
from qel.names import write_iri
from qel.normal import Disjunct
from qel.regions import Region, years_of
from qel.subsumption import subsumes
from qel.syntax import Query
from qel.topics import NO_TOPICS
from qel.values import Description, Kind, Value
from qel.writing import write_string

_MAX_CHOICES_PER_SLOT = 24
_MAX_TRIES = 20_000
_SEPARATORS = ("~", " ~ ", " ", "\N{MIDDLE DOT}", "")


@dataclass(frozen=True)
class Verdict:
    """Whether a query covers another, why, and something that shows where it does not."""

    covers: bool
    reasons: tuple[str, ...]
    shown_by: Description | None = None


def explain_subsumption(q1: Query, q2: Query) -> Verdict:
    """Why q1 covers q2 or not."""
    general, special = q1.normal_form.primes, q2.normal_form.primes
    if not special:
        return Verdict(True, ("nothing can match the second query",))
    if subsumes(q1, q2):
        reasons = []
        for disjunct in special:
            by = next(prime for prime in general if disjunct.implies(prime))
            reasons.append(f"what has {disjunct_in_words(disjunct)} has {disjunct_in_words(by)}")
        return Verdict(True, tuple(reasons))
    reasons = [
        f"the first query does not cover what has {disjunct_in_words(disjunct)}"
        for disjunct in special
        if not any(disjunct.implies(prime) for prime in general)
    ]
    return Verdict(False, tuple(reasons), counterexample(q1, q2))


def counterexample(q1: Query, q2: Query) -> Description | None:
    """A resource that matches q2 and not q1, if one is found."""
    general = q1.normal_form.primes
    for disjunct in q2.normal_form.primes:
        if any(disjunct.implies(prime) for prime in general):
            continue
        for description in _samples(disjunct, general):
            if meets(disjunct, description, NO_TOPICS) and not any(
                meets(prime, description, NO_TOPICS) for prime in general
            ):
                return description
    return None


def disjunct_in_words(disjunct: Disjunct) -> str:
    parts = [f"{write_iri(name)} {region_in_words(region)}" for name, region in slots_of(disjunct)]
    if disjunct.subject.kind is not None:
        parts.insert(0, f"the subject {region_in_words(disjunct.subject)}")
    return " and ".join(parts)


def slots_of(disjunct: Disjunct) -> list[tuple[str, Region]]:
    return [(name, slot.region) for name, slots in disjunct.slots.items() for slot in slots]


def region_in_words(region: Region) -> str:
    """What a region asks of a value."""
    if region.kind is None:
        return "(any value)"
    if region.kind is Kind.URI:
        parts = [] if region.uri is None else [write_iri(region.uri)]
        return " and ".join(parts + [f"within {write_iri(topic)}" for topic in region.topics])
    return " and ".join(_literal_in_words(region)) or "(any literal)"


def _literal_in_words(region: Region) -> Iterator[str]:
    if region.exact is not None:
        yield write_string(region.exact)
    if region.date is not None:
        yield from _dates_in_words(*region.date)
    if region.integer is not None and (region.date is None or region.integer != years_of(region.date)):
        yield _integers_in_words(*region.integer)
    if region.decimal is not None:
        yield from _decimals_in_words(*region.decimal)
    if region.prefix:
        yield f"starting with {write_string(region.prefix)}"
    if region.suffix:
        yield f"ending with {write_string(region.suffix)}"
    if region.least:
        yield f"of at least {region.least} characters"
    for part in region.parts:
        yield f"containing {write_string(part)}"
    for chain in region.chains:
        yield f"with the words {chain}"
    for likeness in region.likenesses:
        words = " ".join(word for word, count in likeness.counts for _ in range(count))
        yield f'similar to "{words}" by at least {float(likeness.threshold):g}'
    if region.language is not None:
        yield f"in language {write_string(region.language)}" if region.language else "without a language tag"


def _integers_in_words(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return "(any integer)"
    if low is None or high is None:
        return f"{low} or more" if high is None else f"{high} or less"
    return str(low) if low == high else f"from {low} to {high}"


def _dates_in_words(start: int | None, end: int | None) -> Iterator[str]:
    if start is not None:
        yield f"not before {write_instant(start)}"
    if end is not None:
        yield f"ended by the start of {write_instant(end)}"


def _decimals_in_words(low: Decimal | None, low_open: bool, high: Decimal | None, high_open: bool) -> Iterator[str]:
    if low is not None and low == high:
        yield str(low)
        return
    if low is not None:
        yield f"{'above' if low_open else 'at least'} {low}"
    if high is not None:
        yield f"{'below' if high_open else 'at most'} {high}"


def _samples(disjunct: Disjunct, others: tuple[Disjunct, ...]) -> Iterator[Description]:
    """Resources that meet a disjunct, with values next to where the others change."""
    slots = slots_of(disjunct)
    choices = []
    for name, region in slots:
        hints = [hint for other in others for other_name, hint in slots_of(other) if other_name == name]
        found = {(value.kind, value.text, value.language): value for value in _values(region, hints)}
        choices.append(list(found.values())[:_MAX_CHOICES_PER_SLOT])
    subject = Value(
        Kind.URI, disjunct.subject.uri or next(iter(disjunct.subject.topics), "http://example.org/resource")
    )
    for values in itertools.islice(itertools.product(*choices), _MAX_TRIES):
        description = Description(subject)
        for (name, _), value in zip(slots, values, strict=True):
            description.values.setdefault(name, []).append(value)
        yield description


def _values(region: Region, hints: list[Region]) -> Iterator[Value]:
    """Values of a region; every one of them is in it."""
    if region.kind is None:
        yield Value(Kind.URI, "http://example.org/something")
        yield Value(Kind.BLANK, "something")
    elif region.kind is Kind.URI:
        yield Value(Kind.URI, region.uri if region.uri is not None else region.topics[0])
    else:
        languages = [region.language] if region.language is not None else ["", "x-other"]
        for language in languages:
            for text in _texts(region, hints):
                value = Value(Kind.LITERAL, text, language)
                if region.admits(value, NO_TOPICS):
                    yield value


def _texts(region: Region, hints: list[Region]) -> Iterator[str]:
    if region.exact is not None:
        yield region.exact
        return
    if region.date is not None:
        ends = [
            end
            for limits in [region.date, *(hint.date for hint in hints)]
            if limits
            for end in limits
            if end is not None
        ]
        yield from (write_instant(end + step) for end in ends for step in (0, -1))
    if region.integer is not None:
        for limits in [region.integer, *(hint.integer for hint in hints)]:
            for end in limits or ():
                if end is not None:
                    yield from (str(end + step) for step in (0, 1, -1))
        yield "0"
    if region.decimal is not None:
        ranges = [found for found in [region.decimal, *(hint.decimal for hint in hints)] if found is not None]
        for number in [number for low, _, high, _ in ranges for number in (low, high) if number is not None]:
            yield from (f"{number + step:f}" for step in (Decimal(0), Decimal("0.001"), Decimal("-0.001")))
    for separator in _SEPARATORS:
        yield separator.join(
            part for part in (region.prefix, *region.parts, *_word_texts(region), region.suffix) if part
        )
    longest = max(map(len, (region.prefix, region.suffix)))
    for overlap in range(1, longest + 1):
        yield region.prefix + region.suffix[overlap:]


def _word_texts(region: Region) -> Iterator[str]:
    for chain in region.chains:
        text = chain.words[0]
        for word, gap in zip(chain.words[1:], chain.gaps, strict=True):
            text += " ~" + " x" * min(gap.least, 1_000) + f" {word}"
        yield text
    for likeness in region.likenesses:
        yield " ".join(word for word, count in likeness.counts for _ in range(count))
