"""An index is the union of what its supporters advertise, and knows which subscriptions a change can matter to."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import qel
from superpeer.node.advertisements import (
    AdvertisementIndex,
    Element,
    PropertyElement,
    SchemaElement,
    advertisement_of,
    elements_of,
    mentioned_by,
    mentions,
)
from tests.qel.strategies import queries
from tests.qel.test_advertisements import advertisements


@given(advertisements())
def test_an_advertisement_is_its_elements(advertisement: qel.Advertisement) -> None:
    assert advertisement_of(elements_of(advertisement)) == advertisement


@settings(max_examples=60)
@given(
    st.lists(advertisements(), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=12),
    queries(),
)
def test_an_index_is_the_union_of_what_is_supported(
    advertised: list[qel.Advertisement], history: list[tuple[int, int, bool]], query: qel.Query
) -> None:
    index: AdvertisementIndex[int] = AdvertisementIndex()
    held: set[tuple[Element, int]] = set()
    for which, supporter, adding in history:
        for element in elements_of(advertised[which % len(advertised)]):
            before = {known for known, _ in held}
            if adding:
                assert index.add(element, supporter) == (element not in before)
                held.add((element, supporter))
            else:
                held.discard((element, supporter))
                gone = element in before and element not in {known for known, _ in held}
                assert index.remove(element, supporter) == gone
    union = advertisement_of({element for element, _ in held})
    assert set(index) == elements_of(union)
    assert qel.Advertisement(index.schemas, index.properties, index.values) == union
    assert index.covers(query) == qel.covers(union, query)
    for element in index:
        assert index.supporters(element) == {by for known, by in held if known == element}


@settings(max_examples=150)
@given(advertisements(), advertisements(), queries())
def test_only_what_is_mentioned_matters(base: qel.Advertisement, more: qel.Advertisement, query: qel.Query) -> None:
    keys = mentions(query)
    index: AdvertisementIndex[int] = AdvertisementIndex()
    for element in elements_of(base):
        index.add(element, 0)
    for element in sorted(elements_of(more), key=str):
        covered = index.covers(query)
        index.add(element, 1)
        if index.covers(query) != covered:
            assert keys.intersection(mentioned_by(element))


def test_an_element_is_withdrawn_with_its_last_supporter() -> None:
    index: AdvertisementIndex[str] = AdvertisementIndex()
    element = SchemaElement("http://purl.org/dc/elements/1.1/")
    assert index.add(element, "Hannover")
    assert not index.add(element, "Crete")
    assert not index.remove(element, "Hannover")
    assert not index.remove(element, "Hannover")
    assert index.remove(element, "Crete")
    assert len(index) == 0
    assert not index.remove(PropertyElement("http://a.org/p"), "Crete")
