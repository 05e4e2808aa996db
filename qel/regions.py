"""Regions: what a conjunction of atoms leaves for one value, in canonical form.

A region is the set of values that meet some atoms. Regions are met (intersected), compared, tested, and bridged:

`meet`      the intersection, or None where no value is in it. None is never said wrongly: what is not known to be
            empty is kept. Within one view (URIs, integers, decimals, dates, strings without `words`) it is exact.
`implies`   whether one region lies within another. Never said wrongly; exact for URIs, integers and conjunctions
            of `contains`, `like` prefixes and suffixes, and string equality. Conservative across views (but an
            integer range implies the `contains` of every digit string that all its members share), for
            word chains, similarity and topics (the hierarchy is not known here).
`bridge`    for two ranges that touch: regions within their union that lie in neither.

A conjunction of string atoms has a most general model: its constants held apart by a character that occurs
nowhere. It implies an atom iff that model meets the atom, so nothing has to be searched: a substring is implied
iff it lies within one of the constants. Only the length that `like "ab*cd"` asks for needs more: prefix and
suffix may overlap in the value, so that the shortest possible value has to be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from qel.dates import year_of
from qel.ranges import (
    DateRange,
    DecimalRange,
    IntegerRange,
    all_contain,
    date_range,
    decimal_hull,
    decimal_range,
    decimals_to_data,
    decimals_within,
    fewest_characters,
    in_decimals,
    in_integers,
    integer_hull,
    integer_range,
    is_empty,
    meet_decimals,
    meet_ranges,
    no_decimals,
    within,
)
from qel.strings import longer_prefix, longest_parts, needed_length, shortest_with
from qel.syntax import (
    Atom,
    Compare,
    Contains,
    Date,
    LanguageIs,
    Like,
    Similar,
    StringIs,
    UriIs,
    Within,
    Words,
)
from qel.text import Chain, Likeness
from qel.topics import Topics
from qel.values import Kind, Value, View

_NUMERIC_CHARACTERS = frozenset("0123456789+-.,:TtZzEe \t\r\n")


class Region:
    """A set of values. `kind` None is the region of all values; the components of other kinds stay empty."""

    __slots__ = (
        "chains",
        "date",
        "decimal",
        "exact",
        "integer",
        "key",
        "kind",
        "language",
        "least",
        "likenesses",
        "parts",
        "plain",
        "prefix",
        "suffix",
        "topics",
        "uri",
    )

    def __init__(
        self,
        kind: Kind | None = None,
        *,
        uri: str | None = None,
        topics: tuple[str, ...] = (),
        language: str | None = None,
        exact: str | None = None,
        integer: IntegerRange | None = None,
        decimal: DecimalRange | None = None,
        date: DateRange | None = None,
        prefix: str = "",
        suffix: str = "",
        least: int = 0,
        parts: tuple[str, ...] = (),
        chains: tuple[Chain, ...] = (),
        likenesses: tuple[Likeness, ...] = (),
    ) -> None:
        self.kind = kind
        self.uri = uri
        self.topics = topics
        self.language = language
        self.exact = exact
        self.integer = integer
        self.decimal = decimal
        self.date = date
        self.prefix = prefix
        self.suffix = suffix
        self.least = least
        self.parts = parts
        self.chains = chains
        self.likenesses = likenesses
        rest = (language, exact, decimal, date, prefix, suffix, least, chains, likenesses)
        self.plain = rest == _NO_REST
        self.key = (kind, uri, topics, integer, parts, rest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Region({', '.join(map(str, self.to_data()))})"

    def admits(self, value: Value, topics: Topics) -> bool:
        """Whether a value is in the region."""
        if self.kind is None:
            return True
        if self.kind is not value.kind:
            return False
        if self.kind is Kind.URI:
            if self.uri is not None and self.uri != value.text:
                return False
            return all(topics.within(value.text, topic) for topic in self.topics)
        if self.language is not None and self.language != value.language:
            return False
        return self.admits_text(value)

    def admits_text(self, value: Value) -> bool:
        """Whether a literal is in the region but for its language."""
        text = value.text
        if self.integer is not None and not in_integers(value.integer, self.integer):
            return False
        for part in self.parts:
            if part not in text:
                return False
        if self.plain:
            return True
        if self.exact is not None and self.exact != text:
            return False
        if self.decimal is not None and not in_decimals(value.decimal, self.decimal):
            return False
        if self.date is not None:
            span = value.date
            if span is None or not within((span.start, span.end), self.date):
                return False
        if len(text) < self.least or not text.startswith(self.prefix) or not text.endswith(self.suffix):
            return False
        return all(chain.occurs_in(value.words) for chain in self.chains) and all(
            likeness.admits(value.words) for likeness in self.likenesses
        )

    def implies(self, other: Region) -> bool:
        """Whether every value of this region is in the other."""
        if other.kind is None or self is other:
            return True
        if self.kind is not other.kind:
            return False
        if self.kind is Kind.URI:
            if other.uri is not None and other.uri != self.uri:
                return False
            return all(topic == self.uri or topic in self.topics for topic in other.topics)
        return self._literal_implies(other)

    def _literal_implies(self, other: Region) -> bool:
        if self.exact is not None:
            if other.language is not None and other.language != self.language:
                return False
            return other.admits_text(Value(Kind.LITERAL, self.exact))
        if other.integer is not None and (self.integer is None or not within(self.integer, other.integer)):
            return False
        for part in other.parts:
            if not self._has_part(part):
                return False
        if other.plain:
            return True
        if other.exact is not None or (other.language is not None and other.language != self.language):
            return False
        if other.decimal is not None and (self.decimal is None or not decimals_within(self.decimal, other.decimal)):
            return False
        if other.date is not None and (self.date is None or not within(self.date, other.date)):
            return False
        if not self.prefix.startswith(other.prefix) or not self.suffix.endswith(other.suffix):
            return False
        if other.least and self.shortest() < other.least:
            return False
        return all(any(mine.implies(chain) for mine in self.chains) for chain in other.chains) and all(
            any(mine.implies(likeness) for mine in self.likenesses) for likeness in other.likenesses
        )

    def _has_part(self, part: str) -> bool:
        for constant in self.parts:
            if part in constant:
                return True
        if part in self.prefix or part in self.suffix:
            return True
        return self.integer is not None and all_contain(self.integer, part)

    def shortest(self) -> int:
        """A length that no text of the region falls below."""
        longest_part = max(map(len, self.parts), default=0)
        digits = 0 if self.integer is None else fewest_characters(self.integer)
        return max(self.least, longest_part, digits, shortest_with(self.prefix, self.suffix))

    def meet(self, other: Region) -> Region | None:
        """The intersection, or None where it is empty."""
        if self.kind is None or self is other:
            return other
        if other.kind is None:
            return self
        if self.kind is not other.kind:
            return None
        if self.kind is Kind.URI:
            if self.uri is not None and other.uri is not None and self.uri != other.uri:
                return None
            topics = tuple(sorted({*self.topics, *other.topics}))
            return Region(Kind.URI, uri=self.uri if self.uri is not None else other.uri, topics=topics)
        return _meet_literals(self, other)

    def bridges(self, other: Region) -> Iterator[Region]:
        """Regions within the union of the two whose range spans both ranges, where these touch and neither
        contains the other."""
        if self.kind is not Kind.LITERAL or other.kind is not Kind.LITERAL:
            return
        if self.integer is not None and other.integer is not None:
            integers = integer_hull(self.integer, other.integer)
            if integers is not None:
                yield from _spanning(self, other, integer=integers)
        if self.decimal is not None and other.decimal is not None:
            decimals = decimal_hull(self.decimal, other.decimal)
            if decimals is not None:
                yield from _spanning(self, other, decimal=decimals)

    def to_data(self) -> list[Any]:
        """The region as nested lists of strings and numbers: equal regions give equal data, others do not."""
        if self.kind is None:
            return []
        if self.kind is Kind.URI:
            return ["uri", self.uri, *self.topics]
        data: list[Any] = ["literal"]
        named: list[tuple[str, Any]] = [
            ("lang", self.language),
            ("is", self.exact),
            ("integer", self.integer),
            ("decimal", self.decimal and decimals_to_data(self.decimal)),
            ("date", self.date),
            ("prefix", self.prefix or None),
            ("suffix", self.suffix or None),
            ("least", self.least or None),
            ("contains", self.parts or None),
            (
                "words",
                [[*zip(chain.words, (None, *map(str, chain.gaps)), strict=True)] for chain in self.chains] or None,
            ),
            ("similar", [[str(like.threshold), like.counts] for like in self.likenesses] or None),
        ]
        data.extend([name, component] for name, component in named if component is not None)
        return data


_NO_REST = (None, None, None, None, "", "", 0, (), ())
ANY = Region()


def region_of(atom: Atom) -> Region:
    """The values that meet one atom."""
    match atom:
        case UriIs(uri):
            return Region(Kind.URI, uri=uri)
        case Within(topic):
            return Region(Kind.URI, topics=(topic,))
        case Compare(operator, View.INTEGER, int(constant)):
            return Region(Kind.LITERAL, integer=integer_range(operator, constant))
        case Compare(operator, View.DECIMAL, Decimal() as number):
            return Region(Kind.LITERAL, decimal=decimal_range(operator, number))
        case Compare(operator, View.DATE, Date() as date):
            return _with_years(Region(Kind.LITERAL, date=date_range(operator, date)))
        case StringIs(text):
            return Region(Kind.LITERAL, exact=text)
        case Contains(text):
            return Region(Kind.LITERAL, parts=(text,) if text else ())
        case Like(prefix, suffix):
            least = len(prefix) + len(suffix) if prefix and suffix else 0
            return Region(Kind.LITERAL, prefix=prefix, suffix=suffix, least=least)
        case Words(chain):
            return Region(Kind.LITERAL, chains=(chain.folded(),))
        case Similar(threshold, text):
            return Region(Kind.LITERAL, likenesses=(Likeness.of(text, Fraction(threshold)),))
        case LanguageIs(tag):
            return Region(Kind.LITERAL, language=tag.lower())
        case _:
            raise AssertionError(f"not an atom: {atom!r}")


def integers(low: int | None, high: int | None) -> Region:
    """The literals whose integer view lies between two ends."""
    return Region(Kind.LITERAL, integer=(low, high))


def years_of(dates: DateRange) -> IntegerRange:
    """The years in which dates of a range can lie."""
    start, end = dates
    return None if start is None else year_of(start), None if end is None else year_of(end - 1)


def _meet_literals(a: Region, b: Region) -> Region | None:
    if a.language is not None and b.language is not None and a.language != b.language:
        return None
    language = a.language if a.language is not None else b.language
    if a.exact is not None or b.exact is not None:
        fixed, other = (a, b) if a.exact is not None else (b, a)
        assert fixed.exact is not None
        if not other.admits_text(Value(Kind.LITERAL, fixed.exact)):
            return None
        return Region(Kind.LITERAL, exact=fixed.exact, language=language)
    prefix = longer_prefix(a.prefix, b.prefix)
    suffix = longer_prefix(a.suffix[::-1], b.suffix[::-1])
    integer = meet_ranges(a.integer, b.integer)
    decimal = meet_decimals(a.decimal, b.decimal)
    date = meet_ranges(a.date, b.date)
    if prefix is None or suffix is None or is_empty(integer, 0) or is_empty(date, 1) or no_decimals(decimal):
        return None
    suffix = suffix[::-1]
    met = _with_years(
        Region(
            Kind.LITERAL,
            language=language,
            integer=integer,
            decimal=decimal,
            date=date,
            prefix=prefix,
            suffix=suffix,
            parts=longest_parts({*a.parts, *b.parts}, prefix, suffix),
            least=needed_length(max(a.least, b.least), prefix, suffix),
            chains=_strongest_chains({*a.chains, *b.chains}),
            likenesses=_strongest_likenesses({*a.likenesses, *b.likenesses}),
        )
    )
    return None if is_empty(met.integer, 0) or _cannot_be_number(met) else met


def _spanning(a: Region, b: Region, **hull: Any) -> Iterator[Region]:
    """The hull of one component, and what both ask for in all others."""
    (name,) = hull
    without = [_replace(region, **{name: None}) for region in (a, b)]
    rest = without[0].meet(without[1])
    if rest is not None and rest.exact is None:
        spanning = rest.meet(Region(Kind.LITERAL, **hull))
        if spanning is not None:
            yield spanning


def _replace(region: Region, **changes: Any) -> Region:
    names = (
        "language",
        "exact",
        "integer",
        "decimal",
        "date",
        "prefix",
        "suffix",
        "least",
        "parts",
        "chains",
        "likenesses",
    )
    return Region(region.kind, **{name: getattr(region, name) for name in names} | changes)


def _with_years(region: Region) -> Region:
    """A date lies in a year: what the dates leave of the years is said of the integers, too."""
    if region.date is None:
        return region
    return _replace(region, integer=meet_ranges(region.integer, years_of(region.date)))


def _cannot_be_number(region: Region) -> bool:
    """Whether a number or date is asked for, and a text that has other characters than these."""
    if region.integer is None and region.decimal is None and region.date is None:
        return False
    constants = (region.prefix, region.suffix, *region.parts)
    return not all(_NUMERIC_CHARACTERS.issuperset(constant) for constant in constants)


def _strongest_chains(chains: Iterable[Chain]) -> tuple[Chain, ...]:
    kept: list[Chain] = []
    for chain in sorted(chains, key=lambda chain: (-len(chain.words), chain.words, str(chain.gaps))):
        if not any(other.implies(chain) for other in kept):
            kept = [other for other in kept if not chain.implies(other)] + [chain]
    return tuple(sorted(kept, key=lambda chain: (chain.words, str(chain.gaps))))


def _strongest_likenesses(likenesses: Iterable[Likeness]) -> tuple[Likeness, ...]:
    strongest: dict[tuple[tuple[str, int], ...], Likeness] = {}
    for likeness in likenesses:
        known = strongest.get(likeness.counts)
        if known is None or likeness.implies(known):
            strongest[likeness.counts] = likeness
    return tuple(strongest[counts] for counts in sorted(strongest))
