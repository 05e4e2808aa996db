"""Labels are bit strings: immutable, hashable, ordered and printed like their text."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypercup import InvalidLabel, Label, first_difference

texts = st.text("01", max_size=80)


@given(texts)
def test_a_label_prints_as_it_was_written(text: str) -> None:
    assert str(Label(text)) == (text or "ε")
    assert Label(str(Label(text))) == Label(text)
    assert eval(repr(Label(text)), {"Label": Label}) == Label(text)
    assert len(Label(text)) == len(text)
    assert [Label(text)[k] for k in range(len(text))] == [int(digit) for digit in text]


@given(texts, texts)
def test_labels_compare_like_their_texts(one: str, other: str) -> None:
    assert (Label(one) < Label(other)) == (one < other)
    assert (Label(one) <= Label(other)) == (one <= other)
    assert (Label(one) > Label(other)) == (one > other)
    assert (Label(one) >= Label(other)) == (one >= other)
    assert (Label(one) == Label(other)) == (one == other)
    assert (hash(Label(one)) == hash(Label(other))) or one != other


@given(texts, texts)
def test_prefixes_and_first_differences(one: str, other: str) -> None:
    z, x = Label(one), Label(other)
    assert z.is_prefix_of(x) == other.startswith(one)
    assert z.overlaps(x) == (one.startswith(other) or other.startswith(one))
    if z.overlaps(x):
        with pytest.raises(InvalidLabel, match="overlap"):
            first_difference(z, x)
    else:
        expected = next(k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        assert first_difference(z, x) == first_difference(x, z) == expected


@given(texts.filter(bool), st.data())
def test_relatives(text: str, data: st.DataObject) -> None:
    label = Label(text)
    assert label.parent.child(label[len(text) - 1]) == label
    assert label.sibling.parent == label.parent
    assert label.sibling != label
    k = data.draw(st.integers(0, len(text) - 1))
    assert first_difference(label, label.flip(k)) == k
    assert label.flip(k).flip(k) == label
    length = data.draw(st.integers(0, 100))
    assert str(label.prefix(length) if length else "") == text[:length].ljust(length, "0")


def test_the_empty_label_is_a_label_and_true() -> None:
    assert Label() == Label("") == Label("ε")
    assert Label()
    for property_name in ("parent", "sibling"):
        with pytest.raises(InvalidLabel):
            getattr(Label(), property_name)


@pytest.mark.parametrize("text", ["2", "0 1", "0b1", "-1", "０"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidLabel, match="digits 0 and 1"):
        Label(text)


@pytest.mark.parametrize(("bits", "length"), [(2, 1), (-1, 3), (0, -1), (1, 0)])
def test_bits_that_do_not_fit_are_refused(bits: int, length: int) -> None:
    with pytest.raises(InvalidLabel, match="does not fit"):
        Label.of(bits, length)


def test_a_label_cannot_be_changed() -> None:
    label = Label("01")
    with pytest.raises(AttributeError, match="immutable"):
        label.bits = 3
    with pytest.raises(IndexError):
        label[2]
    with pytest.raises(InvalidLabel):
        label.flip(2)


def test_a_label_survives_copying_and_pickling() -> None:
    label = Label("0110")
    assert copy.deepcopy(label) == pickle.loads(pickle.dumps(label)) == label
    assert label != "0110"
