"""Hashes of texts in columns, compiled: 128 bits for each text, the same on every machine and in every run.

Tasks exchange these, or a part of their bits, instead of texts, and what has the same hash counts as the same. Were
they random, two of a billion texts would have the same 128 bits with a probability of 1 in 10^21, and the same 96 with
one of 1 in 10^11. Nobody is kept from making two on purpose.

All that a compiled function here uses is in this file: numba looks at no other to see whether what it kept is current.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from superpeer.matching.compiling import compiled

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)
_C = np.uint64(0xD6E8FEB86659FD93)
_LOW, _HIGH, _EIGHT, _ZERO = np.uint64(29), np.uint64(32), np.uint64(8), np.uint64(0)


def hash_texts(texts: pa.Array, seeds: Any) -> tuple[Any, Any]:
    """Two arrays of 64 bits: the hashes of texts, each under a seed of its own."""
    offsets, data = buffers_of(texts)
    first, second = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    _hash_texts(offsets, data, seeds, first, second)
    return first, second


def seeds_of(names: Iterable[tuple[object, ...]]) -> Any:
    """A seed for each of a few tuples, which are all different."""
    digests = (blake2b(repr(name).encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)


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


def order_of(a: Any, b: Any) -> Any:
    """Where hashes stand when they are sorted. The second one is looked at only where the first does not decide."""
    order = np.argsort(a)
    sorted_a, sorted_b = a[order], b[order]
    if np.any((sorted_a[1:] == sorted_a[:-1]) & (sorted_b[1:] != sorted_b[:-1])):
        return np.lexsort((b, a))
    return order


def starts_of(a: Any, b: Any) -> Any:
    """Where sorted hashes change."""
    if not len(a):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], (a[1:] != a[:-1]) | (b[1:] != b[:-1])]))


@compiled
def _hash_texts(offsets: Any, data: Any, seeds: Any, first: Any, second: Any) -> None:
    for i in range(len(offsets) - 1):
        at, end = offsets[i], offsets[i + 1]
        size = np.uint64(end - at)
        # Two lanes read the same words. Each step of a lane can be undone, so texts that differ in one word never meet.
        a = (seeds[i] ^ size) * _A
        b = (seeds[i] + size) * _B + _C
        while at + 8 <= end:
            word = (
                np.uint64(data[at])
                | np.uint64(data[at + 1]) << np.uint64(8)
                | np.uint64(data[at + 2]) << np.uint64(16)
                | np.uint64(data[at + 3]) << np.uint64(24)
                | np.uint64(data[at + 4]) << np.uint64(32)
                | np.uint64(data[at + 5]) << np.uint64(40)
                | np.uint64(data[at + 6]) << np.uint64(48)
                | np.uint64(data[at + 7]) << np.uint64(56)
            )
            a = (a ^ word) * _A
            a ^= a >> _HIGH
            b = (b ^ word) * _B
            b ^= b >> _LOW
            at += 8
        word, shift = _ZERO, _ZERO
        while at < end:
            word |= np.uint64(data[at]) << shift
            shift += _EIGHT
            at += 1
        a = (a ^ word) * _A
        a = (a ^ (a >> _LOW)) * _B
        first[i] = a ^ (a >> _HIGH)
        b = (b ^ word) * _B
        b = (b ^ (b >> _HIGH)) * _A
        second[i] = b ^ (b >> _LOW)


@compiled
def add_to_sketches(registers: Any, which: Any, hashes: Any, bits: int) -> None:
    """HyperLogLog: for each hash the register that its first bits name keeps the most zeros that followed them."""
    rest = 64 - bits
    for i in range(len(hashes)):
        at = hashes[i] >> np.uint64(rest)
        left = hashes[i] << np.uint64(bits)
        zeros = 1
        while zeros <= rest and left >> np.uint64(63) == _ZERO:
            left <<= np.uint64(1)
            zeros += 1
        if zeros > registers[which[i], at]:
            registers[which[i], at] = zeros


@compiled
def walk_subjects(
    order: Any, bounds: Any, properties: Any, triples: Any, most: Any, having: Any, shapes: Any, repeats: Any
) -> int:
    """What the triples of each subject are, which stand between `bounds` in `order`: a hash of the set of properties,
    and which triples came before; and of each property the most values, and how many subjects have it. Returns how many
    triples came before."""
    counts = np.zeros(len(most), np.int64)
    found = 0
    for i in range(len(bounds) - 1):
        start, end = bounds[i], bounds[i + 1]
        if end - start > 32:
            order[start:end] = order[start:end][np.argsort(triples[order[start:end]])]
        else:
            for j in range(start + 1, end):
                here = order[j]
                k = j
                while k > start and triples[order[k - 1]] > triples[here]:
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = here
        shape = _ZERO
        for j in range(start, end):
            here = order[j]
            if j > start and triples[here] == triples[order[j - 1]]:
                repeats[found] = here
                found += 1
                continue
            name = properties[here]
            if counts[name] == 0:
                stirred = (np.uint64(name) + _A) * _B
                stirred = (stirred ^ (stirred >> _HIGH)) * _C
                shape += stirred ^ (stirred >> _LOW)
                having[name] += 1
            counts[name] += 1
            most[name] = max(most[name], counts[name])
        for j in range(start, end):
            counts[properties[order[j]]] = 0
        shapes[i] = shape
    return found
