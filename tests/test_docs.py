"""What the documentation shows is run: commands with their output, Python sessions, and queries.

A block marked `console` is a session of `superpeer` commands, run from the top of the repository; one marked `python`
is a Python session; one marked `qel` is a query. Trailing white space, which tables have, does not count.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import qel

TOP = Path(__file__).parent.parent
PAGES = [TOP / "README.md", TOP / "ARCHITECTURE.md", *sorted((TOP / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[Any]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match[1] == language:
                line = text.count("\n", 0, match.start()) + 2
                found.append(pytest.param(match[2], id=f"{page.name}:{line}"))
    return found


def sessions() -> list[Any]:
    """The Python sessions of a page share their names, as they do for a reader."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        joined = "\n".join(match[2] for match in FENCE.finditer(text) if match[1] == "python" and ">>>" in match[2])
        if joined:
            found.append(pytest.param(joined, id=page.name))
    return found


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_is_shown(block: str) -> None:
    environment = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}
    for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        words = shlex.split(command)
        assert words[0] == "superpeer", "only superpeer's own commands are run from the documentation"
        result = subprocess.run(
            [sys.executable, "-m", "superpeer", *words[1:]],
            cwd=TOP,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert lines(result.stdout) == lines(expected), command


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize("session", sessions())
def test_python_sessions_go_as_shown(session: str) -> None:
    test = doctest.DocTestParser().get_doctest(session, {}, "documentation", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    problems: list[str] = []
    runner.run(test, out=problems.append)
    assert not problems, "".join(problems)


@pytest.mark.parametrize("block", blocks("qel"))
def test_queries_are_queries(block: str) -> None:
    qel.require_satisfiable(qel.parse(block))


def test_there_is_something_to_run() -> None:
    assert blocks("console")
    assert blocks("qel")
    assert sessions()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
