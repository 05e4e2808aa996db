"""Labels: the bit strings that name regions of the cube.

A label stands for every infinite bit string that starts with it. `010` is one vertex of a cube of three
dimensions, and in a larger cube the whole face below it; the empty label, printed `ε`, is all of space.
"""

from __future__ import annotations

from typing import NoReturn

from hypercup.errors import InvalidLabel

EMPTY_TEXT = "ε"


class Label:
    """An immutable bit string. It sorts like its text: `0 < 00 < 01 < 1`."""

    __slots__ = ("bits", "length")

    bits: int
    length: int

    def __init__(self, text: str = "") -> None:
        digits = "" if text == EMPTY_TEXT else text
        if digits.strip("01"):
            raise InvalidLabel(f"a label is written with the digits 0 and 1 only, not {text!r}")
        object.__setattr__(self, "bits", int(digits, 2) if digits else 0)
        object.__setattr__(self, "length", len(digits))

    @classmethod
    def of(cls, bits: int, length: int) -> Label:
        """The label of `length` bits whose value, read as a binary number, is `bits`."""
        if length < 0 or bits < 0 or bits >> length:
            raise InvalidLabel(f"{bits} does not fit into a label of {length} bits")
        label = object.__new__(cls)
        object.__setattr__(label, "bits", bits)
        object.__setattr__(label, "length", length)
        return label

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a label is immutable: {name} cannot be set")

    def __len__(self) -> int:
        return self.length

    def __bool__(self) -> bool:
        # The empty label is a label like any other: `label or default` must not lose it.
        return True

    def __getitem__(self, dimension: int) -> int:
        if not 0 <= dimension < self.length:
            raise IndexError(f"label {self} has no bit {dimension}")
        return self.bits >> (self.length - 1 - dimension) & 1

    def __str__(self) -> str:
        return f"{self.bits:0{self.length}b}" if self.length else EMPTY_TEXT

    def __repr__(self) -> str:
        return f"Label('{str(self) if self.length else ''}')"

    def __hash__(self) -> int:
        return hash(1 << self.length | self.bits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Label):
            return NotImplemented
        return self.bits == other.bits and self.length == other.length

    def __lt__(self, other: Label) -> bool:
        return self._precedes(other, or_equal=False)

    def __le__(self, other: Label) -> bool:
        return self._precedes(other, or_equal=True)

    def __gt__(self, other: Label) -> bool:
        return other._precedes(self, or_equal=False)

    def __ge__(self, other: Label) -> bool:
        return other._precedes(self, or_equal=True)

    def __reduce__(self) -> tuple[object, ...]:
        return (Label.of, (self.bits, self.length))

    def child(self, bit: int) -> Label:
        """This label with one more bit."""
        return Label.of(self.bits << 1 | bit, self.length + 1)

    @property
    def parent(self) -> Label:
        """This label without its last bit."""
        if not self.length:
            raise InvalidLabel("the empty label has no parent")
        return Label.of(self.bits >> 1, self.length - 1)

    @property
    def sibling(self) -> Label:
        """The other child of the parent."""
        if not self.length:
            raise InvalidLabel("the empty label has no sibling")
        return Label.of(self.bits ^ 1, self.length)

    def flip(self, dimension: int) -> Label:
        """The mirror image of this label along one dimension."""
        if not 0 <= dimension < self.length:
            raise InvalidLabel(f"label {self} has no bit {dimension} to flip")
        return Label.of(self.bits ^ 1 << (self.length - 1 - dimension), self.length)

    def prefix(self, length: int) -> Label:
        """The first `length` bits, padded with zeros where the label is shorter."""
        if length >= self.length:
            return Label.of(self.bits << (length - self.length), length)
        return Label.of(self.bits >> (self.length - length), length)

    def is_prefix_of(self, other: Label) -> bool:
        """Whether the region of the other label lies in the region of this one."""
        return self.length <= other.length and other.bits >> (other.length - self.length) == self.bits

    def overlaps(self, other: Label) -> bool:
        """Whether some infinite bit string starts with both."""
        return self.is_prefix_of(other) or other.is_prefix_of(self)

    def _precedes(self, other: Label, *, or_equal: bool) -> bool:
        common = max(self.length, other.length)
        mine = (self.bits << (common - self.length), self.length)
        theirs = (other.bits << (common - other.length), other.length)
        return mine <= theirs if or_equal else mine < theirs


def first_difference(z: Label, x: Label) -> int:
    """The first bit where two labels differ; less than both lengths in every prefix code."""
    common = min(z.length, x.length)
    difference = z.bits >> (z.length - common) ^ x.bits >> (x.length - common)
    if not difference:
        raise InvalidLabel(f"labels {z} and {x} overlap, so no bit tells them apart")
    return common - difference.bit_length()
