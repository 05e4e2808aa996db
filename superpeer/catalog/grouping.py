"""Arrays of hashes brought together, compiled: the same values, the same subjects, the same bucket."""

from __future__ import annotations

from typing import Any

import numpy as np

from superpeer.matching.compiling import compiled

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)
_C = np.uint64(0xD6E8FEB86659FD93)
_LOW, _HIGH, _ZERO, _ONE = np.uint64(29), np.uint64(32), np.uint64(0), np.uint64(1)

SHORT = 32
"""Up to so many triples of a subject are sorted by inserting."""


def distinct(a: Any, b: Any) -> tuple[Any, Any]:
    """Of hashes in two halves each that occurs: where it stands first, and how often."""
    firsts, counts, _ = _numbered(a, b)
    return firsts, counts


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Places so that those with the same hash stand together, in the order in which each came first, and where each
    begins and ends. What stood together stays so, and is read from one end to the other later."""
    _, counts, numbers = _numbered(a, b)
    order, bounds = np.empty(len(a), np.int64), np.concatenate([[0], np.cumsum(counts)])
    _gather(numbers, bounds[:-1].copy(), order)
    return order, bounds


def _numbered(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Each hash once: where it stands first, and how often it occurs; and at each place its number among these."""
    firsts, counts, numbers = np.empty(len(a), np.int64), np.empty(len(a), np.int64), np.empty(len(a), np.int32)
    found = _number(a, b, np.zeros(1 << (2 * len(a)).bit_length(), np.int32), firsts, counts, numbers)
    return firsts[:found], counts[:found], numbers


def by_bucket(hashes: Any, buckets: int) -> tuple[Any, Any]:
    """Places in the order of buckets, which the upper half of a hash chooses, and where each bucket begins and ends."""
    order, bounds = np.empty(len(hashes), np.int64), np.zeros(buckets + 1, np.int64)
    _by_bucket(hashes, np.uint64(buckets), order, bounds)
    return order, bounds


@compiled
def _number(a: Any, b: Any, table: Any, firsts: Any, counts: Any, numbers: Any) -> int:
    found, mask = 0, np.uint64(len(table) - 1)
    for i in range(len(a)):
        place = a[i] & mask
        while True:
            number = table[place] - 1
            if number < 0:
                table[place] = found + 1
                firsts[found], counts[found], numbers[i] = i, 1, found
                found += 1
                break
            first = firsts[number]
            if a[first] == a[i] and b[first] == b[i]:
                counts[number] += 1
                numbers[i] = number
                break
            place = (place + _ONE) & mask
    return found


@compiled
def _gather(numbers: Any, at: Any, order: Any) -> None:
    for i in range(len(numbers)):
        order[at[numbers[i]]] = i
        at[numbers[i]] += 1


@compiled
def _by_bucket(hashes: Any, buckets: Any, order: Any, bounds: Any) -> None:
    for i in range(len(hashes)):
        bounds[((hashes[i] >> _HIGH) * buckets >> _HIGH) + _ONE] += 1
    for i in range(1, len(bounds)):
        bounds[i] += bounds[i - 1]
    at = bounds[:-1].copy()
    for i in range(len(hashes)):
        bucket = (hashes[i] >> _HIGH) * buckets >> _HIGH
        order[at[bucket]] = i
        at[bucket] += 1


@compiled
def gather_runs(order: Any, starts: Any, ends: Any, numbers: Any, hashes: Any, to_numbers: Any, to_hashes: Any) -> None:
    """Copies what belongs to runs, in another order of these."""
    at = 0
    for i in range(len(order)):
        for j in range(starts[order[i]], ends[order[i]]):
            to_numbers[at], to_hashes[at] = numbers[j], hashes[j]
            at += 1


@compiled
def walk_subjects(
    order: Any,
    bounds: Any,
    starts: Any,
    properties: Any,
    triples: Any,
    most: Any,
    having: Any,
    shapes: Any,
    repeats: Any,
) -> int:
    """Looks at each subject, whose runs stand between `bounds` in `order`; what belongs to run r begins at `starts[r]`.
    Gives a hash of its set of properties (`shapes`), the triples that came before (`repeats`: run, and place in it),
    and of each property the most values and how many subjects have it. Returns how many triples came before."""
    counts = np.zeros(len(most), np.int64)
    longest = 0
    for i in range(len(bounds) - 1):
        size = 0
        for j in range(bounds[i], bounds[i + 1]):
            size += starts[order[j] + 1] - starts[order[j]]
        longest = max(longest, size)
    here, run_of = np.empty(longest, np.int64), np.empty(longest, np.int64)
    found = 0
    for i in range(len(bounds) - 1):
        size = 0
        for j in range(bounds[i], bounds[i + 1]):
            for k in range(starts[order[j]], starts[order[j] + 1]):
                here[size], run_of[size] = k, order[j]
                size += 1
        if size > SHORT:
            sorting = np.argsort(triples[here[:size]])
            here[:size], run_of[:size] = here[:size][sorting], run_of[:size][sorting]
        else:
            for j in range(1, size):
                place, run = here[j], run_of[j]
                k = j
                while k > 0 and triples[here[k - 1]] > triples[place]:
                    here[k], run_of[k] = here[k - 1], run_of[k - 1]
                    k -= 1
                here[k], run_of[k] = place, run
        shape = _ZERO
        for j in range(size):
            if j > 0 and triples[here[j]] == triples[here[j - 1]]:
                repeats[found, 0], repeats[found, 1] = run_of[j], here[j] - starts[run_of[j]]
                found += 1
                continue
            name = properties[here[j]]
            if counts[name] == 0:
                stirred = (np.uint64(name) + _A) * _B
                stirred = (stirred ^ (stirred >> _HIGH)) * _C
                shape += stirred ^ (stirred >> _LOW)
                having[name] += 1
            counts[name] += 1
            most[name] = max(most[name], counts[name])
        for j in range(size):
            counts[properties[here[j]]] = 0
        shapes[i] = shape
    return found
