"""Pages find what `qel.matches` finds, wherever one begins in a log that grows and is trimmed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from rdflib import DC, SKOS, Literal, URIRef

import qel
from superpeer.node import pages
from superpeer.node.body import write_body
from superpeer.node.pages import Pages, Search
from superpeer.node.publications import Draft, Kind, Publication
from superpeer.node.state import Log
from superpeer.node.tables import LocalPeer
from tests.superpeer.node.test_broker import SALT, UNSIGNED, key_of
from tests.superpeer.node.test_router import random_publication

TOPICS = [(URIRef("http://example.org/topics/1"), SKOS.broader, URIRef("http://example.org/topics/2"))]


class History:
    """A log with what its publications say."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.log = Log(7)
        self.said: dict[int, list[Any]] = {}

    def publish(self) -> None:
        triples = random_publication(self.random)
        subject = triples[0][0]
        if self.random.random() < 0.2:
            triples.append((subject, DC.title, Literal("ab" + "x" * pages.LARGE_BYTES)))
        triples.append((subject, DC.subject, URIRef(f"http://example.org/topics/{self.random.randrange(3)}")))
        number = self.log.end[1] + 1
        body = write_body(triples, qel.Topics(TOPICS))
        draft = Draft(key_of(LocalPeer("library")), SALT, number, Kind.NEW, body, UNSIGNED)
        self.log.append(Publication(bytes(32), (7, number), 0.0, draft))
        del self.log.unacknowledged[number]
        self.said[number] = triples

    def random_query(self) -> str:
        low = self.random.randrange(10)
        return self.random.choice(
            [
                f"X : t(X, dc:date, D) & D >= {low} & D <= {low + self.random.randrange(4)}",
                f"X : t(X, dc:date, D) & (D = {low} | D = {self.random.randrange(10)})",
                f'X : t(X, dc:title, T) & T contains "{self.random.choice(["a", "xab", "abx", "y"])}"',
                f'X : t(X, dc:title, T) & t(X, dc:date, D) & (T contains "xaby" | D <= {low})',
                f"X : t(X, dc:subject, T) & T within <http://example.org/topics/{self.random.randrange(3)}>",
                "X : t(X, foaf:name, N)",
            ]
        )

    def check(self, kept: Pages, texts: list[str], begin: int) -> int:
        """Looks through the log from a number on, and compares."""
        search, found, number = Search(texts), dict[int, list[int]](), begin
        while number < self.log.end[1]:
            page, _ = kept.after(self.log, number)
            matching = search.matching(page, number)
            assert all(page[one].place[1] == one > number for one in matching)
            found |= matching
            assert page.next_number - 1 > number
            number = page.next_number - 1
        expected = {
            number: matched
            for number, triples in self.said.items()
            if number > begin
            and (matched := [i for i, text in enumerate(texts) if qel.matches(qel.parse(text), triples, TOPICS)])
        }
        assert found == expected
        return len(expected)


@pytest.mark.parametrize("seed", range(8))
def test_they_find_what_matches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(pages, "PAGE", random.choice([1, 4, 7]))
    monkeypatch.setattr(pages, "PAGES_KEPT", random.choice([1, 3, 100]))
    history, kept, found = History(random), Pages(), 0
    for _ in range(60):
        for _ in range(random.randrange(4)):
            history.publish()
        if random.random() < 0.2:
            history.log.trim(random.randint(history.log.trimmed, history.log.end[1]))
        texts = [history.random_query() for _ in range(random.randrange(4))]
        found += history.check(kept, texts, random.randint(history.log.trimmed, history.log.end[1]))
    assert found > 60


def test_publications_are_indexed_once_and_looked_at_only_if_they_may_match() -> None:
    history, kept = History(Random(1)), Pages()
    for _ in range(2 * pages.PAGE):
        history.publish()
    assert [kept.after(history.log, number)[1] for number in (0, 5, pages.PAGE, 0)] == [pages.PAGE, 0, pages.PAGE, 0]
    search = Search(["X : t(X, foaf:name, N)"])
    page, _ = kept.after(history.log, 0)
    large = sum(len(one.draft.body) > pages.LARGE_BYTES for one in page.publications)
    search.matching(page, 0)
    assert search.tests == 1 + large
