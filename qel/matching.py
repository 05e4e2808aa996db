"""What a query says of a set of triples: whether it matches, its answers, and what its variables stand for.

Triples are grouped by subject; a query speaks of one subject at a time. `topics` is the hierarchy for `within`:
a `Topics`, or the `skos:broader` and `rdfs:subClassOf` triples of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from qel.normal import Disjunct, Slot
from qel.syntax import Query
from qel.topics import NO_TOPICS, Topics
from qel.values import Description, Value, describe

TopicSource = Topics | Iterable[Any] | None


def matches(query: Query, triples: Iterable[Any], topics: TopicSource = None) -> bool:
    """Whether the triples say of some subject what the query asks for."""
    hierarchy = _hierarchy(topics)
    return any(is_met(query, description, hierarchy) for description in describe(triples))


def is_met(query: Query, description: Description, topics: Topics) -> bool:
    """Whether what is said of one subject matches: for those who try many queries on it."""
    return any(meets(disjunct, description, topics) for disjunct in query.normal_form.disjuncts)


def answers(query: Query, triples: Iterable[Any], topics: TopicSource = None) -> set[tuple[Any, ...]]:
    """The answer set `ans(q, T)`: tuples of terms, one for each head, as they stand in the triples."""
    hierarchy = _hierarchy(topics)
    found: set[tuple[Any, ...]] = set()
    for description in describe(triples):
        for disjunct in query.answer_form.disjuncts:
            choices = _choices(disjunct, description, hierarchy)
            if choices is None:
                continue
            columns = [
                [description.subject] if head == query.subject else choices[position]
                for position, head in enumerate(query.heads)
            ]
            distinct = {head: columns[position] for position, head in enumerate(query.heads)}
            for combination in product(*distinct.values()):
                chosen = dict(zip(distinct, combination, strict=True))
                found.add(tuple(chosen[head].term for head in query.heads))
    return found


def bindings(query: Query, triples: Iterable[Any], topics: TopicSource = None) -> dict[Any, dict[str, tuple[Any, ...]]]:
    """For each subject that matches: the terms that each variable stands for in some answer."""
    hierarchy = _hierarchy(topics)
    found: dict[Any, dict[str, tuple[Any, ...]]] = {}
    for description in describe(triples):
        terms: dict[str, dict[Any, None]] = {}
        for disjunct in query.binding_form.disjuncts:
            choices = _choices(disjunct, description, hierarchy)
            if choices is None:
                continue
            choices[0] = [description.subject]
            for position, variable in enumerate(query.variables):
                terms.setdefault(variable, {}).update((value.term, None) for value in choices[position])
        if terms:
            found[description.subject.term] = {name: tuple(values) for name, values in terms.items()}
    return found


def _hierarchy(topics: TopicSource) -> Topics:
    if topics is None:
        return NO_TOPICS
    return topics if isinstance(topics, Topics) else Topics(topics)


def meets(disjunct: Disjunct, description: Description, topics: Topics) -> bool:
    values = description.values
    if not values.keys() >= disjunct.properties or not disjunct.subject.admits(description.subject, topics):
        return False
    return all(
        any(slot.region.admits(value, topics) for value in values[name])
        for name, slots in disjunct.slots.items()
        for slot in slots
    )


def _choices(disjunct: Disjunct, description: Description, topics: Topics) -> dict[int, list[Value]] | None:
    """For each tag the values that meet its slot, or None where the disjunct is not met."""
    if not disjunct.subject.admits(description.subject, topics):
        return None
    choices: dict[int, list[Value]] = {}
    for name, slots in disjunct.slots.items():
        for slot in slots:
            met = _values_that_meet(slot, description.values.get(name, []), topics)
            if not met:
                return None
            for tag in slot.tags:
                choices[tag] = met
    return choices


def _values_that_meet(slot: Slot, values: list[Value], topics: Topics) -> list[Value]:
    return [value for value in values if slot.region.admits(value, topics)]
