"""Publications as the strategies see them: what is said of one subject, and how large it is on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from qel.values import Description, describe
from superpeer.dht.errors import DhtError


@dataclass(frozen=True, eq=False)
class Publication:
    """An id, and a description of one subject."""

    id: str
    description: Description
    size_bytes: int

    @classmethod
    def of(cls, identity: str, triples: Iterable[Any]) -> Publication:
        described = describe(triples)
        if len(described) != 1:
            raise DhtError(f"a publication speaks of one subject, this of {len(described)}; publish each by itself")
        return cls(identity, described[0], size_of(described[0]))


def size_of(description: Description) -> int:
    """About as many bytes as the triples take: each property and each value, and the subject once."""
    size = len(description.subject.text)
    for name, values in description.values.items():
        size += sum(len(name) + len(value.text) + 4 for value in values)
    return size
