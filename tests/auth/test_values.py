"""Keys and identifiers: lengths, the text form, and what it does not let through."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth import AuthError, InvalidIdentifier, InvalidKey, KeyId, PublicId, PublicKey
from auth.values import Value
from tests.auth.helpers import PEER

KINDS: list[type[Value]] = [KeyId, PublicId, PublicKey]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_text_form_is_read_back(kind: type[Value], data: st.DataObject) -> None:
    value = kind(data.draw(st.binary(min_size=kind.SIZE, max_size=kind.SIZE)))
    assert kind.parse(value.text) == value
    assert kind.parse(f"  {value.text.upper()}\n") == value
    assert eval(repr(value), {kind.__name__: kind}) == value
    assert str(value) == f"{value}" == value.text


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_lengths_are_refused(kind: type[Value]) -> None:
    for length in (0, 1, kind.SIZE - 1, kind.SIZE + 1, 64):
        with pytest.raises(kind.ERROR, match=f"has {kind.SIZE} bytes"):
            kind(bytes(length))


def test_every_wrong_character_is_noticed() -> None:
    text = PEER.public.text
    for position in range(len(text)):
        for letter in "a7-é":
            if text[position] != letter:
                with pytest.raises(InvalidKey):
                    PublicKey.parse(text[:position] + letter + text[position + 1 :])


def test_errors_say_what_is_wrong() -> None:
    text = PEER.public.text
    with pytest.raises(InvalidKey, match="starts with spk-"):
        PublicKey.parse(PEER.id.text)
    with pytest.raises(InvalidKey, match="has 60 characters, not 59"):
        PublicKey.parse(text[:-1])
    with pytest.raises(InvalidKey, match="letters and the digits 2 to 7"):
        PublicKey.parse(text[:-1] + "1")
    with pytest.raises(InvalidKey, match="mistyped"):
        PublicKey.parse(text[:10] + text[11] + text[10] + text[12:])
    with pytest.raises(InvalidIdentifier, match="mistyped"):
        PublicId.parse("spi-" + text[4:])


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    for kind in KINDS:
        for candidate in (text, kind.PREFIX + text):
            with pytest.raises(AuthError):
                kind.parse(candidate)


def test_values_are_values() -> None:
    one, same, other = PublicKey(bytes(32)), PublicKey(bytes(32)), PublicKey(bytes(31) + b"\1")
    assert one == same
    assert hash(one) == hash(same)
    assert one < other
    assert sorted([other, one]) == [one, other]
    assert one != PublicId(bytes(32))
    assert len({one, same, PublicId(bytes(32))}) == 2
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    with pytest.raises(AttributeError, match="immutable"):
        one.raw = bytes(32)
    with pytest.raises(TypeError):
        _ = one < bytes(32)  # type: ignore[operator]
