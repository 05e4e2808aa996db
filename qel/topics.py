"""Topics in a hierarchy, for `T within <topic>`.

The hierarchy is what `skos:broader` and `rdfs:subClassOf` triples say. A topic is within itself and within
everything that is broader, over any number of steps; cycles, which real vocabularies have, do no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from qel.names import RDFS, SKOS
from qel.values import Kind, describe

UPWARDS = (SKOS + "broader", RDFS + "subClassOf")


class Topics:
    """A hierarchy of topics. Without triples, a topic is within itself alone."""

    def __init__(self, triples: Iterable[Any] = ()) -> None:
        self._broader: dict[str, list[str]] = {}
        self._above: dict[str, frozenset[str]] = {}
        for description in describe(triples):
            parents = [
                value.text for link in UPWARDS for value in description.values.get(link, ()) if value.kind is Kind.URI
            ]
            if parents and description.subject.kind is Kind.URI:
                self._broader.setdefault(description.subject.text, []).extend(parents)

    @classmethod
    def of(cls, broader: Mapping[str, Iterable[str]]) -> Topics:
        """The hierarchy in which these topics have these broader ones."""
        made = cls()
        made._broader = {topic: list(parents) for topic, parents in broader.items()}
        return made

    def joined(self, other: Topics) -> Topics:
        """What either says."""
        if not other._broader or not self._broader:
            return self if not other._broader else other
        names = self._broader.keys() | other._broader.keys()
        return Topics.of({name: [*self._broader.get(name, ()), *other._broader.get(name, ())] for name in names})

    def within(self, topic: str, ancestor: str) -> bool:
        return topic == ancestor or ancestor in self.ancestors(topic)

    def ancestors(self, topic: str) -> frozenset[str]:
        """Everything that is broader than a topic, over any number of steps."""
        if topic not in self._broader:
            return frozenset()
        known = self._above.get(topic)
        if known is None:
            found: set[str] = set()
            pending = [topic]
            while pending:
                for parent in self._broader.get(pending.pop(), ()):
                    if parent not in found:
                        found.add(parent)
                        pending.append(parent)
            known = self._above[topic] = frozenset(found)
        return known


NO_TOPICS = Topics()
