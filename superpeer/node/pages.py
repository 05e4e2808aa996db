"""Pages of a log, indexed, for the many who look through it after a super-peer was away.

Each queue that catches up has subscriptions of its own, and all of them read the same log. So it is the publications
that are indexed here, and not the subscriptions: a page holds, for each feature (see `features`), which of its
publications offer it, as the bits of a number. What may match a subscription is the intersection of a few numbers, and
only that is tried. Pages are made when somebody asks, and the last that were used are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from qel import Query
from superpeer.node.features import Features, features_in, features_of
from superpeer.node.forms import read_query
from superpeer.node.publications import Publication
from superpeer.node.state import Log

PAGE = 256
"""So many publications are in a page."""
PAGES_KEPT = 64
LARGE_BYTES = 2 * 1024
"""The features of a larger publication are not worth their room: it is always tried."""


class Page:
    """Some publications that stand one after the other in a log, the first of which has the number `first`."""

    def __init__(self, first: int) -> None:
        self.publications: list[Publication] = []
        self.first = first
        self._large = 0
        self._offering: dict[int, int] = {}

    def __getitem__(self, number: int) -> Publication:
        return self.publications[number - self.first]

    @property
    def next_number(self) -> int:
        """Of the publication that would be the next here."""
        return self.first + len(self.publications)

    def add(self, publication: Publication) -> None:
        assert publication.place[1] == self.next_number
        bit = 1 << len(self.publications)
        self.publications.append(publication)
        if len(publication.draft.body) > LARGE_BYTES:
            self._large |= bit
            return
        offering = self._offering
        for feature in features_in(publication.description):
            offering[feature] = offering.get(feature, 0) | bit

    def candidates(self, features: Features, above: int) -> Iterator[Publication]:
        """Those with numbers above one that may match a query with these features."""
        found = self._large
        for required in features.required:
            offering = (1 << len(self.publications)) - 1
            for feature in required:
                offering &= self._offering.get(feature, 0)
                if not offering:
                    break
            found |= offering
        skipped = max(0, above + 1 - self.first)
        found = found >> skipped << skipped
        while found:
            bit = found & -found
            yield self.publications[bit.bit_length() - 1]
            found ^= bit


class Pages:
    """The pages of one log that were used last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Page] = OrderedDict()

    def after(self, log: Log, number: int) -> tuple[Page, int]:
        """The page with the publication after a number, as far as the log goes, and how many were indexed for it."""
        assert log.trimmed <= number < log.end[1]
        first = number - number % PAGE + 1
        page = self._kept.get(first)
        if page is None or page.next_number <= log.trimmed:
            # Of a page whose beginning is gone from the log, the rest is indexed.
            page = self._kept[first] = Page(max(first, log.trimmed + 1))
        self._kept.move_to_end(first)
        if len(self._kept) > PAGES_KEPT:
            self._kept.popitem(last=False)
        indexed = 0
        room = first + PAGE - page.next_number
        for publication in islice(log.after((log.generation, page.next_number - 1)), room):
            page.add(publication)
            indexed += 1
        return page, indexed


class Search:
    """Some queries, tried on one page after the other. They are read when there is something to try them on."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self.tests = 0
        """What has been done so far: tests of a query on a publication, and what costs about as much."""

    @cached_property
    def _queries(self) -> list[tuple[Query, Features]]:
        return [(query, features_of(query)) for query in map(read_query, self._texts)]

    def matching(self, page: Page, above: int) -> dict[int, list[int]]:
        """The numbers of publications above one, in order, and which of the queries match each, by their positions."""
        found: dict[int, list[int]] = {}
        self.tests += 1 + len(self._queries) // 4
        for position, (query, features) in enumerate(self._queries):
            for publication in page.candidates(features, above):
                self.tests += 1
                if publication.meets(query):
                    found.setdefault(publication.place[1], []).append(position)
        return dict(sorted(found.items()))
