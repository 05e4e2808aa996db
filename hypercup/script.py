"""The language of replay scripts: what happens to a backbone, one event a line.

    # Anything after a hash sign is a comment.
    join a b c            new super-peers, through anyone that runs
    join d through a      ... or through a certain one
    leave a               says farewell
    crash b c             is gone, with its memory
    restart b             a new life of one that left or crashed
    stall d               stands still, so that it may be called dead by mistake
    resume d              goes on
    partition a b | c d   cuts the network in two or more
    heal                  mends it
    wait 10               lets so many seconds pass

What stands in one line happens at one moment. After each line the super-peers get the time to agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hypercup.errors import InvalidScript

MAX_LINES = 1_000
MAX_NAMES = 256
MAX_WAIT_S = 3_600.0
NAME = re.compile(r"[A-Za-z0-9_.-]{1,32}")


class Action(Enum):
    JOIN = "join"
    LEAVE = "leave"
    CRASH = "crash"
    RESTART = "restart"
    STALL = "stall"
    RESUME = "resume"
    PARTITION = "partition"
    HEAL = "heal"
    WAIT = "wait"


@dataclass(frozen=True)
class Step:
    """One line: what happens, to whom."""

    line: int
    text: str
    action: Action
    names: tuple[str, ...] = ()
    through: str | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    seconds: float = 0.0


def parse_script(text: str) -> list[Step]:
    """Read a script, and check as far as possible without running it that it makes sense."""
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        raise InvalidScript(MAX_LINES + 1, f"a script has at most {MAX_LINES} lines")
    steps = [
        _parse_line(number, content)
        for number, line in enumerate(lines, start=1)
        if (content := line.split("#", 1)[0].strip())
    ]
    if not steps:
        raise InvalidScript(max(1, len(lines)), "expected at least one command, such as: join a")
    _check_story(steps)
    return steps


def _parse_line(line: int, text: str) -> Step:
    word, *rest = text.split()
    try:
        action = Action(word.lower())
    except ValueError:
        known = ", ".join(action.value for action in Action)
        raise InvalidScript(line, f"expected one of {known}, found {word!r}") from None
    if action is Action.HEAL:
        if rest:
            raise InvalidScript(line, f"expected nothing after heal, found {rest[0]!r}")
        return Step(line, text, action)
    if action is Action.WAIT:
        return Step(line, text, action, seconds=_seconds(line, rest))
    if action is Action.PARTITION:
        return Step(line, text, action, groups=_groups(line, " ".join(rest)))
    through = None
    if action is Action.JOIN and "through" in rest:
        *rest, keyword, through = rest if rest[-1] != "through" else [*rest, ""]
        if keyword != "through" or not through:
            raise InvalidScript(line, "expected one name after through, at the end of the line")
        _checked_name(line, through)
    return Step(line, text, action, names=_names(line, rest), through=through)


def _seconds(line: int, words: list[str]) -> float:
    found = " ".join(words)
    try:
        seconds = float(found)
    except ValueError:
        raise InvalidScript(line, f"expected a number of seconds after wait, found {found!r}") from None
    if not 0 < seconds <= MAX_WAIT_S:
        raise InvalidScript(line, f"expected more than 0 and at most {MAX_WAIT_S:g} seconds, found {found}")
    return seconds


def _groups(line: int, text: str) -> tuple[tuple[str, ...], ...]:
    groups = tuple(_names(line, group.split()) for group in text.split("|"))
    if len(groups) < 2:
        raise InvalidScript(line, "expected at least two groups of names with | between them")
    names = [name for group in groups for name in group]
    for name in names:
        if names.count(name) > 1:
            raise InvalidScript(line, f"expected {name} in one group only")
    return groups


def _names(line: int, words: list[str]) -> tuple[str, ...]:
    if not words:
        raise InvalidScript(line, "expected the name of a super-peer")
    for name in words:
        _checked_name(line, name)
        if words.count(name) > 1:
            raise InvalidScript(line, f"expected {name} once in the line")
    return tuple(words)


def _checked_name(line: int, name: str) -> None:
    if not NAME.fullmatch(name):
        raise InvalidScript(line, f"expected a name of letters, digits, '.', '-' and '_', found {name!r}")


def _check_story(steps: list[Step]) -> None:
    """Nobody joins twice, and nothing happens to somebody who is not there."""
    known: set[str] = set()
    running: set[str] = set()
    stalled: set[str] = set()
    for step in steps:
        names = set(step.names) | {name for group in step.groups for name in group}
        if step.action is Action.JOIN:
            _refuse(step, names & known, "has joined before; restart it instead")
            if len(known | names) > MAX_NAMES:
                raise InvalidScript(step.line, f"a script has at most {MAX_NAMES} super-peers")
        else:
            _refuse(step, names - known, "has not joined")
        if step.through is not None:
            _refuse(step, {step.through} - running, "is not running")
        if step.action is Action.RESTART:
            _refuse(step, names & running, "is running already")
        if step.action in (Action.LEAVE, Action.CRASH, Action.STALL):
            _refuse(step, names - running, "is not running")
        if step.action in (Action.LEAVE, Action.STALL):
            _refuse(step, names & stalled, "is stalled; resume it first")
        if step.action is Action.RESUME:
            _refuse(step, names - stalled, "is not stalled")
        if step.action in (Action.JOIN, Action.RESTART):
            known |= names
            running |= names
        elif step.action in (Action.LEAVE, Action.CRASH):
            running -= names
            stalled -= names
        elif step.action is Action.STALL:
            stalled |= names
        elif step.action is Action.RESUME:
            stalled -= names


def _refuse(step: Step, names: set[str], problem: str) -> None:
    if names:
        raise InvalidScript(step.line, f"{min(names)} {problem}")
