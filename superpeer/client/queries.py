"""What a one-time query found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from auth import PublicKey
from superpeer.client.downloads import Owner
from superpeer.node.body import read_body
from superpeer.node.requests import QueryFinished
from superpeer.rdf.terms import triples_of


@dataclass(frozen=True)
class Answer:
    """What one peer holds of one subject."""

    owner: Owner
    triples: tuple[Any, ...]

    @property
    def subject(self) -> Any:
        return self.triples[0][0]


@dataclass(frozen=True)
class QueryResult:
    """Answers by owner and subject, and who did not answer in time."""

    answers: tuple[Answer, ...]
    silent: tuple[PublicKey, ...]
    """The super-peers that did not answer."""
    absent_peers: int
    """How many peers that advertise it were offline or too slow."""
    is_cut: bool
    """There were more answers than a limit allows."""

    @classmethod
    def of(cls, finished: QueryFinished) -> QueryResult:
        return cls(
            tuple(Answer(Owner(one.owner, one.owner_at), triples_of(read_body(one.body))) for one in finished.answers),
            tuple(map(PublicKey, finished.silent)),
            finished.absent_peers,
            finished.is_cut,
        )

    @property
    def triples(self) -> set[Any]:
        return {triple for answer in self.answers for triple in answer.triples}

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)
