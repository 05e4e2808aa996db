"""Hashes: equal for what is equal wherever it stands, and different for what differs, as far as anyone can try."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from superpeer.catalog.grouping import by_bucket, distinct, together
from superpeer.catalog.hashing import hash_texts, seed_of


def hashes(texts: list[str], seed: int = 0) -> list[tuple[int, int]]:
    first, second = hash_texts(pa.array(texts, pa.string()), np.full(len(texts), seed, np.uint64))
    return list(zip(first.tolist(), second.tolist(), strict=True))


@given(st.lists(st.text(max_size=20)), st.integers(0, 5))
def test_a_hash_is_that_of_the_text_alone(texts: list[str], start: int) -> None:
    held = pa.array(["before", *texts])[1:][start:]
    first, second = hash_texts(held, np.zeros(len(held), np.uint64))
    expected = [hashes([text])[0] for text in texts[start:]]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected


@given(st.sets(st.text(max_size=20)))
def test_what_differs_has_different_hashes(texts: set[str]) -> None:
    found = hashes(sorted(texts))
    assert len({first for first, _ in found}) == len({second for _, second in found}) == len(texts)


def test_either_half_tells_many_similar_texts_apart() -> None:
    texts = [f"http://example.org/{i}{end}" for i in range(100_000) for end in ("", "\0", "0")]
    found = hashes(sorted(set(texts)))
    assert len({first for first, _ in found}) == len({second for _, second in found}) == len(set(texts))


def test_seeds_tell_the_same_texts_apart() -> None:
    names = [(1, "literal", "en", ""), (1, "literal", "", "en"), (11, "literal", "en", "")]
    assert len({hashes(["x"], seed_of(name))[0] for name in names}) == 3


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_equal_hashes_stand_together_in_the_order_in_which_they_came(pairs: list[tuple[int, int]]) -> None:
    """Also where first halves are the same by chance."""
    a, b = (np.array([pair[half] for pair in pairs], np.uint64) for half in (0, 1))
    order, bounds = together(a, b)
    found = [[pairs[place] for place in order[start:end]] for start, end in pairwise(bounds)]
    assert found == [[pair] * pairs.count(pair) for pair in dict.fromkeys(pairs)]
    firsts, counts = distinct(a, b)
    assert [(pairs[first], count) for first, count in zip(firsts, counts, strict=True)] == list(Counter(pairs).items())


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(1, 5))
def test_each_hash_is_in_one_bucket(hashes: list[int], buckets: int) -> None:
    order, bounds = by_bucket(np.array(hashes, np.uint64), buckets)
    assert sorted(order.tolist()) == list(range(len(hashes)))
    where = {hashes[i]: [bucket] for bucket, (start, end) in enumerate(pairwise(bounds)) for i in order[start:end]}
    for bucket, (start, end) in enumerate(pairwise(bounds)):
        assert all(where[hashes[i]] == [bucket] for i in order[start:end])
