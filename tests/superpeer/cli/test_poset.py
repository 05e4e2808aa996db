"""How a poset that does not fit on a screen is folded, with the report of a real one."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import qel
from superpeer.cli.poset import _fair, nest, print_tree
from superpeer.cli.poset_drawing import draw_dot, draw_svg
from superpeer.daemon import reports
from superpeer.daemon.admin_messages import ShowPoset
from superpeer.node.tables import LocalSubscription, Tables

CHILDREN, OTHERS = 300, 20
GENERAL = "X : t(X, dc:date, D) & D >= 0"


@pytest.fixture(scope="module")
def tables() -> Tables[Any, Any]:
    """One root with many children, one of which has a child of its own; and other roots without any."""
    made: Tables[Any, Any] = Tables()
    texts = [GENERAL, *(f"X : t(X, dc:date, D) & D = {year}" for year in range(CHILDREN))]
    texts.append('X : t(X, dc:date, D) & t(X, dc:title, T) & D = 7 & T contains "x"')
    texts += [f'X : t(X, dc:creator, Y) & Y = "author {number:02}"' for number in range(OTHERS)]
    for number, text in enumerate(texts):
        made.poset.insert(qel.parse(text), LocalSubscription("peer", f"s{number}"))
    return made


@pytest.fixture(scope="module")
def show(tables: Tables[Any, Any]) -> Any:
    router = SimpleNamespace(tables=tables)
    daemon: Any = SimpleNamespace(core=SimpleNamespace(node=SimpleNamespace(broker=SimpleNamespace(router=router))))
    return lambda **wanted: asyncio.run(reports.poset(daemon, ShowPoset(**wanted)))


def test_what_fits_is_shown_whole(show: Any) -> None:
    found = _fair(show, 8, 1000)
    assert not found["is_cut"]
    roots = nest(found["places"])
    assert len(roots) == found["roots"] == OTHERS + 1
    assert sum(1 for root in roots for _ in root.walk()) == found["total"] == CHILDREN + OTHERS + 2


@pytest.mark.parametrize("limit", [1, 5, 21, 22, 50, 200])
def test_what_does_not_fit_is_folded_fairly(show: Any, limit: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = _fair(show, 8, limit)
    assert len(found["places"]) <= limit
    roots = nest(found["places"])
    assert len(roots) == min(limit, OTHERS + 1), "roots come first, however many children one of them has"
    print_tree(found)
    shown = capsys.readouterr()
    large = next((root for root in roots if root.row["query"] == str(qel.parse(GENERAL))), None)
    if large is not None:
        assert f"… {CHILDREN - len(large.children)} more below" in shown.out
    if len(roots) <= OTHERS:
        assert f"… {OTHERS + 1 - len(roots)} more at the top" in shown.out
    assert f"of {CHILDREN + OTHERS + 2}" in shown.err


def test_a_part_is_chosen_by_root_depth_text_and_query(show: Any) -> None:
    below = nest(show(root=GENERAL, depth=1, limit=1000)["places"])
    assert (len(below), len(below[0].children)) == (1, CHILDREN)
    assert not any(child.children for child in below[0].children)
    assert len(show(text="author 0")["places"]) == 10
    within = partial(show, within="X : t(X, dc:date, D) & D < 10", limit=1000)
    assert len(within()["places"]) == 11
    # A row whose parent was left out hangs below the next one above.
    assert [len(root.children) for root in nest(within(depth=8)["places"])].count(1) == 1


def test_drawings_have_every_place_and_every_parent(show: Any) -> None:
    roots = nest(show(depth=8, limit=1000)["places"])
    dot = draw_dot(roots)
    assert dot.count("[label=") == CHILDREN + OTHERS + 2
    assert dot.count(" -> ") == CHILDREN + 1
    assert draw_svg(roots).count("<circle") == CHILDREN + OTHERS + 2
