"""The meaning of QEL read off its definition, slowly: every assignment of values to variables is tried.

Nothing of `qel` but its syntax is used here, so that a mistake there cannot hide behind the same mistake here.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from typing import Any

from rdflib import BNode, Literal, URIRef

from qel import Query
from qel.syntax import (
    And,
    Compare,
    Contains,
    Date,
    LanguageIs,
    Like,
    Or,
    Similar,
    StringIs,
    Test,
    UriIs,
    Within,
    Words,
)
from qel.values import View

ISO_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?", re.ASCII)


def oracle_matches(
    query: Query, triples: list[tuple[Any, Any, Any]], broader: dict[str, set[str]] | None = None
) -> bool:
    return bool(oracle_answers(query, triples, broader))


def oracle_answers(
    query: Query, triples: list[tuple[Any, Any, Any]], broader: dict[str, set[str]] | None = None
) -> set[tuple[Any, ...]]:
    found = set()
    for subject in {s for s, _, _ in triples}:
        columns = [[o for s, p, o in triples if s == subject and str(p) == t.property] for t in query.triples]
        for objects in itertools.product(*columns):
            assignment = {query.subject: subject}
            good = True
            for pattern, value in zip(query.triples, objects, strict=True):
                if isinstance(pattern.object, str):
                    assignment[pattern.object] = value
                else:
                    good = good and says(pattern.object, value, broader or {})
            if good and holds(query.constraint, assignment, broader or {}):
                found.add(tuple(assignment[head] for head in query.heads))
    return found


def holds(constraint: Any, assignment: dict[str, Any], broader: dict[str, set[str]]) -> bool:
    match constraint:
        case None:
            return True
        case And(parts):
            return all(holds(part, assignment, broader) for part in parts)
        case Or(parts):
            return any(holds(part, assignment, broader) for part in parts)
        case Test(variable, atom):
            return says(atom, assignment[variable], broader)
    raise AssertionError(constraint)


def says(atom: Any, term: Any, broader: dict[str, set[str]]) -> bool:
    if isinstance(term, BNode):
        return False
    if isinstance(term, URIRef):
        match atom:
            case UriIs(uri):
                return str(term) == uri
            case Within(topic):
                return topic in upwards(str(term), broader)
        return False
    assert isinstance(term, Literal)
    text = str(term)
    match atom:
        case StringIs(wanted):
            return text == wanted
        case Contains(wanted):
            return wanted in text
        case Like(prefix, suffix):
            return re.fullmatch(re.escape(prefix) + ".*" + re.escape(suffix), text, re.DOTALL) is not None
        case LanguageIs(tag):
            return (term.language or "").lower() == tag.lower()
        case Compare(operator, View.INTEGER, n):
            value = integer(text)
            return value is not None and compare(operator.value, value, n)
        case Compare(operator, View.DECIMAL, number):
            if not re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", text):
                return False
            return compare(operator.value, Decimal(text.strip()), number)
        case Compare(operator, View.DATE, Date() as date):
            return compare_dates(operator.value, days(text), days(date.text))
        case Words(chain):
            return occurs([fold(word) for word in chain.words], chain.gaps, words(text))
        case Similar(threshold, wanted):
            return cosine(words(wanted), words(text)) >= float(threshold) - 1e-12
    return False


def upwards(topic: str, broader: dict[str, set[str]]) -> set[str]:
    reached = {topic}
    while True:
        more = reached | {parent for child in reached for parent in broader.get(child, ())}
        if more == reached:
            return reached
        reached = more


def compare(operator: str, a: Any, b: Any) -> bool:
    results: dict[str, bool] = {"=": a == b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return results[operator]


def integer(text: str) -> int | None:
    if re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):
        return int(text)
    return None if days(text) is None else int(text.strip()[:4])


def days(text: str) -> tuple[dt.date, dt.date] | None:
    """First day, and the day after the last, of a date of year, month or day; years 1 to 9998 only."""
    found = ISO_DAY.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    try:
        first = dt.date(year, month, day)
    except ValueError:
        return None
    if found[3]:
        return first, first + dt.timedelta(days=1)
    if found[2]:
        return first, dt.date(year + month // 12, month % 12 + 1, 1)
    return first, dt.date(year + 1, 1, 1)


def compare_dates(operator: str, a: Any, b: Any) -> bool:
    if a is None:
        return False
    results: dict[str, bool] = {
        "=": b[0] <= a[0] and a[1] <= b[1],
        "<": a[1] <= b[0],
        "<=": a[1] <= b[1],
        ">": a[0] >= b[1],
        ">=": a[0] >= b[0],
    }
    return results[operator]


def fold(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold()


def words(text: str) -> list[str]:
    found, current = [], ""
    for character in unicodedata.normalize("NFC", text) + " ":
        if character.isalnum():
            current += character
        elif current:
            found.append(fold(current))
            current = ""
    return found


def occurs(wanted: list[str], gaps: Any, text: list[str]) -> bool:
    for places in itertools.combinations(range(len(text)), len(wanted)):
        if [text[i] for i in places] == wanted and all(
            gap.least <= j - i - 1 and (gap.most is None or j - i - 1 <= gap.most)
            for gap, i, j in zip(gaps, places[:-1], places[1:], strict=True)
        ):
            return True
    return False


def cosine(a: list[str], b: list[str]) -> float:
    if not a or not b:
        return 0.0
    x, y = Counter(a), Counter(b)
    product = sum(x[word] * y[word] for word in x)
    return product / math.sqrt(sum(n * n for n in x.values()) * sum(n * n for n in y.values()))
