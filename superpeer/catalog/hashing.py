"""Hashes of texts in columns, compiled: 128 bits for each text, the same on every machine and in every run.

Tasks exchange these, or a part of their bits, instead of texts, and what has the same hash counts as the same. Were
they random, two of a billion texts would have the same 128 bits with a probability of 1 in 10^21. Nobody is kept from
making two on purpose.
"""

from __future__ import annotations

from hashlib import blake2b
from math import log
from typing import Any

import numpy as np
import pyarrow as pa

from superpeer.catalog.octets import same_bytes, word_at
from superpeer.matching.compiling import compiled

SKETCH_BITS = 12
"""4,096 registers: a standard error of 1.6 %."""

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)
_C = np.uint64(0xD6E8FEB86659FD93)
_LOW, _HIGH, _EIGHT, _ZERO = np.uint64(29), np.uint64(32), np.uint64(8), np.uint64(0)


def hash_texts(texts: pa.Array, seeds: Any) -> tuple[Any, Any]:
    """Two arrays of 64 bits: the hashes of texts, each under a seed of its own."""
    offsets, data = buffers_of(texts)
    first, second = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    _hash_texts(offsets[:-1], offsets[1:], data, seeds, first, second)
    return first, second


def hash_runs(texts: pa.Array) -> tuple[Any, Any, Any]:
    """Where texts begin that differ from the one before, and their hashes."""
    offsets, data = buffers_of(texts)
    starts = np.empty(len(texts), np.int64)
    starts = starts[: _find_runs(offsets, data, starts)]
    first, second = np.empty(len(starts), np.uint64), np.empty(len(starts), np.uint64)
    _hash_texts(offsets[starts], offsets[starts + 1], data, np.zeros(len(starts), np.uint64), first, second)
    return starts, first, second


def seed_of(name: tuple[object, ...]) -> int:
    """A seed for a tuple, which no other one has."""
    return int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest(), "little")


def buffers_of(texts: pa.Array) -> tuple[Any, Any]:
    """Where each text begins and ends, and the bytes of all."""
    _, offsets, data = texts.buffers()
    if offsets is None:
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return bounds, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def mixed(numbers: Any) -> Any:
    """Numbers of 64 bits with all their bits stirred: what is equal stays equal, what differs stays different."""
    numbers = (numbers ^ (numbers >> _HIGH)) * _A
    numbers = (numbers ^ (numbers >> _LOW)) * _C
    return numbers ^ (numbers >> _HIGH)


def sketch(which: Any, hashes: Any, number: int) -> Any:
    """The registers of HyperLogLog for so many sets: `which` says to which one a hash belongs."""
    registers = np.zeros((number, 1 << SKETCH_BITS), np.uint8)
    _add_to_sketches(registers, which, hashes)
    return registers


def estimate(registers: Any) -> int:
    """How many distinct hashes HyperLogLog has seen. With more registers filled it is never less."""
    count = len(registers)
    raw = 0.7213 / (1 + 1.079 / count) * count**2 / float(np.sum(np.ldexp(1.0, -registers.astype(np.int64))))
    empty = int(np.count_nonzero(registers == 0))
    return round(count * log(count / empty) if raw <= 2.5 * count and empty else raw)


@compiled
def _hash_texts(starts: Any, ends: Any, data: Any, seeds: Any, first: Any, second: Any) -> None:
    for i in range(len(starts)):
        at, end = int(starts[i]), int(ends[i])
        size = np.uint64(end - at)
        # Two lanes read the same words. Each step of a lane can be undone, so texts that differ in one word never meet.
        a = (seeds[i] ^ size) * _A
        b = (seeds[i] + size) * _B + _C
        while at + 8 <= end:
            word = word_at(data, at)
            a = (a ^ word) * _A
            a ^= a >> _HIGH
            b = (b ^ word) * _B
            b ^= b >> _LOW
            at += 8
        word, shift = _ZERO, _ZERO
        while at < end:
            word |= np.uint64(data[np.uint64(at)]) << shift
            shift += _EIGHT
            at += 1
        a = (a ^ word) * _A
        a = (a ^ (a >> _LOW)) * _B
        first[i] = a ^ (a >> _HIGH)
        b = (b ^ word) * _B
        b = (b ^ (b >> _HIGH)) * _A
        second[i] = b ^ (b >> _LOW)


@compiled
def _find_runs(offsets: Any, data: Any, starts: Any) -> int:
    found, last, last_size = 0, 0, -1
    for i in range(len(offsets) - 1):
        at = int(offsets[i])
        size = int(offsets[i + 1]) - at
        if size != last_size or not same_bytes(data, at, last, size):
            starts[found] = i
            found += 1
        last, last_size = at, size
    return found


@compiled
def _add_to_sketches(registers: Any, which: Any, hashes: Any) -> None:
    """For each hash the register that its first bits name keeps the most zeros that followed them."""
    rest = 64 - SKETCH_BITS
    for i in range(len(hashes)):
        at = hashes[i] >> np.uint64(rest)
        left = hashes[i] << np.uint64(SKETCH_BITS)
        zeros = 1
        while zeros <= rest and left >> np.uint64(63) == _ZERO:
            left <<= np.uint64(1)
            zeros += 1
        if zeros > registers[which[i], at]:
            registers[which[i], at] = zeros
