"""Scripts: what is read, what is refused with its line, and what playing one shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hypercup import InvalidScript, UnstructuredKind
from hypercup.replay import Scene, play
from hypercup.script import Action, parse_script

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples" / "backbone").glob("*.txt"))


def test_a_script_is_read_line_by_line() -> None:
    steps = parse_script("# a story\n\njoin a b\nJOIN c through a # there\nwait 2.5\npartition a | b c\nheal\n")
    assert [(step.line, step.action) for step in steps] == [
        (3, Action.JOIN),
        (4, Action.JOIN),
        (5, Action.WAIT),
        (6, Action.PARTITION),
        (7, Action.HEAL),
    ]
    assert steps[0].names == ("a", "b")
    assert (steps[1].names, steps[1].through) == (("c",), "a")
    assert steps[2].seconds == 2.5
    assert steps[3].groups == (("a",), ("b", "c"))


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("", 1, "expected at least one command"),
        ("# nothing\n", 1, "expected at least one command"),
        ("join a\nfly a", 2, "expected one of join, leave, .*, found 'fly'"),
        ("join", 1, "expected the name of a super-peer"),
        ("join a a", 1, "expected a once"),
        ("join ä", 1, "expected a name of letters, digits, .*found 'ä'"),
        ("join a\njoin a", 2, "a has joined before; restart it instead"),
        ("join a through", 1, "expected one name after through"),
        ("join a through b c", 1, "expected one name after through"),
        ("join a through b", 1, "b is not running"),
        ("leave a", 1, "a has not joined"),
        ("join a\ncrash a\ncrash a", 3, "a is not running"),
        ("join a\nrestart a", 2, "a is running already"),
        ("join a\nresume a", 2, "a is not stalled"),
        ("join a\nstall a\nleave a", 3, "a is stalled; resume it first"),
        ("join a\nwait", 2, "expected a number of seconds after wait, found ''"),
        ("join a\nwait soon", 2, "found 'soon'"),
        ("join a\nwait -1", 2, "expected more than 0"),
        ("join a\nwait nan", 2, "expected more than 0"),
        ("join a\nwait 1e9", 2, "at most 3600 seconds"),
        ("join a\nheal now", 2, "expected nothing after heal, found 'now'"),
        ("join a\npartition a", 2, "at least two groups"),
        ("join a\npartition a |", 2, "expected the name"),
        ("join a b\npartition a | a b", 2, "expected a in one group only"),
        ("join a\npartition a | z", 2, "z has not joined"),
        ("join " + " ".join(f"m{i}" for i in range(257)), 1, "at most 256 super-peers"),
        ("heal\n" * 1001, 1001, "at most 1000 lines"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, line: int, sentence: str) -> None:
    with pytest.raises(InvalidScript, match=sentence) as caught:
        parse_script(text)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"line {line}: ")


def last(text: str) -> Scene:
    return list(play(parse_script(text)))[-1]


def test_scenes_show_the_cube_after_each_step() -> None:
    scenes = list(play(parse_script("join a\njoin b c\ncrash b\nwait 10")))
    assert [len(scene.views[0].places) for scene in scenes] == [1, 3, 2, 2]
    assert scenes[0].views[0].places == {"a": "ε"}
    assert sorted(map(len, scenes[1].views[0].places.values())) == [1, 2, 2]
    assert all(scene.taken_s is not None for scene in scenes)
    assert scenes[2].messages["News"] > 0
    assert scenes[3].moved == ()


def test_a_partition_shows_a_view_for_each_side_and_heals() -> None:
    scenes = list(play(parse_script("join a b c d\npartition a b | c d\nheal")))
    assert [sorted(view.holders) for view in scenes[1].views] == [["a", "b"], ["c", "d"]]
    assert [len(view.places) for view in scenes[2].views] == [4]


def test_who_stalls_is_called_dead_and_comes_back() -> None:
    scenes = list(play(parse_script("join a b c\nstall c\nresume c")))
    assert set(scenes[1].views[0].places) == {"a", "b"}
    assert set(scenes[2].views[0].places) == {"a", "b", "c"}


def test_the_unstructured_backbone_is_shown_as_a_tree() -> None:
    scene = list(play(parse_script("join a b c d e"), kind=UnstructuredKind))[-1]
    places = scene.views[0].places
    assert sorted(places.values()).count("root") == 1
    assert sum(map(len, scene.views[0].neighbours.values())) == 2 * 4


def test_the_same_seed_plays_the_same() -> None:
    steps = parse_script("join a b c d e f\ncrash a c\nrestart a")
    assert list(play(steps, seed=3)) == list(play(steps, seed=3))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_end_in_one_view(path: Path) -> None:
    scenes = list(play(parse_script(path.read_text(encoding="utf-8"))))
    assert len(scenes[-1].views) == 1


def test_there_are_examples() -> None:
    assert EXAMPLES
