"""What a notification matches: arrays of numbers by destination, and the keys behind them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, Protocol, TypeVar

from superpeer.matching.arrays import Int32s, Int64s

Key = TypeVar("Key", bound=Hashable)
Named = TypeVar("Named", bound=Hashable, covariant=True)


class Names(Protocol[Named]):
    """Whoever knows what numbers stand for."""

    def key(self, number: int) -> Named: ...

    def destination(self, number: int) -> Hashable: ...


class Matches(Generic[Key]):
    """The subscriptions that one notification matches, by destination. They are known by number, which is cheap; keys
    are looked up when they are asked for, and are right until the matcher is changed."""

    __slots__ = ("_destinations", "_names", "_starts", "numbers")

    def __init__(self, names: Names[Key], numbers: Int32s, destinations: Int32s, starts: Int64s) -> None:
        self.numbers = numbers
        self._destinations = destinations
        self._starts = starts
        self._names = names

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Key]:
        return (self._names.key(number) for number in self.numbers.tolist())

    def by_destination(self) -> Iterator[tuple[Hashable, Int32s]]:
        """Each destination once, with the numbers of its subscriptions."""
        ends = [*self._starts[1:].tolist(), len(self.numbers)]
        for destination, start, end in zip(self._destinations.tolist(), self._starts.tolist(), ends, strict=False):
            yield self._names.destination(destination), self.numbers[start:end]
