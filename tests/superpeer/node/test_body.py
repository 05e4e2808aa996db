"""Bodies that others wrote are read, or refused with a sentence; and they cannot fill the memory."""

from __future__ import annotations

import msgspec
import pytest

from superpeer.node.body import REMEMBERED_BYTES, read_body, said_in
from superpeer.node.errors import BadPublication

TITLE = "http://purl.org/dc/elements/1.1/title"


def written(subject_kind: str, object_kind: str = "l", text: str = "P2P") -> bytes:
    return msgspec.msgpack.encode([[subject_kind, "urn:a"], [[TITLE, [object_kind, text]]]])


@pytest.mark.parametrize("kind", ["", "ub", "l", "x", "U", "uu"])
def test_a_subject_is_a_uri_or_a_blank_node(kind: str) -> None:
    assert read_body(written("u")).subject.kind == "u"
    assert read_body(written("b")).subject.kind == "b"
    for read in (read_body, said_in):
        with pytest.raises(BadPublication, match="a subject is no literal"):
            read(written(kind))


@pytest.mark.parametrize("kind", ["", "ub", "ul", "x"])
def test_a_value_is_a_term(kind: str) -> None:
    with pytest.raises(BadPublication, match="a term is a URI"):
        read_body(written("u", kind))


def test_large_bodies_are_not_remembered() -> None:
    small, large = written("u"), written("u", text="x" * REMEMBERED_BYTES)
    assert said_in(small) is said_in(small)
    assert said_in(large) is not said_in(large)
    assert said_in(large).description.values.keys() == {TITLE}
